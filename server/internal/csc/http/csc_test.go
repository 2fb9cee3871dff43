package http_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

const oidSHA512 = "2.16.840.1.101.3.4.2.3"

const oidRSA = "1.2.840.113549.1.1.1"

const oidRSA256 = "1.2.840.113549.1.1.11"

const oidPSS = "1.2.840.113549.1.1.10"

const oidECDSA256 = "1.2.840.10045.4.3.2"

const oidSHA1 = "1.3.14.3.2.26"

const notMyCode = "000000"

const cscRedirect = "http://127.0.0.1:9/callback?x=1"

// credentials are the certificates of the sandbox, by their kinds.
func credentials(s *site) map[string]string {
	s.T.Helper()
	c, byKind := s.CSC("v2"), map[string]string{}
	out := c.Must("credentials/list", m{"credentialInfo": true, "certificates": "chain", "certInfo": true, "authInfo": true, "onlyValid": true, "lang": nil, "clientData": nil})
	if out["onlyValid"] != true {
		s.T.Errorf("onlyValid %v", out["onlyValid"])
	}
	for _, one := range out["credentialInfos"].([]any) {
		info := one.(m)
		byKind[map[string]string{"automatic signature": "automatic", "signature with one-time password": "otp", "electronic seal": "eseal"}[info["description"].(string)]] = info["credentialID"].(string)
	}
	return byKind
}

// checkValue holds a value against the certificate of a credential.
func checkValue(c *cscCaller, id, value string, h crypto.Hash, digest []byte) {
	c.T.Helper()
	info := c.Must("credentials/info", m{"credentialID": id})
	der, err := base64.StdEncoding.DecodeString(info["cert"].(m)["certificates"].([]any)[0].(string))
	if err != nil {
		c.T.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		c.T.Fatal(err)
	}
	v, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		c.T.Fatal(err)
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
		c.T.Error(err)
	}
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
			out := s.CSC(v).As("").Must("info", m{"lang": lang + "-XX"})
			for _, name := range append(more, "specs", "name", "logo", "region", "lang", "description", "authType", "oauth2", "methods") {
				if x, ok := out[name]; !ok || x == "" {
					t.Errorf("%s: %s is missing", v, name)
				}
			}
			if out["oauth2"] != s.URL+"/csc" || out["lang"] != lang || out["specs"] != map[string]string{"v1": "1.0.4.0", "v2": "2.0.0.2"}[v] {
				t.Errorf("%s: %v", v, out)
			}
			for _, name := range out["methods"].([]any) {
				path := strings.TrimPrefix(name.(string), "oauth2/")
				if path != name {
					continue
				}
				if status, _ := s.CSC(v).As("").Post(path, m{}); status == 404 || status == 501 {
					t.Errorf("%s: %s is listed and not there", v, name)
				}
			}
		}
	}
	resp, err := http.Get(s.CSC("v2").As("").Must("info", m{})["logo"].(string))
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
		ids := credentials(s)
		before := wallet(s)
		values := 0
		for i, v := range []string{"v1", "v2"} {
			c := s.CSC(v)
			for _, kind := range []string{"automatic", "otp", "eseal"} {
				otp := ""
				if kind == "otp" {
					otp = codeOf(t, s.Box.Certificates["otp"].TOTPSecret, i)
				}
				hashes := digestsOf("a "+v+kind, "b", "b")
				algo := c.AlgoOf(ids[kind])
				sad := c.SAD(ids[kind], s.Box.Certificates[kind].Password, otp, hashes)
				out := c.Must("signatures/signHash", c.SignBody(ids[kind], sad, algo, hashes))
				got := out["signatures"].([]any)
				if len(got) != 3 {
					t.Fatalf("%v", out)
				}
				for j, h := range hashes {
					digest, _ := base64.StdEncoding.DecodeString(h)
					checkValue(c, ids[kind], got[j].(string), crypto.SHA256, digest)
				}
				values += 3
			}
		}
		// Version 2 with the names of version 1, rsaEncryption with a hash beside it, SHA-512.
		c := s.CSC("v2")
		sum := sha512.Sum512([]byte("long"))
		hashes := []string{base64.URLEncoding.EncodeToString(sum[:])}
		out := c.Must("credentials/authorize", m{"credentialID": ids["eseal"], "numSignatures": 1, "hash": hashes, "PIN": s.Box.Certificates["eseal"].Password})
		algo := c.AlgoOf(ids["eseal"])
		body := m{"credentialID": ids["eseal"], "SAD": out["SAD"], "hash": hashes, "hashAlgo": oidSHA512, "signAlgo": oidRSA}
		if algo == oidECDSA256 {
			body["signAlgo"] = "1.2.840.10045.4.3.4"
		}
		checkValue(c, ids["eseal"], c.Must("signatures/signHash", body)["signatures"].([]any)[0].(string), crypto.SHA512, sum[:])
		values++

		var list []struct{ ID, State, CertificateType, SignatureType string }
		a := s.Do("GET", "/signatures?limit=100", nil)
		if err := json.Unmarshal(a.Data, &list); err != nil || len(list) != values {
			t.Fatalf("%d records of %d, %v", len(list), values, err)
		}
		for _, r := range list {
			if r.State != "DONE" || r.SignatureType != "pkcs1" || !strings.HasPrefix(r.CertificateType, "EU-QES_") {
				t.Errorf("%+v", r)
			}
		}
		if got, want := before-wallet(s), 0.05*float64(values); got < want-1e-6 || got > want+1e-6 {
			t.Errorf("%d values cost %v, not %v", values, got, want)
		}
		s.VerifyAudit()
	})
}

