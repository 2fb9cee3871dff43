package pdf

import (
	"bytes"
	"errors"
	"fmt"

	"rogito.dev/rogito/internal/limits"
)

// streamSpan finds the extent of the data that begins at start: by Length if endstream follows
// there, else by searching for it. In lenient mode, endobj or the end of the file is accepted too.
func (d *Document) streamSpan(dict *Dict, start int64) (Span, error) {
	lenient := d.work.lenient
	n, stated := d.Int(dict.Get("Length"))
	if stated && n >= 0 && n <= d.size-start && (d.follows(start+n, "endstr") || lenient && n > 0 && d.follows(start+n, "endobj")) {
		return Span{start, start + n}, nil
	}
	const step = 64 << 10
	for at := start; at < d.size; at += step {
		buf, err := d.read(at, step+len("endstream"))
		if err != nil {
			return Span{}, err
		}
		if err := d.work.parse(int64(len(buf))); err != nil {
			return Span{}, err
		}
		i := bytes.Index(buf, []byte("endstream"))
		// If another object begins before it, the endstream belongs to that one.
		if j := bytes.Index(buf, []byte("endobj")); lenient && j >= 0 && (i < 0 || j < i && beginsObject(buf[j:i])) {
			i = j
		}
		if i < 0 {
			continue
		}
		span := Span{start, d.trimLineEnd(start, at+int64(i))}
		if stated && d.way == Stated {
			span = d.statedSpan(span, n)
		}
		return span, nil
	}
	if lenient {
		return Span{start, d.size}, nil
	}
	return Span{}, fmt.Errorf("offset %d: stream without end", start)
}

// statedSpan is the extent of a stream for readers that trust a wrong Length. Those that find no
// endstream where it should be search for it further on, some only behind the Length; a negative
// one is ignored. If the object ends behind the Length, there is no endstream to find.
func (d *Document) statedSpan(span Span, n int64) Span {
	const word = int64(len("\nendstream\nendobj"))
	switch {
	case n >= 0 && span.Start+n < span.End:
		if buf, err := d.read(span.Start+n, 32); err == nil && bytes.Contains(buf, []byte("endobj")) {
			span.End = span.Start + n
		}
	case n < 0:
		span.End = span.Start
	case span.Start+n > span.End+word:
		span.End = min(span.Start+n, d.size)
	}
	return span
}

// follows reports whether a word of six letters is at an offset, or behind a few bytes of white
// space.
func (d *Document) follows(off int64, word string) bool {
	buf, err := d.read(off, 16)
	return err == nil && bytes.HasPrefix(bytes.TrimLeft(buf, "\x00\t\n\f\r "), []byte(word))
}

func (d *Document) trimLineEnd(start, end int64) int64 {
	from := max(start, end-2)
	buf, err := d.read(from, int(end-from))
	if err != nil {
		return end
	}
	switch {
	case bytes.HasSuffix(buf, []byte("\r\n")):
		return end - 2
	case bytes.HasSuffix(buf, []byte("\n")), bytes.HasSuffix(buf, []byte("\r")):
		return end - 1
	}
	return end
}

// Data returns the decoded data of a stream.
func (d *Document) Data(s *Stream) ([]byte, error) {
	data, _, err := d.decode(s, d.crypt)
	if err != nil {
		return nil, wrapMalformed("stream "+s.ref.String(), err)
	}
	return data, nil
}

// Strict returns the decoded data of a stream that every reader decodes to the same bytes; any
// other is an error.
func (d *Document) Strict(s *Stream) ([]byte, error) {
	data, odd, err := d.decode(s, d.crypt)
	if err == nil && odd == "" {
		odd = d.oddlySealed(s)
	}
	if err == nil && odd != "" {
		err = errMalformed("stream "+s.ref.String(), "readers decode it in different ways: %s", odd)
	}
	return data, wrapMalformed("stream "+s.ref.String(), err)
}

// Encoded returns the decrypted data of a stream before its filters.
func (d *Document) Encoded(s *Stream) ([]byte, error) {
	return d.encoded(s, d.crypt)
}

