package pdfmerge

import (
	"cmp"
	"fmt"

	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// form joins the forms. A field of a name that an earlier document has gets
// another: else filling in one would fill in both.
func (j *joined) form(pdf.Ref) *pdf.Dict {
	fields := pdf.Array{}
	names := map[string]int{}
	resources := &pdf.Dict{}
	var appearance pdf.Object
	needed := false
	for i, s := range j.sources {
		f := s.child(s.catalog(), "AcroForm")
		list := s.list(f, "Fields")
		if len(list) == 0 {
			continue
		}
		listed := map[pdf.Object]bool{}
		for _, o := range list[:min(len(list), limits.PDFFields)] {
			if ref, ok := o.(pdf.Ref); ok {
				if listed[ref] {
					continue
				}
				listed[ref] = true
			}
			if ref, ok := s.field(o, f, func(name string) string { return free(names, name, i+1) }); ok {
				fields = append(fields, ref)
			}
		}
		s.resources(resources, s.child(f, "DR"))
		appearance = cmp.Or(appearance, f.Get("DA"))
		b, err := s.Doc.Resolve(f.Get("NeedAppearances"))
		needed = needed || err == nil && b == pdf.Bool(true)
	}
	if len(fields) == 0 {
		return nil
	}
	form := pdf.NewDict(pdf.Name("Fields"), fields)
	if len(resources.Entries) > 0 {
		form.Set("DR", resources)
	}
	if da, ok := appearance.(pdf.String); ok {
		form.Set("DA", da)
	}
	if needed {
		form.Set("NeedAppearances", pdf.Bool(true))
	}
	return form
}

// field takes one field over. What is no field is left behind.
func (s *source) field(o pdf.Object, form *pdf.Dict, name func(string) string) (pdf.Object, bool) {
	ref, indirect := o.(pdf.Ref)
	d, err := s.Doc.Dict(o)
	if err != nil || d == nil {
		return nil, false
	}
	change := func(d *pdf.Dict) {
		if t, ok := d.Get("T").(pdf.String); ok {
			old := s.Doc.Text(t)
			if now := name(old); now != old {
				d.Set("T", pdf.Text(now))
			}
		}
		for _, key := range []pdf.Name{"DA", "Q"} { // what the whole form said, the field says
			v, err := s.Doc.Resolve(form.Get(key))
			if err != nil || d.Get(key) != nil {
				continue
			}
			switch v.(type) {
			case pdf.String, pdf.Integer:
				d.Set(key, v)
			}
		}
	}
	if !indirect {
		place := s.Out.Reserve()
		c := s.Dict(d)
		change(c)
		return place, s.Out.Put(place, c) == nil
	}
	s.Edits[ref] = append(s.Edits[ref], change)
	return s.Ref(ref), true
}

// free is a name that is not taken yet. For one that is, the number to try next
// is kept, so that a name that comes a million times is not tried as often each
// time.
func free(taken map[string]int, name string, document int) string {
	now := name
	for i := max(document, taken[name]); taken[now] > 0; i++ {
		now = fmt.Sprintf("%s_%d", name, i)
		taken[name] = i + 1
	}
	taken[now] = 1
	return now
}

// resourceKinds are those of ISO 32000-2, table 34, and the one that forms
// have besides; mostResources bounds each.
var resourceKinds = []pdf.Name{"Font", "Encoding", "XObject", "ExtGState", "ColorSpace", "Pattern", "Shading", "Properties"}

const mostResources = 4096

// resources adds the default resources of a form: each name once, the first
// document's. Fields that are drawn already have their own.
func (s *source) resources(all, d *pdf.Dict) {
	for _, key := range resourceKinds {
		kind := s.child(d, key)
		if kind == nil {
			continue
		}
		into, ok := all.Get(key).(*pdf.Dict)
		if !ok {
			into = &pdf.Dict{}
			all.Set(key, into)
		}
		for _, one := range kind.Entries[:min(len(kind.Entries), mostResources)] {
			if !into.Has(one.Key) && len(into.Entries) < mostResources {
				into.Set(one.Key, s.Object(one.Value))
			}
		}
	}
}