// wallet is the credit of the sandbox's account.
func wallet(s *site) float64 {
	s.T.Helper()
	var w struct{ Credit float64 }
	a := s.Do("GET", "/wallet", nil)
	if a.Status != 200 || json.Unmarshal(a.Data, &w) != nil {
		s.T.Fatalf("%d %s %s", a.Status, a.Message, a.Data)
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
		stranger, strangersID := strangers(s)
		for _, v := range []string{"v1", "v2"} {
			t.Run(v, func(t *testing.T) {
				here := *s
				here.T = t
				cscRefusals(&here, v, stranger, strangersID)
			})
		}
	})
}

func cscRefusals(s *site, v, stranger, strangersID string) {
	t, c, ids := s.T, s.CSC(v), credentials(s)
	auto, seal := ids["automatic"], ids["eseal"]
	pin, sealPIN := s.Box.Certificates["automatic"].Password, s.Box.Certificates["eseal"].Password
	algo, sealAlgo := c.AlgoOf(auto), c.AlgoOf(seal)
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

	sad := c.SAD(auto, pin, "", mine)
	sealSAD := c.SAD(seal, sealPIN, "", mine)
	used := c.SAD(auto, pin, "", mine)
	c.Must("signatures/signHash", c.SignBody(auto, used, algo, mine))
	extended := c.SAD(auto, pin, "", mine, m{"numSignatures": 2})
	next := c.Must("credentials/extendTransaction", with(m{"credentialID": auto, "SAD": extended, hashAlgo: oidSHA256}, hash, yours))["SAD"].(string)
	signed := len(s.Records())

	cases := []cscCase{
		{"foreign credential, info", "credentials/info", m{"credentialID": strangersID}, bad},
		{"foreign credential, authorize", "credentials/authorize", c.Authorize(strangersID, pin, "", mine), bad},
		{"foreign credential, signHash", "signatures/signHash", c.SignBody(strangersID, sad, algo, mine), bad},
		{"unknown credential", "credentials/info", m{"credentialID": strings.Repeat("0", 24)}, bad},
		{"no credential", "credentials/info", m{}, bad},
		{"credential of another type", "credentials/info", m{"credentialID": 7}, bad},
		{"another user's list", "credentials/list", m{"userID": "somebody"}, bad},
		{"unknown certificates", "credentials/info", m{"credentialID": auto, "certificates": "all"}, bad},
		{"wrong PIN", "credentials/authorize", c.Authorize(auto, "not it", "", mine), badPIN},
		{"no PIN", "credentials/authorize", c.Authorize(auto, "", "", mine, m{"PIN": nil, "authData": nil}), bad},
		{"wrong OTP", "credentials/authorize", c.Authorize(ids["otp"], s.Box.Certificates["otp"].Password, notMyCode, mine), badOTP},
		{"no OTP", "credentials/authorize", c.Authorize(ids["otp"], s.Box.Certificates["otp"].Password, "", mine), bad},
		{"no numSignatures", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{"numSignatures": nil}), bad},
		{"numSignatures a text", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{"numSignatures": "1"}), bad},
		{"no signatures", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{"numSignatures": 0}), bad},
		{"fewer signatures than hashes", "credentials/authorize", c.Authorize(auto, pin, "", digestsOf("a", "b"), m{"numSignatures": 1}), bad},
		{"too many signatures", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{"numSignatures": 101}), bad},
		{"too many hashes", "credentials/authorize", c.Authorize(auto, pin, "", long), bad},
		{"no hashes", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{hash: nil}), bad},
		{"empty hashes", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{hash: []string{}}), bad},
		{"hash not base64", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{hash: []string{"!!!"}}), bad},
		{"hash of SHA-1", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{hash: []string{b64(make([]byte, 20))}, hashAlgo: nil}), bad},
		{"SHA-1", "credentials/authorize", c.Authorize(auto, pin, "", mine, m{hashAlgo: oidSHA1}), bad},
		{"SAD of nobody", "signatures/signHash", c.SignBody(auto, "sad_"+strings.Repeat("A", 52), algo, mine), bad},
		{"no SAD", "signatures/signHash", c.SignBody(auto, "", algo, mine), bad},
		{"SAD of another credential", "signatures/signHash", c.SignBody(auto, sealSAD, algo, mine), bad},
		{"credential of another SAD", "signatures/signHash", c.SignBody(seal, sad, sealAlgo, mine), bad},
		{"hash not authorised", "signatures/signHash", c.SignBody(auto, sad, algo, yours), bad},
		{"one of two not authorised", "signatures/signHash", c.SignBody(auto, sad, algo, append(slices.Clone(mine), yours...)), bad},
		{"one hash twice in a call", "signatures/signHash", c.SignBody(auto, sad, algo, append(slices.Clone(mine), mine...)), bad},
		{"one hash twice", "signatures/signHash", c.SignBody(auto, used, algo, mine), bad},
		{"SAD that was extended", "signatures/signHash", c.SignBody(auto, extended, algo, mine), bad},
		{"extended too far", "credentials/extendTransaction", with(m{"credentialID": auto, "SAD": next}, hash, digestsOf("third")), bad},
		{"extended by nobody's SAD", "credentials/extendTransaction", with(m{"credentialID": auto, "SAD": "x"}, hash, yours), bad},
		{"algorithm of another key", "signatures/signHash", c.SignBody(auto, sad, other, mine), bad},
		{"PSS", "signatures/signHash", c.SignBody(auto, sad, oidPSS, mine), bad},
		{"no algorithm", "signatures/signHash", c.SignBody(auto, sad, "", mine), bad},
		{"hash contradicts the algorithm", "signatures/signHash", with(c.SignBody(auto, sad, algo, mine), hashAlgo, oidSHA512), bad},
		{"later answers", "signatures/signHash", with(c.SignBody(auto, sad, algo, mine), "operationMode", "A"), bad},
		{"parameters", "signatures/signHash", with(c.SignBody(auto, sad, algo, mine), "signAlgoParams", "MAA="), bad},
		{"both names", "signatures/signHash", with(with(c.SignBody(auto, sad, algo, mine), "hash", mine), "hashes", mine), bad},
	}
	for _, x := range cases {
		status, out := c.Post(x.method, x.body)
		if status != 400 || out["error"] != x.word {
			t.Errorf("%s: %d %v", x.name, status, out)
		}
	}
	// Another bearer, of the same account or of another one.
	for name, bearer := range map[string]string{"another token": s.OtherToken(), "a stranger": stranger} {
		if status, out := c.As(bearer).Post("signatures/signHash", c.SignBody(auto, sad, algo, mine)); status != 400 || out["error"] != bad {
			t.Errorf("%s with the SAD: %d %v", name, status, out)
		}
		if status, out := c.As(bearer).Post("credentials/extendTransaction", with(m{"credentialID": auto, "SAD": sad}, hash, yours)); status != 400 || out["error"] != bad {
			t.Errorf("%s extends the SAD: %d %v", name, status, out)
		}
	}
	for name, bearer := range map[string]string{"no token": "", "a wrong token": "rgt_" + strings.Repeat("0", 49), "a token without the scope": tokenFor(s, "GET:*/signatures")} {
		status, out := c.As(bearer).Post("credentials/list", m{})
		if want := map[bool]string{true: "access_denied", false: "invalid_token"}[status == 403]; status != 401 && status != 403 || out["error"] != want {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	if status, out := c.Post("credentials/sendOTP", m{}); status != 501 || out["error"] != bad {
		t.Errorf("unknown method: %d %v", status, out)
	}
	if n := len(s.Records()); n != signed {
		t.Errorf("%d records were made", n-signed)
	}
	// After all of that the SAD is still good, once.
	c.Must("signatures/signHash", c.SignBody(auto, sad, algo, mine))
	if status, out := c.Post("signatures/signHash", c.SignBody(auto, sad, algo, mine)); status != 400 || out["error"] != bad {
		t.Errorf("replay: %d %v", status, out)
	}
	c.Must("signatures/signHash", c.SignBody(auto, next, algo, append(slices.Clone(yours), mine...)))
}

// tokenFor makes a token with scopes.
func tokenFor(s *site, scopes ...string) string {
	s.T.Helper()
	var made struct{ Token string }
	a := s.Do("POST", "/tokens", m{"scopes": scopes})
	if a.Status != 200 || json.Unmarshal(a.Data, &made) != nil {
		s.T.Fatalf("%d %s", a.Status, a.Message)
	}
	return made.Token
}

// strangers makes a token of another account, and a certificate of that account.
func strangers(s *site) (token, credential string) {
	s.T.Helper()
	token = s.Stranger()
	storetest.Exec(s.T, s.OpenServer().Parts().DB, `update wallets set credit = 1000000000`)
	there, box := *s, *s.Box
	box.Token, there.Box = token, &box
	return token, there.Issued("automatic", m{}).ID
}

// Wrong PINs lock a certificate, wherever they were tried, and a locked one is 400.
func TestCSCLock(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, c := credentials(s), s.CSC("v2")
	for range 5 {
		if status, out := c.Post("credentials/authorize", c.Authorize(ids["automatic"], "wrong", "", digestsOf("x"))); status != 400 {
			t.Fatalf("%d %v", status, out)
		}
	}
	status, out := c.Post("credentials/authorize", c.Authorize(ids["automatic"], s.Box.Certificates["automatic"].Password, "", digestsOf("x")))
	if status != 400 || out["error"] != "invalid_request" || !strings.Contains(out["error_description"].(string), "locked") {
		t.Errorf("%d %v", status, out)
	}
	if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF))); a.Status != 423 {
		t.Errorf("the other way in: %d", a.Status)
	}
}

