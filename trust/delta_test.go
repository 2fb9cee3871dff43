package trust_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
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

// lists makes the revocation lists of an authority about one certificate.
type lists struct {
	t    *testing.T
	at   time.Time
	cert *x509.Certificate
	key  crypto.Signer
	leaf *big.Int
}

// authority has a name and usages that anybody could give to a key.
func authority(t *testing.T, at time.Time) *lists {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "An authority"}, NotBefore: at.AddDate(-1, 0, 0), NotAfter: at.AddDate(9, 0, 0),
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, IsCA: true, BasicConstraintsValid: true,
	}
	l := &lists{t: t, at: at, key: key, leaf: big.NewInt(2)}
	l.cert = l.issue(template, template, key.Public())
	return l
}

func (l *lists) issue(template, parent *x509.Certificate, pub crypto.PublicKey) *x509.Certificate {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, pub, l.key)
	if err != nil {
		l.t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func (l *lists) end() *x509.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		l.t.Fatal(err)
	}
	return l.issue(&x509.Certificate{
		SerialNumber: l.leaf, Subject: pkix.Name{CommonName: "A signer"}, NotBefore: l.at.AddDate(0, -6, 0), NotAfter: l.at.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageContentCommitment,
	}, l.cert, key.Public())
}

const (
	unlisted = -1
	hold     = 6
	remove   = 8 // removeFromCRL
	stolen   = 1 // keyCompromise
)

// list is one with a number that says a reason of the certificate; a delta list if base is not 0.
// Its thisUpdate is so many hours ago.
func (l *lists) list(number, base int64, reason int, hours int) ades.Evidence {
	template := &x509.RevocationList{
		Number: big.NewInt(number), ThisUpdate: l.at.Add(time.Duration(-hours) * time.Hour), NextUpdate: l.at.Add(time.Duration(10-hours) * time.Hour),
		RevokedCertificateEntries: []x509.RevocationListEntry{{SerialNumber: big.NewInt(99), RevocationTime: l.at.AddDate(0, -1, 0)}},
	}
	if reason != unlisted {
		e := x509.RevocationListEntry{SerialNumber: l.leaf, RevocationTime: l.at.AddDate(0, -1, 0), ReasonCode: reason}
		template.RevokedCertificateEntries = append(template.RevokedCertificateEntries, e)
	}
	if base != 0 {
		value, err := asn1.Marshal(base)
		if err != nil {
			l.t.Fatal(err)
		}
		template.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 27}, Critical: true, Value: value}}
	}
	der, err := x509.CreateRevocationList(rand.Reader, template, l.cert, l.key)
	if err != nil {
		l.t.Fatal(err)
	}
	return ades.Evidence{Kind: ades.EvidenceCRL, Raw: der}
}

// TestDeltaLists: a delta list counts if the authority itself signed it, can only lift a hold, and
// does not unsay what its complete list says for good.
func TestDeltaLists(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	real, forged := authority(t, at), authority(t, at)
	leaf := real.end()
	for name, c := range map[string]struct {
		lists []ades.Evidence
		good  bool
	}{
		"good":                             {[]ades.Evidence{real.list(5, 0, unlisted, 2)}, true},
		"revoked":                          {[]ades.Evidence{real.list(5, 0, stolen, 2)}, false},
		"on hold":                          {[]ades.Evidence{real.list(5, 0, hold, 2)}, false},
		"revoked since":                    {[]ades.Evidence{real.list(5, 0, unlisted, 2), real.list(6, 5, stolen, 1)}, false},
		"on hold since":                    {[]ades.Evidence{real.list(5, 0, unlisted, 2), real.list(6, 5, hold, 1)}, false},
		"still on hold":                    {[]ades.Evidence{real.list(5, 0, hold, 2), real.list(6, 5, unlisted, 1)}, false},
		"hold lifted":                      {[]ades.Evidence{real.list(5, 0, hold, 2), real.list(6, 5, remove, 1)}, true},
		"hold lifted by anybody":           {[]ades.Evidence{real.list(5, 0, hold, 2), forged.list(6, 5, remove, 1)}, false},
		"revocation lifted":                {[]ades.Evidence{real.list(5, 0, stolen, 2), real.list(6, 5, remove, 1)}, false},
		"revocation lifted by anybody":     {[]ades.Evidence{real.list(5, 0, stolen, 2), forged.list(6, 5, remove, 1)}, false},
		"list too old":                     {[]ades.Evidence{real.list(5, 0, unlisted, 20)}, false},
		"list too old, refreshed":          {[]ades.Evidence{real.list(5, 0, unlisted, 20), real.list(6, 5, unlisted, 1)}, true},
		"list too old, anybody refreshes":  {[]ades.Evidence{real.list(5, 0, unlisted, 20), forged.list(6, 5, unlisted, 1)}, false},
		"delta of a later list":            {[]ades.Evidence{real.list(5, 0, unlisted, 20), real.list(8, 7, unlisted, 1)}, false},
		"revoked in the older of two":      {[]ades.Evidence{real.list(5, 0, unlisted, 3), real.list(6, 5, stolen, 2), real.list(7, 5, unlisted, 1)}, false},
		"hold lifted in the newer of two":  {[]ades.Evidence{real.list(5, 0, unlisted, 3), real.list(6, 5, hold, 2), real.list(7, 5, unlisted, 1)}, true},
		"a delta list and no complete one": {[]ades.Evidence{real.list(6, 5, unlisted, 1)}, false},
	} {
		store := new(trust.Store)
		if err := store.AddAnchor(real.cert.Raw); err != nil {
			t.Fatal(err)
		}
		ev := append(c.lists, ades.Evidence{Kind: ades.EvidenceCertificate, Raw: forged.cert.Raw})
		got := judge(store, leaf.Raw, ev, at, policy.Default())
		if good := got.Indication == report.Passed; good != c.good {
			t.Errorf("%s: %s %s %v", name, got.Indication, got.SubIndication, got.Messages)
		}
	}
}
