package draw

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/draw/drawtest"
)

// testCache is where all tests find what was compiled of PDFium.
var testCache string

func TestMain(m *testing.M) {
	// Compiled before the tests begin, which would each do so for themselves at the
	// same time.
	var err error
	if testCache, err = drawtest.Cache(); err == nil {
		d := &Drawer{Cache: testCache}
		err = errors.Join(d.start(), d.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func drawer(t testing.TB) *Drawer {
	t.Helper()
	d := &Drawer{Cache: testCache}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// write makes a PDF of its objects, the first of which is the catalog.
func write(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

func stream(content string) string {
	return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

// pages is a document of so many of them, with a line of text at (72, 700) each.
func pages(n int, more string) []byte {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R " + more + " >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
	var kids []string
	for i := range n {
		id := len(objects) + 1
		kids = append(kids, fmt.Sprintf("%d 0 R", id))
		text := "BT /F 12 Tf 72 700 Td (Clause on page " + fmt.Sprint(i+1) + ") Tj ET\n"
		for line := range 40 {
			text += fmt.Sprintf("BT /F 10 Tf 72 %d Td (The tenant pays the rent on the first day of each month, line %d.) Tj ET\n", 680-15*line, line)
		}
		objects = append(objects,
			fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents %d 0 R >>", id+1),
			stream(text))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), n)
	return write(objects...)
}

func open(t testing.TB, d *Drawer, data []byte) *Document {
	t.Helper()
	doc, err := d.Open(t.Context(), data, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(doc.Close)
	return doc
}

func picture(t testing.TB, doc *Document, n, width int) image.Image {
	t.Helper()
	b, err := doc.PNG(t.Context(), n, width)
	if err != nil {
		t.Fatal(err)
	}
	p, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ink counts the pixels that are not white in a part of a picture.
func ink(p image.Image, part image.Rectangle) (n int) {
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			if r, g, b, _ := p.At(x, y).RGBA(); r < 0x8000 || g < 0x8000 || b < 0x8000 {
				n++
			}
		}
	}
	return n
}

func TestDraw(t *testing.T) {
	t.Parallel()
	doc := open(t, drawer(t), pages(3, ""))
	if doc.Pages() != 3 {
		t.Errorf("%d pages", doc.Pages())
	}
	if w, h, err := doc.Size(t.Context(), 2); err != nil || w != 595 || h != 842 {
		t.Errorf("%v × %v, %v", w, h, err)
	}
	p := picture(t, doc, 2, 595)
	if p.Bounds() != image.Rect(0, 0, 595, 842) {
		t.Errorf("a picture of %v", p.Bounds())
	}
	if n := ink(p, image.Rect(72, 130, 200, 145)); n < 50 {
		t.Errorf("%d dark pixels where the text stands", n)
	}
	if n := ink(p, image.Rect(0, 0, 595, 100)); n != 0 {
		t.Errorf("%d dark pixels on the empty margin", n)
	}
	text, err := doc.Text(t.Context(), 2)
	if err != nil || !strings.HasPrefix(text, "Clause on page 2\n") || !strings.Contains(text, "line 39.") {
		t.Errorf("%q, %v", text, err)
	}
	n, box, ok, err := doc.Find(t.Context(), "on page 3")
	if err != nil || !ok || n != 3 || box.Left < 72 || box.Left > 130 || box.Bottom < 690 || box.Top > 720 {
		t.Errorf("page %d, %+v, %v, %v", n, box, ok, err)
	}
	if _, _, ok, err := doc.Find(t.Context(), "on page 4"); ok || err != nil {
		t.Errorf("a text that is not there was found: %v, %v", ok, err)
	}
	for _, n := range []int{0, -1, 4} {
		if _, err := doc.PNG(t.Context(), n, 100); !errors.Is(err, ErrNoPage) {
			t.Errorf("page %d: %v", n, err)
		}
	}
}

// A form is part of what is signed, and a page is shown as it says.
func TestFormsAndTurnedPages(t *testing.T) {
	t.Parallel()
	doc := open(t, drawer(t), write(
		"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [4 0 R] >> >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Rotate 90 /Annots [4 0 R] >>",
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /V (x) /F 4 /Rect [100 50 200 100] /AP << /N 5 0 R >> >>",
		"<< /Type /XObject /Subtype /Form /BBox [0 0 100 50] /Length 22 >>\nstream\n1 0 0 rg 0 0 100 50 re f\nendstream",
	))
	if w, h, err := doc.Size(t.Context(), 1); err != nil || w != 200 || h != 400 {
		t.Errorf("%v × %v, %v", w, h, err)
	}
	p := picture(t, doc, 1, 200)
	if n := ink(p, image.Rect(50, 100, 100, 200)); n < 4500 {
		t.Errorf("%d of 5,000 pixels of the field", n)
	}
	if r, g, _, _ := p.At(75, 150).RGBA(); r < 0xf000 || g > 0x1000 {
		t.Errorf("the field is %v", p.At(75, 150))
	}
}

// What PDFium was compiled to is read back by the next process.
func TestCompiledOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		d := &Drawer{Cache: dir}
		doc := open(t, d, pages(1, ""))
		doc.Close()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	files := 0
	_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, _ error) error {
		if !e.IsDir() {
			files++
		}
		return nil
	})
	if files == 0 {
		t.Error("nothing was kept")
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	d := drawer(t)
	for name, data := range map[string][]byte{
		"nothing":  nil,
		"text":     []byte("a letter"),
		"no pages": write("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>"),
	} {
		if doc, err := d.Open(t.Context(), data, ""); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
			if err == nil {
				doc.Close()
			}
		}
	}
	giant := open(t, d, bytes.Replace(pages(1, ""), []byte("595 842"), []byte("9e9 842"), 1))
	if b, err := giant.PNG(t.Context(), 1, 1000); err == nil {
		if c, err := png.DecodeConfig(bytes.NewReader(b)); err != nil || c.Width*c.Height > mostPixels+20_000 {
			t.Errorf("%d × %d, %v", c.Width, c.Height, err)
		}
	}
}

// endless is a page whose content is a form that draws itself ten times, nine deep.
func endless() []byte {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /XObject << /X 5 0 R >> >> /Contents 4 0 R >>",
		stream("/X Do"),
	}
	for i := range 9 {
		content := strings.Repeat("/X Do ", 10)
		objects = append(objects, fmt.Sprintf(
			"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X %d 0 R >> >> /Length %d >>\nstream\n%s\nendstream",
			i+6, len(content), content))
	}
	fill := strings.Repeat("0 0 600 800 re f ", 100)
	objects = append(objects, fmt.Sprintf("<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Length %d >>\nstream\n%s\nendstream", len(fill), fill))
	return write(objects...)
}

// A page without end is stopped, and the next document is drawn as if nothing was.
func TestStopped(t *testing.T) {
	t.Parallel()
	d := &Drawer{Cache: testCache, Instances: 1, Time: 2 * time.Second}
	t.Cleanup(func() { _ = d.Close() })
	warm := open(t, d, pages(1, ""))
	warm.Close()
	doc := open(t, d, endless())
	began := time.Now()
	if _, err := doc.PNG(t.Context(), 1, 600); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a page without end: %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("stopped after %v", took)
	}
	doc.Close()

	ctx, cancel := context.WithCancel(t.Context())
	doc = open(t, d, endless())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := doc.PNG(ctx, 1, 600); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody waits any longer: %v", err)
	}
	doc.Close()
	if next := open(t, d, pages(1, "")); next.Pages() != 1 {
		t.Error("no document after one that was stopped")
	}
}