// A SAD dies with the certificate's password, its state and its token.
func TestCSCChangedSince(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.CSC("v2")
	for name, change := range map[string]func(h issued, bearer string){
		"suspended": func(h issued, _ string) {
			if a := s.Do("POST", "/certificates/"+h.ID+"/suspend", nil); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
		},
		"revoked": func(h issued, _ string) {
			if a := s.Do("POST", "/certificates/"+h.ID+"/revoke", nil); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
		},
		"locked": func(h issued, _ string) {
			for range 5 {
				c.Post("credentials/authorize", c.Authorize(h.ID, "wrong", "", digestsOf("x")))
			}
		},
		"token revoked": func(_ issued, bearer string) {
			if status, _ := c.As(bearer).Post("auth/revoke", m{"token": bearer}); status != 204 {
				t.Errorf("revoke: %d", status)
			}
		},
	} {
		h := s.Issued("automatic", m{})
		mine := c.As(tokenFor(s, "POST:*/csc"))
		sad := mine.SAD(h.ID, h.Pass, "", digestsOf("x"))
		algo := mine.AlgoOf(h.ID)
		change(h, mine.Bearer)
		if status, out := mine.Post("signatures/signHash", mine.SignBody(h.ID, sad, algo, digestsOf("x"))); status != 400 && status != 401 {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
}

// Without credit nothing is signed, and the hash is not used up.
func TestCSCMoney(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, c, srv := credentials(s), s.CSC("v2"), s.OpenServer()
	id := ids["automatic"]
	algo, hashes := c.AlgoOf(id), digestsOf("a", "b", "c")
	sad := c.SAD(id, s.Box.Certificates["automatic"].Password, "", hashes)
	storetest.Exec(t, srv.Parts().DB, `update wallets set credit = 60000`) // one signature
	c.Must("signatures/signHash", c.SignBody(id, sad, algo, hashes[:1]))
	if status, out := c.Post("signatures/signHash", c.SignBody(id, sad, algo, hashes[1:])); status != 402 || out["error"] != "access_denied" {
		t.Errorf("%d %v", status, out)
	}
	storetest.Exec(t, srv.Parts().DB, `update wallets set credit = 60000000`)
	c.Must("signatures/signHash", c.SignBody(id, sad, algo, hashes[1:]))
	if n := len(s.Records()); n != 3 {
		t.Errorf("%d records", n)
	}
}

// What a security level asks for is asked for here too.
func TestCSCSecurityLevels(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.CSC("v2")
		for _, level := range []int{2, 3} {
			h := s.Issued("automatic", m{"securityLevel": level})
			if status, out := c.Post("credentials/authorize", c.Authorize(h.ID, h.Pass, "", digestsOf("x"))); status != 403 || out["error"] != "access_denied" {
				t.Errorf("level %d: %d %v", level, status, out)
			}
		}
		h := s.Issued("otp", m{"securityLevel": 5})
		hashes := digestsOf("x", "y")
		sad := c.SAD(h.ID, h.Pass, codeOf(t, h.Secret, 0), hashes)
		body := c.SignBody(h.ID, sad, c.AlgoOf(h.ID), hashes)
		for range 2 {
			if status, out := c.Post("signatures/signHash", body); status != 400 || out["error"] != "access_denied" {
				t.Fatalf("without an approval: %d %v", status, out)
			}
		}
		other, waiting := s.OtherToken(), s.Records()
		if len(waiting) != 2 {
			t.Fatalf("%d records wait", len(waiting))
		}
		for _, r := range waiting {
			if a := s.Do("POST", "/approvals/"+r["id"].(string), nil, "Authorization", "Bearer "+other); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			s.Wait(r["id"].(string), "DONE")
		}
		if got := c.Must("signatures/signHash", body)["signatures"].([]any); len(got) != 2 {
			t.Errorf("%v", got)
		}
		if status, out := c.Post("signatures/signHash", body); status != 400 || out["error"] != "invalid_request" {
			t.Errorf("again: %d %v", status, out)
		}
		if n := len(s.Records()); n != 2 {
			t.Errorf("%d records", n)
		}
	})
}

