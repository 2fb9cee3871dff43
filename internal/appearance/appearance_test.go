package appearance

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/pdf"
)

// page is a document of one page that shows a form: just enough of a writer
// to look at an appearance on its own.
type page struct {
	objects [][]byte
}

func (p *page) New(obj pdf.Object) pdf.Ref {
	p.objects = append(p.objects, show(obj))
	return pdf.Ref{Num: len(p.objects)}
}

func show(o pdf.Object) []byte {
	switch v := o.(type) {
	case pdf.Ref:
		return []byte(v.String())
	case pdf.Name:
		return []byte("/" + string(v))
	case pdf.Integer:
		return fmt.Appendf(nil, "%d", v)
	case pdf.Real:
		return []byte(v)
	case pdf.String:
		return fmt.Appendf(nil, "<%X>", v.Bytes)
	case pdf.Array:
		parts := make([][]byte, len(v))
		for i := range v {
			parts[i] = show(v[i])
		}
		return fmt.Appendf(nil, "[%s]", bytes.Join(parts, []byte(" ")))
	case *pdf.Dict:
		var b bytes.Buffer
		b.WriteString("<<")
		for _, e := range v.Entries {
			fmt.Fprintf(&b, " /%s %s", e.Key, show(e.Value))
		}
		b.WriteString(" >>")
		return b.Bytes()
	case *pdf.Stream:
		v.Dict.Set("Length", pdf.Integer(len(v.Data)))
		return fmt.Appendf(nil, "%s\nstream\n%s\nendstream", show(v.Dict), v.Data)
	}
	panic(fmt.Sprintf("%T", o))
}

func (p *page) bytes(form pdf.Ref, w, h float64) []byte {
	content := p.New(&pdf.Stream{Dict: pdf.NewDict(), Data: []byte("/Fm0 Do")})
	pages := pdf.Ref{Num: len(p.objects) + 2}
	one := p.New(pageDict(form, content, pages, w, h))
	p.New(pdf.NewDict(pdf.Name("Type"), pdf.Name("Pages"), pdf.Name("Kids"), pdf.Array{one}, pdf.Name("Count"), pdf.Integer(1)))
	root := p.New(pdf.NewDict(pdf.Name("Type"), pdf.Name("Catalog"), pdf.Name("Pages"), pages))
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(p.objects))
	for i, o := range p.objects {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root %s >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, root, at)
	return b.Bytes()
}

func pageDict(form, content, pages pdf.Ref, w, h float64) *pdf.Dict {
	return pdf.NewDict(
		pdf.Name("Type"), pdf.Name("Page"), pdf.Name("Parent"), pages,
		pdf.Name("MediaBox"), pdf.Array{pdf.Integer(0), pdf.Integer(0), number(w), number(h)},
		pdf.Name("Resources"), pdf.NewDict(pdf.Name("XObject"), pdf.NewDict(pdf.Name("Fm0"), form)),
		pdf.Name("Contents"), content)
}

func picture(t *testing.T, kind string) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 60, 40))
	for y := range 40 {
		for x := range 60 {
			img.Set(x, y, color.NRGBA{R: uint8(4 * x), G: uint8(6 * y), B: 90, A: uint8(255 * (x % 2))})
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, img)
	if kind == "jpeg" {
		b.Reset()
		err = jpeg.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// render makes the document of a box and, where poppler is there, its text.
func render(t *testing.T, box Box) (doc []byte, text string) {
	t.Helper()
	var p page
	doc = p.bytes(Form(&p, box), box.Width, box.Height)
	tool, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("SKIPPED: pdftotext is not installed")
	}
	file := filepath.Join(t.TempDir(), "a.pdf")
	if err := os.WriteFile(file, doc, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, file, "-").CombinedOutput()
	if err != nil {
		t.Fatalf("pdftotext: %v: %s", err, out)
	}
	if dir := os.Getenv("APPEARANCE_OUT"); dir != "" {
		name := strings.ReplaceAll(t.Name(), "/", "_") + ".pdf"
		if err := os.WriteFile(filepath.Join(dir, name), doc, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return doc, string(out)
}

func plain(texts ...string) (lines []Line) {
	for _, text := range texts {
		lines = append(lines, Line{Text: text})
	}
	return lines
}

func TestTextCanBeReadBack(t *testing.T) {
	_, text := render(t, Box{Width: 164, Height: 45, Lines: plain("Firmato da: José Ñuñez Đorđević", "Αθήνα, Москва: città", "2026-11-15 04:05:06 CET")})
	for _, want := range []string{"José Ñuñez Đorđević", "Αθήνα, Москва: città", "2026-11-15"} {
		if !strings.Contains(strings.ReplaceAll(text, "\n", " "), want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

func TestImagesStandBesideText(t *testing.T) {
	for _, kind := range []string{"png", "jpeg"} {
		t.Run(kind, func(t *testing.T) {
			img, err := ReadImage(picture(t, kind), false, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, text := render(t, Box{Width: 164, Height: 45, Lines: plain("Signed by Ada"), Image: img})
			if !strings.Contains(text, "Ada") {
				t.Errorf("text lost: %q", text)
			}
		})
	}
}

func TestHostileTextIsTamed(t *testing.T) {
	long := strings.Repeat("very long reason ", 100_000)
	doc, text := render(t, Box{Width: 100, Height: 30, Lines: plain("a\u202egnp.exe\x00\x07) Tj ET", long, "漢字")})
	if strings.ContainsRune(text, '\u202e') || !strings.Contains(text, "agnp.exe") {
		t.Errorf("text: %q", text)
	}
	if len(doc) > 64<<10 {
		t.Errorf("%d bytes for a cut text", len(doc))
	}
}

func TestImageBombsAreRefused(t *testing.T) {
	// A header that claims 50,000 x 50,000 pixels; nothing follows it.
	bomb := picture(t, "png")
	copy(bomb[16:], []byte{0, 0, 0xC3, 0x50, 0, 0, 0xC3, 0x50})
	for name, b := range map[string][]byte{"bomb": bomb, "text": []byte("<svg/>"), "empty": nil, "cut": picture(t, "jpeg")[:200]} {
		if img, err := ReadImage(b, false, nil); err == nil {
			t.Errorf("%s: taken as %d x %d", name, img.Width, img.Height)
		}
	}
}

func TestPaleImageKeepsItsMask(t *testing.T) {
	soft, err := ReadImage(picture(t, "png"), false, nil)
	if err != nil {
		t.Fatal(err)
	}
	pale, err := ReadImage(picture(t, "png"), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(soft.alpha, pale.alpha) || bytes.Equal(soft.rgb, pale.rgb) {
		t.Error("a pale picture has the colours, or not the mask, of the other")
	}
	jpeg, err := ReadImage(picture(t, "jpeg"), true, nil)
	if err != nil || jpeg.jpeg != nil {
		t.Errorf("a pale JPEG is embedded as it is: %v", err)
	}
}

func FuzzReadImage(f *testing.F) {
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add([]byte("\xff\xd8\xff"))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = ReadImage(b, true, nil) })
}
