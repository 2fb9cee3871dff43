package pdf

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
)

// state is the entry of an object number in a revision.
type state struct {
	num   int32
	rev   int32
	entry entry
}

// entryCost is the memory of the audit for each entry: a place and a state.
const entryCost = 64

// index lists the entries of all sections, by place and by number.
func (a *auditor) index() error {
	n := 0
	for _, s := range a.doc.sections {
		n += s.count() + s.hybrid.count()
	}
	if err := a.spend(int64(n) * entryCost); err != nil {
		return err
	}
	a.states = make([]state, 0, n)
	a.places = make([]place, 0, n+2*len(a.doc.sections))
	for i, r := range a.doc.revisions {
		for _, s := range a.doc.sections[r.first : r.first+r.count] {
			for _, part := range []*section{s, s.hybrid} {
				if part == nil {
					continue
				}
				if part.stream {
					a.places = append(a.places, place{part.offset, int32(part.ref.Num), int32(part.ref.Gen), int32(i + 1), nil, true, 0})
				} else {
					a.places = append(a.places, place{offset: part.offset, rev: int32(i + 1), table: part})
				}
				a.entries(s, part, i+1)
			}
		}
	}
	slices.SortStableFunc(a.places, func(x, y place) int { return cmp.Compare(x.offset, y.offset) })
	slices.SortStableFunc(a.states, func(x, y state) int {
		if d := cmp.Compare(x.num, y.num); d != 0 {
			return d
		}
		return cmp.Compare(x.rev, y.rev)
	})
	return nil
}

// entries adds the effective entries of a table or stream: what a hybrid file's table hides is in
// its stream.
func (a *auditor) entries(s, part *section, rev int) {
	for _, run := range part.runs {
		for k, e := range run.entries {
			num := run.first + k
			if e.kind == entryInFile {
				a.places = append(a.places, place{offset: e.offset, num: int32(num), gen: int32(e.gen), rev: int32(rev), by: part.offset})
			}
			if s.hybrid != nil {
				if got, _ := s.lookup(num); got != e {
					continue
				}
			}
			a.states = append(a.states, state{int32(num), int32(rev), e})
		}
	}
}

// statesOf lists the states of a number, oldest first.
func (a *auditor) statesOf(num int) []state {
	from, _ := slices.BinarySearchFunc(a.states, int32(num), func(s state, n int32) int { return int(s.num) - int(n) })
	to := from
	for to < len(a.states) && int(a.states[to].num) == num {
		to++
	}
	return a.states[from:to]
}

// inForce is the entry that applies in a revision; ok is false if there is none yet.
func inForce(states []state, rev int) (e entry, ok bool) {
	for _, s := range states {
		if int(s.rev) > rev {
			break
		}
		e, ok = s.entry, true
	}
	return e, ok
}

// replaced is the first revision after rev that changes the entry of a number, or one past the
// last.
func (a *auditor) replaced(num, rev int) int {
	var own entry
	for _, s := range a.statesOf(num) {
		if int(s.rev) == rev {
			own = s.entry
		}
		if int(s.rev) > rev && s.entry != own {
			return int(s.rev)
		}
	}
	return a.last + 1
}

// as returns the document as of a revision.
func (a *auditor) as(rev int) (*Document, error) {
	if rev == a.last {
		return a.doc, nil
	}
	return a.doc.At(rev)
}

