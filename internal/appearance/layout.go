package appearance

import (
	"strings"
	"unicode"
)

// Bounds of the text: smaller cannot be read, larger shouts.
const (
	largestType  = 10.0
	smallestType = 3.5
	leading      = 1.2
	lineRunes    = 256 // what one entry may hold before it is cut
)

// clean makes a string fit to be shown: no control or direction characters, no
// line breaks, and an end.
func clean(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			continue
		}
		if n++; n > lineRunes {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// width of a text at size one.
func (f *font) width(s string) float64 {
	w := 0
	for _, r := range s {
		g, ok := f.runes[r]
		if !ok {
			g = f.runes['?']
		}
		w += f.advance(g)
	}
	return float64(w) / float64(f.unitsPerEm)
}

// wrap breaks a text into lines no wider than a measure, between words where
// it can.
func (f *font) wrap(s string, measure float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if next := strings.TrimSpace(line + " " + word); f.width(next) <= measure {
			line = next
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		pieces := f.split(word, measure)
		lines = append(lines, pieces[:len(pieces)-1]...)
		line = pieces[len(pieces)-1]
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// split cuts a word that is wider than a line; there is always at least one piece.
func (f *font) split(word string, measure float64) []string {
	var pieces []string
	piece := ""
	for _, r := range word {
		if piece != "" && f.width(piece+string(r)) > measure {
			pieces, piece = append(pieces, piece), ""
		}
		piece += string(r)
	}
	return append(pieces, piece)
}

// fit finds the largest size at which the lines fit a box, and the lines as
// they are broken at that size. What does not fit at the smallest is cut.
func (f *font) fit(lines []string, width, height float64) (float64, []string) {
	for size := largestType; ; size -= 0.25 {
		var broken []string
		for _, l := range lines {
			broken = append(broken, f.wrap(l, width/size)...)
		}
		if float64(len(broken))*size*leading <= height {
			return size, broken
		}
		if size <= smallestType {
			return size, broken[:min(len(broken), max(1, int(height/(size*leading))))]
		}
	}
}
