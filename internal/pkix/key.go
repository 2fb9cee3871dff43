package pkix

import (
	"crypto/dsa" //nolint:staticcheck // old signatures are to be read, not made
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"fmt"
	"math/big"

	"github.com/ProtonMail/go-crypto/brainpool"
)

// curves by object identifier: the NIST curves, and those brainpool curves that are in use.
var curves = map[string]func() elliptic.Curve{
	"1.3.132.0.33":          elliptic.P224,
	"1.2.840.10045.3.1.7":   elliptic.P256,
	"1.3.132.0.34":          elliptic.P384,
	"1.3.132.0.35":          elliptic.P521,
	"1.3.36.3.3.2.8.1.1.7":  brainpool.P256r1,
	"1.3.36.3.3.2.8.1.1.8":  brainpool.P256t1,
	"1.3.36.3.3.2.8.1.1.11": brainpool.P384r1,
	"1.3.36.3.3.2.8.1.1.12": brainpool.P384t1,
	"1.3.36.3.3.2.8.1.1.13": brainpool.P512r1,
	"1.3.36.3.3.2.8.1.1.14": brainpool.P512t1,
}

// CurveOf returns the curve with that object identifier (the one in SubjectPublicKeyInfo and in the
// NamedCurve of XML signatures).
func CurveOf(oid string) (elliptic.Curve, bool) {
	f, ok := curves[oid]
	if !ok {
		return nil, false
	}
	return f(), true
}

func isNIST(c elliptic.Curve) bool {
	return c == elliptic.P224() || c == elliptic.P256() || c == elliptic.P384() || c == elliptic.P521()
}

// Ed448PublicKey is a public key of RFC 8032, 5.2, which the standard library does not support.
type Ed448PublicKey []byte

// ParsePublicKey reads a SubjectPublicKeyInfo. Keys are *rsa.PublicKey,
// *ecdsa.PublicKey, ed25519.PublicKey, Ed448PublicKey or *dsa.PublicKey.
func ParsePublicKey(spki []byte) (any, AlgorithmIdentifier, error) {
	r, ok := single(spki, tagSequence)
	if !ok {
		return nil, AlgorithmIdentifier{}, errDER
	}
	e, ok := r.take(tagSequence)
	if !ok {
		return nil, AlgorithmIdentifier{}, errDER
	}
	alg, err := algorithmIdentifier(e)
	if err != nil {
		return nil, alg, err
	}
	bs, ok := r.take(tagBitString)
	if !ok {
		return nil, alg, errDER
	}
	key, ok := bits(bs.body)
	if !ok {
		return nil, alg, errDER
	}
	pub, err := parseKey(alg, key)
	return pub, alg, err
}

func parseKey(alg AlgorithmIdentifier, key []byte) (any, error) {
	switch alg.OID {
	case "1.2.840.113549.1.1.1", oidPSS, "2.5.8.1.1":
		return parseRSA(key)
	case "1.2.840.10045.2.1":
		return parseEC(alg.Params, key)
	case "1.3.101.112":
		if len(key) == ed25519.PublicKeySize {
			return ed25519.PublicKey(key), nil
		}
	case "1.3.101.113":
		if len(key) == 57 {
			return Ed448PublicKey(key), nil
		}
	case "1.2.840.10040.4.1", "1.3.14.3.2.12":
		return parseDSA(alg.Params, key)
	}
	return nil, fmt.Errorf("%w: key of type %s", ErrUnsupported, alg.OID)
}

func parseRSA(key []byte) (any, error) {
	r := reader(key)
	seq, ok := r.take(tagSequence)
	if !ok {
		return nil, errDER
	}
	in := reader(seq.body)
	n, okN := in.take(tagInteger)
	e, okE := in.take(tagInteger)
	if !okN || !okE {
		return nil, errDER
	}
	// A modulus without leading zero octet looks negative but is not.
	modulus, exponent := new(big.Int).SetBytes(n.body), new(big.Int).SetBytes(e.body)
	if modulus.BitLen() < 256 || modulus.BitLen() > 16384 || exponent.BitLen() > 62 || exponent.BitLen() < 2 {
		return nil, fmt.Errorf("%w: RSA key of %d bits", ErrUnsupported, modulus.BitLen())
	}
	return &rsa.PublicKey{N: modulus, E: int(exponent.Int64())}, nil
}

