package revision

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// A value of a type that the standard does not give its key is never permitted:
// a fuzzer found a check box whose state (AS) was a stream, for which MuPDF draws
// nothing of the page.
func TestTypes(t *testing.T) {
	values := map[kinds]func(u *pdf.Update) pdf.Object{
		isName:    func(*pdf.Update) pdf.Object { return pdf.Name("Yes") },
		isText:    func(*pdf.Update) pdf.Object { return pdf.String{Bytes: []byte("text")} },
		isInteger: func(*pdf.Update) pdf.Object { return pdf.Integer(1) },
		isBool:    func(*pdf.Update) pdf.Object { return pdf.Bool(true) },
		isArray:   func(*pdf.Update) pdf.Object { return pdf.Array{pdf.Name("Yes")} },
		isDict:    func(u *pdf.Update) pdf.Object { return u.New(pdf.NewDict()) },
		isStream:  func(u *pdf.Update) pdf.Object { return u.New(drawing) },
	}
	places := []struct {
		name   string
		before []byte
		put    func(u *pdf.Update, key pdf.Name, v pdf.Object)
		types  map[pdf.Name]kinds
	}{
		{"a check box that is filled in", buttonsAndList(), func(u *pdf.Update, key pdf.Name, v pdf.Object) {
			edit(t, u, 4, pdf.Name("V"), pdf.Name("Yes"), pdf.Name("AS"), pdf.Name("Yes"), key, v)
		}, annotTypes},
		{"a field that is left as it was", buttonsAndList(), func(u *pdf.Update, key pdf.Name, v pdf.Object) { edit(t, u, 7, key, v) }, annotTypes},
		{"a new signature field", base(), func(u *pdf.Update, key pdf.Name, v pdf.Object) {
			newField(t, u, pdf.Name("FT"), pdf.Name("Sig"), pdf.Name("V"), signature(u, "Sig"), key, v)
		}, annotTypes},
		{"a comment", base(), func(u *pdf.Update, key pdf.Name, v pdf.Object) {
			note := pdf.NewDict(pdf.Name("Type"), pdf.Name("Annot"), pdf.Name("Subtype"), pdf.Name("Text"), pdf.Name("Rect"), pdf.Raw("[1 1 9 9]"))
			note.Set(key, v)
			edit(t, u, 3, pdf.Name("Annots"), pdf.Array{ref(6), ref(7), u.New(note)})
		}, annotTypes},
		{"the form", base(), func(u *pdf.Update, key pdf.Name, v pdf.Object) { edit(t, u, 5, key, v) }, formTypes},
	}
	for _, p := range places {
		for _, key := range slices.Sorted(maps.Keys(p.types)) {
			for kind, value := range values {
				if p.types[key]&kind != 0 || kind == isInteger && p.types[key]&isNumber != 0 {
					continue
				}
				before, err := pdf.Open(bytes.NewReader(p.before), pdf.Options{})
				if err != nil {
					t.Fatal(err)
				}
				u := before.Update()
				p.put(u, key, value(u))
				more, err := u.Bytes()
				if err != nil {
					t.Fatal(err)
				}
				after, err := pdf.Open(bytes.NewReader(append(bytes.Clone(p.before), more...)), pdf.Options{})
				if err != nil {
					t.Fatal(err)
				}
				got, err := New(t.Context(), after).Compare(1, Rules{DocMDP: annotations, Seal: sealOf(after)})
				if err == nil && !slices.ContainsFunc(got, func(ch ades.Change) bool { return !ch.Permitted }) {
					t.Errorf("%s with %s of kind %b: %v", p.name, key, kind, got)
				}
			}
		}
	}
}
