package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// mostSlips is how many slips are collected; with more, the rest of the file counts as one.
const mostSlips = 1024

// errEnough ends the search.
var errEnough = errors.New("enough slips")

// place is what the tables say is at an offset.
type place struct {
	offset  int64
	num     int32
	gen     int32
	rev     int32
	table   *section // a cross-reference table with its trailer
	trailer bool     // a cross-reference stream
	by      int64    // offset of the section that names it
}

// auditor searches a file for slips. It maps all objects, tables and markers named by the chain of
// cross-reference sections onto the file and reads each of them strictly. That leaves the bytes
// that nothing explains.
type auditor struct {
	ctx    context.Context
	doc    *Document
	skim   skimmer
	win    []byte
	winOff int64
	last   int // the newest revision

	places    []place
	states    []state           // of all objects, by number and revision
	packed    map[int64][]int32 // object numbers of the object streams, by offset
	reached   map[int]map[int]bool
	from      place // the object being read
	until     int   // the revision that replaces it
	out       []Slip
	noted     map[noted]bool
	bounds    []int64         // where the revisions end, the oldest first
	endMarker int64           // offset of the last startxref
	spent     int64           // of the budget
	drawn     int64           // bytes that may still be decoded, of streams that draw
	bulk      int64           // of other streams
	refer     func(Ref) error // the method reference, as a value made once
}

// noted identifies what is reported once per revision.
type noted struct {
	rev, until int
	kind       *Kind
}

// Audit lists the slips of a file: where it is not written as ISO 32000-2, 7.5 specifies. The error
// is about reading, not about the file.
func (d *Document) Audit(ctx context.Context) ([]Slip, error) {
	a := &auditor{ctx: ctx, doc: d, last: max(1, len(d.revisions)), packed: map[int64][]int32{}, drawn: auditDrawn, bulk: auditBulk}
	a.refer = a.reference
	a.bound()
	if d.repaired != nil {
		a.note(a.last, a.last, "the file", slipXRef)
		return a.out, nil
	}
	a.win = make([]byte, 0, usualWindow)
	err := a.audit()
	d.work.budget.Return(a.spent)
	if err != nil && err != errEnough { // never wrapped
		return nil, fmt.Errorf("look for slips: %w", err)
	}
	return a.out, nil
}

func (a *auditor) audit() error {
	for _, step := range []func() error{a.header, a.tail, a.sections, a.linearised, a.index, a.layout, a.packedEntries, a.encryption} {
		if err := step(); err != nil {
			return err
		}
		if len(a.out) > mostSlips {
			return errEnough
		}
	}
	return nil
}

// bound records where each revision ends.
func (a *auditor) bound() {
	d, end := a.doc, int64(0)
	for _, r := range d.revisions {
		own := r.EOF
		if own == 0 && d.repaired == nil {
			for _, s := range d.sections[r.first : r.first+r.count] {
				own = max(own, s.end)
			}
		}
		end = max(end, own)
		a.bounds = append(a.bounds, end)
	}
}

// revisionAt is the revision that contains an offset, or one past the last for an offset behind it.
func (a *auditor) revisionAt(off int64) int {
	n, _ := slices.BinarySearch(a.bounds, off+1)
	return n + 1
}

// spend charges the document's budget until the audit is over.
func (a *auditor) spend(n int64) error {
	a.spent += n
	return a.doc.work.budget.Spend(n)
}

// note adds a slip made by a revision; until is the last revision whose meaning is in doubt.
func (a *auditor) note(rev, until int, where string, k *Kind, values ...any) {
	a.noteOf(0, rev, until, where, k, values...)
}

// noteAt adds a slip at an offset.
func (a *auditor) noteAt(off int64, k *Kind, values ...any) {
	a.note(a.revisionAt(off), a.last, "offset "+strconv.FormatInt(off, 10), k, values...)
}

