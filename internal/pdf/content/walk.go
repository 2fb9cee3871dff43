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

// Matrix takes x and y to ax+cy+e and bx+dy+f.
type Matrix [6]float64

// Identity leaves everything where it is.
var Identity = Matrix{1, 0, 0, 1, 0, 0}

// Times applies m first, then n.
func (m Matrix) Times(n Matrix) Matrix {
	return Matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// At is where a point goes.
func (m Matrix) At(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}

// Box is a box around what a rectangle becomes.
func (m Matrix) Box(r pdf.Rect) pdf.Rect {
	out := nothing
	for _, c := range [][2]float64{{r.LLX, r.LLY}, {r.URX, r.LLY}, {r.LLX, r.URY}, {r.URX, r.URY}} {
		x, y := m.At(c[0], c[1])
		out = Union(out, pdf.Rect{LLX: x, LLY: y, URX: x, URY: y})
	}
	return out
}

// upright reports whether rectangles stay rectangles.
func (m Matrix) upright() bool { return m[1] == 0 && m[2] == 0 || m[0] == 0 && m[3] == 0 }

// nothing is the box of no ink.
var nothing = pdf.Rect{LLX: math.Inf(1), LLY: math.Inf(1), URX: math.Inf(-1), URY: math.Inf(-1)}

// Union is the box around two.
func Union(a, b pdf.Rect) pdf.Rect {
	return pdf.Rect{LLX: min(a.LLX, b.LLX), LLY: min(a.LLY, b.LLY), URX: max(a.URX, b.URX), URY: max(a.URY, b.URY)}
}

// Common is what two boxes share.
func Common(a, b pdf.Rect) pdf.Rect {
	return pdf.Rect{LLX: max(a.LLX, b.LLX), LLY: max(a.LLY, b.LLY), URX: min(a.URX, b.URX), URY: min(a.URY, b.URY)}
}

// Empty reports whether a box holds nothing.
func Empty(r pdf.Rect) bool { return !(r.LLX <= r.URX && r.LLY <= r.URY) }

// Kind is what a piece of ink is.
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
	Box  pdf.Rect // around the ink, as much as is not clipped away
	// Whole: the box is painted all over, or, for a stroke, framed.
	Whole bool
	Width float64 // of a stroke

	// Of text: what it says as far as that is known, where its base line begins
	// and ends, and the size of its letters, below 0 for mirrored ones.
	Text           string
	X, Y, ToX, ToY float64
	Size, Angle    float64
	Core           pdf.Rect // of upright text: where its letters stand
}

// Walker follows content.
type Walker struct {
	Source Source
	// Pay counts work, an operator or a byte being one; false ends the walk.
	Pay func(n int) bool
	// See is told of every piece of ink in turn; false ends the walk.
	See func(Piece) bool
	// Odd: not all was understood, so that there may be ink anywhere.
	Odd bool

	fonts map[any]*Font
	forms int
	ended bool
}

// Bounds on what is followed.
const (
	deepest    = 12 // forms and glyphs within each other
	mostForms  = 4096
	mostSaved  = 256
	mostPath   = 1 << 16
	streamWork = 256 // to find and decode a stream, beside its bytes
	entryWork  = 32  // to keep what a code of a font stands for, or how wide it is
)

func (w *Walker) pay(n int) bool {
	if !w.ended && !w.Pay(n) {
		w.ended, w.Odd = true, true
	}
	return !w.ended
}

// Contents are the content streams of a page, one after the other.
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

// Data is what a stream holds; nothing where it cannot be read.
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

// names are the entries of a dictionary of resources that were asked for.
type names struct {
	dict  *pdf.Dict
	known map[pdf.Name]pdf.Object
}

// find is an entry; a dictionary is gone through once for each of its names.
func (w *Walker) find(n names, o pdf.Object) pdf.Object {
	name, _ := o.(pdf.Name)
	found, ok := n.known[name]
	if !ok && n.dict != nil && w.pay(len(n.dict.Entries)) {
		found = n.dict.Get(name)
		n.known[name] = found
	}
	return found
}

