// Package jades creates and reads JAdES signatures (ETSI TS 119 182-1 V1.2.1): JSON Web Signatures
// (RFC 7515, RFC 7797) with header parameters that bind the signer's certificate, and, from level T
// on, time-stamps and validation data.
//
// Most callers call [Prepare] with documents, the signer's parameters ([ades.SignParams]) and
// [Options], have the digest signed, and call Finish on the [Draft]. [Counter] signs a signature.
// [Augment] raises a file to T, LT or LTA, any number of times; [Read] returns all facts about a
// file, without a clock, network access or judgement.
//
// It creates components of etsiU in base64url, with sigTst, xVals, rVals, tstVD, arcTst and cSig,
// and the signing time as iat. It also reads those of V1.1.1 (sigT), components in clear, and plain
// JSON Web Signatures. What an archive time-stamp over components in clear covers depends on a
// canonicalisation that implementations do not agree on: its imprint is unknown, and such
// signatures are not raised.
//
// The form of a JSON Web Signature is checked strictly: a duplicate name, padding in base64url, an
// unsigned parameter that must be signed, or an unsupported name in crit break it.
package jades

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// Serialization is the form of the file (RFC 7515, section 7).
type Serialization int

// The forms.
const (
	// Flattened is a JSON object with one signature.
	Flattened Serialization = iota
	// General is a JSON object with a list of signatures.
	General
	// Compact is three pieces of base64url. It has no place for unsigned components, so its level
	// is always B.
	Compact
)

func (s Serialization) String() string {
	switch s {
	case Flattened:
		return "flattened"
	case General:
		return "general"
	case Compact:
		return "compact"
	}
	return fmt.Sprintf("Serialization(%d)", int(s))
}

// ParseSerialization parses the result of String.
func ParseSerialization(name string) (Serialization, error) {
	for s := Flattened; s <= Compact; s++ {
		if s.String() == name {
			return s, nil
		}
	}
	return 0, fmt.Errorf("%q is no serialization: flattened, general or compact", name)
}

// Mechanism is how a detached signature references what it signs: the mId of sigD (TS 119 182-1,
// 5.2.8).
type Mechanism int

// The mechanisms.
const (
	// ByURIHash names every content, with its digest in the header.
	ByURIHash Mechanism = iota
	// ByURI names every content and signs their concatenation.
	ByURI
	// HTTPHeaders signs the fields of an HTTP message: files with the names of fields and their
	// values. The body is a file without a name; the field digest (RFC 3230) is then required among
	// the fields.
	HTTPHeaders
)

// mechanisms are the identifiers in the order of the constants.
var mechanisms = []string{
	"http://uri.etsi.org/19182/ObjectIdByURIHash",
	"http://uri.etsi.org/19182/ObjectIdByURI",
	"http://uri.etsi.org/19182/HttpHeaders",
}

// Options of JAdES; the zero value includes the content in the flattened form.
type Options struct {
	Serialization Serialization
	// Detached leaves the content out of the file and references it with sigD. It is required for
	// several documents.
	Detached bool
	// Mechanism of a detached signature.
	Mechanism Mechanism
	// Unencoded signs the content directly instead of in base64url (RFC 7797). Content in the file
	// must then be UTF-8, and in the compact form printable ASCII without a full stop.
	Unencoded bool
	// MediaTypes of the files by name, for cty and ctys; there is no default.
	MediaTypes map[string]string
	// Policy of the signature; nil for none. Its ID is a URI or a dotted identifier.
	Policy *ades.SignaturePolicy
	// Roles claimed by the signer.
	Roles []string
	// Place of signing; nil for none.
	Place *Place
	// ContentTimestamps are tokens over the content, obtained before signing.
	ContentTimestamps [][]byte
}

// Place is a sigPl; empty fields are omitted.
type Place struct {
	Country, Locality, Region, PostalCode, Street string
}

// settings are all parameters of a signature.
type settings struct {
	ades.SignParams
	Options
}

