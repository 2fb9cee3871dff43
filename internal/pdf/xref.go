package pdf

import (
	"bytes"
	"fmt"
	"slices"
	"sort"

	"rogito.dev/rogito/internal/limits"
)

type entryKind uint8

const (
	entryFree entryKind = iota
	entryInFile
	entryInStream
)

// entry is one line of a cross-reference section.
type entry struct {
	offset int64  // or the number of the object stream
	gen    uint32 // or the index in it
	kind   entryKind
}

// run is a range of consecutive object numbers.
type run struct {
	first   int
	entries []entry
}

// section is one cross-reference table or stream.
type section struct {
	offset  int64
	end     int64 // after its trailer dictionary or its endobj
	stream  bool
	trailer *Dict
	runs    []run // sorted, without overlap
	hybrid  *section
	ref     Ref // of a cross-reference stream

	trailerAt int64 // where the lines of a table end
	flaws     []skimError
	firstRows []run // if numbers are repeated: the first row of each
}

// flaw records a slip, each kind once.
func (s *section) flaw(k *Kind, values ...any) {
	if !slices.ContainsFunc(s.flaws, func(f skimError) bool { return f.kind == k }) {
		s.flaws = append(s.flaws, skimError{k, values})
	}
}

func (s *section) find(num int) (entry, bool) {
	i := sort.Search(len(s.runs), func(i int) bool { return s.runs[i].first > num }) - 1
	if i >= 0 && num-s.runs[i].first < len(s.runs[i].entries) {
		return s.runs[i].entries[num-s.runs[i].first], true
	}
	return entry{}, false
}

// lookup finds an object in one section: objects that a hybrid file hides from old readers are free
// in its table and defined in its stream.
func (s *section) lookup(num int) (entry, bool) {
	e, ok := s.find(num)
	if s.hybrid == nil || ok && e.kind != entryFree {
		return e, ok
	}
	if h, found := s.hybrid.find(num); found {
		return h, true
	}
	return e, ok
}

func (s *section) count() int {
	if s == nil {
		return 0
	}
	n := 0
	for _, r := range s.runs {
		n += len(r.entries)
	}
	return n
}

func (d *Document) lookup(num int) (entry, bool) {
	d.work.lookups += int64(len(d.sections))
	return lookup(d.sections, num)
}

func lookup(newestFirst []*section, num int) (entry, bool) {
	for _, s := range newestFirst {
		if e, ok := s.lookup(num); ok {
			return e, true
		}
	}
	return entry{}, false
}

// maxOverlap bounds the work for a section that defines numbers twice.
const maxOverlap = 1 << 20

// normalise sorts the runs; if a number is defined twice the later row wins.
func (s *section) normalise() error {
	if disjoint(s.runs) {
		return nil
	}
	sorted := slices.Clone(s.runs)
	slices.SortStableFunc(sorted, func(a, b run) int { return a.first - b.first })
	if disjoint(sorted) {
		s.runs = sorted
		return nil
	}
	if s.count() > maxOverlap {
		return fmt.Errorf("xref at %d defines objects twice", s.offset)
	}
	all, first := make(map[int]entry), make(map[int]entry)
	for _, r := range s.runs {
		for i, e := range r.entries {
			if was, twice := all[r.first+i]; !twice {
				first[r.first+i] = e
			} else if was != e {
				s.flaw(slipRowTwice, r.first+i)
			}
			all[r.first+i] = e
		}
	}
	if s.runs = runsOf(all); len(s.flaws) > 0 {
		s.firstRows = runsOf(first)
	}
	return nil
}

// disjoint reports whether runs are in order and do not overlap.
func disjoint(runs []run) bool {
	for i := 1; i < len(runs); i++ {
		if prev := runs[i-1]; prev.first+len(prev.entries) > runs[i].first {
			return false
		}
	}
	return true
}

func runsOf(all map[int]entry) []run {
	list := make(numbered, 0, len(all))
	for n, e := range all {
		list.add(n, e)
	}
	return list.runs()
}

// numbered is a list of entries with their object numbers, each once.
type numbered []numberedEntry

type numberedEntry struct {
	num   int
	entry entry
}

func (n *numbered) add(num int, e entry) { *n = append(*n, numberedEntry{num, e}) }

// runs groups the entries by consecutive numbers.
func (n numbered) runs() []run {
	slices.SortFunc(n, func(a, b numberedEntry) int { return a.num - b.num })
	var out []run
	entries := make([]entry, 0, len(n))
	for _, x := range n {
		entries = append(entries, x.entry)
		if k := len(out) - 1; k >= 0 && out[k].first+len(out[k].entries) == x.num {
			out[k].entries = out[k].entries[:len(out[k].entries)+1] // they share one array
			continue
		}
		out = append(out, run{x.num, entries[len(entries)-1:]})
	}
	return out
}

// section reads the cross-reference section at an offset, of either kind.
func (d *Document) section(off int64) (*section, error) {
	if off <= 0 || off >= d.size {
		return nil, fmt.Errorf("offset %d is outside the file", off)
	}
	table := false
	err := d.parse(off, func(p *parser) error {
		c, err := p.peek()
		table = c == 'x'
		return err
	})
	if err != nil {
		return nil, err
	}
	var s *section
	if table {
		s, err = d.table(off)
	} else {
		s, err = d.xrefStream(off)
	}
	if err != nil {
		return nil, err
	}
	return s, s.normalise()
}

