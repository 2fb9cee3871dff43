package revision

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// matcher compares values of two revisions. Two values are equal if a reader that follows every
// reference cannot distinguish them: numbers and strings by their meaning, streams by their decoded
// data, objects regardless of their number.
//
// Pages, fields and annotations are compared separately. A reference to one of them, where one is
// expected, equals a reference to its counterpart.
type matcher struct {
	old, new *model
	same     map[pair]bool // equal, or assumed to be while being compared
	trail    []pair
	anchors  [2]map[int]int // object number → identity, of the old and the new revision
	next     int
	ages     *closures
	work     *work
	tired    bool
	apart    bool         // two readings of one revision: the same position may differ in meaning
	moved    map[int]bool // cache of changed
	large    map[*pdf.Dict]map[pdf.Name]pdf.Object
}

// pair is two objects, whether they are in a place where pages, fields and annotations are only
// referred to, and whether their keys are names chosen by the author.
type pair struct {
	a, b        pdf.Ref
	named, free bool
}

// mostSteps bounds all comparisons of a document.
const mostSteps = 20_000_000

// mostDepth bounds the nesting, including references.
const mostDepth = 20_000

// work is the cost of comparing the revisions of one document.
type work struct {
	ctx   context.Context
	until time.Time // zero for no limit
	steps int
	over  bool
}

// newWork leaves some of the available time for the rest of the reading: an unfinished comparison
// is a finding, not an error.
func newWork(ctx context.Context) *work {
	w := &work{ctx: ctx}
	if end, ok := ctx.Deadline(); ok {
		w.until = time.Now().Add(time.Until(end) * 4 / 5)
	}
	return w
}

// step counts one step; false if there is no more time.
func (w *work) step() bool { return w.spend(1) }

// spend counts n steps.
func (w *work) spend(n int) bool {
	const often = 4096
	before := w.steps / often
	w.steps += n
	if w.steps > mostSteps || w.steps/often != before && (w.ctx.Err() != nil || !w.until.IsZero() && time.Now().After(w.until)) {
		w.over = true
	}
	return !w.over
}

func newMatcher(old, new *model, ages *closures, w *work) *matcher {
	return &matcher{
		old: old, new: new, ages: ages, work: w, same: make(map[pair]bool), moved: make(map[int]bool),
		large:   make(map[*pdf.Dict]map[pdf.Name]pdf.Object),
		anchors: [2]map[int]int{make(map[int]int), make(map[int]int)},
	}
}

// anchor gives two objects the same identity; 0 means no counterpart.
func (m *matcher) anchor(old, new int) {
	m.next++
	if old != 0 {
		m.anchors[0][old] = m.next
	}
	if new != 0 {
		m.anchors[1][new] = m.next
	}
}

// equal compares the values of a key.
func (m *matcher) equal(a, b pdf.Object, key pdf.Name) bool {
	mark := len(m.trail)
	if m.compare(a, b, key, false, 0) {
		return true
	}
	// What was assumed to be equal meanwhile may depend on the difference.
	for _, p := range m.trail[mark:] {
		delete(m.same, p)
	}
	m.trail = m.trail[:mark]
	return false
}

// pointing are the keys under which a page, a field or an annotation is referred to and not shown:
// destinations, trees, lists of fields, structure.
var pointing = map[pdf.Name]bool{
	"P": true, "Pg": true, "Parent": true, "Popup": true, "IRT": true, "Obj": true, "Annot": true,
	"Page": true, "Data": true, "AN": true, "TA": true, "Annotation": true, "Start": true, "End": true,
}

// listing are those where the reference is in an array, directly or nested.
var listing = map[pdf.Name]bool{
	"Dest": true, "D": true, "OpenAction": true, "Names": true, "Dests": true, "SD": true,
	"Fields": true, "CO": true, "T": true, "Nums": true, "K": true, "B": true, "Annots": true, "Kids": true, "O": true,
}

