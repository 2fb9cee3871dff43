package pades

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sort"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/internal/revision"
)

// reader gathers the facts of one document.
type reader struct {
	ctx     context.Context
	src     ades.Source
	doc     *pdf.Document
	found   []*signatureEntry
	digests digester
	out     *ades.Document
	streams map[storedStream]bool // of the stores already read
	pieces  map[piece]int         // index into out.Evidence

	comparer *revision.Comparer
	compared int // number of revisions compared with signed ones, up to limits.PDFCompared
}

// signatureEntry is a signature or document time-stamp in the file.
type signatureEntry struct {
	path   string   // "AcroForm/Signature1", "Perms/UR3"
	fields []string // full names of the fields with this value
	rights bool     // usage rights, which only unlock features of Adobe's reader
	lock   *pdf.Dict
	ref    pdf.Ref    // of the dictionary; zero if it is direct
	dict   *pdf.Dict  // in the last revision
	value  pdf.Object // the unresolved value

	ranges   [4]int64
	rangeOK  bool
	end      int64 // end of the signed bytes, from the start of the file
	cut      bool  // the file ends before the signed bytes do
	revision int
	covers   bool // the whole document
	contents []byte
	problems []ades.Problem

	signature *ades.Signature
	timestamp *ades.Timestamp
}

// fatal adds a fatal problem.
func (f *signatureEntry) fatal(k *finding.Kind, where string, values ...any) {
	f.problems = append(f.problems, k.Problem(where, values...))
}

// broken reports whether there is a fatal problem.
func (f *signatureEntry) broken() bool {
	return ades.Fatal(f.problems)
}

// Read returns the facts of every signature and document time-stamp in a PDF. A malformed signature
// is a fact with a fatal problem; an error means that the document itself cannot be read:
// *ades.MalformedError, or ades.ErrPassword if it is encrypted and the password is wrong.
func Read(ctx context.Context, src ades.Source, in ades.ReadOptions) (*ades.Document, error) {
	r, err := read(ctx, src, in)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	return r.out, nil
}

