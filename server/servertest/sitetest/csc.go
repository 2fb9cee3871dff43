package sitetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// OAuth is a client of the OAuth flow, and the browser of a holder.
type OAuth struct {
	S          *Site
	ID, Secret string
	Redirect   string
}

func (s *Site) OAuth(redirect string) *OAuth {
	s.T.Helper()
	made, err := s.OpenServer().AddCSCClient(s.T.Context(), "An application", []string{redirect}, false)
	if err != nil {
		s.T.Fatal(err)
	}
	return &OAuth{s, made.ID, made.Secret, redirect}
}

// Query is an authorisation request.
func (o *OAuth) Query(more M) url.Values {
	sum := sha256.Sum256([]byte(cscVerifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {o.ID}, "redirect_uri": {o.Redirect}, "scope": {"service"}, "state": {"a state"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	for k, v := range more {
		if q.Del(k); v != nil {
			q.Set(k, v.(string))
		}
	}
	return q
}

// Visit asks for the page, or posts its form; it follows no redirection.
func (o *OAuth) Visit(q url.Values, form url.Values, header ...string) (status int, page string, to url.Values) {
	o.S.T.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form.Get("action") == "allow" && !form.Has("shown") { // a browser sends what the page has
		if _, page, _ := o.Visit(q, nil, header...); strings.Contains(page, `name="shown" value="`) {
			_, shown, _ := strings.Cut(page, `name="shown" value="`)
			form = maps.Clone(form)
			form.Set("shown", shown[:64])
		}
	}
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequest(method, o.S.URL+"/csc/oauth2/authorize?"+q.Encode(), body)
	if err != nil {
		o.S.T.Fatal(err)
	}
	if form != nil {
		req.Header.Set("Content-Type", formEncoded)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		o.S.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	if at := resp.Header.Get("Location"); at != "" {
		if !strings.HasPrefix(at, o.Redirect) {
			o.S.T.Errorf("redirected to %s", at)
		}
		u, err := url.Parse(at)
		if err != nil {
			o.S.T.Fatal(err)
		}
		if to = u.Query(); to.Get("iss") != o.S.URL+"/csc" {
			o.S.T.Errorf("iss %q", to.Get("iss"))
		}
	}
	return resp.StatusCode, html.UnescapeString(string(b)), to
}

func (s *Site) Word(kind string, more M) url.Values {
	c := s.Box.Certificates[kind]
	form := url.Values{"action": {"allow"}, "username": {c.Username}, "password": {c.Password}}
	for k, v := range more {
		form.Set(k, v.(string))
	}
	return form
}

// Consent is the code of a request that a holder consents to.
func (o *OAuth) Consent(q, form url.Values) string {
	o.S.T.Helper()
	status, page, to := o.Visit(q, form)
	if status != 303 || to.Get("code") == "" || to.Get("state") != "a state" {
		o.S.T.Fatalf("%d %v %s", status, to, page)
	}
	return to.Get("code")
}

// Form posts to an endpoint for clients.
func (o *OAuth) Form(endpoint string, form url.Values) (int, M) {
	o.S.T.Helper()
	if !form.Has("client_id") {
		form.Set("client_id", o.ID)
		form.Set("client_secret", o.Secret)
	}
	resp, err := http.Post(o.S.URL+"/csc/oauth2/"+endpoint, formEncoded, strings.NewReader(form.Encode()))
	if err != nil {
		o.S.T.Fatal(err)
	}
	defer resp.Body.Close()
	return readCSC(o.S.T, resp)
}

func (o *OAuth) Exchange(code string, more M) (int, M) {
	o.S.T.Helper()
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {o.Redirect}, "code_verifier": {cscVerifier}}
	for k, v := range more {
		form.Set(k, v.(string))
	}
	return o.Form("token", form)
}

// Tokens are those of a code.
func (o *OAuth) Tokens(code string) M {
	o.S.T.Helper()
	status, out := o.Exchange(code, nil)
	if status != 200 || out["token_type"] != "Bearer" {
		o.S.T.Fatalf("%d %v", status, out)
	}
	return out
}

// CredentialQuery asks for signatures.
func (o *OAuth) CredentialQuery(id string, hashes []string, more M) url.Values {
	q := o.Query(M{"scope": "credential", "credentialID": id, "numSignatures": "2", "hashes": strings.NewReplacer("+", "-", "/", "_").Replace(strings.Join(hashes, ",")), "hashAlgorithmOID": OIDSHA256})
	for k, v := range more {
		if q.Del(k); v != nil {
			q.Set(k, v.(string))
		}
	}
	return q
}

// Identifiers of algorithms.

const OIDSHA256 = "2.16.840.1.101.3.4.2.1"

const cscVerifier = "a-verifier-that-is-long-enough-for-the-rule-of-43"

const formEncoded = "application/x-www-form-urlencoded"

const wrongAnswers = "the error is not in the form of the specification"

// CSCCaller speaks one version of the API with one bearer.
type CSCCaller struct {
	T      testing.TB
	URL    string // of the server
	V      string // v1, v2
	Bearer string
}

func (s *Site) CSC(v string) *CSCCaller { return &CSCCaller{s.T, s.URL, v, s.Box.Token} }

func (c *CSCCaller) As(bearer string) *CSCCaller { return &CSCCaller{c.T, c.URL, c.V, bearer} }

// Post calls a method. Whatever fails has the form of an error.
func (c *CSCCaller) Post(method string, body M) (int, M) {
	c.T.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		c.T.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, c.URL+"/csc/"+c.V+"/"+method, bytes.NewReader(text))
	if err != nil {
		c.T.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.Bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.Bearer)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, M{"error": err.Error()}
	}
	defer resp.Body.Close()
	return readCSC(c.T, resp)
}

func readCSC(t testing.TB, resp *http.Response) (int, M) {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := M{}
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

// Must is post of what succeeds.
func (c *CSCCaller) Must(method string, body M) M {
	c.T.Helper()
	status, out := c.Post(method, body)
	if status != 200 {
		c.T.Fatalf("%s: %d %v", method, status, out)
	}
	return out
}

func DigestsOf(texts ...string) (all []string) {
	for _, text := range texts {
		sum := sha256.Sum256([]byte(text))
		all = append(all, B64(sum[:]))
	}
	return all
}

// Authorize gives a SAD for hashes, in the names of the version.
func (c *CSCCaller) Authorize(id, pin, otp string, hashes []string, more ...M) M {
	body := M{"credentialID": id, "numSignatures": len(hashes)}
	if c.V == "v1" {
		body["hash"], body["PIN"] = hashes, pin
		if otp != "" {
			body["OTP"] = otp
		}
	} else {
		objects := []M{{"id": "PIN", "value": pin}}
		if otp != "" {
			objects = append(objects, M{"id": "OTP", "value": otp})
		}
		body["hashes"], body["hashAlgorithmOID"], body["authData"] = hashes, OIDSHA256, objects
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

func (c *CSCCaller) SAD(id, pin, otp string, hashes []string, more ...M) string {
	c.T.Helper()
	out := c.Must("credentials/authorize", c.Authorize(id, pin, otp, hashes, more...))
	if out["expiresIn"] != 300.0 {
		c.T.Errorf("expiresIn %v", out["expiresIn"])
	}
	return out["SAD"].(string)
}

func (c *CSCCaller) SignBody(id, sad, algo string, hashes []string) M {
	if c.V == "v1" {
		return M{"credentialID": id, "SAD": sad, "hash": hashes, "signAlgo": algo}
	}
	return M{"credentialID": id, "SAD": sad, "hashes": hashes, "hashAlgorithmOID": OIDSHA256, "signAlgo": algo}
}

// AlgoOf is the algorithm of a credential's key with SHA-256.
func (c *CSCCaller) AlgoOf(id string) string {
	c.T.Helper()
	return c.Must("credentials/info", M{"credentialID": id})["key"].(M)["algo"].([]any)[0].(string)
}

func (s *Site) Records() (list []M) {
	s.T.Helper()
	a := s.Do("GET", "/signatures?limit=100", nil)
	if err := json.Unmarshal(a.Data, &list); err != nil {
		s.T.Fatal(err)
	}
	return list
}
