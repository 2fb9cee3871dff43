package typeface

import (
	"encoding/binary"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/pdf"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"Ada\n\tLovelace ":        "Ada Lovelace",
		"e\u0301":                 "é",
		"a\u202eb\u200bc\x00":     "abc", // a direction, a blank of no width, a control
		"\ufffd":                  "",
		strings.Repeat("x", 3000): strings.Repeat("x", lineRunes) + "…",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%.20q: %.30q, want %.30q", in, got, want)
		}
	}
}

// What the fonts have is shown as it is, a mark that they lack is left out, and a
// letter that they lack is spelled by its number, never by a box.
func TestLettersThatTheFontLacks(t *testing.T) {
	f := Regular()
	for text, want := range map[string]struct {
		has     bool
		spelled int
	}{
		"Ada Łukasz Ωμέγα Жук": {true, 0}, "ḩ": {true, 0}, "H\u0331": {false, 1}, "林明": {false, 2}, "שלום": {false, 4}, "محمد": {false, 4}, "𠮷": {false, 1}, "Li 林": {false, 1},
	} {
		text = Clean(text)
		if got := f.Has(text); got != want.has {
			t.Errorf("%s: has %t", text, got)
		}
		shown := f.Subset().Show(text)
		if got := strings.Count(shown, "/ActualText"); got != want.spelled || strings.Count(shown, "BDC") != strings.Count(shown, "EMC") {
			t.Errorf("%s: %d letters are spelled: %s", text, got, shown)
		}
		if strings.Contains(shown, "<0000") {
			t.Errorf("%s: shows .notdef: %s", text, shown)
		}
	}
	if a, b := f.Width("林"), f.Width("[U+6797]"); a != b {
		t.Errorf("a spelled letter is %g wide, its spelling %g", a, b)
	}
	if got := f.Subset().Show("𠮷"); !strings.Contains(got, "<FEFFD842DFB7>") {
		t.Errorf("who copies it gets %s", got)
	}
}

func TestLinesAreNoWiderThanTheirMeasure(t *testing.T) {
	const text = "Il promittente venditore 林明林明林明 si obbliga a vendereunimmobilechenonfinisceproprioMAI entro il termine"
	for _, f := range []*Font{Regular(), Bold(), Mono()} {
		for _, measure := range []float64{6, 12, 40} {
			lines := f.Wrap(text, measure)
			for _, l := range lines {
				if f.Width(l) > measure {
					t.Errorf("%s: %q is wider than %g", f.name, l, measure)
				}
			}
			if got := strings.Join(lines, ""); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(text, " ", "") {
				t.Errorf("%s at %g: letters are lost: %q", f.name, measure, lines)
			}
			if got := f.Clip(text, measure); f.Width(got) > measure || !strings.HasSuffix(got, "…") {
				t.Errorf("%s: clipped to %q", f.name, got)
			}
		}
	}
	if got := Regular().Clip("breve", 40); got != "breve" {
		t.Errorf("a text that fits is clipped to %q", got)
	}
}

type objects []pdf.Object

func (o *objects) New(v pdf.Object) pdf.Ref {
	*o = append(*o, v)
	return pdf.Ref{Num: len(*o)}
}

// A subset is a font of its own: every check sum holds, it has the glyphs in use and
// the parts of composites, and equal texts give equal bytes.
func TestSubset(t *testing.T) {
	s := Regular().Subset()
	s.Show("Àé é")
	program := s.program()
	if sum := checksum(program); sum != 0xB1B0AFBA {
		t.Errorf("the check sum of the file is %X", sum)
	}
	tables := int(binary.BigEndian.Uint16(program[4:]))
	for i := range tables {
		e := program[12+16*i:]
		from, size := binary.BigEndian.Uint32(e[8:]), binary.BigEndian.Uint32(e[12:])
		if name := string(e[:4]); name != "head" && checksum(program[from:from+size]) != binary.BigEndian.Uint32(e[4:]) {
			t.Errorf("the check sum of %s is wrong", name)
		}
	}
	if len(s.old) < 4 || len(program) > 20_000 {
		t.Errorf("%d glyphs in %d bytes", len(s.old), len(program))
	}
	again := Regular().Subset()
	again.Show("Àé é")
	if s.name(program) != again.name(again.program()) {
		t.Error("equal texts have different subsets")
	}
	var o objects
	s.Embed(&o)
	if len(o) != 6 { // file, set, descriptor, descendant, mapping, font
		t.Errorf("%d objects", len(o))
	}
}

func TestFontsThatAreNone(t *testing.T) {
	for _, b := range [][]byte{nil, []byte("not a font at all"), Regular().tables["glyf"][:200]} {
		if _, err := parseFont("x", b); err == nil {
			t.Errorf("%d bytes are taken for a font", len(b))
		}
	}
}

// Numbers have two bytes: characters that the font lacks take none, so that there
// are always enough, and none takes that of another.
func TestManyCharacters(t *testing.T) {
	s := Regular().Subset()
	before := s.Show("Ada Prova")
	for r := rune(0x3400); r < 0x3400+90_000; r++ {
		s.Show(string(r))
	}
	if len(s.old) > 100 || s.Show("Ada Prova") != before {
		t.Errorf("%d glyphs in use", len(s.old))
	}
	if n := len(s.font.runes); n > 0xffff {
		t.Errorf("the font has %d characters", n)
	}
}
