package pades

import (
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// altDescription is the alternate description of a field, for screen readers, and its language.
type altDescription struct{ text, lang string }

// tag adds a new widget to the logical structure of a tagged document, so that a PDF/UA document
// (ISO 14289-1, 7.18) keeps conforming: annotations are reached in structure order, a field has an
// alternate description, and a visible widget is in a Form element. A document without tags, or
// whose structure is not a tree of objects, is not changed.
func (f *form) tag(widget *pdf.Dict, ref pdf.Ref, page *pdf.Page, said altDescription, shown bool) error {
	cat, err := f.doc.Catalog()
	if err != nil {
		return err
	}
	mark, err := f.doc.Dict(cat.Get("MarkInfo"))
	if err != nil || mark == nil {
		return nil //nolint:nilerr // what cannot be read is not there to be kept
	}
	root, ok := cat.Get("StructTreeRoot").(pdf.Ref)
	if marked, err := f.doc.Resolve(mark.Get("Marked")); !ok || err != nil || marked != pdf.Bool(true) {
		return nil //nolint:nilerr // the same
	}
	p, err := f.u.Edit(page.Ref)
	if err != nil {
		return err
	}
	p.Set("Tabs", pdf.Name("S"))
	if shown {
		widget.Set("TU", pdf.Text(said.text))
		return f.enter(widget, ref, page, root, said.lang)
	}
	if cat.Has("Lang") { // otherwise the language would be unknown
		widget.Set("TU", pdf.Text(said.text))
	}
	return nil
}

// enter makes the Form element of a widget, below the only element of the tree or, if there are
// several, beside them.
func (f *form) enter(widget *pdf.Dict, ref pdf.Ref, page *pdf.Page, tree pdf.Ref, lang string) error {
	root, err := f.u.Edit(tree)
	if err != nil {
		return err
	}
	next, ok := f.nextParent(root)
	if !ok {
		return nil
	}
	holder, in := tree, root
	if only, ok := f.only(root.Get("K")); ok {
		if in, err = f.u.Edit(only); err != nil {
			return err
		}
		holder = only
	}
	element := f.u.New(pdf.NewDict(
		pdf.Name("Type"), pdf.Name("StructElem"), pdf.Name("S"), pdf.Name("Form"), pdf.Name("P"), holder, pdf.Name("Pg"), page.Ref,
		pdf.Name("Lang"), pdf.Text(lang), pdf.Name("K"), pdf.NewDict(pdf.Name("Type"), pdf.Name("OBJR"), pdf.Name("Pg"), page.Ref, pdf.Name("Obj"), ref),
	))
	if err := f.addKid(in, element); err != nil {
		return err
	}
	parents, err := f.u.EditIn(root, "ParentTree")
	if err != nil {
		return err
	}
	if parents.Has("Kids") {
		leaf := pdf.NewDict(pdf.Name("Limits"), pdf.Array{pdf.Integer(next), pdf.Integer(next)}, pdf.Name("Nums"), pdf.Array{pdf.Integer(next), element})
		err = f.u.Append(parents, "Kids", f.u.New(leaf))
	} else {
		err = f.u.Append(parents, "Nums", pdf.Integer(next), element)
	}
	root.Set("ParentTreeNextKey", pdf.Integer(next+1))
	widget.Set("StructParent", pdf.Integer(next))
	return err
}

// only is the single element of a tree that represents the whole document.
func (f *form) only(kids pdf.Object) (pdf.Ref, bool) {
	ref, ok := kids.(pdf.Ref)
	if a, err := f.doc.Array(kids); err == nil && len(a) == 1 {
		ref, ok = a[0].(pdf.Ref)
	} else if err == nil && a != nil {
		return ref, false
	}
	d, err := f.doc.Dict(ref)
	return ref, ok && err == nil && d != nil && d.Has("S")
}

// addKid appends to the kids of an element, which may be a single object or an array.
func (f *form) addKid(to *pdf.Dict, kid pdf.Ref) error {
	was, err := f.u.Resolve(to.Get("K"))
	if err != nil {
		return err
	}
	if _, list := was.(pdf.Array); list || was == nil {
		return f.u.Append(to, "K", kid)
	}
	to.Set("K", pdf.Array{to.Get("K"), kid})
	return nil
}

// nextParent is the first free key of the parent tree; false if that cannot be determined.
func (f *form) nextParent(root *pdf.Dict) (int64, bool) {
	next, _ := f.doc.Int(root.Get("ParentTreeNextKey"))
	left := limits.PDFFields
	var walk func(o pdf.Object, depth int) bool
	walk = func(o pdf.Object, depth int) bool {
		d, err := f.doc.Dict(o)
		if left--; err != nil || d == nil || depth > limits.PDFDepth || left < 0 {
			return false
		}
		nums, err1 := f.doc.Array(d.Get("Nums"))
		kids, err2 := f.doc.Array(d.Get("Kids"))
		if err1 != nil || err2 != nil {
			return false
		}
		for i := 0; i < len(nums); i += 2 {
			n, ok := f.doc.Int(nums[i])
			if !ok {
				return false
			}
			next = max(next, n+1)
		}
		for _, k := range kids {
			if !walk(k, depth+1) {
				return false
			}
		}
		return true
	}
	if root.Has("ParentTree") && !walk(root.Get("ParentTree"), 0) {
		return 0, false
	}
	return max(next, 0), next < 1<<31
}