// free are the keys of dictionaries whose own keys are chosen by the author. All entries in them
// are used, whatever their names.
var free = map[pdf.Name]bool{
	"XObject": true, "ExtGState": true, "Font": true, "ColorSpace": true, "Pattern": true, "Shading": true, "Properties": true,
	"CharProcs": true, "N": true, "AP": true, "Resources": true, "DR": true, "Colorants": true,
}

// under is the key by which a value of a dictionary is interpreted, given the key of the dictionary
// itself.
func under(holder, key pdf.Name) pdf.Name {
	switch {
	case holder == "Dests": // names of destinations
		return holder
	case holder == "AP": // N, R and D are equivalent
		return "N"
	case free[holder] && !free[key]:
		return "*"
	}
	return key
}

// changed reports whether the updates between the two revisions may have changed an object: it, or
// the object stream that contains it, was written.
func (m *matcher) changed(num int) bool {
	if m.apart {
		return true
	}
	if c, ok := m.moved[num]; ok {
		return c
	}
	a, ok1 := m.old.doc.Where(num)
	b, ok2 := m.new.doc.Where(num)
	c := ok1 != ok2 || a != b
	if !c && ok1 && a.Stream != 0 {
		x, _ := m.old.doc.Where(a.Stream)
		y, _ := m.new.doc.Where(a.Stream)
		c = x != y
	}
	m.moved[num] = c
	return c
}

func (m *matcher) compare(a, b pdf.Object, key pdf.Name, listed bool, depth int) bool {
	if !m.work.step() || depth > mostDepth {
		m.tired = true
		return false
	}
	_, refA := a.(pdf.Ref)
	_, refB := b.(pdf.Ref)
	if refA || refB {
		return m.references(a, b, key, listed, depth)
	}
	switch v := a.(type) {
	case *pdf.Dict:
		w, ok := b.(*pdf.Dict)
		return ok && m.dicts(v, w, key, nil, depth)
	case pdf.Array:
		w, ok := b.(pdf.Array)
		if !ok || len(v) != len(w) {
			return false
		}
		for i := range v {
			if !m.compare(v[i], w[i], key, true, depth+1) {
				return false
			}
		}
		return true
	case *pdf.Stream:
		w, ok := b.(*pdf.Stream)
		return ok && m.streams(v, w, key, depth)
	case pdf.String:
		w, ok := b.(pdf.String)
		return ok && v.Clear == w.Clear && (bytes.Equal(v.Bytes, w.Bytes) || texts[key] && pdf.DecodeText(v.Bytes) == pdf.DecodeText(w.Bytes))
	case pdf.Integer:
		if w, ok := b.(pdf.Integer); ok {
			return v == w
		}
		return m.numbersEqual(a, b, key, listed)
	case pdf.Real:
		return m.numbersEqual(a, b, key, listed)
	}
	switch b.(type) {
	case *pdf.Dict, pdf.Array, *pdf.Stream, pdf.String:
		return false
	}
	return a == b
}

// measures are the keys of lengths, coordinates, colours and the like. There 1 and 1.0 are the same
// for every reader. Elsewhere readers expect an integer (a code, a flag, a number of bits) and
// ignore a real.
var measures = map[pdf.Name]bool{
	"MediaBox": true, "CropBox": true, "BleedBox": true, "TrimBox": true, "ArtBox": true, "Rect": true, "Matrix": true, "BBox": true,
	"Widths": true, "W": true, "C": true, "IC": true, "Border": true, "RD": true, "QuadPoints": true, "L": true, "CL": true,
	"Vertices": true, "InkList": true, "Coords": true, "Domain": true, "Range": true, "Decode": true, "Encode": true, "Bounds": true,
	"C0": true, "C1": true, "Background": true, "WhitePoint": true, "BlackPoint": true, "Gamma": true, "BC": true, "BG": true,
	"FontBBox": true, "FontMatrix": true, "Ascent": true, "Descent": true, "CapHeight": true, "XHeight": true, "StemV": true,
	"StemH": true, "ItalicAngle": true, "AvgWidth": true, "MaxWidth": true, "MissingWidth": true, "Leading": true, "FontWeight": true,
	"CA": true, "ca": true, "LW": true, "ML": true, "FL": true, "SM": true, "XStep": true, "YStep": true,
	"D": true, "Dest": true, "Dests": true, "OpenAction": true, "UserUnit": true, "Dur": true, "PZ": true, "SS": true,
}

