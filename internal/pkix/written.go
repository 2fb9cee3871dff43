package pkix

import (
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// rdnType is the start of an attribute in the text form of a name.
var rdnType = regexp.MustCompile(`^[\s,;+/]*(?:cn|c|o|ou|l|st|s|t|sn|g|gn|dc|uid|e|email|emailaddress|street|title|surname|givenname|serialnumber|initials|organizationidentifier|postalcode|dnqualifier|pseudonym|description|generationqualifier|(?:oid\.)?[0-9]+(?:\.[0-9]+)+)\s*=\s*"?`)

// hexValue is a value of RFC 4514, 2.4, in the form of its encoding.
var hexValue = regexp.MustCompile(`#[0-9A-Fa-f]{4,}`)

// escaped is a backslash escape of RFC 4514, 2.4, or RFC 2253.
var escaped = regexp.MustCompile(`\\(?:[0-9A-Fa-f]{2}|.)`)

// Wrote reports whether a text is this name, or one of its values, in some textual form: in either
// order, with any names for the types, with or without escapes. Everything in the text must be in
// the name.
func (n Name) Wrote(text string) bool {
	var values []string
	for _, rdn := range n {
		for _, a := range rdn {
			if v := strings.ToLower(squeeze(a.Value)); v != "" {
				values = append(values, v)
			}
		}
	}
	text = hexValue.ReplaceAllStringFunc(text, func(s string) string {
		if der, err := hex.DecodeString(s[1:]); err == nil {
			r := reader(der)
			if e, ok := r.next(); ok {
				if v, ok := decodeString(e); ok {
					return v
				}
			}
		}
		return s
	})
	text = escaped.ReplaceAllStringFunc(text, func(s string) string {
		if b, err := hex.DecodeString(s[1:]); err == nil && len(b) == 1 {
			return string(b)
		}
		return s[1:]
	})
	text = strings.ToLower(squeeze(text))
	if slices.Contains(values, text) {
		return true
	}
	// The longest value first, since one may be a prefix of another.
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) })
	found := false
	for text != "" {
		head := rdnType.FindString(text)
		if head == "" {
			break
		}
		text = text[len(head):]
		i := slices.IndexFunc(values, func(v string) bool {
			rest, ok := strings.CutPrefix(text, v)
			return ok && (rest == "" || strings.ContainsRune(" \",;+/", rune(rest[0])))
		})
		if i < 0 {
			return false
		}
		text = strings.TrimPrefix(strings.TrimPrefix(text, values[i]), `"`)
		found = true
	}
	return found && strings.Trim(text, " ,;+/") == ""
}
