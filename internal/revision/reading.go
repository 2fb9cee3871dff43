package revision

import (
	"bytes"

	"rogito.dev/rogito/internal/pdf"
)

// What follows reads pages for those who only want to show roughly what stands
// on them: what is not understood is left out.

// Instructions calls do for the operators of a content stream in turn, until it
// returns false. Pictures within the stream are left out.
func Instructions(b []byte, do func(op string, args []pdf.Object) bool) {
	l := &contentLexer{b: b}
	var args []pdf.Object
	for range mostTokens {
		l.space()
		if l.at >= len(l.b) {
			return
		}
		o, op, ok := l.next(0)
		switch {
		case !ok:
			if l.at++; l.at >= len(l.b) {
				return
			}
			args = nil
		case op == "BI":
			end := bytes.Index(l.b[l.at:], []byte("EI"))
			if end < 0 {
				return
			}
			l.at += end + 2
			args = nil
		case op != "":
			if !do(op, args) {
				return
			}
			args = nil
		default:
			args = append(args, o)
		}
	}
}

// Characters are those of a named encoding by their codes; of an unknown one
// those of ASCII.
func Characters(name string) *[256]rune {
	if t, ok := baseEncoding(name); ok {
		return t
	}
	t, _ := baseEncoding("WinAnsiEncoding")
	return t
}

// Glyph is the character that a glyph's name stands for, or 0.
func Glyph(name string) rune { return glyphs[name] }

// ToUnicode reads the map of a font from codes of two bytes to characters.
func ToUnicode(b []byte) map[uint16]string { return toUnicode(b) }

// UsualWidth is how wide a character is in a font of a family, in thousandths
// of the size.
func UsualWidth(family string, r rune) float64 { return usual(family, r) }
