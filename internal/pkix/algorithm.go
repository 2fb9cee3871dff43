package pkix

import (
	"crypto"
	"crypto/dsa" //nolint:staticcheck // old signatures are to be read, not made
	"crypto/ecdsa"
	"crypto/ed25519"
	_ "crypto/md5" // for old signatures, which policy then judges
	"crypto/rsa"
	_ "crypto/sha1"
	_ "crypto/sha256"
	_ "crypto/sha3"
	_ "crypto/sha512"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"

	_ "golang.org/x/crypto/ripemd160" //nolint:staticcheck // old signatures are to be read, not made
)

// AlgorithmIdentifier is an algorithm with its unparsed parameters.
type AlgorithmIdentifier struct {
	OID    string
	Params []byte // the whole element; nil if absent
	Raw    []byte
}

// ParseAlgorithmIdentifier reads the DER of an AlgorithmIdentifier.
func ParseAlgorithmIdentifier(der []byte) (AlgorithmIdentifier, error) {
	r := reader(der)
	e, ok := r.take(tagSequence)
	if !ok {
		return AlgorithmIdentifier{}, errDER
	}
	return algorithmIdentifier(e)
}

func algorithmIdentifier(e element) (AlgorithmIdentifier, error) {
	in := reader(e.body)
	id, ok := in.take(tagOID)
	if !ok {
		return AlgorithmIdentifier{}, errDER
	}
	a := AlgorithmIdentifier{OID: parseOID(id.body), Raw: e.full}
	if p, ok := in.next(); ok {
		a.Params = p.full
	}
	return a, nil
}

// Kind is a family of signature algorithms.
type Kind string

const (
	RSA     Kind = "RSA"        // RSASSA-PKCS1-v1_5
	PSS     Kind = "RSASSA-PSS" // RSASSA-PSS
	ECDSA   Kind = "ECDSA"
	DSA     Kind = "DSA"
	Ed25519 Kind = "Ed25519"
	Ed448   Kind = "Ed448"
)

// Scheme is a signature algorithm with all its parameters.
type Scheme struct {
	Kind Kind
	Hash crypto.Hash // 0 for the Edwards curves, which hash internally
	// MGF and Salt are those of RSASSA-PSS. A salt of -1 means any length, for formats that do not
	// specify it.
	MGF  crypto.Hash
	Salt int
	// Plain means that ECDSA and DSA values are r‖s of fixed width, as in XML
	// and in the plain ECDSA of BSI TR-03111.
	Plain bool
	OID   string // as found, for the report
}

// ErrUnsupported means that an algorithm or key is not supported, so a signature cannot be checked.
var ErrUnsupported = errors.New("unsupported algorithm")

// ErrSignature means that a signature does not verify.
var ErrSignature = errors.New("signature does not verify")

// HashOf returns the hash with that object identifier.
func HashOf(dotted string) (crypto.Hash, bool) {
	h, ok := oid.Hash(dotted)
	return h, ok && h.Available()
}

// HashName names a hash as reports do: SHA256, SHA3-256, RIPEMD160.
func HashName(h crypto.Hash) string {
	switch h {
	case 0:
		return ""
	case crypto.SHA1:
		return "SHA1"
	case crypto.SHA224:
		return "SHA224"
	case crypto.SHA256:
		return "SHA256"
	case crypto.SHA384:
		return "SHA384"
	case crypto.SHA512:
		return "SHA512"
	case crypto.RIPEMD160:
		return "RIPEMD160"
	}
	return h.String()
}

type schemeEntry struct {
	kind  Kind
	hash  crypto.Hash
	plain bool
}

