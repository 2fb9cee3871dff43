package jwt

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

func newKey(t *testing.T, kid, use string) Private {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPrivate(k, kid, use)
	if err != nil {
		t.Fatal(err)
	}
	return *p
}

func set(t *testing.T, keys ...any) Keys {
	t.Helper()
	b, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	out, err := ParseKeySet(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestVerify(t *testing.T) {
	key, other := newKey(t, "a", "sig"), newKey(t, "b", "sig")
	keys := set(t, key.Public())
	token, err := key.Sign("x+jwt", map[string]any{"sub": "s"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := keys.Verify(token, []string{"RS256", "ES256"})
	if err != nil || got.Type != "x+jwt" || got.Algorithm != "ES256" || string(got.Claims) != `{"sub":"s"}` {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := keys.Verify(token, []string{"RS256"}); err == nil {
		t.Error("an algorithm that the issuer does not announce is accepted")
	}
	if _, err := set(t, other.Public()).Verify(token, nil); !errors.Is(err, ErrUnknownKey) {
		t.Errorf("an unknown key: %v", err)
	}
	enc := newKey(t, "e", "enc")
	wrong, err := enc.Sign("", map[string]any{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set(t, enc.Public()).Verify(wrong, nil); err == nil {
		t.Error("a key for encryption verifies signatures")
	}
	if _, err := keys.Verify(token[:len(token)-4]+"AAAA", nil); err == nil {
		t.Error("another signature is accepted")
	}
}

// Keys that cannot be relied upon are left out.
func TestKeys(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	good := newKey(t, "good", "sig")
	private, err := good.JSON()
	if err != nil {
		t.Fatal(err)
	}
	keys := set(t, good.Public(), &jose.JSONWebKey{Key: &weak.PublicKey, KeyID: "weak"}, map[string]any{"kty": "oct", "k": "AAAA", "kid": "symmetric"},
		map[string]any{"kty": "unheard of", "kid": "x"}, &jose.JSONWebKey{Key: secretOf(t, newKey(t, "", "sig")).Public()})
	if len(keys) != 1 || keys[0].KeyID != "good" {
		t.Errorf("%d keys", len(keys))
	}
	for what, members := range map[string]string{
		"a private key": `{"keys":[` + string(private) + `]}`, "no key": `{"keys":[]}`, "no set": `[]`, "two with one kid": "", "too many": `{"keys":[` + strings.Repeat("{},", 40) + `{}]}`,
	} {
		if what == "two with one kid" {
			b, _ := json.Marshal(map[string]any{"keys": []any{good.Public(), newKey(t, "good", "sig").Public()}})
			members = string(b)
		}
		if _, err := ParseKeySet([]byte(members)); err == nil {
			t.Errorf("%s is a set of keys", what)
		}
	}
}

func secretOf(t *testing.T, p Private) *ecdsa.PrivateKey {
	t.Helper()
	return p.jwk.Key.(*ecdsa.PrivateKey)
}

func TestDecrypt(t *testing.T) {
	old, key := newKey(t, "old", "enc"), newKey(t, "new", "enc")
	token, err := Encrypt("a.b.c", old)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Decrypt(token, []Private{key, old}); err != nil || got != "a.b.c" {
		t.Errorf("to the old key: %q, %v", got, err)
	}
	if _, err := Decrypt(token, []Private{key}); err == nil {
		t.Error("what is encrypted to another key is read")
	}
	seal := func(alg jose.KeyAlgorithm, with any, zip jose.CompressionAlgorithm) string {
		e, err := jose.NewEncrypter(jose.A256GCM, jose.Recipient{Algorithm: alg, Key: with}, &jose.EncrypterOptions{Compression: zip})
		if err != nil {
			t.Fatal(err)
		}
		o, err := e.Encrypt([]byte(strings.Repeat("a", 1000)))
		if err != nil {
			t.Fatal(err)
		}
		s, err := o.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if _, err := Decrypt(seal(jose.ECDH_ES, secretOf(t, key).Public(), jose.NONE), []Private{key}); err != nil {
		t.Errorf("without kid: %v", err)
	}
	if _, err := Decrypt(seal(jose.ECDH_ES, secretOf(t, key).Public(), jose.DEFLATE), []Private{key}); err == nil {
		t.Error("a compressed token is read")
	}
	if _, err := Decrypt(seal(jose.DIRECT, make([]byte, 32), jose.NONE), []Private{key}); err == nil {
		t.Error("a token under a symmetric key is read")
	}
	if _, err := Decrypt(seal(jose.PBES2_HS256_A128KW, "password", jose.NONE), []Private{key}); err == nil {
		t.Error("a token under a password is read")
	}
}

// A file has one private key, or a set of them of which the first is in use.
func TestReadPrivate(t *testing.T) {
	key, next := newKey(t, "a", "sig"), newKey(t, "b", "sig")
	one, err := key.JSON()
	if err != nil {
		t.Fatal(err)
	}
	two, err := next.JSON()
	if err != nil {
		t.Fatal(err)
	}
	public, err := json.Marshal(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key")
	read := func(content string) ([]Private, error) {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return ReadPrivate(file, "sig")
	}
	if k, err := read(string(one)); err != nil || len(k) != 1 || k[0].KeyID() != "a" || !k[0].Until.IsZero() {
		t.Errorf("one key: %v", err)
	}
	if k, err := read(`{"keys":[` + string(two) + `,` + string(one) + `]}`); err != nil || len(k) != 2 || k[0].KeyID() != "b" {
		t.Errorf("two keys: %v", err)
	}
	if k, err := read(strings.Replace(string(one), "{", `{"exp":1800000000,`, 1)); err != nil || k[0].Until.Unix() != 1800000000 {
		t.Errorf("a key with an end: %v", err)
	}
	for what, content := range map[string]string{
		"public": string(public), "no kid": strings.Replace(string(one), `"kid":"a"`, `"kid":""`, 1), "twice": `{"keys":[` + string(one) + `,` + string(one) + `]}`,
		"no use": strings.Replace(string(one), `"use":"sig"`, `"use":"enc"`, 1), "empty": `{"keys":[]}`, "text": "x", "list": "[]",
	} {
		if _, err := read(content); err == nil {
			t.Errorf("%s is a private key", what)
		}
	}
}
