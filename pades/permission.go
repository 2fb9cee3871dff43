package pades

import (
	"fmt"

	"rogito.dev/rogito/internal/pdf"
)

// transform is the restriction in a signature reference dictionary.
type transform struct {
	method pdf.Name // DocMDP, FieldMDP, UR3
	p      int
	action LockAction
	fields []string
}

// transforms reads the Reference entry of a signature dictionary.
func transforms(d *pdf.Document, sig *pdf.Dict) []transform {
	refs, err := d.Array(sig.Get("Reference"))
	if err != nil {
		return nil
	}
	var out []transform
	for _, o := range refs {
		r, err := d.Dict(o)
		if err != nil || r == nil {
			continue
		}
		params, err := d.Dict(r.Get("TransformParams"))
		if err != nil {
			params = nil
		}
		t := lockOf(d, params)
		t.method, t.p = d.Name(r.Get("TransformMethod")), 2
		if p, ok := d.Int(params.Get("P")); ok && p >= 1 && p <= 3 {
			t.p = int(p)
		}
		out = append(out, t)
	}
	return out
}

// lockOf reads a FieldMDP parameter or a SigFieldLock dictionary.
func lockOf(d *pdf.Document, dict *pdf.Dict) transform {
	t := transform{action: LockAction(d.Name(dict.Get("Action")))}
	names, err := d.Array(dict.Get("Fields"))
	if err != nil {
		return t
	}
	for _, n := range names {
		t.fields = append(t.fields, d.Text(n))
	}
	return t
}

// permissions are the restrictions by the signatures in a document.
type permissions struct {
	signed    int // number of signed fields, including document time-stamps
	certified bool
	p         int // strictest permission of a certification or lock; 0: none
	locks     []transform
}

func readPermissions(d *pdf.Document, all []field) (permissions, error) {
	var p permissions
	take := func(sig *pdf.Dict) {
		for _, t := range transforms(d, sig) {
			switch t.method {
			case "DocMDP":
				p.certified = true
				p.p = stricter(p.p, t.p)
			case "FieldMDP":
				p.locks = append(p.locks, t)
			}
		}
	}
	for i := range all {
		f := &all[i]
		if f.kind != "Sig" || f.empty(d) {
			continue
		}
		p.signed++
		sig, err := d.Dict(f.value)
		if err != nil {
			return p, err
		}
		if sig != nil {
			take(sig)
		}
		lock, err := d.Dict(f.dict.Get("Lock"))
		if err != nil {
			return p, err
		}
		if n, ok := d.Int(lock.Get("P")); ok && n >= 1 && n <= 3 {
			p.p = stricter(p.p, int(n))
		}
	}
	cat, err := d.Catalog()
	if err != nil {
		return p, err
	}
	perms, err := d.Dict(cat.Get("Perms"))
	if err != nil {
		return p, err
	}
	sig, err := d.Dict(perms.Get("DocMDP"))
	if err == nil && sig != nil {
		p.certified = true
		take(sig)
	}
	return p, err
}

// mayPrepare returns an error if the signatures in the document forbid another. Validation data and
// document time-stamps need no check, since every certification permits them (ISO 32000-2,
// 12.8.2.2.2).
func (p permissions) mayPrepare(o settings, target *field) error {
	if p.p == 1 {
		return fmt.Errorf("pades: a signature in the document permits no changes: %w", ErrForbidden)
	}
	if o.Certify > 0 && p.certified {
		return fmt.Errorf("pades: the document is certified already: %w", ErrForbidden)
	}
	if o.Certify > 0 && p.signed > 0 {
		return fmt.Errorf("pades: only the first signature can certify: %w", ErrForbidden)
	}
	if target == nil {
		return nil
	}
	for _, l := range p.locks {
		if lockCovers(l.action, l.fields, target.name) {
			return fmt.Errorf("pades: field %q is locked by a signature: %w", target.name, ErrForbidden)
		}
	}
	return nil
}
