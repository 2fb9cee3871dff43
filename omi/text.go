package omi

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// windows1252 are the characters 0x80 to 0x9F of Windows-1252; the five undefined ones are
// replaced.
var windows1252 = [32]rune{
	'€', '\uFFFD', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\uFFFD', 'Ž', '\uFFFD',
	'\uFFFD', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\uFFFD', 'ž', 'Ÿ',
}

// text decodes one field on its own: one file mixes UTF-8 and Windows-1252, and declared encodings
// are unreliable.
func text(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for _, c := range b {
		switch {
		case c >= 0x80 && c < 0xA0:
			s.WriteRune(windows1252[c-0x80])
		default:
			s.WriteRune(rune(c))
		}
	}
	return s.String()
}

// words stores one copy of every repeated text.
type words map[string]string

func (w words) text(b []byte) string {
	if s, ok := w[string(b)]; ok {
		return s
	}
	s := text(b)
	w[string(b)] = s
	return s
}

// milli parses an amount with a decimal comma into thousandths: "35,1", ",8", "810". A blank field
// is zero, which the source uses for "not quoted".
func milli(b []byte) (int32, bool) {
	b = bytes.TrimSpace(b)
	whole, fraction, _ := bytes.Cut(b, []byte{','})
	if len(b) == 1 && b[0] == ',' || len(whole) > 6 || len(fraction) > 3 {
		return 0, false
	}
	var v int32
	for _, part := range [...][]byte{whole, fraction} {
		for _, c := range part {
			if c < '0' || c > '9' {
				return 0, false
			}
			v = v*10 + int32(c-'0')
		}
	}
	for range 3 - len(fraction) {
		v *= 10
	}
	return v, true
}

// number reads a small non-negative integer; blank is zero.
func number(b []byte) (int, bool) {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return 0, true
	}
	n, err := strconv.ParseUint(string(b), 10, 31)
	return int(n), err == nil
}

// regions gives the ISTAT number of each region by the name the tables use.
var regions = map[string]string{
	"PIEMONTE": "1", "VALLE D'AOSTA/VALLEE D'AOSTE": "2", "LOMBARDIA": "3", "TRENTINO-ALTO ADIGE": "4",
	"VENETO": "5", "FRIULI-VENEZIA GIULIA": "6", "LIGURIA": "7", "EMILIA-ROMAGNA": "8", "TOSCANA": "9",
	"UMBRIA": "10", "MARCHE": "11", "LAZIO": "12", "ABRUZZO": "13", "MOLISE": "14", "CAMPANIA": "15",
	"PUGLIA": "16", "BASILICATA": "17", "CALABRIA": "18", "SICILIA": "19", "SARDEGNA": "20",
}

// istat is the six-digit ISTAT code in a Comune_ISTAT, in which the region's number without leading
// zero comes first, and zeros may have been lost or added. It is empty if there is none (empty, or
// "0" for a suppressed municipality).
func istat(region, field string) string {
	number, known := regions[region]
	if !known { // an unknown name: derive the length of its number from that of the field
		number = field[:max(0, min(len(field)-6, 2))]
	}
	rest, ok := strings.CutPrefix(field, number)
	code, err := strconv.ParseUint(rest, 10, 32)
	if !ok || err != nil || code == 0 || code > 999_999 {
		return ""
	}
	s := strconv.FormatUint(code, 10)
	return "000000"[len(s):] + s
}

// isCadastral says whether the code has the form of a cadastral (Belfiore) code.
func isCadastral[T string | []byte](s T) bool {
	if len(s) != 4 || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	for i := 1; i < 4; i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