// schemeOIDs lists the signature algorithms; a zero hash means that the identifier does not specify
// one.
var schemeOIDs = map[string]schemeEntry{
	"1.2.840.113549.1.1.1":  {RSA, 0, false},
	"1.2.840.113549.1.1.4":  {RSA, crypto.MD5, false},
	"1.2.840.113549.1.1.5":  {RSA, crypto.SHA1, false},
	"1.3.14.3.2.29":         {RSA, crypto.SHA1, false},
	"1.2.840.113549.1.1.11": {RSA, crypto.SHA256, false},
	"1.2.840.113549.1.1.12": {RSA, crypto.SHA384, false},
	"1.2.840.113549.1.1.13": {RSA, crypto.SHA512, false},
	"1.2.840.113549.1.1.14": {RSA, crypto.SHA224, false},
	"1.2.840.113549.1.1.15": {RSA, crypto.SHA512_224, false},
	"1.2.840.113549.1.1.16": {RSA, crypto.SHA512_256, false},
	"1.3.36.3.3.1.2":        {RSA, crypto.RIPEMD160, false},

	"2.16.840.1.101.3.4.3.13": {RSA, crypto.SHA3_224, false},
	"2.16.840.1.101.3.4.3.14": {RSA, crypto.SHA3_256, false},
	"2.16.840.1.101.3.4.3.15": {RSA, crypto.SHA3_384, false},
	"2.16.840.1.101.3.4.3.16": {RSA, crypto.SHA3_512, false},

	"1.2.840.10045.2.1":       {ECDSA, 0, false},
	"1.2.840.10045.4.1":       {ECDSA, crypto.SHA1, false},
	"1.2.840.10045.4.3.1":     {ECDSA, crypto.SHA224, false},
	"1.2.840.10045.4.3.2":     {ECDSA, crypto.SHA256, false},
	"1.2.840.10045.4.3.3":     {ECDSA, crypto.SHA384, false},
	"1.2.840.10045.4.3.4":     {ECDSA, crypto.SHA512, false},
	"2.16.840.1.101.3.4.3.9":  {ECDSA, crypto.SHA3_224, false},
	"2.16.840.1.101.3.4.3.10": {ECDSA, crypto.SHA3_256, false},
	"2.16.840.1.101.3.4.3.11": {ECDSA, crypto.SHA3_384, false},
	"2.16.840.1.101.3.4.3.12": {ECDSA, crypto.SHA3_512, false},
	"0.4.0.127.0.7.1.1.4.1.1": {ECDSA, crypto.SHA1, true},
	"0.4.0.127.0.7.1.1.4.1.2": {ECDSA, crypto.SHA224, true},
	"0.4.0.127.0.7.1.1.4.1.3": {ECDSA, crypto.SHA256, true},
	"0.4.0.127.0.7.1.1.4.1.4": {ECDSA, crypto.SHA384, true},
	"0.4.0.127.0.7.1.1.4.1.5": {ECDSA, crypto.SHA512, true},
	"0.4.0.127.0.7.1.1.4.1.6": {ECDSA, crypto.RIPEMD160, true},

	"0.4.0.127.0.7.1.1.4.1.8":  {ECDSA, crypto.SHA3_224, true},
	"0.4.0.127.0.7.1.1.4.1.9":  {ECDSA, crypto.SHA3_256, true},
	"0.4.0.127.0.7.1.1.4.1.10": {ECDSA, crypto.SHA3_384, true},
	"0.4.0.127.0.7.1.1.4.1.11": {ECDSA, crypto.SHA3_512, true},

	"1.2.840.10040.4.1":      {DSA, 0, false},
	"1.2.840.10040.4.3":      {DSA, crypto.SHA1, false},
	"1.3.14.3.2.27":          {DSA, crypto.SHA1, false},
	"2.16.840.1.101.3.4.3.1": {DSA, crypto.SHA224, false},
	"2.16.840.1.101.3.4.3.2": {DSA, crypto.SHA256, false},
	"2.16.840.1.101.3.4.3.3": {DSA, crypto.SHA384, false},
	"2.16.840.1.101.3.4.3.4": {DSA, crypto.SHA512, false},
	"2.16.840.1.101.3.4.3.5": {DSA, crypto.SHA3_224, false},
	"2.16.840.1.101.3.4.3.6": {DSA, crypto.SHA3_256, false},
	"2.16.840.1.101.3.4.3.7": {DSA, crypto.SHA3_384, false},
	"2.16.840.1.101.3.4.3.8": {DSA, crypto.SHA3_512, false},

	"1.3.101.112": {Ed25519, 0, false},
	"1.3.101.113": {Ed448, 0, false},
}

const oidPSS = "1.2.840.113549.1.1.10"

// SchemeOf parses a signature AlgorithmIdentifier. Identifiers that name no hash (rsaEncryption in
// CMS) use digest; zero means that there is none.
func SchemeOf(alg AlgorithmIdentifier, digest crypto.Hash) (Scheme, error) {
	if alg.OID == oidPSS {
		return pssScheme(alg)
	}
	e, ok := schemeOIDs[alg.OID]
	if !ok {
		return Scheme{OID: alg.OID}, fmt.Errorf("%w %s", ErrUnsupported, alg.OID)
	}
	s := Scheme{Kind: e.kind, Hash: e.hash, Plain: e.plain, OID: alg.OID}
	if s.Hash == 0 && s.Kind != Ed25519 && s.Kind != Ed448 {
		if digest == 0 {
			return s, fmt.Errorf("%w: %s names no hash", ErrUnsupported, alg.OID)
		}
		s.Hash = digest
	}
	return s, nil
}

