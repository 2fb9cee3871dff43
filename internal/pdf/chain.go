package pdf

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/internal/limits"
)

// Revision is a saved state of the document: the original, or one incremental update. Revisions are
// numbered from 1.
type Revision struct {
	Number int
	// XRef is the offset of its cross-reference section.
	XRef int64
	// EOF is the offset right after its %%EOF marker, End the one after the following line end.
	// Both are 0 if there is no marker.
	EOF, End int64

	first int // index into the document's sections, which are newest first
	count int // two for a linearised original
}

// readChain follows startxref and the Prev entries, and groups the sections
// into revisions.
func (d *Document) readChain() error {
	start, err := d.lastStartXRef()
	if err != nil {
		return err
	}
	if start == 0 {
		return errMalformed("startxref", "points to offset 0")
	}
	d.startxref = start
	if err := d.follow(start); err != nil {
		return err
	}
	d.trailer = d.sections[0].trailer
	d.group()
	return nil
}

// lastStartXRef searches backwards for the last startxref.
func (d *Document) lastStartXRef() (int64, error) {
	const step = 1024
	word := []byte("startxref")
	for end, n := d.size, int64(step); end > 0; n = 64 * step {
		if err := d.work.ctx.Err(); err != nil {
			return 0, err
		}
		from := max(0, end-n)
		buf, err := d.read(from, int(min(end-from+int64(len(word)), d.size-from)))
		if err != nil {
			return 0, fmt.Errorf("read startxref: %w", err)
		}
		if i := bytes.LastIndex(buf, word); i >= 0 {
			m, ok := d.marker(from + int64(i))
			if !ok {
				return 0, errMalformed("startxref", "offset %d: no number follows", from+int64(i))
			}
			return m.target, nil
		}
		end = from
	}
	return 0, errMalformed("startxref", "not found")
}

// marker is the end of a revision: startxref, a number, %%EOF.
type marker struct {
	target   int64
	eof, end int64
}

// marker reads the marker at an offset.
func (d *Document) marker(off int64) (m marker, ok bool) {
	buf, err := d.read(off, 128)
	if err != nil {
		return m, false
	}
	l := lexer{buf: buf, pos: len("startxref"), last: true}
	for l.pos < len(buf) && class[buf[l.pos]] == classSpace {
		l.pos++
	}
	w, _ := l.word()
	if m.target, ok = parseUint(w); !ok {
		return m, false
	}
	for l.pos < len(buf) && class[buf[l.pos]] == classSpace {
		l.pos++
	}
	if rest := buf[l.pos:]; bytes.HasPrefix(rest, []byte("%%EOF")) {
		m.eof = off + int64(l.pos) + 5
		m.end = m.eof + int64(lineEnd(rest[5:]))
	}
	return m, true
}

func lineEnd(b []byte) int {
	switch {
	case len(b) > 1 && b[0] == '\r' && b[1] == '\n':
		return 2
	case len(b) > 0 && (b[0] == '\n' || b[0] == '\r'):
		return 1
	}
	return 0
}

// follow reads the sections from the newest to the oldest.
func (d *Document) follow(off int64) error {
	seen := make(map[int64]bool)
	hybrids := make(map[int64]*section)
	total := 0
	for off != 0 {
		if seen[off] {
			return errMalformed(sectionName(off), "the chain of Prev entries is a loop")
		}
		if len(seen) >= limits.PDFSections {
			return errMalformed(sectionName(off), "more than %d sections", limits.PDFSections)
		}
		seen[off] = true
		s, err := d.section(off)
		if err == nil {
			err = d.joinHybrid(s, hybrids)
		}
		if err != nil {
			return wrapMalformed(sectionName(off), err)
		}
		total += s.count() + s.hybrid.count() // also if it is shared: it is traversed again
		if total > limits.PDFObjects {
			return errMalformed(sectionName(off), "more than %d objects", limits.PDFObjects)
		}
		d.sections = append(d.sections, s)
		prev, err := prevOf(s.trailer)
		if err != nil {
			return wrapMalformed(sectionName(off), err)
		}
		off = prev
	}
	return nil
}

func sectionName(off int64) string { return fmt.Sprintf("xref at %d", off) }

func prevOf(trailer *Dict) (int64, error) {
	switch p := trailer.Get("Prev").(type) {
	case nil:
		return 0, nil
	case Integer:
		if p < 0 {
			return 0, fmt.Errorf("negative Prev %d", p)
		}
		return int64(p), nil
	case Real:
		return int64(p.Float()), nil
	}
	return 0, errors.New("no number in Prev")
}

// joinHybrid reads the stream beside a table, once if several tables name it.
func (d *Document) joinHybrid(s *section, known map[int64]*section) error {
	at, ok := s.trailer.Get("XRefStm").(Integer)
	if !ok || s.stream {
		return nil
	}
	if s.hybrid = known[int64(at)]; s.hybrid != nil {
		return nil
	}
	h, err := d.section(int64(at))
	if err != nil {
		return fmt.Errorf("XRefStm: %w", err)
	}
	if !h.stream {
		return fmt.Errorf("XRefStm %d is no stream", at)
	}
	s.hybrid, known[int64(at)] = h, h
	return nil
}

