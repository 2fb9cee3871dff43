package sketch_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/sketch"
)

// onePage is a PDF with a picture, a form, a frame, text and two fields.
func onePage(rotate int, content string) []byte {
	return pdf.Build([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Count 1 /Kids [3 0 R] /MediaBox [0 0 600 800] /CropBox [50 100 550 700] /Resources << /Font << /F 5 0 R >> /XObject << /I 6 0 R /X 7 0 R >> >> >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Rotate %d /Contents 4 0 R /Annots [8 0 R 9 0 R] >>", rotate),
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
		"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /Length 1 >>\nstream\n0\nendstream",
		"<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Matrix [1 0 0 1 0 50] /Length 34 >>\nstream\nBT /F 10 Tf 100 300 Td (form) Tj ET\nendstream",
		"<< /Type /Annot /Subtype /Widget /FT /Sig /T (second) /Rect [100 150 200 190] /V << /Name (Anna <b>) >> >>",
		"<< /Type /Annot /Subtype /Widget /FT /Tx /T (a) /Rect [60 110 160 130] >>",
	}, "")
}

func draw(t testing.TB, b []byte) *sketch.Page {
	t.Helper()
	p, err := sketch.Draw(context.Background(), bytes.NewReader(b), 1, "")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What stands at a place on the page stands there in the sketch: for every
// rotation the corner of the field goes back to where it came from by the way
// that signatures are placed.
func TestPlaces(t *testing.T) {
	content := "q 20 0 0 30 300 400 cm /I Do Q /X Do 60 200 40 2 re f BT /F 10 Tf 100 600 Td (Hello) Tj 30 0 Td [( wo) -100 (rld)] TJ ET"
	for _, rotate := range []int{0, 90, 180, 270} {
		b := onePage(rotate, content)
		p := draw(t, b)
		w, h := 500.0, 600.0
		if rotate%180 == 90 {
			w, h = h, w
		}
		if p.Width != w || p.Height != h || p.Number != 1 || p.Count != 1 {
			t.Fatalf("%d: page %v × %v, %d of %d", rotate, p.Width, p.Height, p.Number, p.Count)
		}
		if len(p.Fields) != 2 || len(p.Pictures) != 1 || len(p.Rules) != 1 {
			t.Fatalf("%d: %+v", rotate, p)
		}
		doc, err := pdf.Open(bytes.NewReader(b), pdf.Options{Context: context.Background()})
		if err != nil {
			t.Fatal(err)
		}
		page, err := doc.Page(0)
		if err != nil {
			t.Fatal(err)
		}
		f := p.Fields[0]
		back := page.Place(pdf.Rect{LLX: f.X, LLY: h - f.Y - f.Height, URX: f.X + f.Width, URY: h - f.Y})
		if want := (pdf.Rect{LLX: 100, LLY: 150, URX: 200, URY: 190}); back != want {
			t.Errorf("%d: the field is at %+v, want %+v", rotate, back, want)
		}
		if !f.Signature || !f.Signed || f.Name != "second" || f.Signer != "Anna <b>" || p.Fields[1].Signature {
			t.Errorf("%d: %+v", rotate, p.Fields)
		}
		var texts []string
		for _, l := range p.Lines {
			texts = append(texts, l.Text)
			if math.Mod(l.Angle+360, 360) != float64(rotate) || math.Abs(l.Size-10) > 0.01 {
				t.Errorf("%d: %q at %v degrees, size %v", rotate, l.Text, l.Angle, l.Size)
			}
		}
		if got := strings.Join(texts, "|"); got != "form|Hello world" {
			t.Errorf("%d: %q", rotate, got)
		}
	}
	l := draw(t, onePage(0, "BT /F 10 Tf 100 600 Td (Hello) Tj ET")).Lines[0]
	if l.X != 50 || l.Y != 100 || l.Length != 30 {
		t.Errorf("%+v, want a line of 30 points at 50, 100", l)
	}
}

// Content that is broken, huge or turns in circles costs little and breaks
// nothing.
func TestHostilePages(t *testing.T) {
	for name, content := range map[string]string{
		"itself":    "/X Do /X Do /Y Do",
		"garbage":   "(((( << [ 1e400 cm ) >> Tj BT",
		"unclosed":  strings.Repeat("q ", 100_000) + "BT /F 1e9 Tf (x) Tj",
		"pictures":  strings.Repeat("/I Do ", 50_000),
		"text":      "BT /F 10 Tf " + strings.Repeat("100 600 Td (x) Tj 0 -1 Td ", 20_000),
		"rules":     strings.Repeat("60 200 40 2 re f ", 20_000),
		"inline":    "BI /W 1 ID xxEI BT /F 10 Tf 100 600 Td (after) Tj ET",
		"no matrix": "0 0 0 0 0 0 cm BT /F 10 Tf (x) Tj ET /I Do",
	} {
		p := draw(t, onePage(0, content))
		if len(p.Lines) > 3000 || len(p.Pictures) > 1500 || len(p.Rules) > 1500 {
			t.Errorf("%s: %d lines, %d pictures, %d rules", name, len(p.Lines), len(p.Pictures), len(p.Rules))
		}
		if name == "inline" && (len(p.Lines) != 1 || p.Lines[0].Text != "after") {
			t.Errorf("%s: %+v", name, p.Lines)
		}
	}
	if _, err := sketch.Draw(context.Background(), strings.NewReader("no document"), 1, ""); err == nil {
		t.Error("what is no PDF has a sketch")
	}
	if _, err := sketch.Draw(context.Background(), bytes.NewReader(onePage(0, "")), 2, ""); err == nil {
		t.Error("a page that is not there has a sketch")
	}
}

// zipped is a stream object.
func zipped(content string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(content))
	_ = z.Close()
	return fmt.Sprintf("<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", b.Len(), b.String())
}

