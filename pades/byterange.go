package pades

import (
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/pdf"
)

// locate resolves the dictionary of a signature and checks its byte range against the bytes of the
// file (see EN 319 142-1, 5.3 and ISO 32000-2, 12.8.1). Errors are fatal: a signature must cover a
// whole revision except for its own Contents.
func (r *reader) locate(f *signatureEntry) {
	f.dict = &pdf.Dict{}
	o, err := r.doc.Resolve(f.value)
	if err != nil {
		f.fatal(finding.PDFDictionaryUnreadable, f.path, err)
		return
	}
	d, ok := o.(*pdf.Dict)
	if !ok {
		f.fatal(finding.PDFNoDictionary, f.path)
		return
	}
	f.dict = d
	if names := d.Repeated(); len(names) > 0 {
		f.fatal(finding.PDFKeyTwice, f.path, names[0])
	}
	if c, ok := d.Get("Contents").(pdf.String); ok {
		f.contents = c.Bytes
	}
	if len(f.contents) == 0 {
		f.fatal(finding.PDFNoSignature, f.path+"/Contents")
	}
	if !r.parseRange(f) {
		return
	}
	if r.checkGap(f) && r.checkEnd(f) {
		r.checkDictionary(f)
	}
	f.rangeOK = !f.broken()
}

// parseRange parses the four numbers.
func (r *reader) parseRange(f *signatureEntry) bool {
	where := f.path + "/ByteRange"
	o, err := r.doc.Resolve(f.dict.Get("ByteRange"))
	a, ok := o.(pdf.Array)
	if err != nil || !ok {
		f.fatal(finding.PDFNoByteRange, where)
		return false
	}
	if len(a) != 4 {
		f.fatal(finding.PDFRangeNumbers, where, len(a))
		return false
	}
	for i := range a {
		n, ok := a[i].(pdf.Integer)
		if !ok || n < 0 {
			f.fatal(finding.PDFRangeNoOffset, where, i+1)
			return false
		}
		f.ranges[i] = int64(n)
	}
	b, size := f.ranges, r.src.Size()
	switch {
	case b[0] != 0:
		f.fatal(finding.PDFRangeStart, where)
	case b[1] == 0 || b[2] <= b[1]+1:
		f.fatal(finding.PDFRangeOverlap, where)
	case b[2] > size || b[3] > size-b[2]:
		f.fatal(finding.PDFRangePastEnd, where)
		f.cut = true
	case b[3] == 0:
		f.fatal(finding.PDFRangeEmpty, where)
	default:
		f.end = b[2] + b[3]
		return true
	}
	return false
}

// checkGap checks that the gap is exactly the Contents string with its angle brackets.
func (r *reader) checkGap(f *signatureEntry) bool {
	where := f.path + "/ByteRange"
	base := r.doc.Base()
	span, ok := f.dict.Span("Contents")
	if !ok {
		f.fatal(finding.PDFContentsElsewhere, f.path+"/Contents")
		return false
	}
	if span.Start+base != f.ranges[1] || span.End+base != f.ranges[2] {
		f.fatal(finding.PDFGapNotContents, where)
		return false
	}
	var edge [1]byte
	if _, err := r.src.ReadAt(edge[:], f.ranges[1]); err != nil || edge[0] != '<' {
		f.fatal(finding.PDFContentsNotHex, where)
		return false
	}
	return true
}

// checkEnd finds the revision that ends with the second range.
func (r *reader) checkEnd(f *signatureEntry) bool {
	end := f.end - r.doc.Base()
	size := r.doc.Size()
	if r.doc.Repaired() != nil {
		f.revision = 1
		f.covers = r.doc.Blank(end, size)
		return true
	}
	revs := r.doc.Revisions()
	if rev := revs[len(revs)-1]; rev.EOF == 0 && end == size {
		f.revision, f.covers = rev.Number, true // the end marker is missing, and nothing was appended
		return true
	}
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
	f.fatal(finding.PDFRangeNoRevision, f.path+"/ByteRange")
	return false
}

// checkDictionary checks that no later revision has replaced the dictionary.
func (r *reader) checkDictionary(f *signatureEntry) {
	span, _ := f.dict.Span("Contents")
	if span.End+r.doc.Base() > f.end {
		f.fatal(finding.PDFDictionaryOutside, f.path)
		return
	}
	if r.doc.Repaired() != nil || f.revision == len(r.doc.Revisions()) {
		return
	}
	old, err := r.as(f.revision)
	if err != nil {
		f.fatal(finding.PDFRevisionUnreadable, f.path, err)
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
		f.fatal(finding.PDFDictionaryOther, f.path)
	}
}

// checkDirect looks up a dictionary by its field's full name.
func (r *reader) checkDirect(f *signatureEntry, old *pdf.Document) {
	all, _, err := fields(old)
	if err == nil && len(f.fields) > 0 {
		for i := range all {
			if all[i].name == f.fields[0] && pdf.Equal(all[i].value, f.value) {
				return
			}
		}
	}
	f.fatal(finding.PDFDictionaryNotIn, f.path)
}
