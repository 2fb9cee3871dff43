package revision

import (
	"math"
	"slices"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/pdf/content"
)

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
		if !signed && (r > '~' && n < 200 || r >= ' ' && r <= '~' && math.Abs(n-content.Usual(t.family, r)) > 1) {
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
			sum += 0.8 * content.Usual(d.family, r)
		}
		return sum / 1000, true
	}
	for _, c := range b {
		n, ok := d.widths[c]
		if !ok {
			n = content.Usual(d.family, d.simple[c])
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
