package pades

import (
	"fmt"
	"strconv"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/appearance"
	"rogito.dev/rogito/internal/pdf"
)

// form is the interactive form of a document being changed.
type form struct {
	u      *pdf.Update
	doc    *pdf.Document
	fields []field
	// remarks about options without effect.
	remarks []ades.Problem
	perms   permissions

	field string // full name of the field signed
}

func openForm(u *pdf.Update) (*form, error) {
	f := &form{u: u, doc: u.Document()}
	var err error
	if f.fields, _, err = fields(f.doc); err != nil {
		return nil, err
	}
	if f.perms, err = readPermissions(f.doc, f.fields); err != nil {
		return nil, err
	}
	if err := mayAppend(f.doc, f.perms.signed); err != nil {
		return nil, err
	}
	return f, nil
}

// mayAppend refuses to repair a signed document: the new cross-reference table would leave the
// signed revision out of the document's history.
func mayAppend(d *pdf.Document, signed int) error {
	if err := d.Repaired(); err != nil && signed > 0 {
		return fmt.Errorf("the document is signed, but broken: %w", err)
	}
	return nil
}

// sign puts a signature dictionary with unfilled slots into a field.
func (f *form) sign(o settings, s slots) error {
	target, err := f.choose(o)
	if err != nil {
		return err
	}
	if err := f.perms.mayPrepare(o, target); err != nil {
		return err
	}
	locks := f.locks(o, target)
	f.remark(o)
	sig := f.u.New(f.dictionary(o, s, locks))
	if target != nil {
		err = f.fill(target, sig, o)
	} else {
		err = f.add(sig, o, locks)
	}
	if err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	if err := f.register(sig, o.Certify); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return nil
}

// choose finds the empty field to sign; nil means a new one.
func (f *form) choose(o settings) (*field, error) {
	if o.Field == "" && !o.AnyField {
		return nil, nil
	}
	for i := range f.fields {
		c := &f.fields[i]
		if c.kind != "Sig" || o.Field != "" && c.name != o.Field {
			continue
		}
		if c.empty(f.doc) {
			return c, nil
		}
		if o.Field != "" {
			return nil, fmt.Errorf("pades: field %q is signed already: %w", o.Field, ErrForbidden)
		}
	}
	if o.Field != "" && o.NewField != o.Field {
		return nil, fmt.Errorf("pades: signature field %q: %w", o.Field, ades.ErrNotFound)
	}
	return nil, nil
}

// locks collects the locks of the options and of the field's Lock entry.
func (f *form) locks(o settings, target *field) []*pdf.Dict {
	var out []*pdf.Dict
	if o.Lock != nil {
		out = append(out, lockDict(*o.Lock))
	}
	if target == nil {
		return out
	}
	own, err := f.doc.Dict(target.dict.Get("Lock"))
	if err != nil || own == nil {
		return out
	}
	t := lockOf(f.doc, own)
	return append(out, lockDict(Lock{Action: t.action, Fields: t.fields}))
}

func lockDict(l Lock) *pdf.Dict {
	if l.Action == "" {
		l.Action = LockInclude
	}
	d := pdf.NewDict(pdf.Name("Action"), pdf.Name(l.Action))
	if l.Action != LockAll {
		names := pdf.Array{}
		for _, n := range l.Fields {
			names = append(names, pdf.Text(n))
		}
		d.Set("Fields", names)
	}
	return d
}

