package omi

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"rogito.dev/rogito/internal/geo"
)

// Box is a rectangle in micro-degrees, its border included: X longitude, Y latitude.
type Box struct{ MinX, MinY, MaxX, MaxY int32 }

// Union is the smallest box around both.
func (b Box) Union(o Box) Box { return Box(geo.Box(b).Union(geo.Box(o))) }

// Meets says whether the boxes share a point.
func (b Box) Meets(o Box) bool { return geo.Box(b).Meets(geo.Box(o)) }

// atlas is what the map and the search know beyond the file. It is made when first
// asked for.
type atlas struct {
	box        Box
	areas      []Area // of municipalities, then of provinces
	names      []string
	provinceOf map[string]int
}

// Area is a municipality or a province on a map.
type Area struct {
	Municipality // of a province: code and region only
	Box          Box
	Drawn        bool  // it has ground; else Box is empty
	Homes        int32 // the median, over its zones, of what Zone.Homes tells; of a province over its municipalities; 0: none

	ix      *Index
	outline int
}

// Outline is the area's ground, simplified so that it fits its neighbours.
func (a Area) Outline() Outline { return a.ix.outline(a.outline) }

func (ix *Index) draw() *atlas {
	n, zones := ix.Municipalities(), ix.count(secZones, zoneSize)
	a := &atlas{areas: make([]Area, n+len(ix.provinces)), names: make([]string, n), provinceOf: map[string]int{}}
	for i, p := range ix.provinces {
		a.provinceOf[p.code] = i
		a.areas[n+i] = Area{Municipality: Municipality{Province: p.code, Region: p.region}, ix: ix, outline: zones + n + i}
	}
	homes := make([][]int32, len(ix.provinces))
	for i := range n {
		m := ix.municipality(uint32(i))
		area := Area{Municipality: m, ix: ix, outline: zones + i}
		a.names[i] = Plain(m.Name)
		var prices []int32
		in, _ := ix.ZonesOf(m.CadastralCode)
		for _, z := range in {
			if price := z.Homes(); price > 0 {
				prices = append(prices, price)
			}
			for p := range z.Polygons() {
				area.reach(Box(ix.polygonBox(z.field(zonePolygons) + uint32(p))))
			}
		}
		if area.Homes = median(prices); area.Homes > 0 {
			homes[a.provinceOf[m.Province]] = append(homes[a.provinceOf[m.Province]], area.Homes)
		}
		a.areas[i] = area
		if province := &a.areas[n+a.provinceOf[m.Province]]; area.Drawn {
			province.reach(area.Box)
		}
	}
	var all Area
	for i := range ix.provinces {
		province := &a.areas[n+i]
		if province.Homes = median(homes[i]); province.Drawn {
			all.reach(province.Box)
		}
	}
	a.box = all.Box
	return a
}

func (a *Area) reach(box Box) {
	if a.Drawn {
		box = box.Union(a.Box)
	}
	a.Box, a.Drawn = box, true
}

func median(of []int32) int32 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[len(of)/2]
}

// Box is the rectangle around all zones; the zero Box if none has a perimeter.
func (ix *Index) Box() Box { return ix.atlas().box }

// Areas are the municipalities, in the order of their cadastral codes.
func (ix *Index) Areas() []Area { return ix.atlas().areas[:ix.Municipalities()] }

// Provinces are the provinces, in the order of their codes.
func (ix *Index) Provinces() []Area { return ix.atlas().areas[ix.Municipalities():] }

// AreaOf is the municipality with a cadastral code.
func (ix *Index) AreaOf(cadastral string) (Area, bool) {
	i, ok := ix.findPlace(cadastral)
	if !ok {
		return Area{}, false
	}
	return ix.atlas().areas[i], true
}

// homes are the codes of types of property that people live in, the one that
// stands best for all of them first.
var homes = [...]int{20, 21, 19, 1}

// Homes is the middle of the range of sale of homes, in thousandths of a euro per
// square metre: of ordinary ones (Abitazioni civili) where they are quoted, in
// their prevalent condition if one is. 0: no home is quoted.
func (z Zone) Homes() int32 {
	v, ok := z.HomeValue()
	if !ok {
		return 0
	}
	return v.Sale.Min/2 + v.Sale.Max/2
}

// HomeValue is the quotation that Homes is the middle of.
func (z Zone) HomeValue() (best Value, ok bool) {
	rank := len(homes) * 2
	for i := range z.Values() {
		v := z.Value(i)
		r := slices.Index(homes[:], v.TypeCode) * 2
		if r < 0 || !v.SaleQuoted || v.Sale.Max <= 0 {
			continue
		}
		if !v.Prevalent {
			r++
		}
		if r < rank {
			best, rank, ok = v, r, true
		}
	}
	return best, ok
}

// plainLetters are letters that names are spelled with, and how they are sought.
var plainLetters = map[rune]string{
	'À': "A", 'Á': "A", 'Â': "A", 'Ã': "A", 'Ä': "A", 'Å': "A", 'Ç': "C", 'È': "E", 'É': "E", 'Ê': "E", 'Ë': "E", 'Ì': "I", 'Í': "I", 'Î': "I", 'Ï': "I",
	'Ñ': "N", 'Ò': "O", 'Ó': "O", 'Ô': "O", 'Õ': "O", 'Ö': "O", 'Ù': "U", 'Ú': "U", 'Û': "U", 'Ü': "U", 'Ý': "Y", 'Š': "S", 'Ž': "Z", 'Č': "C", 'ß': "SS", 'ẞ': "SS",
}

// Plain is a name as it is compared: upper case, without accents, with one space
// for whatever stands between its words.
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

// How well a name fits a search; the lower the better.
const (
	fitsWhole = iota
	fitsStart
	fitsWord
	fitsPart
	fitsNot
)

func fit(name, sought string) int {
	bare, soughtBare := strings.ReplaceAll(name, " ", ""), strings.ReplaceAll(sought, " ", "")
	switch {
	case bare == soughtBare:
		return fitsWhole
	case strings.HasPrefix(bare, soughtBare):
		return fitsStart
	case strings.Contains(name, " "+sought):
		return fitsWord
	case strings.Contains(bare, soughtBare):
		return fitsPart
	}
	return fitsNot
}

// Search finds municipalities by their name, without regard to case, accents and
// apostrophes, or by their cadastral or ISTAT code. A province may follow the name:
// "Samone (TN)". The best come first; whole says how many are called exactly so.
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
	fits := map[string]int{}
	for i, area := range ix.Areas() {
		if province != "" && area.Province != province {
			continue
		}
		f := fit(a.names[i], sought)
		if sought == area.CadastralCode || sought == area.ISTATCode {
			f = fitsWhole
		}
		if f == fitsNot {
			continue
		}
		if f == fitsWhole {
			whole++
		}
		fits[area.CadastralCode] = f
		found = append(found, area)
	}
	slices.SortFunc(found, func(a, b Area) int {
		return cmp.Or(fits[a.CadastralCode]-fits[b.CadastralCode], strings.Compare(a.Name, b.Name), strings.Compare(a.Province, b.Province))
	})
	return found, whole
}

// Since are the publications from the active one backwards. The first that has
// perimeters of a place is the one to answer with: one of a single municipality may
// be newer than one of the whole country.
func (s *Set) Since() []*Index {
	i := slices.Index(s.indexes, s.active)
	if i < 0 {
		return nil
	}
	return s.indexes[i:]
}
