package csc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/json"
	"math/big"
	"net/http"
	"testing"
	"time"
)

// Values of a provider are read in every form, and no other value passes.
func TestVerified(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	digest := sha256.Sum256([]byte("a document"))
	der, err := key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	var pair struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &pair); err != nil {
		t.Fatal(err)
	}
	raw := append(pair.R.FillBytes(make([]byte, 32)), pair.S.FillBytes(make([]byte, 32))...)
	other := sha256.Sum256([]byte("another"))
	for name, c := range map[string]struct {
		digest, value []byte
		good          bool
	}{
		"DER": {digest[:], der, true}, "r and s": {digest[:], raw, true}, "of another document": {other[:], der, false}, "cut": {digest[:], raw[:63], false}, "none": {digest[:], nil, false},
	} {
		if got := verified(key.Public(), crypto.SHA256, false, c.digest, c.value); (got != nil) != c.good {
			t.Errorf("%s: %x", name, got)
		}
	}
}

// Retry-After is a number of seconds, or a date by the provider's own clock.
func TestWait(t *testing.T) {
	there := time.Now().Add(-10 * time.Minute).UTC()
	for text, want := range map[string]bool{"0": true, "": false, "-1": false, "soon": false, there.Add(time.Second).Format(http.TimeFormat): true} {
		a := &answer{status: http.StatusServiceUnavailable, header: http.Header{"Retry-After": {text}, "Date": {there.Format(http.TimeFormat)}}}
		if again, err := a.wait(t.Context(), 0); again != want || err != nil {
			t.Errorf("%q: %v %v", text, again, err)
		}
	}
	a := &answer{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"3600"}}}
	if again, err := a.wait(t.Context(), 0); again || err == nil {
		t.Error("an hour was waited for")
	}
}

// Whatever a provider answers, it is read or refused.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"key":{"status":"enabled","algo":["1.2.840.10045.4.3.2"]},"cert":{"certificates":["MAA="]},"multisign":"3","PIN":{"presence":true}}`))
	f.Add([]byte(`{"auth":{"mode":"explicit","objects":[{"type":"Password","id":"OTP"}]},"SCAL":2,"signatures":["AA\r\nAA"]}`))
	f.Add([]byte(`{"signatures":[null],"cert":{"certificates":"x"}}`))
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var w wire
		c := &Credential{}
		if json.Unmarshal(b, &w) == nil {
			c.factors(&w)
			if c.readCertificates(w.Cert.Certificates) == nil && c.Certificate == nil {
				t.Error("no certificate, and no error")
			}
		}
		r := Request{Public: key.Public(), Hash: crypto.SHA256, Digests: [][]byte{make([]byte, 32)}}
		for _, framed := range []bool{true, false} {
			values, err := r.values(&answer{status: http.StatusOK, body: b, framed: framed})
			if err == nil && (len(values) != 1 || values[0].Value != nil) {
				t.Errorf("a value that nobody made: %v", values)
			}
		}
		_ = (&answer{status: http.StatusBadRequest, body: b}).refusal("fuzz")
	})
}
