package pdf

import (
	"errors"
	"fmt"

	"rogito.dev/rogito/internal/limits"
)

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
	d.work.most = 2*maxWidth*d.maxEntries() + 64<<10
	data, odd, err := d.decode(st, nil)
	d.work.most = 0
	if err != nil {
		return nil, err
	}
	s := &section{offset: off, end: st.span.End, stream: true, trailer: st.Dict, ref: st.ref}
	if odd = odder(odd, oddSection(st.Dict)); odd != "" {
		s.flaw(slipTableCoding, odd)
	}
	if s.runs, err = d.streamRuns(s, data); err != nil {
		return nil, fmt.Errorf("cross-reference stream at %d: %w", off, err)
	}
	return s, nil
}

// maxWidth is the longest entry of a cross-reference stream in practice; each of its fields may
// have eight bytes.
const maxWidth = 24

// maxEntries bounds the entries of all sections.
func (d *Document) maxEntries() int64 { return limits.PDFEntries + d.size/limits.PDFEntryBytes }

// entries accounts for entries of a section, which are kept in memory.
func (d *Document) entries(n int) error {
	if d.entered += int64(n); d.entered > d.maxEntries() {
		return fmt.Errorf("more than %d entries in a file of %d bytes", d.maxEntries(), d.size)
	}
	return d.work.budget.Spend(int64(n) * entrySize)
}

// entrySize is the memory for an entry.
const entrySize = 16

func (d *Document) streamRuns(s *section, data []byte) ([]run, error) {
	dict := s.trailer
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
			return nil, errors.New("index out of bounds")
		}
		n := min(int(count), len(data)/width) // a Size that is too large is common
		if n < int(count) {
			s.flaw(slipTableShort)
		}
		if err := d.entries(n); err != nil {
			return nil, err
		}
		r := run{first: int(first), entries: make([]entry, n)}
		for k := range r.entries {
			var known bool
			if r.entries[k], known = fieldEntry(data[:width], w); !known {
				s.flaw(slipRowUnknown, r.first+k)
			}
			data = data[width:]
		}
		if n > 0 {
			runs = append(runs, r)
		}
	}
	if len(data) > 0 {
		s.flaw(slipTableLong)
	}
	return runs, nil
}

func fieldWidths(dict *Dict) (w [3]int, err error) {
	a, _ := dict.Get("W").(Array)
	if len(a) < 3 {
		return w, errors.New("field widths missing")
	}
	for i := range w {
		n, ok := a[i].(Integer)
		if !ok || n < 0 || n > 8 {
			return w, fmt.Errorf("field width %v out of bounds", a[i])
		}
		w[i] = int(n)
	}
	if w[1] == 0 {
		return w, errors.New("field width 0 for offsets")
	}
	return w, nil
}

func fieldEntry(b []byte, w [3]int) (e entry, known bool) {
	kind := uint64(1)
	if w[0] > 0 {
		kind = bigEndian(b[:w[0]])
	}
	f2, f3 := bigEndian(b[w[0]:w[0]+w[1]]), bigEndian(b[w[0]+w[1]:])
	e = entry{offset: int64(f2 & (1<<62 - 1)), gen: uint32(f3)}
	switch kind {
	case 1:
		e.kind = entryInFile
	case 2:
		e.kind = entryInStream
	default: // 0 is free, anything else is null
		e.offset = 0
	}
	return e, kind <= 2 && (kind == 0 || f2 < 1<<40 && f3 < 1<<31)
}

func bigEndian(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}
