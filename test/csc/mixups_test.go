package csc

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// tokens logs in and redeems the code.
func (o *oauth) tokens(username, password string, changes ...string) (access, refresh string) {
	o.r.t.Helper()
	back, b := o.login(o.query(changes...), username, password, "")
	if back == nil || back.Query().Get("code") == "" {
		o.r.t.Fatalf("no code: %v %d %.1000s", back, b.status, b.text)
	}
	status, out := o.redeem(back.Query().Get("code"))
	access, _ = out["access_token"].(string)
	refresh, _ = out["refresh_token"].(string)
	if status != http.StatusOK || access == "" {
		o.r.t.Fatalf("no token: %d %v", status, out)
	}
	return access, refresh
}

// consent are the parameters of a request to sign a hash, in both versions.
func consent(id, hash string) []string {
	raw, _ := base64.StdEncoding.DecodeString(hash)
	h := base64.RawURLEncoding.EncodeToString(raw)
	return []string{"scope", "credential", "credentialID", id, "numSignatures", "1", "hash", h, "hashes", h, "hashAlgorithmOID", "2.16.840.1.101.3.4.2.1"}
}

// TestServerMixups: tokens and consents of one in the hands of another.
func TestServerMixups(t *testing.T) {
	asked(t)
	r := newRemote(t)
	id, username, password := r.key("automatic")
	sealID, sealName, sealPassword := r.key("eseal")
	one, two := r.client("alpha"), r.client("beta")
	mine, refresh := one.tokens(username, password)
	theirs, _ := two.tokens(username, password)
	seal, _ := one.tokens(sealName, sealPassword)

	h := hashOf("mix")
	sad, none := one.tokens(username, password, consent(id, h)...)
	if none != "" {
		t.Error("a credential token comes with a refresh token")
	}
	for name, c := range map[string]struct {
		version int
		method  string
		token   string
		body    m
	}{
		"a consent given to another client":          {1, "signatures/signHash", theirs, signs(1, id, sad, true, h)},
		"a consent of another certificate":           {1, "signatures/signHash", seal, signs(1, sealID, sad, false, h)},
		"a consent with a token of the account":      {1, "signatures/signHash", r.sandbox.Token, signs(1, id, sad, true, h)},
		"a service token as SAD":                     {1, "signatures/signHash", mine, signs(1, id, mine, true, h)},
		"a service token without a SAD":              {2, "signatures/signHash", mine, m{"credentialID": id, "hashes": []string{h}, "hashAlgorithmOID": "2.16.840.1.101.3.4.2.1", "signAlgo": "1.2.840.113549.1.1.11"}},
		"a credential token for another certificate": {2, "signatures/signHash", sad, m{"credentialID": sealID, "hashes": []string{h}, "hashAlgorithmOID": "2.16.840.1.101.3.4.2.1", "signAlgo": "1.2.840.10045.4.3.2"}},
		"a credential token for another hash":        {2, "signatures/signHash", sad, m{"credentialID": id, "hashes": []string{hashOf("other")}, "hashAlgorithmOID": "2.16.840.1.101.3.4.2.1", "signAlgo": "1.2.840.113549.1.1.11"}},
		"another certificate with its PIN":           {2, "credentials/authorize", mine, asks(2, sealID, sealPassword, "", h)},
		"another certificate's description":          {2, "credentials/info", mine, m{"credentialID": sealID}},
	} {
		status, out := r.post(c.version, c.method, c.token, c.body)
		if status < 400 || status >= 500 || out["error"] == nil || signatures(out) > 0 || out["SAD"] != nil {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	for _, path := range []string{"/certificates", "/signatures", "/wallet", "/tokens"} {
		for _, token := range []string{mine, sad} {
			if a, err := r.call("GET", path, token, nil); err != nil || a.Status == http.StatusOK {
				t.Errorf("a token of this interface reads %s", path)
			}
		}
	}
	if a, err := r.call("POST", "/token", mine, m{"scopes": []string{"*:*/*"}, "ttl": 3600}); err != nil || a.Status == http.StatusOK {
		t.Errorf("a service token makes a token: %d %s", a.Status, a.Body)
	}
	if status, out := r.post(2, "signatures/signHash", sad, m{"credentialID": id, "hashes": []string{h}, "hashAlgorithmOID": "2.16.840.1.101.3.4.2.1", "signAlgo": "1.2.840.113549.1.1.11"}); status != http.StatusOK || signatures(out) != 1 {
		t.Errorf("the right way, after all that: %d %v", status, out)
	}

	// Another client cannot end a token, its own can.
	r.form("/csc/oauth2/revoke", url.Values{"token": {mine}, "client_id": {two.id}, "client_secret": {two.secret}})
	if status, _ := r.post(1, "credentials/list", mine, m{}); status != http.StatusOK {
		t.Errorf("another client ended the token: %d", status)
	}
	// A used refresh token ends the line.
	renew := func() (int, m) {
		return r.form("/csc/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {one.id}, "client_secret": {one.secret}})
	}
	if refresh == "" {
		t.Error("no refresh token with a service token")
		return
	}
	status, out := r.form("/csc/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}, "client_id": {two.id}, "client_secret": {two.secret}})
	if status == http.StatusOK {
		t.Errorf("a refresh token of another client: %v", out)
	}
	status, out = renew()
	fresh, _ := out["access_token"].(string)
	if status != http.StatusOK || fresh == "" {
		t.Fatalf("renewal: %d %v", status, out)
	}
	if status, out := renew(); status == http.StatusOK {
		t.Errorf("a refresh token twice: %v", out)
	}
	if status, _ := r.post(1, "credentials/list", fresh, m{}); status != http.StatusUnauthorized {
		t.Errorf("the line lives on after its refresh token was used twice: %d", status)
	}
}

// TestServerConsent: what the page says, and what it does not do.
func TestServerConsent(t *testing.T) {
	asked(t)
	r := newRemote(t)
	id, username, password := r.key("automatic")
	o := r.client("gamma")
	h := hashOf("shown")
	raw, _ := base64.StdEncoding.DecodeString(h)
	q := o.query(append(consent(id, h), "description", `<script>alert(1)</script>`, "state", `"><b>`)...)
	for _, lang := range []string{"en", "it"} {
		b := newBrowser(t, r.http())
		address := r.url() + "/csc/oauth2/authorize?" + q.Encode() + "&lang=" + lang
		resp, err := r.http().Get(address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe-inline") || !strings.Contains(resp.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("%s: CSP %q, Cache-Control %q", lang, csp, resp.Header.Get("Cache-Control"))
		}
		b.open(address)
		text := string(b.text)
		if b.status != http.StatusOK || !strings.Contains(text, "gamma") {
			t.Errorf("%s: the page does not name the client: %d %.1500s", lang, b.status, text)
		}
		closed := strings.ToLower(strings.ReplaceAll(text, " ", ""))
		if !strings.Contains(text, h) && !strings.Contains(closed, hex.EncodeToString(raw)) && !strings.Contains(text, base64.RawURLEncoding.EncodeToString(raw)) {
			t.Errorf("%s: the page does not show the digest: %.3000s", lang, text)
		}
		if strings.Contains(text, "<script>alert") || strings.Contains(text, `"><b>`) {
			t.Errorf("%s: a parameter is in the page as it is", lang)
		}
	}
	// The password given on the page is checked, counted and not repeated.
	for range 5 {
		if back, b := o.login(q, username, "wrong", ""); back != nil && back.Query().Get("code") != "" || strings.Contains(string(b.text), "wrong\"") {
			t.Errorf("a wrong password: %v", back)
		}
	}
	if back, _ := o.login(q, username, password, ""); back != nil && back.Query().Get("code") != "" {
		t.Error("guessing on the page does not lock")
	}
}

// TestServerSignDocRefusals: documents that were not authorised.
func TestServerSignDocRefusals(t *testing.T) {
	asked(t)
	r := newRemote(t)
	id, _, pin := r.key("automatic")
	token := r.token("POST:*/csc")
	doc, other := pdf("the one"), pdf("the other")
	sad := func(docs ...[]byte) string {
		var list []string
		for _, d := range docs {
			sum := sha256.Sum256(d)
			list = append(list, b64(sum[:]))
		}
		status, out := r.post(2, "credentials/authorize", token, asks(2, id, pin, "", list...))
		s, _ := out["SAD"].(string)
		if status != http.StatusOK {
			t.Fatalf("authorize: %d %v", status, out)
		}
		return s
	}
	one := func(d []byte, changes ...any) m {
		out := m{"document": b64(d), "signature_format": "P", "conformance_level": "Ades-B-B", "signAlgo": "1.2.840.113549.1.1.11"}
		for i := 0; i < len(changes); i += 2 {
			out[changes[i].(string)] = changes[i+1]
		}
		return out
	}
	before := r.credit()
	for name, body := range map[string]m{
		"another document":             {"credentialID": id, "SAD": sad(doc), "documents": []m{one(other)}},
		"one of two not authorised":    {"credentialID": id, "SAD": sad(doc), "documents": []m{one(doc), one(other)}},
		"the document twice":           {"credentialID": id, "SAD": sad(doc), "documents": []m{one(doc), one(doc)}},
		"no documents":                 {"credentialID": id, "SAD": sad(doc)},
		"no SAD":                       {"credentialID": id, "documents": []m{one(doc)}},
		"an unknown format":            {"credentialID": id, "SAD": sad(doc), "documents": []m{one(doc, "signature_format", "Q")}},
		"an unknown level":             {"credentialID": id, "SAD": sad(doc), "documents": []m{one(doc, "conformance_level", "Ades-Z")}},
		"an algorithm of another key":  {"credentialID": id, "SAD": sad(doc), "documents": []m{one(doc, "signAlgo", "1.2.840.10045.4.3.2")}},
		"SHA-1":                        {"credentialID": id, "SAD": sad(doc), "documents": []m{one(doc, "signAlgo", "1.2.840.113549.1.1.5")}},
		"not base64":                   {"credentialID": id, "SAD": sad(doc), "documents": []m{{"document": "***", "signature_format": "P", "conformance_level": "Ades-B-B", "signAlgo": "1.2.840.113549.1.1.11"}}},
		"a PDF that is none":           {"credentialID": id, "SAD": sad([]byte("no PDF")), "documents": []m{one([]byte("no PDF"))}},
		"a digest that nobody allowed": {"credentialID": id, "SAD": sad(doc), "documentDigests": []m{{"hashes": []string{hashOf("else")}, "hashAlgorithmOID": "2.16.840.1.101.3.4.2.1", "signature_format": "C", "conformance_level": "Ades-B-B", "signAlgo": "1.2.840.113549.1.1.11", "signed_envelope_property": "Detached"}}},
	} {
		status, out := r.post(2, "signatures/signDoc", token, body)
		if status < 400 || status >= 500 || out["error"] == nil || out["DocumentWithSignature"] != nil || out["SignatureObject"] != nil {
			t.Errorf("%s: %d %.400v", name, status, out)
		}
	}
	if paid := before - r.credit(); paid != 0 {
		t.Errorf("refusals cost %.3f", paid)
	}
	// Digests in place of documents: a detached CAdES comes back.
	content := []byte("content that stays with the client")
	status, out := r.post(2, "signatures/signDoc", token, m{"credentialID": id, "SAD": sad(content), "documentDigests": []m{{"hashes": []string{hashOf(string(content))}, "hashAlgorithmOID": "2.16.840.1.101.3.4.2.1", "signature_format": "C", "conformance_level": "Ades-B-T", "signAlgo": "1.2.840.113549.1.1.11", "signed_envelope_property": "Detached"}}})
	list, _ := out["SignatureObject"].([]any)
	if status != http.StatusOK || len(list) != 1 {
		t.Fatalf("a digest: %d %.600v", status, out)
	}
	cms, err := base64.StdEncoding.DecodeString(list[0].(string))
	if err != nil {
		t.Fatal(err)
	}
	r.valid(cms, content)
	dss.passed(t, cms, "detached.p7s", "CAdES-T", content, r.sandbox.RootCertificate)
}
