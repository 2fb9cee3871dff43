package xades

import (
	"bytes"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// TestFormatsDecideLevel: what stands in and about DataObjectFormat makes the
// difference between a baseline signature, a bare one, and no XAdES at all.
// The files are edited, so their digests are wrong; levels are about form.
func TestFormatsDecideLevel(t *testing.T) {
	p := adestest.Must(t, clock)
	good := sign(t, p.Actor(t, "good"), []ades.File{file("a.txt", "text")}, Options{Packaging: Enveloping})
	for name, c := range map[string]struct{ old, new, level string }{
		"as made":              {"", "", "XAdES-BASELINE-B"},
		"another type":         {"</xades:MimeType>", "x</xades:MimeType>", "XML-NOT-ETSI"},
		"another encoding":     {"</xades:MimeType>", "</xades:MimeType><xades:Encoding>x</xades:Encoding>", "XML-NOT-ETSI"},
		"properties not named": {` Type="http://uri.etsi.org/01903#SignedProperties"`, "", "XAdES-BES"},
	} {
		b := bytes.Replace(good, []byte(c.old), []byte(c.new), 1)
		if c.old != "" && bytes.Equal(b, good) {
			t.Fatalf("%s: nothing to change in %s", name, good)
		}
		doc := readBack(t, b, nil)
		if got := Profile(doc.Signatures[0], doc, nil).Name; got != c.level {
			t.Errorf("%s: %s, want %s", name, got, c.level)
		}
	}
}
