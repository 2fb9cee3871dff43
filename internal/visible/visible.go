// Package visible makes untrusted text harmless where people read it: in a terminal, on a page, in
// the name of a file.
package visible

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blank are letters that have no ink: they are read as a space, or not at all.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034f, 0x034f, 1},
		{0x115f, 0x1160, 1},
		{0x17b4, 0x17b5, 1},
		{0x180b, 0x180f, 1},
		{0x2028, 0x2029, 1},
		{0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1},
		{0xfe00, 0xfe0f, 1},
		{0xffa0, 0xffa0, 1},
	},
	R32: []unicode.Range32{{0xe0100, 0xe01ef, 1}},
}

// hidden reports whether a character is invisible but has an effect: it controls a terminal (C0,
// C1, DEL), changes the direction of writing (Unicode TR 36, 2.7), ends a line, or is invisible
// inside a word.
func hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(blank, r)
}

// acting is hidden for whole texts, in which lines end, and emoji and some
// scripts need joiners and variants.
func acting(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u200b', '\u2028', '\u2029', '\u2060', '\ufeff':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

// escaped shows such characters, and bytes that are no UTF-8, as an escape.
func escaped(s string, hidden func(rune) bool) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return hidden(r) || r == utf8.RuneError }) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !hidden(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// Text escapes a text of ours that may contain untrusted text. Lines and tabs stay.
func Text(s string) string { return escaped(s, acting) }

// Line escapes an untrusted text: the result is on one line, in one column, with nothing invisible
// in it.
func Line(s string) string { return escaped(s, hidden) }

// Name is the part of a text that is safe in a file name anywhere: no separators, nothing that a
// file system or shell interprets, nothing invisible, at most 100 characters.
func Name(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || hidden(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
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

// Row is a line of a table (CSV, RFC 4180). Every cell is in quotes, so that one
// stays one where the list separator is another, as in Italy; what a spreadsheet
// would take for a formula has an apostrophe before it.
func Row(cells ...string) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + strings.ReplaceAll(Inert(Line(c)), `"`, `""`) + `"`)
	}
	b.WriteString("\r\n")
	return b.String()
}

// Inert puts an apostrophe before what a spreadsheet would take for a formula: names of files and
// signers are untrusted.
func Inert(cell string) string {
	if strings.IndexAny(strings.TrimLeft(cell, " \u00a0\u3000"), "=+-@\uff1d\uff0b\uff0d\uff20|%") == 0 {
		return "'" + cell
	}
	return cell
}