// Documents are signed in every format and at every level, and what comes back is
// valid.
func TestCSCSignDoc(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, c := credentials(s), s.CSC("v2")
	id, pin := ids["automatic"], s.Box.Certificates["automatic"].Password
	algo := c.AlgoOf(id)
	for _, x := range []struct {
		format, envelope string
		doc              []byte
		answer           string
	}{
		{"P", "", sitetest.SamplePDF, "DocumentWithSignature"},
		{"P", "Revision", sitetest.SamplePDF, "DocumentWithSignature"},
		{"C", "", sitetest.SampleTXT, "DocumentWithSignature"},
		{"C", "Detached", sitetest.SampleTXT, "SignatureObject"},
		{"X", "", sitetest.SampleXML, "DocumentWithSignature"},
		{"X", "Enveloping", sitetest.SampleTXT, "DocumentWithSignature"},
		{"X", "Detached", sitetest.SampleXML, "SignatureObject"},
	} {
		for _, level := range []string{"", "Ades-B-T", "AdES-B-LT", "Ades-B-LTA"} {
			sum := sha256.Sum256(x.doc)
			sad := c.SAD(id, pin, "", []string{b64(sum[:])})
			doc := m{"document": b64(x.doc), "signature_format": x.format, "signAlgo": algo}
			if level != "" {
				doc["conformance_level"] = level
			}
			if x.envelope != "" {
				doc["signed_envelope_property"] = x.envelope
			}
			out := c.Must("signatures/signDoc", m{"credentialID": id, "SAD": sad, "documents": []m{doc}})
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
			wantValid(s, x.format+x.envelope+level, verify, "BASELINE-"+want)
			if status, _ := c.Post("signatures/signDoc", m{"credentialID": id, "SAD": sad, "documents": []m{doc}}); status != 400 {
				t.Errorf("%s again: %d", x.format, status)
			}
		}
	}
	cscDigests(s, c, id, pin, algo)
	s.VerifyAudit()
}