// reference checks what an object refers to, in all revisions that contain the reference: the
// target may not appear or disappear while the reference exists, and its generation must be the one
// referred to. Readers differ in whether a freed object, or one of another generation, is null.
func (a *auditor) reference(r Ref) error {
	states := a.statesOf(r.Num)
	if len(states) == 1 && states[0].rev <= a.from.rev && states[0].entry.kind == entryInFile && int(states[0].entry.gen) == r.Gen {
		return nil // by far the most frequent case
	}
	from, until := int(a.from.rev), a.until
	used := 0 // the revision since which the target is in use
	for i := -1; i < len(states); i++ {
		begin, end := 1, a.last+1
		free := true
		var e entry
		if i >= 0 {
			e, begin = states[i].entry, int(states[i].rev)
			free = e.kind == entryFree
		}
		if i+1 < len(states) {
			end = int(states[i+1].rev)
		}
		lo, hi := max(begin, from), min(end, until) // where both apply
		switch {
		case !free:
			if used == 0 {
				used = begin
			}
			gen := 0
			if e.kind == entryInFile {
				gen = int(e.gen)
			}
			if gen != r.Gen && lo < hi && a.reachable(int(a.from.num), lo) {
				a.note(max(from, begin), hi-1, placeName(a.from), slipGeneration, r, gen)
			}
		case lo >= hi:
		case used > 0 && begin > 1 && from < begin:
			if a.reachable(int(a.from.num), begin) {
				a.note(begin, begin-1, placeName(a.from), slipTaken, r.Num, begin)
			}
		default:
			if fill := filled(states[i+1:]); fill > 0 && a.reachable(int(a.from.num), lo) {
				a.note(fill, min(hi, fill)-1, placeName(a.from), slipFilled, r.Num, fill)
			}
		}
		if free {
			used = 0
		}
	}
	return nil
}

// filled is the first revision in which the object is in use.
func filled(states []state) int {
	for _, s := range states {
		if s.entry.kind != entryFree {
			return int(s.rev)
		}
	}
	return 0
}

// reachable reports whether an object can be reached from the trailer of a revision: unreferenced
// objects are not displayed.
func (a *auditor) reachable(num, rev int) bool {
	if a.reached == nil {
		a.reached = map[int]map[int]bool{}
	}
	set, ok := a.reached[rev]
	if !ok {
		d, err := a.as(rev)
		if err != nil {
			return true
		}
		set = map[int]bool{}
		if !reach(d, d.trailer, set) {
			set = nil // it cannot be determined
		}
		if len(a.reached) > 16 {
			clear(a.reached)
		}
		a.reached[rev] = set
	}
	return set == nil || set[num]
}

// reach collects the numbers of all reachable objects. It is false if one of them cannot be read.
func reach(d *Document, from Object, set map[int]bool) bool {
	todo := []Object{from}
	for len(todo) > 0 {
		o := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		switch x := o.(type) {
		case Ref:
			if set[x.Num] {
				continue
			}
			if len(set) > limits.PDFFields {
				return false
			}
			set[x.Num] = true
			target, err := d.Get(x)
			if err != nil {
				return false
			}
			todo = append(todo, target)
		case Array:
			todo = append(todo, x...)
		case *Stream:
			todo = append(todo, x.Dict)
		case *Dict:
			for _, e := range x.Entries {
				todo = append(todo, e.Value)
			}
		}
	}
	return true
}

// objectStream reads the objects in an object stream (ISO 32000-2, 7.5.7): each is in the tables of
// the same revision once, and they are contiguous.
func (a *auditor) objectStream(p place) error {
	d, err := a.as(int(p.rev))
	if err != nil {
		return err
	}
	ref := Ref{int(p.num), int(p.gen)}
	o, err := d.indirect(p.offset, ref)
	if err == nil {
		st, ok := o.(*Stream)
		if !ok {
			return slip(slipPackNoData)
		}
		var os *objectStream
		if os, _, err = d.keptObjectStream(st); err == nil {
			return a.contents(p, os)
		}
	}
	if errors.Is(err, ades.ErrPassword) || errors.Is(err, limits.ErrBudget) || a.ctx.Err() != nil {
		return err
	}
	return slip(slipPackUnread, err)
}

