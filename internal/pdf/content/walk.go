package content

import (
	"math"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/pdf"
)

// Source is a document, or one revision of it.
type Source interface {
	Resolve(o pdf.Object) (pdf.Object, error)
	Dict(o pdf.Object) (*pdf.Dict, error)
	Array(o pdf.Object) (pdf.Array, error)
	Name(o pdf.Object) pdf.Name
	Number(o pdf.Object) (float64, bool)
	Int(o pdf.Object) (int64, bool)
	Rect(o pdf.Object) (pdf.Rect, bool)
	Data(s *pdf.Stream) ([]byte, error)
}

// Matrix maps x and y to ax+cy+e and bx+dy+f.
type Matrix [6]float64

// Identity changes nothing.
var Identity = Matrix{1, 0, 0, 1, 0, 0}

// Times applies m first, then n.
func (m Matrix) Times(n Matrix) Matrix {
	return Matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// At maps a point.
func (m Matrix) At(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// Box is a box around a mapped rectangle.
func (m Matrix) Box(r pdf.Rect) pdf.Rect {
	out := Nothing
	for _, c := range [][2]float64{{r.LLX, r.LLY}, {r.URX, r.LLY}, {r.LLX, r.URY}, {r.URX, r.URY}} {
		x, y := m.At(c[0], c[1])
		out = Union(out, pdf.Rect{LLX: x, LLY: y, URX: x, URY: y})
	}
	return out
}

// upright reports whether rectangles remain rectangles.
func (m Matrix) upright() bool { return m[1] == 0 && m[2] == 0 || m[0] == 0 && m[3] == 0 }

// Nothing is an empty box.
var Nothing = pdf.Rect{LLX: math.Inf(1), LLY: math.Inf(1), URX: math.Inf(-1), URY: math.Inf(-1)}

// Union is the box around two.
func Union(a, b pdf.Rect) pdf.Rect {
	return pdf.Rect{LLX: min(a.LLX, b.LLX), LLY: min(a.LLY, b.LLY), URX: max(a.URX, b.URX), URY: max(a.URY, b.URY)}
}

// Common is the intersection of two boxes.
func Common(a, b pdf.Rect) pdf.Rect {
	return pdf.Rect{LLX: max(a.LLX, b.LLX), LLY: max(a.LLY, b.LLY), URX: min(a.URX, b.URX), URY: min(a.URY, b.URY)}
}

// Empty reports whether a box holds nothing.
func Empty(r pdf.Rect) bool { return !(r.LLX <= r.URX && r.LLY <= r.URY) }

// Kind is the kind of a piece of ink.
type Kind int

// The kinds of ink.
const (
	Text Kind = iota
	Picture
	Stroke
	Fill
	Shading
)

// Piece is a piece of ink.
type Piece struct {
	Kind Kind
	Box  pdf.Rect // around the unclipped part of the ink
	// Whole: the box is completely painted, or, for a stroke, framed.
	Whole  bool
	Width  float64 // of a stroke
	Colour Colour
	Clear  bool // it is transparent
	Clip   pdf.Rect
	Part   *Part // of the filled or stroked path; all its strokes share it

	// Of text: its characters as far as known, the start and end of its baseline, and the size of
	// its letters, negative for mirrored ones.
	Text           string
	X, Y, ToX, ToY float64
	Size           float64
	Core           pdf.Rect // of upright text: the area of its letters
	Says           bool     // there are letters or digits, or glyphs that may look like some
	Font           *Font
	Codes          string
	Matrix         Matrix // of its letters, in units of the size
	Shifted        bool   // its letters are raised, or spaced differently
}

// Part is a subpath.
type Part struct {
	Points        []Point // of its lines, and the control points of its curves
	Lines, Curves int
	Closed        bool
	rect          bool       // it is an upright rectangle
	boxes         []pdf.Rect // of each line and curve
}

// Point is a point in the space in which ink is reported.
type Point struct{ X, Y float64 }

func (p Point) box() pdf.Rect { return pdf.Rect{LLX: p.X, LLY: p.Y, URX: p.X, URY: p.Y} }

// Bounds is the box around the points of a part.
func (p *Part) Bounds() pdf.Rect {
	out := Nothing
	for _, q := range p.Points {
		out = Union(out, q.box())
	}
	return out
}

// Walker interprets content.
type Walker struct {
	Source Source
	// Pay accounts for work, in operators or bytes; false ends the walk.
	Pay func(n int) bool
	// See is called for every piece of ink in order; false ends the walk.
	See func(Piece) bool
	// Odd: something was not understood, so there may be ink anywhere.
	Odd bool
	// Intricate: there is more than lines, backgrounds and text in device colours, so the visible
	// result may be less, or look different.
	Intricate bool
	// Lost: a piece of text was clipped away.
	Lost bool
	// Fonts is a cache of fonts; may be nil.
	Fonts map[any]*Font

	forms int
	ended bool
	outer blending // of what draws a form
}

// Bounds on the content.
const (
	deepest    = 12 // nesting of forms and glyphs
	mostForms  = 4096
	mostSaved  = 256
	mostPath   = 1 << 18 // numbers
	streamWork = 256     // for finding and decoding a stream, apart from its bytes
	entryWork  = 32      // for storing the text or width of a font's code
)

func (w *Walker) pay(n int) bool {
	if !w.ended && !w.Pay(n) {
		w.ended, w.Odd = true, true
	}
	return !w.ended
}

// Contents returns the concatenated content streams of a page.
func (w *Walker) Contents(page *pdf.Dict) []byte {
	o, err := w.Source.Resolve(page.Get("Contents"))
	list, several := o.(pdf.Array)
	if !several {
		list = pdf.Array{o}
	}
	w.Odd = w.Odd || err != nil
	var all []byte
	for _, one := range list {
		if one != nil {
			all = append(append(all, w.Data(one)...), '\n')
		}
	}
	return all
}

// Data returns the data of a stream; nothing if it cannot be read.
func (w *Walker) Data(o pdf.Object) []byte {
	if !w.pay(streamWork) {
		return nil
	}
	o, err := w.Source.Resolve(o)
	s, ok := o.(*pdf.Stream)
	if o == nil && err == nil {
		return nil
	}
	var b []byte
	if ok && err == nil {
		b, err = w.Source.Data(s)
	}
	if !ok || err != nil || !w.pay(len(b)/16) {
		w.Odd = true
		return nil
	}
	return b
}

func (w *Walker) dict(o pdf.Object) *pdf.Dict {
	d, err := w.Source.Dict(o)
	if err != nil {
		w.Odd = true
		return nil
	}
	return d
}

// names caches entries of a resource dictionary.
type names struct {
	dict  *pdf.Dict
	known map[pdf.Name]pdf.Object
}

// find returns an entry; the dictionary is searched once per name.
func (w *Walker) find(n names, o pdf.Object) pdf.Object {
	name, _ := o.(pdf.Name)
	found, ok := n.known[name]
	if !ok && n.dict != nil && w.pay(len(n.dict.Entries)) {
		found = n.dict.Get(name)
		n.known[name] = found
	}
	return found
}

// state is the graphics state that a content stream can save and restore.
type state struct {
	ctm                             Matrix
	clip                            pdf.Rect
	width                           float64
	fill, stroke                    ink
	font                            *Font
	size, leading, rise             float64
	stretch, charSpread, wordSpread float64
	hidden, outlined                bool    // text
	limit                           float64 // miter limit
	blending
}

// blending is the transparency of what is drawn.
type blending struct{ clear, multiply bool }

// follower interprets one stream.
type follower struct {
	*Walker
	state
	stack          []state
	tm, lm         Matrix // of text
	res            *pdf.Dict
	fonts, objects names
	path           []*Part
	points         int
	pen            *Point
	clipping       bool
	depth          int
}

// Follow draws content with its resources; base maps its space to that in which ink is reported,
// and clip is in the latter.
func (w *Walker) Follow(data []byte, res *pdf.Dict, base Matrix, clip pdf.Rect) {
	w.follow(data, res, base, clip, 0)
}

func (w *Walker) follow(data []byte, res *pdf.Dict, base Matrix, clip pdf.Rect, depth int) {
	f := &follower{Walker: w, state: state{ctm: base, clip: clip, width: 1, limit: 10, stretch: 1, blending: w.outer}, res: res, depth: depth, tm: Identity, lm: Identity}
	f.fill.space, f.stroke.space = 1, 1
	named := func(key pdf.Name) names {
		if res == nil {
			return names{}
		}
		return names{w.dict(res.Get(key)), map[pdf.Name]pdf.Object{}}
	}
	f.fonts, f.objects = named("Font"), named("XObject")
	whole := pdf.Operators(data, func(op string, args []pdf.Object) bool {
		f.do(op, args)
		return w.pay(1 + len(args))
	})
	w.Odd = w.Odd || !whole
}

// numbers returns n operands if all of them are numbers.
func (f *follower) numbers(args []pdf.Object, n int) ([]float64, bool) {
	out := make([]float64, 0, n)
	for _, o := range args {
		if v, ok := f.Source.Number(o); ok && math.Abs(v) < 1e9 {
			out = append(out, v)
		}
	}
	if len(out) != n || len(args) != n {
		f.Odd = true
		return nil, false
	}
	return out, true
}

func (f *follower) do(op string, args []pdf.Object) {
	switch op {
	case "q":
		if f.stack = append(f.stack, f.state); len(f.stack) > mostSaved {
			f.stack, f.Odd = f.stack[:mostSaved], true
		}
	case "Q":
		n := len(f.stack)
		if n == 0 {
			f.Intricate = true
			return
		}
		f.state, f.stack = f.stack[n-1], f.stack[:n-1]
	case "cm":
		if n, ok := f.numbers(args, 6); ok {
			f.ctm = Matrix(n).Times(f.ctm)
		}
	case "w":
		if n, ok := f.numbers(args, 1); ok {
			f.width = math.Abs(n[0])
			f.Intricate = f.Intricate || n[0] < 0
		}
	case "M": // a large limit makes spikes of corners
		if n, ok := f.numbers(args, 1); ok {
			f.limit = n[0]
			f.Intricate = f.Intricate || n[0] > 10
		}
	case "BMC", "EMC", "MP", "J", "j", "d", "i", "ri", "ET":
	case "BDC": // a layer may be off
		f.Intricate = f.Intricate || len(args) != 2 || args[0] == pdf.Name("OC")
	case "g", "rg", "k", "cs", "sc", "scn":
		f.Intricate = !f.fill.set(op, args, f.Source) || f.Intricate
	case "G", "RG", "K", "CS", "SC", "SCN":
		f.Intricate = !f.stroke.set(strings.ToLower(op), args, f.Source) || f.Intricate
	case "gs":
		if len(args) == 1 {
			f.graphics(args[0])
		}
	case "Do":
		f.Intricate = true
		if len(args) == 1 {
			f.object(f.find(f.objects, args[0]))
		}
	case "sh":
		f.Intricate = true
		f.ink(Piece{Kind: Shading, Box: f.clip})
	case "re", "m", "l", "c", "v", "y", "h", "W", "W*", "n", "f", "F", "f*", "S", "s", "B", "B*", "b", "b*":
		f.draw(op, args)
	default:
		f.write(op, args)
	}
}

// ink reports the unclipped part of a piece.
func (f *follower) ink(p Piece) {
	p.Box, p.Clip, p.Clear = Common(p.Box, f.clip), f.clip, f.clear || f.multiply && p.Kind == Fill && p.Colour.Luminance() > 0.5
	if Empty(p.Box) || f.ended {
		f.Lost = f.Lost || p.Kind == Text && strings.TrimSpace(p.Text) != ""
		return
	}
	if !f.See(p) {
		f.ended, f.Odd = true, true
	}
}

// graphics applies the relevant parameters of a graphics state.
func (f *follower) graphics(name pdf.Object) {
	if f.res == nil {
		f.Intricate = true
		return
	}
	states := f.dict(f.res.Get("ExtGState"))
	n, _ := name.(pdf.Name)
	if states == nil || !f.pay(len(states.Entries)) {
		f.Intricate = true
		return
	}
	d := f.dict(states.Get(n))
	if d == nil || !f.pay(len(d.Entries)) {
		f.Intricate = true
		return
	}
	f.Intricate = f.Intricate || slices.ContainsFunc(d.Entries, func(e pdf.Entry) bool { return !f.plain(e) })
	if v, ok := f.Source.Number(d.Get("ca")); ok {
		f.clear = v < 0.6
	}
	if v := d.Get("BM"); v != nil {
		f.multiply = f.Source.Name(v) == "Multiply"
	}
	if v, ok := f.Source.Number(d.Get("LW")); ok {
		f.width = math.Abs(v)
	}
	if v, ok := f.Source.Number(d.Get("ML")); ok {
		f.limit = v
	}
	if list, err := f.Source.Array(d.Get("Font")); err != nil || len(list) == 2 {
		f.font = nil
		if err == nil {
			f.font = f.Font(list[0])
			f.size, _ = f.Source.Number(list[1])
		}
	}
}

// plain reports whether an entry of a graphics state has no effect.
func (f *follower) plain(e pdf.Entry) bool {
	v, err := f.Source.Resolve(e.Value)
	if err != nil {
		return false
	}
	switch e.Key {
	case "Type":
		return true
	case "CA", "ca":
		n, ok := f.Source.Number(v)
		return ok && n == 1
	case "BM":
		return v == pdf.Name("Normal")
	case "SMask":
		return v == pdf.Name("None")
	case "AIS", "SA", "OP", "op":
		return v == pdf.Bool(false)
	}
	return false
}

// object draws a picture as a box, and the content of a form.
func (f *follower) object(o pdf.Object) {
	o, err := f.Source.Resolve(o)
	s, ok := o.(*pdf.Stream)
	if err != nil || !ok {
		f.Odd = f.Odd || err != nil || o != nil
		return
	}
	switch f.Source.Name(s.Dict.Get("Subtype")) {
	case "Image":
		f.ink(Piece{Kind: Picture, Box: f.ctm.Box(pdf.Rect{URX: 1, URY: 1})})
	case "Form":
		before := f.outer
		f.outer = f.blending
		f.Form(s, f.res, f.ctm, f.clip, f.depth+1)
		f.outer = before
	default:
		f.Odd = true
	}
}

// Form draws a form; outer are the resources of what draws it.
func (w *Walker) Form(s *pdf.Stream, outer *pdf.Dict, ctm Matrix, clip pdf.Rect, depth int) {
	if w.forms++; depth > deepest || w.forms > mostForms {
		w.Odd = true
		return
	}
	if v := s.Dict.Get("Matrix"); v != nil {
		m, ok := matrixOf(w.Source, v)
		w.Odd = w.Odd || !ok
		if ok {
			ctm = m.Times(ctm)
		}
	}
	if box, ok := w.Source.Rect(s.Dict.Get("BBox")); ok {
		clip = Common(clip, ctm.Box(box))
	}
	res := w.dict(s.Dict.Get("Resources"))
	if res == nil {
		res = outer
	}
	if data := w.Data(s); len(data) > 0 && !Empty(clip) {
		w.follow(data, res, ctm, clip, depth)
	}
}

func matrixOf(src Source, o pdf.Object) (Matrix, bool) {
	a, err := src.Array(o)
	if err != nil || len(a) != 6 {
		return Identity, false
	}
	var m Matrix
	for i, v := range a {
		var ok bool
		if m[i], ok = src.Number(v); !ok {
			return Identity, false
		}
	}
	return m, true
}

// FormMatrix maps the space of an annotation's appearance to that of the page (ISO 32000-2,
// 12.5.5), not including the form's own matrix. ok is false if readers interpret its box and matrix
// differently; an appearance without area shows nothing.
func FormMatrix(src Source, s *pdf.Stream, rect pdf.Rect) (m Matrix, shows, ok bool) {
	box, ok := src.Rect(s.Dict.Get("BBox"))
	m = Identity
	if v := s.Dict.Get("Matrix"); v != nil && ok {
		m, ok = matrixOf(src, v)
	}
	b := m.Box(box)
	if !ok || b.Width() == 0 || b.Height() == 0 {
		return Identity, false, ok
	}
	x, y := rect.Width()/b.Width(), rect.Height()/b.Height()
	return Matrix{x, 0, 0, y, rect.LLX - b.LLX*x, rect.LLY - b.LLY*y}, true, true
}