// group finds where the revision of each section ends. The two sections of a linearised file are
// one revision: the first is near the beginning and is the one that the marker at the end points
// to.
func (d *Document) group() {
	d.revisions = d.revisions[:0]
	for i := len(d.sections) - 1; i >= 0; i-- {
		s := d.sections[i]
		m := d.markerAfter(s)
		r := Revision{XRef: s.offset, EOF: m.eof, End: m.end, first: i, count: 1}
		if i > 0 && m.target == d.sections[i-1].offset && d.sections[i-1].offset < s.offset {
			r.XRef, r.first, r.count = d.sections[i-1].offset, i-1, 2
			i--
		}
		r.Number = len(d.revisions) + 1
		d.revisions = append(d.revisions, r)
	}
}

// markerAfter finds the marker that follows a section.
func (d *Document) markerAfter(s *section) marker {
	buf, err := d.read(s.end, 1024)
	if err != nil {
		return marker{}
	}
	at := s.end
	i := bytes.Index(buf, []byte("startxref"))
	if i < 0 { // linearised files have long padding there
		end := bytes.LastIndexFunc(buf, func(r rune) bool { return r > 0xff || class[byte(r)] != classSpace })
		if at += int64(end + 1); end == len(buf)-1 {
			return marker{}
		}
		if buf, err = d.read(at, 64<<10); err != nil {
			return marker{}
		}
		if i = len(buf) - len(bytes.TrimLeft(buf, "\x00\t\n\f\r ")); !bytes.HasPrefix(buf[i:], []byte("startxref")) {
			return marker{}
		}
	}
	m, _ := d.marker(at + int64(i))
	return m
}

// Revisions lists the revisions from the oldest to the newest.
func (d *Document) Revisions() []Revision { return d.revisions }

// At opens the document as of revision n. The result is cached. It shares the parsed structure, not
// the objects.
func (d *Document) At(n int) (*Document, error) {
	if n < 1 || n > len(d.revisions) {
		return nil, fmt.Errorf("revision %d of %d", n, len(d.revisions))
	}
	if c := d.earlier[n]; c != nil {
		return c, nil
	}
	r := d.revisions[n-1]
	c := &Document{
		src: d.src, base: d.base, size: d.size, repaired: d.repaired,
		sections: d.sections[r.first:], revisions: slices.Clone(d.revisions[:n]), startxref: r.XRef,
		crypt: d.crypt, cache: make(map[int]Object), work: d.work,
	}
	for i := range c.revisions {
		c.revisions[i].first -= r.first // the sections of later ones are removed
	}
	c.trailer = c.sections[0].trailer
	if r.End > 0 {
		c.size = 0
		for _, before := range c.revisions { // some are in another order
			c.size = max(c.size, before.End)
		}
	}
	if d.earlier == nil || len(d.earlier) > mostEarlier {
		d.earlier = make(map[int]*Document)
	}
	d.earlier[n] = c
	return c, nil
}

// mostEarlier bounds the earlier revisions that a document keeps open.
const mostEarlier = 64

// Definition is the definition of an object in a revision.
type Definition struct {
	Ref    Ref
	Free   bool
	Offset int64 // of the object in the file; 0 when it is in an object stream
	Stream int   // number of the object stream that holds it, or 0
}

func definition(num int, e entry) Definition {
	switch e.kind {
	case entryInFile:
		return Definition{Ref: Ref{num, int(e.gen)}, Offset: e.offset}
	case entryInStream:
		return Definition{Ref: Ref{Num: num}, Stream: int(e.offset)}
	}
	return Definition{Ref: Ref{num, int(e.gen)}, Free: true}
}

// Where returns where an object is currently defined; ok is false if it is not.
func (d *Document) Where(num int) (Definition, bool) {
	e, ok := d.lookup(num)
	return definition(num, e), ok && e.kind != entryFree
}

// DefinedIn is the number of the newest revision that defines an object, or 0.
func (d *Document) DefinedIn(num int) int {
	for n := len(d.revisions); n > 0; n-- {
		r := d.revisions[n-1]
		for _, s := range d.sections[r.first : r.first+r.count] {
			if _, ok := s.lookup(num); ok {
				return n
			}
		}
	}
	return 0
}

// Blank reports whether a range of the file is only white space.
func (d *Document) Blank(from, to int64) bool {
	for from < to {
		buf, err := d.read(from, int(min(to-from, 64<<10)))
		if err != nil || len(buf) == 0 {
			return false
		}
		for _, c := range buf {
			if class[c] != classSpace {
				return false
			}
		}
		from += int64(len(buf))
	}
	return true
}
