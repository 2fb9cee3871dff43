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

// run is a stretch of consecutive object numbers.
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
}

func (s *section) find(num int) (entry, bool) {
	i := sort.Search(len(s.runs), func(i int) bool { return s.runs[i].first > num }) - 1
	if i >= 0 && num-s.runs[i].first < len(s.runs[i].entries) {
		return s.runs[i].entries[num-s.runs[i].first], true
	}
	return entry{}, false
}

// lookup finds an object in one section: what a hybrid file hides from old
// readers is free in its table and defined in its stream.
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
	n := 0
	for _, r := range s.runs {
		n += len(r.entries)
	}
	return n
}

func (d *Document) lookup(num int) (entry, bool) {
	for _, s := range d.sections {
		if e, ok := s.lookup(num); ok {
			return e, true
		}
	}
	return entry{}, false
}

// maxOverlap bounds the work of untangling a section that defines numbers
// twice, which no honest producer writes.
const maxOverlap = 1 << 20

// normalise sorts the runs; where a section defines a number twice the later
// line counts.
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
	all := make(map[int]entry)
	for _, r := range s.runs {
		for i, e := range r.entries {
			all[r.first+i] = e
		}
	}
	s.runs = runsOf(all)
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
	nums := make([]int, 0, len(all))
	for n := range all {
		nums = append(nums, n)
	}
	sort.Ints(nums)
	var runs []run
	for _, n := range nums {
		if k := len(runs) - 1; k >= 0 && runs[k].first+len(runs[k].entries) == n {
			runs[k].entries = append(runs[k].entries, all[n])
			continue
		}
		runs = append(runs, run{n, []entry{all[n]}})
	}
	return runs
}

// section reads whatever cross-reference section stands at an offset.
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

// table reads a classic cross-reference table with its trailer.
func (d *Document) table(off int64) (*section, error) {
	s := &section{offset: off}
	at := off
	step := func(f func(*parser) error) error {
		return d.parse(at, func(p *parser) error {
			if err := f(p); err != nil {
				return err
			}
			at += int64(p.pos)
			return nil
		})
	}
	if err := step(func(p *parser) error { return p.keyword("xref") }); err != nil {
		return nil, err
	}
	total := 0
	for {
		var first, count int64
		trailer := false
		err := step(func(p *parser) (err error) {
			c, err := p.peek()
			if trailer = c == 't'; err != nil || trailer {
				return err
			}
			if first, err = p.integer(); err != nil {
				return err
			}
			if count, err = p.integer(); err != nil {
				return err
			}
			p.space()
			return nil
		})
		if err != nil {
			return nil, err
		}
		if trailer {
			break
		}
		total += int(min(count, limits.PDFObjects))
		if first > limits.PDFObjects || count > limits.PDFObjects || total > limits.PDFObjects || count*18 > d.size-at {
			return nil, fmt.Errorf("offset %d: subsection %d %d out of bounds", at, first, count)
		}
		r, next, err := d.subsection(at, int(first), int(count))
		if err != nil {
			return nil, err
		}
		at = next
		if count > 0 {
			s.runs = append(s.runs, r)
		}
	}
	err := step(func(p *parser) error {
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
	})
	s.end = at
	return s, err
}

// subsection reads the lines of a table, by far the most in the regular form
// of twenty bytes.
func (d *Document) subsection(at int64, first, count int) (run, int64, error) {
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
		r.entries = append(r.entries, e)
		at = next
	}
	// A common slip: the table starts at 1 although its first line is the head
	// of the free list.
	if first == 1 && count > 0 && r.entries[0].kind == entryFree && r.entries[0].gen == 65535 {
		r.first = 0
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
		if off == 0 { // seen in the wild; nothing can stand there
			return entry{}, true
		}
		return entry{offset: off, gen: uint32(gen), kind: entryInFile}, true
	case 'f':
		return entry{gen: uint32(gen)}, true
	}
	return entry{}, false
}

// oddLine reads a line with other white space than the standard's.
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
		if _, err = p.peek(); err != nil {
			return err
		}
		w, err := p.word()
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

// xrefStream reads a cross-reference stream.
func (d *Document) xrefStream(off int64) (*section, error) {
	o, err := d.indirect(off, Ref{})
	if err != nil {
		return nil, err
	}
	st, ok := o.(*Stream)
	if !ok || st.Dict.Get("Type") != Name("XRef") {
		return nil, fmt.Errorf("offset %d: neither a cross-reference table nor a stream", off)
	}
	data, err := d.decode(st, nil)
	if err != nil {
		return nil, err
	}
	s := &section{offset: off, end: st.span.End, stream: true, trailer: st.Dict, ref: st.ref}
	if s.runs, err = streamRuns(st.Dict, data); err != nil {
		return nil, fmt.Errorf("cross-reference stream at %d: %w", off, err)
	}
	return s, nil
}

func streamRuns(dict *Dict, data []byte) ([]run, error) {
	w, err := fieldWidths(dict)
	if err != nil {
		return nil, err
	}
	width := w[0] + w[1] + w[2]
	index, ok := dict.Get("Index").(Array)
	if !ok {
		index = Array{Integer(0), dict.Get("Size")}
	}
	var runs []run
	for i := 0; i+1 < len(index); i += 2 {
		first, ok1 := index[i].(Integer)
		count, ok2 := index[i+1].(Integer)
		if !ok1 || !ok2 || first < 0 || count < 0 || first > limits.PDFObjects || count > limits.PDFObjects {
			return nil, fmt.Errorf("index out of bounds")
		}
		n := min(int(count), len(data)/width) // a Size too large is common
		r := run{first: int(first), entries: make([]entry, n)}
		for k := range r.entries {
			r.entries[k] = fieldEntry(data[:width], w)
			data = data[width:]
		}
		if n > 0 {
			runs = append(runs, r)
		}
	}
	return runs, nil
}

func fieldWidths(dict *Dict) (w [3]int, err error) {
	a, _ := dict.Get("W").(Array)
	if len(a) < 3 {
		return w, fmt.Errorf("field widths missing")
	}
	for i := range w {
		n, ok := a[i].(Integer)
		if !ok || n < 0 || n > 8 {
			return w, fmt.Errorf("field width %v out of bounds", a[i])
		}
		w[i] = int(n)
	}
	if w[1] == 0 {
		return w, fmt.Errorf("field width 0 for offsets")
	}
	return w, nil
}

func fieldEntry(b []byte, w [3]int) entry {
	kind := uint64(1)
	if w[0] > 0 {
		kind = bigEndian(b[:w[0]])
	}
	f2, f3 := bigEndian(b[w[0]:w[0]+w[1]]), bigEndian(b[w[0]+w[1]:])
	e := entry{offset: int64(f2 & (1<<62 - 1)), gen: uint32(f3)}
	switch kind {
	case 1:
		e.kind = entryInFile
	case 2:
		e.kind = entryInStream
	default: // 0 is free, anything else is null
		e.offset = 0
	}
	return e
}

func bigEndian(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

func indexHeader(head []byte) int { return bytes.Index(head, []byte("%PDF-")) }