func (a *auditor) noteOf(num, rev, until int, where string, k *Kind, values ...any) {
	if a.noted == nil {
		a.noted = map[noted]bool{}
	}
	key := noted{rev, until, k}
	if a.noted[key] && (num == 0 || k.Others&LeftOut == 0) || len(a.out) > mostSlips {
		return
	}
	a.noted[key] = true
	if len(a.out) == mostSlips {
		rev, until = a.last+1, a.last
	}
	s := Slip{Kind: k, Until: until, Object: num, End: math.MaxInt64, Values: []string{where}}
	if rev <= len(a.bounds) {
		s.End = a.bounds[rev-1]
	}
	for _, v := range values {
		s.Values = append(s.Values, fmt.Sprint(v))
	}
	a.out = append(a.out, s)
}

// header checks that offsets are counted from %PDF-, as all readers that search for it do, and that
// there is only one header where they search.
func (a *auditor) header() error {
	head := make([]byte, min(1024, a.doc.src.Size())) // from the first byte of the file
	if n, err := a.doc.src.ReadAt(head, 0); n < len(head) {
		return err
	}
	if at := indexHeader(head); int64(at) != a.doc.base {
		a.note(1, a.last, "the header", slipHeader, at)
	}
	if foundHeader(head[:a.doc.base], true) {
		a.note(1, a.last, "the header", slipPrefix)
	}
	return nil
}

// tail checks that the end of the file is where all readers search for it: in the last 1,024 bytes.
func (a *auditor) tail() error {
	const reach = 1024
	d := a.doc
	from := max(0, d.size-reach)
	buf, err := a.window(from, int(d.size-from))
	if err != nil {
		return err
	}
	const where = "the end of the file"
	i := bytes.LastIndex(buf, []byte("startxref"))
	if i < 0 {
		a.note(a.revisionAt(d.size-1), a.last, where, slipEnd, reach)
		return nil
	}
	a.endMarker = from + int64(i)
	m, ok := d.marker(a.endMarker)
	if !ok || m.target != d.startxref {
		a.note(a.revisionAt(a.endMarker), a.last, where, slipEndUnclear)
	} else if m.eof == 0 {
		a.note(a.last, a.last, where, slipEOF)
	}
	return nil
}

// window returns up to n bytes at an offset. It has its own buffer, since the file is read from
// beginning to end while other objects are fetched.
func (a *auditor) window(off int64, n int) ([]byte, error) {
	if off < 0 || off > a.doc.size {
		return nil, errMalformed("", "offset %d is outside the file", off)
	}
	n = int(min(int64(n), a.doc.size-off))
	if at := off - a.winOff; at >= 0 && at+int64(n) <= int64(len(a.win)) {
		return a.win[at : at+int64(n)], nil
	}
	if err := a.ctx.Err(); err != nil {
		return nil, err
	}
	want := int(min(int64(max(n, usualWindow)), a.doc.size-off))
	if cap(a.win) < want {
		if err := a.spend(int64(want)); err != nil {
			return nil, err
		}
		a.win = make([]byte, want)
	}
	a.win = a.win[:want]
	if got, err := a.doc.ReadAt(a.win, off); got < want {
		a.win = a.win[:0]
		return nil, err
	}
	a.winOff = off
	return a.win[:n], nil
}

// layout reads the file from beginning to end.
func (a *auditor) layout() error {
	at := int64(0)
	for i := 0; i < len(a.places) && len(a.out) <= mostSlips; i++ {
		p := a.places[i]
		own := a.own(p)
		for i+1 < len(a.places) && a.places[i+1].offset == p.offset {
			i++ // listed again by a later section
			if q := a.places[i]; q.num != p.num || q.gen != p.gen {
				a.noteOf(int(q.num), int(q.rev), a.last, placeName(q), slipSameOffset, q.offset, placeName(p))
			} else if q.trailer {
				p.trailer = true
			}
		}
		if from := a.start(int(p.rev)); p.offset < from && p.by >= from {
			own(slipEarlier, p.offset)
		}
		if p.offset >= a.doc.size {
			own(slipOutside, p.offset)
			continue
		}
		if p.offset < at {
			own(slipWithin, p.offset)
			continue
		}
		if err := a.gap(at, p.offset); err != nil {
			return err
		}
		next := a.doc.size
		if i+1 < len(a.places) {
			next = min(next, a.places[i+1].offset)
		}
		var err error
		if p.table != nil {
			at, err = a.table(p, next)
		} else {
			at, err = a.object(p, next)
		}
		if f := slipOf(err); f != nil {
			own(f.kind, f.values...)
			at = a.resumeAfter(p.offset, next)
		} else if err != nil {
			return err
		}
	}
	return a.gap(at, a.doc.size)
}

