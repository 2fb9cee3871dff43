package content

import "strings"

// The encodings of simple fonts (ISO 32000-2, annex D), as runes by code.

const asciiNames = "space exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus comma hyphen " +
	"period slash zero one two three four five six seven eight nine colon semicolon " +
	"less equal greater question at A B C D E F G H I " +
	"J K L M N O P Q R S T U V W " +
	"X Y Z bracketleft backslash bracketright asciicircum underscore grave a b c d e " +
	"f g h i j k l m n o p q r s " +
	"t u v w x y z braceleft bar braceright asciitilde"

// latinNames are the glyphs from A1 to FF of Latin 1.
const latinNames = "exclamdown cent sterling currency yen brokenbar section dieresis copyright ordfeminine guillemotleft logicalnot hyphen registered " +
	"macron degree plusminus twosuperior threesuperior acute mu paragraph periodcentered cedilla onesuperior ordmasculine guillemotright onequarter " +
	"onehalf threequarters questiondown Agrave Aacute Acircumflex Atilde Adieresis Aring AE Ccedilla Egrave Eacute Ecircumflex " +
	"Edieresis Igrave Iacute Icircumflex Idieresis Eth Ntilde Ograve Oacute Ocircumflex Otilde Odieresis multiply Oslash " +
	"Ugrave Uacute Ucircumflex Udieresis Yacute Thorn germandbls agrave aacute acircumflex atilde adieresis aring ae " +
	"ccedilla egrave eacute ecircumflex edieresis igrave iacute icircumflex idieresis eth ntilde ograve oacute ocircumflex " +
	"otilde odieresis divide oslash ugrave uacute ucircumflex udieresis yacute thorn ydieresis"

// moreNames are glyphs outside Latin 1.
var moreNames = map[string]rune{
	"Euro": 0x20AC, "quotesinglbase": 0x201A, "florin": 0x0192, "quotedblbase": 0x201E, "ellipsis": 0x2026, "dagger": 0x2020,
	"daggerdbl": 0x2021, "circumflex": 0x02C6, "perthousand": 0x2030, "Scaron": 0x0160, "guilsinglleft": 0x2039, "OE": 0x0152,
	"Zcaron": 0x017D, "quoteleft": 0x2018, "quoteright": 0x2019, "quotedblleft": 0x201C, "quotedblright": 0x201D, "bullet": 0x2022,
	"endash": 0x2013, "emdash": 0x2014, "tilde": 0x02DC, "trademark": 0x2122, "scaron": 0x0161, "guilsinglright": 0x203A,
	"oe": 0x0153, "zcaron": 0x017E, "Ydieresis": 0x0178, "fi": 0xFB01, "fl": 0xFB02, "fraction": 0x2044,
	"minus": 0x2212, "Lslash": 0x0141, "lslash": 0x0142, "dotlessi": 0x0131, "breve": 0x02D8, "caron": 0x02C7,
	"dotaccent": 0x02D9, "hungarumlaut": 0x02DD, "ogonek": 0x02DB, "ring": 0x02DA, "nbspace": 0x00A0, "nonbreakingspace": 0x00A0,
	"sfthyphen": 0x00AD, "softhyphen": 0x00AD, "Abreve": 0x0102, "abreve": 0x0103, "Aogonek": 0x0104, "aogonek": 0x0105,
	"Cacute": 0x0106, "cacute": 0x0107, "Ccaron": 0x010C, "ccaron": 0x010D, "Dcaron": 0x010E, "dcaron": 0x010F,
	"Dcroat": 0x0110, "dcroat": 0x0111, "Eogonek": 0x0118, "eogonek": 0x0119, "Ecaron": 0x011A, "ecaron": 0x011B,
	"Gbreve": 0x011E, "gbreve": 0x011F, "Idotaccent": 0x0130, "Nacute": 0x0143, "nacute": 0x0144, "Ncaron": 0x0147,
	"ncaron": 0x0148, "Ohungarumlaut": 0x0150, "ohungarumlaut": 0x0151, "Rcaron": 0x0158, "rcaron": 0x0159, "Sacute": 0x015A,
	"sacute": 0x015B, "Scedilla": 0x015E, "scedilla": 0x015F, "Tcaron": 0x0164, "tcaron": 0x0165, "Uring": 0x016E,
	"uring": 0x016F, "Uhungarumlaut": 0x0170, "uhungarumlaut": 0x0171, "Zacute": 0x0179, "zacute": 0x017A, "Zdotaccent": 0x017B,
	"zdotaccent": 0x017C,
}

