package csc

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"golang.org/x/net/html"
	"rogito.dev/rogito/internal/await"
)

// remote is a server whose keys others use.
type remote struct {
	*server
	mu   sync.Mutex
	step int64 // of the last one-time password given out
}

func newRemote(t testing.TB) *remote {
	t.Helper()
	return &remote{server: newServer(t, "public_url: http://{addr}\n")}
}

// key is a certificate of the sandbox: its id is the credentialID.
func (r *remote) key(kind string) (id, username, password string) {
	r.t.Helper()
	var list []struct{ ID, CertificateType, State string }
	r.must(&list, "GET", "/certificates?certificateType=EU-QES_"+kind, nil)
	if len(list) != 1 {
		r.t.Fatalf("%d certificates of kind %s", len(list), kind)
	}
	c := r.sandbox.Certificates[kind]
	return list[0].ID, c.Username, c.Password
}

// code is a one-time password that was not used: the steps only go forward, and
// one beyond the current one is accepted. The one before it is too, while it has
// time to arrive.
func (r *remote) code() string { r.t.Helper(); return r.codeFrom((time.Now().Unix() - 15) / 30) }

// lastingCode is accepted for a minute or more, for clients that take long to start.
func (r *remote) lastingCode() string { r.t.Helper(); return r.codeFrom(time.Now().Unix()/30 + 1) }

func (r *remote) codeFrom(least int64) string {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	step := max(r.step+1, least)
	await.Until(r.t, "the step is accepted", func() bool { return step <= time.Now().Unix()/30+1 })
	r.step = step
	code, err := totp.GenerateCode(r.sandbox.Certificates["otp"].TotpSecret, time.Unix(step*30, 0))
	if err != nil {
		r.t.Fatal(err)
	}
	return code
}

// post calls a method of the API; the answer is a JSON object, or nothing.
func (r *remote) post(version int, method, token string, body any) (int, m) {
	r.t.Helper()
	a, err := r.call("POST", fmt.Sprintf("/csc/v%d/%s", version, method), token, body)
	if err != nil {
		r.t.Fatalf("%s: %v", method, err)
	}
	out := m{}
	if len(a.Body) > 0 {
		if err := json.Unmarshal(a.Body, &out); err != nil {
			r.t.Errorf("v%d %s: %d %.300s", version, method, a.Status, a.Body)
		}
	}
	if _, enveloped := out["success"]; enveloped {
		r.t.Errorf("v%d %s answers in the envelope: %.300s", version, method, a.Body)
	}
	return a.Status, out
}

// token makes a token of the account with scopes.
func (r *remote) token(scopes ...string) string {
	r.t.Helper()
	a, err := r.call("POST", "/token", r.sandbox.Token, m{"scopes": scopes, "ttl": 3600})
	var out struct{ Token string }
	if err == nil {
		err = json.Unmarshal(a.Body, &out)
	}
	if err != nil || out.Token == "" {
		r.t.Fatalf("POST /token: %v %s", err, a.Body)
	}
	return out.Token
}

func hashOf(words string) string {
	d := sha256.Sum256([]byte(words))
	return b64(d[:])
}

// asks is the body of authorize in the words of a version.
func asks(version int, id, pin, otp string, hashes ...string) m {
	body := m{"credentialID": id, "numSignatures": len(hashes)}
	if version == 1 {
		body["hash"], body["PIN"] = hashes, pin
		if otp != "" {
			body["OTP"] = otp
		}
		return body
	}
	data := []m{{"id": "PIN", "value": pin}}
	if otp != "" {
		data = append(data, m{"id": "OTP", "value": otp})
	}
	body["hashes"], body["hashAlgorithmOID"], body["authData"] = hashes, "2.16.840.1.101.3.4.2.1", data
	return body
}

// signs is the body of signHash in the words of a version.
func signs(version int, id, sad string, rsa bool, hashes ...string) m {
	body := m{"credentialID": id, "SAD": sad, "signAlgo": "1.2.840.10045.4.3.2"}
	if rsa {
		body["signAlgo"] = "1.2.840.113549.1.1.11"
	}
	if version == 1 {
		body["hash"] = hashes
		return body
	}
	body["hashes"], body["hashAlgorithmOID"] = hashes, "2.16.840.1.101.3.4.2.1"
	return body
}

// sad authorises hashes with the automatic certificate.
func (r *remote) sad(version int, token string, hashes ...string) string {
	r.t.Helper()
	id, _, pin := r.key("automatic")
	status, out := r.post(version, "credentials/authorize", token, asks(version, id, pin, "", hashes...))
	sad, _ := out["SAD"].(string)
	if status != http.StatusOK || sad == "" || out["expiresIn"] != float64(300) {
		r.t.Fatalf("authorize: %d %v", status, out)
	}
	return sad
}

