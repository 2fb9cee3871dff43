// Package keyfile reads private keys from the files that people keep them in:
// PKCS#12 (RFC 7292).
package keyfile

import (
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"
	pkcs12 "software.sslmate.com/src/go-pkcs12"
)

// Contents is what a PKCS#12 file held.
type Contents struct {
	Key         crypto.Signer
	Certificate *x509.Certificate
	Chain       []*x509.Certificate
}

// ErrPassword says that the password does not open the file.
var ErrPassword = errors.New("keyfile: wrong password")

// maxIterations bounds what a hostile file may cost: 2^30 rounds of SHA-1 are
// minutes of work.
const maxIterations = 5_000_000

// Read opens a PKCS#12 file (RFC 7292), the old algorithms too (RC2-40
// and 3DES with SHA-1). It returns ErrPassword for a wrong password.
func Read(pfx []byte, password string) (*Contents, error) {
	if len(pfx) > 1<<20 {
		return nil, errors.New("keyfile: PKCS#12 file over 1 MiB")
	}
	if tooManyIterations(cryptobyte.String(pfx), 0) {
		return nil, fmt.Errorf("keyfile: PKCS#12 file asks for more than %d iterations", maxIterations)
	}
	key, cert, chain, err := pkcs12.DecodeChain(pfx, password)
	var not pkcs12.NotImplementedError
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return nil, ErrPassword
	case errors.As(err, &not):
		return nil, fmt.Errorf("keyfile: PKCS#12 file: %w", err)
	case err != nil:
		return nil, fmt.Errorf("keyfile: PKCS#12 file: %w", err)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("keyfile: a %T cannot sign", key)
	}
	same, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !same.Equal(cert.PublicKey) {
		return nil, errors.New("keyfile: the certificate of the PKCS#12 file is not that of its key")
	}
	return &Contents{signer, cert, chain}, nil
}

// tooManyIterations walks the parts of the file that are not encrypted and
// looks for an integer that only an attacker would use as a count. Integers of
// keys and serial numbers are longer than eight bytes or never walked.
func tooManyIterations(s cryptobyte.String, depth int) bool {
	if depth > 16 {
		return false
	}
	for !s.Empty() {
		var body cryptobyte.String
		var tag cbasn1.Tag
		if !s.ReadAnyASN1(&body, &tag) {
			return false
		}
		switch {
		case tag == cbasn1.INTEGER && len(body) <= 8:
			var v int64
			full := append([]byte{byte(tag), byte(len(body))}, body...)
			if _, err := asn1.Unmarshal(full, &v); err == nil && v > maxIterations {
				return true
			}
		case tag&0x20 != 0 || tag == cbasn1.OCTET_STRING:
			if tooManyIterations(body, depth+1) {
				return true
			}
		}
	}
	return false
}