func (d *Document) encoded(s *Stream, c *crypt) ([]byte, error) {
	if s.span.End == 0 {
		return s.Data, nil
	}
	n := s.span.End - s.span.Start
	if n > limits.PDFStream {
		return nil, fmt.Errorf("stream of %d bytes", n)
	}
	if err := d.work.parse(n); err != nil {
		return nil, err
	}
	if room := d.work.allowance(n); n > room {
		return nil, d.work.tooLarge(room)
	}
	raw := make([]byte, n)
	if got, err := d.ReadAt(raw, s.span.Start); got < len(raw) {
		return nil, fmt.Errorf("read stream: %w", err)
	}
	if c == nil {
		return raw, nil
	}
	return c.stream(raw, s)
}

// decode decrypts with c, if not nil, and applies all filters. odd is that of the first filter
// whose data other readers may decode differently.
func (d *Document) decode(s *Stream, c *crypt) (data []byte, odd string, err error) {
	data, _, odd, err = d.unfilter(s, c)
	if err != nil {
		return nil, odd, err
	}
	return data, odd, nil
}

// unfilter is decode, but if a filter fails it also returns the output of the filters before it,
// and their number.
func (d *Document) unfilter(s *Stream, c *crypt) (data []byte, done int, odd string, err error) {
	data, err = d.encoded(s, c)
	if err != nil {
		return nil, 0, "", err
	}
	filters, parms, err := d.filters(s.Dict)
	if err != nil {
		return nil, 0, "", err
	}
	odd = d.oddFilters(s.Dict)
	for i, f := range filters {
		held := int64(len(data)) // while the next filter runs
		if err := d.work.budget.Spend(held); err != nil {
			return nil, i, "", err
		}
		out, flaw, err := d.filter(f, parms[i], data)
		d.work.budget.Return(held)
		if d.work.lenient && errors.Is(err, errDamaged) {
			flaw, err = oddDamaged, nil
		}
		if err != nil {
			return data, i, odd, fmt.Errorf("%s: %w", f, err)
		}
		data = out
		if odd = odder(odd, flaw); f != "Crypt" {
			odd = odder(odd, d.oddParameters(parms[i]))
		}
		if err := d.work.decode(int64(len(data))); err != nil {
			return nil, i, "", err
		}
	}
	return data, len(filters), odd, nil
}

// filters lists the filter chain with the parameters of each.
func (d *Document) filters(dict *Dict) ([]Name, []*Dict, error) {
	f, err := d.Resolve(first(dict, "Filter", "F"))
	if err != nil {
		return nil, nil, err
	}
	p, err := d.Resolve(first(dict, "DecodeParms", "DP"))
	if err != nil {
		return nil, nil, err
	}
	var names []Name
	switch x := f.(type) {
	case Name:
		names = []Name{x}
	case Array:
		for _, o := range x {
			names = append(names, d.Name(o))
		}
	}
	if len(names) > limits.PDFFilters {
		return nil, nil, fmt.Errorf("%d filters", len(names))
	}
	parms := make([]*Dict, len(names))
	switch x := p.(type) {
	case *Dict:
		if len(parms) > 0 {
			parms[0] = x
		}
	case Array:
		for i := range min(len(x), len(parms)) {
			if parms[i], err = d.Dict(x[i]); err != nil {
				return nil, nil, err
			}
		}
	}
	return names, parms, nil
}

// first returns the value of the long key, or of the abbreviation if that is a filter and not, as F
// may be, a file specification.
func first(dict *Dict, long, short Name) Object {
	if o := dict.Get(long); o != nil {
		return o
	}
	switch o := dict.Get(short).(type) {
	case Name, Array:
		return o
	case *Dict:
		if short == "DP" {
			return o
		}
	}
	return nil
}

type objectStream struct {
	data    []byte
	first   int
	headEnd int // of the index
	numbers []int
	offsets []int
	index   map[int]int
	odd     string // what other readers may decode differently
}

// holdObjectStreams bounds the object streams kept of all revisions together.
const holdObjectStreams = 16 << 20

// streamKey is what the decoding of an object stream depends on. All revisions with the same bytes
// share it, unless a reference is involved that may resolve differently: a large form was decoded
// four times without this.
type streamKey struct {
	span  Span
	ref   Ref
	crypt *crypt
	doc   *Document // nil: any
}

