package content

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/image/font/gofont/goregular"

	"rogito.dev/rogito/internal/pdf"
)

// A map whose codes stand for more than it may is none.
func TestContentBounds(t *testing.T) {
	for text, want := range map[string]int{
		"<0000> <00FF> <0041> endbfrange":                                          256,
		"<0000> <FFFF> <0041> endbfrange":                                          65536,
		"<0000> <FFFF> <" + strings.Repeat("0041", 9) + "> endbfrange":             0,
		"<0001> <" + strings.Repeat("0041", 256) + "> endbfchar":                   1,
		"<0001> <" + strings.Repeat("0041", 257) + "> endbfchar":                   0,
		"<0001> <0002> [<41> <" + strings.Repeat("0041", 257) + ">] endbfrange":    0,
		strings.Repeat("<0001> <"+strings.Repeat("0041", 99)+"> endbfchar ", 9999): 0,
	} {
		if got := len(ToUnicode([]byte(text))); got != want {
			t.Errorf("%.40s…: %d codes, want %d", text, got, want)
		}
	}
}

// A code that stands for a long text, and comes a million times, is not read.
func TestLetters(t *testing.T) {
	f := &Font{Sure: true, two: true, usual: 0.5, unicode: ToUnicode([]byte("<0001> <" + strings.Repeat("0041", 255) + "> endbfchar <0002> <0042> endbfchar"))}
	if text, ok := f.Letters(strings.Repeat("\x00\x01", 1<<20)); ok {
		t.Errorf("two megabytes of codes are %d bytes of text", len(text))
	}
	for codes, want := range map[string]string{"\x00\x02\x00\x02": "BB", "\x00\x02\x00": "", "\x00\x03": ""} {
		if text, ok := f.Letters(codes); ok != (want != "") || ok && text != want {
			t.Errorf("%q: %q, %v", codes, text, ok)
		}
	}
}

func FuzzToUnicode(f *testing.F) {
	f.Add([]byte("/Tx BMC q BT /F 10 Tf 0 g 2 4 Td [(1)-20<30>] TJ ET Q EMC << /A [1 2] >> BDC"))
	f.Add([]byte("1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange <0000> <0005> <0041> endbfrange"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		ToUnicode(b)
	})
}

// onePage is a document of one page with that content and those fonts.
func onePage(code, fonts string, more ...string) []byte {
	return pdf.Build(append([]string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Count 1/Kids[3 0 R]>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<<" + fonts + ">>/XObject<</X 6 0 R>>>>>>",
		fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(code), code),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
		"<</Type/XObject/Subtype/Form/BBox[0 0 10 10]/Matrix[2 0 0 2 5 5]/Length 15>>\nstream\n-5 -5 90 90 re f\nendstream",
	}, more...), "")
}

