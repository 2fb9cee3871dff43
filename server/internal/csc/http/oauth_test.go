package http_test

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// The whole flow: a service token that sees one certificate, a credential token
// that is its own SAD or the SAD of a service token, pushed requests, renewal and
// the end of it all.
func TestCSCOAuth(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ids, o := credentials(s), s.OAuth(cscRedirect)
		auto, hashes := ids["automatic"], digestsOf("one", "two")

		status, page, _ := o.Visit(o.Query(nil), nil, "Accept-Language", "it")
		if status != 200 || !strings.Contains(page, `lang="it"`) || !strings.Contains(page, "An application") || strings.Contains(page, "<script") {
			t.Errorf("%d %s", status, page)
		}
		service := o.Tokens(o.Consent(o.Query(nil), s.Word("automatic", nil)))
		if service["expires_in"] != 3600.0 || service["refresh_token"] == nil {
			t.Errorf("%v", service)
		}
		c := s.CSC("v1").As(service["access_token"].(string))
		if got := c.Must("credentials/list", m{})["credentialIDs"].([]any); len(got) != 1 || got[0] != auto {
			t.Errorf("it sees %v", got)
		}
		for _, other := range []string{ids["eseal"], ids["otp"]} {
			if status, _ := c.Post("credentials/info", m{"credentialID": other}); status != 400 {
				t.Errorf("another certificate: %d", status)
			}
		}
		if status, _ := s.RawAs("Bearer "+c.Bearer, "GET", "/signatures", nil); status.StatusCode != 403 {
			t.Errorf("elsewhere: %d", status.StatusCode)
		}
		algo := c.AlgoOf(auto)

		// With a PIN, as with any other token.
		sad := c.SAD(auto, s.Box.Certificates["automatic"].Password, "", digestsOf("pin"))
		c.Must("signatures/signHash", c.SignBody(auto, sad, algo, digestsOf("pin")))

		// By consent to two hashes: the page names them.
		q := o.CredentialQuery(auto, hashes, nil)
		status, page, _ = o.Visit(q, nil)
		for _, h := range hashes {
			b, _ := base64.StdEncoding.DecodeString(h)
			if want := hexText(b); status != 200 || !strings.Contains(page, want) || !strings.Contains(page, `id="signatures">2<`) {
				t.Errorf("%d: %s is not on the page", status, want)
			}
		}
		credential := o.Tokens(o.Consent(q, s.Word("automatic", nil)))
		if credential["refresh_token"] != nil || credential["credentialID"] != auto || credential["expires_in"].(float64) > 300 {
			t.Errorf("%v", credential)
		}
		// One hash as a SAD beside the service token, the other as a bearer of its own.
		c.Must("signatures/signHash", c.SignBody(auto, credential["access_token"].(string), algo, hashes[:1]))
		own := s.CSC("v2").As(credential["access_token"].(string))
		own.Must("credentials/info", m{"credentialID": auto})
		body := own.SignBody(auto, "", algo, hashes[1:])
		delete(body, "SAD")
		own.Must("signatures/signHash", body)
		for _, h := range hashes {
			b := own.SignBody(auto, "", algo, []string{h})
			delete(b, "SAD")
			if status, out := own.Post("signatures/signHash", b); status != 400 || out["error"] != "invalid_request" {
				t.Errorf("twice: %d %v", status, out)
			}
		}
		if status, _ := own.Post("credentials/authorize", own.Authorize(auto, s.Box.Certificates["automatic"].Password, "", hashes)); status != 400 {
			t.Errorf("a credential token authorises: %d", status)
		}

		// Pushed, with authorization_details, for an OTP certificate that is not named.
		details := `[{"type":"credential","signatureQualifier":"eu_eidas_aes","documentDigests":[{"hash":"` + hashes[0] + `","label":"a <b>contract</b>"}],"hashAlgorithmOID":"` + oidSHA256 + `"}]`
		status, pushed := o.Form("pushed_authorize", o.Query(m{"client_id": nil, "scope": nil, "authorization_details": details}))
		if status != 201 || pushed["expires_in"] == nil {
			t.Fatalf("%d %v", status, pushed)
		}
		q = url.Values{"client_id": {o.ID}, "request_uri": {pushed["request_uri"].(string)}, "state": {"a state"}}
		if _, page, _ := o.Visit(q, nil); !strings.Contains(page, "a <b>contract</b>") {
			t.Errorf("%s", page)
		}
		if status, page, _ := o.Visit(q, s.Word("otp", m{"otp": notMyCode})); status != 403 || !strings.Contains(page, `role="alert"`) {
			t.Errorf("wrong code: %d %s", status, page)
		}
		code := o.Consent(q, s.Word("otp", m{"otp": codeOf(t, s.Box.Certificates["otp"].TOTPSecret, 0)}))
		if status, _, _ := o.Visit(q, nil); status != 400 {
			t.Errorf("a pushed request twice: %d", status)
		}
		out := o.Tokens(code)
		if out["credentialID"] != ids["otp"] {
			t.Errorf("%v", out)
		}
		b := own.SignBody(ids["otp"], "", algoOfAs(own, s, ids["otp"]), hashes[:1])
		delete(b, "SAD")
		own.As(out["access_token"].(string)).Must("signatures/signHash", b)

		// Renewal: the token and the refresh token before are void.
		status, next := o.Form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {service["refresh_token"].(string)}})
		if status != 200 || next["access_token"] == service["access_token"] {
			t.Fatalf("%d %v", status, next)
		}
		if status, _ := c.Post("credentials/list", m{}); status != 401 {
			t.Errorf("the token that was renewed: %d", status)
		}
		c = c.As(next["access_token"].(string))
		c.Must("credentials/list", m{})
		if status, _ := o.Form("revoke", url.Values{"token": {next["refresh_token"].(string)}, "token_type_hint": {"refresh_token"}}); status != 204 {
			t.Errorf("revoke: %d", status)
		}
		if status, out := c.Post("credentials/list", m{}); status != 401 || out["error"] != "invalid_token" {
			t.Errorf("after the end: %d %v", status, out)
		}
		s.VerifyAudit()
	})
}

