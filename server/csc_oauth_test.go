package server

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/store/storetest"
)

// oauth is a client of the OAuth flow, and the browser of a holder.
type oauth struct {
	s          *site
	id, secret string
	redirect   string
}

func (s *site) oauth(redirect string) *oauth {
	s.t.Helper()
	made, err := s.rooms().AddCSCClient(s.t.Context(), "An application", []string{redirect}, false)
	if err != nil {
		s.t.Fatal(err)
	}
	return &oauth{s, made.ID, made.Secret, redirect}
}

// query is an authorisation request.
func (o *oauth) query(more m) url.Values {
	sum := sha256.Sum256([]byte(cscVerifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {o.id}, "redirect_uri": {o.redirect}, "scope": {"service"}, "state": {"a state"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for k, v := range more {
		if q.Del(k); v != nil {
			q.Set(k, v.(string))
		}
	}
	return q
}

// visit asks for the page, or posts its form; it follows no redirection.
func (o *oauth) visit(q url.Values, form url.Values, header ...string) (status int, page string, to url.Values) {
	o.s.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form.Get("action") == "allow" && !form.Has("shown") { // a browser sends what the page has
		if _, page, _ := o.visit(q, nil, header...); strings.Contains(page, `name="shown" value="`) {
			_, shown, _ := strings.Cut(page, `name="shown" value="`)
			form = maps.Clone(form)
			form.Set("shown", shown[:64])
		}
	}
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequest(method, o.s.url+"/csc/oauth2/authorize?"+q.Encode(), body)
	if err != nil {
		o.s.t.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", formEncoded)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		o.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if at := resp.Header.Get("Location"); at != "" {
		if !strings.HasPrefix(at, o.redirect) {
			o.s.t.Errorf("redirected to %s", at)
		}
		u, err := url.Parse(at)
		if err != nil {
			o.s.t.Fatal(err)
		}
		if to = u.Query(); to.Get("iss") != o.s.url+"/csc" {
			o.s.t.Errorf("iss %q", to.Get("iss"))
		}
	}
	return resp.StatusCode, html.UnescapeString(string(b)), to
}

func (s *site) word(kind string, more m) url.Values {
	c := s.box.Certificates[kind]
	form := url.Values{"action": {"allow"}, "username": {c.Username}, "password": {c.Password}}
	for k, v := range more {
		form.Set(k, v.(string))
	}
	return form
}

// consent is the code of a request that a holder consents to.
func (o *oauth) consent(q, form url.Values) string {
	o.s.t.Helper()
	status, page, to := o.visit(q, form)
	if status != 303 || to.Get("code") == "" || to.Get("state") != "a state" {
		o.s.t.Fatalf("%d %v %s", status, to, page)
	}
	return to.Get("code")
}

// form posts to an endpoint for clients.
func (o *oauth) form(endpoint string, form url.Values) (int, m) {
	o.s.t.Helper()
	if !form.Has("client_id") {
		form.Set("client_id", o.id)
		form.Set("client_secret", o.secret)
	}
	resp, err := http.Post(o.s.url+"/csc/oauth2/"+endpoint, formEncoded, strings.NewReader(form.Encode()))
	if err != nil {
		o.s.t.Fatal(err)
	}
	defer resp.Body.Close()
	return readCSC(o.s.t, resp)
}

func (o *oauth) exchange(code string, more m) (int, m) {
	o.s.t.Helper()
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {o.redirect}, "code_verifier": {cscVerifier}}
	for k, v := range more {
		form.Set(k, v.(string))
	}
	return o.form("token", form)
}

// tokens are those of a code.
func (o *oauth) tokens(code string) m {
	o.s.t.Helper()
	status, out := o.exchange(code, nil)
	if status != 200 || out["token_type"] != "Bearer" {
		o.s.t.Fatalf("%d %v", status, out)
	}
	return out
}

// credentialQuery asks for signatures.
func (o *oauth) credentialQuery(id string, hashes []string, more m) url.Values {
	q := o.query(m{"scope": "credential", "credentialID": id, "numSignatures": "2", "hashes": strings.NewReplacer("+", "-", "/", "_").Replace(strings.Join(hashes, ",")), "hashAlgorithmOID": oidSHA256})
	for k, v := range more {
		if q.Del(k); v != nil {
			q.Set(k, v.(string))
		}
	}
	return q
}

// The whole flow: a service token that sees one certificate, a credential token
// that is its own SAD or the SAD of a service token, pushed requests, renewal and
// the end of it all.
func TestCSCOAuth(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ids, o := s.credentials(), s.oauth(cscRedirect)
		auto, hashes := ids["automatic"], digestsOf("one", "two")

		status, page, _ := o.visit(o.query(nil), nil, "Accept-Language", "it")
		if status != 200 || !strings.Contains(page, `lang="it"`) || !strings.Contains(page, "An application") || strings.Contains(page, "<script") {
			t.Errorf("%d %s", status, page)
		}
		service := o.tokens(o.consent(o.query(nil), s.word("automatic", nil)))
		if service["expires_in"] != 3600.0 || service["refresh_token"] == nil {
			t.Errorf("%v", service)
		}
		c := s.csc("v1").as(service["access_token"].(string))
		if got := c.must("credentials/list", m{})["credentialIDs"].([]any); len(got) != 1 || got[0] != auto {
			t.Errorf("it sees %v", got)
		}
		for _, other := range []string{ids["eseal"], ids["otp"]} {
			if status, _ := c.post("credentials/info", m{"credentialID": other}); status != 400 {
				t.Errorf("another certificate: %d", status)
			}
		}
		if status, _ := s.rawAs("Bearer "+c.bearer, "GET", "/signatures", nil); status.StatusCode != 403 {
			t.Errorf("elsewhere: %d", status.StatusCode)
		}
		algo := c.algoOf(auto)

		// With a PIN, as with any other token.
		sad := c.sad(auto, s.box.Certificates["automatic"].Password, "", digestsOf("pin"))
		c.must("signatures/signHash", c.signBody(auto, sad, algo, digestsOf("pin")))

		// By consent to two hashes: the page names them.
		q := o.credentialQuery(auto, hashes, nil)
		status, page, _ = o.visit(q, nil)
		for _, h := range hashes {
			b, _ := base64.StdEncoding.DecodeString(h)
			if want := hexText(b); status != 200 || !strings.Contains(page, want) || !strings.Contains(page, `id="signatures">2<`) {
				t.Errorf("%d: %s is not on the page", status, want)
			}
		}
		credential := o.tokens(o.consent(q, s.word("automatic", nil)))
		if credential["refresh_token"] != nil || credential["credentialID"] != auto || credential["expires_in"].(float64) > 300 {
			t.Errorf("%v", credential)
		}
		// One hash as a SAD beside the service token, the other as a bearer of its own.
		c.must("signatures/signHash", c.signBody(auto, credential["access_token"].(string), algo, hashes[:1]))
		own := s.csc("v2").as(credential["access_token"].(string))
		own.must("credentials/info", m{"credentialID": auto})
		body := own.signBody(auto, "", algo, hashes[1:])
		delete(body, "SAD")
		own.must("signatures/signHash", body)
		for _, h := range hashes {
			b := own.signBody(auto, "", algo, []string{h})
			delete(b, "SAD")
			if status, out := own.post("signatures/signHash", b); status != 400 || out["error"] != "invalid_request" {
				t.Errorf("twice: %d %v", status, out)
			}
		}
		if status, _ := own.post("credentials/authorize", own.authorize(auto, s.box.Certificates["automatic"].Password, "", hashes)); status != 400 {
			t.Errorf("a credential token authorises: %d", status)
		}

		// Pushed, with authorization_details, for an OTP certificate that is not named.
		details := `[{"type":"credential","signatureQualifier":"eu_eidas_aes","documentDigests":[{"hash":"` + hashes[0] + `","label":"a <b>contract</b>"}],"hashAlgorithmOID":"` + oidSHA256 + `"}]`
		status, pushed := o.form("pushed_authorize", o.query(m{"client_id": nil, "scope": nil, "authorization_details": details}))
		if status != 201 || pushed["expires_in"] == nil {
			t.Fatalf("%d %v", status, pushed)
		}
		q = url.Values{"client_id": {o.id}, "request_uri": {pushed["request_uri"].(string)}, "state": {"a state"}}
		if _, page, _ := o.visit(q, nil); !strings.Contains(page, "a <b>contract</b>") {
			t.Errorf("%s", page)
		}
		if status, page, _ := o.visit(q, s.word("otp", m{"otp": notMyCode})); status != 403 || !strings.Contains(page, `role="alert"`) {
			t.Errorf("wrong code: %d %s", status, page)
		}
		code := o.consent(q, s.word("otp", m{"otp": codeOf(t, s.box.Certificates["otp"].TOTPSecret, 0)}))
		if status, _, _ := o.visit(q, nil); status != 400 {
			t.Errorf("a pushed request twice: %d", status)
		}
		out := o.tokens(code)
		if out["credentialID"] != ids["otp"] {
			t.Errorf("%v", out)
		}
		b := own.signBody(ids["otp"], "", own.algoOfAs(s, ids["otp"]), hashes[:1])
		delete(b, "SAD")
		own.as(out["access_token"].(string)).must("signatures/signHash", b)

		// Renewal: the token and the refresh token before are void.
		status, next := o.form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {service["refresh_token"].(string)}})
		if status != 200 || next["access_token"] == service["access_token"] {
			t.Fatalf("%d %v", status, next)
		}
		if status, _ := c.post("credentials/list", m{}); status != 401 {
			t.Errorf("the token that was renewed: %d", status)
		}
		c = c.as(next["access_token"].(string))
		c.must("credentials/list", m{})
		if status, _ := o.form("revoke", url.Values{"token": {next["refresh_token"].(string)}, "token_type_hint": {"refresh_token"}}); status != 204 {
			t.Errorf("revoke: %d", status)
		}
		if status, out := c.post("credentials/list", m{}); status != 401 || out["error"] != "invalid_token" {
			t.Errorf("after the end: %d %v", status, out)
		}
		s.verifyAudit()
	})
}