// TestServerPyHanko: pyHanko signs with our keys through both versions.
func TestServerPyHanko(t *testing.T) {
	asked(t)
	python(t)
	r := newRemote(t)
	token := r.token("POST:*/csc")
	signed := 0
	for _, version := range []string{"v1", "v2"} {
		for _, kind := range []string{"automatic", "otp", "eseal"} {
			t.Run(version+" "+kind, func(t *testing.T) {
				id, _, pin := r.key(kind)
				n := 3
				files := papers(t, n)
				ask := m{"service": r.url(), "version": version, "token": token, "credential": id, "pin": pin, "files": files}
				if kind == "otp" {
					ask["otp"] = r.lastingCode()
				}
				before := r.credit()
				if said := pySign(t, ask); said.Signed != n || said.Multisign != 100 || said.Scal != 2 || said.ExpiresIn != 300 {
					t.Fatalf("%+v", said)
				}
				signed += n
				if r.credit() >= before {
					t.Error("it cost nothing")
				}
				for _, f := range files {
					b, err := os.ReadFile(f[1])
					if err != nil {
						t.Fatal(err)
					}
					r.valid(b, nil)
					dss.passed(t, b, "signed.pdf", "PAdES-B", nil, r.sandbox.RootCertificate)
				}
				wrong := m{"service": r.url(), "version": version, "token": token, "credential": id, "pin": "wrong", "files": papers(t, 1)}
				if kind == "otp" {
					wrong["otp"] = "000000"
				}
				if said := pySign(t, wrong); said.Signed != 0 {
					t.Errorf("a wrong PIN signs: %+v", said)
				}
			})
		}
	}
	var list []struct{ SignatureType, State string }
	r.must(&list, "GET", "/signatures?limit=100&signatureType=pkcs1&state=DONE", nil)
	if len(list) != signed {
		t.Errorf("%d records for %d values", len(list), signed)
	}
}

// TestServerInfo: every field of info and credentials/info, in both versions.
func TestServerInfo(t *testing.T) {
	asked(t)
	r := newRemote(t)
	for version, fields := range map[int][]string{
		1: {"specs", "name", "logo", "region", "lang", "description", "authType", "oauth2", "methods"},
		2: {"specs", "name", "logo", "region", "lang", "description", "authType", "oauth2", "methods", "asynchronousOperationMode", "signAlgorithms", "signature_formats", "conformance_levels"},
	} {
		status, out := r.post(version, "info", "", m{})
		if status != http.StatusOK || out["specs"] != map[int]string{1: "1.0.4.0", 2: "2.0.0.2"}[version] || out["oauth2"] != r.url()+"/csc" {
			t.Errorf("v%d: %d %v", version, status, out)
		}
		for _, f := range fields {
			if out[f] == nil {
				t.Errorf("v%d info has no %s", version, f)
			}
		}
		var methods []string
		b, _ := json.Marshal(out["methods"])
		_ = json.Unmarshal(b, &methods)
		for _, name := range []string{"credentials/list", "credentials/info", "credentials/authorize", "credentials/extendTransaction", "signatures/signHash", "auth/revoke"} {
			if !slices.Contains(methods, name) {
				t.Errorf("v%d info names no method %s", version, name)
			}
		}
		status, out = r.post(version, "credentials/list", r.sandbox.Token, m{})
		ids, _ := out["credentialIDs"].([]any)
		if status != http.StatusOK || len(ids) != 3 {
			t.Errorf("v%d list: %d %v", version, status, out)
		}
		for _, kind := range []string{"automatic", "otp", "eseal"} {
			id, _, _ := r.key(kind)
			status, out := r.post(version, "credentials/info", r.sandbox.Token, m{"credentialID": id, "certificates": "chain", "certInfo": true, "authInfo": true})
			key, _ := out["key"].(m)
			cert, _ := out["cert"].(m)
			if status != http.StatusOK || key["status"] != "enabled" || cert["status"] != "valid" || out["SCAL"] != "2" || out["multisign"] != float64(100) {
				t.Errorf("v%d %s: %d %v", version, kind, status, out)
				continue
			}
			for _, f := range []string{"issuerDN", "serialNumber", "subjectDN", "validFrom", "validTo"} {
				if s, _ := cert[f].(string); s == "" {
					t.Errorf("v%d %s: cert.%s is %v", version, kind, f, cert[f])
				}
			}
			if chain, _ := cert["certificates"].([]any); len(chain) < 2 {
				t.Errorf("v%d %s: a chain of %d", version, kind, len(chain))
			}
			if version == 1 {
				pin, _ := out["PIN"].(m)
				code, _ := out["OTP"].(m)
				if out["authMode"] != "explicit" || pin["presence"] != "true" || (code["presence"] == "true") != (kind == "otp") {
					t.Errorf("v1 %s: authMode %v PIN %v OTP %v", kind, out["authMode"], pin, code)
				}
				continue
			}
			auth, _ := out["auth"].(m)
			objects, _ := auth["objects"].([]any)
			if auth["mode"] != "explicit" || len(objects) != map[bool]int{true: 2, false: 1}[kind == "otp"] {
				t.Errorf("v2 %s: auth %v", kind, auth)
			}
		}
	}
}