func walk(t testing.TB, b []byte) (list []Piece, odd bool) {
	t.Helper()
	d, err := pdf.Open(bytes.NewReader(b), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Page(0)
	if err != nil {
		t.Fatal(err)
	}
	left := 1_000_000
	w := &Walker{Source: d, Pay: func(n int) bool { left -= n; return left > 0 }, See: func(p Piece) bool { list = append(list, p); return true }}
	res, _ := d.Dict(p.Dict.Get("Resources"))
	w.Follow(w.Contents(p.Dict), res, Identity, pdf.Rect{URX: 300, URY: 200})
	return list, w.Odd
}

func TestInk(t *testing.T) {
	for code, want := range map[string]Piece{
		"10 20 30 40 re f":                      {Kind: Fill, Whole: true, Box: pdf.Rect{LLX: 10, LLY: 20, URX: 40, URY: 60}},
		"q 2 0 0 2 0 0 cm 10 20 30 40 re f Q":   {Kind: Fill, Whole: true, Box: pdf.Rect{LLX: 20, LLY: 40, URX: 80, URY: 120}},
		"q 0 0 15 25 re W n 10 20 30 40 re f Q": {Kind: Fill, Whole: true, Box: pdf.Rect{LLX: 10, LLY: 20, URX: 15, URY: 25}},
		"2 w 10 20 30 40 re S":                  {Kind: Stroke, Whole: true, Width: 2, Box: pdf.Rect{LLX: 9, LLY: 19, URX: 41, URY: 61}},
		"10 20 m 10 90 70 90 70 20 c f":         {Kind: Fill, Box: pdf.Rect{LLX: 10, LLY: 20, URX: 70, URY: 90}},
		"/X Do":                                 {Kind: Fill, Whole: true, Box: pdf.Rect{LLX: 5, LLY: 5, URX: 25, URY: 25}},
		"q 10 20 30 40 re W n /S sh Q":          {Kind: Shading, Box: pdf.Rect{LLX: 10, LLY: 20, URX: 40, URY: 60}},
	} {
		list, odd := walk(t, onePage(code, "/F 5 0 R"))
		if len(list) == 1 {
			p := list[0]
			list[0] = Piece{Kind: p.Kind, Whole: p.Whole, Width: p.Width, Box: p.Box}
		}
		if odd || len(list) != 1 || list[0] != want {
			t.Errorf("%s: %+v, odd %v, want %+v", code, list, odd, want)
		}
	}
	for _, code := range []string{"10 20 m 50 re f", "BI /W 1 /H 1 ID x EI", "(", "BT /None 5 Tf (a) Tj ET", "1e3 0 0 0 re f"} {
		if _, odd := walk(t, onePage(code, "/F 5 0 R")); !odd {
			t.Errorf("%s: understood", code)
		}
	}
	for _, code := range []string{"10 20 30 40 re n", "BT /F 10 Tf 3 Tr (hidden) Tj ET", "n"} {
		if list, odd := walk(t, onePage(code, "/F 5 0 R")); odd || len(list) != 0 {
			t.Errorf("%s: %+v, odd %v", code, list, odd)
		}
	}
}

// What may be seen otherwise, or not at all, is told.
func TestIntricate(t *testing.T) {
	for code, want := range map[string][2]bool{ // intricate, lost
		"q 0 0 9 9 re W n 1 0 0 RG 0 0 5 5 re s Q /A BMC EMC": {},
		"BT /F 10 Tf 20 20 Td (a) Tj ET":                      {},
		"BT /F 10 Tf 20 20 Td (a) Tj 3 Tr (b) Tj ET":          {true, false},
		"BT /F 10 Tf 20 900 Td (a) Tj ET":                     {false, true},
		"BT /F 10 Tf 20 900 Td ( ) Tj ET":                     {},
		"0 0 m 9 0 l 9 9 l W n":                               {true, false},
		"0 0 9 9 re 5 5 9 9 re W* n":                          {true, false},
		"0 0 9 9 re W f":                                      {true, false},
		"Q":                                                   {true, false},
		"/P cs":                                               {true, false},
		"2 g":                                                 {true, false},
		"/G gs":                                               {true, false},
		"/OC /L BDC EMC":                                      {true, false},
		"/X Do":                                               {true, false},
		"/S sh":                                               {true, false},
		"100 M":                                               {true, false},
		"9 9 l S":                                             {true, false},
		"unknown":                                             {true, false},
	} {
		d, err := pdf.Open(bytes.NewReader(onePage(code, "/F 5 0 R")), pdf.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Page(0)
		if err != nil {
			t.Fatal(err)
		}
		w := &Walker{Source: d, Pay: func(int) bool { return true }, See: func(Piece) bool { return true }}
		res, _ := d.Dict(p.Dict.Get("Resources"))
		w.Follow(w.Contents(p.Dict), res, Identity, pdf.Rect{URX: 300, URY: 200})
		if got := [2]bool{w.Intricate, w.Lost}; got != want || w.Odd {
			t.Errorf("%s: %v, odd %v, want %v", code, got, w.Odd, want)
		}
	}
}

// The box of a glyph is that of its outline, whatever the font says of itself.
func TestOutlines(t *testing.T) {
	font := func(kind, file string) []string {
		return []string{
			"<</Type/Font/Subtype/" + kind + "/BaseFont/G/Encoding/WinAnsiEncoding/FirstChar 65/LastChar 65/Widths[10]/FontDescriptor 8 0 R>>",
			"<</Type/FontDescriptor/FontName/G/Flags 32/FontBBox[0 0 1 1]/" + file + " 9 0 R>>",
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(goregular.TTF), goregular.TTF),
		}
	}
	const code = "BT /G 100 Tf 10 20 Td (A) Tj ET"
	list, odd := walk(t, onePage(code, "/G 7 0 R", font("TrueType", "FontFile2")...))
	if odd || len(list) != 1 || list[0].Box.URX < 70 || list[0].Box.URY < 80 || list[0].Box.URX > 90 || list[0].Box.LLY < 19 {
		t.Errorf("a letter of Go: %+v, odd %v", list, odd)
	}
	broken := font("TrueType", "FontFile2")
	broken[2] = "<</Length 3>>\nstream\nabc\nendstream"
	if _, odd := walk(t, onePage(code, "/G 7 0 R", broken...)); !odd {
		t.Error("a font that cannot be read is understood")
	}
	type3 := []string{
		"<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[.01 0 0 .01 0 0]/CharProcs<</A 8 0 R>>/Encoding<</Differences[65/A]>>/FirstChar 65/LastChar 65/Widths[10]>>",
		"<</Length 31>>\nstream\n10 0 0 0 1 1 d1 10 20 50 60 re f\nendstream",
	}
	list, odd = walk(t, onePage(code, "/G 7 0 R", type3...))
	if want := (pdf.Rect{LLX: 20, LLY: 40, URX: 70, URY: 100}); odd || len(list) != 1 || !near(list[0].Box, want) {
		t.Errorf("a glyph of a Type 3 font: %+v, odd %v, want %+v", list, odd, want)
	}
}

// What is kept of fonts is the same for every caller that draws with them.
func TestFontsKept(t *testing.T) {
	proc := func(code string) string { return fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(code), code) }
	d, err := pdf.Open(bytes.NewReader(onePage("", "/T 7 0 R/G 9 0 R",
		"<</Type/Font/Subtype/Type3/FontBBox[0 0 1 1]/FontMatrix[1 0 0 1 0 0]/CharProcs<</a 8 0 R>>/Encoding<</Differences[97/a]>>/FirstChar 97/LastChar 97/Widths[1]>>",
		proc("1 0 d0 /X Do"),
		"<</Type/Font/Subtype/TrueType/BaseFont/G/Encoding/WinAnsiEncoding/FontDescriptor 10 0 R>>",
		"<</Type/FontDescriptor/FontName/G/Flags 4/FontFile2 11 0 R>>",
		proc(string(goregular.TTF)))), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fonts := map[any]*Font{}
	draw := func(code, objects string, budget int) (n int, odd bool) {
		o, err := d.Dict(pdf.Ref{Num: 3})
		if err != nil {
			t.Fatal(err)
		}
		page, err := d.Dict(o.Get("Resources"))
		if err != nil {
			t.Fatal(err)
		}
		res := page.Clone()
		if objects == "" {
			res.Delete("XObject")
		}
		w := &Walker{Source: d, Fonts: fonts, Pay: func(k int) bool { budget -= k; return budget > 0 }, See: func(Piece) bool { n++; return true }}
		w.Follow([]byte(code), res, Identity, pdf.Rect{URX: 300, URY: 200})
		return n, w.Odd
	}
	const big = 10_000_000
	if n, odd := draw("BT /T 1 Tf (a) Tj ET", "", big); n != 0 || odd {
		t.Errorf("a glyph that finds nothing draws %d, odd %v", n, odd)
	}
	if n, odd := draw("BT /T 1 Tf (a) Tj ET", "X", big); n != 1 || odd {
		t.Errorf("a glyph that finds a form draws %d, odd %v", n, odd)
	}
	for budget := 1; ; budget *= 2 {
		_, odd := draw("BT /G 10 Tf (a) Tj ET", "", budget)
		if n, lost := draw("BT /G 10 Tf (a) Tj ET", "", big); n != 1 && !lost {
			t.Fatalf("after a walk of %d steps a letter draws nothing", budget)
		}
		if !odd || budget > big {
			break
		}
		clear(fonts)
	}
}

func near(a, b pdf.Rect) bool {
	return slices.Max([]float64{a.LLX - b.LLX, b.LLX - a.LLX, a.LLY - b.LLY, b.LLY - a.LLY, a.URX - b.URX, b.URX - a.URX, a.URY - b.URY, b.URY - a.URY}) < 0.01
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte("q 1 0 0 1 5 5 cm BT /F 10 Tf (a) Tj ET /X Do Q 0 0 9 9 re W n 1 2 3 4 5 6 c B"))
	f.Fuzz(func(t *testing.T, b []byte) { walk(t, onePage(string(b), "/F 5 0 R")) })
}

