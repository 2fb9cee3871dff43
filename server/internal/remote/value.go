package remote

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/oid"
)

// Verified returns a value of the key over the digest in the form that
// signatures carry, nil for one that is not: ECDSA comes as DER or as r and s.
func Verified(pub crypto.PublicKey, h crypto.Hash, pss bool, digest, v []byte) []byte {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		var err error
		if pss {
			err = rsa.VerifyPSS(k, h, digest, v, &rsa.PSSOptions{SaltLength: h.Size(), Hash: h})
		} else {
			err = rsa.VerifyPKCS1v15(k, h, digest, v)
		}
		if err == nil {
			return v
		}
	case *ecdsa.PublicKey:
		if n := (k.Curve.Params().BitSize + 7) / 8; len(v) == 2*n {
			pair := struct{ R, S *big.Int }{new(big.Int).SetBytes(v[:n]), new(big.Int).SetBytes(v[n:])}
			if der, err := asn1.Marshal(pair); err == nil && ecdsa.VerifyASN1(k, digest, der) {
				return der
			}
		}
		if ecdsa.VerifyASN1(k, digest, v) {
			return v
		}
	}
	return nil
}

// SignedBare says that a value is over the digest without the DigestInfo that
// PKCS #1 wants before it: a service that pads what it is given as it is. Such a
// value is a signature of nothing.
func SignedBare(pub crypto.PublicKey, digest, v []byte) bool {
	k, ok := pub.(*rsa.PublicKey)
	return ok && rsa.VerifyPKCS1v15(k, 0, digest, v) == nil
}

// DigestInfo is a digest as PKCS #1 signs it (RFC 8017, 9.2).
func DigestInfo(h crypto.Hash, digest []byte) ([]byte, error) {
	var id asn1.ObjectIdentifier
	for arc := range strings.SplitSeq(oid.OfHash(h), ".") {
		n, err := strconv.Atoi(arc)
		if err != nil {
			return nil, err
		}
		id = append(id, n)
	}
	return asn1.Marshal(struct {
		Algorithm pkix.AlgorithmIdentifier
		Digest    []byte
	}{pkix.AlgorithmIdentifier{Algorithm: id, Parameters: asn1.NullRawValue}, digest})
}
