package pkix

import (
	"bytes"
	"crypto"
	"crypto/dsa" //nolint:staticcheck // old signatures are to be read, not made
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	mathbits "math/bits"

	"github.com/cloudflare/circl/sign/ed448"

	"rogito.dev/rogito/internal/oid"
)

// CheckSignature checks a signature over a message by its algorithm identifier. It returns nil,
// ErrSignature, or an error wrapping ErrUnsupported if it cannot be checked.
func CheckSignature(alg AlgorithmIdentifier, pub any, message, sig []byte) error {
	s, err := SchemeOf(alg, 0)
	if err != nil {
		return err
	}
	return s.Verify(pub, message, sig)
}

// Verify checks a signature over a message.
func (s Scheme) Verify(pub any, message, sig []byte) error {
	switch s.Kind {
	case Ed25519:
		key, ok := pub.(ed25519.PublicKey)
		return decide(ok, ok && len(sig) == ed25519.SignatureSize && ed25519.Verify(key, message, sig))
	case Ed448:
		key, ok := pub.(Ed448PublicKey)
		return decide(ok, ok && ed448.Verify(ed448.PublicKey(key), message, sig, ""))
	}
	if !s.Hash.Available() {
		return fmt.Errorf("%w: hash of %s", ErrUnsupported, s.OID)
	}
	return s.VerifyDigest(pub, oid.Sum(s.Hash, message), sig)
}

// VerifyDigest checks a signature over a digest made with the scheme's hash.
// The Edwards curves need the message itself.
func (s Scheme) VerifyDigest(pub any, digest, sig []byte) error {
	if !s.Hash.Available() || len(digest) != s.Hash.Size() {
		return fmt.Errorf("%w: digest for %s", ErrUnsupported, s.Name())
	}
	switch s.Kind {
	case RSA:
		key, ok := pub.(*rsa.PublicKey)
		return decide(ok, ok && verifyPKCS1(key, s.Hash, digest, sig))
	case PSS:
		key, ok := pub.(*rsa.PublicKey)
		return decide(ok, ok && s.verifyPSS(key, digest, sig))
	case ECDSA:
		key, ok := pub.(*ecdsa.PublicKey)
		return decide(ok, ok && verifyECDSA(key, digest, sig, s.Plain))
	case DSA:
		key, ok := pub.(*dsa.PublicKey)
		return decide(ok, ok && verifyDSA(key, digest, sig, s.Plain))
	}
	return fmt.Errorf("%w: %s", ErrUnsupported, s.Name())
}

func decide(rightKey, good bool) error {
	switch {
	case good:
		return nil
	case !rightKey:
		return fmt.Errorf("%w: the key is of another kind", ErrUnsupported)
	}
	return ErrSignature
}

// Bounds on keys, so that no check takes seconds. Longer keys are not used in practice.
const (
	maxRSA = 16384
	maxDSA = 4096
)

// standard reports whether crypto/rsa accepts a key. It rejects short keys and unusual exponents,
// but signatures with these must still be checked, since policy decides what is weak: math/big does
// that.
func standard(key *rsa.PublicKey) bool {
	return key.N.BitLen() >= 1024 && key.N.BitLen() <= maxRSA && key.N.Bit(0) == 1 && key.E > 2 && key.E < 1<<31-1 && key.E&1 == 1
}

func verifyPKCS1(key *rsa.PublicKey, hash crypto.Hash, digest, sig []byte) bool {
	if standard(key) && hash != crypto.RIPEMD160 { // crypto/rsa has another prefix for it
		return rsa.VerifyPKCS1v15(key, hash, digest, sig) == nil
	}
	em, ok := rsaRecover(key, sig)
	return ok && isPKCS1(em, hash, digest)
}

// isPKCS1 compares the whole EMSA-PKCS1-v1_5 (RFC 8017, 9.2), including the padding.
func isPKCS1(em []byte, hash crypto.Hash, digest []byte) bool {
	prefix := digestInfo(hash)
	pad := len(em) - len(prefix) - len(digest) - 3
	if prefix == nil || len(digest) != hash.Size() || pad < 8 || em[0] != 0 || em[1] != 1 || em[2+pad] != 0 {
		return false
	}
	for _, b := range em[2 : 2+pad] {
		if b != 0xff {
			return false
		}
	}
	return bytes.Equal(em[3+pad:len(em)-len(digest)], prefix) && bytes.Equal(em[len(em)-len(digest):], digest)
}