// TestServerRefusals are replays and mix-ups. Each must be refused in the
// specification's own form, and sign nothing.
func TestServerRefusals(t *testing.T) {
	asked(t)
	r := newRemote(t)
	id, username, pin := r.key("automatic")
	sealID, _, sealPIN := r.key("eseal")
	otpID, _, otpPIN := r.key("otp")
	mine, other := r.token("POST:*/csc"), r.token("POST:*/csc")
	blind := r.token("POST:*/EU-QES_automatic")
	text, err := r.run("account", "create", "stranger@example.test", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var stranger struct{ Token string }
	if err := json.Unmarshal([]byte(text), &stranger); err != nil {
		t.Fatal(err)
	}
	n := 0
	fresh := func() string { n++; return hashOf(fmt.Sprint("fresh ", n)) }
	records := func() int {
		var list []struct{ ID string }
		r.must(&list, "GET", "/signatures?limit=100&state=DONE", nil)
		return len(list)
	}
	type attempt struct {
		name   string
		method string
		token  string
		body   m
		status []int
		code   string // of the error; "" for any
	}
	bad := []int{http.StatusBadRequest}
	for _, version := range []int{1, 2} {
		used, usedHash := "", fresh()
		used = r.sad(version, mine, usedHash)
		if status, out := r.post(version, "signatures/signHash", mine, signs(version, id, used, true, usedHash)); status != http.StatusOK || len(out["signatures"].([]any)) != 1 {
			t.Fatalf("signHash: %d %v", status, out)
		}
		wrongPIN, wrongOTP := "invalid_pin", "invalid_otp"
		if version == 2 {
			wrongPIN, wrongOTP = "invalid_authentication_data", "invalid_authentication_data"
		}
		hashes := map[int]string{1: "hash", 2: "hashes"}[version]
		with := func(body m, changes ...any) m {
			out := m{}
			for k, v := range body {
				out[k] = v
			}
			for i := 0; i < len(changes); i += 2 {
				if changes[i+1] == nil {
					delete(out, changes[i].(string))
					continue
				}
				out[changes[i].(string)] = changes[i+1]
			}
			return out
		}
		h := fresh()
		two := fresh()
		good := asks(version, id, pin, "", h)
		sad := func() string { return r.sad(version, mine, h) }
		one := sad()
		sha1 := base64.StdEncoding.EncodeToString(make([]byte, 20))
		hashAlgo := map[int]string{1: "hashAlgo", 2: "hashAlgorithmOID"}[version]
		list := []attempt{
			{"no token", "credentials/list", "", m{}, []int{401}, ""},
			{"a wrong token", "credentials/list", "nonsense", m{}, []int{401}, ""},
			{"a token without the scope", "credentials/list", blind, m{}, []int{401, 403}, ""},
			{"no credential", "credentials/info", mine, m{}, bad, "invalid_request"},
			{"a credential that is not there", "credentials/info", mine, m{"credentialID": "0123456789abcdef01234567"}, bad, "invalid_request"},
			{"a credential by its username", "credentials/info", mine, m{"credentialID": username}, bad, "invalid_request"},
			{"a foreign credential", "credentials/info", stranger.Token, m{"credentialID": id}, bad, "invalid_request"},
			{"a foreign credential with its PIN", "credentials/authorize", stranger.Token, good, bad, "invalid_request"},
			{"authorize without a token", "credentials/authorize", "", good, []int{401}, ""},
			{"a wrong PIN", "credentials/authorize", mine, asks(version, id, "wrong", "", h), bad, wrongPIN},
			{"the PIN of another", "credentials/authorize", mine, asks(version, id, sealPIN, "", h), bad, wrongPIN},
			{"no PIN", "credentials/authorize", mine, with(good, "PIN", nil, "authData", nil), bad, ""},
			{"no code", "credentials/authorize", mine, asks(version, otpID, otpPIN, "", h), bad, ""},
			{"a wrong code", "credentials/authorize", mine, asks(version, otpID, otpPIN, "000000", h), bad, wrongOTP},
			{"no numSignatures", "credentials/authorize", mine, with(good, "numSignatures", nil), bad, "invalid_request"},
			{"numSignatures 0", "credentials/authorize", mine, with(good, "numSignatures", 0), bad, "invalid_request"},
			{"numSignatures 101", "credentials/authorize", mine, with(good, "numSignatures", 101), bad, "invalid_request"},
			{"numSignatures a string", "credentials/authorize", mine, with(good, "numSignatures", "1"), bad, "invalid_request"},
			{"more hashes than numSignatures", "credentials/authorize", mine, with(asks(version, id, pin, "", h, two), "numSignatures", 1), bad, "invalid_request"},
			{"no hashes", "credentials/authorize", mine, with(good, hashes, nil), bad, "invalid_request"},
			{"an empty list of hashes", "credentials/authorize", mine, with(good, hashes, []string{}), bad, "invalid_request"},
			{"a hash that is no base64", "credentials/authorize", mine, with(good, hashes, []string{"***"}), bad, "invalid_request"},
			{"a SHA-1 hash", "credentials/authorize", mine, with(good, hashes, []string{sha1}), bad, "invalid_request"},

			{"a hash signed already", "signatures/signHash", mine, signs(version, id, used, true, usedHash), bad, "invalid_request"},
			{"another hash with a used SAD", "signatures/signHash", mine, signs(version, id, used, true, fresh()), bad, "invalid_request"},
			{"a hash not authorised", "signatures/signHash", mine, signs(version, id, sad(), true, fresh()), bad, "invalid_request"},
			{"one authorised, one not", "signatures/signHash", mine, signs(version, id, sad(), true, h, fresh()), bad, "invalid_request"},
			{"the same hash twice in one call", "signatures/signHash", mine, signs(version, id, sad(), true, h, h), bad, "invalid_request"},
			{"a SAD of another credential", "signatures/signHash", mine, signs(version, sealID, one, false, h), bad, "invalid_request"},
			{"a SAD with another token of the account", "signatures/signHash", other, signs(version, id, one, true, h), []int{400, 401, 403}, ""},
			{"a SAD with the token of a stranger", "signatures/signHash", stranger.Token, signs(version, id, one, true, h), []int{400, 401, 403}, ""},
			{"a SAD without a token", "signatures/signHash", "", signs(version, id, one, true, h), []int{401}, ""},
			{"no SAD", "signatures/signHash", mine, with(signs(version, id, one, true, h), "SAD", nil), bad, "invalid_request"},
			{"an invented SAD", "signatures/signHash", mine, signs(version, id, "SAD-1234567890", true, h), bad, "invalid_request"},
			{"a SAD changed", "signatures/signHash", mine, signs(version, id, one+"x", true, h), bad, "invalid_request"},
			{"an algorithm of another key", "signatures/signHash", mine, signs(version, id, one, false, h), bad, "invalid_request"},
			{"SHA-1 with RSA", "signatures/signHash", mine, with(signs(version, id, one, true, h), "signAlgo", "1.2.840.113549.1.1.5", hashAlgo, nil), bad, "invalid_request"},
			{"SHA-512 for a hash of 32 bytes", "signatures/signHash", mine, with(signs(version, id, one, true, h), "signAlgo", "1.2.840.113549.1.1.13", hashAlgo, nil), bad, "invalid_request"},
			{"no algorithm", "signatures/signHash", mine, with(signs(version, id, one, true, h), "signAlgo", nil), bad, "invalid_request"},
			{"bare RSA without a hash algorithm", "signatures/signHash", mine, with(signs(version, id, one, true, h), "signAlgo", "1.2.840.113549.1.1.1", hashAlgo, nil), bad, "invalid_request"},
			{"no hashes to sign", "signatures/signHash", mine, with(signs(version, id, one, true, h), hashes, nil), bad, "invalid_request"},
			{"extend with an invented SAD", "credentials/extendTransaction", mine, m{"credentialID": id, "SAD": "x", hashes: []string{h}, "hash": []string{h}}, bad, "invalid_request"},
			{"extend what was used up", "credentials/extendTransaction", mine, m{"credentialID": id, "SAD": used, hashes: []string{h}}, bad, "invalid_request"},
			{"no such method", "credentials/steal", mine, m{}, []int{404, 405, 501}, ""},
		}
		before, credit := records(), r.credit()
		for _, a := range list {
			t.Run(fmt.Sprintf("v%d/%s", version, a.name), func(t *testing.T) {
				status, out := r.post(version, a.method, a.token, a.body)
				code, _ := out["error"].(string)
				if !slices.Contains(a.status, status) || code == "" || a.code != "" && code != a.code {
					t.Errorf("%s: %d %v, want %v %s", a.method, status, out, a.status, a.code)
				}
				if out["signatures"] != nil || out["SAD"] != nil {
					t.Errorf("it was given %v", out)
				}
			})
		}
		if records() != before || r.credit() != credit {
			t.Errorf("v%d: %d records and %v more after refusals", version, records()-before, credit-r.credit())
		}
		// What was refused did no harm: the SAD is good still.
		if status, out := r.post(version, "signatures/signHash", mine, signs(version, id, one, true, h)); status != http.StatusOK {
			t.Errorf("v%d: the SAD after refusals: %d %v", version, status, out)
		}
		r.must(nil, "POST", "/certificates/"+id+"/suspend", m{})
		if status, out := r.post(version, "credentials/authorize", mine, good); status != http.StatusBadRequest {
			t.Errorf("v%d: a suspended credential: %d %v", version, status, out)
		}
		if _, out := r.post(version, "credentials/info", mine, m{"credentialID": id}); out["cert"].(m)["status"] != "suspended" {
			t.Errorf("v%d: %v", version, out["cert"])
		}
		r.must(nil, "POST", "/certificates/"+id+"/resume", m{})
		late := fresh()
		waiting := r.sad(version, mine, late)
		r.must(nil, "POST", "/certificates/"+id+"/suspend", m{})
		if status, out := r.post(version, "signatures/signHash", mine, signs(version, id, waiting, true, late)); status != http.StatusBadRequest {
			t.Errorf("v%d: suspended between authorize and signHash: %d %v", version, status, out)
		}
		r.must(nil, "POST", "/certificates/"+id+"/resume", m{})
	}
}

// TestServerOnce: of many calls with one SAD and hash at the same time one is
// answered with a value, also after kill -9.
func TestServerOnce(t *testing.T) {
	asked(t)
	r := newRemote(t)
	id, _, pin := r.key("automatic")
	token := r.token("POST:*/csc")
	for round := range 3 {
		version := 1 + round%2
		h := hashOf(fmt.Sprint("once", round))
		sad := r.sad(version, token, h)
		var got, refused sync.Map
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				status, out := r.post(version, "signatures/signHash", token, signs(version, id, sad, true, h))
				if status == http.StatusOK {
					got.Store(i, out)
				} else {
					refused.Store(i, status)
				}
			})
		}
		all.Wait()
		count := 0
		got.Range(func(any, any) bool { count++; return true })
		if count != 1 {
			t.Errorf("round %d: %d values for one hash", round, count)
		}
	}
	// kill -9 while values are made.
	for round := range 3 {
		var hashes []string
		for i := range 50 {
			hashes = append(hashes, hashOf(fmt.Sprint("kill", round, i)))
		}
		sad := r.sad(1, token, hashes...)
		given, until, enough := map[string]bool{}, 1+rand.N(len(hashes)), make(chan struct{})
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				for _, h := range hashes[i*10 : i*10+10] {
					a, err := r.call("POST", "/csc/v1/signatures/signHash", token, signs(1, id, sad, true, h))
					if err != nil {
						return
					}
					mu.Lock()
					if given[h] = a.Status == http.StatusOK; len(given) == until {
						close(enough)
					}
					mu.Unlock()
				}
			})
		}
		select {
		case <-enough:
		case <-time.After(await.Limit):
			t.Fatal("the values do not come")
		}
		r.kill()
		all.Wait()
		r.start()
		for _, h := range hashes {
			status, out := r.post(1, "signatures/signHash", token, signs(1, id, sad, true, h))
			if given[h] && status == http.StatusOK {
				t.Errorf("a value was given before kill -9 and after it: %v", out)
			}
		}
	}
	// Extending: two were allowed, one hash was named.
	first, second := hashOf("extend 1"), hashOf("extend 2")
	body := asks(1, id, pin, "", first)
	body["numSignatures"] = 2
	_, out := r.post(1, "credentials/authorize", token, body)
	sad, _ := out["SAD"].(string)
	if status, out := r.post(1, "signatures/signHash", token, signs(1, id, sad, true, first)); status != http.StatusOK {
		t.Errorf("%d %v", status, out)
	}
	status, out := r.post(1, "credentials/extendTransaction", token, m{"credentialID": id, "SAD": sad, "hash": []string{second}})
	next, _ := out["SAD"].(string)
	if status != http.StatusOK || next == "" {
		t.Fatalf("extend: %d %v", status, out)
	}
	if status, out := r.post(1, "signatures/signHash", token, signs(1, id, next, true, second)); status != http.StatusOK {
		t.Errorf("after extending: %d %v", status, out)
	}
	if status, out := r.post(1, "credentials/extendTransaction", token, m{"credentialID": id, "SAD": next, "hash": []string{hashOf("extend 3")}}); status == http.StatusOK {
		t.Errorf("three of two: %v", out)
	}
	// The token ends, and with it what it had.
	sad = r.sad(2, token, hashOf("revoked"))
	if status, out := r.post(2, "auth/revoke", token, m{"token": token}); status != http.StatusNoContent {
		t.Errorf("auth/revoke: %d %v", status, out)
	}
	if status, out := r.post(2, "signatures/signHash", token, signs(2, id, sad, true, hashOf("revoked"))); status != http.StatusUnauthorized {
		t.Errorf("after auth/revoke: %d %v", status, out)
	}
}

