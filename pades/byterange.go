package pades

import (
	"rogito.dev/rogito/internal/pdf"
)

// locate resolves the dictionary of a signature and checks its byte range
// against the bytes of the file (see EN 319 142-1, 5.3 and ISO 32000-2,
// 12.8.1). What is wrong is fatal: a signature that covers anything else than
// a whole revision without its own Contents proves nothing.
func (r *reader) locate(f *found) {
	f.dict = &pdf.Dict{}
	o, err := r.doc.Resolve(f.value)
	if err != nil {
		f.fatal(f.path, "signature dictionary: %v", err)
		return
	}
	d, ok := o.(*pdf.Dict)
	if !ok {
		f.fatal(f.path, "the value of the field is no signature dictionary")
		return
	}
	f.dict = d
	if names := d.Repeated(); len(names) > 0 {
		f.fatal(f.path, "key %s occurs more than once", names[0])
	}
	if c, ok := d.Get("Contents").(pdf.String); ok {
		f.contents = c.Bytes
	}
	if len(f.contents) == 0 {
		f.fatal(f.path+"/Contents", "no signature")
	}
	if !r.parseRange(f) {
		return
	}
	if r.checkGap(f) && r.checkEnd(f) {
		r.checkDictionary(f)
	}
	f.rangeOK = !f.broken()
}

// parseRange reads the four numbers.
func (r *reader) parseRange(f *found) bool {
	where := f.path + "/ByteRange"
	o, err := r.doc.Resolve(f.dict.Get("ByteRange"))
	a, ok := o.(pdf.Array)
	if err != nil || !ok {
		f.fatal(where, "no byte range")
		return false
	}
	if len(a) != 4 {
		f.fatal(where, "%d numbers instead of 4", len(a))
		return false
	}
	for i := range a {
		n, ok := a[i].(pdf.Integer)
		if !ok || n < 0 {
			f.fatal(where, "number %d is no offset", i+1)
			return false
		}
		f.ranges[i] = int64(n)
	}
	b, size := f.ranges, r.src.Size()
	switch {
	case b[0] != 0:
		f.fatal(where, "does not begin at the start of the file")
	case b[1] == 0 || b[2] <= b[1]+1:
		f.fatal(where, "ranges overlap or leave no gap")
	case b[2] > size || b[3] > size-b[2]:
		f.fatal(where, "ends past the end of the file")
	case b[3] == 0:
		f.fatal(where, "second range is empty")
	default:
		f.end = b[2] + b[3]
		return true
	}
	return false
}

// checkGap compares the gap with the Contents string: it must be that, with
// its angle brackets, and nothing else.
func (r *reader) checkGap(f *found) bool {
	where := f.path + "/ByteRange"
	base := r.doc.Base()
	span, ok := f.dict.Span("Contents")
	if !ok {
		f.fatal(f.path+"/Contents", "does not stand in the file itself")
		return false
	}
	if span.Start+base != f.ranges[1] || span.End+base != f.ranges[2] {
		f.fatal(where, "the gap is not the Contents string")
		return false
	}
	var edge [1]byte
	if _, err := r.src.ReadAt(edge[:], f.ranges[1]); err != nil || edge[0] != '<' {
		f.fatal(where, "Contents is no hexadecimal string")
		return false
	}
	return true
}

// checkEnd finds the revision that the second range closes.
func (r *reader) checkEnd(f *found) bool {
	end := f.end - r.doc.Base()
	size := r.doc.Size()
	if r.doc.Repaired() != nil {
		f.revision = 1
		f.covers = r.doc.Blank(end, size)
		return true
	}
	revs := r.doc.Revisions()
	for i, rev := range revs {
		if rev.EOF == 0 || end < rev.EOF {
			continue
		}
		if i+1 < len(revs) && end > rev.End && revs[i+1].EOF != 0 && end >= revs[i+1].EOF {
			continue
		}
		if end <= rev.End || r.doc.Blank(rev.End, end) {
			f.revision = rev.Number
			f.covers = i == len(revs)-1 && r.doc.Blank(end, size)
			return true
		}
	}
	f.fatal(f.path+"/ByteRange", "does not end where a revision of the document ends")
	return false
}

// checkDictionary compares the dictionary in the signed revision with the one
// in the last: a later revision may not replace it.
func (r *reader) checkDictionary(f *found) {
	span, _ := f.dict.Span("Contents")
	if span.End+r.doc.Base() > f.end {
		f.fatal(f.path, "the dictionary stands outside the signed revision")
		return
	}
	if r.doc.Repaired() != nil || f.revision == len(r.doc.Revisions()) {
		return
	}
	old, err := r.as(f.revision)
	if err != nil {
		f.fatal(f.path, "signed revision: %v", err)
		return
	}
	if f.ref.IsZero() {
		r.checkDirect(f, old)
		return
	}
	now, ok1 := r.doc.Where(f.ref.Num)
	then, ok2 := old.Where(f.ref.Num)
	if ok1 && ok2 && now == then {
		return
	}
	o, err := old.Get(f.ref)
	if err != nil || !ok2 || !pdf.Equal(o, f.dict) {
		f.fatal(f.path, "the signature dictionary is not the one in the signed revision")
	}
}

// checkDirect looks a dictionary up by its field's full name.
func (r *reader) checkDirect(f *found, old *pdf.Document) {
	all, _, err := fields(old)
	if err == nil && len(f.fields) > 0 {
		for i := range all {
			if all[i].name == f.fields[0] && pdf.Equal(all[i].value, f.value) {
				return
			}
		}
	}
	f.fatal(f.path, "the signature dictionary is not in the signed revision")
}