// algoOfAs asks with the token of the account.
func (c *cscCaller) algoOfAs(s *site, id string) string { return c.as(s.box.Token).algoOf(id) }

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
	ids, o := s.credentials(), s.oauth(cscRedirect)
	hashes := digestsOf("one")
	for name, q := range map[string]url.Values{
		"no client":              o.query(m{"client_id": nil}),
		"unknown client":         o.query(m{"client_id": strings.Repeat("0", 24)}),
		"no redirect":            o.query(m{"redirect_uri": nil}),
		"redirect elsewhere":     o.query(m{"redirect_uri": "https://evil.example/"}),
		"redirect with a suffix": o.query(m{"redirect_uri": cscRedirect + "/more"}),
		"redirect with a query":  o.query(m{"redirect_uri": cscRedirect + "&y=2"}),
		"redirect in capitals":   o.query(m{"redirect_uri": strings.ToUpper(cscRedirect)}),
		"redirect, another port": o.query(m{"redirect_uri": strings.Replace(cscRedirect, ":9/", ":10/", 1)}),
		"client twice":           {"client_id": {o.id, o.id}},
		"nobody's request":       {"client_id": {o.id}, "request_uri": {"urn:ietf:params:oauth:request_uri:x"}},
	} {
		if status, page, to := o.visit(q, nil); status != 400 || to != nil || !strings.Contains(page, `role="alert"`) {
			t.Errorf("%s: %d %v", name, status, to)
		}
	}
	for name, x := range map[string]struct {
		q    url.Values
		word string
	}{
		"implicit":             {o.query(m{"response_type": "token"}), "unsupported_response_type"},
		"no response type":     {o.query(m{"response_type": nil}), "invalid_request"},
		"no PKCE":              {o.query(m{"code_challenge": nil, "code_challenge_method": nil}), "invalid_request"},
		"plain PKCE":           {o.query(m{"code_challenge_method": "plain"}), "invalid_request"},
		"PKCE without method":  {o.query(m{"code_challenge_method": nil}), "invalid_request"},
		"short challenge":      {o.query(m{"code_challenge": "abc"}), "invalid_request"},
		"unknown scope":        {o.query(m{"scope": "everything"}), "invalid_scope"},
		"no credential":        {o.credentialQuery("", hashes, m{"credentialID": nil, "numSignatures": "1"}), "invalid_request"},
		"no hashes":            {o.credentialQuery(ids["automatic"], hashes, m{"hashes": nil}), "invalid_request"},
		"a hash of SHA-1":      {o.credentialQuery(ids["automatic"], []string{b64(make([]byte, 20))}, m{"hashAlgorithmOID": nil}), "invalid_request"},
		"too many signatures":  {o.credentialQuery(ids["automatic"], hashes, m{"numSignatures": "101"}), "invalid_request"},
		"details of a type":    {o.query(m{"authorization_details": `[{"type":"other"}]`, "scope": nil}), "invalid_request"},
		"details without hash": {o.query(m{"authorization_details": `[{"type":"credential","credentialID":"` + ids["automatic"] + `"}]`, "scope": nil}), "invalid_request"},
	} {
		if status, page, to := o.visit(x.q, nil); status != 302 || to.Get("error") != x.word || to.Get("state") != "a state" || to.Get("code") != "" {
			t.Errorf("%s: %d %v %s", name, status, to, page)
		}
	}
	if status, _, to := o.visit(o.query(nil), url.Values{"action": {"deny"}}); status != 303 || to.Get("error") != "access_denied" {
		t.Errorf("refused: %d %v", status, to)
	}
	if status, _, to := o.visit(o.query(nil), s.word("automatic", nil), "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); status != 403 || to != nil {
		t.Errorf("from another site: %d %v", status, to)
	}
	wrong := s.word("automatic", m{"password": "wrong"})
	for name, form := range map[string]url.Values{
		"nobody":                  s.word("automatic", m{"username": "AHI0000000000000"}),
		"another certificate":     s.word("eseal", nil),
		"no code where there is":  s.word("otp", nil),
		"a wrong password":        wrong,
		"nothing":                 {"action": {"allow"}},
		"a password that is long": s.word("automatic", m{"password": strings.Repeat("x", 5000)}),
	} {
		q := o.credentialQuery(ids["automatic"], hashes, nil)
		if status, page, to := o.visit(q, form); status != 403 && status != 400 || to != nil || !strings.Contains(page, `role="alert"`) {
			t.Errorf("%s: %d %v", name, status, to)
		}
	}
	for range 4 {
		o.visit(o.query(nil), wrong)
	}
	if _, page, to := o.visit(o.query(nil), s.word("automatic", nil)); to != nil || !strings.Contains(page, "locked") {
		t.Errorf("after five wrong passwords: %v %s", to, page)
	}
}

