package server

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// Identifiers of algorithms.
const (
	oidSHA256    = "2.16.840.1.101.3.4.2.1"
	oidSHA512    = "2.16.840.1.101.3.4.2.3"
	oidRSA       = "1.2.840.113549.1.1.1"
	oidRSA256    = "1.2.840.113549.1.1.11"
	oidRSA512    = "1.2.840.113549.1.1.13"
	oidPSS       = "1.2.840.113549.1.1.10"
	oidECDSA256  = "1.2.840.10045.4.3.2"
	oidSHA1      = "1.3.14.3.2.26"
	notMyCode    = "000000"
	cscVerifier  = "a-verifier-that-is-long-enough-for-the-rule-of-43"
	cscRedirect  = "http://127.0.0.1:9/callback?x=1"
	cscTestApp   = "an-app"
	formEncoded  = "application/x-www-form-urlencoded"
	wrongAnswers = "the error is not in the form of the specification"
)

// cscCaller speaks one version of the API with one bearer.
type cscCaller struct {
	t      testing.TB
	url    string // of the server
	v      string // v1, v2
	bearer string
}

func (s *site) csc(v string) *cscCaller { return &cscCaller{s.t, s.url, v, s.box.Token} }

func (c *cscCaller) as(bearer string) *cscCaller { return &cscCaller{c.t, c.url, c.v, bearer} }

// post calls a method. Whatever fails has the form of an error.
func (c *cscCaller) post(method string, body m) (int, m) {
	c.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, c.url+"/csc/"+c.v+"/"+method, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, m{"error": err.Error()}
	}
	defer resp.Body.Close()
	return readCSC(c.t, resp)
}

func readCSC(t testing.TB, resp *http.Response) (int, m) {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := m{}
	if resp.StatusCode == http.StatusNoContent {
		return resp.StatusCode, out
	}
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatalf("%d %s: %v", resp.StatusCode, b, err)
	}
	if resp.StatusCode >= 400 {
		word, _ := out["error"].(string)
		text, _ := out["error_description"].(string)
		if word == "" || text == "" || len(out) != 2 {
			t.Errorf("%s: %d %s", wrongAnswers, resp.StatusCode, b)
		}
	}
	if out["SAD"] != nil || out["access_token"] != nil {
		if resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("Cache-Control %q", resp.Header.Get("Cache-Control"))
		}
	}
	return resp.StatusCode, out
}

// must is post of what succeeds.
func (c *cscCaller) must(method string, body m) m {
	c.t.Helper()
	status, out := c.post(method, body)
	if status != 200 {
		c.t.Fatalf("%s: %d %v", method, status, out)
	}
	return out
}

func digestsOf(texts ...string) (all []string) {
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		all = append(all, b64(sum[:]))
	}
	return all
}

// authorize gives a SAD for hashes, in the names of the version.
func (c *cscCaller) authorize(id, pin, otp string, hashes []string, more ...m) m {
	body := m{"credentialID": id, "numSignatures": len(hashes)}
	if c.v == "v1" {
		body["hash"], body["PIN"] = hashes, pin
		if otp != "" {
			body["OTP"] = otp
		}
	} else {
		objects := []m{{"id": "PIN", "value": pin}}
		if otp != "" {
			objects = append(objects, m{"id": "OTP", "value": otp})
		}
		body["hashes"], body["hashAlgorithmOID"], body["authData"] = hashes, oidSHA256, objects
	}
	for _, x := range more {
		for k, v := range x {
			if body[k] = v; v == nil {
				delete(body, k)
			}
		}
	}
	return body
}

func (c *cscCaller) sad(id, pin, otp string, hashes []string, more ...m) string {
	c.t.Helper()
	out := c.must("credentials/authorize", c.authorize(id, pin, otp, hashes, more...))
	if out["expiresIn"] != 300.0 {
		c.t.Errorf("expiresIn %v", out["expiresIn"])
	}
	return out["SAD"].(string)
}

func (c *cscCaller) signBody(id, sad, algo string, hashes []string) m {
	if c.v == "v1" {
		return m{"credentialID": id, "SAD": sad, "hash": hashes, "signAlgo": algo}
	}
	return m{"credentialID": id, "SAD": sad, "hashes": hashes, "hashAlgorithmOID": oidSHA256, "signAlgo": algo}
}

// credentials are the certificates of the sandbox, by their kinds.
func (s *site) credentials() map[string]string {
	s.t.Helper()
	c, byKind := s.csc("v2"), map[string]string{}
	out := c.must("credentials/list", m{"credentialInfo": true, "certificates": "chain", "certInfo": true, "authInfo": true, "onlyValid": true, "lang": nil, "clientData": nil})
	if out["onlyValid"] != true {
		s.t.Errorf("onlyValid %v", out["onlyValid"])
	}
	for _, one := range out["credentialInfos"].([]any) {
		info := one.(m)
		byKind[map[string]string{"automatic signature": "automatic", "signature with one-time password": "otp", "electronic seal": "eseal"}[info["description"].(string)]] = info["credentialID"].(string)
	}
	return byKind
}