// wantValid has a document verified by the server itself.
func wantValid(s *site, name string, body m, level string) {
	s.T.Helper()
	a := s.Do("POST", "/verify", body)
	var v struct {
		Indication          string
		SignatureReportList []struct{ Indication, SignatureLevel string }
	}
	if a.Status != 200 || json.Unmarshal(a.Data, &v) != nil || len(v.SignatureReportList) != 1 {
		s.T.Errorf("%s: %d %s %.300s", name, a.Status, a.Message, a.Data)
		return
	}
	if v.Indication != "TOTAL-PASSED" || !strings.HasSuffix(v.SignatureReportList[0].SignatureLevel, level) {
		s.T.Errorf("%s: %s %+v", name, a.Message, v)
	}
}

// cscDigests signs over digests, and refuses what is wrong about documents.
func cscDigests(s *site, c *cscCaller, id, pin, algo string) {
	t := s.T
	sum := sha256.Sum256(sitetest.SampleTXT)
	digest := b64(sum[:])
	for _, format := range []string{"C", "P"} {
		sad := c.SAD(id, pin, "", []string{digest})
		out := c.Must("signatures/signDoc", m{"credentialID": id, "SAD": sad, "documentDigests": []m{{"hashes": []string{digest}, "hashAlgorithmOID": oidSHA256, "signature_format": format, "signAlgo": algo, "conformance_level": "Ades-B-T"}}})
		// The time of a signature in a PDF stands in the PDF: alone it is no baseline.
		level := map[string]string{"C": "BASELINE-T", "P": "CAdES-T"}[format]
		wantValid(s, "digest "+format, m{"inputDocument": out["SignatureObject"].([]any)[0], "detachedContent": b64(sitetest.SampleTXT)}, level)
	}
	sad := c.SAD(id, pin, "", []string{digest})
	doc := func(change m) []m {
		d := m{"document": b64(sitetest.SampleTXT), "signature_format": "C", "signAlgo": algo}
		for k, v := range change {
			d[k] = v
		}
		return []m{d}
	}
	for name, body := range map[string]m{
		"another document":  {"documents": doc(m{"document": b64(sitetest.SamplePDF)})},
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
		"no PDF":            {"documents": doc(m{"signature_format": "P", "document": b64(sitetest.SampleTXT)})},
	} {
		if name == "no PDF" { // it is looked into, and leaves a record in error
			sad = c.SAD(id, pin, "", []string{digest})
		}
		body["credentialID"], body["SAD"] = id, sad
		if status, out := c.Post("signatures/signDoc", body); status != 400 || out["error"] != "invalid_request" {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	out := c.Must("signatures/timestamp", m{"hash": digest, "hashAlgo": oidSHA256, "nonce": "0A1B"})
	if s.Do("POST", "/verify", m{"inputDocument": out["timestamp"], "detachedContent": b64(sitetest.SampleTXT)}).Status != 200 {
		t.Errorf("time-stamp: %v", out)
	}
	for _, bad := range []m{{"hash": digest, "hashAlgo": oidSHA512}, {"hash": digest}, {"hashAlgo": oidSHA256}, {"hash": digest, "hashAlgo": oidSHA256, "nonce": "xyz"}} {
		if status, out := c.Post("signatures/timestamp", bad); status != 400 {
			t.Errorf("%v: %d %v", bad, status, out)
		}
	}
}

// Two servers on one database, asked at once with one SAD: each hash is signed
// once.
func TestCSCTwoServers(t *testing.T) {
	t.Parallel()
	db := storetest.Postgres(t)
	s := newSite(t, func(c *server.Config) { c.Database = db })
	ids := credentials(s)
	id, pin := ids["eseal"], s.Box.Certificates["eseal"].Password
	callers := []*cscCaller{s.CSC("v1")}
	for range 2 {
		srv := httptest.NewServer(s.OpenServer().Handler())
		t.Cleanup(srv.Close)
		callers = append(callers, &cscCaller{T: t, URL: srv.URL, V: "v1", Bearer: s.Box.Token})
	}
	algo := callers[0].AlgoOf(id)
	for round := range 10 {
		hashes := digestsOf(fmt.Sprint("a", round), fmt.Sprint("b", round), fmt.Sprint("c", round))
		sad := callers[round%3].SAD(id, pin, "", hashes)
		var wait sync.WaitGroup
		var mu sync.Mutex
		given := map[string]int{}
		for i := range 9 {
			wait.Go(func() {
				some := []string{hashes[i%3], hashes[(i+i/3)%3]}[:1+min(1, i/3)]
				if len(some) == 2 && some[0] == some[1] {
					some = some[:1]
				}
				status, out := callers[i%3].Post("signatures/signHash", callers[i%3].SignBody(id, sad, algo, some))
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
	srv := s.OpenServer()
	if n := field(srv, t, `select count(*) from csc_hashes where state = 'USED'`); n != field(srv, t, `select count(*) from signatures where state = 'DONE'`) {
		t.Errorf("%s hashes used", n)
	}
}

// A process that is killed in signHash leaves a hash that is not signed again: not after the
// restart, not with the same SAD. What was begun is one record with one end.
func TestCSCKilled(t *testing.T) {
	t.Parallel()
	await.All(t)
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		p.Start()
		id := ""
		made := 0
		for i, point := range []string{"", "before-intent", "intended", "using", "used", "signed", "stored"} {
			box := p.Box()
			c := &cscCaller{T: t, URL: "http://" + p.Addr, V: "v2", Bearer: box.Token}
			if id == "" {
				for _, one := range c.Must("credentials/list", m{"credentialInfo": true})["credentialInfos"].([]any) {
					if one.(m)["description"] == "automatic signature" {
						id = one.(m)["credentialID"].(string)
					}
				}
				continue
			}
			algo, hashes := c.AlgoOf(id), digestsOf(point)
			sad := c.SAD(id, box.Certificates["automatic"].Password, "", hashes)
			body := c.SignBody(id, sad, algo, hashes)
			p.Kill()
			if point == "before-intent" { // between the two: nothing was sent
				p.Start()
				c.Must("signatures/signHash", body)
				made++
				continue
			}
			p.Start("ROGITO_TEST_CRASH_AT=" + point)
			if status, out := c.Post("signatures/signHash", body); status != 0 {
				t.Fatalf("%s: %d %v", point, status, out)
			}
			p.Ended()
			p.Start()
			if status, out := c.Post("signatures/signHash", body); status != 400 || out["error"] != "invalid_request" {
				t.Errorf("%s: signed again: %d %v", point, status, out)
			}
			made++
			for range await.Within(60 * time.Second) {
				if done(p) >= made {
					break
				}
			}
			if n := done(p); n != made {
				t.Fatalf("%d: %s: %d records are DONE, not %d", i, point, n, made)
			}
		}
		p.Kill()
		if _, signatures := p.Account(database); signatures != made {
			t.Errorf("%d signed documents, not %d", signatures, made)
		}
	})
}

// A panic while a hash is signed ends the call and not the server, and frees the hash.
func TestCSCPanics(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "")
	p.Start("ROGITO_TEST_PANIC_AT=using")
	box := p.Box()
	c := &cscCaller{T: t, URL: "http://" + p.Addr, V: "v2", Bearer: box.Token}
	id := ""
	for _, one := range c.Must("credentials/list", m{"credentialInfo": true})["credentialInfos"].([]any) {
		if one.(m)["description"] == "automatic signature" {
			id = one.(m)["credentialID"].(string)
		}
	}
	hashes := digestsOf("one")
	body := c.SignBody(id, c.SAD(id, box.Certificates["automatic"].Password, "", hashes), c.AlgoOf(id), hashes)
	if status, out := c.Post("signatures/signHash", body); status != 500 || out["error"] != "server_error" {
		t.Fatalf("%d %v", status, out)
	}
	if status, out := c.Post("signatures/signHash", body); status != 400 {
		t.Errorf("again: %d %v", status, out)
	}
}

// done is how many records have their signature.
func done(p *program) (n int) {
	p.T.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+p.Addr+"/signatures?limit=100", nil)
	if err != nil {
		p.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+p.Box().Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	var list struct{ Data []struct{ State string } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		p.T.Fatal(err)
	}
	for _, r := range list.Data {
		if r.State == "DONE" {
			n++
		}
	}
	return n
}