// A code is good once, for its client, its redirect URI and its verifier; who
// shows it again ends what it was given for.
func TestCSCOAuthCodes(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		o, other := s.oauth(cscRedirect), s.oauth(cscRedirect)
		code := func() string { return o.consent(o.query(nil), s.word("automatic", nil)) }
		for name, x := range map[string]struct {
			more   m
			status int
			word   string
		}{
			"another verifier":   {m{"code_verifier": strings.Repeat("v", 43)}, 400, "invalid_grant"},
			"challenge for it":   {m{"code_verifier": o.query(nil).Get("code_challenge")}, 400, "invalid_grant"},
			"another redirect":   {m{"redirect_uri": cscRedirect + "x"}, 400, "invalid_grant"},
			"another client":     {m{"client_id": other.id, "client_secret": other.secret}, 400, "invalid_grant"},
			"another's secret":   {m{"client_id": o.id, "client_secret": other.secret}, 401, "invalid_client"},
			"no secret":          {m{"client_id": o.id}, 401, "invalid_client"},
			"unknown client":     {m{"client_id": "nobody", "client_secret": "x"}, 401, "invalid_client"},
			"another grant type": {m{"grant_type": "password"}, 400, "unsupported_grant_type"},
			"client credentials": {m{"grant_type": "client_credentials"}, 400, "unsupported_grant_type"},
			"another code":       {m{"code": "csc_" + strings.Repeat("A", 52)}, 400, "invalid_grant"},
		} {
			given := code()
			if status, out := o.exchange(given, x.more); status != x.status || out["error"] != x.word {
				t.Errorf("%s: %d %v", name, status, out)
			}
			if x.word == "invalid_grant" && name != "another code" {
				if status, out := o.exchange(given, nil); status != 400 || out["error"] != "invalid_grant" {
					t.Errorf("%s, then rightly: %d %v", name, status, out)
				}
			}
		}
		for _, missing := range []string{"grant_type", "code", "redirect_uri", "code_verifier"} {
			if status, out := o.exchange(code(), m{missing: ""}); status != 400 || out["error"] != "invalid_request" {
				t.Errorf("no %s: %d %v", missing, status, out)
			}
		}
		given := code()
		first := o.tokens(given)
		c := s.csc("v2").as(first["access_token"].(string))
		c.must("credentials/list", m{})
		if status, out := o.exchange(given, nil); status != 400 || out["error"] != "invalid_grant" {
			t.Errorf("a code twice: %d %v", status, out)
		}
		if status, _ := c.post("credentials/list", m{}); status != 401 {
			t.Errorf("what a replayed code had given: %d", status)
		}
		refresh := func(token string) (int, m) {
			return o.form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
		}
		if status, out := refresh(first["refresh_token"].(string)); status != 400 || out["error"] != "invalid_grant" {
			t.Errorf("its refresh token: %d %v", status, out)
		}
		second := o.tokens(code())
		if status, out := other.form("token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {second["refresh_token"].(string)}}); status != 400 || out["error"] != "invalid_grant" {
			t.Errorf("another client's refresh token: %d %v", status, out)
		}
		if status, _ := other.form("revoke", url.Values{"token": {second["access_token"].(string)}}); status != 204 {
			t.Errorf("revoked by another: %d", status)
		}
		c.as(second["access_token"].(string)).must("credentials/list", m{}) // and still there
		_, third := refresh(second["refresh_token"].(string))
		if status, _ := refresh(second["refresh_token"].(string)); status != 400 {
			t.Errorf("a refresh token twice: %d", status)
		}
		if status, _ := c.as(third["access_token"].(string)).post("credentials/list", m{}); status != 401 {
			t.Errorf("what a replayed refresh token had given: %d", status)
		}
		fourth := o.tokens(code())
		if err := s.rooms().RemoveCSCClient(t.Context(), o.id); err != nil {
			t.Fatal(err)
		}
		if status, _ := c.as(fourth["access_token"].(string)).post("credentials/list", m{}); status != 401 {
			t.Errorf("of a client that is gone: %d", status)
		}
	})
}

