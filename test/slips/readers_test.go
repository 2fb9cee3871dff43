package slips

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
)

// look is what a reader shows of a document: a digest of the pictures of all
// pages, "" where it shows none.
type look string

// reader is a program that people read PDFs with.
type reader struct {
	name string
	see  func(dir string, data []byte) (look, error)
}

// readers are those that are tried. MuPDF and poppler must be installed; PDFium
// comes as WebAssembly.
var readers = []reader{
	{"poppler", func(dir string, data []byte) (look, error) {
		return drawn(dir, data, "pdftoppm", "-r", "36", "@")
	}},
	{"MuPDF", func(dir string, data []byte) (look, error) {
		return drawn(dir, data, "mutool", "draw", "-q", "-r", "36", "-F", "ppm", "-o", "-", "@")
	}},
	{"PDFium", pdfiumLook},
}

// drawn runs a program that writes its pictures to its output.
func drawn(dir string, data []byte, name string, args ...string) (look, error) {
	if _, err := exec.LookPath(name); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "look.pdf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", err
	}
	args[len(args)-1] = path
	out, _ := exec.Command(name, args...).Output() // some complain, and draw
	return digest(out), nil
}

func digest(pictures ...[]byte) look {
	all := bytes.Join(pictures, nil)
	if len(all) == 0 {
		return ""
	}
	return look(fmt.Sprintf("%x", sha256.Sum256(all)))
}

var pdfiumOnce = sync.OnceValues(func() (pdfium.Pdfium, error) {
	pool, err := webassembly.Init(webassembly.Config{MinIdle: 1, MaxIdle: 1, MaxTotal: 1, ReuseWorkers: true})
	if err != nil {
		return nil, err
	}
	return pool.GetInstance(time.Minute)
})

func pdfiumLook(_ string, data []byte) (look, error) {
	p, err := pdfiumOnce()
	if err != nil {
		return "", err
	}
	doc, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return "", nil //nolint:nilerr // it shows nothing
	}
	defer func() { _, _ = p.FPDF_CloseDocument(&requests.FPDF_CloseDocument{Document: doc.Document}) }()
	count, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return "", err
	}
	var pictures [][]byte
	for i := range count.PageCount {
		r, err := p.RenderPageInDPI(&requests.RenderPageInDPI{
			Page: requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}},
			DPI:  36, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT, RenderForm: true, Document: &doc.Document,
		})
		if err != nil {
			continue // no page for it
		}
		pictures = append(pictures, fmt.Appendf(nil, "%d %d\n", r.Result.Width, r.Result.Height), bytes.Clone(r.Result.Image.Pix))
		r.Cleanup()
	}
	return digest(pictures...), nil
}

// missing skips loudly where a reader is not there.
func missing(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("SKIPPED: readers differ is shown with poppler and MuPDF: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
