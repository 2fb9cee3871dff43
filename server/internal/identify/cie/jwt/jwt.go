// Package jwt signs, verifies and decrypts the JSON Web Tokens of a federation
// (RFC 7515, 7516, 7519). It is the only place that knows the JOSE library.
//
// A key is found by the token's kid among keys that the caller trusts. Keys
// that a token brings along (jwk, jku, x5c, x5u) are never looked at.
package jwt

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// What is believed at most: a statement with its marks and policies stays far
// below.
const (
	MaxToken = 256 << 10
	maxKeys  = 32
)

// signing are the algorithms of signatures: asymmetric ones. With HMAC whoever
// can verify can sign; "none" is no signature.
var signing = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512,
}

var (
	keyEncryption = []jose.KeyAlgorithm{
		jose.RSA_OAEP, jose.RSA_OAEP_256, jose.ECDH_ES, jose.ECDH_ES_A128KW, jose.ECDH_ES_A192KW, jose.ECDH_ES_A256KW,
	}
	contentEncryption = []jose.ContentEncryption{
		jose.A128CBC_HS256, jose.A192CBC_HS384, jose.A256CBC_HS512, jose.A128GCM, jose.A192GCM, jose.A256GCM,
	}
)

// ErrUnknownKey says that none of the trusted keys has the token's kid: the
// issuer may have changed its keys.
var ErrUnknownKey = errors.New("the key that signed the token is not among the issuer's")

// Token is one that was verified.
type Token struct {
	Type      string // typ of the header
	Algorithm string
	Claims    []byte // JSON
}

// Keys are public keys, by which signatures are verified.
type Keys []jose.JSONWebKey

// ParseKeys reads the members of a JWK Set. Keys of kinds that are not
// understood, of unsafe sizes, without kid, or with a private part are left out.
func ParseKeys[T ~[]byte](members []T) (Keys, error) {
	if len(members) > maxKeys {
		return nil, fmt.Errorf("%d keys are too many", len(members))
	}
	var out Keys
	for _, m := range members {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(m) != nil || k.KeyID == "" || !k.IsPublic() || !safe(k.Key) {
			continue
		}
		if len(out.find(k.KeyID)) > 0 {
			return nil, errors.New("two keys have one kid")
		}
		out = append(out, k)
	}
	if len(out) == 0 {
		return nil, errors.New("there is no usable key")
	}
	return out, nil
}

// ParseKeySet reads a JWK Set.
func ParseKeySet(b []byte) (Keys, error) {
	var set struct {
		Keys []rawKey `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return ParseKeys(set.Keys)
}

// rawKey is the JSON of a key as it came.
type rawKey []byte

func (r *rawKey) UnmarshalJSON(b []byte) error { *r = slices.Clone(b); return nil }

// safe says that a key is of a kind and size that can be relied upon, and not
// so large that it takes long to use.
func safe(key any) bool {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= 2048 && k.N.BitLen() <= 8192 && k.E >= 3
	case *ecdsa.PublicKey:
		return true // the library knows the NIST curves only
	}
	return false
}

func (k Keys) find(kid string) Keys {
	var out Keys
	for _, one := range k {
		if one.KeyID == kid {
			out = append(out, one)
		}
	}
	return out
}

// Verify verifies the signature of a token by the trusted key that its kid
// names. Where algorithms are given, the token's must be one of them too.
func (k Keys) Verify(token string, algorithms []string) (*Token, error) {
	sig, err := parse(token)
	if err != nil {
		return nil, err
	}
	h := sig.Signatures[0].Protected
	if len(algorithms) > 0 && !slices.Contains(algorithms, h.Algorithm) {
		return nil, errors.New("the token is signed by an algorithm that its issuer does not announce")
	}
	keys := k.find(h.KeyID)
	if h.KeyID == "" || len(keys) == 0 {
		return nil, ErrUnknownKey
	}
	key := keys[0]
	if key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != h.Algorithm {
		return nil, errors.New("the key is not for signatures of this kind")
	}
	claims, err := sig.Verify(key.Key)
	if err != nil {
		return nil, errors.New("the signature of the token is wrong")
	}
	typ, _ := h.ExtraHeaders["typ"].(string)
	return &Token{Type: typ, Algorithm: h.Algorithm, Claims: claims}, nil
}

func parse(token string) (*jose.JSONWebSignature, error) {
	if len(token) > MaxToken {
		return nil, errors.New("the token is too long")
	}
	if strings.Count(token, ".") != 2 {
		return nil, errors.New("this is no signed token")
	}
	sig, err := jose.ParseSignedCompact(token, signing)
	if err != nil {
		var alg *jose.ErrUnexpectedSignatureAlgorithm
		if errors.As(err, &alg) {
			return nil, errors.New("the token is signed by an algorithm that is not accepted")
		}
		return nil, errors.New("the token cannot be read")
	}
	if len(sig.Signatures) != 1 {
		return nil, errors.New("this is no signed token")
	}
	for _, name := range []jose.HeaderKey{"crit", "b64"} {
		if _, there := sig.Signatures[0].Protected.ExtraHeaders[name]; there {
			return nil, fmt.Errorf("the header %s of the token is not understood", name)
		}
	}
	return sig, nil
}

// Peek returns the claims of a token that nobody verified. They may serve to
// find the keys by which it must then be verified, and for nothing else.
func Peek(token string) ([]byte, error) {
	sig, err := parse(token)
	if err != nil {
		return nil, err
	}
	return sig.UnsafePayloadWithoutVerification(), nil
}

// Encrypted says that a token has the five parts of an encrypted one.
func Encrypted(token string) bool { return strings.Count(token, ".") == 4 }
