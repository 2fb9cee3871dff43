package pdf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// Build makes a new document from objects, numbered from 1; the first is the catalog. trailer has
// more entries of the trailer.
func Build(objects []string, trailer string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	table := fmt.Appendf(nil, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, o := range objects {
		table = fmt.Appendf(table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "%strailer\n<< /Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF\n", table, len(objects)+1, trailer, start)
	return b.Bytes()
}

// WinAnsi encodes and escapes a text as the content of a literal string for the standard fonts.
// Unsupported letters are replaced by Latin ones: a readable name is better than question marks.
func WinAnsi(s string) string {
	var b strings.Builder
	for _, r := range s {
		c, ok := charmap.Windows1252.EncodeRune(r)
		switch {
		case !ok || c < ' ' || c == 0x7f:
			b.WriteString(latin(r))
		case c == '(' || c == ')' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c > 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// latin transliterates a letter to plain Latin: without diacritics, or as Greek (ELOT 743) and
// Bulgarian are transliterated in passports; else "?".
func latin(c rune) string {
	for _, d := range norm.NFD.String(string(c)) {
		if d < 0x7f {
			return string(d)
		}
		lower := unicode.ToLower(d)
		if i := slices.Index(letters, string(lower)); i >= 0 {
			if lower != d {
				return strings.ToUpper(inLatin[i][:1]) + inLatin[i][1:]
			}
			return inLatin[i]
		}
	}
	return "?"
}

var (
	letters = strings.Split("αβγδεζηθικλμνξοπρσςτυφχψωабвгдежзийклмнопрстуфхцчшщъьюяłđ", "")
	inLatin = strings.Fields("a v g d e z i th i k l m n x o p r s s t y f ch ps o a b v g d e zh z i y k l m n o p r s t u f h ts ch sh sht a y yu ya l d")
)
