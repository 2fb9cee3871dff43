package jwt

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// Private is one of our own keys.
type Private struct {
	jwk   jose.JSONWebKey
	Until time.Time // exp of the JWK, or the end of its certificate; zero: none
}

// ReadPrivate reads a file with a private JWK, or with a set of them: the first
// is in use, the others are still, or already, published.
func ReadPrivate(file, use string) ([]Private, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []rawKey `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("%s is no JWK", file)
	}
	if set.Keys == nil {
		set.Keys = []rawKey{b}
	}
	var out []Private
	for _, raw := range set.Keys {
		p, err := parsePrivate(raw, use)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		for _, other := range out {
			if other.KeyID() == p.KeyID() {
				return nil, fmt.Errorf("%s: two keys have the kid %s", file, p.KeyID())
			}
		}
		out = append(out, *p)
	}
	if len(out) == 0 || len(out) > maxKeys {
		return nil, fmt.Errorf("%s has %d keys", file, len(out))
	}
	return out, nil
}

func parsePrivate(raw []byte, use string) (*Private, error) {
	p := &Private{}
	if err := p.jwk.UnmarshalJSON(raw); err != nil {
		return nil, errors.New("this is no private JWK of kind RSA or EC")
	}
	var more struct {
		Exp float64 `json:"exp"`
	}
	if err := json.Unmarshal(raw, &more); err != nil {
		return nil, errors.New("exp of the JWK is no number")
	}
	switch {
	case more.Exp > 0:
		p.Until = time.Unix(int64(more.Exp), 0)
	case len(p.jwk.Certificates) > 0:
		p.Until = p.jwk.Certificates[0].NotAfter
	}
	switch {
	case p.jwk.KeyID == "":
		return nil, errors.New("the JWK has no kid")
	case p.jwk.Use != use:
		return nil, fmt.Errorf("use of the JWK is %q, and must be %q", p.jwk.Use, use)
	case p.jwk.IsPublic() || !safe(p.jwk.Public().Key):
		return nil, errors.New("the JWK must be a private one, RSA of at least 2048 bits or EC")
	}
	return p, nil
}

// NewPrivate makes a key of a secret.
func NewPrivate(key any, kid, use string) (*Private, error) {
	p := &Private{jwk: jose.JSONWebKey{Key: key, KeyID: kid, Use: use}}
	if p.jwk.IsPublic() || !safe(p.jwk.Public().Key) {
		return nil, errors.New("this is no private key of kind RSA or EC")
	}
	return p, nil
}

// KeyID is the kid.
func (p Private) KeyID() string { return p.jwk.KeyID }

// JSON is the private JWK, for a file.
func (p Private) JSON() ([]byte, error) { return p.jwk.MarshalJSON() }

// Public is the public JWK as it is published.
func (p Private) Public() any {
	pub := p.jwk.Public()
	return &pub
}

// Same says whether two keys are one.
func (p Private) Same(o Private) bool {
	switch k := p.jwk.Public().Key.(type) {
	case *rsa.PublicKey:
		return k.Equal(o.jwk.Public().Key)
	case *ecdsa.PublicKey:
		return k.Equal(o.jwk.Public().Key)
	}
	return false
}

// SigningAlgorithm is the one that the key signs by.
func (p Private) SigningAlgorithm() string {
	if p.jwk.Algorithm != "" {
		return p.jwk.Algorithm
	}
	if k, ok := p.jwk.Key.(*ecdsa.PrivateKey); ok {
		return map[int]string{256: "ES256", 384: "ES384", 521: "ES512"}[k.Curve.Params().BitSize]
	}
	return "RS256"
}

// EncryptionAlgorithm is the one that others are asked to encrypt to the key by.
func (p Private) EncryptionAlgorithm() string {
	if p.jwk.Algorithm != "" {
		return p.jwk.Algorithm
	}
	if _, ok := p.jwk.Key.(*ecdsa.PrivateKey); ok {
		return string(jose.ECDH_ES_A256KW)
	}
	return string(jose.RSA_OAEP_256)
}

// Sign makes a token of claims.
func (p Private) Sign(typ string, claims any) (string, error) {
	b, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	opts := &jose.SignerOptions{}
	if typ != "" {
		opts.WithType(jose.ContentType(typ))
	}
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(p.SigningAlgorithm()), Key: p.jwk}, opts)
	if err != nil {
		return "", err
	}
	sig, err := s.Sign(b)
	if err != nil {
		return "", err
	}
	return sig.CompactSerialize()
}

// Decrypt returns what a token was made of that was encrypted to one of the
// keys. Compressed ones are refused.
func Decrypt(token string, keys []Private) (string, error) {
	if len(token) > 2*MaxToken {
		return "", errors.New("the token is too long")
	}
	jwe, err := jose.ParseEncryptedCompact(token, keyEncryption, contentEncryption)
	if err != nil {
		return "", errors.New("the encrypted token cannot be read")
	}
	if _, zip := jwe.Header.ExtraHeaders["zip"]; zip {
		return "", errors.New("the encrypted token is compressed")
	}
	for _, k := range keys {
		if jwe.Header.KeyID != "" && jwe.Header.KeyID != k.KeyID() {
			continue
		}
		if plain, err := jwe.Decrypt(k.jwk.Key); err == nil {
			return string(plain), nil
		}
	}
	return "", errors.New("the token is not encrypted to one of our keys")
}

// Encrypt encrypts a signed token to the owner of a public key, as a provider
// does. It serves the demonstration.
func Encrypt(token string, to Private) (string, error) {
	pub := to.jwk.Public()
	enc, err := jose.NewEncrypter(jose.A256CBC_HS512, jose.Recipient{Algorithm: jose.KeyAlgorithm(to.EncryptionAlgorithm()), Key: pub.Key, KeyID: pub.KeyID},
		(&jose.EncrypterOptions{}).WithContentType("JWT"))
	if err != nil {
		return "", err
	}
	jwe, err := enc.Encrypt([]byte(token))
	if err != nil {
		return "", err
	}
	return jwe.CompactSerialize()
}