// algoOfAs asks with the token of the account.
func algoOfAs(c *cscCaller, s *site, id string) string { return c.As(s.Box.Token).AlgoOf(id) }

func hexText(b []byte) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for _, x := range b {
		out.WriteByte(digits[x>>4])
		out.WriteByte(digits[x&15])
	}
	return out.String()
}

// What is wrong with a request goes to the client where client and redirect URI
// are right, and to the person where they are not.
func TestCSCOAuthRequests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, o := credentials(s), s.OAuth(cscRedirect)
	hashes := digestsOf("one")
	for name, q := range map[string]url.Values{
		"no client":              o.Query(m{"client_id": nil}),
		"unknown client":         o.Query(m{"client_id": strings.Repeat("0", 24)}),
		"no redirect":            o.Query(m{"redirect_uri": nil}),
		"redirect elsewhere":     o.Query(m{"redirect_uri": "https://evil.example/"}),
		"redirect with a suffix": o.Query(m{"redirect_uri": cscRedirect + "/more"}),
		"redirect with a query":  o.Query(m{"redirect_uri": cscRedirect + "&y=2"}),
		"redirect in capitals":   o.Query(m{"redirect_uri": strings.ToUpper(cscRedirect)}),
		"redirect, another port": o.Query(m{"redirect_uri": strings.Replace(cscRedirect, ":9/", ":10/", 1)}),
		"client twice":           {"client_id": {o.ID, o.ID}},
		"nobody's request":       {"client_id": {o.ID}, "request_uri": {"urn:ietf:params:oauth:request_uri:x"}},
	} {
		if status, page, to := o.Visit(q, nil); status != 400 || to != nil || !strings.Contains(page, `role="alert"`) {
			t.Errorf("%s: %d %v", name, status, to)
		}
	}
	for name, x := range map[string]struct {
		q    url.Values
		word string
	}{
		"implicit":             {o.Query(m{"response_type": "token"}), "unsupported_response_type"},
		"no response type":     {o.Query(m{"response_type": nil}), "invalid_request"},
		"no PKCE":              {o.Query(m{"code_challenge": nil, "code_challenge_method": nil}), "invalid_request"},
		"plain PKCE":           {o.Query(m{"code_challenge_method": "plain"}), "invalid_request"},
		"PKCE without method":  {o.Query(m{"code_challenge_method": nil}), "invalid_request"},
		"short challenge":      {o.Query(m{"code_challenge": "abc"}), "invalid_request"},
		"unknown scope":        {o.Query(m{"scope": "everything"}), "invalid_scope"},
		"no credential":        {o.CredentialQuery("", hashes, m{"credentialID": nil, "numSignatures": "1"}), "invalid_request"},
		"no hashes":            {o.CredentialQuery(ids["automatic"], hashes, m{"hashes": nil}), "invalid_request"},
		"a hash of SHA-1":      {o.CredentialQuery(ids["automatic"], []string{b64(make([]byte, 20))}, m{"hashAlgorithmOID": nil}), "invalid_request"},
		"too many signatures":  {o.CredentialQuery(ids["automatic"], hashes, m{"numSignatures": "101"}), "invalid_request"},
		"details of a type":    {o.Query(m{"authorization_details": `[{"type":"other"}]`, "scope": nil}), "invalid_request"},
		"details without hash": {o.Query(m{"authorization_details": `[{"type":"credential","credentialID":"` + ids["automatic"] + `"}]`, "scope": nil}), "invalid_request"},
	} {
		if status, page, to := o.Visit(x.q, nil); status != 302 || to.Get("error") != x.word || to.Get("state") != "a state" || to.Get("code") != "" {
			t.Errorf("%s: %d %v %s", name, status, to, page)
		}
	}
	if status, _, to := o.Visit(o.Query(nil), url.Values{"action": {"deny"}}); status != 303 || to.Get("error") != "access_denied" {
		t.Errorf("refused: %d %v", status, to)
	}
	if status, _, to := o.Visit(o.Query(nil), s.Word("automatic", nil), "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); status != 403 || to != nil {
		t.Errorf("from another site: %d %v", status, to)
	}
	wrong := s.Word("automatic", m{"password": "wrong"})
	for name, form := range map[string]url.Values{
		"nobody":                  s.Word("automatic", m{"username": "AHI0000000000000"}),
		"another certificate":     s.Word("eseal", nil),
		"no code where there is":  s.Word("otp", nil),
		"a wrong password":        wrong,
		"nothing":                 {"action": {"allow"}},
		"a password that is long": s.Word("automatic", m{"password": strings.Repeat("x", 5000)}),
	} {
		q := o.CredentialQuery(ids["automatic"], hashes, nil)
		if status, page, to := o.Visit(q, form); status != 403 && status != 400 || to != nil || !strings.Contains(page, `role="alert"`) {
			t.Errorf("%s: %d %v", name, status, to)
		}
	}
	for range 4 {
		o.Visit(o.Query(nil), wrong)
	}
	if _, page, to := o.Visit(o.Query(nil), s.Word("automatic", nil)); to != nil || !strings.Contains(page, "locked") {
		t.Errorf("after five wrong passwords: %v %s", to, page)
	}
}

