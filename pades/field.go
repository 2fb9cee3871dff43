package pades

import (
	"context"
	"fmt"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// field is a terminal form field.
type field struct {
	name    string // fully qualified, partial names joined by dots
	ref     pdf.Ref
	dict    *pdf.Dict
	kind    pdf.Name   // FT, inherited
	value   pdf.Object // V, inherited, not resolved
	widgets []pdf.Ref  // the field itself if it is its own widget
}

// empty reports whether a signature field is unsigned.
func (f *field) empty(d *pdf.Document) bool {
	v, err := d.Resolve(f.value)
	return err == nil && v == nil
}

// fieldWalk traverses the form.
type fieldWalk struct {
	doc  *pdf.Document
	seen map[pdf.Ref]bool
	out  []field
	// problems of single fields, which do not affect the others
	problems []ades.Problem
}

// acroForm returns the interactive form dictionary, or nil.
func acroForm(d *pdf.Document) (*pdf.Dict, error) {
	cat, err := d.Catalog()
	if err != nil {
		return nil, err
	}
	return d.Dict(cat.Get("AcroForm"))
}

// fields lists the terminal fields of the form.
func fields(d *pdf.Document) ([]field, []ades.Problem, error) {
	form, err := acroForm(d)
	if err != nil || form == nil {
		return nil, nil, err
	}
	roots, err := d.Array(form.Get("Fields"))
	if err != nil {
		return nil, nil, err
	}
	w := fieldWalk{doc: d, seen: make(map[pdf.Ref]bool)}
	for _, o := range roots {
		w.visit(o, field{}, 0)
	}
	return w.out, w.problems, nil
}

func (w *fieldWalk) visit(o pdf.Object, parent field, depth int) {
	ref, _ := o.(pdf.Ref)
	if depth > limits.PDFDepth || len(w.seen) > limits.PDFFields || !ref.IsZero() && w.seen[ref] {
		w.problems = append(w.problems, finding.PDFFieldsTooMany.Problem("AcroForm/Fields", ref))
		return
	}
	if !ref.IsZero() {
		w.seen[ref] = true
	}
	dict, err := w.doc.Dict(o)
	if err != nil || dict == nil {
		w.problems = append(w.problems, finding.PDFFieldUnreadable.Problem("AcroForm/Fields", ref, ""))
		return
	}
	f := w.inherit(parent, dict, ref)
	kids, err := w.doc.Array(dict.Get("Kids"))
	if err != nil {
		w.problems = append(w.problems, finding.PDFFieldUnreadable.Problem(f.name, f.name, err))
	}
	children := w.split(&f, kids)
	if len(children) == 0 {
		if len(f.widgets) == 0 {
			f.widgets = []pdf.Ref{ref}
		}
		w.out = append(w.out, f)
		return
	}
	for _, k := range children {
		w.visit(k, f, depth+1)
	}
}

func (w *fieldWalk) inherit(parent field, dict *pdf.Dict, ref pdf.Ref) field {
	f := field{name: parent.name, ref: ref, dict: dict, kind: parent.kind, value: parent.value}
	if t := dict.Get("T"); t != nil {
		name := w.doc.Text(t)
		if f.name != "" {
			name = f.name + "." + name
		}
		f.name = name
	}
	if ft := w.doc.Name(dict.Get("FT")); ft != "" {
		f.kind = ft
	}
	if dict.Has("V") {
		f.value = dict.Get("V")
	}
	return f
}

// split separates the kids that are fields from those that are only widgets.
func (w *fieldWalk) split(f *field, kids pdf.Array) []pdf.Object {
	var children []pdf.Object
	for _, k := range kids {
		d, err := w.doc.Dict(k)
		if err != nil || d == nil {
			continue
		}
		if d.Has("T") || d.Has("FT") && d.Has("V") {
			children = append(children, k)
			continue
		}
		if ref, ok := k.(pdf.Ref); ok {
			f.widgets = append(f.widgets, ref)
		}
	}
	return children
}

// EmptyFields lists the full names of the unsigned signature fields of a document, in the order of
// the form.
func EmptyFields(ctx context.Context, src ades.Source, password string) ([]string, error) {
	d, err := pdf.Open(src, pdf.Options{Password: password, Repair: true, Context: ctx})
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	all, _, err := fields(d)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	var names []string
	for i := range all {
		if all[i].kind == "Sig" && all[i].empty(d) {
			names = append(names, all[i].name)
		}
	}
	return names, nil
}

// lockCovers reports whether a lock names a field: names include descendants, and "Signature1" does
// not match "Signature10".
func lockCovers(action LockAction, names []string, name string) bool {
	named := false
	for _, n := range names {
		named = named || n == name || strings.HasPrefix(name, n+".")
	}
	switch action {
	case LockAll:
		return true
	case LockExclude:
		return !named
	}
	return named
}
