package rogito_test

import (
	"archive/zip"
	"bytes"
	"testing"

	"rogito.dev/rogito"
)

// The report of a batch is no document; another file of that name is one.
func TestArchivedBatch(t *testing.T) {
	const line = `{"index": 0, "name": "a.pdf", "file": "0000_a.pdf", "state": "DONE", "errorNumber": null, "errorMessage": null, "sha256": "00"}`
	const failed = `{"index": 1, "name": "b.pdf", "file": null, "state": "ERROR", "errorNumber": 113, "errorMessage": "no", "sha256": null}`
	for _, c := range []struct {
		name, report string
		others       []string
		documents    int
	}{
		{"a batch", "[" + line + "," + failed + "]", []string{"0000_a.pdf"}, 1},
		{"a file that it does not name", "[" + line + "]", []string{"0000_a.pdf", "b.pdf"}, 3},
		{"a file that is not there", "[" + line + "]", []string{"b.pdf"}, 2},
		{"a member of another kind", `[{"index": 0, "file": "0000_a.pdf", "state": "DONE", "amount": 5}]`, []string{"0000_a.pdf"}, 2},
		{"more behind it", "[" + line + "] {}", []string{"0000_a.pdf"}, 2},
		{"other JSON", `{"total": 5}`, []string{"0000_a.pdf"}, 2},
		{"no JSON", "total: 5", []string{"0000_a.pdf"}, 2},
		{"alone", "[]", nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			z := zip.NewWriter(&b)
			add := func(name, text string) {
				f, err := z.Create(name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			for _, name := range c.others {
				add(name, "%PDF-1.7")
			}
			add("report.json", c.report)
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			files, _, err := rogito.Archived(t.Context(), bytes.NewReader(b.Bytes()))
			if err != nil || len(files) != c.documents {
				t.Errorf("%d documents, want %d (%v)", len(files), c.documents, err)
			}
		})
	}
}