// A code is good once, for its client, its redirect URI and its verifier; who
// shows it again ends what it was given for.
func TestCSCOAuthCodes(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		o, other := s.OAuth(cscRedirect), s.OAuth(cscRedirect)
		code := func() string { return o.Consent(o.Query(nil), s.Word("automatic", nil)) }
		for name, x := range map[string]struct {
			more   m
			status int
			word   string
		}{
			"another verifier":   {m{"code_verifier": strings.Repeat("v", 43)}, 400, "invalid_grant"},
			"challenge for it":   {m{"code_verifier": o.Query(nil).Get("code_challenge")}, 400, "invalid_grant"},
			"another redirect":   {m{"redirect_uri": cscRedirect + "x"}, 400, "invalid_grant"},
			"another client":     {m{"client_id": other.ID, "client_secret": other.Secret}, 400, "invalid_grant"},
			"another's secret":   {m{"client_id": o.ID, "client_secret": other.Secret}, 401, "invalid_client"},
			"no secret":          {m{"client_id": o.ID}, 401, "invalid_client"},
			"unknown client":     {m{"client_id": "nobody", "client_secret": "x"}, 401, "invalid_client"},
			"another grant type": {m{"grant_type": "password"}, 400, "unsupported_grant_type"},
			"client credentials": {m{"grant_type": "client_credentials"}, 400, "unsupported_grant_type"},
			"another code":       {m{"code": "csc_" + strings.Repeat("A", 52)}, 400, "invalid_grant"},
		} {
			given := code()
			if status, out := o.Exchange(given, x.more); status != x.status || out["error"] != x.word {
				t.Errorf("%s: %d %v", name, status, out)
			}
			if x.word == "invalid_grant" && name != "another code" {
				if status, out := o.Exchange(given, nil); status != 400 || out["error"] != "invalid_grant" {
					t.Errorf("%s, then rightly: %d %v", name, status, out)
				}
			}
		}
		for _, missing := range []string{"grant_type", "code", "redirect_uri", "code_verifier"} {
			if status, out := o.Exchange(code(), m{missing: ""}); status != 400 || out["error"] != "invalid_request" {
				t.Errorf("no %s: %d %v", missing, status, out)
			}
		}
		given := code()
		first := o.Tokens(given)
		c := s.CSC("v2").As(first["access_token"].(string))
		c.Must("credentials/list", m{})
		if status, out := o.Exchange(given, nil); status != 400 || out["error"] != "invalid_grant" {
			t.Errorf("a code twice: %d %v", status, out)
		}
		if status, _ := c.Post("credentials/list", m{}); status != 401 {
			t.Errorf("what a replayed code had given: %d", status)
		}
		refresh := func(token string) (int, m) {
			return o.Form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
		}
		if status, out := refresh(first["refresh_token"].(string)); status != 400 || out["error"] != "invalid_grant" {
			t.Errorf("its refresh token: %d %v", status, out)
		}
		second := o.Tokens(code())
		if status, out := other.Form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {second["refresh_token"].(string)}}); status != 400 || out["error"] != "invalid_grant" {
			t.Errorf("another client's refresh token: %d %v", status, out)
		}
		if status, _ := other.Form("revoke", url.Values{"token": {second["access_token"].(string)}}); status != 204 {
			t.Errorf("revoked by another: %d", status)
		}
		c.As(second["access_token"].(string)).Must("credentials/list", m{}) // and still there
		_, third := refresh(second["refresh_token"].(string))
		if status, _ := refresh(second["refresh_token"].(string)); status != 400 {
			t.Errorf("a refresh token twice: %d", status)
		}
		if status, _ := c.As(third["access_token"].(string)).Post("credentials/list", m{}); status != 401 {
			t.Errorf("what a replayed refresh token had given: %d", status)
		}
		fourth := o.Tokens(code())
		if err := s.OpenServer().RemoveCSCClient(t.Context(), o.ID); err != nil {
			t.Fatal(err)
		}
		if status, _ := c.As(fourth["access_token"].(string)).Post("credentials/list", m{}); status != 401 {
			t.Errorf("of a client that is gone: %d", status)
		}
	})
}

