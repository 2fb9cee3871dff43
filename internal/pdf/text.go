package pdf

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// docEncoding maps the bytes of PDFDocEncoding that differ from Latin-1
// (ISO 32000-2, annex D).
var docEncoding = map[byte]rune{
	0x18: 0x02D8, 0x19: 0x02C7, 0x1A: 0x02C6, 0x1B: 0x02D9, 0x1C: 0x02DD, 0x1D: 0x02DB, 0x1E: 0x02DA, 0x1F: 0x02DC,
	0x80: 0x2022, 0x81: 0x2020, 0x82: 0x2021, 0x83: 0x2026, 0x84: 0x2014, 0x85: 0x2013, 0x86: 0x0192, 0x87: 0x2044,
	0x88: 0x2039, 0x89: 0x203A, 0x8A: 0x2212, 0x8B: 0x2030, 0x8C: 0x201E, 0x8D: 0x201C, 0x8E: 0x201D, 0x8F: 0x2018,
	0x90: 0x2019, 0x91: 0x201A, 0x92: 0x2122, 0x93: 0xFB01, 0x94: 0xFB02, 0x95: 0x0141, 0x96: 0x0152, 0x97: 0x0160,
	0x98: 0x0178, 0x99: 0x017D, 0x9A: 0x0131, 0x9B: 0x0142, 0x9C: 0x0153, 0x9D: 0x0161, 0x9E: 0x017E, 0xA0: 0x20AC,
}

var docDecoding = func() map[rune]byte {
	m := make(map[rune]byte, len(docEncoding))
	for b, r := range docEncoding {
		m[r] = b
	}
	return m
}()

// DecodeText converts a text string to UTF-8.
func DecodeText(b []byte) string {
	switch {
	case len(b) >= 2 && b[0] == 0xFE && b[1] == 0xFF:
		return decodeUTF16(b[2:], 0)
	case len(b) >= 2 && b[0] == 0xFF && b[1] == 0xFE: // not allowed, but it occurs
		return decodeUTF16(b[2:], 1)
	case len(b) >= 3 && b[0] == 0xEF && b[1] == 0xBB && b[2] == 0xBF:
		return strings.ToValidUTF8(string(b[3:]), "\uFFFD")
	}
	plain := true
	for _, c := range b {
		plain = plain && c < 0x80 && c >= 0x20
	}
	if plain {
		return string(b)
	}
	var out strings.Builder
	for _, c := range b {
		r, ok := docEncoding[c]
		if !ok {
			r = rune(c)
		}
		out.WriteRune(r)
	}
	return out.String()
}

// decodeUTF16 skips language escapes (ESC … ESC).
func decodeUTF16(b []byte, low int) string {
	units := make([]uint16, 0, len(b)/2)
	escaped := false
	for i := 0; i+1 < len(b); i += 2 {
		u := uint16(b[i+low])<<8 | uint16(b[i+1-low])
		if u == 0x1B {
			escaped = !escaped
			continue
		}
		if !escaped {
			units = append(units, u)
		}
	}
	return string(utf16.Decode(units))
}

// Text makes a text string: ASCII if possible, else UTF-16.
func Text(s string) String {
	for _, r := range s {
		if r >= 0x7F || r < 0x20 && r != '\n' && r != '\r' && r != '\t' {
			b := []byte{0xFE, 0xFF}
			for _, u := range utf16.Encode([]rune(s)) {
				b = append(b, byte(u>>8), byte(u))
			}
			return String{Bytes: b}
		}
	}
	return String{Bytes: []byte(s)}
}

func encodePDFDoc(s string) ([]byte, bool) {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		if b, ok := docDecoding[r]; ok {
			out = append(out, b)
			continue
		}
		if _, taken := docEncoding[byte(r)]; r > 0xFF || taken {
			return nil, false
		}
		out = append(out, byte(r))
	}
	return out, true
}

// saslPrep is the profile of RFC 4013, required for AES-256 passwords. Prohibited characters are
// kept: such a password may still be correct.
func saslPrep(s string) string {
	if !utf8.ValidString(s) {
		return s
	}
	mapped := strings.Map(func(r rune) rune {
		switch {
		case mappedToNothing(r):
			return -1
		case r != ' ' && unicode.Is(unicode.Zs, r):
			return ' '
		}
		return r
	}, s)
	return norm.NFKC.String(mapped)
}

// mappedToNothing is table B.1 of RFC 3454.
func mappedToNothing(r rune) bool {
	switch r {
	case 0x00AD, 0x034F, 0x1806, 0x180B, 0x180C, 0x180D, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF:
		return true
	}
	return r >= 0xFE00 && r <= 0xFE0F
}
