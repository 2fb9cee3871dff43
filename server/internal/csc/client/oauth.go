package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/remote"
)

// Tokens are what lets us call a provider: the operator's, or a holder's own.
type Tokens struct {
	Access  string    `json:"access"`
	Refresh string    `json:"refresh,omitempty"`
	Until   time.Time `json:"until,omitzero"` // zero: not known
}

// early is how long before its end a token is renewed: clocks differ, and it
// has to last until the provider has read the call.
const early = 20 * time.Second

func (t Tokens) good(now time.Time) bool {
	return t.Access != "" && (t.Until.IsZero() || now.Before(t.Until.Add(-early)))
}

// Login is a holder's way to the provider and back (RFC 6749, RFC 7636).
type Login struct {
	Address  string // where the holder is sent
	State    string
	Verifier string
}

// NewLogin begins a login for the service scope.
func (p *Provider) NewLogin(ctx context.Context) (*Login, error) {
	about, err := p.Info(ctx)
	if err != nil {
		return nil, err
	}
	l := &Login{State: rand.Text() + rand.Text(), Verifier: rand.Text() + rand.Text()}
	sum := sha256.Sum256([]byte(l.Verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {p.config.ClientID}, "redirect_uri": {p.config.Redirect}, "scope": {"service"}, "state": {l.State},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	base, err := p.oauth(about)
	if err != nil {
		return nil, err
	}
	l.Address = base + "/authorize?" + q.Encode()
	return l, nil
}

// authTypes are the protocol's names of how tokens are had.
var authTypes = map[string]string{FlowCode: "oauth2code", FlowClient: "oauth2client"}

// oauth is the base of the provider's OAuth endpoints. It may be elsewhere, but
// what goes to a provider by https goes nowhere without.
func (p *Provider) oauth(about *Info) (string, error) {
	base := about.OAuth2
	for _, s := range about.Servers {
		if base == "" && (len(s.AuthType) == 0 || slices.Contains(s.AuthType, authTypes[p.config.Flow])) {
			base = s.Base
		}
	}
	base = strings.TrimSuffix(cmp.Or(base, p.config.URL), "/")
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && (u.Scheme != "http" || strings.HasPrefix(p.config.URL, "https:")) {
		return "", refused(err, "the provider's address for logging in cannot be used")
	}
	return base + "/oauth2", nil
}

// Finish exchanges the code that the holder came back with.
func (p *Provider) Finish(ctx context.Context, code, verifier string) (Tokens, error) {
	return p.obtain(ctx, url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {p.config.Redirect}, "code_verifier": {verifier}})
}

// Renew gets new tokens for a holder's old ones.
func (p *Provider) Renew(ctx context.Context, old Tokens) (Tokens, error) {
	if old.Refresh == "" {
		return old, refused(nil, "the login at the provider has ended: the holder has to log in there again")
	}
	t, err := p.obtain(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
	if err == nil && t.Refresh == "" {
		t.Refresh = old.Refresh
	}
	return t, err
}

// obtain asks the token endpoint.
func (p *Provider) obtain(ctx context.Context, form url.Values) (Tokens, error) {
	about, err := p.Info(ctx)
	if err != nil {
		return Tokens{}, err
	}
	form.Set("client_id", p.config.ClientID)
	if p.config.Secret != nil {
		secret, err := p.config.Secret()
		if err != nil {
			return Tokens{}, err
		}
		form.Set("client_secret", secret)
	}
	base, err := p.oauth(about)
	if err != nil {
		return Tokens{}, err
	}
	asked := p.config.Now()
	var a *answer
	hidden := []string{form.Get("client_secret"), form.Get("code"), form.Get("code_verifier"), form.Get("refresh_token")}
	for waits := 0; ; waits++ {
		if a, err = p.post(ctx, base+"/token", "application/x-www-form-urlencoded", "", []byte(form.Encode()), hidden); err != nil {
			return Tokens{}, remote.NoAnswer(err, "oauth2/token")
		}
		again, err := a.wait(ctx, waits)
		if err != nil {
			return Tokens{}, err
		}
		if !again {
			break
		}
	}
	if a.status/100 != 2 {
		return Tokens{}, a.refusal("oauth2/token")
	}
	var got struct {
		Access  string      `json:"access_token"`
		Refresh string      `json:"refresh_token"`
		Type    string      `json:"token_type"`
		Expires json.Number `json:"expires_in"`
	}
	if err := json.Unmarshal(a.body, &got); err != nil || got.Access == "" || !printable(got.Access) {
		return Tokens{}, refused(err, "the provider's answer cannot be read (oauth2/token)")
	}
	t := Tokens{Access: got.Access, Refresh: got.Refresh}
	if n, err := got.Expires.Int64(); err == nil && n > 0 {
		t.Until = asked.Add(time.Duration(min(n, 1<<30)) * time.Second)
	}
	return t, nil
}

// printable says that a token can be sent in a header.
func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) < 0
}

