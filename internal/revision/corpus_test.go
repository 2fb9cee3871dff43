package revision

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/pdf"
)

func corpus(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("ROGITO_SHARED")
	if dir == "" {
		dir = "../../../shared"
	}
	dir = filepath.Join(dir, "corpus")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("SKIPPED: the corpus is not here; set ROGITO_SHARED")
	}
	return dir
}

// signedRevisions are the revisions that signatures close, with the strongest
// certification found.
func signedRevisions(d *pdf.Document) (closed []int, docMDP int) {
	c := &comparison{old: d, new: d, changed: map[int]int{}, parts: map[int]part{}}
	catalog, err := d.Catalog()
	if err != nil {
		return nil, 0
	}
	for _, f := range c.collectFields(d, c.dict(d, catalog.Get("AcroForm"))) {
		v := c.dict(d, f.dict.Get("V"))
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
			if r := c.dict(d, o); d.Name(r.Get("TransformMethod")) == "DocMDP" {
				p, ok := d.Int(c.dict(d, r.Get("TransformParams")).Get("P"))
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
	dir := corpus(t)
	b, err := os.ReadFile(filepath.Join(dir, "attacks", "manifest.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a struct {
			ID, File string
			Control  bool
			Expect   struct {
				Valid *bool `json:"may_be_reported_valid"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(a.ID, "att-pdf") {
			continue
		}
		t.Run(a.ID, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(dir, a.File))
			if err != nil {
				t.Fatal(err)
			}
			d, err := pdf.Open(bytes.NewReader(raw), pdf.Options{})
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
				changes, err := Compare(d, n, Rules{DocMDP: p})
				if err != nil {
					t.Fatal(err)
				}
				for _, ch := range changes {
					if !ch.Permitted {
						bad++
					}
				}
			}
			forged := a.Expect.Valid != nil && !*a.Expect.Valid
			if forged && updated && bad == 0 {
				t.Errorf("signed at %v of %d revisions, and every change is permitted", closed, len(d.Revisions()))
			}
			if a.Control && bad > 0 {
				t.Errorf("%d changes of a harmless file are not permitted", bad)
			}
		})
	}
}
