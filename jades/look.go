package jades

import (
	"bytes"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// hasMembers reads the names of the top-level object of a JSON text, as far as it is readable, and
// reports whether they are those of a JWS. Duplicates are checked later.
func hasMembers(r io.Reader) bool {
	d := jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return false
	}
	var names []string
	signatures := false
	for d.PeekKind() == '"' && len(names) < maxNames {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		names = append(names, name.String())
		if name.String() != "signatures" || d.PeekKind() != '[' {
			if err := d.SkipValue(); err != nil {
				break
			}
			continue
		}
		// Other formats have lists of that name, but with other members.
		list, err := d.ReadValue()
		if err != nil {
			signatures = true // truncated
			break
		}
		signatures = bytes.Contains(list, []byte(`"signature"`)) || bytes.Contains(list, []byte(`"protected"`))
	}
	has := func(name string) bool { return slices.Contains(names, name) }
	switch {
	case signatures:
		return true
	case has("protected"):
		return has("signature") || has("payload")
	}
	return has("signature") && has("payload") && has("header")
}

// maxNames bounds the members that are examined.
const maxNames = 1000
