package omimap

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"rogito.dev/rogito/omi"
)

// provinces are the names of the provinces by their letters, those of the cadastre
// (FO, PS) and those of today.
var provinces = map[string]string{
	"AG": "Agrigento", "AL": "Alessandria", "AN": "Ancona", "AO": "Aosta", "AP": "Ascoli Piceno", "AQ": "L'Aquila", "AR": "Arezzo", "AT": "Asti", "AV": "Avellino",
	"BA": "Bari", "BG": "Bergamo", "BI": "Biella", "BL": "Belluno", "BN": "Benevento", "BO": "Bologna", "BR": "Brindisi", "BS": "Brescia", "BT": "Barletta-Andria-Trani", "BZ": "Bolzano",
	"CA": "Cagliari", "CB": "Campobasso", "CE": "Caserta", "CH": "Chieti", "CL": "Caltanissetta", "CN": "Cuneo", "CO": "Como", "CR": "Cremona", "CS": "Cosenza", "CT": "Catania", "CZ": "Catanzaro",
	"EN": "Enna", "FC": "Forlì-Cesena", "FE": "Ferrara", "FG": "Foggia", "FI": "Firenze", "FM": "Fermo", "FO": "Forlì-Cesena", "FR": "Frosinone",
	"GE": "Genova", "GO": "Gorizia", "GR": "Grosseto", "IM": "Imperia", "IS": "Isernia", "KR": "Crotone", "LC": "Lecco", "LE": "Lecce", "LI": "Livorno", "LO": "Lodi", "LT": "Latina", "LU": "Lucca",
	"MB": "Monza e Brianza", "MC": "Macerata", "ME": "Messina", "MI": "Milano", "MN": "Mantova", "MO": "Modena", "MS": "Massa-Carrara", "MT": "Matera",
	"NA": "Napoli", "NO": "Novara", "NU": "Nuoro", "OR": "Oristano", "PA": "Palermo", "PC": "Piacenza", "PD": "Padova", "PE": "Pescara", "PG": "Perugia", "PI": "Pisa", "PN": "Pordenone", "PO": "Prato", "PR": "Parma", "PS": "Pesaro e Urbino", "PT": "Pistoia", "PU": "Pesaro e Urbino", "PV": "Pavia", "PZ": "Potenza",
	"RA": "Ravenna", "RC": "Reggio Calabria", "RE": "Reggio Emilia", "RG": "Ragusa", "RI": "Rieti", "RM": "Roma", "RN": "Rimini", "RO": "Rovigo",
	"SA": "Salerno", "SI": "Siena", "SO": "Sondrio", "SP": "La Spezia", "SR": "Siracusa", "SS": "Sassari", "SU": "Sud Sardegna", "SV": "Savona",
	"TA": "Taranto", "TE": "Teramo", "TN": "Trento", "TO": "Torino", "TP": "Trapani", "TR": "Terni", "TS": "Trieste", "TV": "Treviso",
	"UD": "Udine", "VA": "Varese", "VB": "Verbano-Cusio-Ossola", "VC": "Vercelli", "VE": "Venezia", "VI": "Vicenza", "VR": "Verona", "VT": "Viterbo", "VV": "Vibo Valentia",
}

// provinceName is the name of a province, or its letters where we know none.
func provinceName(code string) string {
	if name, ok := provinces[code]; ok {
		return name
	}
	return code
}

// small are words that stay small inside a name.
var small = map[string]bool{
	"di": true, "del": true, "della": true, "dello": true, "dei": true, "degli": true, "delle": true, "e": true, "ed": true, "in": true, "con": true, "al": true, "allo": true, "alla": true, "ai": true, "alle": true,
	"a": true, "da": true, "dal": true, "dalla": true, "nel": true, "nella": true, "nell": true, "dell": true, "all": true, "d": true, "sul": true, "sulla": true, "sull": true, "sopra": true, "sotto": true, "su": true, "per": true, "de": true, "presso": true, "lo": true, "la": true, "il": true, "tra": true, "oltre": true,
}

// accents are the letters that the source writes with a backtick behind them.
var accents = map[rune]rune{'a': 'à', 'e': 'è', 'i': 'ì', 'o': 'ò', 'u': 'ù'}

// properName writes a name of the source, which is in capitals and has backticks
// for accents and apostrophes, as people do: "FORLI`" is Forlì, "SANT`ANGELO IN
// VADO" Sant'Angelo in Vado.
func properName(s string) string {
	if both := omi.Names(s); len(both) > 1 { // "BOLZANO .BOZEN."
		return properName(both[0]) + " / " + properName(both[1])
	}
	runes := []rune(strings.ToLower(s))
	var b strings.Builder
	for i := 0; i < len(runes); {
		if !unicode.IsLetter(runes[i]) {
			if runes[i] == '`' {
				runes[i] = '\''
			}
			b.WriteRune(runes[i])
			i++
			continue
		}
		end := i
		for end < len(runes) && unicode.IsLetter(runes[end]) {
			end++
		}
		word := runes[i:end]
		// before a letter it is an apostrophe, else the accent of the vowel
		if tick := end < len(runes) && runes[end] == '`'; tick && (end+1 == len(runes) || !unicode.IsLetter(runes[end+1])) {
			if accented, ok := accents[word[len(word)-1]]; ok {
				word[len(word)-1] = accented
				end++
			}
		}
		if text := string(word); i > 0 && small[text] {
			b.WriteString(text)
		} else {
			first, n := utf8.DecodeRuneInString(text)
			b.WriteRune(unicode.ToUpper(first))
			b.WriteString(text[n:])
		}
		i = end
	}
	return b.String()
}

// sentence writes a description of the source, which is in capitals, with a
// capital at its start only where it has no others.
func sentence(s string) string {
	if s != strings.ToUpper(s) {
		return s
	}
	return properName(s)
}
