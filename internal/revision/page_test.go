package revision

import "testing"

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
