package xmldom

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	nameStart = 1 << iota
	nameChar
	space
	control // not allowed in XML 1.0
)

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= 0x80, c == '_', c == ':', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			t[c] = nameStart | nameChar
		case c == '-', c == '.', '0' <= c && c <= '9':
			t[c] = nameChar
		case c == ' ', c == '\t', c == '\n', c == '\r':
			t[c] = space
		case c < 0x20:
			t[c] = control
		}
	}
	return t
}()

// checkChars returns the position of the first character that XML does not allow. Checking the
// whole text once keeps this out of the parser's inner loops.
func checkChars(s string) (int, error) {
	if !utf8.ValidString(s) {
		return firstInvalid(s), errors.New("not valid UTF-8")
	}
	if i := controlAt(s); i >= 0 {
		return i, fmt.Errorf("character U+%04X is not allowed", s[i])
	}
	for _, bad := range []string{"\uFFFE", "\uFFFF"} {
		if i := strings.Index(s, bad); i >= 0 {
			return i, errors.New("noncharacter is not allowed")
		}
	}
	return 0, nil
}

// CheckChars reports a character that XML does not allow, in text that will become part of a
// document.
func CheckChars(s string) error {
	_, err := checkChars(s)
	return err
}

func firstInvalid(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return len(s)
}

// controlAt is the position of the first control character that is not white space, or -1.
func controlAt(s string) int {
	for i := range len(s) {
		if s[i] < ' ' && class[s[i]]&control != 0 {
			return i
		}
	}
	return -1
}

// isChar is the Char production, for character references.
func isChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || 0x20 <= r && r <= 0xD7FF ||
		0xE000 <= r && r <= 0xFFFD || 0x10000 <= r && r <= 0x10FFFF
}

// IsName reports whether a text is an XML name without a colon, like an Id.
func IsName(s string) bool {
	d, err := Parse("<"+s+"/>", Limits{}) // the parser knows what a name is
	return err == nil && d.Root().Name.QName == s && d.Root().Name.Prefix == ""
}

// validName checks the non-ASCII characters of a name.
func validName(s string) bool {
	for i, r := range s {
		if r < 0x80 {
			continue
		}
		if !isNameStart(r) && (i == 0 || !isNameExtra(r)) {
			return false
		}
	}
	return true
}

func isNameStart(r rune) bool {
	switch {
	case r == 0xD7, r == 0xF7:
		return false
	case 0xC0 <= r && r <= 0x2FF, 0x370 <= r && r <= 0x37D, 0x37F <= r && r <= 0x1FFF,
		0x200C <= r && r <= 0x200D, 0x2070 <= r && r <= 0x218F, 0x2C00 <= r && r <= 0x2FEF,
		0x3001 <= r && r <= 0xD7FF, 0xF900 <= r && r <= 0xFDCF, 0xFDF0 <= r && r <= 0xFFFD,
		0x10000 <= r && r <= 0xEFFFF:
		return true
	}
	return false
}

func isNameExtra(r rune) bool {
	return r == 0xB7 || 0x300 <= r && r <= 0x36F || r == 0x203F || r == 0x2040
}
