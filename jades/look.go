package jades

import (
	"bytes"
	"io"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

func itoa(n int) string { return strconv.Itoa(n) }

// hasMembers reads the names of an object at the top of a JSON text, as far as
// it can be read, and tells whether they are those of a JWS. Whether they are
// there twice is looked at later.
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
		// Other formats have lists of that name, but not of such members.
		list, err := d.ReadValue()
		if err != nil {
			signatures = true // cut off
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

// maxNames is how many members are looked at.
const maxNames = 1000
