package pdf

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// Ambiguity is a place of the file that readers can take in two ways: some
// follow the tables, some rebuild them from the objects they find, some take
// the first of two definitions and some the last.
type Ambiguity struct {
	Where string // "object 4 0", "xref at 1234"
	Text  string
	// Until is the last revision whose meaning is in doubt. It concerns every
	// signature over that revision or an earlier one.
	Until int
}

func (a Ambiguity) String() string { return a.Where + " " + a.Text }

// maxAmbiguities is where the search for more ends: one is enough.
const maxAmbiguities = 8

// errEnough ends the search.
var errEnough = fmt.Errorf("enough ambiguities")

// place is something that the tables say stands at an offset.
type place struct {
	offset  int64
	num     int32
	gen     int32
	rev     int32
	table   *section // a cross-reference table with its trailer
	trailer bool     // a cross-reference stream
}

// auditor looks for ambiguities. It lays all objects, tables and markers that
// the chain of cross-reference sections names over the file, reads each of
// them strictly, and then knows every byte that none of them explains.
type auditor struct {
	ctx    context.Context
	doc    *Document
	skim   skimmer
	win    []byte
	winOff int64
	last   int // the newest revision

	places    []place
	states    []state           // of all objects, by number and revision
	packed    map[int64][]int32 // numbers of the object streams, by offset
	reached   map[int]map[int]bool
	from      place // the object being read
	until     int   // the revision that replaces it
	out       []Ambiguity
	endMarker int64 // offset of the last startxref
	spent     int64 // of the budget
	drawn     int64 // bytes that may still be decoded, of streams that draw
	bulk      int64 // and of others
	end       int64 // of the last object or table
	stated    int64 // length of the file that a linearisation states
	depends   map[int]bool
	refer     func(Ref) error // the method reference, made once
	before    *Audited        // what the file begins with; nil: everything is to be read
}

// Ambiguities lists places where readers can differ, none for a file with one
// meaning (ISO 32000-2, 7.5). The error is about reading, not about the file.
func (d *Document) Ambiguities(ctx context.Context) ([]Ambiguity, error) {
	a := &auditor{ctx: ctx, doc: d, last: max(1, len(d.revisions)), packed: map[int64][]int32{}, drawn: auditDrawn, bulk: auditBulk}
	a.refer = a.reference
	a.goOn()
	if d.repaired != nil {
		a.note("the file", "has no valid cross-reference section at its end, so each reader rebuilds its own")
		return a.out, nil
	}
	a.win = windows.Get().([]byte)[:0]
	err := a.audit()
	putWindow(a.win)
	d.work.budget.Return(a.spent)
	if err != nil && err != errEnough { // it is never wrapped
		return nil, fmt.Errorf("look for ambiguities: %w", err)
	}
	d.audited = a.audited()
	return a.out, nil
}

func (a *auditor) audit() error {
	for _, step := range []func() error{a.header, a.tail, a.sections, a.linearised, a.index, a.layout, a.packedEntries, a.encryption} {
		if err := step(); err != nil {
			return err
		}
		if len(a.out) >= maxAmbiguities {
			return errEnough
		}
	}
	return nil
}

// spend takes from the document's budget until the audit is over.
func (a *auditor) spend(n int64) error {
	a.spent += n
	return a.doc.work.budget.Spend(n)
}

// note adds a finding about the whole file.
func (a *auditor) note(where, format string, args ...any) {
	a.noteIn(a.last, where, format, args...)
}

func (a *auditor) noteIn(until int, where, format string, args ...any) {
	x := Ambiguity{Where: where, Text: fmt.Sprintf(format, args...), Until: until}
	if len(a.out) < maxAmbiguities && !slices.Contains(a.out, x) {
		a.out = append(a.out, x)
	}
}

// header wants the offsets to be counted from %PDF-, as all readers do that
// look for it, and one header only where they look.
func (a *auditor) header() error {
	head, err := a.head()
	if err != nil {
		return err
	}
	if at := indexHeader(head); int64(at) != a.doc.base {
		a.note("the header", "stands at byte %d, but offsets are not counted from there", at)
	}
	if foundHeader(head[:a.doc.base], true) {
		a.note("the header", "has an object before it")
	}
	return nil
}

// head is where the header is looked for, from the first byte of the file on.
func (a *auditor) head() ([]byte, error) {
	if a.doc.base == 0 {
		return a.window(0, 1024)
	}
	head := make([]byte, min(1024, a.doc.src.Size()))
	if n, err := a.doc.src.ReadAt(head, 0); n < len(head) {
		return nil, err
	}
	return head, nil
}

// tail wants the end of the file to be found where all readers look for it:
// in its last 1,024 bytes.
func (a *auditor) tail() error {
	const reach = 1024
	d := a.doc
	from := max(0, d.size-reach)
	buf, err := a.window(from, int(d.size-from))
	if err != nil {
		return err
	}
	i := bytes.LastIndex(buf, []byte("startxref"))
	if i < 0 {
		a.note("the end of the file", "has no startxref in its last %d bytes: some readers rebuild the tables", reach)
		return nil
	}
	a.endMarker = from + int64(i)
	m, ok := d.marker(a.endMarker)
	if !ok || m.target != d.startxref {
		a.note("the end of the file", "has no clear startxref")
	} else if m.eof == 0 {
		a.note("the end of the file", "lacks %%%%EOF after startxref")
	}
	return nil
}