// start is where the bytes of a revision begin. Those of a linearised original are in two places,
// with nothing before them.
func (a *auditor) start(rev int) int64 {
	if rev < 2 || rev-2 >= len(a.bounds) {
		return 0
	}
	return a.bounds[rev-2]
}

// resumeAfter is where to continue after an object that could not be read to its end: at the next
// one, but within the same revision.
func (a *auditor) resumeAfter(off, next int64) int64 {
	if rev := a.revisionAt(off); rev <= len(a.bounds) {
		return min(next, max(off+1, a.bounds[rev-1]))
	}
	return next
}

func placeName(p place) string {
	if p.table != nil {
		return fmt.Sprintf("xref at %d", p.offset)
	}
	return fmt.Sprintf("object %d %d", p.num, p.gen)
}

// retryGrowing calls f with a growing window from off up to next until it suffices.
func (a *auditor) retryGrowing(off, next int64, f func() error) error {
	if next < off {
		return slip(slipOverlap)
	}
	n := int64(512)
	if have := a.winOff + int64(len(a.win)) - off; off >= a.winOff && have > n {
		n = have // everything available
	}
	for ; ; n = max(8*n, 64<<10) {
		n = min(n, next-off)
		buf, err := a.window(off, int(n))
		if err != nil {
			return err
		}
		a.skim.reset(buf, off, n == next-off)
		if err := f(); err != errShort { // never wrapped
			return err
		}
	}
}

// object reads an object named by the tables, up to its endobj.
func (a *auditor) object(p place, next int64) (end int64, err error) {
	a.from, a.until = p, a.replaced(int(p.num), int(p.rev))
	s := &a.skim
	s.ref, s.soft = a.refer, a.own(p)
	if p.trailer {
		s.ref = noReference
	}
	if p.offset > 0 {
		buf, err := a.window(p.offset-1, 512)
		if err != nil {
			return 0, err
		}
		if buf[0] >= '0' && buf[0] <= '9' {
			return 0, slip(slipMidNumber)
		}
	}
	stream := false
	err = a.retryGrowing(p.offset, next, func() error {
		if err := a.objectHeader(p); err != nil {
			return err
		}
		if err := s.value(); err != nil {
			return err
		}
		s.space()
		if len(s.buf)-s.pos < 8 && !s.last {
			return errShort
		}
		switch rest := s.buf[s.pos:]; {
		case bytes.HasPrefix(rest, []byte("endobj")):
			s.pos += len("endobj")
			return nil
		case !bytes.HasPrefix(rest, []byte("stream")) || !s.isDict:
			return slip(slipEndobj)
		case bytes.HasPrefix(rest, []byte("stream\n")):
			s.pos += len("stream\n")
		case bytes.HasPrefix(rest, []byte("stream\r\n")):
			s.pos += len("stream\r\n")
		default:
			n := bytes.IndexAny(rest, "\r\n")
			if n < 0 {
				return slip(slipStreamLine)
			}
			s.soft(slipStreamLine)
			s.pos += n + 1
		}
		stream = true
		return nil
	})
	if s.wide {
		a.noteOf(int(p.num), int(p.rev), a.last, placeName(p), slipNumber)
	}
	if err != nil || !stream {
		return p.offset + int64(s.pos), err
	}
	return a.stream(p, p.offset+int64(s.pos), next)
}

// own returns a function that notes slips of one object or table.
func (a *auditor) own(p place) func(*Kind, ...any) {
	return func(k *Kind, values ...any) { a.noteOf(int(p.num), int(p.rev), a.last, placeName(p), k, values...) }
}

// noReference is for trailers: each revision has its own, so an update cannot change what an old
// one refers to unnoticed.
func noReference(Ref) error { return nil }

