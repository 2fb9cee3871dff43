package content

import (
	"strings"
	"unicode/utf16"

	"rogito.dev/rogito/internal/pdf"
)

// Widths of the characters from space to tilde, in thousandths of the size, of the standard fonts
// used in forms.
var (
	helvetica = [95]float64{
		278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
		1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
		333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
	}
	timesRoman = [95]float64{
		250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444,
		921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889, 722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500,
		333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
	}
)

// Usual is the width of a character in a font of that family, in thousandths of the size.
func Usual(family string, r rune) float64 {
	switch {
	case strings.HasPrefix(family, "courier"):
		return 600
	case r < ' ' || r > '~':
		return 556
	case strings.HasPrefix(family, "times"):
		return timesRoman[r-' ']
	}
	return helvetica[r-' ']
}

// Bounds of a CMap, in bytes: the text of one code (Adobe Technical Note 5014, 1.4), and of all of
// them. A range of 65,536 codes with a long text would exhaust memory.
const (
	mostTarget = 512
	mostMapped = 1 << 18
)

// ToUnicode reads the bfchar and bfrange sections of a CMap. A CMap beyond the bounds is ignored
// completely: with half of it the result would be arbitrary.
func ToUnicode(b []byte) map[uint16]string {
	out := make(map[uint16]string)
	left := mostMapped
	put := func(code int, text string) bool {
		left -= max(1, len(text))
		out[uint16(code)] = text
		return left >= 0
	}
	text := func(o pdf.Object) string {
		s, _ := o.(pdf.String)
		if len(s.Bytes) > mostTarget {
			left = -1
			return ""
		}
		var units []uint16
		for i := 0; i+1 < len(s.Bytes); i += 2 {
			units = append(units, uint16(s.Bytes[i])<<8|uint16(s.Bytes[i+1]))
		}
		return string(utf16.Decode(units))
	}
	number := func(o pdf.Object) (int, bool) {
		s, ok := o.(pdf.String)
		if !ok || len(s.Bytes) != 2 {
			return 0, false
		}
		return int(s.Bytes[0])<<8 | int(s.Bytes[1]), true
	}
	pdf.Operators(b, func(op string, args []pdf.Object) bool {
		switch op {
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				if n, ok := number(args[i]); ok {
					put(n, text(args[i+1]))
				}
			}
		case "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				from, ok1 := number(args[i])
				to, ok2 := number(args[i+1])
				if !ok1 || !ok2 || to < from {
					continue
				}
				if list, ok := args[i+2].(pdf.Array); ok {
					for k := 0; k < len(list) && from+k <= to; k++ {
						put(from+k, text(list[k]))
					}
					continue
				}
				start := []rune(text(args[i+2]))
				for k := 0; len(start) > 0 && from+k <= to && put(from+k, string(start[:len(start)-1])+string(start[len(start)-1]+rune(k))); k++ {
				}
			}
		}
		return left >= 0
	})
	if left < 0 {
		return nil
	}
	return out
}
