package typeface

import (
	"fmt"
	"testing"
	"unicode"

	"rogito.dev/rogito/internal/pdf"
)

// objects counts what is added.
type objects int

func (o *objects) New(pdf.Object) pdf.Ref {
	*o++
	return pdf.Ref{Num: int(*o)}
}

// More characters than numbers: none takes the number of another, and what is
// shown is what was shown before.
func TestMoreCharactersThanNumbers(t *testing.T) {
	s := Regular().Subset()
	before := s.Show("Ada Prova")
	for r := rune(0x3400); r < 0x3400+90_000; r++ {
		s.Show(string(r))
	}
	last := s.Show("\U00020001")
	if after := s.Show("Ada Prova"); after != before {
		t.Errorf("a name is shown as %s, and was as %s", after, before)
	}
	if s.text[s.new[shown{s.font.runes['A'], 'A'}]] != 'A' {
		t.Error("an A copies as something else")
	}
	s.Show("Ωж") // new glyphs still find room
	s.Embed(new(objects))
	if len(s.old) > 0xffff {
		t.Errorf("%d glyphs have numbers of two bytes", len(s.old))
	}
	n := s.new[shown{s.font.runes[lacking], unicode.ReplacementChar}]
	if want := fmt.Sprintf("<%04X>", n); n == 0 || last != want {
		t.Errorf("a character beyond is shown as %s, want %s", last, want)
	}
}