// window returns up to n bytes at an offset from a buffer of its own, as the
// file is read from the beginning to the end while other objects are fetched.
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

// layout reads the file from the beginning to the end, or what stands behind
// what was audited before.
func (a *auditor) layout() error {
	at := a.begin()
	for i := 0; i < len(a.places) && len(a.out) < maxAmbiguities; i++ {
		p := a.places[i]
		for i+1 < len(a.places) && a.places[i+1].offset == p.offset {
			i++ // listed again by a later section
			if q := a.places[i]; q.num != p.num || q.gen != p.gen {
				a.note(placeName(q), "stands at offset %d, and so does %s", q.offset, placeName(p))
			} else if q.trailer {
				p.trailer = true
			}
		}
		if p.offset >= a.doc.size {
			a.note(placeName(p), "stands at offset %d, outside the file", p.offset)
			continue
		}
		if p.offset < at {
			a.note(placeName(p), "stands at offset %d, within another object", p.offset)
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
		if text, ok := findingOf(err); ok {
			a.note(placeName(p), "%s", text)
			at = next
		} else if err != nil {
			return err
		}
	}
	a.end = at
	return a.gap(at, a.doc.size)
}

func placeName(p place) string {
	if p.table != nil {
		return fmt.Sprintf("xref at %d", p.offset)
	}
	return fmt.Sprintf("object %d %d", p.num, p.gen)
}

// grow runs f over a growing window from off up to next until it no longer
// falls short.
func (a *auditor) grow(off, next int64, f func() error) error {
	if next < off {
		return &skimError{"overlaps what stands behind it"}
	}
	n := int64(512)
	if have := a.winOff + int64(len(a.win)) - off; off >= a.winOff && have > n {
		n = have // all that is there
	}
	for ; ; n = max(8*n, 64<<10) {
		n = min(n, next-off)
		buf, err := a.window(off, int(n))
		if err != nil {
			return err
		}
		a.skim.reset(buf, off, n == next-off)
		if err := f(); err != errShort { // it is never wrapped
			return err
		}
	}
}

// object reads one that the tables name, up to its endobj.
func (a *auditor) object(p place, next int64) (end int64, err error) {
	a.from, a.until = p, a.replaced(int(p.num), int(p.rev))
	s := &a.skim
	s.ref = a.refer
	if p.trailer {
		s.ref = noReference
	}
	if p.offset > 0 {
		buf, err := a.window(p.offset-1, 512)
		if err != nil {
			return 0, err
		}
		if buf[0] >= '0' && buf[0] <= '9' {
			return 0, &skimError{"begins in the middle of a number"}
		}
	}
	stream := false
	err = a.grow(p.offset, next, func() error {
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
			return &skimError{"is not closed by endobj"}
		case bytes.HasPrefix(rest, []byte("stream\n")):
			s.pos += len("stream\n")
		case bytes.HasPrefix(rest, []byte("stream\r\n")):
			s.pos += len("stream\r\n")
		default:
			return &skimError{"has a stream that does not begin on a new line"}
		}
		stream = true
		return nil
	})
	if err != nil || !stream {
		return p.offset + int64(s.pos), err
	}
	return a.stream(p, p.offset+int64(s.pos), next)
}

// noReference is for trailers: each revision has its own, so that nothing can
// be slipped in under an old one.
func noReference(Ref) error { return nil }

// objectHeader wants the number and generation that the table states.
func (a *auditor) objectHeader(p place) error {
	s := &a.skim
	var numbers [2]int64
	for i := range numbers {
		s.space()
		w, err := s.skimWord()
		if err != nil {
			return err
		}
		var ok bool
		if numbers[i], ok = parseUint(w); !ok {
			return &skimError{fmt.Sprintf("is not at offset %d, where its table says", p.offset)}
		}
	}
	s.space()
	if len(s.buf)-s.pos < 3 {
		return s.end()
	}
	if string(s.buf[s.pos:s.pos+3]) != "obj" || numbers != [2]int64{int64(p.num), int64(p.gen)} {
		return &skimError{fmt.Sprintf("is not at offset %d, where its table says", p.offset)}
	}
	s.pos += 3
	return nil
}