// A credential token is good for its client and its certificate only.
func TestCSCOAuthMixUps(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, o, other := credentials(s), s.OAuth(cscRedirect), s.OAuth(cscRedirect)
	auto, seal, hashes := ids["automatic"], ids["eseal"], digestsOf("one")
	credential := o.Tokens(o.Consent(o.CredentialQuery(auto, hashes, nil), s.Word("automatic", nil)))["access_token"].(string)
	c := s.CSC("v2")
	algo := c.AlgoOf(auto)
	login := func(o *oauth, kind string) *cscCaller {
		return c.As(o.Tokens(o.Consent(o.Query(nil), s.Word(kind, nil)))["access_token"].(string))
	}
	for name, bearer := range map[string]*cscCaller{
		"a token of the account":               c,
		"another client":                       login(other, "automatic"),
		"the same client, another certificate": login(o, "eseal"),
	} {
		if status, out := bearer.Post("signatures/signHash", bearer.SignBody(auto, credential, algo, hashes)); status != 400 || out["error"] != "invalid_request" {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	own := c.As(credential)
	for name, body := range map[string]m{
		"another certificate": own.SignBody(seal, credential, algo, hashes),
		"another hash":        own.SignBody(auto, credential, algo, digestsOf("two")),
	} {
		if status, out := own.Post("signatures/signHash", body); status != 400 || out["error"] != "invalid_request" {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	mine := login(o, "automatic")
	if status, _ := o.Form("revoke", url.Values{"token": {credential}}); status != 204 {
		t.Errorf("revoke: %d", status)
	}
	if status, out := mine.Post("signatures/signHash", mine.SignBody(auto, credential, algo, hashes)); status != 400 || out["error"] != "invalid_request" {
		t.Errorf("a revoked credential token as SAD: %d %v", status, out)
	}
	if n := len(s.Records()); n != 0 {
		t.Errorf("%d records", n)
	}
	// What the rows say is believed only as it was written.
	srv := s.OpenServer()
	for _, sql := range []string{
		`update csc_tokens set certificate_id = '` + seal + `' where certificate_id = '` + auto + `'`,
		`delete from csc_tokens where client_id = '` + other.ID + `'`,
	} {
		victim := login(other, "automatic")
		storetest.Exec(t, srv.Parts().DB, sql)
		if status, out := victim.Post("credentials/list", m{}); status != 401 {
			t.Errorf("%s: %d %v", sql, status, out)
		}
	}
}

// Someone who knows only a username and a client can lock the page for it, but not the certificate.
// The page says what it does not know: which documents the client may add to those it names.
func TestConsentIsForItsHolder(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		o, auto, hashes := s.OAuth(cscRedirect), credentials(s)["automatic"], digestsOf("one")
		for more, want := range map[string]bool{"1": false, "2": true} {
			_, page, _ := o.Visit(o.CredentialQuery(auto, hashes, m{"numSignatures": more}), nil)
			if got := strings.Contains(page, "Of 1 of them the application does not say yet"); got != want {
				t.Errorf("%s signatures of one digest: warned is %v", more, got)
			}
		}
		for i := range 12 {
			status, page, _ := o.Visit(o.Query(nil), s.Word("automatic", m{"password": "wrong"}))
			if locked := strings.Contains(page, "is locked"); status != 403 || locked != (i >= 5) {
				t.Fatalf("guess %d: %d, locked is %v", i+1, status, locked)
			}
		}
		if status, _, to := o.Visit(o.Query(nil), s.Word("automatic", nil)); status != 403 || to != nil {
			t.Errorf("the right password on a page that is locked: %d %v", status, to)
		}
		if r := s.Sign(b64(sitetest.SampleTXT)); r.State != "DONE" {
			t.Errorf("a stranger on the page locks the holder out: %s %d", r.State, r.Number())
		}
		s.CSC("v2").SAD(auto, s.Box.Certificates["automatic"].Password, "", hashes)
	})
}

// An address gives sixty words in a minute on the page of consent; each name that is
// typed there leaves a row, and costs a derivation.
func TestConsentIsPaced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.OAuth(cscRedirect)
	form := func() url.Values { return url.Values{"action": {"allow"}, "shown": {"x"}} }
	words, status := 0, 0
	for ; status != 429 && words < 300; words++ {
		if status, _, _ = o.Visit(o.Query(nil), form()); status != 429 && status != 409 {
			t.Fatalf("word %d: %d", words+1, status)
		}
	}
	if status != 429 || words <= 60 {
		t.Errorf("%d words, the last answered with %d", words, status)
	}
	if status, _, _ := o.Visit(o.Query(nil), nil); status != 200 {
		t.Errorf("the page itself: %d", status)
	}
}

// Someone who knows only the name of a client without a secret cannot fill the database with
// requests.
func TestPushedRequestsAreFew(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	made, err := srv.AddCSCClient(t.Context(), "An application", []string{cscRedirect}, true)
	if err != nil {
		t.Fatal(err)
	}
	o := &oauth{S: s, ID: made.ID, Redirect: cscRedirect}
	push := func() int {
		status, _ := o.Form("pushed_authorize", o.Query(nil))
		return status
	}
	fill := func(n int, expires int64) {
		storetest.Exec(t, srv.Parts().DB, fmt.Sprintf(`with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
			insert into csc_requests (hash, client_id, sealed, expires_at) select randomblob(32), '%s', x'00', %d from n`, n, made.ID, expires))
	}
	fill(998, time.Now().Add(time.Minute).UnixMilli())
	fill(500, time.Now().Add(-time.Minute).UnixMilli()) // over
	for i, want := range []int{201, 201, 503} {
		if got := push(); got != want {
			t.Errorf("push %d: %d, want %d", i+1, got, want)
		}
	}
	if status, _ := s.OAuth(cscRedirect).Form("pushed_authorize", s.OAuth(cscRedirect).Query(m{"client_id": nil})); status != 201 {
		t.Errorf("another client: %d", status)
	}
}
