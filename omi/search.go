package omi

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// plainLetters are replacements of letters in names, for searching.
var plainLetters = map[rune]string{
	'À': "A", 'Á': "A", 'Â': "A", 'Ã': "A", 'Ä': "A", 'Å': "A", 'Ç': "C", 'È': "E", 'É': "E", 'Ê': "E", 'Ë': "E", 'Ì': "I", 'Í': "I", 'Î': "I", 'Ï': "I",
	'Ñ': "N", 'Ò': "O", 'Ó': "O", 'Ô': "O", 'Õ': "O", 'Ö': "O", 'Ù': "U", 'Ú': "U", 'Û': "U", 'Ü': "U", 'Ý': "Y", 'Š': "S", 'Ž': "Z", 'Č': "C", 'ß': "SS", 'ẞ': "SS",
}

// Plain is a name in the form for comparing: upper case, without accents, with one space between
// words.
func Plain(name string) string {
	var b strings.Builder
	space := false
	for _, r := range strings.ToUpper(name) {
		if unicode.Is(unicode.Mn, r) {
			continue // an accent that stands by itself
		}
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		if s, ok := plainLetters[r]; ok {
			b.WriteString(s)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Names are the names of a municipality: one, or the two of a bilingual one, which
// the source writes in one field: "BOLZANO .BOZEN.".
func Names(published string) []string {
	first, second, two := strings.Cut(published, " .")
	if !two {
		return []string{published}
	}
	return []string{first, strings.TrimSuffix(second, ".")}
}

// otherNames are second names, official or in common use, that the source lacks, by cadastral code.
var otherNames = map[string][]string{
	"A326": {"AOSTE"}, "D312": {"DOBERDOB"}, "D324": {"DOLINA"}, "D383": {"DEVIN NABREZINA"}, "E098": {"GORICA"}, "F378": {"REPENTABOR"},
	"F795": {"MILJE"}, "H845": {"STEVERJAN"}, "I479": {"SOVODNJE OB SOCI"}, "I715": {"ZGONIK"}, "L424": {"TRST"},
}

// sourceWidth is where the source truncates a name.
const sourceWidth = 50

// name is one of the names of a municipality, in the form for comparing.
type name struct {
	plain, loose string
	cut          bool // the source only has its beginning
}

func namesOf(m Municipality) []name {
	var all []name
	for i, one := range append(Names(m.Name), otherNames[m.CadastralCode]...) {
		p := Plain(one)
		all = append(all, name{plain: p, loose: loosely(p), cut: i == 1 && len(m.Name) >= sourceWidth && !strings.HasSuffix(m.Name, ".")})
	}
	return all
}

// fillers are words that are often omitted from a name or added to it: articles, and their
// combinations with prepositions.
var fillers = map[string]bool{
	"A": true, "AD": true, "AI": true, "AL": true, "ALL": true, "ALLA": true, "ALLE": true, "ALLO": true, "CON": true, "D": true, "DA": true, "DE": true, "DEI": true, "DEGLI": true, "DEL": true,
	"DELL": true, "DELLA": true, "DELLE": true, "DELLO": true, "DI": true, "E": true, "ED": true, "I": true, "IL": true, "IN": true, "L": true, "LA": true, "LE": true, "LO": true, "GLI": true,
	"NE": true, "NEI": true, "NEL": true, "NELL": true, "NELLA": true, "NELLE": true, "SU": true, "SUL": true, "SULL": true, "SULLA": true,
}

// loosely is a plain name without fillers, and with one word for all saints.
func loosely(plain string) string {
	var kept []string
	for _, w := range strings.Fields(plain) {
		switch {
		case fillers[w]:
			continue
		case w == "SAN" || w == "SANT" || w == "SANTA" || w == "SANTO" || w == "SS" || w == "SANTI":
			w = "S"
		}
		kept = append(kept, w)
	}
	return strings.Join(kept, "")
}

// How well a name matches a search; lower is better.
const (
	fitsWhole = iota
	fitsLoosely
	fitsStart
	fitsWord
	fitsPart
	fitsNot
)

func (n name) fit(sought, loose string) int {
	bare, soughtBare := strings.ReplaceAll(n.plain, " ", ""), strings.ReplaceAll(sought, " ", "")
	switch {
	case bare == soughtBare || n.cut && strings.HasPrefix(soughtBare, bare):
		return fitsWhole
	case loose != "" && n.loose == loose:
		return fitsLoosely
	case strings.HasPrefix(bare, soughtBare):
		return fitsStart
	case strings.Contains(n.plain, " "+sought):
		return fitsWord
	case strings.Contains(bare, soughtBare):
		return fitsPart
	}
	return fitsNot
}

// Search finds municipalities by their name, ignoring case, accents, apostrophes and articles
// ("Reggio Emilia" is REGGIO NELL`EMILIA), by either name of a bilingual one, or by their cadastral
// or ISTAT code. A province may follow the name: "Samone (TN)". The best come first; whole is the
// number of exact matches.
func (ix *Index) Search(q string) (found []Area, whole int) {
	a := ix.atlas()
	sought := Plain(q)
	if sought == "" {
		return nil, 0
	}
	if i := strings.LastIndexByte(sought, ' '); i > 0 && len(sought)-i == 3 {
		if _, ok := a.provinceOf[sought[i+1:]]; ok {
			if found, whole = ix.search(sought[:i], sought[i+1:]); len(found) > 0 {
				return found, whole
			}
		}
	}
	return ix.search(sought, "")
}

func (ix *Index) search(sought, province string) (found []Area, whole int) {
	a := ix.atlas()
	loose := loosely(sought)
	fits := map[string]int{}
	best, count := fitsNot, [fitsNot + 1]int{}
	for i, area := range ix.Areas() {
		if province != "" && area.Province != province {
			continue
		}
		f := fitsNot
		for _, n := range a.names[i] {
			f = min(f, n.fit(sought, loose))
		}
		if sought == area.CadastralCode || sought == area.ISTATCode {
			f = fitsWhole
		}
		if f == fitsNot {
			continue
		}
		best = min(best, f)
		count[f]++
		fits[area.CadastralCode] = f
		found = append(found, area)
	}
	slices.SortFunc(found, func(a, b Area) int {
		return cmp.Or(fits[a.CadastralCode]-fits[b.CadastralCode], strings.Compare(a.Name, b.Name), strings.Compare(a.Province, b.Province))
	})
	if best <= fitsLoosely { // prefer a name as written over a similar one
		whole = count[best]
	}
	return found, whole
}

// Whereabouts is what a search contains beyond the name of a municipality: "Roma B29", "Via Torino
// 10, Milano".
type Whereabouts struct {
	Area Area
	Rest string // the rest of the search, in the form for comparing
}

// mostWords bounds the length of a search to split.
const mostWords = 24

// Whereabouts splits a search into a municipality, which comes first or last, and the rest: the
// longest exact name is used. If several municipalities match, by name or by position, all are
// returned.
func (ix *Index) Whereabouts(q string) []Whereabouts {
	words := strings.Fields(Plain(q))
	if len(words) < 2 || len(words) > mostWords {
		return nil
	}
	var all []Whereabouts
	for n := len(words) - 1; n > 0 && len(all) == 0; n-- {
		for _, at := range [][2][]string{{words[len(words)-n:], words[:len(words)-n]}, {words[:n], words[n:]}} {
			found, whole := ix.Search(strings.Join(at[0], " "))
			for _, a := range found[:whole] {
				all = append(all, Whereabouts{Area: a, Rest: strings.Join(at[1], " ")})
			}
		}
	}
	return all
}

// Described are the zones of a municipality with a code, or else those whose description has every
// searched word except fillers and numbers: descriptions name streets and quarters.
func (ix *Index) Described(cadastral, sought string) []Zone {
	zones, _ := ix.ZonesOf(cadastral)
	var want []string
	for _, w := range strings.Fields(Plain(sought)) {
		if !general[w] {
			want = append(want, w)
		}
	}
	if i := slices.IndexFunc(zones, func(z Zone) bool { return z.Code() == strings.Join(want, "") }); i >= 0 {
		return zones[i : i+1]
	}
	want = slices.DeleteFunc(want, func(w string) bool { return fillers[w] || strings.IndexFunc(w, unicode.IsLetter) < 0 })
	if len(want) == 0 {
		return nil
	}
	var found []Zone
	for _, z := range zones {
		has := " " + Plain(z.Description()) + " "
		if !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(has, " "+w+" ") }) {
			found = append(found, z)
		}
	}
	return found
}

// general are words of an address that do not identify a street.
var general = map[string]bool{
	"VIA": true, "VIALE": true, "V": true, "VLE": true, "PIAZZA": true, "PZA": true, "PZZA": true, "P": true, "PIAZZALE": true, "PLE": true, "LARGO": true, "CORSO": true, "C": true, "SO": true, "ZZA": true,
	"VICOLO": true, "STRADA": true, "LOCALITA": true, "LOC": true, "FRAZIONE": true, "FRAZ": true, "CONTRADA": true, "ZONA": true, "N": true, "NUMERO": true, "CIVICO": true, "ITALIA": true, "OMI": true,
}

// Match is a municipality found by a search, and its zones.
type Match struct {
	Area  Area
	Whole bool // the municipality itself matches: Zones are all it has
	Zones []Zone
}

// Find returns the municipalities of that name or code, else zones by their code or words of their
// description beside the name of a municipality, else the one municipality whose name contains the
// search.
func (ix *Index) Find(q string) []Match {
	var all []Match
	found, whole := ix.Search(q)
	if whole == 0 {
		for _, w := range ix.Whereabouts(q) {
			if zones := ix.Described(w.Area.CadastralCode, w.Rest); len(zones) > 0 {
				all = append(all, Match{Area: w.Area, Zones: zones})
			}
		}
		if len(all) > 0 || len(found) != 1 {
			return all
		}
		whole = 1
	}
	for _, a := range found[:whole] {
		zones, _ := ix.ZonesOf(a.CadastralCode)
		all = append(all, Match{Area: a, Whole: true, Zones: zones})
	}
	return all
}
