package ca

import (
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"

	"golang.org/x/crypto/cryptobyte"

	"rogito.dev/rogito/internal/oid"
)

// Revoked is one entry of a revocation list. Reason is that of RFC 5280, 5.3.1.
type Revoked struct {
	Serial *big.Int
	At     time.Time
	Reason int
}

// List is what a revocation list says.
type List struct {
	Number                 *big.Int
	ThisUpdate, NextUpdate time.Time
	Revoked                []Revoked
	// KeepsExpired is the time since when revoked certificates stay listed after
	// they have expired (expiredCertsOnCRL); zero leaves it out.
	KeepsExpired time.Time
}

// CRL signs a revocation list.
func (i Issuer) CRL(l List) ([]byte, error) {
	t := &x509.RevocationList{Number: l.Number, ThisUpdate: l.ThisUpdate, NextUpdate: l.NextUpdate}
	for _, r := range l.Revoked {
		t.RevokedCertificateEntries = append(t.RevokedCertificateEntries, x509.RevocationListEntry{
			SerialNumber: r.Serial, RevocationTime: r.At, ReasonCode: r.Reason,
		})
	}
	if !l.KeepsExpired.IsZero() {
		var b cryptobyte.Builder
		b.AddASN1GeneralizedTime(l.KeepsExpired.UTC().Truncate(time.Second))
		t.ExtraExtensions = []pkix.Extension{extension(oid.ExtExpiredCertsOnCRL, false, b.BytesOrPanic())}
	}
	der, err := x509.CreateRevocationList(rand.Reader, t, i.Certificate, i.Key)
	if err != nil {
		return nil, fmt.Errorf("ca: sign revocation list: %w", err)
	}
	return der, nil
}