// standardCodes are the codes of StandardEncoding that differ from ASCII.
var standardCodes = map[byte]string{
	0x27: "quoteright", 0x60: "quoteleft", 0xA1: "exclamdown", 0xA2: "cent", 0xA3: "sterling", 0xA4: "fraction",
	0xA5: "yen", 0xA6: "florin", 0xA7: "section", 0xA8: "currency", 0xA9: "quotesingle", 0xAA: "quotedblleft",
	0xAB: "guillemotleft", 0xAC: "guilsinglleft", 0xAD: "guilsinglright", 0xAE: "fi", 0xAF: "fl", 0xB1: "endash",
	0xB2: "dagger", 0xB3: "daggerdbl", 0xB4: "periodcentered", 0xB6: "paragraph", 0xB7: "bullet", 0xB8: "quotesinglbase",
	0xB9: "quotedblbase", 0xBA: "quotedblright", 0xBB: "guillemotright", 0xBC: "ellipsis", 0xBD: "perthousand", 0xBF: "questiondown",
	0xC1: "grave", 0xC2: "acute", 0xC3: "circumflex", 0xC4: "tilde", 0xC5: "macron", 0xC6: "breve",
	0xC7: "dotaccent", 0xC8: "dieresis", 0xCA: "ring", 0xCB: "cedilla", 0xCD: "hungarumlaut", 0xCE: "ogonek",
	0xCF: "caron", 0xD0: "emdash", 0xE1: "AE", 0xE3: "ordfeminine", 0xE8: "Lslash", 0xE9: "Oslash",
	0xEA: "OE", 0xEB: "ordmasculine", 0xF1: "ae", 0xF5: "dotlessi", 0xF8: "lslash", 0xF9: "oslash",
	0xFA: "oe", 0xFB: "germandbls",
}

const (
	winHigh = "\u20AC\u2022\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\u2022\u017D\u2022\u2022\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\u2022\u017E\u0178"                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 // 80 to 9F
	macHigh = "\u00C4\u00C5\u00C7\u00C9\u00D1\u00D6\u00DC\u00E1\u00E0\u00E2\u00E4\u00E3\u00E5\u00E7\u00E9\u00E8\u00EA\u00EB\u00ED\u00EC\u00EE\u00EF\u00F1\u00F3\u00F2\u00F4\u00F6\u00F5\u00FA\u00F9\u00FB\u00FC\u2020\u00B0\u00A2\u00A3\u00A7\u2022\u00B6\u00DF\u00AE\u00A9\u2122\u00B4\u00A8\u2260\u00C6\u00D8\u221E\u00B1\u2264\u2265\u00A5\u00B5\u2202\u2211\u220F\u03C0\u222B\u00AA\u00BA\u03A9\u00E6\u00F8\u00BF\u00A1\u00AC\u221A\u0192\u2248\u2206\u00AB\u00BB\u2026\u00A0\u00C0\u00C3\u00D5\u0152\u0153\u2013\u2014\u201C\u201D\u2018\u2019\u00F7\u25CA\u00FF\u0178\u2044\u00A4\u2039\u203A\uFB01\uFB02\u2021\u00B7\u201A\u201E\u2030\u00C2\u00CA\u00C1\u00CB\u00C8\u00CD\u00CE\u00CF\u00CC\u00D3\u00D4\uF8FF\u00D2\u00DA\u00DB\u00D9\u0131\u02C6\u02DC\u00AF\u02D8\u02D9\u02DA\u00B8\u02DD\u02DB\u02C7" // 80 to FF
)

// Glyphs is the character of a glyph by its name.
var Glyphs = func() map[string]rune {
	out := make(map[string]rune, 400)
	for i, n := range strings.Fields(latinNames) {
		out[n] = rune(0xA1 + i)
	}
	for i, n := range strings.Fields(asciiNames) {
		out[n] = rune(0x20 + i)
	}
	for n, r := range moreNames {
		out[n] = r
	}
	return out
}()

// Encoding fills in the characters of a named encoding.
func Encoding(name string) (*[256]rune, bool) {
	var t [256]rune
	for c := 0x20; c < 0x7F; c++ {
		t[c] = rune(c)
	}
	switch name {
	case "WinAnsiEncoding":
		for c := 0xA0; c <= 0xFF; c++ {
			t[c] = rune(c)
		}
		for i, r := range []rune(winHigh) {
			t[0x80+i] = r
		}
	case "MacRomanEncoding":
		for i, r := range []rune(macHigh) {
			t[0x80+i] = r
		}
	case "StandardEncoding":
		for c, n := range standardCodes {
			t[c] = Glyphs[n]
		}
	default:
		return nil, false
	}
	return &t, true
}