// state is what a content stream can save and bring back.
type state struct {
	ctm                             Matrix
	clip                            pdf.Rect
	width                           float64
	font                            *Font
	size, leading, rise             float64
	stretch, charSpread, wordSpread float64
	hidden                          bool
}

// follower follows one stream.
type follower struct {
	*Walker
	state
	stack          []state
	tm, lm         Matrix // of text
	res            *pdf.Dict
	fonts, objects names
	path           []pdf.Rect // of each part, in the space of the page
	boxes          []bool     // those that are upright rectangles
	pen            pdf.Rect
	clipping       bool
	depth          int
}

// Follow draws content with its resources; base takes its space to the one in
// which ink is told, and clip bounds it there.
func (w *Walker) Follow(data []byte, res *pdf.Dict, base Matrix, clip pdf.Rect) {
	w.follow(data, res, base, clip, 0)
}

func (w *Walker) follow(data []byte, res *pdf.Dict, base Matrix, clip pdf.Rect, depth int) {
	f := &follower{Walker: w, state: state{ctm: base, clip: clip, width: 1, stretch: 1}, res: res, depth: depth, tm: Identity, lm: Identity, pen: nothing}
	named := func(key pdf.Name) names {
		if res == nil {
			return names{}
		}
		return names{w.dict(res.Get(key)), map[pdf.Name]pdf.Object{}}
	}
	f.fonts, f.objects = named("Font"), named("XObject")
	whole := Each(data, func(in Instruction) bool {
		f.do(in.Op, in.Args)
		return w.pay(1 + len(in.Args))
	})
	w.Odd = w.Odd || !whole
}

// numbers are the operands where all of them are numbers, and as many.
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
		if n := len(f.stack); n > 0 {
			f.state, f.stack = f.stack[n-1], f.stack[:n-1]
		}
	case "cm":
		if n, ok := f.numbers(args, 6); ok {
			f.ctm = Matrix(n).Times(f.ctm)
		}
	case "w":
		if n, ok := f.numbers(args, 1); ok {
			f.width = math.Abs(n[0])
		}
	case "gs":
		if len(args) == 1 {
			f.graphics(args[0])
		}
	case "Do":
		if len(args) == 1 {
			f.object(f.find(f.objects, args[0]))
		}
	case "sh":
		f.ink(Piece{Kind: Shading, Box: f.clip})
	case "re", "m", "l", "c", "v", "y", "h", "W", "W*", "n", "f", "F", "f*", "S", "s", "B", "B*", "b", "b*":
		f.draw(op, args)
	default:
		f.write(op, args)
	}
}

// ink tells of a piece, as much of it as is not clipped away.
func (f *follower) ink(p Piece) {
	p.Box = Common(p.Box, f.clip)
	if Empty(p.Box) || f.ended {
		return
	}
	if !f.See(p) {
		f.ended, f.Odd = true, true
	}
}

// graphics takes what a graphics state sets of what is followed here.
func (f *follower) graphics(name pdf.Object) {
	if f.res == nil {
		return
	}
	states := f.dict(f.res.Get("ExtGState"))
	n, _ := name.(pdf.Name)
	if states == nil || !f.pay(len(states.Entries)) {
		return
	}
	d := f.dict(states.Get(n))
	if d == nil || !f.pay(len(d.Entries)) {
		return
	}
	if v, ok := f.Source.Number(d.Get("LW")); ok {
		f.width = math.Abs(v)
	}
	if list, err := f.Source.Array(d.Get("Font")); err != nil || len(list) == 2 {
		f.font = nil
		if err == nil {
			f.font = f.Font(list[0])
			f.size, _ = f.Source.Number(list[1])
		}
	}
}

// object draws a picture as a box, and what stands in a form.
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
		f.Form(s, f.res, f.ctm, f.clip, f.depth+1)
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