// A credential token is good for its client and its certificate only.
func TestCSCOAuthMixUps(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ids, o, other := s.credentials(), s.oauth(cscRedirect), s.oauth(cscRedirect)
	auto, seal, hashes := ids["automatic"], ids["eseal"], digestsOf("one")
	credential := o.tokens(o.consent(o.credentialQuery(auto, hashes, nil), s.word("automatic", nil)))["access_token"].(string)
	c := s.csc("v2")
	algo := c.algoOf(auto)
	login := func(o *oauth, kind string) *cscCaller {
		return c.as(o.tokens(o.consent(o.query(nil), s.word(kind, nil)))["access_token"].(string))
	}
	for name, bearer := range map[string]*cscCaller{
		"a token of the account":               c,
		"another client":                       login(other, "automatic"),
		"the same client, another certificate": login(o, "eseal"),
	} {
		if status, out := bearer.post("signatures/signHash", bearer.signBody(auto, credential, algo, hashes)); status != 400 || out["error"] != "invalid_request" {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	own := c.as(credential)
	for name, body := range map[string]m{
		"another certificate": own.signBody(seal, credential, algo, hashes),
		"another hash":        own.signBody(auto, credential, algo, digestsOf("two")),
	} {
		if status, out := own.post("signatures/signHash", body); status != 400 || out["error"] != "invalid_request" {
			t.Errorf("%s: %d %v", name, status, out)
		}
	}
	mine := login(o, "automatic")
	if status, _ := o.form("revoke", url.Values{"token": {credential}}); status != 204 {
		t.Errorf("revoke: %d", status)
	}
	if status, out := mine.post("signatures/signHash", mine.signBody(auto, credential, algo, hashes)); status != 400 || out["error"] != "invalid_request" {
		t.Errorf("a revoked credential token as SAD: %d %v", status, out)
	}
	if n := len(s.records()); n != 0 {
		t.Errorf("%d records", n)
	}
	// What the rows say is believed only as it was written.
	room := s.rooms()
	for _, sql := range []string{
		`update csc_tokens set certificate_id = '` + seal + `' where certificate_id = '` + auto + `'`,
		`delete from csc_tokens where client_id = '` + other.id + `'`,
	} {
		victim := login(other, "automatic")
		storetest.Exec(t, room.db, sql)
		if status, out := victim.post("credentials/list", m{}); status != 401 {
			t.Errorf("%s: %d %v", sql, status, out)
		}
	}
}

// Whoever knows a username and a client, and nothing else, locks the page for it
// and not the certificate. The page says what it does not know: which documents
// the client may add to those it names.
func TestConsentIsForItsHolder(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		o, auto, hashes := s.oauth(cscRedirect), s.credentials()["automatic"], digestsOf("one")
		for more, want := range map[string]bool{"1": false, "2": true} {
			_, page, _ := o.visit(o.credentialQuery(auto, hashes, m{"numSignatures": more}), nil)
			if got := strings.Contains(page, "Of 1 of them the application does not say yet"); got != want {
				t.Errorf("%s signatures of one digest: warned is %v", more, got)
			}
		}
		for i := range 12 {
			status, page, _ := o.visit(o.query(nil), s.word("automatic", m{"password": "wrong"}))
			if locked := strings.Contains(page, "is locked"); status != 403 || locked != (i >= 5) {
				t.Fatalf("guess %d: %d, locked is %v", i+1, status, locked)
			}
		}
		if status, _, to := o.visit(o.query(nil), s.word("automatic", nil)); status != 403 || to != nil {
			t.Errorf("the right password on a page that is locked: %d %v", status, to)
		}
		if r := s.sign(b64(sampleTXT)); r.State != "DONE" {
			t.Errorf("a stranger on the page locks the holder out: %s %d", r.State, r.number())
		}
		s.csc("v2").sad(auto, s.box.Certificates["automatic"].Password, "", hashes)
	})
}