// oauth is a client of ours in the code flow.
type oauth struct {
	r                    *remote
	id, secret, redirect string
	verifier, state      string
}

func (r *remote) client(name string) *oauth {
	r.t.Helper()
	redirect := "https://" + name + ".example.test/back"
	text, err := r.run("csc", "client", "add", name, "--redirect", redirect, "--json")
	if err != nil {
		r.t.Fatal(err)
	}
	var out struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || out.ID == "" || out.Secret == "" {
		r.t.Fatalf("rogito csc client add: %s", text)
	}
	return &oauth{r: r, id: out.ID, secret: out.Secret, redirect: redirect, verifier: strings.Repeat("verifier-"+name, 5), state: "state-" + name}
}

// query is an authorization request; pairs change it, "" removes.
func (o *oauth) query(changes ...string) url.Values {
	sum := sha256.Sum256([]byte(o.verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {o.id}, "redirect_uri": {o.redirect}, "scope": {"service"}, "state": {o.state},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

// login opens the page, fills it, and returns the address that the browser is
// sent back to; an empty one where it is not.
func (o *oauth) login(q url.Values, username, password, code string) (*url.URL, *browser) {
	o.r.t.Helper()
	b := newBrowser(o.r.t, o.r.http())
	if b.client.Transport == nil {
		b.client.Transport = http.DefaultTransport
	}
	var back *url.URL
	b.client.CheckRedirect = func(req *http.Request, _ []*http.Request) error {
		if strings.HasSuffix(req.URL.Host, ".example.test") {
			back = req.URL
			return http.ErrUseLastResponse
		}
		return nil
	}
	return o.fill(b, &back, o.r.url()+"/csc/oauth2/authorize?"+q.Encode(), username, password, code), b
}

// fill goes through the page at an address, until the browser is sent back.
func (o *oauth) fill(b *browser, sent **url.URL, address, username, password, code string) *url.URL {
	o.r.t.Helper()
	b.open(address)
	for range 4 {
		var form *html.Node
		for _, f := range elements(b.page, "form") {
			if slices.ContainsFunc(elements(f, "input"), func(n *html.Node) bool { return attribute(n, "type") == "password" }) {
				form = f
			}
		}
		if *sent != nil || b.status >= 400 || form == nil {
			break
		}
		fill := map[string]string{}
		for _, in := range elements(form, "input") {
			switch name := strings.ToLower(attribute(in, "name")); {
			case strings.Contains(name, "otp") || strings.Contains(name, "code"):
				fill[attribute(in, "name")] = code
			case attribute(in, "type") == "password":
				fill[attribute(in, "name")] = password
			case strings.Contains(name, "user"):
				fill[attribute(in, "name")] = username
			}
		}
		b.submit(form, fill)
	}
	return *sent
}

// redeem exchanges a code; pairs change the form, "" removes.
func (o *oauth) redeem(code string, changes ...string) (int, m) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {o.redirect}, "code_verifier": {o.verifier},
		"client_id": {o.id}, "client_secret": {o.secret},
	}
	for i := 0; i < len(changes); i += 2 {
		form.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			form.Del(changes[i])
		}
	}
	return o.r.form("/csc/oauth2/token", form)
}

