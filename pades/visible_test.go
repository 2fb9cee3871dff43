package pades

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

// blankPage is a page of 595 × 842 points, as it is shown, without anything on it.
func blankPage(rotate int) []byte {
	b := newBuilder()
	b.object(1, "<</Type/Catalog/Pages 2 0 R>>")
	b.object(2, "<</Type/Pages/Kids[3 0 R]/Count 1>>")
	box := "0 0 595 842"
	if rotate%180 == 90 {
		box = "0 0 842 595"
	}
	b.object(3, fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[%s]/Rotate %d>>", box, rotate))
	return b.table("/Root 1 0 R/ID[<01020304><05060708>]")
}

// scribble is a picture with a transparent ground.
func scribble(t *testing.T) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 300, 160))
	for x := range 300 {
		y := 80 + (x*7%120-60)*(150-x)/200
		for d := range 9 {
			img.Set(x, max(0, min(159, y+d)), color.NRGBA{R: 20, G: 40, B: 130, A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var wordBox = regexp.MustCompile(`<word xMin="([-0-9.]+)" yMin="([-0-9.]+)" xMax="([-0-9.]+)" yMax="([-0-9.]+)">([^<]*)</word>`)

// A visible signature is looked at as readers see it: all its text is there and
// stands inside the box, nothing is drawn outside of it, on upright and turned
// pages, in small and large boxes.
func TestVisibleAsPicture(t *testing.T) {
	for _, tool := range []string{"pdftotext", "pdftoppm", "qpdf", "pdfsig"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: no %s", tool)
		}
	}
	pki := adestest.Must(t, nil)
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	const long = "Maria Grazia Bartolomea Wolfeschlegelsteinhausenbergerdorff della Gherardesca di Castelnuovo Berardenga"
	picture := scribble(t)
	for _, c := range []struct {
		name          string
		width, height float64
		rotate        int
		layout        Layout
		language      string
		picture       bool
		o             Options
		want          []string
		not           string
	}{
		{"default", 164, 45, 0, "", "it", false, Options{Name: "Mario Rossi"}, []string{"Firmato digitalmente da", "Mario Rossi", "05:46:12 CET"}, ""},
		{"English", 164, 45, 0, "", "en", false, Options{Name: "Mario Rossi", Reason: "Approval", Location: "Rome", ContactInfo: "m@example.org"}, []string{"Digitally signed by", "Reason: Approval", "Place: Rome", "m@example.org"}, ""},
		{"everything", 240, 80, 0, Beside, "it", true, Options{Name: "Mario Rossi", Reason: "Approvazione del contratto", Location: "Torino"}, []string{"Mario Rossi", "Motivo: Approvazione del contratto", "Luogo: Torino"}, ""},
		{"above", 164, 90, 0, Above, "it", true, Options{Name: "Mario Rossi"}, []string{"Mario Rossi", "CET"}, ""},
		{"behind", 164, 60, 0, Behind, "it", true, Options{Name: "Mario Rossi", Reason: "Per accettazione"}, []string{"Mario Rossi", "Per accettazione"}, ""},
		{"text", 164, 45, 0, Text, "it", true, Options{Name: "Mario Rossi"}, []string{"Mario Rossi"}, ""},
		{"compact", 164, 20, 0, Compact, "it", true, Options{Name: "Mario Rossi"}, []string{"Firmato digitalmente da Mario Rossi · "}, ""},
		{"picture", 164, 45, 0, Picture, "it", true, Options{Name: "Mario Rossi"}, nil, "Mario"},
		{"large", 400, 160, 0, Beside, "it", true, Options{Name: "Mario Rossi", Reason: "Approvazione"}, []string{"Mario Rossi", "Approvazione"}, ""},
		{"turned 90", 164, 45, 90, "", "it", true, Options{Name: "Mario Rossi"}, []string{"Mario Rossi"}, ""},
		{"turned 180", 164, 45, 180, "", "it", false, Options{Name: "Mario Rossi"}, []string{"Mario Rossi"}, ""},
		{"turned 270", 164, 45, 270, "", "it", false, Options{Name: "Mario Rossi"}, []string{"Mario Rossi"}, ""},
		{"long name", 164, 45, 0, "", "it", false, Options{Name: long}, []string{"Wolfeschlegelsteinhausenbergerdorff", "Berardenga", "CET"}, ""},
		{"long name, small box", 90, 24, 0, "", "it", false, Options{Name: long, Reason: "Approvazione"}, []string{"Maria Grazia"}, "Approvazione"},
		{"tiny box", 60, 12, 0, "", "it", false, Options{Name: "Mario Rossi"}, []string{"Mario Rossi"}, ""},
		{"Greek", 164, 45, 0, "", "en", false, Options{Name: "Ελένη Παπαδοπούλου"}, []string{"Ελένη Παπαδοπούλου"}, ""},
		{"Cyrillic", 164, 45, 0, "", "en", false, Options{Name: "Тодор Живков Щърбанов"}, []string{"Тодор Живков Щърбанов"}, ""},
		{"Vietnamese", 164, 45, 0, "", "en", false, Options{Name: "Nguyễn Thị Hồng Ánh"}, []string{"Nguyễn Thị Hồng Ánh"}, ""},
		{"decomposed", 164, 45, 0, "", "en", false, Options{Name: "Jose\u0301 Mun\u0303oz"}, []string{"José Muñoz"}, ""},
		{"Han, which the fonts lack, can be copied", 164, 45, 0, "", "en", false, Options{Name: "王小明"}, []string{"王小明"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			const x, y = 100.0, 60.0
			c.o.Appearance = &Appearance{X: x, Y: y, Width: c.width, Height: c.height, Layout: c.layout, Language: c.language, Zone: rome}
			if c.picture {
				c.o.Appearance.Image = picture
			}
			a := pki.Actor(t, "p256")
			var out bytes.Buffer
			p := a.Signing(time.Date(2026, 11, 15, 4, 46, 12, 0, time.UTC))
			if err := sign(ctx, bytes.NewReader(blankPage(c.rotate)), &out, a.Key, p, c.o, ades.AugmentOptions{}); err != nil {
				t.Fatal(err)
			}
			intact(t, readAll(t, out.Bytes(), ""), 1)
			dir := t.TempDir()
			if keep := os.Getenv("ROGITO_TEST_SCREENSHOTS"); keep != "" {
				dir = filepath.Join(keep, "visible "+c.name)
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(dir, "a.pdf")
			if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			if msg, err := exec.Command("qpdf", "--check", file).CombinedOutput(); err != nil {
				t.Errorf("qpdf: %v: %s", err, msg)
			}
			if msg, _ := exec.Command("pdfsig", "-nocert", file).CombinedOutput(); !strings.Contains(string(msg), "Signature is Valid") {
				t.Errorf("pdfsig: %s", msg)
			}
			found, err := exec.Command("pdftotext", "-bbox", file, "-").CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, found)
			}
			var words []string
			for _, w := range wordBox.FindAllStringSubmatch(string(found), -1) {
				words = append(words, w[5])
				var at [4]float64
				for i := range at {
					at[i], _ = strconv.ParseFloat(w[i+1], 64)
				}
				if at[0] < x-.1 || at[1] < y-.1 || at[2] > x+c.width+.1 || at[3] > y+c.height+.1 {
					t.Errorf("%q stands at %v, outside of the box", w[5], at)
				}
			}
			text := strings.Join(words, " ")
			for _, want := range c.want {
				if !strings.Contains(text, want) && !strings.Contains(strings.ReplaceAll(text, " ", ""), strings.ReplaceAll(want, " ", "")) {
					t.Errorf("%q is not in %q", want, text)
				}
			}
			if c.not != "" && strings.Contains(text, c.not) {
				t.Errorf("%q is in %q", c.not, text)
			}
			if inside, outside := inked(t, file, x, y, c.width, c.height); inside == 0 || outside > 0 {
				t.Errorf("%d pixels of the box are drawn, and %d outside of it", inside, outside)
			}
		})
	}
}

// inked counts the pixels of a page that are not white, in and around a box.
func inked(t *testing.T, file string, x, y, width, height float64) (inside, outside int) {
	t.Helper()
	const scale = 2
	shown, err := exec.Command("pdftoppm", "-png", "-r", strconv.Itoa(72*scale), file).Output()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ROGITO_TEST_SCREENSHOTS") != "" {
		if err := os.WriteFile(file+".png", shown, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	img, err := png.Decode(bytes.NewReader(shown))
	if err != nil {
		t.Fatal(err)
	}
	box := image.Rect(int(x*scale)-1, int(y*scale)-1, int((x+width)*scale)+1, int((y+height)*scale)+1)
	for py := range img.Bounds().Dy() {
		for px := range img.Bounds().Dx() {
			if r, g, b, _ := img.At(px, py).RGBA(); r+g+b > 3*0xf800 {
				continue
			}
			if image.Pt(px, py).In(box) {
				inside++
			} else {
				outside++
			}
		}
	}
	return inside, outside
}

// A seal says so, and names its organisation.
func TestVisibleNames(t *testing.T) {
	pki := adestest.Must(t, nil)
	for who, want := range map[string]string{"p256": "Firmato digitalmente da", "eseal": "Sigillo elettronico di"} {
		p := pki.Actor(t, who).Signing(pki.Now())
		o := settings{SignParams: p, Options: Options{Appearance: &Appearance{Language: "it"}}}
		lines := o.lines()
		if lines[0].Text != want || lines[1].Text != p.Certificate.Subject.CommonName {
			t.Errorf("%s: %v", who, lines)
		}
		if named := slices.Contains(p.Certificate.Subject.Organization, lines[len(lines)-1].Text); named != (who == "eseal") {
			t.Errorf("%s: an organisation is named, or none: %v", who, lines)
		}
	}
}
