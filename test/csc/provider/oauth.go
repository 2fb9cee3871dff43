package provider

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// grant is an authorization code that waits to be exchanged.
type grant struct {
	user, redirect, challenge, scope string
	until                            time.Time
}

// bearerOf is the token of a call, if it is good for the API.
func (p *Provider) bearerOf(c *Call, r *http.Request) *bearer {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer ") {
		p.complain(c, "no Bearer token")
		return nil
	}
	if c.token == p.FixedToken {
		return &bearer{scope: "service", until: time.Now().Add(time.Hour)}
	}
	b := p.bearers[c.token]
	if b == nil || b.ended || time.Now().After(b.until) {
		return nil
	}
	return b
}

func (p *Provider) end(token string) {
	for _, b := range []*bearer{p.bearers[token], p.refreshes[token]} {
		if b != nil {
			b.ended = true
		}
	}
}

// Secrets are the tokens and the activation data that were given out.
func (p *Provider) Secrets() (out []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for s := range p.bearers {
		out = append(out, s)
	}
	for s := range p.refreshes {
		out = append(out, s)
	}
	for s := range p.sads {
		out = append(out, s)
	}
	return out
}

// Expire ends all access tokens; refresh tokens stay good.
func (p *Provider) Expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.bearers {
		b.ended = true
	}
}

// oauth answers under {oauth2}/oauth2/ (8.4 of v1, RFC 6749, 7636, 9126).
func (p *Provider) oauth(c *Call, r *http.Request, raw []byte) *answer {
	if !strings.HasPrefix(c.Endpoint, "oauth2/") {
		return refuse(http.StatusNotFound, "not_found", "There is nothing here")
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return invalid("The form cannot be read")
	}
	if r.Method == http.MethodPost && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		p.complain(c, "content type %q", r.Header.Get("Content-Type"))
	}
	for name, v := range form {
		if name != "client_secret" && name != "password" {
			c.Body[name] = strings.Join(v, " ")
		}
	}
	switch c.Endpoint {
	case "oauth2/authorize":
		return p.authorizePage(c, r, form)
	case "oauth2/pushed_authorize":
		if !p.client(c, r, form) {
			return refuse(http.StatusUnauthorized, "invalid_client", "The client is not known")
		}
		if no := p.asked(c, form); no != nil {
			return no
		}
		id := "urn:ietf:params:oauth:request_uri:" + random(16)
		p.pushed[id] = form
		return &answer{status: http.StatusCreated, body: map[string]any{"request_uri": id, "expires_in": 60}}
	case "oauth2/token":
		return p.token(c, r, form)
	case "oauth2/revoke":
		if !p.client(c, r, form) {
			return refuse(http.StatusUnauthorized, "invalid_client", "The client is not known")
		}
		p.end(form.Get("token"))
		return &answer{status: http.StatusOK}
	}
	return refuse(http.StatusNotFound, "not_found", "There is nothing here")
}

// client authenticates a client, by HTTP Basic or by the form.
func (p *Provider) client(c *Call, r *http.Request, form url.Values) bool {
	id, secret, basic := r.BasicAuth()
	if basic {
		id, _ = url.QueryUnescape(id)
		secret, _ = url.QueryUnescape(secret)
		if form.Get("client_secret") != "" {
			p.complain(c, "the client authenticates in two ways")
		}
	} else {
		id, secret = form.Get("client_id"), form.Get("client_secret")
	}
	return id == p.Client.ID && secret == p.Client.Secret
}

// asked judges the parameters of an authorization request.
func (p *Provider) asked(c *Call, q url.Values) *answer {
	switch {
	case q.Get("client_id") != p.Client.ID:
		return refuse(http.StatusBadRequest, "invalid_client", "The client is not known")
	case !slices.Contains(p.Client.Redirects, q.Get("redirect_uri")):
		p.complain(c, "redirect_uri %q is not registered", q.Get("redirect_uri"))
		return invalid("redirect_uri is not registered")
	case q.Get("response_type") != "code":
		p.complain(c, "response_type %q", q.Get("response_type"))
		return invalid("response_type must be code")
	case q.Get("scope") != "service" && q.Get("scope") != "credential" && q.Get("scope") != "":
		p.complain(c, "scope %q", q.Get("scope"))
		return refuse(http.StatusBadRequest, "invalid_scope", "scope must be service or credential")
	case len(q.Get("state")) < 8:
		p.complain(c, "state %q", q.Get("state"))
	case q.Get("code_challenge") == "" || q.Get("code_challenge_method") != "S256":
		p.complain(c, "no PKCE with S256")
	}
	return nil
}