// digestInfo is the octets before a digest in a DigestInfo (RFC 8017, 9.2), with NULL as the hash's
// parameters; nil if the hash has no identifier.
func digestInfo(hash crypto.Hash) []byte {
	id := oid.OfHash(hash)
	if id == "" {
		return nil
	}
	digest := encode(tagOctetString, make([]byte, hash.Size()))
	info := encode(tagSequence, encode(tagSequence, encodeOID(id), []byte{tagNull, 0}), digest)
	return info[:len(info)-hash.Size()]
}

// rsaRecover is RSAVP1; the result has the length of the modulus.
func rsaRecover(key *rsa.PublicKey, sig []byte) ([]byte, bool) {
	size := (key.N.BitLen() + 7) / 8
	if size > maxRSA/8 || size < 32 || len(sig) != size || key.E < 2 {
		return nil, false
	}
	c := new(big.Int).SetBytes(sig)
	if c.Cmp(key.N) >= 0 {
		return nil, false
	}
	return c.Exp(c, big.NewInt(int64(key.E)), key.N).FillBytes(make([]byte, size)), true
}

func (s Scheme) verifyPSS(key *rsa.PublicKey, digest, sig []byte) bool {
	if standard(key) && s.MGF == s.Hash {
		length := rsa.PSSSaltLengthAuto
		if s.Salt > 0 {
			length = s.Salt
		}
		good := rsa.VerifyPSS(key, s.Hash, digest, sig, &rsa.PSSOptions{SaltLength: length}) == nil
		if !good || s.Salt != 0 {
			return good
		}
		// crypto/rsa cannot require an empty salt: 0 means any length there.
	}
	full, ok := rsaRecover(key, sig)
	return ok && s.MGF.Available() && s.isPSS(key, full, digest)
}

// isPSS is EMSA-PSS-VERIFY (RFC 8017, 9.1.2), implemented here because crypto/rsa does not support
// mask generation with another hash.
func (s Scheme) isPSS(key *rsa.PublicKey, full, digest []byte) bool {
	emBits := key.N.BitLen() - 1
	emLen := (emBits + 7) / 8
	if len(full) > emLen {
		if full[0] != 0 {
			return false
		}
		full = full[1:]
	}
	hLen := s.Hash.Size()
	if emLen < hLen+2 || full[emLen-1] != 0xbc {
		return false
	}
	db, h := full[:emLen-hLen-1], full[emLen-hLen-1:emLen-1]
	mask := byte(0xff >> (8*emLen - emBits))
	if db[0]&^mask != 0 {
		return false
	}
	mgf1(db, h, s.MGF)
	db[0] &= mask
	return s.pssSaltMatches(db, h, digest)
}

func (s Scheme) pssSaltMatches(db, h, digest []byte) bool {
	at := bytes.IndexByte(db, 1)
	if at < 0 || (s.Salt >= 0 && len(db)-at-1 != s.Salt) {
		return false
	}
	if len(bytes.Trim(db[:at], "\x00")) > 0 {
		return false
	}
	return bytes.Equal(oid.Sum(s.Hash, make([]byte, 8), digest, db[at+1:]), h)
}

// mgf1 xors the mask over out.
func mgf1(out, seed []byte, hash crypto.Hash) {
	for counter := uint32(0); len(out) > 0; counter++ {
		mask := oid.Sum(hash, seed, binary.BigEndian.AppendUint32(nil, counter))
		out = out[subtle.XORBytes(out, out, mask):]
	}
}

func verifyECDSA(key *ecdsa.PublicKey, digest, sig []byte, raw bool) bool {
	size := (key.Curve.Params().N.BitLen() + 7) / 8
	if !raw {
		if isNIST(key.Curve) {
			return ecdsa.VerifyASN1(key, digest, sig)
		}
		r, s, ok := parseRS(sig)
		return ok && inRange(r, s, key.Curve.Params().N) && ecdsa.Verify(key, digest, r, s)
	}
	if len(sig) != 2*size {
		return false
	}
	r, s := new(big.Int).SetBytes(sig[:size]), new(big.Int).SetBytes(sig[size:])
	return inRange(r, s, key.Curve.Params().N) && ecdsa.Verify(key, digest, r, s)
}

