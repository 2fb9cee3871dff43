// Package keyfile reads private keys from files: PKCS#12 (RFC 7292), in DER or BER, with legacy
// (3DES, RC2 and RC4 with SHA-1) or current password-based encryption (PBES2, RFC 8018; PBMAC1, RFC
// 9579); and PEM, encrypted or not.
package keyfile

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/cms"
)

// Contents is the content of a PKCS#12 file.
type Contents struct {
	Key         crypto.Signer
	Certificate *x509.Certificate
	Chain       []*x509.Certificate
}

// ErrPassword means that the password does not open the file.
var ErrPassword = errors.New("wrong password of the key file")

// maxFile bounds a file, maxIterations the total cost of its key derivations: a hostile file that
// asks for 2^30 rounds would take minutes.
const (
	maxFile       = 1 << 20
	maxIterations = 3_000_000
)

// Read opens a PKCS#12 file. It returns ErrPassword for a wrong password; an unknown algorithm is
// named in the error. If there are several keys, exactly one must have a certificate.
func Read(pfx []byte, password string) (*Contents, error) {
	if len(pfx) > maxFile {
		return nil, errors.New("PKCS#12 file over 1 MiB")
	}
	e, _, err := cms.ReadElement(pfx)
	if err != nil {
		return nil, fmt.Errorf("not a PKCS#12 file: %w", err)
	}
	r := &reader{}
	if err := r.open(e.Raw, password); err != nil {
		if errors.Is(err, ErrPassword) {
			return nil, ErrPassword
		}
		return nil, fmt.Errorf("PKCS#12 file: %w", err)
	}
	return r.contents()
}

// contents picks the key and its certificate.
func (r *reader) contents() (*Contents, error) {
	switch {
	case len(r.keys) == 0:
		return nil, errors.New("the PKCS#12 file has no private key")
	case len(r.certs) == 0:
		return nil, errors.New("the PKCS#12 file has no certificate")
	}
	var out *Contents
	var names []string
	for _, k := range r.keys {
		cert := r.certificateOf(k.signer)
		if cert == nil {
			continue
		}
		names = append(names, k.label())
		out = &Contents{Key: k.signer, Certificate: cert}
	}
	switch {
	case out == nil:
		return nil, errors.New("the certificate of the PKCS#12 file is not that of its key")
	case len(names) > 1:
		return nil, fmt.Errorf("the PKCS#12 file has %d keys with certificates (%s): export the one to sign with into a file of its own", len(names), strings.Join(names, ", "))
	}
	out.Chain = r.chain(out.Certificate)
	return out, nil
}

func (r *reader) certificateOf(key crypto.Signer) *x509.Certificate {
	same, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok {
		return nil
	}
	for _, c := range r.certs {
		if same.Equal(c.PublicKey) {
			return c
		}
	}
	return nil
}

// chain returns the other certificates, beginning with the issuers in order.
func (r *reader) chain(leaf *x509.Certificate) (chain []*x509.Certificate) {
	left := slices.DeleteFunc(slices.Clone(r.certs), leaf.Equal)
	for at := leaf; ; {
		i := slices.IndexFunc(left, func(c *x509.Certificate) bool { return bytes.Equal(c.RawSubject, at.RawIssuer) })
		if i < 0 {
			return append(chain, left...)
		}
		at = left[i]
		chain, left = append(chain, at), slices.Delete(left, i, i+1)
	}
}