// objectHeader checks the number and generation against the table.
func (a *auditor) objectHeader(p place) error {
	s := &a.skim
	var numbers [2]int64
	for i := range numbers {
		s.space()
		w, err := s.word()
		if err != nil {
			return err
		}
		var ok bool
		if numbers[i], ok = parseUint(w); !ok {
			return slip(slipOffset, p.offset)
		}
	}
	s.space()
	if len(s.buf)-s.pos < 3 {
		return s.end()
	}
	if string(s.buf[s.pos:s.pos+3]) == "obj" && numbers[0] == int64(p.num) && numbers[1] != int64(p.gen) {
		s.soft(slipRowGen, numbers[1])
	} else if string(s.buf[s.pos:s.pos+3]) != "obj" || numbers != [2]int64{int64(p.num), int64(p.gen)} {
		return slip(slipOffset, p.offset)
	}
	s.pos += 3
	return nil
}

// stream reads what follows the stream's dictionary: data of the stated length, endstream and
// endobj.
func (a *auditor) stream(p place, start, next int64) (end int64, err error) {
	kind, coded, bulk := string(a.skim.kind), a.skim.coded, a.skim.bulk
	n, ok, err := a.length(p, a.skim.length)
	if err == nil && (!ok || n > next-start) {
		err = slip(slipNoLength)
	}
	if err == nil {
		end, err = a.data(start+n, next)
	}
	if err != nil {
		if slipOf(err) == nil {
			return end, err
		}
		start, n = 0, 0 // as the parser determines it
	}
	var inner error
	switch {
	case kind == "ObjStm":
		inner = a.objectStream(p)
	case coded && !p.trailer:
		inner = a.encoding(p, bulk, start, n)
	}
	if f := slipOf(inner); f != nil && err != nil {
		a.own(p)(f.kind, f.values...)
		return end, err
	}
	if inner != nil {
		return end, inner
	}
	return end, err
}

// data checks that endstream and endobj follow the data of a stream.
func (a *auditor) data(off, next int64) (end int64, err error) {
	s := &a.skim
	err = a.retryGrowing(off, next, func() error {
		s.space()
		if s.pos > 16 {
			return slip(slipLength)
		}
		for _, word := range []string{"endstream", "endobj"} {
			s.space()
			if len(s.buf)-s.pos < len(word) && !s.last {
				return errShort
			}
			if !bytes.HasPrefix(s.buf[s.pos:], []byte(word)) {
				if word == "endobj" {
					return slip(slipEndobj)
				}
				return slip(slipLength)
			}
			s.pos += len(word)
		}
		return nil
	})
	return off + int64(s.pos), err
}

// length resolves the Length of a stream. If it is indirect, it must have the same value in all
// revisions that contain the stream.
func (a *auditor) length(p place, o Object) (int64, bool, error) {
	switch x := o.(type) {
	case Integer:
		return int64(x), true, nil
	case Ref:
		n, ok := a.doc.Int(x)
		if states := a.statesOf(x.Num); len(states) > 1 {
			old, err := a.as(int(p.rev))
			if err != nil {
				return 0, false, err
			}
			m, was := old.Int(x)
			if (m != n || was != ok) && a.until > a.last {
				return 0, false, slip(slipLengthAnew)
			}
			n, ok = m, was
		}
		return n, ok && n >= 0, nil
	}
	return 0, false, nil
}

// table reads a cross-reference table, which has only digits and letters, and its trailer.
func (a *auditor) table(p place, next int64) (end int64, err error) {
	s := &a.skim
	s.ref, s.soft = noReference, a.own(p)
	at := p.offset
	for at < p.table.trailerAt {
		buf, err := a.window(at, int(min(p.table.trailerAt-at, 16<<10)))
		if err != nil {
			return 0, err
		}
		if bytes.IndexByte(buf, '%') >= 0 {
			return 0, slip(slipTableComment)
		}
		at += int64(len(buf))
	}
	err = a.retryGrowing(at, next, func() error {
		s.space()
		w, err := s.word()
		switch {
		case err != nil:
			return err
		case string(w) != "trailer":
			return slip(slipNoTrailer)
		}
		return s.value()
	})
	return at + int64(s.pos), err
}