// dictionary is the signature dictionary (ISO 32000-2, table 255).
func (f *form) dictionary(o settings, s slots, locks []*pdf.Dict) *pdf.Dict {
	d := pdf.NewDict(
		pdf.Name("Type"), pdf.Name("Sig"),
		pdf.Name("Filter"), pdf.Name("Adobe.PPKLite"),
		pdf.Name("SubFilter"), pdf.Name("ETSI.CAdES.detached"),
		pdf.Name("M"), pdf.Date(o.Time),
	)
	for _, e := range []struct {
		key  pdf.Name
		text string
	}{{"Name", o.Name}, {"Reason", o.Reason}, {"Location", o.Location}, {"ContactInfo", o.ContactInfo}} {
		if e.text != "" {
			d.Set(e.key, pdf.Text(e.text))
		}
	}
	var refs pdf.Array
	if o.Certify > 0 {
		refs = append(refs, reference("DocMDP", pdf.NewDict(pdf.Name("P"), pdf.Integer(o.Certify))))
	}
	for _, l := range locks {
		r := reference("FieldMDP", l.Clone())
		r.Set("Data", f.doc.Root())
		refs = append(refs, r)
	}
	if refs != nil {
		d.Set("Reference", refs)
	}
	d.Set("ByteRange", s.byteRange)
	d.Set("Contents", s.contents)
	return d
}

func reference(method pdf.Name, params *pdf.Dict) *pdf.Dict {
	params.Set("Type", pdf.Name("TransformParams"))
	params.Set("V", pdf.Name("1.2"))
	return pdf.NewDict(
		pdf.Name("Type"), pdf.Name("SigRef"),
		pdf.Name("TransformMethod"), method,
		pdf.Name("TransformParams"), params,
	)
}

// fill signs into an existing field.
func (f *form) fill(target *field, sig pdf.Ref, o settings) error {
	f.field = target.name
	d, err := f.u.Edit(target.ref)
	if err != nil {
		return err
	}
	d.Set("V", sig)
	if o.Appearance == nil {
		return nil
	}
	widget, err := f.u.Edit(target.widgets[0])
	if err != nil {
		return err
	}
	rect, _ := f.doc.Rect(widget.Get("Rect"))
	if rect.Width() == 0 || rect.Height() == 0 {
		return nil // an invisible field stays invisible
	}
	page, err := f.pageOf(target.widgets[0], widget)
	if err != nil {
		return err
	}
	normal, err := o.appearance(f.u, page, rect)
	if err != nil {
		return err
	}
	widget.Set("AP", pdf.NewDict(pdf.Name("N"), normal))
	return nil
}

// pageOf finds the page of a widget by its P entry; without one the page is assumed not to be
// rotated.
func (f *form) pageOf(_ pdf.Ref, widget *pdf.Dict) (*pdf.Page, error) {
	ref, ok := widget.Get("P").(pdf.Ref)
	if !ok {
		return &pdf.Page{}, nil
	}
	return f.doc.PageOf(ref)
}

// add makes a new field that is its own widget.
func (f *form) add(sig pdf.Ref, o settings, locks []*pdf.Dict) error {
	var err error
	if f.field, err = f.newName(o.NewField, "Signature"); err != nil {
		return err
	}
	index := 0
	if o.Appearance != nil {
		index = o.Appearance.index()
	}
	page, err := f.doc.Page(index)
	if err != nil {
		return err
	}
	widget := newWidget(f.field, sig, page.Ref)
	var rect pdf.Rect
	var normal pdf.Ref
	if o.Appearance != nil {
		var b appearance.Box
		if rect, b, err = f.placeBox(o, page); err == nil {
			normal, err = draw(f.u, page, b)
		}
	} else {
		normal = f.u.New(emptyForm())
	}
	if err != nil {
		return err
	}
	widget.Set("Rect", rect.Array())
	widget.Set("AP", pdf.NewDict(pdf.Name("N"), normal))
	if len(locks) > 0 {
		l := locks[0].Clone()
		l.Set("Type", pdf.Name("SigFieldLock"))
		widget.Set("Lock", f.u.New(l))
	}
	return f.attach(widget, page, o.altText(), rect.Width() > 0 && rect.Height() > 0)
}

func newWidget(name string, sig, page pdf.Ref) *pdf.Dict {
	return pdf.NewDict(
		pdf.Name("Type"), pdf.Name("Annot"),
		pdf.Name("Subtype"), pdf.Name("Widget"),
		pdf.Name("FT"), pdf.Name("Sig"),
		pdf.Name("T"), pdf.Text(name),
		pdf.Name("V"), sig,
		pdf.Name("F"), pdf.Integer(132), // Print and Locked, as PDF/A requires
		pdf.Name("P"), page,
	)
}