// What needs more memory than it may have fails alone.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	d := &Drawer{Cache: testCache, Instances: 1, Memory: 20 << 20}
	t.Cleanup(func() { _ = d.Close() })
	doc := open(t, d, pages(1, ""))
	if _, err := doc.PNG(t.Context(), 1, 2000); err == nil {
		t.Error("a picture of 22 MB was drawn in 20 MB")
	}
	doc.Close()
	doc = open(t, d, pages(1, ""))
	if _, err := doc.PNG(t.Context(), 1, 200); err != nil {
		t.Error(err)
	}
	if _, err := d.Open(t.Context(), make([]byte, 13<<20), ""); !errors.Is(err, ErrTooMuch) {
		t.Errorf("a document of 13 MB: %v", err)
	}
}

// Who must wait waits as long as the caller does.
func TestTurns(t *testing.T) {
	t.Parallel()
	d := &Drawer{Cache: testCache, Instances: 1}
	t.Cleanup(func() { _ = d.Close() })
	first := open(t, d, pages(1, ""))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Open(ctx, pages(1, ""), ""); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	first.Close()
	open(t, d, pages(1, ""))
}

func FuzzDraw(f *testing.F) {
	f.Add(pages(2, ""))
	f.Add(endless())
	corpus.Seeds(f, 1<<17, "files", "*.pdf")
	d := &Drawer{Cache: testCache, Time: 3 * time.Second, Memory: 96 << 20}
	f.Cleanup(func() { _ = d.Close() })
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, err := d.Open(t.Context(), data, "")
		if err != nil {
			return
		}
		defer doc.Close()
		n := min(doc.Pages(), 2)
		if _, _, err := doc.Size(t.Context(), n); err != nil {
			return
		}
		if b, err := doc.PNG(t.Context(), n, 200); err == nil {
			if c, err := png.DecodeConfig(bytes.NewReader(b)); err != nil || c.Width*c.Height > mostPixels+20_000 {
				t.Errorf("%d × %d, %v", c.Width, c.Height, err)
			}
		}
		if text, err := doc.Text(t.Context(), n); err == nil && len(text) > 4*mostText {
			t.Errorf("%d bytes of text", len(text))
		}
		_, _, _, _ = doc.Find(t.Context(), "Sign")
	})
}

// BenchmarkFirst is what the first page costs a process, with the cache and without.
func BenchmarkFirst(b *testing.B) {
	data := pages(50, "")
	for name, dir := range map[string]func() string{"cached": func() string { return testCache }, "compiled": b.TempDir} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				d := &Drawer{Cache: dir()}
				doc, err := d.Open(b.Context(), data, "")
				if err != nil {
					b.Fatal(err)
				}
				doc.Close()
				_ = d.Close()
			}
		})
	}
}

func BenchmarkPage(b *testing.B) {
	data := pages(50, "")
	d := drawer(b)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			doc, err := d.Open(b.Context(), data, "")
			if err != nil {
				b.Fatal(err)
			}
			doc.Close()
		}
	})
	doc := open(b, d, data)
	b.Run("draw", func(b *testing.B) {
		n := 0
		for b.Loop() {
			if _, err := doc.PNG(b.Context(), n%50+1, 1240); err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
	b.Run("text", func(b *testing.B) {
		n := 0
		for b.Loop() {
			if _, err := doc.Text(b.Context(), n%50+1); err != nil {
				b.Fatal(err)
			}
			n++
		}
	})
}