// An address gives sixty words in a minute on the page of consent; each name that is
// typed there leaves a row, and costs a derivation.
func TestConsentIsPaced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.oauth(cscRedirect)
	form := func() url.Values { return url.Values{"action": {"allow"}, "shown": {"x"}} }
	words, status := 0, 0
	for ; status != 429 && words < 300; words++ {
		if status, _, _ = o.visit(o.query(nil), form()); status != 429 && status != 409 {
			t.Fatalf("word %d: %d", words+1, status)
		}
	}
	if status != 429 || words <= 60 {
		t.Errorf("%d words, the last answered with %d", words, status)
	}
	if status, _, _ := o.visit(o.query(nil), nil); status != 200 {
		t.Errorf("the page itself: %d", status)
	}
}

// Who knows the name of a client without a secret fills no database with requests
// that nobody will come for.
func TestPushedRequestsAreFew(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	room := s.rooms()
	made, err := room.AddCSCClient(t.Context(), "An application", []string{cscRedirect}, true)
	if err != nil {
		t.Fatal(err)
	}
	o := &oauth{s: s, id: made.ID, redirect: cscRedirect}
	push := func() int {
		status, _ := o.form("pushed_authorize", o.query(nil))
		return status
	}
	fill := func(n int, expires int64) {
		storetest.Exec(t, room.db, fmt.Sprintf(`with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)
			insert into csc_requests (hash, client_id, sealed, expires_at) select randomblob(32), '%s', x'00', %d from n`, n, made.ID, expires))
	}
	fill(998, time.Now().Add(time.Minute).UnixMilli())
	fill(500, time.Now().Add(-time.Minute).UnixMilli()) // over
	for i, want := range []int{201, 201, 503} {
		if got := push(); got != want {
			t.Errorf("push %d: %d, want %d", i+1, got, want)
		}
	}
	if status, _ := s.oauth(cscRedirect).form("pushed_authorize", s.oauth(cscRedirect).query(m{"client_id": nil})); status != 201 {
		t.Errorf("another client: %d", status)
	}
}
