package jades_test

import (
	"strings"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/jades"
)

// TestNamesAreSigned: sigD lists contents by name. A content may be given under a name that is not
// listed, but not under that of another.
func TestNamesAreSigned(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	signed := made(t, a, a.Signing(pki.Now()), jades.Options{Detached: true}, file("offer.txt", "100"), file("annex 1.txt", "900"))
	for name, c := range map[string]struct {
		files []ades.File
		want  ades.Tri
	}{
		"as signed":         {[]ades.File{file("annex 1.txt", "900"), file("offer.txt", "100")}, ades.Yes},
		"percent-encoded":   {[]ades.File{file("annex%201.txt", "900"), file("offer.txt", "100")}, ades.Yes},
		"under other names": {[]ades.File{file("b", "900"), file("a", "100")}, ades.Yes},
		"without names":     {[]ades.File{file("", "900"), file("", "100")}, ades.Yes},
		"one name twice":    {[]ades.File{file("offer.txt", "500"), file("annex 1.txt", "900"), file("offer.txt", "100")}, ades.Yes},
		"exchanged":         {[]ades.File{file("annex 1.txt", "100"), file("offer.txt", "900")}, ades.No},
		"in another case":   {[]ades.File{file("ANNEX 1.txt", "900"), file("Offer.txt", "100")}, ades.Yes},
		"exchanged, in another case": {
			[]ades.File{file("Annex 1.txt", "100"), file("Offer.txt", "900")}, ades.No,
		},
		"the real one elsewhere": {
			[]ades.File{file("annex 1.txt", "900"), file("offer.txt", "500"), file("old.txt", "100")}, ades.No,
		},
	} {
		if got := read(t, signed, c.files...).Signatures[0].Intact(); got != c.want {
			t.Errorf("%s: intact %v, want %v", name, got, c.want)
		}
	}
}

// TestLongField: a field that is too long to be read is not signed because another of its name is.
func TestLongField(t *testing.T) {
	pki := newPKI(t)
	a := pki.Actor(t, "good")
	host, note := file("Host", "example.org"), file("X-Note", "100")
	signed := made(t, a, a.Signing(pki.Now()), jades.Options{Detached: true, Mechanism: jades.HTTPHeaders}, host, note)
	good(t, read(t, signed, host, note))
	long := file("x-note", "900"+strings.Repeat(" ", 64<<10))
	if s := read(t, signed, host, note, long).Signatures[0]; s.Intact() == ades.Yes {
		t.Errorf("intact with another field of %d bytes", long.Source.Size())
	}
}