func (d *Document) streamKey(st *Stream) streamKey {
	key := streamKey{span: st.span, ref: st.ref, crypt: d.crypt}
	for _, name := range []Name{"Filter", "F", "DecodeParms", "DP", "N", "First", "Length"} {
		if holdsReference(st.Dict.Get(name)) {
			key.doc = d
		}
	}
	return key
}

// fromStream reads an object out of an object stream.
func (d *Document) fromStream(ref Ref, stream, index int) (Object, error) {
	os, err := d.objectStream(stream)
	if err != nil {
		return nil, err
	}
	i := index
	if i >= len(os.numbers) || os.numbers[i] != ref.Num {
		var ok bool
		if i, ok = os.index[ref.Num]; !ok {
			return nil, fmt.Errorf("not in object stream %d", stream)
		}
	}
	at := os.first + os.offsets[i]
	if at > len(os.data) {
		return nil, fmt.Errorf("offset outside object stream %d", stream)
	}
	p := d.work.parser(lexer{buf: os.data, pos: at, base: -1, last: true})
	o, err := p.object()
	d.work.parsedBy(p)
	return o, err
}

func (d *Document) objectStream(num int) (*objectStream, error) {
	if os := d.streams[num]; os != nil {
		return os, nil
	}
	e, ok := d.lookup(num)
	if !ok || e.kind != entryInFile {
		return nil, fmt.Errorf("object stream %d is not in the file", num)
	}
	o, err := d.Get(Ref{Num: num, Gen: int(e.gen)})
	if err != nil {
		return nil, err
	}
	st, ok := o.(*Stream)
	if !ok {
		return nil, fmt.Errorf("object %d is no stream", num)
	}
	os, kept, err := d.keptObjectStream(st)
	if err != nil {
		return nil, fmt.Errorf("object stream %d: %w", num, err)
	}
	if kept {
		if d.weighs == 0 {
			d.work.owners = append(d.work.owners, d)
		}
		d.weighs++ // so that it counts as having a cache
		if d.streams == nil {
			d.streams = make(map[int]*objectStream)
		}
		d.streams[num] = os
	}
	return os, nil
}

// keptObjectStream decodes an object stream, and caches it if its contents do not depend on the
// revision.
func (d *Document) keptObjectStream(st *Stream) (os *objectStream, kept bool, err error) {
	key, w := d.streamKey(st), d.work
	if os = w.streams[key]; os != nil {
		return os, true, nil
	}
	if os, err = d.openObjectStream(st); err != nil {
		return nil, false, err
	}
	weight := int64(len(os.data)) + 32*int64(len(os.numbers))
	if w.streamed+weight > holdObjectStreams {
		w.dropStreamCaches()
	}
	if !w.budget.Try(weight) {
		w.dropCaches()
		return os, false, nil
	}
	w.cached += weight
	w.streamed += weight
	if w.streams == nil {
		w.streams = make(map[streamKey]*objectStream)
	}
	w.streams[key] = os
	return os, true, nil
}

func (d *Document) openObjectStream(st *Stream) (*objectStream, error) {
	data, odd, err := d.decode(st, d.crypt)
	if err != nil {
		return nil, err
	}
	n, ok1 := d.Int(st.Dict.Get("N"))
	first, ok2 := d.Int(st.Dict.Get("First"))
	if !ok1 || !ok2 || n < 0 || first < 0 || n > int64(len(data)) || first > int64(len(data)) {
		return nil, fmt.Errorf("header out of bounds")
	}
	if err := d.work.budget.Spend(64 * n); err != nil {
		return nil, err
	}
	defer d.work.budget.Return(64 * n)
	odd = odder(odd, d.oddlySealed(st), d.oddIntegers(st.Dict, "N", "First"))
	os := &objectStream{odd: odd, data: data, first: int(first), index: make(map[int]int, n)}
	os.numbers, os.offsets = make([]int, n), make([]int, n)
	l := lexer{buf: data[:first], base: -1, last: true}
	for i := range os.numbers {
		num, err := l.integer()
		if err != nil {
			return nil, err
		}
		off, err := l.integer()
		if err != nil {
			return nil, err
		}
		if num > limits.PDFObjects || off > int64(len(data)) {
			return nil, fmt.Errorf("entry %d out of bounds", i)
		}
		os.numbers[i], os.offsets[i] = int(num), int(off)
		os.index[int(num)] = i
	}
	os.headEnd = l.pos
	return os, nil
}
