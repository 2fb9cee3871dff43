package revision

import (
	"math"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// Widths of the characters from space to tilde, in thousandths of the size, of
// the standard fonts that forms are filled in with.
var (
	helvetica = [95]float64{
		278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
		1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
		333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
	}
	timesRoman = [95]float64{
		250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444,
		921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889, 722, 722, 556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500,
		333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500, 500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541,
	}
)

// usual is how wide a character is in a font of that family.
func usual(family string, r rune) float64 {
	switch {
	case strings.HasPrefix(family, "courier"):
		return 600
	case r < ' ' || r > '~':
		return 556
	case strings.HasPrefix(family, "times"):
		return timesRoman[r-' ']
	}
	return helvetica[r-' ']
}

// setWidths reads the widths of a simple font. Those of a new font must be the
// ones that everybody has: with others its characters can be put on top of each
// other.
func (m *model) setWidths(t *decoder, d *pdf.Dict, signed bool) bool {
	v, err := m.doc.Resolve(d.Get("Widths"))
	if v == nil && err == nil {
		return true
	}
	list, ok := v.(pdf.Array)
	v, err2 := m.doc.Resolve(d.Get("FirstChar"))
	first, whole := v.(pdf.Integer)
	if err != nil || err2 != nil || !ok || !whole || first < 0 || first > 255 || len(list) > 256 {
		return false
	}
	t.widths = make(map[byte]float64)
	for i, o := range list {
		code := int(first) + i
		n, ok := m.doc.Number(o)
		if !ok || code > 255 {
			return false
		}
		r := t.simple[code]
		if !signed && (r > '~' && n < 200 || r >= ' ' && r <= '~' && math.Abs(n-usual(t.family, r)) > 1) {
			return false
		}
		t.widths[byte(code)] = n
	}
	return true
}

// advance is how far a piece of text moves on, in units of its size; it is
// false where a character has next to no width.
func (d *decoder) advance(b []byte, text string) (float64, bool) {
	var sum float64
	if d.simple == nil {
		for _, r := range text {
			sum += 0.8 * usual(d.family, r)
		}
		return sum / 1000, true
	}
	for _, c := range b {
		n, ok := d.widths[c]
		if !ok {
			n = usual(d.family, d.simple[c])
		}
		if n < 150 || n > 1500 {
			return 0, false
		}
		sum += n
	}
	return sum / 1000, true
}

// plainState takes a graphics state dictionary that changes nothing.
func (p *painter) plainState(args []pdf.Object) bool {
	if len(args) != 1 {
		return false
	}
	name, _ := args[0].(pdf.Name)
	d, err := p.m.doc.Dict(p.states.Get(name))
	if err != nil || d == nil || !p.m.work.take(len(p.states.Entries)+len(d.Entries)) {
		return false
	}
	return !slices.ContainsFunc(d.Entries, func(e pdf.Entry) bool {
		v, err := p.m.doc.Resolve(e.Value)
		if err != nil {
			return true
		}
		switch e.Key {
		case "Type":
			return false
		case "CA", "ca":
			n, ok := p.m.doc.Number(v)
			return !ok || n != 1
		case "BM":
			return v != pdf.Name("Normal")
		case "SMask":
			return v != pdf.Name("None")
		case "AIS", "SA", "OP", "op":
			return v != pdf.Bool(false)
		}
		return true
	})
}
