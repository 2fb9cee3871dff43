package pdf

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/limits"
)

// sections checks the chain of cross-reference sections itself.
func (a *auditor) sections() error {
	d := a.doc
	highest := 0 // highest number in use so far
	for _, r := range d.revisions {
		sections := d.sections[r.first : r.first+r.count]
		for k, s := range sections {
			a.section(r, r.first+k)
			highest = max(highest, s.highest(), s.hybrid.highest())
		}
		where := sectionName(r.XRef)
		if r.EOF == 0 {
			a.note(r.Number, r.Number, where, slipEOF)
		}
		if size, ok := sections[0].trailer.Get("Size").(Integer); ok && int64(size) <= int64(highest) && r.Number > 1 {
			a.note(r.Number, r.Number, where, slipSize, size, highest)
		}
	}
	return nil
}

// section checks one of them.
func (a *auditor) section(r Revision, i int) {
	d := a.doc
	s := d.sections[i]
	where := sectionName(s.offset)
	note := func(k *Kind, values ...any) { a.note(r.Number, a.last, where, k, values...) }
	for _, part := range []*section{s, s.hybrid} {
		if part == nil {
			continue
		}
		for _, f := range part.flaws {
			note(f.kind, f.values...)
		}
		a.beyondSize(note, part, s.trailer)
	}
	if s.hybrid != nil {
		a.hybrid(note, i)
	}
	if _, odd := s.trailer.Get("Prev").(Real); odd {
		note(slipPrev)
	}
	// Only the two sections of a linearised original may be in that order.
	linearised := d.revisions[0].count == 2 && d.revisions[0].first == i
	if i+1 < len(d.sections) && d.sections[i+1].offset >= s.offset && !linearised {
		note(slipPrevBehind)
	}
}

// highest is the largest object number in use in a section.
func (s *section) highest() int {
	if s == nil {
		return 0
	}
	for i := len(s.runs) - 1; i >= 0; i-- {
		for k := len(s.runs[i].entries) - 1; k >= 0; k-- {
			if s.runs[i].entries[k].kind != entryFree {
				return s.runs[i].first + k
			}
		}
	}
	return 0
}

// beyondSize: object numbers from Size on are undefined for some readers (ISO 32000-2, table 15).
func (a *auditor) beyondSize(note func(*Kind, ...any), s *section, trailer *Dict) {
	if s.stream {
		trailer = s.trailer
	}
	size, ok := trailer.Get("Size").(Integer)
	if !ok {
		note(slipSizeMissing)
		return
	}
	for _, r := range s.runs {
		for k, e := range r.entries {
			if num := r.first + k; e.kind != entryFree && int64(num) >= int64(size) {
				note(slipSize, size, num)
				return
			}
		}
	}
}

// hybrid compares a table with the stream beside it (ISO 32000-2, 7.5.8.4). All readers use the
// table if it has an object in use. Some take a free entry as final, although the stream defines
// the object. Some producers copy XRefStm from an earlier trailer, and the stream then hides the
// entries of the revisions between from some readers.
func (a *auditor) hybrid(note func(*Kind, ...any), i int) {
	d := a.doc
	s := d.sections[i]
	older := d.sections[i+1:]
	if d.work.lookups += int64(len(older)) * int64(s.hybrid.count()); d.work.lookups > limits.PDFLookups {
		note(slipHybrids)
		return
	}
	copied := i+1 < len(d.sections) && s.hybrid.offset < d.sections[i+1].end
	for _, r := range s.hybrid.runs {
		for k, e := range r.entries {
			num := r.first + k
			t, listed := s.find(num)
			if listed && t.kind != entryFree || e.kind == entryFree {
				continue
			}
			was, ok := lookup(older, num)
			if ok && was.kind != entryFree && (listed || copied && was != e) {
				note(slipHybrid, num)
				return
			}
		}
	}
	if h, t := s.hybrid.trailer.Get("Prev"), s.trailer.Get("Prev"); h != nil && !copied && !Equal(h, t) {
		note(slipHybridPrev)
	}
}

// linearised: as long as the file has the length that its linearisation dictionary states, poppler
// and pdf.js take the section behind the first endobj of the file for the newest, and pages from the
// hints. A first object that cannot be read may be such a dictionary to them.
func (a *auditor) linearised() error {
	const reach = 1024 // of both
	d := a.doc
	slipped := func(end int64) {
		a.out = append(a.out, Slip{Kind: slipLinearised, Values: []string{"the linearisation dictionary"}, End: end, Until: a.last})
	}
	var dict *Dict
	numbered := false
	err := d.parse(d.prefix-d.base, func(p *parser) error {
		c, err := p.peek()
		if numbered = err == nil && strings.IndexByte("+-.0123456789", c) >= 0; !numbered {
			return err
		}
		if _, err := p.header(); err != nil {
			return err
		}
		o, err := p.object()
		dict, _ = o.(*Dict)
		return err
	})
	switch {
	case interrupted(err) || errors.Is(err, limits.ErrBudget):
		return err
	case err != nil && numbered:
		slipped(a.bounds[0])
		return nil
	case dict == nil || !dict.Has("Linearized"):
		return nil
	}
	states := func(e Entry) bool {
		n, whole := e.Value.(Integer)
		return e.Key == "L" && (!whole || n == Integer(d.size) || n == Integer(d.src.Size()))
	}
	if !slices.ContainsFunc(dict.Entries, states) {
		return nil
	}
	head, err := a.window(0, reach)
	if err != nil {
		return err
	}
	at := bytes.Index(head, []byte("endobj"))
	l := lexer{buf: head, pos: at + len("endobj"), last: true}
	if at >= 0 {
		l.space()
	}
	if d.prefix != 0 || at < 0 || int64(l.pos) != d.startxref {
		slipped(d.size) // by whoever gave the file its length
	}
	return nil
}
