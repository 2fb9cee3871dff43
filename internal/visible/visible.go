// Package visible makes text that strangers wrote harmless where people read it:
// in a terminal, on a page, in the name of a file.
package visible

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden says that a character is not shown but does something: it commands a
// terminal (C0, C1, DEL), turns the direction of writing (Unicode TR 36, 2.7) or
// ends a line.
func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Text shows each of them as U+FFFD. Lines and tabs stay.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// Line is Text for what must stay on one line and in one column.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return utf8.RuneError
		}
		return r
	}, Text(s))
}

// Name is what of a text can be part of a file's name anywhere: neither a
// separator nor what a file system or a shell takes for something else, nothing
// that is not seen, at most 100 characters.
func Name(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || unicode.Is(unicode.Cf, r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 100 {
		s = string(r[:100])
	}
	return strings.Trim(s, " .")
}

// Writer passes on what is written as [Text] has it.
func Writer(w io.Writer) io.Writer { return &writer{w: w} }

type writer struct {
	w    io.Writer
	rest []byte // the beginning of a character
}

func (w *writer) Write(p []byte) (int, error) {
	b := append(w.rest, p...)
	end := len(b)
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				end = len(b) - i
			}
			break
		}
	}
	w.rest = append([]byte(nil), b[end:]...)
	if _, err := io.WriteString(w.w, Text(string(b[:end]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