// pssScheme reads RSASSA-PSS-params (RFC 4055); the defaults are SHA-1 and 20.
func pssScheme(alg AlgorithmIdentifier) (Scheme, error) {
	s := Scheme{Kind: PSS, Hash: crypto.SHA1, MGF: crypto.SHA1, Salt: 20, OID: alg.OID}
	if len(alg.Params) == 0 || alg.Params[0] == tagNull {
		return s, nil
	}
	r, ok := single(alg.Params, tagSequence)
	if !ok {
		return s, errDER
	}
	for !r.empty() {
		e, ok := r.next()
		if !ok {
			return s, errDER
		}
		if err := s.pssParam(e); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Scheme) pssParam(e element) error {
	switch e.tag {
	case 0xa0:
		h, err := hashParam(e.body)
		s.Hash = h
		return err
	case 0xa1:
		mgf, err := ParseAlgorithmIdentifier(e.body)
		if err != nil || mgf.OID != "1.2.840.113549.1.1.8" {
			return fmt.Errorf("%w: mask generation %s", ErrUnsupported, mgf.OID)
		}
		s.MGF, err = hashParam(mgf.Params)
		return err
	case 0xa2, 0xa3:
		r := reader(e.body)
		i, ok := r.take(tagInteger)
		if !ok {
			return errDER
		}
		n, ok := smallInt(i.body)
		if !ok || (e.tag == 0xa3 && n != 1) {
			return fmt.Errorf("%w: RSASSA-PSS parameters", ErrUnsupported)
		}
		if e.tag == 0xa2 {
			s.Salt = n
		}
	}
	return nil
}

func hashParam(der []byte) (crypto.Hash, error) {
	a, err := ParseAlgorithmIdentifier(der)
	if err != nil {
		return 0, err
	}
	h, ok := HashOf(a.OID)
	if !ok {
		return 0, fmt.Errorf("%w: hash %s", ErrUnsupported, a.OID)
	}
	return h, nil
}

// Name names the scheme as reports do: SHA256withRSA, SHA256withRSAandMGF1, SHA256withECDSA,
// Ed25519.
func (s Scheme) Name() string {
	switch s.Kind {
	case Ed25519, Ed448:
		return string(s.Kind)
	case PSS:
		return HashName(s.Hash) + "withRSAandMGF1"
	case ECDSA:
		if s.Plain && strings.HasPrefix(s.OID, "0.4.0.127") {
			return HashName(s.Hash) + "withPLAIN-ECDSA"
		}
	case "":
		return s.OID
	}
	return HashName(s.Hash) + "with" + string(s.Kind)
}

// Algorithm describes the scheme used with a key, for the facts.
func (s Scheme) Algorithm(pub any) ades.Algorithm {
	a := ades.Algorithm{Name: s.Name(), Key: string(s.Kind), Digest: HashName(s.Hash), KeySize: KeySize(pub), OID: s.OID}
	// A key of another kind than the algorithm's is reported as it is.
	switch pub.(type) {
	case *ecdsa.PublicKey:
		a.Key = string(ECDSA)
	case *dsa.PublicKey:
		a.Key = string(DSA)
	case *rsa.PublicKey:
		if s.Kind != PSS {
			a.Key = string(RSA)
		}
	}
	switch s.Kind {
	case Ed25519:
		a.Digest = "SHA512"
	case Ed448:
		a.Digest = "SHAKE256"
	}
	return a
}

// Algorithm describes a signature AlgorithmIdentifier used with a key; digest is for identifiers
// that name no hash. The name of an unknown one is its OID.
func Algorithm(alg AlgorithmIdentifier, digest crypto.Hash, pub any) ades.Algorithm {
	s, _ := SchemeOf(alg, digest)
	s.OID = alg.OID
	return s.Algorithm(pub)
}

// KeySize is the usual measure of a key's strength, in bits; 0 if the key is unknown.
func KeySize(pub any) int {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen()
	case *ecdsa.PublicKey:
		return k.Curve.Params().BitSize
	case *dsa.PublicKey:
		return k.P.BitLen()
	case ed25519.PublicKey:
		return 256
	case Ed448PublicKey:
		return 448
	}
	return 0
}
