package revision

import (
	"testing"

	"rogito.dev/rogito/internal/pdf"
)

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		name  string
		parts []string
		want  bool
	}{
		{"one part", []string{"(a) Tj %"}, true},
		{"two parts", []string{"q ", "Q"}, true},
		{"blank at the beginning", []string{"q", "\nQ"}, true},
		{"run together", []string{"q", "Q"}, false},
		{"comment over the end", []string{"q % ", "(a) Tj"}, false},
		{"comment that ends", []string{"q % x\n", "(a) Tj"}, true},
		{"string over the end", []string{"(a ", "b) Tj"}, false},
		{"operands over the end", []string{"(a) ", "Tj"}, false},
	} {
		var parts [][]byte
		for _, p := range c.parts {
			parts = append(parts, []byte(p))
		}
		if got := whole(parts); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAlike: MuPDF writes the boxes of a page anew, with seven digits, when a note is added.
func TestAlike(t *testing.T) {
	a4 := pdf.Rect{URX: 595.275591, URY: 841.889764}
	for _, c := range []struct {
		a, b pdf.Rect
		want bool
	}{
		{a4, pdf.Rect{URX: 595.2756, URY: 841.8898}, true},
		{a4, pdf.Rect{URX: 595.28, URY: 841.89}, false},
		{a4, pdf.Rect{LLX: 1e-9, URX: 595.275591, URY: 841.889764}, false},
		{pdf.Rect{LLX: 100, URX: 100.00001, URY: 9}, pdf.Rect{LLX: 100, URX: 100.00002, URY: 9}, false},
		{pdf.Rect{LLX: 100, URX: 100, URY: 9}, pdf.Rect{LLX: 100, URX: 100.00001, URY: 9}, false},
	} {
		if alike(c.a, c.b) != c.want {
			t.Errorf("%v and %v: alike %v", c.a, c.b, !c.want)
		}
	}
}