func (o settings) check() error {
	switch {
	case o.Certificate == nil:
		return errors.New("jades: no signing certificate")
	case o.Time.IsZero():
		return errors.New("jades: no signing time")
	case o.Serialization < Flattened || o.Serialization > Compact:
		return fmt.Errorf("jades: unknown form %v", o.Serialization)
	case o.Mechanism < ByURIHash || o.Mechanism > HTTPHeaders:
		return fmt.Errorf("jades: unknown mechanism %d", o.Mechanism)
	case o.Mechanism != ByURIHash && !o.Detached:
		return errors.New("jades: only a detached signature has a mechanism")
	case o.Place != nil && *o.Place == Place{}:
		return errors.New("jades: an empty place")
	}
	if err := oid.CheckHash(o.Digest()); err != nil {
		return fmt.Errorf("jades: %w", err)
	}
	if o.Policy != nil && (o.Policy.ID == "" || hashNames[o.Policy.Hash] == "" || len(o.Policy.Digest) != o.Policy.Hash.Size()) {
		return errors.New("jades: a policy needs an identifier and a digest")
	}
	return nil
}

// hashNames are the digests of x5t#o, sigD and sigPId by their names in the IANA registry, or in EU
// DSS if they are not registered.
var hashNames = map[crypto.Hash]string{
	crypto.SHA224: "S224", crypto.SHA256: "S256", crypto.SHA384: "S384", crypto.SHA512: "S512",
	crypto.SHA3_256: "S3-256", crypto.SHA3_384: "S3-384", crypto.SHA3_512: "S3-512",
}

func hashByName(name string) (crypto.Hash, bool) {
	for h, n := range hashNames {
		if n == name {
			return h, h.Available()
		}
	}
	return 0, false
}

// algorithm is a row of RFC 7518, 8037 and 9864. An ECDSA value is r‖s, and each algorithm has its
// own curve.
type algorithm struct {
	pkix.Scheme
	curve string
}

var algorithms = func() map[string]algorithm {
	t := map[string]algorithm{
		"EdDSA":   {Scheme: pkix.Scheme{Kind: pkix.Ed25519}}, // or Ed448, depending on the key
		"Ed25519": {Scheme: pkix.Scheme{Kind: pkix.Ed25519}},
		"Ed448":   {Scheme: pkix.Scheme{Kind: pkix.Ed448}},
	}
	for name, h := range map[string]crypto.Hash{"256": crypto.SHA256, "384": crypto.SHA384, "512": crypto.SHA512} {
		t["RS"+name] = algorithm{Scheme: pkix.Scheme{Kind: pkix.RSA, Hash: h}}
		t["PS"+name] = algorithm{Scheme: pkix.Scheme{Kind: pkix.PSS, Hash: h, MGF: h, Salt: h.Size()}}
		curve := "P-" + name
		if h == crypto.SHA512 {
			curve = "P-521"
		}
		t["ES"+name] = algorithm{Scheme: pkix.Scheme{Kind: pkix.ECDSA, Hash: h, Plain: true}, curve: curve}
	}
	for name, a := range t {
		a.OID = name
		t[name] = a
	}
	return t
}()

// withoutSigner reports the JWS algorithms that do not identify a signer.
func withoutSigner(alg string) bool {
	return strings.EqualFold(alg, "none") || strings.HasPrefix(alg, "HS")
}

// algorithmFor is the name of the algorithm of signatures with a key. For ECDSA the curve
// determines the hash.
func algorithmFor(pub crypto.PublicKey, h crypto.Hash, pss bool) (string, error) {
	suffix := map[crypto.Hash]string{crypto.SHA256: "256", crypto.SHA384: "384", crypto.SHA512: "512"}[h]
	switch key := pub.(type) {
	case *rsa.PublicKey:
		switch {
		case suffix == "":
		case pss:
			return "PS" + suffix, nil
		default:
			return "RS" + suffix, nil
		}
	case *ecdsa.PublicKey:
		name := "ES" + suffix
		if algorithms[name].curve == key.Curve.Params().Name {
			return name, nil
		}
	case ed25519.PublicKey:
		return "EdDSA", nil
	}
	return "", fmt.Errorf("%w: JSON signatures know no %v with this key (RFC 7518)", pkix.ErrUnsupported, h)
}

// Hash is the hash with which a key can sign JSON: the one asked for, except that an elliptic curve
// determines the hash (RFC 7518, 3.4).
func Hash(s ades.SignParams) crypto.Hash {
	if s.Certificate != nil {
		if key, ok := s.Certificate.PublicKey.(*ecdsa.PublicKey); ok {
			for _, a := range algorithms {
				if a.curve == key.Curve.Params().Name {
					return a.Hash
				}
			}
		}
	}
	return s.Digest()
}