func FuzzProgram(f *testing.F) {
	f.Add(goregular.TTF)
	f.Add([]byte{1, 0, 4, 1, 0, 0, 0, 1, 1, 1, 3, 139, 17, 0})
	f.Fuzz(func(_ *testing.T, b []byte) {
		left := 500_000
		pay := func(n int) bool { left -= n; return left > 0 }
		if p := newProgram(b, pay); p != nil {
			p.outline(&Font{}, 'A', pay)
			p.outline(&Font{two: true}, 3, pay)
		}
		newType1(b, pay)
	})
}

// type1Seal is the other way of type1Open.
func type1Seal(b []byte, key uint16) []byte {
	var out []byte
	for _, p := range append([]byte("abcd"), b...) {
		c := p ^ byte(key>>8)
		out = append(out, c)
		key = (uint16(c)+key)*52845 + 22719
	}
	return out
}

// A Type 1 font reaches as far as its charstrings draw, by subroutines too.
func TestType1(t *testing.T) {
	num := func(v int) []byte { return []byte{255, byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)} }
	code := func(parts ...any) []byte {
		var out []byte
		for _, p := range parts {
			switch v := p.(type) {
			case int:
				out = append(out, num(v)...)
			case string:
				out = append(out, v...)
			}
		}
		return type1Seal(out, 4330)
	}
	font := func(matrix, glyphs string, count int, sub, glyph []byte) []byte {
		private := fmt.Sprintf("/lenIV 4 def /Subrs 1 array\ndup 0 %d RD %s NP\n%d dict /CharStrings %d dict dup begin\n%s %d RD %s ND\nend", len(sub), sub, 5, count, glyphs, len(glyph), glyph)
		return append([]byte("%!PS-AdobeFont-1.0\n/FontMatrix ["+matrix+"] readonly def\ncurrentfile eexec\n"), type1Seal([]byte(private), 55665)...)
	}
	pay := func(int) bool { return true }
	sub := code(9000, "\x07\x0b")                                    // 9000 vlineto return
	glyph := code(50, 500, "\x0d", 100, -200, "\x15", 0, "\x0a\x0e") // hsbw, rmoveto, callsubr, endchar
	p := newType1(font(".001 0 0 .001 0 0", "/A", 1, sub, glyph), pay)
	if p == nil || !near(*p.all, pdf.Rect{LLX: .15, LLY: -.2, URX: .15, URY: 8.8}) {
		t.Fatalf("%+v", p)
	}
	for name, b := range map[string][]byte{
		"another matrix": font("1 0 0 1 0 0", "/A", 1, sub, glyph),
		"another count":  font(".001 0 0 .001 0 0", "/A", 2, sub, glyph),
		"no program":     []byte("eexec"),
		"unknown":        font(".001 0 0 .001 0 0", "/A", 1, sub, code(1, "\x0f")),
		"no subroutine":  font(".001 0 0 .001 0 0", "/A", 1, sub, code(7, "\x0a")),
	} {
		if newType1(b, pay) != nil {
			t.Errorf("%s: read", name)
		}
	}
}