// checkValue holds a value against the certificate of a credential.
func (c *cscCaller) checkValue(id, value string, h crypto.Hash, digest []byte) {
	c.t.Helper()
	info := c.must("credentials/info", m{"credentialID": id})
	der, err := base64.StdEncoding.DecodeString(info["cert"].(m)["certificates"].([]any)[0].(string))
	if err != nil {
		c.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		c.t.Fatal(err)
	}
	v, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		c.t.Fatal(err)
	}
	switch pub := cert.PublicKey.(type) {
	case *rsa.PublicKey:
		err = rsa.VerifyPKCS1v15(pub, h, digest, v)
	case *ecdsa.PublicKey:
		if !ecdsa.VerifyASN1(pub, digest, v) {
			err = fmt.Errorf("ECDSA value is wrong")
		}
	}
	if err != nil {
		c.t.Error(err)
	}
}

// algoOf is the algorithm of a credential's key with SHA-256.
func (c *cscCaller) algoOf(id string) string {
	c.t.Helper()
	return c.must("credentials/info", m{"credentialID": id})["key"].(m)["algo"].([]any)[0].(string)
}

// Every field of a version is filled, and no token is asked for.
func TestCSCInfo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for v, more := range map[string][]string{
		"v1": {},
		"v2": {"asynchronousOperationMode", "validationInfo", "signAlgorithms", "signature_formats", "conformance_levels"},
	} {
		for _, lang := range []string{"en", "it"} {
			out := s.csc(v).as("").must("info", m{"lang": lang + "-XX"})
			for _, name := range append(more, "specs", "name", "logo", "region", "lang", "description", "authType", "oauth2", "methods") {
				if x, ok := out[name]; !ok || x == "" {
					t.Errorf("%s: %s is missing", v, name)
				}
			}
			if out["oauth2"] != s.url+"/csc" || out["lang"] != lang || out["specs"] != map[string]string{"v1": "1.0.4.0", "v2": "2.0.0.2"}[v] {
				t.Errorf("%s: %v", v, out)
			}
			for _, name := range out["methods"].([]any) {
				path := strings.TrimPrefix(name.(string), "oauth2/")
				if path != name {
					continue
				}
				if status, _ := s.csc(v).as("").post(path, m{}); status == 404 || status == 501 {
					t.Errorf("%s: %s is listed and not there", v, name)
				}
			}
		}
	}
	resp, err := http.Get(s.csc("v2").as("").must("info", m{})["logo"].(string))
	if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "image/png" {
		t.Errorf("logo: %v %v", resp, err)
	}
	resp.Body.Close()
}

// Both versions sign with every kind, in either version's names, and each value
// is a record of its own at its price.
func TestCSCSignHash(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ids := s.credentials()
		before := s.wallet()
		values := 0
		for i, v := range []string{"v1", "v2"} {
			c := s.csc(v)
			for _, kind := range []string{"automatic", "otp", "eseal"} {
				otp := ""
				if kind == "otp" {
					otp = codeOf(t, s.box.Certificates["otp"].TOTPSecret, i)
				}
				hashes := digestsOf("a "+v+kind, "b", "b")
				algo := c.algoOf(ids[kind])
				sad := c.sad(ids[kind], s.box.Certificates[kind].Password, otp, hashes)
				out := c.must("signatures/signHash", c.signBody(ids[kind], sad, algo, hashes))
				got := out["signatures"].([]any)
				if len(got) != 3 {
					t.Fatalf("%v", out)
				}
				for j, h := range hashes {
					digest, _ := base64.StdEncoding.DecodeString(h)
					c.checkValue(ids[kind], got[j].(string), crypto.SHA256, digest)
				}
				values += 3
			}
		}
		// Version 2 with the names of version 1, rsaEncryption with a hash beside it, SHA-512.
		c := s.csc("v2")
		sum := sha512.Sum512([]byte("long"))
		hashes := []string{base64.URLEncoding.EncodeToString(sum[:])}
		out := c.must("credentials/authorize", m{"credentialID": ids["eseal"], "numSignatures": 1, "hash": hashes, "PIN": s.box.Certificates["eseal"].Password})
		algo := c.algoOf(ids["eseal"])
		body := m{"credentialID": ids["eseal"], "SAD": out["SAD"], "hash": hashes, "hashAlgo": oidSHA512, "signAlgo": oidRSA}
		if algo == oidECDSA256 {
			body["signAlgo"] = "1.2.840.10045.4.3.4"
		}
		c.checkValue(ids["eseal"], c.must("signatures/signHash", body)["signatures"].([]any)[0].(string), crypto.SHA512, sum[:])
		values++

		var list []struct{ ID, State, CertificateType, SignatureType string }
		a := s.do("GET", "/signatures?limit=100", nil)
		if err := json.Unmarshal(a.Data, &list); err != nil || len(list) != values {
			t.Fatalf("%d records of %d, %v", len(list), values, err)
		}
		for _, r := range list {
			if r.State != "DONE" || r.SignatureType != "pkcs1" || !strings.HasPrefix(r.CertificateType, "EU-QES_") {
				t.Errorf("%+v", r)
			}
		}
		if got, want := before-s.wallet(), 0.05*float64(values); got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%d values cost %v, not %v", values, got, want)
		}
		s.verifyAudit()
	})
}

