package pades

import (
	"fmt"
	"strings"
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

// What a stream holds depends on every object on the way to it and on those that its dictionary
// names. Evidence is as young as the youngest of these: an update must not put new data where a
// time-stamp covers old objects.
func TestEvidenceIsAsYoungAsItsParts(t *testing.T) {
	for name, tt := range map[string]struct {
		eight, nine string
		now         pdf.Object // object 9 of the update
		want        int
	}{
		"another object": {"<</Length 12>>\nstream\nfirst0second\nendstream", "6", pdf.Integer(12), 1},
		"a reference":    {"9 0 R", "<</Length 5>>\nstream\nfirst\nendstream", &pdf.Stream{Dict: &pdf.Dict{}, Data: []byte("second")}, 2},
		"its length":     {"<</Length 9 0 R>>\nstream\nfirst\nendstream\nsecond\nendstream", "5", pdf.Integer(22), 2},
		"its filter":     {"<</Length 12/Filter[9 0 R]>>\nstream\nfirst0second\nendstream", "/ASCII85Decode", pdf.Name("RunLengthDecode"), 2},
	} {
		b := newBuilder()
		b.object(1, "<</Type/Catalog/Pages 2 0 R/DSS 7 0 R>>")
		b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
		b.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>")
		b.object(7, "<</OCSPs[8 0 R]>>")
		b.object(8, tt.eight)
		b.object(9, tt.nine)
		doc := update(t, b.table("/Root 1 0 R"), func(_ *pdf.Document, u *pdf.Update) { u.Set(pdf.Ref{Num: 9}, tt.now) })
		facts := readAll(t, doc, "")
		if len(facts.Evidence) == 0 || facts.Evidence[0].Revision != tt.want { // the first is that of the last revision
			t.Errorf("%s: %+v, want revision %d", name, facts.Evidence, tt.want)
		}
	}
}

// References that branch are not followed without end.
func TestEvidenceBranches(t *testing.T) {
	b := newBuilder()
	b.object(1, "<</Type/Catalog/Pages 2 0 R/DSS 7 0 R>>")
	b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	b.object(3, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>")
	b.object(7, "<</OCSPs[8 0 R]>>")
	b.object(8, "<</Length 5/X 9 0 R>>\nstream\nfirst\nendstream")
	for n := 9; n < 18; n++ {
		b.object(n, "["+strings.Repeat(fmt.Sprintf("%d 0 R ", n+1), 100)+"]")
	}
	b.object(18, "1")
	if facts := readAll(t, b.table("/Root 1 0 R"), ""); len(facts.Evidence) != 1 || facts.Evidence[0].Revision != 1 {
		t.Errorf("%+v", facts.Evidence)
	}
}
