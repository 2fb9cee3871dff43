package trust_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

// written is a list with an entry of another certificate, which change may alter before it is
// signed, and its fields after that, which are then signed again.
func (l *lists) written(change func(*x509.RevocationList), fields func([]asn1.RawValue)) ades.Evidence {
	l.t.Helper()
	template := &x509.RevocationList{
		Number: big.NewInt(5), ThisUpdate: l.at.Add(-time.Hour), NextUpdate: l.at.Add(time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(99), RevocationTime: l.at.AddDate(0, -1, 0)}},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, l.cert, l.key)
	if err != nil {
		l.t.Fatal(err)
	}
	if fields == nil {
		return ades.Evidence{Kind: ades.EvidenceCRL, Raw: der}
	}
	var list struct {
		Signed    []asn1.RawValue
		Algorithm asn1.RawValue
		Value     asn1.BitString
	}
	if _, err := asn1.Unmarshal(der, &list); err != nil {
		l.t.Fatal(err)
	}
	fields(list.Signed)
	signed, err := asn1.Marshal(list.Signed)
	if err != nil {
		l.t.Fatal(err)
	}
	sum := sha256.Sum256(signed)
	value, err := ecdsa.SignASN1(rand.Reader, l.key.(*ecdsa.PrivateKey), sum[:])
	if err != nil {
		l.t.Fatal(err)
	}
	list.Value = asn1.BitString{Bytes: value, BitLength: 8 * len(value)}
	if der, err = asn1.Marshal(list); err != nil {
		l.t.Fatal(err)
	}
	return ades.Evidence{Kind: ades.EvidenceCRL, Raw: der}
}

// TestListsNotUnderstood: a list that says something that is not understood, about whatever
// certificate, says nothing about any (RFC 5280, 5.2 and 5.3).
func TestListsNotUnderstood(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	l := authority(t, at)
	leaf := l.end()
	const entries, extensions = 5, 6 // of the fields
	scope := func(value ...byte) func(*x509.RevocationList) {
		return func(r *x509.RevocationList) {
			r.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 28}, Critical: true, Value: value}}
		}
	}
	other := func(id asn1.ObjectIdentifier, value ...byte) func(*x509.RevocationList) {
		return func(r *x509.RevocationList) {
			r.RevokedCertificateEntries[0].ExtraExtensions = []pkix.Extension{{Id: id, Critical: true, Value: value}}
		}
	}
	for name, c := range map[string]struct {
		list ades.Evidence
		good bool
	}{
		"understood":      {l.written(nil, nil), true},
		"signed again":    {l.written(nil, func([]asn1.RawValue) {}), true},
		"for people":      {l.written(scope(0x30, 3, 0x81, 1, 0xff), nil), true},
		"for authorities": {l.written(scope(0x30, 3, 0x82, 1, 0xff), nil), false},
		"a known critical extension of another entry": {l.written(other(asn1.ObjectIdentifier{2, 5, 29, 24}, append([]byte{0x18, 15}, "20260101000000Z"...)...), nil), true},
		"critical extension of another entry":         {l.written(other(asn1.ObjectIdentifier{1, 2, 3, 4}, 5, 0), nil), false},
		"scope with an unknown field":                 {l.written(scope(0x30, 3, 0x86, 1, 0xff), nil), false},
		"scope that is no sequence":                   {l.written(scope(0x31, 3, 0x82, 1, 0xff), nil), false},
		"issuer of another entry, not readable": {l.written(func(r *x509.RevocationList) {
			scope(0x30, 3, 0x84, 1, 0xff)(r)
			other(asn1.ObjectIdentifier{2, 5, 29, 29}, 0x30, 0)(r)
		}, nil), false},
		"extensions that break off before the scope": {l.written(scope(0x30, 3, 0x82, 1, 0xff), func(f []asn1.RawValue) {
			var list []asn1.RawValue
			if _, err := asn1.Unmarshal(f[extensions].Bytes, &list); err != nil {
				t.Fatal(err)
			}
			inner, err := asn1.Marshal(append([]asn1.RawValue{{Tag: asn1.TagSet, IsCompound: true}}, list...))
			if err != nil {
				t.Fatal(err)
			}
			f[extensions] = asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: inner}
		}), false},
		"entries in a set": {l.written(func(r *x509.RevocationList) { r.RevokedCertificateEntries[0].SerialNumber = leaf.SerialNumber }, func(f []asn1.RawValue) {
			f[entries] = asn1.RawValue{Tag: asn1.TagSet, IsCompound: true, Bytes: f[entries].Bytes}
		}), false},
	} {
		store := new(trust.Store)
		if err := store.AddAnchor(l.cert.Raw); err != nil {
			t.Fatal(err)
		}
		got := judge(store, leaf.Raw, []ades.Evidence{c.list}, at, policy.Default())
		if good := got.Indication == report.Passed; good != c.good {
			t.Errorf("%s: %s %s %v", name, got.Indication, got.SubIndication, got.Messages)
		}
	}
}
