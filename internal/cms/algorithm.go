package cms

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"fmt"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// AlgorithmIdentifier is an algorithm with its unparsed parameters.
type AlgorithmIdentifier struct {
	OID    string
	Params []byte // whole TLV; nil if absent
	Raw    []byte
}

func parseAlgorithm(e Element) (AlgorithmIdentifier, error) {
	if e.Tag != TagSequence {
		return AlgorithmIdentifier{}, errTag
	}
	parts, err := e.Children()
	if err != nil || len(parts) == 0 || len(parts) > 2 || parts[0].Tag != TagOID {
		return AlgorithmIdentifier{}, fmt.Errorf("bad AlgorithmIdentifier")
	}
	a := AlgorithmIdentifier{Raw: e.Raw}
	if a.OID, err = oid.Parse(parts[0].Body); err != nil {
		return a, err
	}
	if len(parts) == 2 {
		a.Params = parts[1].Raw
	}
	return a, nil
}

// ParseAlgorithm reads an encoded AlgorithmIdentifier.
func ParseAlgorithm(raw []byte) (AlgorithmIdentifier, error) {
	e, rest, err := ReadElement(raw)
	if err != nil {
		return AlgorithmIdentifier{}, err
	}
	if len(rest) > 0 {
		return AlgorithmIdentifier{}, errTrailing
	}
	return parseAlgorithm(e)
}

// Hash is the hash function of a digest algorithm.
func (a AlgorithmIdentifier) Hash() (crypto.Hash, bool) { return oid.Hash(a.OID) }

// DigestAlgorithm encodes the identifier of a hash function, without
// parameters (RFC 5754).
func DigestAlgorithm(h crypto.Hash) []byte {
	return TLV(TagSequence, TLV(TagOID, oid.Content(oid.OfHash(h))))
}

// SignatureAlgorithm encodes the algorithm identifier of signatures with a key: RSA PKCS#1 v1.5 or
// PSS, ECDSA, Ed25519.
func SignatureAlgorithm(pub crypto.PublicKey, h crypto.Hash, pss bool) ([]byte, error) {
	switch pub.(type) {
	case *rsa.PublicKey:
		if pss {
			return pssAlgorithm(h), nil
		}
		if id, ok := rsaWith[h]; ok {
			return TLV(TagSequence, TLV(TagOID, oid.Content(id)), []byte{TagNull, 0}), nil
		}
	case *ecdsa.PublicKey:
		if id, ok := ecdsaWith[h]; ok {
			return TLV(TagSequence, TLV(TagOID, oid.Content(id))), nil
		}
	case ed25519.PublicKey:
		return TLV(TagSequence, TLV(TagOID, oid.Content(oid.Ed25519))), nil
	}
	return nil, fmt.Errorf("no signature algorithm for %T with %v", pub, h)
}

// Scheme is the scheme of that algorithm, to check values with.
func Scheme(pub crypto.PublicKey, h crypto.Hash, pss bool) (pkix.Scheme, error) {
	alg, err := SignatureAlgorithm(pub, h, pss)
	if err != nil {
		return pkix.Scheme{}, err
	}
	id, err := pkix.ParseAlgorithmIdentifier(alg)
	if err != nil {
		return pkix.Scheme{}, err
	}
	return pkix.SchemeOf(id, h)
}

var rsaWith = map[crypto.Hash]string{
	crypto.SHA1: oid.SHA1WithRSA, crypto.SHA256: oid.SHA256WithRSA, crypto.SHA384: oid.SHA384WithRSA,
	crypto.SHA512: oid.SHA512WithRSA, crypto.SHA3_256: oid.SHA3_256WithRSA,
	crypto.SHA3_384: oid.SHA3_384WithRSA, crypto.SHA3_512: oid.SHA3_512WithRSA,
}

var ecdsaWith = map[crypto.Hash]string{
	crypto.SHA1: oid.SHA1WithECDSA, crypto.SHA256: oid.SHA256WithECDSA, crypto.SHA384: oid.SHA384WithECDSA,
	crypto.SHA512: oid.SHA512WithECDSA, crypto.SHA3_256: oid.SHA3_256WithECDSA,
	crypto.SHA3_384: oid.SHA3_384WithECDSA, crypto.SHA3_512: oid.SHA3_512WithECDSA,
}

// pssAlgorithm is RSASSA-PSS with MGF1 over the same hash and a salt of the hash's length (RFC
// 4055, RFC 4056).
func pssAlgorithm(h crypto.Hash) []byte {
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		oid.Add(b, oid.RSAPSS)
		b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.Tag(0).ContextSpecific().Constructed(), func(b *cryptobyte.Builder) { addHash(b, h) })
			b.AddASN1(cbasn1.Tag(1).ContextSpecific().Constructed(), func(b *cryptobyte.Builder) {
				b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
					oid.Add(b, oid.MGF1)
					addHash(b, h)
				})
			})
			b.AddASN1(cbasn1.Tag(2).ContextSpecific().Constructed(), func(b *cryptobyte.Builder) {
				b.AddASN1Int64(int64(h.Size()))
			})
		})
	})
	return b.BytesOrPanic()
}

// addHash adds a hash with NULL parameters, as RFC 4055 requires inside PSS.
func addHash(b *cryptobyte.Builder, h crypto.Hash) {
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		oid.Add(b, oid.OfHash(h))
		b.AddASN1NULL()
	})
}
