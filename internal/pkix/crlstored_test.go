package pkix

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	xpkix "crypto/x509/pkix"
	"math/big"
	"testing"
	"time"
)

// listOf signs a list of the serial numbers; it returns the issuer as well.
func listOf(t testing.TB, edwards bool, serials ...*big.Int) (*Certificate, []byte) {
	t.Helper()
	tpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: xpkix.Name{CommonName: "Lister"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageCRLSign | x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true, SubjectKeyId: []byte{1},
	}
	list := &x509.RevocationList{Number: big.NewInt(5), ThisUpdate: time.Now().Add(-time.Minute), NextUpdate: time.Now().Add(time.Hour)}
	for _, n := range serials {
		list.RevokedCertificateEntries = append(list.RevokedCertificateEntries, x509.RevocationListEntry{SerialNumber: n, RevocationTime: time.Now(), ReasonCode: 4})
	}
	der, crl, err := sign(edwards, tpl, list)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return c, crl
}

func sign(edwards bool, tpl *x509.Certificate, list *x509.RevocationList) (cert, crl []byte, err error) {
	if edwards {
		pub, key, _ := ed25519.GenerateKey(rand.Reader)
		if cert, err = x509.CreateCertificate(rand.Reader, tpl, tpl, pub, key); err == nil {
			crl, err = x509.CreateRevocationList(rand.Reader, list, tpl, key)
		}
		return cert, crl, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if cert, err = x509.CreateCertificate(rand.Reader, tpl, tpl, key.Public(), key); err == nil {
		crl, err = x509.CreateRevocationList(rand.Reader, list, tpl, key)
	}
	return cert, crl, err
}

// A list says the same in memory and where it is stored, at the first look and
// at the second, across the pieces in which it is read.
func TestStoredList(t *testing.T) {
	var serials []*big.Int
	for i := range int64(20_000) {
		serials = append(serials, big.NewInt(1<<40+i*3))
	}
	serials = append(serials, big.NewInt(7), new(big.Int).Lsh(big.NewInt(1), 159))
	for _, edwards := range []bool{false, true} {
		issuer, der := listOf(t, edwards, serials...)
		whole, err := ParseCRL(der)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := OpenCRL(bytes.NewReader(der), int64(len(der)))
		if err != nil {
			t.Fatal(err)
		}
		if stored.Raw != nil || stored.Number.Cmp(whole.Number) != 0 || !stored.NextUpdate.Equal(whole.NextUpdate) || stored.IssuerKey() != whole.IssuerKey() || stored.Size() != int64(len(der)) {
			t.Errorf("%+v", stored)
		}
		if b, err := stored.Bytes(); err != nil || !bytes.Equal(b, der) {
			t.Errorf("bytes: %v", err)
		}
		for _, c := range []*CRL{whole, stored} {
			if err := c.CheckSignatureFrom(issuer); err != nil {
				t.Errorf("signature: %v", err)
			}
		}
		for round := range 2 {
			for i := int64(-3); i < 60_003; i += 97 {
				same(t, whole, stored, big.NewInt(1<<40+i))
			}
			for _, n := range []*big.Int{big.NewInt(7), big.NewInt(8), new(big.Int).Lsh(big.NewInt(1), 159), big.NewInt(-5)} {
				same(t, whole, stored, n)
			}
			if !whole.sound.Load() || !stored.sound.Load() {
				t.Errorf("round %d: not read through", round)
			}
		}
		bad := bytes.Clone(der)
		bad[len(bad)/2] ^= 1
		if c, err := OpenCRL(bytes.NewReader(bad), int64(len(bad))); err == nil && c.CheckSignatureFrom(issuer) == nil {
			t.Error("an altered list is signed")
		}
	}
}

// A list that shrinks under its reader is an error, not a list without entries.
func TestStoredListShrinks(t *testing.T) {
	_, der := listOf(t, false, big.NewInt(1<<40), big.NewInt(1<<41))
	src := &shrinking{bytes.NewReader(der)}
	c, err := OpenCRL(src, int64(len(der)))
	if err != nil {
		t.Fatal(err)
	}
	cert := &Certificate{SerialNumber: big.NewInt(1 << 41), issuerKey: c.issuerKey}
	if _, listed, err := c.Find(cert); err != nil || !listed {
		t.Fatalf("listed %v, %v", listed, err)
	}
	src.Reader = bytes.NewReader(der[:c.stored.list.at+1])
	if _, listed, err := c.Find(cert); err == nil {
		t.Errorf("listed %v, and no error", listed)
	}
	c.sound.Store(false)
	if _, listed, err := c.Find(cert); err == nil {
		t.Errorf("listed %v, and no error when it is read through", listed)
	}
}

type shrinking struct{ *bytes.Reader }

func same(t *testing.T, a, b *CRL, serial *big.Int) {
	t.Helper()
	cert := &Certificate{SerialNumber: serial, issuerKey: a.issuerKey}
	ea, la, errA := a.Find(cert)
	eb, lb, errB := b.Find(cert)
	if la != lb || ea.Reason != eb.Reason || !ea.RevokedAt.Equal(eb.RevokedAt) || (errA == nil) != (errB == nil) {
		t.Errorf("%v: %v %v %v in memory, %v %v %v stored", serial, ea, la, errA, eb, lb, errB)
	}
	in := serial.Sign() > 0 && (serial.Int64() == 7 || serial.BitLen() == 160 || serial.Int64() >= 1<<40 && (serial.Int64()-1<<40)%3 == 0 && serial.Int64() < 1<<40+60_000)
	if la != in {
		t.Errorf("%v: listed %v", serial, la)
	}
}

// FuzzStoredList: whatever opens where it is stored reads in memory as well,
// and says the same.
func FuzzStoredList(f *testing.F) {
	_, der := listOf(f, false, big.NewInt(7), big.NewInt(1<<40))
	f.Add(der)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := OpenCRL(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		m, err := ParseCRL(b)
		if err != nil {
			t.Fatalf("stored it opens, in memory %v", err)
		}
		for _, n := range []int64{7, 1 << 40, 9} {
			cert := &Certificate{SerialNumber: big.NewInt(n), issuerKey: m.issuerKey}
			for range 2 {
				es, ls, errS := s.Find(cert)
				em, lm, errM := m.Find(cert)
				if ls != lm || (errS == nil) != (errM == nil) || es.Reason != em.Reason {
					t.Fatalf("stored %v %v %v, in memory %v %v %v", es, ls, errS, em, lm, errM)
				}
			}
		}
	})
}