// numbersEqual compares numbers of which at least one is a real. In the widths of a CID font (W)
// some are codes.
func (m *matcher) numbersEqual(a, b pdf.Object, key pdf.Name, listed bool) bool {
	_, realA := a.(pdf.Real)
	_, realB := b.(pdf.Real)
	f, _ := m.old.doc.Number(a)
	g, ok := m.new.doc.Number(b)
	return ok && f == g && (realA == realB || measures[key] && (key != "W" || !listed))
}

// layer reports whether a reference is to an optional content group. Content and settings identify
// it by its object: a copy is another layer.
func layer(m *model, o pdf.Object) bool {
	ref, ok := o.(pdf.Ref)
	if !ok || m.layers[ref.Num] {
		return ok
	}
	v, err := m.doc.Resolve(o)
	d, ok := v.(*pdf.Dict)
	return err == nil && ok && m.doc.Name(d.Get("Type")) == "OCG"
}

// references compares values of which at least one is a reference: by identity if it is to a page,
// a field or an annotation, else by its object.
func (m *matcher) references(a, b pdf.Object, key pdf.Name, listed bool, depth int) bool {
	x, refA := a.(pdf.Ref)
	y, refB := b.(pdf.Ref)
	if pointing[key] || listed && listing[key] {
		ida, idb := m.anchors[0][x.Num], m.anchors[1][y.Num]
		if ida != 0 || idb != 0 {
			return ida == idb
		}
	}
	if x != y && (layer(m.old, a) || layer(m.new, b)) {
		return false
	}
	both := refA && refB
	if !both && (scalar(m.old, a) || scalar(m.new, b)) {
		return false
	}
	if v, err := m.new.doc.Resolve(b); !refA && err == nil && v == nil {
		return false // some readers stop at a reference to an undefined object, but not at null
	}
	if both && x == y && m.ages.of(x.Num, key) <= m.old.rev {
		return true
	}
	if both {
		p := pair{x, y, pointing[key] || listing[key], free[key]}
		if m.same[p] {
			return true
		}
		m.same[p] = true
		m.trail = append(m.trail, p)
	}
	if both && x == y && !m.changed(x.Num) {
		o, err := m.new.doc.Resolve(b)
		if s, ok := o.(*pdf.Stream); ok {
			return err == nil && m.sameStream(x, s, key, depth+1)
		}
		return err == nil && m.compare(o, o, key, listed, depth+1)
	}
	a, errA := m.old.doc.Resolve(a)
	b, errB := m.new.doc.Resolve(b)
	return errA == nil && errB == nil && m.compare(a, b, key, listed, depth+1)
}

// scalar reports whether a value is a name, a number, a string or a boolean. Readers resolve
// references to dictionaries and arrays, but not all resolve those to what is usually direct.
func scalar(m *model, o pdf.Object) bool {
	v, err := m.doc.Resolve(o)
	switch v.(type) {
	case nil, *pdf.Dict, pdf.Array, *pdf.Stream:
		return err != nil
	}
	return true
}

// texts are the keys of text strings, which may be encoded in several ways.
var texts = map[pdf.Name]bool{
	"T": true, "TU": true, "TM": true, "V": true, "DV": true, "Contents": true, "Title": true, "Author": true,
	"Subject": true, "Keywords": true, "Creator": true, "Producer": true, "Lang": true, "NM": true,
}

// optionalTypes may be omitted from a dictionary without effect. Readers distinguish layers (OCG,
// OCMD) and file specifications by their Type.
var optionalTypes = map[pdf.Name]bool{
	"Annot": true, "XObject": true, "ExtGState": true, "Encoding": true, "Border": true, "Action": true, "Group": true,
	"Mask": true, "Sig": true, "SigRef": true, "TransformParams": true, "SigFieldLock": true, "SV": true, "Catalog": true,
	"Outlines": true, "Page": true, "Pages": true, "Metadata": true, "DSS": true, "VRI": true, "Extensions": true,
	"DeveloperExtensions": true,
}

