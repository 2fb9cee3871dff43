package revision

import (
	"context"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/pdf"
)

// signedRevisions are the revisions that signatures close, with the strongest
// certification found.
func signedRevisions(d *pdf.Document) (closed []int, docMDP int) {
	m, err := newModel(&view{Document: d, shared: make(map[place]pdf.Object)}, len(d.Revisions()), &work{ctx: context.Background()})
	if err != nil {
		return nil, 0
	}
	for _, f := range m.fields {
		v := m.dict(f.attrs.Get("V"))
		br, err := d.Array(v.Get("ByteRange"))
		if err != nil || len(br) != 4 || d.Name(v.Get("SubFilter")) == "ETSI.RFC3161" {
			continue
		}
		from, _ := d.Int(br[2])
		size, _ := d.Int(br[3])
		for i, r := range d.Revisions() {
			if r.End <= from+size && (i+1 == len(d.Revisions()) || d.Revisions()[i+1].End > from+size) {
				closed = append(closed, i+1)
			}
		}
		refs, _ := d.Array(v.Get("Reference"))
		for _, o := range refs {
			if r := m.dict(o); d.Name(r.Get("TransformMethod")) == "DocMDP" {
				p, ok := d.Int(m.dict(r.Get("TransformParams")).Get("P"))
				if docMDP = int(p); !ok {
					docMDP = formFilling
				}
			}
		}
	}
	return closed, docMDP
}

// TestAttacksAreNamed: an attack that works by changing the file after signing
// must leave a change that is not permitted, and a harmless counterpart none.
func TestAttacksAreNamed(t *testing.T) {
	for _, a := range corpus.Attacks(t) {
		if !strings.HasPrefix(a.ID, "att-pdf") {
			continue
		}
		t.Run(a.ID, func(t *testing.T) {
			d, err := pdf.Open(a.Source(t), pdf.Options{})
			if err != nil && !a.Control {
				return // refused, so never taken for valid
			}
			if err != nil {
				t.Fatal(err)
			}
			closed, p := signedRevisions(d)
			updated, bad := false, 0
			for _, n := range closed {
				updated = updated || n < len(d.Revisions())
				changes, err := New(t.Context(), d).Compare(n, Rules{DocMDP: p})
				if err != nil {
					t.Fatal(err)
				}
				for _, ch := range changes {
					if !ch.Permitted {
						bad++
					}
				}
			}
			if a.Refused() && updated && bad == 0 {
				t.Errorf("signed at %v of %d revisions, and every change is permitted", closed, len(d.Revisions()))
			}
			if a.Control && bad > 0 {
				t.Errorf("%d changes of a harmless file are not permitted", bad)
			}
		})
	}
}
