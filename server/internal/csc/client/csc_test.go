package client

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/remote"
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
		if got := remote.Verified(key.Public(), crypto.SHA256, false, c.digest, c.value); (got != nil) != c.good {
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
		s := &signer{credential: &Credential{Certificate: &pkix.Certificate{PublicKey: key.Public()}}}
		r := remote.Request{Hash: crypto.SHA256, Digests: [][]byte{make([]byte, 32)}}
		for _, framed := range []bool{true, false} {
			values, err := s.values(r, &answer{status: http.StatusOK, body: b, framed: framed})
			if err == nil && (len(values) != 1 || values[0].Value != nil) {
				t.Errorf("a value that nobody made: %v", values)
			}
		}
		_ = (&answer{status: http.StatusBadRequest, body: b}).refusal("fuzz")
	})
}

// A provider that echoes what it was sent does not disclose a secret.
func TestRepeatedSecrets(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/info") {
			_, _ = io.WriteString(w, `{"specs": "2.0.0.2"}`)
			return
		}
		b, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": "invalid_request", "error_description": "no: " + r.Header.Get("Authorization") + " " + string(b)})
	}))
	defer srv.Close()
	p, err := New(Config{Endpoint: remote.Endpoint{URL: srv.URL}, Flow: FlowCode, ClientID: "us", Secret: func() (string, error) { return "client/secret", nil }})
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{
		Session:    p.SessionOf(Tokens{Access: "access-token"}, nil),
		credential: &Credential{PIN: Factor{Ask: true}, OTP: Factor{Ask: true}}, login: remote.Login{Password: "9876", OTP: "654321"},
	}
	_, byCode := p.Finish(t.Context(), "the-code", "the-verifier")
	_, byRefresh := p.Renew(t.Context(), Tokens{Refresh: "refresh-token"})
	_, byPIN := s.authorize(t.Context(), &Info{Version: 2}, remote.Request{Hash: crypto.SHA256, Digests: [][]byte{{1}}})
	for name, err := range map[string]error{"code": byCode, "refresh": byRefresh, "PIN": byPIN} {
		if err == nil || !strings.Contains(err.Error(), "no: ") {
			t.Errorf("%s: the provider's words are gone: %v", name, err)
			continue
		}
		for _, secret := range []string{"client%2Fsecret", "the-code", "the-verifier", "refresh-token", "access-token", "9876", "654321"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %s is in %q", name, secret, err)
			}
		}
	}
}

// What goes to a provider by https goes nowhere without.
func TestOAuthBase(t *testing.T) {
	for _, c := range []struct {
		url, oauth string
		good       bool
	}{
		{"https://a.example/csc", "", true},
		{"https://a.example/csc", "https://b.example", true},
		{"https://a.example/csc", "http://a.example", false},
		{"http://a.example/csc", "http://b.example", true},
		{"https://a.example", "ftp://a.example", false},
		{"https://a.example", "https://x:y@a.example", false},
		{"https://a.example", "/relative", false},
		{"https://a.example", "https://a.example/?x=", false},
	} {
		p, err := New(Config{Endpoint: remote.Endpoint{URL: c.url}, Flow: FlowCode, ClientID: "us"})
		if err != nil {
			t.Fatal(err)
		}
		if base, err := p.oauth(&Info{OAuth2: c.oauth}); (err == nil) != c.good {
			t.Errorf("%+v: %q %v", c, base, err)
		}
	}
	// Version 2.2 names several servers, of which one may serve.
	for info, want := range map[string]string{
		`{"oauth2Servers": [{"label": null, "baseUri": "https://one.example/", "authType": ["oauth2client"]}, {"baseUri": "https://two.example", "authType": ["oauth2code"], "supportsRar": true}]}`: "https://two.example/oauth2",
		`{"oauth2": null, "oauth2Servers": [{"baseUri": "https://one.example/"}], "supportedHashTypes": ["sodr"]}`:                                                                                   "https://one.example/oauth2",
		`{"oauth2": "https://old.example", "oauth2Servers": [{"baseUri": "https://new.example"}]}`:                                                                                                   "https://old.example/oauth2",
		`{"oauth2Servers": [{"baseUri": "http://one.example"}]}`:                                                                                                                                     "",
		`{"oauth2Servers": null}`: "https://a.example/csc/oauth2",
	} {
		p, err := New(Config{Endpoint: remote.Endpoint{URL: "https://a.example/csc"}, Flow: FlowCode, ClientID: "us"})
		var about Info
		if err == nil {
			err = json.Unmarshal([]byte(info), &about)
		}
		if err != nil {
			t.Fatal(err)
		}
		if base, _ := p.oauth(&about); base != want {
			t.Errorf("%s: %q", info, base)
		}
	}
}