// wallet is the credit of the sandbox's account.
func (s *site) wallet() float64 {
	s.t.Helper()
	var w struct{ Credit float64 }
	a := s.do("GET", "/wallet", nil)
	if a.Status != 200 || json.Unmarshal(a.Data, &w) != nil {
		s.t.Fatalf("%d %s %s", a.Status, a.Message, a.Data)
	}
	return w.Credit
}

// cscCase is a request that is refused.
type cscCase struct {
	name   string
	method string
	body   m
	word   string // of the error
}

// Replays, mix-ups, foreign credentials and whatever else is wrong: refused in the
// form of the specification, and nothing is signed.
func TestCSCRefusals(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		stranger, strangersID := s.strangers()
		for _, v := range []string{"v1", "v2"} {
			t.Run(v, func(t *testing.T) {
				here := *s
				here.t = t
				here.cscRefusals(v, stranger, strangersID)
			})
		}
	})
}

func (s *site) cscRefusals(v, stranger, strangersID string) {
	t, c, ids := s.t, s.csc(v), s.credentials()
	auto, seal := ids["automatic"], ids["eseal"]
	pin, sealPIN := s.box.Certificates["automatic"].Password, s.box.Certificates["eseal"].Password
	algo, sealAlgo := c.algoOf(auto), c.algoOf(seal)
	other := oidECDSA256
	if algo == oidECDSA256 {
		other = oidRSA256
	}
	mine, yours := digestsOf("mine "+v), digestsOf("yours "+v)
	long := make([]string, 101)
	for i := range long {
		long[i] = mine[0]
	}
	badPIN := map[string]string{"v1": "invalid_pin", "v2": "invalid_authentication_data"}[v]
	badOTP := map[string]string{"v1": "invalid_otp", "v2": "invalid_authentication_data"}[v]
	hash := map[string]string{"v1": "hash", "v2": "hashes"}[v]
	hashAlgo := map[string]string{"v1": "hashAlgo", "v2": "hashAlgorithmOID"}[v]
	const bad = "invalid_request"
	with := func(b m, k string, x any) m {
		if b[k] = x; x == nil {
			delete(b, k)
		}
		return b
	}

	sad := c.sad(auto, pin, "", mine)
	sealSAD := c.sad(seal, sealPIN, "", mine)
	used := c.sad(auto, pin, "", mine)
	c.must("signatures/signHash", c.signBody(auto, used, algo, mine))
	extended := c.sad(auto, pin, "", mine, m{"numSignatures": 2})
	next := c.must("credentials/extendTransaction", with(m{"credentialID": auto, "SAD": extended, hashAlgo: oidSHA256}, hash, yours))["SAD"].(string)
	signed := len(s.records())

	cases := []cscCase{
		{"foreign credential, info", "credentials/info", m{"credentialID": strangersID}, bad},
		{"foreign credential, authorize", "credentials/authorize", c.authorize(strangersID, pin, "", mine), bad},
		{"foreign credential, signHash", "signatures/signHash", c.signBody(strangersID, sad, algo, mine), bad},
		{"unknown credential", "credentials/info", m{"credentialID": strings.Repeat("0", 24)}, bad},
		{"no credential", "credentials/info", m{}, bad},
		{"credential of another type", "credentials/info", m{"credentialID": 7}, bad},
		{"another user's list", "credentials/list", m{"userID": "somebody"}, bad},
		{"unknown certificates", "credentials/info", m{"credentialID": auto, "certificates": "all"}, bad},
		{"wrong PIN", "credentials/authorize", c.authorize(auto, "not it", "", mine), badPIN},
		{"no PIN", "credentials/authorize", c.authorize(auto, "", "", mine, m{"PIN": nil, "authData": nil}), bad},
		{"wrong OTP", "credentials/authorize", c.authorize(ids["otp"], s.box.Certificates["otp"].Password, notMyCode, mine), badOTP},
		{"no OTP", "credentials/authorize", c.authorize(ids["otp"], s.box.Certificates["otp"].Password, "", mine), bad},
		{"no numSignatures", "credentials/authorize", c.authorize(auto, pin, "", mine, m{"numSignatures": nil}), bad},
		{"numSignatures a text", "credentials/authorize", c.authorize(auto, pin, "", mine, m{"numSignatures": "1"}), bad},
		{"no signatures", "credentials/authorize", c.authorize(auto, pin, "", mine, m{"numSignatures": 0}), bad},
		{"fewer signatures than hashes", "credentials/authorize", c.authorize(auto, pin, "", digestsOf("a", "b"), m{"numSignatures": 1}), bad},
		{"too many signatures", "credentials/authorize", c.authorize(auto, pin, "", mine, m{"numSignatures": 101}), bad},
		{"too many hashes", "credentials/authorize", c.authorize(auto, pin, "", long), bad},
		{"no hashes", "credentials/authorize", c.authorize(auto, pin, "", mine, m{hash: nil}), bad},
		{"empty hashes", "credentials/authorize", c.authorize(auto, pin, "", mine, m{hash: []string{}}), bad},
		{"hash not base64", "credentials/authorize", c.authorize(auto, pin, "", mine, m{hash: []string{"!!!"}}), bad},
		{"hash of SHA-1", "credentials/authorize", c.authorize(auto, pin, "", mine, m{hash: []string{b64(make([]byte, 20))}, hashAlgo: nil}), bad},
		{"SHA-1", "credentials/authorize", c.authorize(auto, pin, "", mine, m{hashAlgo: oidSHA1}), bad},
		{"SAD of nobody", "signatures/signHash", c.signBody(auto, "sad_"+strings.Repeat("A", 52), algo, mine), bad},
		{"no SAD", "signatures/signHash", c.signBody(auto, "", algo, mine), bad},
		{"SAD of another credential", "signatures/signHash", c.signBody(auto, sealSAD, algo, mine), bad},
		{"credential of another SAD", "signatures/signHash", c.signBody(seal, sad, sealAlgo, mine), bad},
		{"hash not authorised", "signatures/signHash", c.signBody(auto, sad, algo, yours), bad},
		{"one of two not authorised", "signatures/signHash", c.signBody(auto, sad, algo, append(slices.Clone(mine), yours...)), bad},
		{"one hash twice in a call", "signatures/signHash", c.signBody(auto, sad, algo, append(slices.Clone(mine), mine...)), bad},
		{"one hash twice", "signatures/signHash", c.signBody(auto, used, algo, mine), bad},
		{"SAD that was extended", "signatures/signHash", c.signBody(auto, extended, algo, mine), bad},
		{"extended too far", "credentials/extendTransaction", with(m{"credentialID": auto, "SAD": next}, hash, digestsOf("third")), bad},
		{"extended by nobody's SAD", "credentials/extendTransaction", with(m{"credentialID": auto, "SAD": "x"}, hash, yours), bad},
		{"algorithm of another key", "signatures/signHash", c.signBody(auto, sad, other, mine), bad},
		{"PSS", "signatures/signHash", c.signBody(auto, sad, oidPSS, mine), bad},
		{"no algorithm", "signatures/signHash", c.signBody(auto, sad, "", mine), bad},
		{"hash contradicts the algorithm", "signatures/signHash", with(c.signBody(auto, sad, algo, mine), hashAlgo, oidSHA512), bad},
		{"later answers", "signatures/signHash", with(c.signBody(auto, sad, algo, mine), "operationMode", "A"), bad},
		{"parameters", "signatures/signHash", with(c.signBody(auto, sad, algo, mine), "signAlgoParams", "MAA="), bad},
		{"both names", "signatures/signHash", with(with(c.signBody(auto, sad, algo, mine), "hash", mine), "hashes", mine), bad},
	}
	for _, x := range cases {
		status, out := c.post(x.method, x.body)
		if status != 400 || out["error"] != x.word {
			t.Errorf("%s: %d %v", x.name, status, out)
		}
	}
	// Another bearer, of the same account or of another one.
	for name, bearer := range map[string]string{"another token": s.otherToken(), "a stranger": stranger} {
		if status, out := c.as(bearer).post("signatures/signHash", c.signBody(auto, sad, algo, mine)); status != 400 || out["error"] != bad {
			t.Errorf("%s with the SAD: %d %v", name, status, out)
		}
		if status, out := c.as(bearer).post("credentials/extendTransaction", with(m{"credentialID": auto, "SAD": sad}, hash, yours)); status != 400 || out["error"] != bad {
			t.Errorf("%s extends the SAD: %d %v", name, status, out)
		}
	}
	for name, bearer := range map[string]string{"no token": "", "a wrong token": "rgt_" + strings.Repeat("0", 49), "a token without the scope": s.tokenFor("GET:*/signatures")} {
		status, out := c.as(bearer).post("credentials/list", m{})
		if want := map[bool]string{true: "access_denied", false: "invalid_token"}[status == 403]; status != 401 && status != 403 || out["error"] != want {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	if status, out := c.post("credentials/sendOTP", m{}); status != 501 || out["error"] != bad {
		t.Errorf("unknown method: %d %v", status, out)
	}
	if n := len(s.records()); n != signed {
		t.Errorf("%d records were made", n-signed)
	}
	// After all of that the SAD is still good, once.
	c.must("signatures/signHash", c.signBody(auto, sad, algo, mine))
	if status, out := c.post("signatures/signHash", c.signBody(auto, sad, algo, mine)); status != 400 || out["error"] != bad {
		t.Errorf("replay: %d %v", status, out)
	}
	c.must("signatures/signHash", c.signBody(auto, next, algo, append(slices.Clone(yours), mine...)))
}

func (s *site) records() (list []m) {
	s.t.Helper()
	a := s.do("GET", "/signatures?limit=100", nil)
	if err := json.Unmarshal(a.Data, &list); err != nil {
		s.t.Fatal(err)
	}
	return list
}

// tokenFor makes a token with scopes.
func (s *site) tokenFor(scopes ...string) string {
	s.t.Helper()
	var made struct{ Token string }
	a := s.do("POST", "/tokens", m{"scopes": scopes})
	if a.Status != 200 || json.Unmarshal(a.Data, &made) != nil {
		s.t.Fatalf("%d %s", a.Status, a.Message)
	}
	return made.Token
}

// strangers is a token of another account, and a certificate of that account.
func (s *site) strangers() (token, credential string) {
	s.t.Helper()
	token = s.stranger()
	storetest.Exec(s.t, s.rooms().db, `update wallets set credit = 1000000000`)
	there, box := *s, *s.box
	box.Token, there.box = token, &box
	return token, there.issued("automatic", m{}).ID
}

// Wrong PINs lock a certificate, whoever counts them, and a locked one is 400.
func TestCSCLock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, c := s.credentials(), s.csc("v2")
	for range 5 {
		if status, out := c.post("credentials/authorize", c.authorize(ids["automatic"], "wrong", "", digestsOf("x"))); status != 400 {
			t.Fatalf("%d %v", status, out)
		}
	}
	status, out := c.post("credentials/authorize", c.authorize(ids["automatic"], s.box.Certificates["automatic"].Password, "", digestsOf("x")))
	if status != 400 || out["error"] != "invalid_request" || !strings.Contains(out["error_description"].(string), "locked") {
		t.Errorf("%d %v", status, out)
	}
	if a := s.do("POST", "/EU-QES_automatic", s.body(b64(samplePDF))); a.Status != 423 {
		t.Errorf("the other way in: %d", a.Status)
	}
}

// A SAD dies with the certificate's password, its state and its token.
func TestCSCChangedSince(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.csc("v2")
	for name, change := range map[string]func(h issued, bearer string){
		"suspended": func(h issued, _ string) {
			if a := s.do("POST", "/certificates/"+h.ID+"/suspend", nil); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
		},
		"revoked": func(h issued, _ string) {
			if a := s.do("POST", "/certificates/"+h.ID+"/revoke", nil); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
		},
		"locked": func(h issued, _ string) {
			for range 5 {
				c.post("credentials/authorize", c.authorize(h.ID, "wrong", "", digestsOf("x")))
			}
		},
		"token revoked": func(_ issued, bearer string) {
			if status, _ := c.as(bearer).post("auth/revoke", m{"token": bearer}); status != 204 {
				t.Errorf("revoke: %d", status)
			}
		},
	} {
		h := s.issued("automatic", m{})
		mine := c.as(s.tokenFor("POST:*/csc"))
		sad := mine.sad(h.ID, h.pass, "", digestsOf("x"))
		algo := mine.algoOf(h.ID)
		change(h, mine.bearer)
		if status, out := mine.post("signatures/signHash", mine.signBody(h.ID, sad, algo, digestsOf("x"))); status != 400 && status != 401 {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
}

// Without credit nothing is signed, and the hash is not used up.
func TestCSCMoney(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, c, room := s.credentials(), s.csc("v2"), s.rooms()
	id := ids["automatic"]
	algo, hashes := c.algoOf(id), digestsOf("a", "b", "c")
	sad := c.sad(id, s.box.Certificates["automatic"].Password, "", hashes)
	storetest.Exec(t, room.db, `update wallets set credit = 60000`) // one signature
	c.must("signatures/signHash", c.signBody(id, sad, algo, hashes[:1]))
	if status, out := c.post("signatures/signHash", c.signBody(id, sad, algo, hashes[1:])); status != 402 || out["error"] != "access_denied" {
		t.Errorf("%d %v", status, out)
	}
	storetest.Exec(t, room.db, `update wallets set credit = 60000000`)
	c.must("signatures/signHash", c.signBody(id, sad, algo, hashes[1:]))
	if n := len(s.records()); n != 3 {
		t.Errorf("%d records", n)
	}
}

// What a security level asks for is asked for here too.
func TestCSCSecurityLevels(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.csc("v2")
		for _, level := range []int{2, 3} {
			h := s.issued("automatic", m{"securityLevel": level})
			if status, out := c.post("credentials/authorize", c.authorize(h.ID, h.pass, "", digestsOf("x"))); status != 403 || out["error"] != "access_denied" {
				t.Errorf("level %d: %d %v", level, status, out)
			}
		}
		h := s.issued("otp", m{"securityLevel": 5})
		hashes := digestsOf("x", "y")
		sad := c.sad(h.ID, h.pass, codeOf(t, h.secret, 0), hashes)
		body := c.signBody(h.ID, sad, c.algoOf(h.ID), hashes)
		for range 2 {
			if status, out := c.post("signatures/signHash", body); status != 400 || out["error"] != "access_denied" {
				t.Fatalf("without an approval: %d %v", status, out)
			}
		}
		other, waiting := s.otherToken(), s.records()
		if len(waiting) != 2 {
			t.Fatalf("%d records wait", len(waiting))
		}
		for _, r := range waiting {
			if a := s.do("POST", "/approvals/"+r["id"].(string), nil, "Authorization", "Bearer "+other); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			s.wait(r["id"].(string), "DONE")
		}
		if got := c.must("signatures/signHash", body)["signatures"].([]any); len(got) != 2 {
			t.Errorf("%v", got)
		}
		if status, out := c.post("signatures/signHash", body); status != 400 || out["error"] != "invalid_request" {
			t.Errorf("again: %d %v", status, out)
		}
		if n := len(s.records()); n != 2 {
			t.Errorf("%d records", n)
		}
	})
}

// Documents are signed in every format and at every level, and what comes back is
// valid.
func TestCSCSignDoc(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, c := s.credentials(), s.csc("v2")
	id, pin := ids["automatic"], s.box.Certificates["automatic"].Password
	algo := c.algoOf(id)
	for _, x := range []struct {
		format, envelope string
		doc              []byte
		answer           string
	}{
		{"P", "", samplePDF, "DocumentWithSignature"},
		{"P", "Revision", samplePDF, "DocumentWithSignature"},
		{"C", "", sampleTXT, "DocumentWithSignature"},
		{"C", "Detached", sampleTXT, "SignatureObject"},
		{"X", "", sampleXML, "DocumentWithSignature"},
		{"X", "Enveloping", sampleTXT, "DocumentWithSignature"},
		{"X", "Detached", sampleXML, "SignatureObject"},
	} {
		for _, level := range []string{"", "Ades-B-T", "AdES-B-LT", "Ades-B-LTA"} {
			sum := sha256.Sum256(x.doc)
			sad := c.sad(id, pin, "", []string{b64(sum[:])})
			doc := m{"document": b64(x.doc), "signature_format": x.format, "signAlgo": algo}
			if level != "" {
				doc["conformance_level"] = level
			}
			if x.envelope != "" {
				doc["signed_envelope_property"] = x.envelope
			}
			out := c.must("signatures/signDoc", m{"credentialID": id, "SAD": sad, "documents": []m{doc}})
			list, _ := out[x.answer].([]any)
			if len(out) != 1 || len(list) != 1 {
				t.Fatalf("%s %s %s: %v", x.format, x.envelope, level, out)
			}
			verify := m{"inputDocument": list[0]}
			if x.answer == "SignatureObject" {
				verify["detachedContent"] = b64(x.doc)
			}
			want := map[string]string{"": "B"}[level]
			if want == "" {
				want = level[strings.LastIndex(level, "-")+1:]
			}
			s.wantValid(x.format+x.envelope+level, verify, "BASELINE-"+want)
			if status, _ := c.post("signatures/signDoc", m{"credentialID": id, "SAD": sad, "documents": []m{doc}}); status != 400 {
				t.Errorf("%s again: %d", x.format, status)
			}
		}
	}
	s.cscDigests(c, id, pin, algo)
	s.verifyAudit()
}

// wantValid has a document verified by the server itself.
func (s *site) wantValid(name string, body m, level string) {
	s.t.Helper()
	a := s.do("POST", "/verify", body)
	var v struct {
		Indication          string
		SignatureReportList []struct{ Indication, SignatureLevel string }
	}
	if a.Status != 200 || json.Unmarshal(a.Data, &v) != nil || len(v.SignatureReportList) != 1 {
		s.t.Errorf("%s: %d %s %.300s", name, a.Status, a.Message, a.Data)
		return
	}
	if v.Indication != "TOTAL-PASSED" || !strings.HasSuffix(v.SignatureReportList[0].SignatureLevel, level) {
		s.t.Errorf("%s: %s %+v", name, a.Message, v)
	}
}

// cscDigests signs over digests, and refuses what is wrong about documents.
func (s *site) cscDigests(c *cscCaller, id, pin, algo string) {
	t := s.t
	sum := sha256.Sum256(sampleTXT)
	digest := b64(sum[:])
	for _, format := range []string{"C", "P"} {
		sad := c.sad(id, pin, "", []string{digest})
		out := c.must("signatures/signDoc", m{"credentialID": id, "SAD": sad, "documentDigests": []m{{"hashes": []string{digest}, "hashAlgorithmOID": oidSHA256, "signature_format": format, "signAlgo": algo, "conformance_level": "Ades-B-T"}}})
		// The time of a signature in a PDF stands in the PDF: alone it is no baseline.
		level := map[string]string{"C": "BASELINE-T", "P": "CAdES-T"}[format]
		s.wantValid("digest "+format, m{"inputDocument": out["SignatureObject"].([]any)[0], "detachedContent": b64(sampleTXT)}, level)
	}
	sad := c.sad(id, pin, "", []string{digest})
	doc := func(change m) []m {
		d := m{"document": b64(sampleTXT), "signature_format": "C", "signAlgo": algo}
		for k, v := range change {
			d[k] = v
		}
		return []m{d}
	}
	for name, body := range map[string]m{
		"another document":  {"documents": doc(m{"document": b64(samplePDF)})},
		"no format":         {"documents": doc(m{"signature_format": nil})},
		"unknown level":     {"documents": doc(m{"conformance_level": "Ades-C"})},
		"unknown envelope":  {"documents": doc(m{"signed_envelope_property": "Certification"})},
		"not base64":        {"documents": doc(m{"document": "%%%"})},
		"no document":       {"documents": doc(m{"document": nil})},
		"signed properties": {"documents": doc(m{"signed_props": []m{{"attribute_name": "mime-type", "attribute_value": "eA=="}}})},
		"wrong algorithm":   {"documents": doc(m{"signAlgo": oidPSS})},
		"nothing":           {},
		"empty":             {"documents": []m{}},
		"both":              {"documents": doc(nil), "documentDigests": []m{{"hashes": []string{digest}}}},
		"XAdES of a digest": {"documentDigests": []m{{"hashes": []string{digest}, "hashAlgorithmOID": oidSHA256, "signature_format": "X", "signAlgo": algo}}},
		"no PDF":            {"documents": doc(m{"signature_format": "P", "document": b64(sampleTXT)})},
	} {
		if name == "no PDF" { // it is looked into, and leaves a record in error
			sad = c.sad(id, pin, "", []string{digest})
		}
		body["credentialID"], body["SAD"] = id, sad
		if status, out := c.post("signatures/signDoc", body); status != 400 || out["error"] != "invalid_request" {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	out := c.must("signatures/timestamp", m{"hash": digest, "hashAlgo": oidSHA256, "nonce": "0A1B"})
	if s.do("POST", "/verify", m{"inputDocument": out["timestamp"], "detachedContent": b64(sampleTXT)}).Status != 200 {
		t.Errorf("time-stamp: %v", out)
	}
	for _, bad := range []m{{"hash": digest, "hashAlgo": oidSHA512}, {"hash": digest}, {"hashAlgo": oidSHA256}, {"hash": digest, "hashAlgo": oidSHA256, "nonce": "xyz"}} {
		if status, out := c.post("signatures/timestamp", bad); status != 400 {
			t.Errorf("%v: %d %v", bad, status, out)
		}
	}
}

// Two servers on one database, asked at once with one SAD: each hash is signed
// once.
func TestCSCTwoServers(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	s := newSite(t, func(c *Config) { c.Database = db })
	ids := s.credentials()
	id, pin := ids["eseal"], s.box.Certificates["eseal"].Password
	callers := []*cscCaller{s.csc("v1")}
	for range 2 {
		srv := httptest.NewServer(s.rooms().Handler())
		t.Cleanup(srv.Close)
		callers = append(callers, &cscCaller{t: t, url: srv.URL, v: "v1", bearer: s.box.Token})
	}
	algo := callers[0].algoOf(id)
	for round := range 10 {
		hashes := digestsOf(fmt.Sprint("a", round), fmt.Sprint("b", round), fmt.Sprint("c", round))
		sad := callers[round%3].sad(id, pin, "", hashes)
		var wait sync.WaitGroup
		var mu sync.Mutex
		given := map[string]int{}
		for i := range 9 {
			wait.Go(func() {
				some := []string{hashes[i%3], hashes[(i+i/3)%3]}[:1+min(1, i/3)]
				if len(some) == 2 && some[0] == some[1] {
					some = some[:1]
				}
				status, out := callers[i%3].post("signatures/signHash", callers[i%3].signBody(id, sad, algo, some))
				if status == 200 && len(out["signatures"].([]any)) == len(some) {
					mu.Lock()
					defer mu.Unlock()
					for _, h := range some {
						given[h]++
					}
				} else if status != 400 || out["error"] != "invalid_request" {
					t.Errorf("%d %v", status, out)
				}
			})
		}
		wait.Wait()
		for h, n := range given {
			if n != 1 {
				t.Errorf("%s: %d values", h, n)
			}
		}
	}
	room := s.rooms()
	if n := room.field(t, `select count(*) from csc_hashes where state = 'USED'`); n != room.field(t, `select count(*) from signatures where state = 'DONE'`) {
		t.Errorf("%s hashes used", n)
	}
}

// A process that is killed in signHash leaves a hash that nobody signs again: not
// after the restart, with the same SAD. What was begun is one record with one end.
func TestCSCKilled(t *testing.T) {
	t.Parallel()
	await.All(t)
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		p.start()
		id := ""
		made := 0
		for i, point := range []string{"", "before-intent", "intended", "using", "used", "signed", "stored"} {
			box := p.box()
			c := &cscCaller{t: t, url: "http://" + p.addr, v: "v2", bearer: box.Token}
			if id == "" {
				for _, one := range c.must("credentials/list", m{"credentialInfo": true})["credentialInfos"].([]any) {
					if one.(m)["description"] == "automatic signature" {
						id = one.(m)["credentialID"].(string)
					}
				}
				continue
			}
			algo, hashes := c.algoOf(id), digestsOf(point)
			sad := c.sad(id, box.Certificates["automatic"].Password, "", hashes)
			body := c.signBody(id, sad, algo, hashes)
			p.kill()
			if point == "before-intent" { // between the two: nothing was sent
				p.start()
				c.must("signatures/signHash", body)
				made++
				continue
			}
			p.start("ROGITO_TEST_CRASH_AT=" + point)
			if status, out := c.post("signatures/signHash", body); status != 0 {
				t.Fatalf("%s: %d %v", point, status, out)
			}
			p.ended()
			p.start()
			if status, out := c.post("signatures/signHash", body); status != 400 || out["error"] != "invalid_request" {
				t.Errorf("%s: signed again: %d %v", point, status, out)
			}
			made++
			for range await.Within(60 * time.Second) {
				if p.done() >= made {
					break
				}
			}
			if n := p.done(); n != made {
				t.Fatalf("%d: %s: %d records are DONE, not %d", i, point, n, made)
			}
		}
		p.kill()
		if _, signatures := p.account(database); signatures != made {
			t.Errorf("%d signed documents, not %d", signatures, made)
		}
	})
}

// What panics while a hash is signed ends the call and not the server, and the
// hash is nobody's again.
func TestCSCPanics(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "")
	p.start("ROGITO_TEST_PANIC_AT=using")
	box := p.box()
	c := &cscCaller{t: t, url: "http://" + p.addr, v: "v2", bearer: box.Token}
	id := ""
	for _, one := range c.must("credentials/list", m{"credentialInfo": true})["credentialInfos"].([]any) {
		if one.(m)["description"] == "automatic signature" {
			id = one.(m)["credentialID"].(string)
		}
	}
	hashes := digestsOf("one")
	body := c.signBody(id, c.sad(id, box.Certificates["automatic"].Password, "", hashes), c.algoOf(id), hashes)
	if status, out := c.post("signatures/signHash", body); status != 500 || out["error"] != "server_error" {
		t.Fatalf("%d %v", status, out)
	}
	if status, out := c.post("signatures/signHash", body); status != 400 {
		t.Errorf("again: %d %v", status, out)
	}
}

// done is how many records have their signature.
func (p *program) done() (n int) {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+p.addr+"/signatures?limit=100", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.box().Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	var list struct{ Data []struct{ State string } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		p.t.Fatal(err)
	}
	for _, r := range list.Data {
		if r.State == "DONE" {
			n++
		}
	}
	return n
}