// typeOmitted reports whether a Type that may be omitted is only in one of two dictionaries, the
// newer of which is b. One that is null now is not omitted: PDFium then ignores a page.
func (m *matcher) typeOmitted(x, y pdf.Object, b *pdf.Dict) bool {
	return x == nil && optionalTypes[m.new.doc.Name(y)] || y == nil && optionalTypes[m.old.doc.Name(x)] && !b.Has("Type")
}

// appears reports whether a null entry was added, or one removed that decides what a dictionary is.
// By the standard that is no change (ISO 32000-2, 7.3.9), but some readers only check whether the
// key is present: for them a page with Kids is a node, and an annotation with N has its appearance.
// Many products omit nulls when they rewrite an object.
func (m *matcher) appears(a, b *pdf.Dict, key pdf.Name) bool {
	had, has := a.Has(key), b.Has(key)
	return a != nil && b != nil && (has && !had || had && !has && (key == "Kids" || key == "N" || key == "AP"))
}

// dicts compares all keys except some.
func (m *matcher) dicts(a, b *pdf.Dict, holder pdf.Name, but []pdf.Name, depth int) bool {
	for _, e := range a.Entries {
		if !slices.Contains(but, e.Key) && !m.entry(a, b, holder, e.Key, depth) {
			return false
		}
	}
	if a == b {
		return true
	}
	for _, e := range b.Entries {
		if m.get(a, e.Key) == nil && !slices.Contains(but, e.Key) && !m.entry(a, b, holder, e.Key, depth) {
			return false
		}
	}
	return true
}

// get is the value of a key. Large dictionaries are indexed.
func (m *matcher) get(d *pdf.Dict, key pdf.Name) pdf.Object {
	if d == nil || len(d.Entries) < 32 {
		return d.Get(key)
	}
	index := m.large[d]
	if index == nil {
		index = make(map[pdf.Name]pdf.Object, len(d.Entries))
		for _, e := range d.Entries {
			index[e.Key] = e.Value
		}
		m.large[d] = index
	}
	return index[key]
}

func (m *matcher) entry(a, b *pdf.Dict, holder, key pdf.Name, depth int) bool {
	x, y := m.get(a, key), m.get(b, key)
	if key == "Type" && m.typeOmitted(x, y, b) {
		return true
	}
	if (x == nil || y == nil) && m.appears(a, b, key) {
		return false
	}
	return m.compare(x, y, under(holder, key), false, depth+1)
}

// encoding are the keys of a stream about the encoding of its data.
var encoding = []pdf.Name{"Length", "Filter", "DecodeParms", "DL"}

// sameStream checks a stream that no update wrote: its data is unchanged unless its length or
// filters are indirect and were written.
func (m *matcher) sameStream(ref pdf.Ref, s *pdf.Stream, holder pdf.Name, depth int) bool {
	if !m.dicts(s.Dict, s.Dict, streamKey(holder), encoding, depth) {
		return false
	}
	for _, k := range encoding {
		if !m.compare(s.Dict.Get(k), s.Dict.Get(k), k, false, depth+1) {
			o, err := m.old.doc.Get(ref)
			was, ok := o.(*pdf.Stream)
			return err == nil && ok && m.data(was, s)
		}
	}
	return true
}

func (m *matcher) streams(a, b *pdf.Stream, holder pdf.Name, depth int) bool {
	if m.apart && holder == "Metadata" {
		return true // not shown by any reader
	}
	return m.dicts(a.Dict, b.Dict, streamKey(holder), encoding, depth) && m.data(a, b)
}

// streamKey: the keys of a stream's dictionary are never chosen by the author, unlike those of a
// dictionary in the same place (AP/N).
func streamKey(holder pdf.Name) pdf.Name {
	if free[holder] {
		return ""
	}
	return holder
}

// Data returns the decoded data of a stream, provided that every reader decodes it to the same
// bytes. Package revision reads streams in no other way.
func (v *view) Data(s *pdf.Stream) ([]byte, error) {
	if v.Sealing(s) != 0 {
		return nil, ades.Malformed("PDF", "stream", "it is encrypted in a way of its own")
	}
	return v.Strict(s)
}

