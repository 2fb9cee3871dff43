package pades

import (
	"bytes"
	"errors"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// dss reads the Document Security Store (EN 319 142-1, 5.4.2): evidence with
// the revision that brought it.
func (r *reader) dss() error {
	cat, err := r.doc.Catalog()
	if err != nil {
		return err
	}
	store, err := r.doc.Dict(cat.Get("DSS"))
	if err != nil {
		r.problem("DSS", err)
		return nil
	}
	if store == nil {
		return nil
	}
	seen := make(map[string]bool)
	if err := r.evidence(store, "DSS", storeKeys, seen); err != nil {
		return err
	}
	vri, err := r.doc.Dict(store.Get("VRI"))
	if err != nil {
		r.problem("DSS/VRI", err)
		return nil
	}
	if vri == nil {
		return nil
	}
	for _, e := range vri.Entries {
		if one, err := r.doc.Dict(e.Value); err == nil && one != nil {
			r.stored(e.Value)
			if err := r.evidence(one, "VRI", vriKeys, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored notes the revision in which a part of the store was written, and
// returns it.
func (r *reader) stored(o pdf.Object) int {
	ref, ok := o.(pdf.Ref)
	if !ok {
		return 0
	}
	n := r.doc.DefinedIn(ref.Num)
	r.out.StoreRevision = max(r.out.StoreRevision, n)
	return n
}

// evidenceKey is an array of streams in a DSS or VRI dictionary.
type evidenceKey struct {
	key  pdf.Name
	kind ades.EvidenceKind
}

var (
	storeKeys = []evidenceKey{
		{"Certs", ades.EvidenceCertificate}, {"OCSPs", ades.EvidenceOCSP}, {"CRLs", ades.EvidenceCRL},
	}
	vriKeys = []evidenceKey{
		{"Cert", ades.EvidenceCertificate}, {"OCSP", ades.EvidenceOCSP}, {"CRL", ades.EvidenceCRL},
	}
)

func (r *reader) problem(where string, err error) {
	r.out.Problems = append(r.out.Problems, ades.Problem{Where: where, Text: err.Error()})
}

func (r *reader) evidence(dict *pdf.Dict, origin string, keys []evidenceKey, seen map[string]bool) error {
	for _, k := range keys {
		list, err := r.doc.Array(dict.Get(k.key))
		if err != nil {
			r.problem(origin+"/"+string(k.key), err)
			continue
		}
		for _, o := range list {
			data, ref, err := streamData(r.doc, o)
			if errors.Is(err, limits.ErrBudget) || r.ctx.Err() != nil {
				return err
			}
			if err != nil {
				r.problem(origin+"/"+string(k.key), err)
				continue
			}
			if data == nil {
				continue
			}
			revision := r.stored(ref)
			key := origin + ades.FactID(data)
			if seen[key] {
				continue
			}
			seen[key] = true
			if err := limits.BudgetOf(r.ctx).Spend(int64(len(data))); err != nil {
				return err
			}
			r.out.Evidence = append(r.out.Evidence, ades.Evidence{
				Kind: k.kind, Origin: origin, Raw: data, Revision: revision,
			})
		}
	}
	return nil
}

// streamData returns the content of a stream without what follows the DER
// value in it.
func streamData(d *pdf.Document, o pdf.Object) ([]byte, pdf.Ref, error) {
	ref, _ := o.(pdf.Ref)
	o, err := d.Resolve(o)
	if err != nil {
		return nil, ref, err
	}
	s, ok := o.(*pdf.Stream)
	if !ok {
		return nil, ref, nil
	}
	data, err := d.Data(s)
	if err != nil {
		return nil, ref, err
	}
	if e, rest, err := cms.ReadElement(data); err == nil && len(bytes.TrimSpace(rest)) == 0 {
		data = e.Raw
	}
	return data, ref, nil
}