// stream reads what follows the stream's dictionary: data of the stated
// length, endstream and endobj.
func (a *auditor) stream(p place, start, next int64) (end int64, err error) {
	kind, coded, bulk := string(a.skim.kind), a.skim.coded, a.skim.bulk
	n, ok, err := a.length(p, a.skim.length)
	if err != nil {
		return 0, err
	}
	if !ok || n > next-start {
		return 0, &skimError{"has a stream without a valid Length"}
	}
	s := &a.skim
	err = a.grow(start+n, next, func() error {
		s.space()
		if s.pos > 16 {
			return &skimError{"has a stream whose Length is wrong"}
		}
		for _, word := range []string{"endstream", "endobj"} {
			s.space()
			if len(s.buf)-s.pos < len(word) && !s.last {
				return errShort
			}
			if !bytes.HasPrefix(s.buf[s.pos:], []byte(word)) {
				if word == "endobj" {
					return &skimError{"is not closed by endobj"}
				}
				return &skimError{"has a stream whose Length is wrong"}
			}
			s.pos += len(word)
		}
		return nil
	})
	end = start + n + int64(s.pos)
	if err != nil {
		return end, err
	}
	switch {
	case kind == "ObjStm":
		err = a.objectStream(p)
	case coded && !p.trailer:
		err = a.encoding(p, bulk, start, n)
	}
	return end, err
}

// length resolves the Length of a stream. Where it is an object of its own,
// it must say the same in all revisions that hold the stream.
func (a *auditor) length(p place, o Object) (int64, bool, error) {
	switch x := o.(type) {
	case Integer:
		return int64(x), true, nil
	case Ref:
		a.depend(x.Num)
		n, ok := a.doc.Int(x)
		if states := a.statesOf(x.Num); len(states) > 1 {
			old, err := a.as(int(p.rev))
			if err != nil {
				return 0, false, err
			}
			m, was := old.Int(x)
			if (m != n || was != ok) && a.until > a.last {
				return 0, false, &skimError{"has a stream whose Length a later revision changes"}
			}
			n, ok = m, was
		}
		return n, ok && n >= 0, nil
	}
	return 0, false, nil
}

// table reads a cross-reference table, which holds nothing but digits and
// letters, and its trailer.
func (a *auditor) table(p place, next int64) (end int64, err error) {
	s := &a.skim
	s.ref = noReference
	at := p.offset
	for at < p.table.trailerAt {
		buf, err := a.window(at, int(min(p.table.trailerAt-at, 16<<10)))
		if err != nil {
			return 0, err
		}
		if bytes.IndexByte(buf, '%') >= 0 {
			return 0, &skimError{"has a comment in its lines"}
		}
		at += int64(len(buf))
	}
	err = a.grow(at, next, func() error {
		s.space()
		if w, err := s.skimWord(); err != nil || string(w) != "trailer" {
			if err == nil {
				err = &skimError{"has no trailer"}
			}
			return err
		}
		return s.value()
	})
	return at + int64(s.pos), err
}

// gap wants nothing between objects but white space, comments and the markers
// at the ends of revisions. Comments may not hold objects either: some
// rebuilding readers look for words, wherever they stand.
func (a *auditor) gap(from, to int64) error {
	for from < to {
		buf, err := a.window(from, int(min(to-from, 16<<10)))
		if err != nil {
			return err
		}
		l := lexer{buf: buf, base: from, last: from+int64(len(buf)) == to}
		n, text := gapText(&l)
		if text != "" {
			a.note(fmt.Sprintf("offset %d", from+int64(n)), "%s", text)
			return nil
		}
		if n == 0 {
			a.note(fmt.Sprintf("offset %d", from), "holds a comment of more than %d bytes", len(buf))
			return nil
		}
		from += int64(n)
	}
	return nil
}

// gapText reads tokens between objects and tells how far it came, and what is
// wrong there.
func gapText(l *lexer) (n int, text string) {
	for l.pos < len(l.buf) {
		at, c := l.pos, l.buf[l.pos]
		switch {
		case class[c] == classSpace:
			l.pos++
		case c == '%':
			end := bytes.IndexAny(l.buf[at:], "\r\n")
			if end < 0 {
				if !l.last {
					return at, ""
				}
				end = len(l.buf) - at
			}
			l.pos += end
			if at > 0 || l.base > 0 {
				if foundHeader(l.buf[at:l.pos], false) {
					return at, "holds an object, trailer or header in a comment"
				}
			}
		default:
			w, err := l.word()
			if err != nil {
				return at, ""
			}
			if string(w) != "startxref" {
				return at, "holds bytes that belong to no object"
			}
			if l.space(); l.pos == len(l.buf) && !l.last {
				return at, ""
			}
			if w, err = l.word(); err != nil {
				return at, ""
			}
			if _, ok := parseUint(w); !ok {
				return at, "has startxref without a number"
			}
		}
	}
	return l.pos, ""
}

// foundHeader reports whether a rebuilding reader would find the head of an
// object or a trailer in these bytes; in a comment also another file header.
func foundHeader(b []byte, prefix bool) bool {
	if bytes.Contains(b, []byte("trailer")) || bytes.Contains(b, []byte("xref")) || !prefix && bytes.Contains(b, []byte("%PDF-")) {
		return true
	}
	for i := 0; ; {
		k := bytes.Index(b[i:], []byte("obj"))
		if k < 0 {
			return false
		}
		if _, ok := objectBefore(b, i+k); ok {
			return true
		}
		i += k + 3
	}
}