// data compares the data of two streams. The same bytes with the same filters are the same data,
// however readers decode them. Re-encoded data is the same only if every reader decodes both to the
// same bytes; picture filters are not decoded here.
func (m *matcher) data(a, b *pdf.Stream) bool {
	if m.apart && a.Span() == b.Span() && m.sameFilters(a, b) && m.old.doc.Sealing(a) == m.new.doc.Sealing(b) {
		return true
	}
	if m.nullFilter(a, b) {
		return false
	}
	x, err1 := m.old.doc.Encoded(a)
	y, err2 := m.new.doc.Encoded(b)
	if err1 != nil || err2 != nil || m.old.doc.Sealing(a) != m.new.doc.Sealing(b) {
		return false
	}
	if bytes.Equal(x, y) && m.sameFilters(a, b) {
		return true
	}
	if m.apart { // one reader, two ends of the data
		x, err1 = m.old.doc.Document.Data(a)
		y, err2 = m.new.doc.Document.Data(b)
		return errors.Join(err1, err2) == nil && bytes.Equal(x, y)
	}
	x, err1 = m.old.doc.Data(a)
	y, err2 = m.new.doc.Data(b)
	return errors.Join(err1, err2) == nil && bytes.Equal(x, y)
}

// nullFilter reports whether a filter or its parameters became null, or a reference to an undefined
// object: that is no filter for most readers, and PDFium then shows no picture.
func (m *matcher) nullFilter(a, b *pdf.Stream) bool {
	null := func(in *model, s *pdf.Stream, key pdf.Name) bool {
		return s.Dict.Has(key) && resolved(in, s, key) == nil
	}
	return slices.ContainsFunc([]pdf.Name{"Filter", "DecodeParms"}, func(key pdf.Name) bool {
		return null(m.new, b, key) && !null(m.old, a, key)
	})
}

// sameFilters compares the filters of two streams and their parameters. A single filter may be in
// an array or not; if it has parameters, many readers use them only if both are in an array, or
// neither is.
func (m *matcher) sameFilters(a, b *pdf.Stream) bool {
	filters := m.compare(list(m.old, a, "Filter"), list(m.new, b, "Filter"), "Filter", false, 0)
	x, y := list(m.old, a, "DecodeParms"), list(m.new, b, "DecodeParms")
	if len(x)+len(y) == 0 {
		return filters
	}
	same := func(key pdf.Name) bool {
		_, p := resolved(m.old, a, key).(pdf.Array)
		_, q := resolved(m.new, b, key).(pdf.Array)
		return p == q
	}
	return filters && same("Filter") && same("DecodeParms") && m.compare(x, y, "DecodeParms", false, 0)
}

func resolved(m *model, s *pdf.Stream, key pdf.Name) pdf.Object {
	v, err := m.doc.Resolve(s.Dict.Get(key))
	if err != nil {
		return nil
	}
	return v
}

// list is the value of a key that may be single or an array.
func list(m *model, s *pdf.Stream, key pdf.Name) pdf.Array {
	switch v := resolved(m, s, key).(type) {
	case nil:
		return nil
	case pdf.Array:
		return v
	default:
		return pdf.Array{v}
	}
}

// differing lists the keys whose values are not equal.
func (m *matcher) differing(a, b *pdf.Dict, but ...pdf.Name) []pdf.Name {
	var out []pdf.Name
	seen := make(map[pdf.Name]bool)
	look := func(key pdf.Name) {
		if seen[key] || slices.Contains(but, key) {
			return
		}
		seen[key] = true
		x, y := m.get(a, key), m.get(b, key)
		if key == "Type" && m.typeOmitted(x, y, b) {
			return
		}
		if !m.equal(x, y, key) || (x == nil || y == nil) && m.appears(a, b, key) {
			out = append(out, key)
		}
	}
	for _, d := range []*pdf.Dict{a, b} {
		if d != nil {
			for _, e := range d.Entries {
				look(e.Key)
			}
		}
	}
	return out
}
