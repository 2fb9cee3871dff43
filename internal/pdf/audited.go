package pdf

import "maps"

// Audited is the result of an audit without findings, for auditing the same file with appended
// updates, such as a signature: since its bytes are the same, only the updates are read, and their
// effect on the rest follows from what the rest depends on.
type Audited struct {
	size, startxref int64
	revisions       int
	end             int64 // of its last object or table
	stated          int64 // length stated by a linearisation dictionary; 0: none
	// depends are the numbers of objects that are referenced but missing, or have another
	// generation, and those of indirect stream lengths: an update of these changes the meaning of
	// what refers to them.
	depends map[int]bool
	packed  map[int64][]int32
	kept    int // number of objects in packed
	// sections are those of its cross-reference chain, so that they need not be read again.
	// Documents share them read-only.
	sections []*section
}

// maxAudited bounds what is kept of one audit, in object numbers; maxSections bounds its sections,
// in entries.
const (
	maxAudited  = 4096
	maxSections = 4 * maxAudited
)

// section is the one at an offset, or nil.
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

// Audited is the result of an Audit without findings, else nil.
func (d *Document) Audited() *Audited { return d.audited }

// resume uses what is known of the document that this one begins with.
func (a *auditor) resume() {
	k := a.doc.audited
	a.doc.audited = nil
	if k != nil && a.doc.repaired == nil && k.updates(a.doc) {
		a.before, a.depends, a.packed = k, maps.Clone(k.depends), maps.Clone(k.packed)
	}
}

// begin is where layout starts reading.
func (a *auditor) begin() int64 {
	if a.before == nil {
		return 0
	}
	return a.before.end
}

// depend records that the audit depends on the tables' entry of a number.
func (a *auditor) depend(num int) {
	if a.depends == nil {
		a.depends = map[int]bool{}
	}
	if len(a.depends) <= maxAudited {
		a.depends[num] = true
	}
}

// audited is the result of a complete audit.
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

// updates reports whether the document is the audited one with appended updates that leave
// everything in it unchanged: they define new objects, or replace others, and within their own
// bytes.
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
				if !k.unaffectedBy(before, r.first+i, e) {
					return false
				}
			}
		}
	}
	return true
}

// unaffectedBy reports whether an entry of an update does not affect what precedes it.
func (k *Audited) unaffectedBy(before []*section, num int, e entry) bool {
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
