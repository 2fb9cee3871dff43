package cades_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"slices"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

// evidenceRecord is a record with one time-stamp over a group of objects beside a
// neighbour in the tree (RFC 4998, 4.2).
func evidenceRecord(t *testing.T, pki *adestest.PKI, objects ...[]byte) []byte {
	t.Helper()
	var group, first [][]byte
	for _, o := range objects {
		d := sha256.Sum256(o)
		group = append(group, d[:])
		first = append(first, cms.TLV(cms.TagOctetString, d[:]))
	}
	root := group[0]
	if len(group) > 1 {
		slices.SortFunc(group, bytes.Compare)
		d := sha256.Sum256(bytes.Join(group, nil))
		root = d[:]
	}
	neighbour := sha256.Sum256([]byte("neighbour"))
	pair := [][]byte{root, neighbour[:]}
	slices.SortFunc(pair, bytes.Compare)
	top := sha256.Sum256(bytes.Join(pair, nil))
	token, err := pki.Unit.Stamp(context.Background(), crypto.SHA256, top[:])
	if err != nil {
		t.Fatal(err)
	}
	tree := cms.TLV(0xa2, cms.TLV(cms.TagSequence, first...), cms.TLV(cms.TagSequence, cms.TLV(cms.TagOctetString, neighbour[:])))
	return cms.TLV(cms.TagSequence, []byte{cms.TagInteger, 1, 1}, cms.TLV(cms.TagSequence), cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, tree, token))))
}

// withUnsigned adds an unsigned attribute to a signer.
func withUnsigned(t *testing.T, signed []byte, signer int, id string, value []byte) []byte {
	t.Helper()
	sd, err := cms.Parse(bytes.NewReader(signed))
	if err == nil {
		sd.SignerInfos[signer], err = sd.SignerInfos[signer].AddUnsigned(cms.NewAttribute(id, value))
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := sd.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// indefinite is a value with its outermost lengths left open.
func indefinite(t *testing.T, raw []byte, depth int) []byte {
	t.Helper()
	e, _, err := cms.ReadElement(raw)
	if err != nil {
		t.Fatal(err)
	}
	body := e.Body
	if depth > 1 {
		parts, err := e.Children()
		if err != nil {
			t.Fatal(err)
		}
		last := parts[len(parts)-1].Raw
		body = append(bytes.Clone(body[:len(body)-len(last)]), indefinite(t, last, depth-1)...)
	}
	return append(append([]byte{e.Tag, 0x80}, body...), 0, 0)
}

// Evidence records in attributes of the first signer: over the SignedData as it
// stood before, alone or with the content beside it, one after another, in DER
// and with open lengths (RFC 4998, appendix A).
func TestEvidenceRecords(t *testing.T) {
	pki := adestest.Must(t, clock)
	content := []byte("text")
	signed := attached(t, pki.Actor(t, "p256"), content, pki)
	stamped := raised(t, pki, signed, ades.LevelT)
	internal := func(b []byte) []byte {
		return withUnsigned(t, b, 0, oid.AttrEvidenceRecord, evidenceRecord(t, pki, b))
	}
	open := indefinite(t, stamped, 4) // down to the set of signers
	other := evidenceRecord(t, pki, []byte("another file"))
	for name, row := range map[string]struct {
		data []byte
		want []ades.Tri
	}{
		"internal":                   {internal(signed), []ades.Tri{ades.Yes}},
		"beside a time-stamp":        {internal(stamped), []ades.Tri{ades.Yes, ades.Yes}},
		"two, one after another":     {internal(internal(stamped)), []ades.Tri{ades.Yes, ades.Yes, ades.Yes}},
		"external":                   {withUnsigned(t, signed, 0, oid.AttrEvidenceRecordExt, evidenceRecord(t, pki, signed, content)), []ades.Tri{ades.Yes}},
		"external, without content":  {withUnsigned(t, signed, 0, oid.AttrEvidenceRecordExt, evidenceRecord(t, pki, signed)), []ades.Tri{ades.No}},
		"of another file":            {withUnsigned(t, signed, 0, oid.AttrEvidenceRecord, other), []ades.Tri{ades.No}},
		"an attribute added since":   {withUnsigned(t, internal(signed), 0, "1.2.3.4", []byte{5, 0}), []ades.Tri{ades.No}},
		"no record":                  {withUnsigned(t, signed, 0, oid.AttrEvidenceRecord, []byte{0x30, 0}), nil},
		"lengths left open":          {spliced(t, open, evidenceRecord(t, pki, open)), []ades.Tri{ades.Yes, ades.Yes}},
		"lengths left open, another": {spliced(t, open, other), []ades.Tri{ades.Yes, ades.No}},
	} {
		s := read(t, row.data).Signatures[0]
		var got []ades.Tri
		for _, ts := range s.Timestamps {
			got = append(got, ts.ImprintIntact)
			if ts.Kind == ades.RecordTimestamp && !slices.Contains(ts.Covers, s.ID) {
				t.Errorf("%s: the record does not prove that the signature existed", name)
			}
		}
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: imprints %v, want %v", name, got, row.want)
		}
		if s.Intact() != ades.Yes {
			t.Errorf("%s: the signature is not intact", name)
		}
	}
}

// spliced adds a record to the signer of a SignedData whose four outermost
// lengths are left open, byte by byte.
func spliced(t *testing.T, open, record []byte) []byte {
	t.Helper()
	sd, err := cms.Parse(bytes.NewReader(open))
	if err != nil {
		t.Fatal(err)
	}
	si := sd.SignerInfos[0]
	with, err := si.AddUnsigned(cms.NewAttribute(oid.AttrEvidenceRecord, record))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Replace(open, si.Raw, with.Raw, 1)
}
