package pades

import (
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/pdf"
)

// A later revision with a store of its own does not take away what the first
// signature brought.
func TestStoresOfAllRevisions(t *testing.T) {
	pki := adestest.Must(t, nil)
	doc := signed(t, pki, simplePDF(1), ades.LevelLT, Options{})
	before := readAll(t, doc, "")
	replaced := update(t, doc, func(d *pdf.Document, u *pdf.Update) {
		cat, err := d.Catalog()
		if err != nil {
			t.Fatal(err)
		}
		changed := pdf.NewDict()
		for _, e := range cat.Entries {
			if e.Key != "DSS" {
				changed.Set(e.Key, e.Value)
			}
		}
		u.Set(d.Root(), changed)
	})
	after := readAll(t, replaced, "")
	if len(before.Evidence) == 0 || len(after.Evidence) != len(before.Evidence) {
		t.Errorf("%d pieces of evidence before, %d after", len(before.Evidence), len(after.Evidence))
	}
	for i, e := range after.Evidence {
		if e.Revision != before.Evidence[i].Revision {
			t.Errorf("%s is of revision %d, was of %d", e.Kind, e.Revision, before.Evidence[i].Revision)
		}
	}
}