func (r *remote) form(path string, form url.Values) (int, m) {
	r.t.Helper()
	resp, err := r.http().Post(r.url()+path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	out := m{}
	_ = json.Unmarshal(b, &out)
	if resp.StatusCode == http.StatusOK && out["access_token"] != nil && !strings.Contains(resp.Header.Get("Cache-Control"), "no-store") {
		r.t.Errorf("an answer with a token may be stored: %q", resp.Header.Get("Cache-Control"))
	}
	return resp.StatusCode, out
}

// TestServerOAuth: the code flow with what must not pass.
func TestServerOAuth(t *testing.T) {
	asked(t)
	r := newRemote(t)
	id, username, password := r.key("automatic")
	sealID, _, _ := r.key("eseal")
	one, two := r.client("first"), r.client("second")

	back, b := one.login(one.query(), username, password, "")
	if back == nil || back.Query().Get("state") != one.state || back.Query().Get("code") == "" {
		t.Fatalf("the page sends to %v: %d %.1500s", back, b.status, b.text)
	}
	code := back.Query().Get("code")
	for name, c := range map[string]struct {
		o       *oauth
		changes []string
	}{
		"a wrong verifier":          {one, []string{"code_verifier", strings.Repeat("w", 50)}},
		"no verifier":               {one, []string{"code_verifier", ""}},
		"a wrong secret":            {one, []string{"client_secret", "wrong"}},
		"another redirect address":  {one, []string{"redirect_uri", two.redirect}},
		"another client's code":     {two, []string{"code_verifier", one.verifier, "redirect_uri", one.redirect}},
		"a kind that is not known":  {one, []string{"grant_type", "password"}},
		"an invented code":          {one, []string{"code", "abcdefabcdefabcdef"}},
		"a code as a refresh token": {one, []string{"grant_type", "refresh_token", "refresh_token", code}},
	} {
		// Each with a code of its own, since a wrong try may end it.
		back, _ := one.login(one.query(), username, password, "")
		if back == nil {
			t.Fatal("no code")
		}
		status, out := c.o.redeem(back.Query().Get("code"), c.changes...)
		if status < 400 || status >= 500 || out["error"] == nil || out["access_token"] != nil {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	status, out := one.redeem(code)
	service, _ := out["access_token"].(string)
	refresh, _ := out["refresh_token"].(string)
	if status != http.StatusOK || service == "" {
		t.Fatalf("%d %v", status, out)
	}
	if status, list := r.post(2, "credentials/list", service, m{}); status != http.StatusOK || len(list["credentialIDs"].([]any)) != 1 || list["credentialIDs"].([]any)[0] != id {
		t.Errorf("a service token sees %d %v", status, list)
	}
	if status, out := r.post(2, "credentials/info", service, m{"credentialID": sealID}); status != http.StatusBadRequest {
		t.Errorf("a certificate of the same account that did not log in: %d %v", status, out)
	}
	if a, err := r.call("GET", "/signatures", service, nil); err != nil || a.Status != http.StatusForbidden && a.Status != http.StatusUnauthorized {
		t.Errorf("a service token reads /signatures: %d %v", a.Status, err)
	}
	for name, q := range map[string]url.Values{
		"no PKCE":                    one.query("code_challenge", "", "code_challenge_method", ""),
		"PKCE as plain text":         one.query("code_challenge_method", "plain"),
		"a redirect not registered":  one.query("redirect_uri", "https://thief.example.test/back"),
		"a client that is not there": one.query("client_id", "nobody"),
		"the implicit flow":          one.query("response_type", "token"),
		"a scope that is not known":  one.query("scope", "everything"),
		"credential without one":     one.query("scope", "credential"),
		"a foreign credential":       one.query("scope", "credential", "credentialID", "0123456789abcdef01234567", "numSignatures", "1", "hash", "AAAA"),
	} {
		back, b := one.login(q, username, password, "")
		if back != nil && (back.Query().Get("code") != "" || strings.HasPrefix(back.Host, "thief")) {
			t.Errorf("%s: sent to %s", name, back)
		}
		if back == nil && b.status < 400 {
			t.Errorf("%s: %d %.300s", name, b.status, b.text)
		}
	}
	if back, _ := one.login(one.query(), username, "wrong", ""); back != nil && back.Query().Get("code") != "" {
		t.Error("a wrong password gives a code")
	}
	// A credential token is good for its hashes, with its credential, once.
	h := hashOf("oauth")
	raw, _ := base64.StdEncoding.DecodeString(h)
	urlHash := base64.RawURLEncoding.EncodeToString(raw)
	back, b = one.login(one.query("scope", "credential", "credentialID", id, "numSignatures", "1", "hash", urlHash, "hashAlgorithmOID", "2.16.840.1.101.3.4.2.1", "hashes", urlHash), username, password, "")
	if back == nil || back.Query().Get("code") == "" {
		t.Fatalf("no code for a credential: %v %d %.1500s", back, b.status, b.text)
	}
	status, out = one.redeem(back.Query().Get("code"))
	sad, _ := out["access_token"].(string)
	if life, _ := out["expires_in"].(float64); status != http.StatusOK || sad == "" || life <= 0 || life > 300 || out["refresh_token"] != nil {
		t.Fatalf("the credential token: %d %v", status, out)
	}
	if status, out := r.post(1, "signatures/signHash", service, signs(1, id, sad, true, hashOf("something else"))); status != http.StatusBadRequest {
		t.Errorf("a hash that nobody consented to: %d %v", status, out)
	}
	status, out = r.post(1, "signatures/signHash", service, signs(1, id, sad, true, h))
	if status != http.StatusOK {
		t.Errorf("v1: the token as SAD beside the service token: %d %v", status, out)
	}
	if status, out := r.post(1, "signatures/signHash", service, signs(1, id, sad, true, h)); status == http.StatusOK {
		t.Errorf("the hash again: %v", out)
	}
	if refresh != "" {
		renew := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {one.id}, "client_secret": {one.secret}}
		status, out := r.form("/csc/oauth2/token", renew)
		if status != http.StatusOK {
			t.Errorf("renewal: %d %v", status, out)
		}
		if status, out := r.form("/csc/oauth2/token", renew); status == http.StatusOK {
			t.Errorf("a used refresh token: %v", out)
		}
	}
	if status, out := one.redeem(code); status == http.StatusOK {
		t.Errorf("a code again: %v", out)
	}
	// Pushed requests.
	push := one.query()
	push.Set("client_secret", one.secret)
	status, out = r.form("/csc/oauth2/pushed_authorize", push)
	uri, _ := out["request_uri"].(string)
	if status != http.StatusCreated || uri == "" {
		t.Fatalf("a pushed request: %d %v", status, out)
	}
	if back, _ := two.login(url.Values{"client_id": {two.id}, "request_uri": {uri}}, username, password, ""); back != nil && back.Query().Get("code") != "" {
		t.Error("a pushed request of another client")
	}
	status, out = r.form("/csc/oauth2/pushed_authorize", push)
	uri, _ = out["request_uri"].(string)
	back, b = one.login(url.Values{"client_id": {one.id}, "request_uri": {uri}}, username, password, "")
	if back == nil || back.Query().Get("code") == "" {
		t.Errorf("after a pushed request (%d): %v %d %.500s", status, back, b.status, b.text)
	}
	push.Set("client_secret", "wrong")
	if status, out := r.form("/csc/oauth2/pushed_authorize", push); status < 400 {
		t.Errorf("a pushed request with a wrong secret: %d %v", status, out)
	}
	// Revoking.
	r.form("/csc/oauth2/revoke", url.Values{"token": {service}, "client_id": {one.id}, "client_secret": {one.secret}})
	if status, out := r.post(2, "credentials/list", service, m{}); status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d %v", status, out)
	}
}

// TestServerSignDoc: documents signed through version 2, at every level.
func TestServerSignDoc(t *testing.T) {
	asked(t)
	r := newRemote(t)
	id, _, pin := r.key("automatic")
	token := r.token("POST:*/csc")
	for _, c := range []struct{ format, dss, name, envelope string }{
		{"P", "PAdES", "a.pdf", "Certification"},
		{"C", "CAdES", "a.bin", "Attached"},
		{"X", "XAdES", "a.xml", "Enveloped"},
	} {
		for _, level := range []string{"B", "T", "LT", "LTA"} {
			t.Run(c.dss+"-"+level, func(t *testing.T) {
				doc := paper(c.name, t.Name())
				sum := sha256.Sum256(doc)
				status, out := r.post(2, "credentials/authorize", token, asks(2, id, pin, "", b64(sum[:])))
				sad, _ := out["SAD"].(string)
				if status != http.StatusOK {
					t.Fatalf("authorize: %d %v", status, out)
				}
				one := m{"document": b64(doc), "signature_format": c.format, "conformance_level": "Ades-B-" + level, "signAlgo": "1.2.840.113549.1.1.11"}
				if c.format != "P" {
					one["signed_envelope_property"] = c.envelope
				}
				body := m{"credentialID": id, "SAD": sad, "documents": []m{one}}
				status, out = r.post(2, "signatures/signDoc", token, body)
				list, _ := out["DocumentWithSignature"].([]any)
				if status != http.StatusOK || len(list) != 1 {
					t.Fatalf("signDoc: %d %.600v", status, out)
				}
				signed, err := base64.StdEncoding.DecodeString(list[0].(string))
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Equal(signed, doc) {
					t.Error("the document came back as it was")
				}
				r.valid(signed, nil)
				dss.passed(t, signed, c.name, c.dss+"-"+level, nil, r.sandbox.RootCertificate)
				if status, out := r.post(2, "signatures/signDoc", token, body); status == http.StatusOK {
					t.Errorf("the same again: %.300v", out)
				}
			})
		}
	}
	status, out := r.post(2, "signatures/timestamp", token, m{"hash": hashOf("stamp"), "hashAlgo": "2.16.840.1.101.3.4.2.1", "nonce": "7B"})
	if s, _ := out["timestamp"].(string); status != http.StatusOK || s == "" {
		t.Errorf("timestamp: %d %v", status, out)
	}
}
