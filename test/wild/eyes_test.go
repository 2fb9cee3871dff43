package wild

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
)

// eyes are the readers that people use: poppler and MuPDF where they are
// installed, and PDFium, which comes as WebAssembly.
type eyes struct {
	poppler, mupdf bool
	pdfium         pdfium.Pdfium // nil: it is not asked
}

// programs are the readers that are installed.
func programs(t *testing.T) *eyes {
	t.Helper()
	e := &eyes{}
	_, err := exec.LookPath("pdftoppm")
	e.poppler = err == nil
	_, err = exec.LookPath("mutool")
	e.mupdf = err == nil
	if !e.poppler || !e.mupdf {
		t.Logf("SKIPPED: what poppler (%v) and MuPDF (%v) show", e.poppler, e.mupdf)
	}
	return e
}

func newEyes(t *testing.T) *eyes {
	t.Helper()
	e := programs(t)
	pool, err := webassembly.Init(webassembly.Config{MinIdle: 1, MaxIdle: 1, MaxTotal: 1, ReuseWorkers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	if e.pdfium, err = pool.GetInstance(5 * time.Minute); err != nil {
		t.Fatal(err)
	}
	return e
}

// compare counts the readers that show the same of two documents, of those that
// show anything of the first.
func (e *eyes) compare(t *testing.T, before, after []byte) (same, of int) {
	t.Helper()
	count := func(equal, shown bool) {
		if shown {
			of++
		}
		if shown && equal {
			same++
		}
	}
	if e.poppler {
		draw := func(b []byte) []byte {
			return append(run(t, b, "pdftotext", "-q", "@", "-"), run(t, b, "pdftoppm", "-q", "-r", "24", "@")...)
		}
		a, b := draw(before), draw(after)
		count(bytes.Equal(a, b), len(a) > 0)
	}
	if e.mupdf {
		draw := func(b []byte) []byte {
			return run(t, b, "mutool", "draw", "-q", "-r", "24", "-F", "ppm", "-o", "-", "@")
		}
		a, b := draw(before), draw(after)
		count(bytes.Equal(a, b), len(a) > 0)
	}
	if e.pdfium != nil {
		a, b := e.drawn(t, before), e.drawn(t, after)
		count(bytes.Equal(a, b), a != nil)
	}
	return same, of
}

// drawn is a digest of the pages that PDFium draws; nil where it opens nothing.
func (e *eyes) drawn(t *testing.T, data []byte) []byte {
	t.Helper()
	doc, err := e.pdfium.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return nil
	}
	defer func() {
		_, _ = e.pdfium.FPDF_CloseDocument(&requests.FPDF_CloseDocument{Document: doc.Document})
	}()
	count, err := e.pdfium.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	pages := 0
	for i := range count.PageCount {
		r, err := e.pdfium.RenderPageInDPI(&requests.RenderPageInDPI{
			Page: requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}},
			DPI:  24, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT, RenderForm: true, Document: &doc.Document,
		})
		if err != nil {
			continue // no page for it
		}
		pages++
		fmt.Fprintf(h, "%d %d\n", r.Result.Width, r.Result.Height)
		h.Write(r.Result.Image.Pix)
		r.Cleanup()
	}
	if pages == 0 {
		return nil
	}
	return h.Sum(nil)
}
