package pades

import (
	"context"
	"crypto/sha1" // for the names of VRI entries, as EN 319 142-1 prescribes
	"errors"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// addStore gathers the validation data of the leaves and adds it to the Document Security Store.
func addStore(ctx context.Context, g *grown, facts *reader, need *proof, r ades.AugmentOptions) error {
	if r.Gatherer == nil {
		return errors.New("pades: no source of validation data given")
	}
	bundle, err := r.Gatherer.Gather(ctx, need.leaves, need.bundle)
	if err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	doc, err := pdf.Open(g, pdf.Options{Password: r.Password, Repair: true, Context: ctx})
	if err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	if err := mayAppend(doc, 1); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	s := &store{u: doc.Update(), doc: doc, have: make(map[string]pdf.Ref), late: vriNames(facts, madeAfterStore(facts.out))}
	if err := s.open(); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	var vri []pdf.Name
	if r.VRI {
		vri = vriNames(facts, func(*ades.Signature) bool { return true })
	}
	if err := s.add(bundle, vri); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	if !s.u.Changed() {
		return nil
	}
	tail, err := s.u.Bytes()
	if err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	g.tail = append(g.tail, tail...)
	return nil
}

// madeAfterStore selects the signatures that were made after the store was last written.
func madeAfterStore(doc *ades.Document) func(*ades.Signature) bool {
	return func(s *ades.Signature) bool { return storedBefore(s, doc) }
}

// vriNames are the keys of signatures in the VRI dictionary: the SHA-1 of their Contents in
// upper-case hexadecimal.
func vriNames(facts *reader, of func(*ades.Signature) bool) []pdf.Name {
	var out []pdf.Name
	for _, f := range facts.found {
		if f.signature != nil && of(f.signature) {
			sum := sha1.Sum(f.contents) // see above
			out = append(out, pdf.Name(pdf.AppendHex(nil, sum[:])))
		}
	}
	return out
}

// store is the DSS dictionary being changed.
type store struct {
	u    *pdf.Update
	doc  *pdf.Document
	old  *pdf.Dict
	have map[string]pdf.Ref // by content
	late []pdf.Name         // VRI names of signatures that are newer than the store
}

// open records what the store already has.
func (s *store) open() error {
	cat, err := s.doc.Catalog()
	if err != nil {
		return err
	}
	if s.old, err = s.doc.Dict(cat.Get("DSS")); err != nil || s.old == nil {
		s.old = nil
		return err
	}
	for _, k := range storeKeys {
		list, err := s.doc.Array(s.old.Get(k.key))
		if err != nil {
			return err
		}
		for _, o := range list {
			ref, _ := o.(pdf.Ref)
			if data, err := streamData(s.doc, o); err == nil && data != nil && !ref.IsZero() {
				s.have[string(data)] = ref
			}
		}
	}
	return nil
}

// add adds what is missing.
func (s *store) add(b ades.Bundle, vri []pdf.Name) error {
	fresh := make(map[pdf.Name][]pdf.Object)
	all := make(map[pdf.Name]pdf.Array)
	for i, raws := range [][][]byte{b.Certificates, b.OCSPs, b.CRLs} {
		key := storeKeys[i].key
		seen := make(map[pdf.Ref]bool)
		for _, raw := range raws {
			ref, ok := s.have[string(raw)]
			if !ok {
				ref = s.u.New(compressed(raw))
				s.have[string(raw)] = ref
				fresh[key] = append(fresh[key], ref)
			}
			if !seen[ref] {
				seen[ref] = true
				all[key] = append(all[key], ref)
			}
		}
	}
	if len(fresh) == 0 && len(vri) == 0 && s.old != nil {
		// Everything needed is there, but stored for earlier signatures: a VRI entry makes it apply
		// to the later ones too.
		if vri = s.late; len(vri) == 0 {
			return nil
		}
	}
	dss, err := s.edit()
	if err != nil {
		return err
	}
	for _, k := range storeKeys {
		if len(fresh[k.key]) == 0 {
			continue
		}
		if err := s.u.Append(dss, k.key, fresh[k.key]...); err != nil {
			return err
		}
	}
	return s.addVRI(dss, vri, all)
}

// edit returns the DSS dictionary for editing, and creates it if needed.
func (s *store) edit() (*pdf.Dict, error) {
	o, err := s.doc.Get(s.doc.Root())
	if err != nil {
		return nil, err
	}
	if cat, ok := o.(*pdf.Dict); ok {
		if ref, indirect := cat.Get("DSS").(pdf.Ref); indirect && s.old != nil {
			return s.u.Edit(ref)
		}
	}
	cat, err := s.u.Edit(s.doc.Root())
	if err != nil {
		return nil, err
	}
	if s.old != nil {
		return s.u.EditIn(cat, "DSS")
	}
	dss := pdf.NewDict(pdf.Name("Type"), pdf.Name("DSS"))
	cat.Set("DSS", s.u.New(dss))
	return dss, nil
}

func (s *store) addVRI(dss *pdf.Dict, names []pdf.Name, all map[pdf.Name]pdf.Array) error {
	if len(names) == 0 {
		return nil
	}
	vri, err := s.u.EditIn(dss, "VRI")
	if err != nil {
		return err
	}
	for _, name := range names {
		one := pdf.NewDict(pdf.Name("Type"), pdf.Name("VRI"))
		for i, k := range vriKeys {
			if list := all[storeKeys[i].key]; len(list) > 0 {
				one.Set(k.key, list)
			}
		}
		vri.Set(name, s.u.New(one))
	}
	return nil
}

// compressed makes a stream of DER. Compression gains little for certificates and OCSP responses
// and costs every reader time; it gains much for long revocation lists.
func compressed(data []byte) *pdf.Stream {
	if len(data) < 16<<10 {
		return &pdf.Stream{Dict: &pdf.Dict{}, Data: data}
	}
	return pdf.Compressed(&pdf.Dict{}, data)
}