func (a *auditor) contents(p place, os *objectStream) error {
	if os.odd != "" {
		return slip(slipPackCoding, os.odd)
	}
	own := a.own(p)
	if len(os.index) != len(os.numbers) {
		own(slipPackTwice)
	}
	for _, c := range os.data[os.headEnd:os.first] {
		if class[c] != classSpace {
			own(slipPackMore)
			break
		}
	}
	if err := a.spend(4 * int64(len(os.numbers))); err != nil {
		return err
	}
	numbers := make([]int32, len(os.numbers))
	for i, num := range os.numbers {
		numbers[i] = int32(num)
	}
	a.packed[p.offset] = numbers
	num := 0
	s := &skimmer{ref: a.reference}
	s.soft = func(k *Kind, values ...any) {
		a.noteOf(num, int(p.rev), a.last, fmt.Sprintf("object %d in object stream %d", num, p.num), k, values...)
	}
	for i := range os.numbers {
		num = os.numbers[i]
		states := a.statesOf(num)
		e, _ := inForce(states, int(p.rev))
		if !slices.ContainsFunc(states, func(s state) bool { return s.rev == p.rev }) {
			a.note(int(p.rev), a.last, placeName(p), slipPackExtra, num)
			continue
		}
		if e.kind != entryInStream || e.offset != int64(p.num) || int(e.gen) != i {
			a.note(int(p.rev), a.last, placeName(p), slipPackElse, num)
			continue
		}
		end := len(os.data) - os.first
		if i+1 < len(os.offsets) {
			end = os.offsets[i+1]
		}
		if os.offsets[i] >= end || os.first+end > len(os.data) {
			own(slipPackOrder)
			if end = len(os.data) - os.first; os.offsets[i] >= end {
				continue
			}
		}
		s.reset(os.data[os.first+os.offsets[i]:os.first+end], -1, true)
		a.from = place{num: int32(num), rev: p.rev}
		a.until = a.replaced(num, int(p.rev))
		err := s.value()
		if s.space(); err == nil && s.pos < len(s.buf) {
			err = slip(slipPackTail)
		}
		if s.wide && err == nil {
			err = slip(slipNumber)
		}
		if f := slipOf(err); f != nil {
			s.soft(f.kind, f.values...)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// encryption checks that all revisions have the same encryption: adding, removing or changing it
// would turn the signed bytes into other content.
func (a *auditor) encryption() error {
	now := a.doc.trailer.Get("Encrypt")
	for i, r := range a.doc.revisions[1:] {
		then := a.doc.sections[a.doc.revisions[i].first].trailer.Get("Encrypt")
		if is := a.doc.sections[r.first].trailer.Get("Encrypt"); !Equal(then, is) {
			a.note(r.Number, a.last, sectionName(r.XRef), slipEncrypt)
		}
	}
	ref, ok := now.(Ref)
	if states := a.statesOf(ref.Num); ok && len(states) > 0 {
		if rev := a.replaced(ref.Num, int(states[0].rev)); rev <= a.last {
			a.note(rev, a.last, "object "+ref.String(), slipEncryptDict)
		}
	}
	return nil
}

// packedEntries compares the tables with the object streams they name. A stream may not be replaced
// while objects in it are in use.
func (a *auditor) packedEntries() error {
	in := -1
	var holder []state // of the stream looked up last, since neighbours share it
	for i := range a.states {
		s := &a.states[i]
		if s.entry.kind != entryInStream {
			continue
		}
		if in != int(s.entry.offset) {
			in = int(s.entry.offset)
			holder = a.statesOf(in)
		}
		var k *Kind
		rev := int(s.rev)
		e, ok := inForce(holder, int(s.rev))
		numbers := a.packed[e.offset]
		switch {
		case !ok || e.kind != entryInFile:
			k = slipPackMissing
		case int(s.entry.gen) >= len(numbers) || numbers[s.entry.gen] != s.num:
			k = slipPackNot
		default:
			until := a.last + 1
			if i+1 < len(a.states) && a.states[i+1].num == s.num { // repeated by a later revision
				until = a.replaced(int(s.num), int(s.rev))
			}
			if now, _ := inForce(holder, until-1); now != e {
				k, rev = slipPackAnew, a.replaced(in, rev)
			}
		}
		if k != nil {
			a.noteOf(int(s.num), rev, a.last, fmt.Sprintf("object %d", s.num), k, in)
		}
	}
	return nil
}
