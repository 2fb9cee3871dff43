// Package typeface measures text and embeds the fonts that it is shown in: the
// Go fonts, which come with the binary and have the Latin, Greek and Cyrillic
// alphabets. Fonts are embedded as subsets and colours are given with a profile,
// so that a PDF/A document stays one.
package typeface

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/text/unicode/norm"

	"rogito.dev/rogito/internal/pdf"
)

// Adder adds new objects to a document.
type Adder interface {
	New(o pdf.Object) pdf.Ref
}

// The fonts.
var (
	Regular = opened("GoRegular", goregular.TTF)
	Bold    = opened("GoBold", gobold.TTF)
	Mono    = opened("GoMono", gomono.TTF)
)

func opened(name string, b []byte) func() *Font {
	return sync.OnceValue(func() *Font {
		f, err := parseFont(name, b)
		if err != nil {
			panic(err) // it comes with the binary
		}
		return f
	})
}

// lineRunes is what one entry may hold before it is cut.
const lineRunes = 1024

// Clean makes a string fit to be shown: no control or direction characters, no
// line breaks, letters composed with their marks, and an end.
func Clean(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range norm.NFC.String(s) {
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

// glyphsOf returns the glyphs for a character. A letter with a diacritic that the font lacks is
// shown without it; any other missing character by its number, as "[U+6797]": with boxes, two names
// could look alike.
func (f *Font) glyphsOf(r rune) (glyphs []shown, spelled bool) {
	if g, ok := f.runes[r]; ok {
		return []shown{{g, r}}, false
	}
	if base := []rune(norm.NFD.String(string(r)))[0]; f.runes[base] != 0 {
		return []shown{{f.runes[base], r}}, false
	}
	for _, c := range fmt.Sprintf("[U+%04X]", r) {
		glyphs = append(glyphs, shown{f.runes[c], c})
	}
	return glyphs, true
}

// Has reports whether the font has every character of a text, or its letter without the diacritic.
func (f *Font) Has(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		_, spelled := f.glyphsOf(r)
		return spelled
	})
}

// Width of a text at size one.
func (f *Font) Width(s string) float64 {
	w := 0
	for _, r := range s {
		glyphs, _ := f.glyphsOf(r)
		for _, c := range glyphs {
			w += f.advance(c.glyph)
		}
	}
	return float64(w) / float64(f.unitsPerEm)
}

// Wrap breaks a text into lines no wider than a measure, between words where
// it can.
func (f *Font) Wrap(s string, measure float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		if next := strings.TrimSpace(line + " " + word); f.Width(next) <= measure {
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
func (f *Font) split(word string, measure float64) []string {
	var pieces []string
	var piece strings.Builder
	width := 0.0
	for _, r := range word {
		w := f.Width(string(r))
		if piece.Len() > 0 && width+w > measure {
			pieces = append(pieces, piece.String())
			piece.Reset()
			width = 0
		}
		piece.WriteRune(r)
		width += w
	}
	return append(pieces, piece.String())
}

// Clip shortens a text to a width, with an ellipsis where it was cut.
func (f *Font) Clip(s string, measure float64) string {
	if f.Width(s) <= measure {
		return s
	}
	r := []rune(s)
	for len(r) > 0 && f.Width(string(r)+"…") > measure {
		r = r[:len(r)-1]
	}
	return strings.TrimSpace(string(r)) + "…"
}
