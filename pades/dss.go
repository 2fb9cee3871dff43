package pades

import (
	"bytes"
	"errors"
	"hash/maphash"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pdf"
)

// dss reads the Document Security Store (EN 319 142-1, 5.4.2): evidence, with the revision that
// added it.
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
	if err := r.evidence(store, "DSS", storeKeys); err != nil {
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
			if err := r.evidence(one, "VRI", vriKeys); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored records the revision in which a part of the store was written.
func (r *reader) stored(o pdf.Object) {
	if ref, ok := o.(pdf.Ref); ok {
		r.out.StoreRevision = max(r.out.StoreRevision, r.doc.DefinedIn(ref.Num))
	}
}

// written is the newest revision that wrote a value or anything that it refers to. It is the newest
// of all for a value that takes too many steps: hostile references branch without end.
func (r *reader) written(o pdf.Object) int {
	newest, steps := len(r.doc.Revisions()), 256 // a stream with data needs ten
	n := 0
	var visit func(o pdf.Object)
	visit = func(o pdf.Object) {
		if steps--; steps < 0 {
			n = newest
			return
		}
		switch v := o.(type) {
		case pdf.Ref:
			at, _ := r.doc.Where(v.Num)
			next, err := r.doc.Get(v)
			if err != nil {
				n = newest
				return
			}
			n = max(n, r.doc.DefinedIn(v.Num), r.doc.DefinedIn(at.Stream))
			visit(next)
		case pdf.Array:
			for i := 0; i < len(v) && steps >= 0; i++ {
				visit(v[i])
			}
		case *pdf.Dict:
			for i := 0; i < len(v.Entries) && steps >= 0; i++ {
				visit(v.Entries[i].Value)
			}
		case *pdf.Stream:
			visit(v.Dict)
		}
	}
	visit(o)
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
	r.out.Problems = append(r.out.Problems, finding.PDFStoreUnreadable.Problem(where, err))
}

// storedStream is where a piece of evidence is stored, piece what it is. A stream that a later
// revision uses again is read once.
type (
	storedStream struct {
		kind     ades.EvidenceKind
		origin   string
		ref      pdf.Ref
		revision int
	}
	piece struct {
		kind    ades.EvidenceKind
		origin  string
		content uint64 // its hash
	}
)

// pieceSeed: a cryptographic digest of each piece would take longer than everything else, and using
// the content as key would store it twice.
var pieceSeed = maphash.MakeSeed()

// evidence collects the streams in the arrays of a dictionary. Of equal pieces only the one with
// the first revision is kept, since what covers that revision proves it.
func (r *reader) evidence(dict *pdf.Dict, origin string, keys []evidenceKey) error {
	for _, k := range keys {
		list, err := r.doc.Array(dict.Get(k.key))
		if err != nil {
			r.problem(origin+"/"+string(k.key), err)
			continue
		}
		for _, o := range list {
			ref, _ := o.(pdf.Ref)
			r.stored(o)
			at := storedStream{k.kind, origin, ref, r.written(o)}
			if !ref.IsZero() && r.streams[at] {
				continue
			}
			r.streams[at] = true
			data, err := streamData(r.doc, o)
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
			key := piece{k.kind, origin, maphash.Bytes(pieceSeed, data)}
			if i, seen := r.pieces[key]; seen && bytes.Equal(r.out.Evidence[i].Raw, data) {
				if e := &r.out.Evidence[i]; at.revision > 0 && (e.Revision == 0 || at.revision < e.Revision) {
					e.Revision = at.revision
				}
				continue
			}
			if err := limits.BudgetOf(r.ctx).Spend(int64(len(data))); err != nil {
				return err
			}
			r.pieces[key] = len(r.out.Evidence)
			r.out.Evidence = append(r.out.Evidence, ades.Evidence{Kind: k.kind, Origin: origin, Raw: data, Revision: at.revision})
		}
	}
	return nil
}

// streamData returns the content of a stream without data after the DER value.
func streamData(d *pdf.Document, o pdf.Object) ([]byte, error) {
	o, err := d.Resolve(o)
	if err != nil {
		return nil, err
	}
	s, ok := o.(*pdf.Stream)
	if !ok {
		return nil, nil
	}
	data, err := d.Data(s)
	if err != nil {
		return nil, err
	}
	if e, rest, err := cms.ReadElement(data); err == nil && len(bytes.TrimSpace(rest)) == 0 {
		data = e.Raw
	}
	return data, nil
}
