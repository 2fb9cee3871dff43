package pdf

import "maps"

// Audited is what an audit without findings leaves for that of the same file
// with updates behind it, such as a signature: its bytes are the same, so that
// only the updates are read, and what they do to the rest is told by what the
// rest depends on.
type Audited struct {
	size, startxref int64
	revisions       int
	end             int64 // of its last object or table
	stated          int64 // length that a linearisation states; 0: none
	// depends are numbers of objects that are referred to and not there, or not
	// with that generation, and those of lengths of streams: what an update says
	// of them changes the meaning of what refers to them.
	depends map[int]bool
	packed  map[int64][]int32
	kept    int // numbers in packed
	// sections are those of its cross-reference chain, which are not read again.
	// Documents share them, and none changes them.
	sections []*section
}

// maxAudited bounds what is kept of one audit, in numbers of objects;
// maxSections what is kept of its sections, in entries.
const (
	maxAudited  = 4096
	maxSections = 4 * maxAudited
)

// section is the one at an offset, nil where it is not known.
func (k *Audited) section(off int64) *section {
	if k != nil {
		for _, s := range k.sections {
			if s.offset == off {
				return s
			}
		}
	}
	return nil
}

// Audited is what Audit leaves where it found none; else nil.
func (d *Document) Audited() *Audited { return d.audited }

// goOn takes over what is known of the document that this one begins with.
func (a *auditor) goOn() {
	k := a.doc.audited
	a.doc.audited = nil
	if k != nil && a.doc.repaired == nil && k.updates(a.doc) {
		a.before, a.depends, a.packed = k, maps.Clone(k.depends), maps.Clone(k.packed)
	}
}

// begin is where the layout is to be read from.
func (a *auditor) begin() int64 {
	if a.before == nil {
		return 0
	}
	return a.before.end
}

// depend notes that what was read depends on what the tables say of a number.
func (a *auditor) depend(num int) {
	if a.depends == nil {
		a.depends = map[int]bool{}
	}
	if len(a.depends) <= maxAudited {
		a.depends[num] = true
	}
}

// audited is what a search that came to its end leaves.
func (a *auditor) audited() *Audited {
	d := a.doc
	out := &Audited{size: d.size, startxref: d.startxref, revisions: len(d.revisions), end: a.end, stated: a.stated, depends: a.depends, packed: a.packed}
	for _, numbers := range a.packed {
		out.kept += len(numbers)
	}
	if len(a.out) > 0 || d.base > 0 || len(a.depends)+out.kept > maxAudited {
		return nil
	}
	if len(a.states) <= maxSections {
		out.sections = d.sections
	}
	return out
}

// updates says whether the document is one that was audited with updates behind
// it that leave everything in it as it was: they define objects that are new, or
// in the place of others, and in their own bytes.
func (k *Audited) updates(d *Document) bool {
	n := len(d.revisions) - k.revisions
	if n < 1 || d.base > 0 || d.size <= k.size {
		return false
	}
	before := d.sections[d.revisions[k.revisions-1].first:]
	if before[0].offset != k.startxref {
		return false
	}
	for _, s := range d.sections[:len(d.sections)-len(before)] {
		if s.offset < k.size || s.hybrid != nil {
			return false
		}
		for _, r := range s.runs {
			for i, e := range r.entries {
				if !k.leaves(before, r.first+i, e) {
					return false
				}
			}
		}
	}
	return true
}

// leaves says whether an entry of an update leaves what stands before it as it
// was.
func (k *Audited) leaves(before []*section, num int, e entry) bool {
	was, known := lookup(before, num)
	switch {
	case k.depends[num]:
		return false
	case e.kind == entryFree:
		return num == 0 && was.kind == entryFree // the head of the free list
	case e.kind != entryInFile || e.offset < k.size:
		return false
	case !known || was.kind == entryFree:
		return true
	case was.kind == entryInStream:
		return e.gen == 0
	}
	return e.gen == was.gen
}
