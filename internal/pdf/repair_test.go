package pdf

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestScanAcrossBorders has the number of an object cut in two by the border of
// what is read at once: its rest is no object.
func TestScanAcrossBorders(t *testing.T) {
	const border = 256 << 10
	for cut := range 12 {
		head := "%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 3 0 R>>\nendobj\n3 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\n%"
		file := head + strings.Repeat("x", border-cut-1-len(head)) + "\n1234 0 obj\n(x)\nendobj\ntrailer\n<</Root 1 0 R>>\n"
		d, err := Open(bytes.NewReader([]byte(file)), Options{Rebuild: true})
		if err != nil {
			t.Fatal(err)
		}
		var all []int
		for _, r := range d.sections[0].runs {
			for i := range r.entries {
				all = append(all, r.first+i)
			}
		}
		if !slices.Equal(all, []int{1, 3, 1234}) {
			t.Errorf("cut after %d bytes: objects %v", cut, all)
		}
	}
}