func inRange(r, s, n *big.Int) bool {
	return r.Sign() > 0 && s.Sign() > 0 && r.Cmp(n) < 0 && s.Cmp(n) < 0
}

// parseRS parses Dss-Sig-Value strictly: a signature has only one encoding.
func parseRS(sig []byte) (r, s *big.Int, ok bool) {
	in, ok := single(sig, tagSequence)
	if !ok {
		return nil, nil, false
	}
	a, okA := in.take(tagInteger)
	b, okB := in.take(tagInteger)
	if !okA || !okB || !in.empty() {
		return nil, nil, false
	}
	r, s = Integer(a.body), Integer(b.body)
	canonical := encode(tagSequence, encodeInt(r), encodeInt(s))
	return r, s, bytes.Equal(canonical, sig)
}

func verifyDSA(key *dsa.PublicKey, digest, sig []byte, raw bool) bool {
	if key.P.Sign() <= 0 || key.Q.Sign() <= 0 || key.P.BitLen() > maxDSA || key.Q.BitLen() > 512 {
		return false
	}
	size := (key.Q.BitLen() + 7) / 8
	if len(digest) > size {
		digest = digest[:size]
	}
	r, s, ok := parseRS(sig)
	if raw {
		ok = len(sig) == 2*size
		if ok {
			r, s = new(big.Int).SetBytes(sig[:size]), new(big.Int).SetBytes(sig[size:])
		}
	}
	return ok && inRange(r, s, key.Q) && dsa.Verify(key, digest, r, s)
}

// PlainValue converts a value of crypto.Signer for XML and JSON signatures, where ECDSA is r‖s,
// each as wide as the curve's order.
func PlainValue(pub crypto.PublicKey, value []byte) ([]byte, error) {
	key, ok := pub.(*ecdsa.PublicKey)
	if !ok {
		return value, nil
	}
	r, s, ok := parseRS(value)
	size := (key.Curve.Params().N.BitLen() + 7) / 8
	if !ok || !inRange(r, s, key.Curve.Params().N) {
		return nil, errors.New("ECDSA value is not a DER pair")
	}
	out := make([]byte, 2*size)
	r.FillBytes(out[:size])
	s.FillBytes(out[size:])
	return out, nil
}

// encodeOID writes a dotted identifier as an element.
func encodeOID(dotted string) []byte { return encode(tagOID, oid.Content(dotted)) }

// Cost is the time of a signature check with a key relative to RSA with 2,048 bits and the exponent
// 65537 (some 40 microseconds), rounded up. For RSA and DSA it grows with the square of the modulus
// and the length of the exponent; beyond 4,096 bits the standard library is about fourteen times
// slower than that. The costs of curves are measured: those outside the standard library are slow.
func Cost(pub any) int64 {
	modular := func(size, exponent int) int64 {
		units := int64(size) * int64(size) * int64(exponent+12) / (2048 * 2048 * 29)
		if size > 4096 {
			units *= 14
		}
		return 1 + units
	}
	switch k := pub.(type) {
	case *rsa.PublicKey:
		return modular(k.N.BitLen(), mathbits.Len64(uint64(k.E)))
	case *dsa.PublicKey:
		return 3 * modular(k.P.BitLen(), 2*k.Q.BitLen())
	case *ecdsa.PublicKey:
		switch size := k.Curve.Params().BitSize; {
		case !isNIST(k.Curve):
			return int64(size)
		case size <= 256:
			return 4
		case size <= 384:
			return 40
		}
		return 100
	case ed25519.PublicKey:
		return 4
	case Ed448PublicKey:
		return 10
	}
	return 1
}

// Effort is the remaining budget for signature checks of one document. A nil Effort is unlimited.
type Effort struct{ left int64 }

// NewEffort is enough for thousands of signers, and for about a second.
func NewEffort() *Effort { return &Effort{left: 60_000} }

// ErrEffort means that a document needs more signature checks than one verification makes.
var ErrEffort = fmt.Errorf("%w: the document asks for too many and too costly signature checks", ErrUnsupported)

// Spend deducts the cost of a check with a key; false if the budget does not suffice.
func (e *Effort) Spend(pub any) bool {
	if e == nil {
		return true
	}
	cost := Cost(pub)
	if e.left < cost {
		return false
	}
	e.left -= cost
	return true
}
