package policy

import (
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
)

// The names of attributes are for those who wrote the standard.
func TestReferencesAreToldToPeople(t *testing.T) {
	for _, row := range []struct {
		ref  ades.Reference
		want string
	}{
		{ades.Reference{Kind: "message-digest", Found: true, Intact: ades.No}, "its digest does not match."},
		{ades.Reference{Kind: "message-digest"}, "the signature is detached"},
		{ades.Reference{Kind: "byte-range", Found: true}, "what is signed cannot be checked."},
		{ades.Reference{Kind: "xml-reference", URI: "#a", Found: true, Intact: ades.No}, "the digest of #a does not match."},
		{ades.Reference{Kind: "manifest-entry", Name: "a.txt"}, "missing: a.txt."},
	} {
		v := new(judge).cryptography(&ades.Signature{References: []ades.Reference{row.ref}})
		if got := v.messages[0].Text; !strings.Contains(got, row.want) {
			t.Errorf("%+v: %q, want %q", row.ref, got, row.want)
		}
	}
}