// FormMatrix takes the space of an annotation's appearance to that of the page
// (ISO 32000-2, 12.5.5), the form's own matrix not included.
func FormMatrix(src Source, s *pdf.Stream, rect pdf.Rect) (Matrix, bool) {
	box, ok := src.Rect(s.Dict.Get("BBox"))
	m := Identity
	if v := s.Dict.Get("Matrix"); v != nil && ok {
		m, ok = matrixOf(src, v)
	}
	b := m.Box(box)
	if !ok || b.Width() == 0 || b.Height() == 0 {
		return Identity, false
	}
	x, y := rect.Width()/b.Width(), rect.Height()/b.Height()
	return Matrix{x, 0, 0, y, rect.LLX - b.LLX*x, rect.LLY - b.LLY*y}, true
}

// draw takes paths. Each line and curve is a part with a box around it.
func (f *follower) draw(op string, args []pdf.Object) {
	counts := map[string]int{"re": 4, "m": 2, "l": 2, "c": 6, "v": 4, "y": 4}
	switch op {
	case "h":
	case "W", "W*":
		f.clipping = true
	case "re", "m", "l", "c", "v", "y":
		n, ok := f.numbers(args, counts[op])
		if !ok {
			return
		}
		if op == "re" {
			f.part(f.ctm.Box(pdf.Rect{LLX: min(n[0], n[0]+n[2]), LLY: min(n[1], n[1]+n[3]), URX: max(n[0], n[0]+n[2]), URY: max(n[1], n[1]+n[3])}), f.ctm.upright())
			x, y := f.ctm.At(n[0], n[1])
			f.pen = pdf.Rect{LLX: x, LLY: y, URX: x, URY: y}
			return
		}
		box := f.pen
		if op == "m" {
			box = nothing
		}
		for i := 0; i < len(n); i += 2 {
			x, y := f.ctm.At(n[i], n[i+1])
			f.pen = pdf.Rect{LLX: x, LLY: y, URX: x, URY: y}
			box = Union(box, f.pen)
		}
		f.part(box, false)
	default:
		f.paint(op)
	}
}

func (f *follower) part(box pdf.Rect, upright bool) {
	if len(f.path) > mostPath {
		f.Odd = true
		return
	}
	f.path, f.boxes = append(f.path, box), append(f.boxes, upright)
}

func (f *follower) paint(op string) {
	path, boxes, clipping := f.path, f.boxes, f.clipping
	f.path, f.boxes, f.clipping, f.pen = nil, nil, false, nothing
	all := nothing
	for _, b := range path {
		all = Union(all, b)
	}
	if strings.ContainsAny(op, "fFBb") && !Empty(all) {
		if slices.Contains(boxes, false) {
			f.ink(Piece{Kind: Fill, Box: all})
		} else {
			for _, b := range path {
				f.ink(Piece{Kind: Fill, Box: b, Whole: len(path) == 1})
			}
		}
	}
	if strings.ContainsAny(op, "SsBb") {
		scale := max(math.Hypot(f.ctm[0], f.ctm[1]), math.Hypot(f.ctm[2], f.ctm[3]))
		wide := max(f.width*scale, 0.1)
		around := func(b pdf.Rect, by float64) pdf.Rect {
			return pdf.Rect{LLX: b.LLX - by, LLY: b.LLY - by, URX: b.URX + by, URY: b.URY + by}
		}
		for i, b := range path {
			if boxes[i] {
				f.ink(Piece{Kind: Stroke, Box: around(b, wide/2), Whole: true, Width: wide})
				continue
			}
			f.ink(Piece{Kind: Stroke, Box: around(b, wide*1.5), Width: wide}) // corners stand out
		}
		if slices.Contains([]string{"s", "b", "b*"}, op) && len(path) > 1 { // the line that closes it
			f.ink(Piece{Kind: Stroke, Box: around(all, wide*1.5), Width: wide})
		}
	}
	if clipping {
		f.clip = Common(f.clip, all)
	}
}
