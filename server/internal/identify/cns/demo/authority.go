// Package demo makes cards: an authority of them, with its revocation list
// served where it is mounted, and a page where a developer picks one. Tests use
// the cards as well.
package demo

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net/http"
	"sync"
	"time"
)

// Authority issues cards.
type Authority struct {
	Certificate *x509.Certificate
	crl         string // where its list is
	key         crypto.Signer
	now         func() time.Time

	mu      sync.Mutex
	serial  int64
	revoked []x509.RevocationListEntry
}

// NewAuthority makes an authority whose list is at an address.
func NewAuthority(name, crl string, now func() time.Time) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{Country: []string{"IT"}, Organization: []string{"DEMO"}, CommonName: name},
		NotBefore: now().Add(-time.Hour), NotAfter: now().Add(10 * 365 * 24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign, SubjectKeyId: []byte(name),
	}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	c, err := x509.ParseCertificate(der)
	return &Authority{Certificate: c, crl: crl, key: key, now: now, serial: 1}, err
}

// Card is what is asked for. Change, where set, alters the certificate before it
// is signed.
type Card struct {
	Code, GivenName, Surname string
	InSerial                 bool // the fiscal code is in the serial number
	Change                   func(*x509.Certificate)
}

// Policy of cards for authentication.
var Policy = asn1.ObjectIdentifier{1, 3, 76, 16, 2, 1}

// Issue makes a card with its key.
func (a *Authority) Issue(c Card) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.serial++
	serial := a.serial
	a.mu.Unlock()
	subject := pkix.Name{Country: []string{"IT"}, CommonName: c.Code + "/7400000000000000.demo"}
	if c.GivenName != "" || c.Surname != "" { // there are cards without
		subject.ExtraNames = []pkix.AttributeTypeAndValue{
			{Type: asn1.ObjectIdentifier{2, 5, 4, 42}, Value: c.GivenName}, {Type: asn1.ObjectIdentifier{2, 5, 4, 4}, Value: c.Surname},
		}
	}
	if c.InSerial {
		subject.CommonName, subject.SerialNumber = c.GivenName+" "+c.Surname, "TINIT-"+c.Code
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: subject, NotBefore: a.now().Add(-time.Minute), NotAfter: a.now().Add(6 * 365 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, PolicyIdentifiers: []asn1.ObjectIdentifier{Policy},
	}
	if a.crl != "" {
		t.CRLDistributionPoints = []string{a.crl}
	}
	if oid, err := x509.OIDFromInts([]uint64{1, 3, 76, 16, 2, 1}); err == nil {
		t.Policies = []x509.OID{oid}
	}
	if c.Change != nil {
		c.Change(t)
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.Certificate, key.Public(), a.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// Revoke puts a card on the list.
func (a *Authority) Revoke(card *tls.Certificate) error {
	c, err := x509.ParseCertificate(card.Certificate[0])
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.revoked = append(a.revoked, x509.RevocationListEntry{SerialNumber: c.SerialNumber, RevocationTime: a.now().Add(-time.Second)})
	return nil
}

// ServeHTTP serves the list.
func (a *Authority) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	der, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{
		Number: big.NewInt(now.Unix()), ThisUpdate: now.Add(-time.Minute), NextUpdate: now.Add(time.Hour), RevokedCertificateEntries: a.revoked,
	}, a.Certificate, a.key)
	if err != nil {
		http.Error(w, "no list", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/pkix-crl")
	_, _ = w.Write(der) // the client may be gone
}

// PEM is the authority's certificate.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate.Raw})
}
