package forgery

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
)

// eyes compare what pages look like to three readers: MuPDF, poppler, PDFium.
type eyes struct {
	t    *testing.T
	dir  string
	seen map[[sha256.Size]byte][][]byte
}

func newEyes(t *testing.T) *eyes {
	return &eyes{t: t, dir: t.TempDir(), seen: make(map[[sha256.Size]byte][][]byte)}
}

// take returns which of its meanings each reader sees in a specimen, and whether the readers agree.
// A reader that shows nothing deceives no one. Differences of content are not looked for.
func (y *eyes) take(sp specimen) (words []string, agree bool) {
	y.t.Helper()
	if sp.means == nil {
		return nil, true
	}
	var meanings [][][]byte
	for _, doc := range sp.means {
		key := sha256.Sum256(doc)
		if y.seen[key] == nil {
			y.seen[key] = y.look(doc)
		}
		meanings = append(meanings, y.seen[key])
	}
	common := make([]bool, len(meanings))
	for n := range common {
		common[n] = true
	}
	for i, picture := range y.look(sp.data) {
		word := ""
		for n, m := range meanings {
			if bytes.Equal(m[i], picture) {
				word += fmt.Sprint(n)
			} else if len(picture) > 0 {
				common[n] = false
			}
		}
		switch {
		case len(picture) == 0:
			word = "nothing"
		case word == "":
			word = "else"
		}
		words = append(words, word)
	}
	return words, slices.Contains(common, true)
}

// differ wants the picture of a document to be another one than that of the
// document it was made from, with one reader at least.
func (y *eyes) differ(name string, before, after []byte) {
	y.t.Helper()
	if y.same(before, after) {
		y.t.Errorf("%s: no reader shows a difference", name)
	}
}

// same reports whether every reader shows two documents alike.
func (y *eyes) same(before, after []byte) bool {
	y.t.Helper()
	return slices.EqualFunc(y.look(before), y.look(after), bytes.Equal)
}

// look renders the first page with each reader that is there.
func (y *eyes) look(data []byte) [][]byte {
	y.t.Helper()
	path := filepath.Join(y.dir, "look.pdf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		y.t.Fatal(err)
	}
	out := [][]byte{pdfiumGrey(y.t, data, 0, eyesDPI)}
	for _, c := range [][]string{
		{"mutool", "draw", "-q", "-r", "36", "-F", "ppm", "-o", "-", path, "1"},
		{"pdftoppm", "-r", "36", "-f", "1", "-l", "1", path},
	} {
		if _, err := exec.LookPath(c[0]); err != nil {
			y.t.Logf("SKIPPED: no pictures by %s", c[0])
			continue
		}
		b, _ := exec.Command(c[0], c[1:]...).Output()
		out = append(out, b)
	}
	return out
}

const eyesDPI = 36

// pdfiumOnce is PDFium, compiled to WebAssembly: it needs no installation.
var pdfiumOnce = sync.OnceValues(func() (pdfium.Pdfium, error) {
	pool, err := webassembly.Init(webassembly.Config{MinIdle: 1, MaxIdle: 1, MaxTotal: 1, ReuseWorkers: true})
	if err != nil {
		return nil, err
	}
	return pool.GetInstance(time.Minute)
})

// pdfiumGrey renders a page with its annotations and form as a grey map (PGM);
// nil where PDFium does not show it.
func pdfiumGrey(t *testing.T, data []byte, page, dpi int) []byte {
	t.Helper()
	p, err := pdfiumOnce()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return nil
	}
	defer func() { _, _ = p.FPDF_CloseDocument(&requests.FPDF_CloseDocument{Document: doc.Document}) }()
	r, err := p.RenderPageInDPI(&requests.RenderPageInDPI{
		Page: requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: page}},
		DPI:  dpi, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT, RenderForm: true, Document: &doc.Document,
	})
	if err != nil {
		return nil
	}
	defer r.Cleanup()
	img := r.Result.Image
	out := fmt.Appendf(nil, "P5\n%d %d\n255\n", img.Rect.Dx(), img.Rect.Dy())
	for i := 0; i+3 < len(img.Pix); i += 4 {
		out = append(out, byte((int(img.Pix[i])+2*int(img.Pix[i+1])+int(img.Pix[i+2]))/4))
	}
	return out
}