func parseEC(params, key []byte) (any, error) {
	curve, err := parseCurve(params)
	if err != nil {
		return nil, err
	}
	x, y, ok := ParsePoint(curve, key)
	if !ok {
		return nil, fmt.Errorf("point is not on the curve")
	}
	return &ecdsa.PublicKey{Curve: curve, X: x, Y: y}, nil //nolint:staticcheck // brainpool has no other way in
}

func parseCurve(params []byte) (elliptic.Curve, error) {
	r := reader(params)
	e, ok := r.next()
	if !ok {
		return nil, errDER
	}
	if e.tag == tagOID {
		id := parseOID(e.body)
		if c, ok := CurveOf(id); ok {
			return c, nil
		}
		return nil, fmt.Errorf("%w: curve %s", ErrUnsupported, id)
	}
	if c, ok := explicitCurve(e); ok {
		return c, nil
	}
	return nil, fmt.Errorf("%w: explicit curve parameters", ErrUnsupported)
}

// explicitCurve accepts explicit parameters only if all of them equal those of a named curve:
// otherwise a forger could choose the generator.
func explicitCurve(e element) (elliptic.Curve, bool) {
	in := reader(e.body)
	_, okV := in.take(tagInteger)
	field, okF := in.take(tagSequence)
	ab, okA := in.take(tagSequence)
	base, okB := in.take(tagOctetString)
	order, okO := in.take(tagInteger)
	if !okV || !okF || !okA || !okB || !okO {
		return nil, false
	}
	fr := reader(field.body)
	fr.take(tagOID)
	p, ok := fr.take(tagInteger)
	if !ok {
		return nil, false
	}
	abr := reader(ab.body)
	a, _ := abr.take(tagOctetString)
	b, _ := abr.take(tagOctetString)
	prime := new(big.Int).SetBytes(p.body)
	for id, f := range curves {
		c := f()
		cp := c.Params()
		if cp.P.Cmp(prime) != 0 || cp.N.Cmp(new(big.Int).SetBytes(order.body)) != 0 {
			continue
		}
		// Only NIST curves: their a is p-3, and Params has B.
		if id[0:4] == "1.3." && id[4] == '3' && id[5] == '6' {
			continue
		}
		minus3 := new(big.Int).Sub(cp.P, big.NewInt(3))
		x, y, ok := ParsePoint(c, base.body)
		if ok && x.Cmp(cp.Gx) == 0 && y.Cmp(cp.Gy) == 0 &&
			new(big.Int).SetBytes(a.body).Cmp(minus3) == 0 && new(big.Int).SetBytes(b.body).Cmp(cp.B) == 0 {
			return c, true
		}
	}
	return nil, false
}

// ParsePoint reads an uncompressed (or, for NIST curves, compressed) point.
func ParsePoint(curve elliptic.Curve, key []byte) (x, y *big.Int, ok bool) {
	size := (curve.Params().BitSize + 7) / 8
	switch {
	case len(key) == 1+2*size && key[0] == 4:
		x, y = new(big.Int).SetBytes(key[1:1+size]), new(big.Int).SetBytes(key[1+size:])
	case len(key) == 1+size && (key[0] == 2 || key[0] == 3) && isNIST(curve):
		x, y = elliptic.UnmarshalCompressed(curve, key)
	}
	if x == nil {
		return nil, nil, false
	}
	p := curve.Params().P
	return x, y, x.Cmp(p) < 0 && y.Cmp(p) < 0 && curve.IsOnCurve(x, y) //nolint:staticcheck // brainpool has no other way in
}

func parseDSA(params, key []byte) (any, error) {
	r, ok := single(params, tagSequence)
	if !ok {
		return nil, errDER
	}
	p, okP := r.take(tagInteger)
	q, okQ := r.take(tagInteger)
	g, okG := r.take(tagInteger)
	kr := reader(key)
	y, okY := kr.take(tagInteger)
	if !okP || !okQ || !okG || !okY {
		return nil, errDER
	}
	pub := &dsa.PublicKey{Y: Integer(y.body)}
	pub.P, pub.Q, pub.G = Integer(p.body), Integer(q.body), Integer(g.body)
	return pub, nil
}
