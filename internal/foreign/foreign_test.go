package foreign

import (
	"strings"
	"testing"
)

func TestIn(t *testing.T) {
	for _, s := range []string{"a%PDF-1.7", "startxref", "1 0 obj", "12\n0obj<<", "1 %x\n0 obj", "1 0 %y\r%1 z\n obj", "1 +0 obj", "50% of 1 0 %x\nobj", "x 3 obj 4 0 obj", "PK\x03\x04", "xPK\x05\x06", "<<HTML>", "<!DocType html>"} {
		if !In(s) {
			t.Errorf("%q is not seen", s)
		}
	}
	if In("PDF, PK, <h, <!doctype xml, 3 objects, a 0 obj, 4 1obk, %9 obj, obj") || PDFIn("<html>") {
		t.Error("something is seen where nothing is")
	}
}

func TestOutside(t *testing.T) {
	pad := strings.Repeat("x", 256<<10-2) // the mark lies across two windows
	doc := pad + "%PDF-" + pad
	at := int64(len(pad))
	for name, c := range map[string]struct {
		covered []Span
		seen    bool
	}{
		"nothing covered":   {nil, true},
		"covered":           {[]Span{{at, at + 5}}, false},
		"covered before":    {[]Span{{0, at}}, true},
		"covered after":     {[]Span{{at + 5, at + 100}}, true},
		"covered by pieces": {[]Span{{0, at}, {at, at + 5}}, false},
	} {
		if got := Outside(strings.NewReader(doc), c.covered, In); got != c.seen {
			t.Errorf("%s: seen is %v", name, got)
		}
	}
}