// Session calls a provider with tokens that it renews: the operator's, or those
// of a holder. It is for one piece of work; it is not safe for several at once.
type Session struct {
	p      *Provider
	tokens Tokens
	own    bool                                          // the tokens are a holder's
	renew  func(context.Context, Tokens) (Tokens, error) // of a holder's
}

// Tokens that the session has now.
func (s *Session) Tokens() Tokens { return s.tokens }

// Session with the operator's tokens.
func (p *Provider) Session() *Session { return &Session{p: p} }

// Login makes sure that there is a token.
func (s *Session) Login(ctx context.Context) error {
	_, err := s.access(ctx, false)
	return err
}

// SessionOf a holder: renew is called when the tokens are no longer good, and
// keeps what it returns.
func (p *Provider) SessionOf(t Tokens, renew func(context.Context, Tokens) (Tokens, error)) *Session {
	return &Session{p: p, tokens: t, own: true, renew: renew}
}

// access is a token to call with; fresh asks for another than the last.
func (s *Session) access(ctx context.Context, fresh bool) (string, error) {
	now := s.p.config.Now()
	if !fresh && s.tokens.good(now) {
		return s.tokens.Access, nil
	}
	var t Tokens
	var err error
	switch {
	case s.own:
		if s.renew == nil {
			return s.tokens.Access, nil
		}
		t, err = s.renew(ctx, s.tokens)
	case s.p.config.Flow == FlowToken:
		if t.Access, err = s.p.config.Token(); err == nil && fresh && t.Access == s.tokens.Access {
			return "", refused(nil, "the provider does not take the operator's token any more")
		}
	default:
		t, err = s.p.clientTokens(ctx, s.tokens.Access)
	}
	if err != nil {
		var said *Error
		if !errors.As(err, &said) {
			err = refused(err, "there is no token for the provider")
		}
		return "", err
	}
	s.tokens = t
	return t.Access, nil
}

// clientTokens are those of the operator's client, shared by all who sign. The
// one named is not good any more.
func (p *Provider) clientTokens(ctx context.Context, but string) (Tokens, error) {
	p.mu.Lock()
	t := p.token
	p.mu.Unlock()
	if t.good(p.config.Now()) && t.Access != but {
		return t, nil
	}
	t, err := p.obtain(ctx, url.Values{"grant_type": {"client_credentials"}, "scope": {"service"}})
	if err != nil {
		return t, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token = t
	return t, nil
}

// call is ask with a token, which is renewed once where the provider does not
// take it.
func (s *Session) call(ctx context.Context, method string, in, out any) error {
	token, err := s.access(ctx, false)
	if err != nil {
		return err
	}
	err = s.p.ask(ctx, method, token, in, out)
	if !errors.Is(err, StatusError(http.StatusUnauthorized)) {
		return err
	}
	first := err
	if token, err = s.access(ctx, true); err != nil {
		return first
	}
	return s.p.ask(ctx, method, token, in, out)
}