// emptyForm is the appearance of an invisible signature: PDF/A-1 requires one for every field.
func emptyForm() *pdf.Stream {
	return &pdf.Stream{Dict: pdf.NewDict(
		pdf.Name("Type"), pdf.Name("XObject"),
		pdf.Name("Subtype"), pdf.Name("Form"),
		pdf.Name("BBox"), pdf.Array{pdf.Integer(0), pdf.Integer(0), pdf.Integer(0), pdf.Integer(0)},
		pdf.Name("Resources"), &pdf.Dict{},
	)}
}

// newName is the requested name, or the first free one.
func (f *form) newName(want, stem string) (string, error) {
	taken := make(map[string]bool)
	for i := range f.fields {
		taken[f.fields[i].name] = true
	}
	if want != "" {
		if taken[want] {
			return "", fmt.Errorf("field %q is in the form already: %w", want, ErrForbidden)
		}
		return want, nil
	}
	for n := 1; ; n++ {
		if name := stem + strconv.Itoa(n); !taken[name] {
			return name, nil
		}
	}
}

// attach adds a widget to its page and to the form.
func (f *form) attach(widget *pdf.Dict, page *pdf.Page, said altDescription, shown bool) error {
	if page.Ref.IsZero() {
		return fmt.Errorf("page %d is no indirect object", page.Index+1)
	}
	ref := f.u.New(widget)
	if err := f.tag(widget, ref, page, said, shown); err != nil {
		return err
	}
	p, err := f.annotsHolder(page.Ref)
	if err != nil {
		return err
	}
	if err := f.u.Append(p, "Annots", ref); err != nil {
		return err
	}
	return f.withForm(func(form *pdf.Dict) error { return f.u.Append(form, "Fields", ref) })
}

// annotsHolder returns the page dictionary, for editing only if it contains the Annots array
// directly: an indirect array is replaced on its own.
func (f *form) annotsHolder(page pdf.Ref) (*pdf.Dict, error) {
	o, err := f.u.Get(page)
	if err != nil {
		return nil, err
	}
	if d, ok := o.(*pdf.Dict); ok {
		if ref, indirect := d.Get("Annots").(pdf.Ref); indirect {
			if a, err := f.u.Get(ref); err == nil && a != nil {
				return d, nil
			}
		}
	}
	return f.u.Edit(page)
}

// withForm changes the form dictionary, wherever it is.
func (f *form) withForm(change func(*pdf.Dict) error) error {
	d, err := f.inCatalog("AcroForm")
	if err != nil {
		return err
	}
	return change(d)
}

// inCatalog returns the dictionary with that key for editing. The catalog itself is edited only if
// it contains it directly.
func (f *form) inCatalog(key pdf.Name) (*pdf.Dict, error) {
	o, err := f.u.Get(f.doc.Root())
	if err != nil {
		return nil, err
	}
	if d, ok := o.(*pdf.Dict); ok {
		if _, indirect := d.Get(key).(pdf.Ref); indirect {
			return f.u.EditIn(d, key)
		}
	}
	cat, err := f.u.Edit(f.doc.Root())
	if err != nil {
		return nil, err
	}
	return f.u.EditIn(cat, key)
}

// register sets SigFlags and, for a certification, Perms.
func (f *form) register(sig pdf.Ref, certify int) error {
	const signaturesExist, appendOnly = 1, 2
	err := f.withForm(func(d *pdf.Dict) error {
		flags, _ := f.doc.Int(d.Get("SigFlags"))
		d.Set("SigFlags", pdf.Integer(flags|signaturesExist|appendOnly))
		return nil
	})
	if err != nil || certify == 0 {
		return err
	}
	perms, err := f.inCatalog("Perms")
	if err != nil {
		return err
	}
	perms.Set("DocMDP", sig)
	return nil
}