// tableReader reads a classic cross-reference table.
type tableReader struct {
	doc   *Document
	at    int64
	total int
}

func (r *tableReader) step(f func(*parser) error) error {
	return r.doc.parse(r.at, func(p *parser) error {
		if err := f(p); err != nil {
			return err
		}
		r.at += int64(p.pos)
		return nil
	})
}

// table reads a classic cross-reference table with its trailer.
func (d *Document) table(off int64) (*section, error) {
	s := &section{offset: off}
	r := &tableReader{doc: d, at: off}
	if err := r.step(func(p *parser) error { return p.keyword("xref") }); err != nil {
		return nil, err
	}
	for {
		first, count, more, err := r.head()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		if err := d.entries(count); err != nil {
			return nil, err
		}
		lines, next, err := d.subsection(s, r.at, first, count)
		if err != nil {
			return nil, err
		}
		r.at = next
		if count > 0 {
			s.runs = append(s.runs, lines)
		}
	}
	s.trailerAt = r.at
	err := r.step(func(p *parser) error { return p.trailer(s) })
	s.end = r.at
	return s, err
}

// head reads the two numbers of a subsection; more is false at the trailer.
func (r *tableReader) head() (first, count int, more bool, err error) {
	var f, n int64
	err = r.step(func(p *parser) (err error) {
		c, err := p.peek()
		if more = c != 't'; err != nil || !more {
			return err
		}
		if f, err = p.integer(); err != nil {
			return err
		}
		if n, err = p.integer(); err != nil {
			return err
		}
		p.space()
		return nil
	})
	if err != nil || !more {
		return 0, 0, more, err
	}
	r.total += int(min(n, limits.PDFObjects))
	if f > limits.PDFObjects || n > limits.PDFObjects || r.total > limits.PDFObjects || n*18 > r.doc.size-r.at {
		return 0, 0, more, fmt.Errorf("offset %d: subsection %d %d out of bounds", r.at, f, n)
	}
	return int(f), int(n), more, nil
}

// trailer parses the dictionary behind a table.
func (p *parser) trailer(s *section) error {
	if err := p.keyword("trailer"); err != nil {
		return err
	}
	o, err := p.object()
	if err != nil {
		return err
	}
	var ok bool
	if s.trailer, ok = o.(*Dict); !ok {
		return p.errorf("trailer is no dictionary")
	}
	return nil
}

// subsection reads the rows of a table, most of which have the regular form of twenty bytes.
func (d *Document) subsection(s *section, at int64, first, count int) (run, int64, error) {
	r := run{first: first, entries: make([]entry, 0, count)}
	const chunk = 2048
	for len(r.entries) < count {
		n := min(chunk, count-len(r.entries))
		buf, err := d.read(at, n*20)
		if err != nil {
			return r, 0, err
		}
		for len(buf) >= 20 {
			e, ok := regularLine(buf[:20])
			if !ok {
				break
			}
			r.entries = append(r.entries, e)
			buf = buf[20:]
			at += 20
			n--
		}
		if n == 0 {
			continue
		}
		e, next, err := d.oddLine(at)
		if err != nil {
			return r, 0, err
		}
		s.flaw(slipLines)
		r.entries = append(r.entries, e)
		at = next
	}
	// A common slip: the table starts at 1 although its first row is the head of the free list.
	if first == 1 && count > 0 && r.entries[0].kind == entryFree && r.entries[0].gen == 65535 {
		r.first = 0
		s.flaw(slipFromOne)
	}
	return r, at, nil
}

func regularLine(b []byte) (entry, bool) {
	if b[10] != ' ' || b[16] != ' ' || class[b[18]] != classSpace || class[b[19]] != classSpace {
		return entry{}, false
	}
	off, ok1 := parseUint(b[:10])
	gen, ok2 := parseUint(b[11:16])
	if !ok1 || !ok2 {
		return entry{}, false
	}
	return lineEntry(off, gen, b[17])
}

func lineEntry(off, gen int64, kind byte) (entry, bool) {
	switch kind {
	case 'n':
		if off == 0 { // seen in the wild; there can be no object
			return entry{}, true
		}
		return entry{offset: off, gen: uint32(gen), kind: entryInFile}, true
	case 'f':
		return entry{gen: uint32(gen)}, true
	}
	return entry{}, false
}

// oddLine reads a row with non-standard white space.
func (d *Document) oddLine(at int64) (e entry, next int64, err error) {
	err = d.parse(at, func(p *parser) error {
		off, err := p.integer()
		if err != nil {
			return err
		}
		gen, err := p.integer()
		if err != nil {
			return err
		}
		w, err := p.nextWord()
		if err != nil {
			return err
		}
		var ok bool
		if len(w) == 1 && gen <= 65535 {
			e, ok = lineEntry(off, gen, w[0])
		}
		if !ok {
			return p.errorf("cross-reference line expected, found %.20q", w)
		}
		p.space()
		next = at + int64(p.pos)
		return nil
	})
	return e, next, err
}

func indexHeader(head []byte) int { return bytes.Index(head, []byte("%PDF-")) }
