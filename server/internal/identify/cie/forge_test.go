package cie_test

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

func payload(t *testing.T, token string) map[string]any {
	t.Helper()
	b, err := jwt.Peek(token)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func secret(t *testing.T, k jwt.Private) *ecdsa.PrivateKey {
	t.Helper()
	b, err := k.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var j jose.JSONWebKey
	if err := j.UnmarshalJSON(b); err != nil {
		t.Fatal(err)
	}
	return j.Key.(*ecdsa.PrivateKey)
}

// renamed is a key with another kid.
func renamed(t *testing.T, k jwt.Private, kid string) jwt.Private {
	t.Helper()
	p, err := jwt.NewPrivate(secret(t, k), kid, "sig")
	if err != nil {
		t.Fatal(err)
	}
	return *p
}

// reheaded is the token with another header, and the signature that sign makes.
func reheaded(token string, header map[string]any, sign func(input string) []byte) string {
	h, _ := json.Marshal(header)
	input := base64.RawURLEncoding.EncodeToString(h) + "." + strings.Split(token, ".")[1]
	return input + "." + base64.RawURLEncoding.EncodeToString(sign(input))
}

func unsigned(string) []byte { return nil }

func hs256(key []byte) func(string) []byte {
	return func(input string) []byte {
		m := hmac.New(sha256.New, key)
		m.Write([]byte(input))
		return m.Sum(nil)
	}
}