// A small document neither fills the memory nor keeps us busy, whatever its fonts
// and names say: codes that stand for long texts, maps and widths that are read at
// each use, fields whose names are long.
func TestSmallPagesCostLittle(t *testing.T) {
	page := func(content, fonts string, more ...string) []byte {
		return pdf.Build(append([]string{
			"<< /Type /Catalog /Pages 2 0 R >>",
			"<< /Type /Pages /Count 1 /Kids [3 0 R] /MediaBox [0 0 600 800] >>",
			"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Annots [" + strings.Repeat("8 0 R ", 400) + "] /Resources << /Font << " + fonts + " >> >> >>",
			zipped(content),
		}, more...), "")
	}
	composite := "<< /Type /Font /Subtype /Type0 /ToUnicode 6 0 R /DescendantFonts [ << /W 7 0 R >> ] >>"
	var several strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&several, "/F%d %s ", i, composite)
	}
	long := "(" + strings.Repeat("x", 100_000) + ")"
	for name, b := range map[string][]byte{
		"a range for a long text": page("BT /F 10 Tf (a) Tj ET", "/F 5 0 R", composite, zipped("<0000> <FFFF> <"+strings.Repeat("0041", 2000)+"> endbfrange"), "[]"),
		"a range for some text":   page("BT /F 10 Tf (a) Tj ET", "/F 5 0 R", composite, zipped("<0000> <FFFF> <"+strings.Repeat("0041", 255)+"> endbfrange"), "[]"),
		"a long text often":       page("BT /F 10 Tf 9 9 Td ("+strings.Repeat("\\000\\001", 200_000)+") Tj ET", "/F 5 0 R", composite, zipped("<0001> <"+strings.Repeat("0041", 255)+"> endbfchar"), "[]"),
		"a font of no object":     page(strings.Repeat("/F 1 Tf ", 60_000), "/F "+composite, "null", zipped("<0000> <00FF> <0041> endbfrange"), "["+strings.Repeat("0 9999 5 ", 100)+"]"),
		"many fonts":              page(strings.ReplaceAll(several.String(), composite, "1 Tf"), several.String(), "null", zipped("<0000> <FFFF> <0041> endbfrange"), "["+strings.Repeat("0 9999 5 ", 100)+"]"),
		"long names":              page("", "", "null", "null", "<< /FT /Sig /T "+long+" /V << /Name "+long+" >> /Parent 7 0 R >>", "<< /Subtype /Widget /Rect [0 0 9 9] /T "+long+" /Parent 7 0 R >>"),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		draw(t, b)
		runtime.ReadMemStats(&after)
		if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 160 {
			t.Errorf("%s: %d bytes cost %d MB", name, len(b), got)
		}
	}
}

// Real documents have lines, and none is refused that opens.
func TestCorpus(t *testing.T) {
	root := corpus.Shared(t, "corpus")
	seen, empty := 0, 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(strings.ToLower(path), ".pdf") || seen >= 120 {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil || len(b) > 4<<20 {
			return err
		}
		ctx := limits.WithBudget(context.Background(), limits.NewBudget(64<<20))
		p, err := sketch.Draw(ctx, bytes.NewReader(b), 1, "")
		if err != nil {
			return nil
		}
		if seen++; len(p.Lines)+len(p.Pictures)+len(p.Rules)+len(p.Fields) == 0 {
			empty++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pages sketched, %d of them empty", seen, empty)
	if empty > seen/3 {
		t.Errorf("%d of %d pages are empty", empty, seen)
	}
}

func FuzzDraw(f *testing.F) {
	f.Add(onePage(90, "q 20 0 0 30 300 400 cm /I Do Q /X Do BT /F 10 Tf (x) Tj ET"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := sketch.Draw(limits.WithBudget(context.Background(), limits.NewBudget(16<<20)), bytes.NewReader(b), 1, "")
		if (p == nil) == (err == nil) {
			t.Fatal(p, err)
		}
	})
}