// authorizePage is the page where a user logs in: GET shows a form with the
// fields user and password, POST sends the browser back with a code. The
// password of every user is "password"; the user "deny" gives up.
func (p *Provider) authorizePage(c *Call, r *http.Request, form url.Values) *answer {
	q := r.URL.Query()
	if id := q.Get("request_uri"); id != "" {
		pushed := url.Values(p.pushed[id])
		if pushed == nil || pushed.Get("client_id") != q.Get("client_id") {
			return invalid("request_uri is not known")
		}
		q = pushed
	}
	for name := range q {
		c.Body[name] = q.Get(name)
	}
	if no := p.asked(c, q); no != nil {
		return no
	}
	if r.Method != http.MethodPost {
		page := fmt.Sprintf(`<!doctype html><title>Log in</title><form method="post" action="%s"><input name="user"><input name="password" type="password"><button>Log in</button></form>`, html.EscapeString(r.URL.String()))
		return &answer{status: http.StatusOK, header: map[string]string{"Content-Type": "text/html; charset=utf-8"}, raw: []byte(page)}
	}
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		return invalid("redirect_uri cannot be read")
	}
	to := back.Query()
	to.Set("state", q.Get("state"))
	switch user := form.Get("user"); {
	case user == "deny":
		to.Set("error", "access_denied")
		to.Set("error_description", "The user gave up")
	case form.Get("password") != "password":
		return refuse(http.StatusForbidden, "access_denied", "Wrong user or password")
	default:
		code := random(16)
		p.codes[code] = &grant{user: user, redirect: q.Get("redirect_uri"), challenge: q.Get("code_challenge"), scope: q.Get("scope"), until: time.Now().Add(time.Minute)}
		to.Set("code", code)
	}
	back.RawQuery = to.Encode()
	return &answer{status: http.StatusFound, header: map[string]string{"Location": back.String(), "Content-Type": "text/html"}, raw: []byte{}}
}

// token is oauth2/token.
func (p *Provider) token(c *Call, r *http.Request, form url.Values) *answer {
	if r.Method != http.MethodPost {
		p.complain(c, "method %s", r.Method)
		return refuse(http.StatusMethodNotAllowed, "invalid_request", "Only POST is accepted")
	}
	if !p.client(c, r, form) {
		return refuse(http.StatusUnauthorized, "invalid_client", "The client is not known")
	}
	var user string
	switch form.Get("grant_type") {
	case "client_credentials":
		return p.issue("", false)
	case "refresh_token":
		b := p.refreshes[form.Get("refresh_token")]
		if b == nil || b.ended {
			return refuse(http.StatusBadRequest, "invalid_grant", "The refresh token is wrong or has ended")
		}
		b.ended = true // each is used once
		user = b.user
	case "authorization_code":
		g := p.codes[form.Get("code")]
		delete(p.codes, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		switch {
		case g == nil || time.Now().After(g.until):
			return refuse(http.StatusBadRequest, "invalid_grant", "The code is wrong, used or has expired")
		case g.redirect != form.Get("redirect_uri"):
			p.complain(c, "redirect_uri differs from that of the request")
			return refuse(http.StatusBadRequest, "invalid_grant", "redirect_uri differs")
		case g.challenge != "" && g.challenge != base64.RawURLEncoding.EncodeToString(sum[:]):
			p.complain(c, "code_verifier does not fit")
			return refuse(http.StatusBadRequest, "invalid_grant", "code_verifier does not fit")
		}
		user = g.user
	default:
		p.complain(c, "grant_type %q", form.Get("grant_type"))
		return refuse(http.StatusBadRequest, "unsupported_grant_type", "grant_type is not supported")
	}
	return p.issue(user, true)
}

// issue makes an access token, and a refresh token where a user stands behind it.
func (p *Provider) issue(user string, refresh bool) *answer {
	token := "at-" + random(16)
	p.bearers[token] = &bearer{user: user, scope: "service", until: time.Now().Add(p.TokenLife)}
	a := map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(p.TokenLife.Seconds())}
	if refresh {
		r := "rt-" + random(16)
		p.refreshes[r] = &bearer{user: user}
		a["refresh_token"] = r
	}
	return ok(a)
}