func read(ctx context.Context, src ades.Source, in ades.ReadOptions) (*reader, error) {
	doc, err := pdf.Open(src, pdf.Options{Password: in.Password, Repair: true, Context: ctx})
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, src: src, doc: doc, out: &ades.Document{Format: ades.PAdES}, streams: map[storedStream]bool{}, pieces: map[piece]int{}}
	r.digests = newDigester(ctx, src)
	if err := doc.Repaired(); err != nil {
		r.out.Problems = append(r.out.Problems, finding.PDFRepaired.Problem("xref", err))
	}
	if err := r.collect(); err != nil {
		return nil, err
	}
	if err := r.auditSyntax(ctx); err != nil {
		return nil, err
	}
	if err := r.foreign(); err != nil {
		return nil, err
	}
	if err := r.dss(); err != nil {
		return nil, err
	}
	if err := r.earlierStores(); err != nil {
		return nil, err
	}
	for _, f := range r.found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.read(f); err != nil {
			return nil, err
		}
	}
	if err := r.finish(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

// collect lists the signature values of the form and of the usage rights, as far as possible in the
// order in which they were made.
func (r *reader) collect() error {
	all, problems, err := fields(r.doc)
	if err != nil {
		return err
	}
	r.out.Problems = append(r.out.Problems, problems...)
	byRef := make(map[pdf.Ref]*signatureEntry)
	for i := range all {
		if all[i].kind == "Sig" {
			r.addField(&all[i], byRef)
		}
	}
	if err := r.usageRights(byRef); err != nil {
		return err
	}
	if len(r.found) > limits.PDFSignatures {
		return finding.TooManySignatures.Malformed("PDF", "AcroForm", limits.PDFSignatures)
	}
	kept := r.found[:0]
	for _, f := range r.found {
		r.locate(f)
		// Usage rights void after the bytes were saved again are not, like a signature, something
		// that anyone relies on.
		if f.rights && !f.rangeOK {
			r.out.Problems = append(r.out.Problems, finding.PDFUsageRightsVoid.Problem(f.path, f.problems[0].Text))
			continue
		}
		kept = append(kept, f)
	}
	r.found = kept
	if len(kept) == 0 {
		return r.findRemoved()
	}
	sort.SliceStable(r.found, func(i, j int) bool { return r.found[i].end < r.found[j].end })
	return nil
}

// findRemoved looks for a signature in earlier revisions of a document that has none any more:
// removing a signature must not make a document count as never signed.
func (r *reader) findRemoved() error {
	last := len(r.doc.Revisions())
	for n := last - 1; n >= 1 && n > last-maxStores; n-- {
		d, err := r.as(n)
		if err != nil {
			continue // a revision that cannot be opened is skipped
		}
		all, _, err := fields(d)
		if err != nil && !damaged(err) {
			return err
		}
		for i := range all {
			if all[i].kind == "Sig" && !all[i].empty(d) {
				r.out.Problems = append(r.out.Problems, finding.PDFSignatureGone.Problem(all[i].name, all[i].name, n, last))
				return nil
			}
		}
	}
	return nil
}

// auditSyntax reports syntax errors. Inside the signed bytes they are the signer's own and only
// noted, unless readers show different content because of them. Appended data must have none, and
// must not make readers differ that agreed before.
func (r *reader) auditSyntax(ctx context.Context) error {
	if len(r.found) == 0 {
		return nil
	}
	list, err := r.doc.Audit(ctx)
	if err != nil {
		return err
	}
	for _, f := range r.found {
		if f.end == 0 {
			continue
		}
		var ways pdf.Reading
		var sloppy bool
		left := make(map[int]bool)
		for _, s := range list {
			if f.revision > s.Until {
				continue
			}
			p := ades.Problem{Where: s.Where(), Text: s.String(), Code: s.Kind.Code, Values: s.Values}
			if !s.Inside(f.end - r.doc.Base()) {
				p.Fatal = true
			} else {
				sloppy, ways = true, ways|s.Kind.Others
				left[s.Object] = s.Kind.Others&pdf.LeftOut != 0 || left[s.Object]
			}
			f.problems = append(f.problems, p)
		}
		if err := r.compareReadings(ctx, f, ways, left, sloppy); err != nil {
			return err
		}
	}
	return nil
}

// compareReadings compares what readers show for the signed revision, and for the last one. If they
// differ for the signed one, it cannot be determined what was signed; if they differ only later,
// the appended data is the cause.
func (r *reader) compareReadings(ctx context.Context, f *signatureEntry, ways pdf.Reading, left map[int]bool, sloppy bool) error {
	last := len(r.doc.Revisions())
	if !f.rangeOK || f.broken() || r.doc.Repaired() != nil {
		return nil
	}
	if r.comparer == nil {
		r.comparer = revision.New(ctx, r.doc)
	}
	places, err := r.comparer.Twofold(f.revision, ways|r.doc.Unsealed(), left)
	if err != nil {
		return err
	}
	tree, err := r.comparer.Tree(f.revision)
	if err != nil {
		return err
	}
	if tree != "" {
		places = append(places, tree)
	}
	if len(places) > 0 {
		p := finding.PDFTwoReadings.Lesser(places[0], places[0])
		p.Doubt = true
		f.problems = append(f.problems, p)
		return nil
	}
	if f.revision == last || !sloppy {
		return nil
	}
	before, err := r.comparer.Twofold(f.revision, ways|pdf.Rebuilt, left)
	if err != nil {
		return err
	}
	after, err := r.comparer.Twofold(last, ways|pdf.Rebuilt, left)
	for _, place := range after {
		if !slices.Contains(before, place) {
			f.fatal(finding.PDFUpdateTwoReadings, place, place)
			break
		}
	}
	return err
}

// addField adds the value of a signature field. One dictionary in several fields is one signature.
func (r *reader) addField(fl *field, byRef map[pdf.Ref]*signatureEntry) {
	if fl.empty(r.doc) {
		return
	}
	ref, _ := fl.value.(pdf.Ref)
	if f := byRef[ref]; f != nil && !ref.IsZero() {
		f.fields = append(f.fields, fl.name)
		return
	}
	f := &signatureEntry{path: fl.name, fields: []string{fl.name}, ref: ref, value: fl.value}
	f.lock, _ = r.doc.Dict(fl.dict.Get("Lock"))
	byRef[ref] = f
	r.found = append(r.found, f)
}

// usageRights adds the usage rights signature, by which Adobe's software unlocks features of its
// reader; it is over the document like any other.
func (r *reader) usageRights(byRef map[pdf.Ref]*signatureEntry) error {
	cat, err := r.doc.Catalog()
	if err != nil {
		return err
	}
	perms, err := r.doc.Dict(cat.Get("Perms"))
	if err != nil || perms == nil {
		return err
	}
	for _, key := range []pdf.Name{"DocMDP", "UR3", "UR"} {
		v := perms.Get(key)
		ref, _ := v.(pdf.Ref)
		if v == nil || byRef[ref] != nil && !ref.IsZero() {
			continue
		}
		f := &signatureEntry{path: "Perms/" + string(key), ref: ref, value: v, rights: key != "DocMDP"}
		byRef[ref] = f
		r.found = append(r.found, f)
	}
	return nil
}

// read fills in the facts of one signature or time-stamp.
func (r *reader) read(f *signatureEntry) error {
	if r.isTimestamp(f) {
		return r.readTimestamp(f)
	}
	return r.readSignature(f)
}

func (r *reader) isTimestamp(f *signatureEntry) bool {
	sub := r.doc.Name(f.dict.Get("SubFilter"))
	return sub == "ETSI.RFC3161" || sub == "" && r.doc.Name(f.dict.Get("Type")) == "DocTimeStamp"
}

// facts returns those that signatures and time-stamps share.
func (r *reader) facts(f *signatureEntry) *ades.PDFFacts {
	p := &ades.PDFFacts{
		SubFilter: string(r.doc.Name(f.dict.Get("SubFilter"))),
		Revision:  f.revision, Revisions: len(r.doc.Revisions()),
		Name: r.doc.Text(f.dict.Get("Name")), Reason: r.doc.Text(f.dict.Get("Reason")),
		Location: r.doc.Text(f.dict.Get("Location")), Contact: r.doc.Text(f.dict.Get("ContactInfo")),
	}
	if len(f.fields) > 0 {
		p.Field = f.fields[0]
	}
	if f.ranges != [4]int64{} {
		p.ByteRange = append([]int64{}, f.ranges[:]...)
	}
	p.Date, _ = pdf.ParseDate(r.doc.Text(f.dict.Get("M")))
	for _, t := range transforms(r.doc, f.dict) {
		if t.method == "DocMDP" {
			p.DocMDP = t.p
		}
	}
	return p
}

// finish orders the facts and relates them to each other.
func (r *reader) finish(ctx context.Context) error {
	ids := make(map[string]int)
	for _, f := range r.found {
		if s := f.signature; s != nil {
			if ids[s.ID]++; ids[s.ID] > 1 {
				s.ID = fmt.Sprintf("%s-%d", s.ID, ids[s.ID])
			}
			s.PDF.Changes = r.changes(ctx, f)
			s.PDF.CoversWholeDocument = f.rangeOK && unchanged(s.PDF.Changes)
			r.out.Signatures = append(r.out.Signatures, s)
		}
		if t := f.timestamp; t != nil {
			t.PDF.Changes = r.changes(ctx, f)
			t.PDF.CoversWholeDocument = f.rangeOK && unchanged(t.PDF.Changes)
			r.out.Timestamps = append(r.out.Timestamps, t)
		}
		if s := f.signature; f.rangeOK && s != nil && s.Intact() == ades.Yes && !ades.Fatal(s.Problems) {
			s.Content = []ades.File{{Source: io.NewSectionReader(r.src, 0, f.end)}}
			r.out.Content = s.Content
		}
	}
	if r.out.Fits() != ades.Yes {
		r.out.Content = nil // a PDF is returned as a whole
	}
	return r.cover()
}

// as returns the document as of a revision.
func (r *reader) as(n int) (*pdf.Document, error) {
	if n == len(r.doc.Revisions()) {
		return r.doc, nil
	}
	return r.doc.At(n)
}
