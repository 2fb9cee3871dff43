package cie

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie/jwt"
)

// How long a person may take at the provider, and how long the request itself
// and the proof of who we are can be used.
const (
	requestLife   = 15 * time.Minute
	objectLife    = 5 * time.Minute
	assertionLife = time.Minute
)

// pending is what Start keeps of a request, for Finish.
type pending struct {
	Provider string    `json:"provider"`
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	Level    string    `json:"level"`
	At       time.Time `json:"at"`
	Until    time.Time `json:"until"`
}

// fiscalNumbers are the names of the claim with the tax code: that of the
// rules, and that of the earlier ones.
var fiscalNumbers = []string{"https://attributes.eid.gov.it/fiscal_number", "fiscal_number"}

// Start sends a person to a provider, once its trust chain has been built again.
func (c *CIE) Start(ctx context.Context, id string) (*identify.Departure, error) {
	ids, err := c.providerIDs(ctx, listLife)
	if err == nil && id != "" && !slices.Contains(ids, id) {
		ids, err = c.providerIDs(ctx, 5*time.Second) // it may be a new one
	}
	if err != nil {
		return nil, c.unable(err)
	}
	if id == "" && len(ids) == 1 {
		id = ids[0]
	}
	if !slices.Contains(ids, id) {
		return nil, refuse("provider")
	}
	p, err := c.resolve(ctx, id)
	if err != nil {
		return nil, c.unable(err)
	}
	now := c.deps.Now()
	req := pending{
		Provider: id, State: random(), Nonce: random(), Verifier: random() + random(), Level: c.level,
		At: now, Until: now.Add(requestLife),
	}
	challenge := sha256.Sum256([]byte(req.Verifier))
	claims := map[string]any{}
	essential := map[string]any{"essential": true}
	for _, name := range []string{"given_name", "family_name", "birthdate", fiscalNumbers[0]} {
		claims[name] = essential
	}
	for _, name := range []string{fiscalNumbers[1], "email", "email_verified", "phone_number", "phone_number_verified"} {
		claims[name] = map[string]any{}
	}
	public := map[string]string{
		"client_id": c.config.ClientID, "response_type": "code", "scope": "openid",
		"code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
	}
	object := map[string]any{
		"iss": c.config.ClientID, "aud": []string{p.id}, "iat": now.Unix(), "exp": now.Add(objectLife).Unix(), "jti": random(),
		"redirect_uri": c.callback(), "state": req.State, "nonce": req.Nonce, "acr_values": req.Level, "prompt": "consent login",
		"claims": map[string]any{"userinfo": claims, "id_token": map[string]any{"given_name": essential, "family_name": essential}},
	}
	q := url.Values{}
	for name, v := range public {
		object[name] = v
		q.Set(name, v)
	}
	signed, err := c.signing[0].Sign("", object) // the rules know no typ here
	if err != nil {
		return nil, err
	}
	q.Set("request", signed)
	to, err := url.Parse(p.authorization)
	if err != nil {
		return nil, err
	}
	for name, values := range to.Query() {
		if !q.Has(name) {
			q[name] = values
		}
	}
	to.RawQuery = q.Encode()
	state, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	return &identify.Departure{Request: req.State, URL: to.String(), State: state, Until: req.Until}, nil
}

// randomLength is the number of characters of 32 bytes in base64url.
const randomLength = 43

// random is a word of that length which nobody can guess.
func random() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// Request names the request that an answer belongs to: its state.
func (c *CIE) Request(answer url.Values) (string, error) {
	state := answer["state"]
	if len(state) != 1 || len(state[0]) != randomLength {
		return "", refuse("state")
	}
	return state[0], nil
}

// Finish judges what came to the callback, exchanges the code and judges what
// the provider says about the person.
func (c *CIE) Finish(ctx context.Context, state []byte, answer url.Values) (*identify.Answer, error) {
	var req pending
	if err := json.Unmarshal(state, &req); err != nil || req.State == "" {
		return nil, errors.New("cie: the state of the request cannot be read")
	}
	code, err := req.code(answer, c.deps.Now())
	if err != nil {
		return nil, err
	}
	p, err := c.known(ctx, req.Provider)
	if err != nil {
		return nil, c.unable(err)
	}
	tokens, err := c.exchange(ctx, p, req, code)
	if err != nil {
		return nil, err
	}
	id, p, err := c.idToken(ctx, p, req, tokens)
	if err != nil {
		return nil, err
	}
	info, p, err := c.userInfo(ctx, p, id, tokens.AccessToken)
	if err != nil {
		return nil, err
	}
	proven, err := attributes(id.all, info.all)
	if err != nil {
		return nil, err
	}
	until := id.Exp.time().Add(skew)
	if day := c.deps.Now().Add(24 * time.Hour); until.After(day) { // the request is long over by then
		until = day
	}
	chain, err := json.Marshal(p.evidence)
	if err != nil {
		return nil, err
	}
	return &identify.Answer{
		Proof: &identify.Proof{Method: c.Name(), Issuer: p.id, Level: id.Acr, Request: req.State, At: c.deps.Now().UTC(), Proven: *proven},
		ID:    id.unique(p.id),
		Until: until,
		Files: []identify.File{{Name: "trust-chain.json", Content: chain}, {Name: "id-token.jwt", Content: []byte(id.raw)}, {Name: "userinfo.jwt", Content: []byte(info.raw)}},
	}, nil
}

// code is taken from an answer to this request by the provider that was
// asked (RFC 9207: iss tells which provider answers).
func (req pending) code(answer url.Values, now time.Time) (string, error) {
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(answer[name]) > 1 || len(answer.Get(name)) > 8<<10 {
			return "", refuse("answer")
		}
	}
	iss, failure := answer.Get("iss"), answer.Get("error")
	switch {
	case answer.Get("state") != req.State:
		return "", refuse("state")
	case !now.Before(req.Until):
		return "", refuse("late")
	case iss != req.Provider && (iss != "" || failure == ""): // an error may come without
		return "", refuse("issuer")
	case failure != "":
		return "", said(failure)
	case answer.Get("code") == "":
		return "", refuse("answer")
	}
	return answer.Get("code"), nil
}

// tokens is the answer of the token endpoint.
type tokens struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	IDToken     string `json:"id_token"`
	Error       string `json:"error"`
}

// exchange sends the code and proves who we are by a signature
// (private_key_jwt, OpenID Connect Core 1.0, section 9).
func (c *CIE) exchange(ctx context.Context, p *provider, req pending, code string) (*tokens, error) {
	now := c.deps.Now()
	assertion, err := c.signing[0].Sign("JWT", map[string]any{
		"iss": c.config.ClientID, "sub": c.config.ClientID, "aud": p.token,
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(), "jti": random(),
	})
	if err != nil {
		return nil, err
	}
	b, status, err := c.post(ctx, p.token, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {req.Verifier}, "redirect_uri": {c.callback()},
		"client_id": {c.config.ClientID}, "client_assertion": {assertion},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
	}, maxAnswer)
	if err != nil {
		return nil, c.unable(err)
	}
	var t tokens
	err = json.Unmarshal(b, &t)
	switch {
	case status == http.StatusUnauthorized, t.Error == "invalid_client", t.Error == "unauthorized_client":
		return nil, refuse("client")
	case status != http.StatusOK:
		return nil, refuse("code")
	case err != nil || !bearer(t.TokenType) || t.IDToken == "" || !printable(t.AccessToken, 16<<10):
		return nil, refuse("tokens")
	}
	return &t, nil
}

// idToken judges the ID token. It returns the provider too, as renewed has it.
func (c *CIE) idToken(ctx context.Context, p *provider, req pending, t *tokens) (id *idToken, _ *provider, err error) {
	raw, err := c.decrypted(t.IDToken)
	if err != nil {
		return nil, nil, c.disbelieve("id-token", err)
	}
	check := idTokenCheck{clientID: c.config.ClientID, request: req, accessToken: t.AccessToken, now: c.deps.Now()}
	p, err = c.renewed(ctx, p, "id-token", func(p *provider) (err error) {
		id, err = check.judge(raw, p)
		return err
	})
	return id, p, err
}

func (c *CIE) userInfo(ctx context.Context, p *provider, id *idToken, accessToken string) (info *userInfo, _ *provider, err error) {
	b, err := c.get(ctx, p.userinfo, maxAnswer, "Authorization", "Bearer "+accessToken, "Accept", "application/jwt")
	if err != nil {
		var no *unreachable
		if errors.As(err, &no) {
			return nil, nil, c.unable(err)
		}
		return nil, nil, c.disbelieve("userinfo", err)
	}
	raw, err := c.decrypted(string(b))
	if err != nil {
		return nil, nil, c.disbelieve("userinfo", err)
	}
	p, err = c.renewed(ctx, p, "userinfo", func(p *provider) (err error) {
		info, err = judgeUserInfo(raw, p, id.Sub, c.config.ClientID, c.deps.Now())
		return err
	})
	return info, p, err
}

// renewed judges a token of a provider. A key that is not known may be a new
// one: the provider's configuration is read again, once.
func (c *CIE) renewed(ctx context.Context, p *provider, what string, judge func(*provider) error) (*provider, error) {
	err := judge(p)
	if errors.Is(err, jwt.ErrUnknownKey) {
		if p, err = c.resolve(ctx, p.id); err != nil {
			return nil, c.unable(err)
		}
		err = judge(p)
	}
	if err != nil {
		return nil, c.disbelieve(what, err)
	}
	return p, nil
}

// decrypted is the signed token within an encrypted one; others as they are.
func (c *CIE) decrypted(token string) (string, error) {
	if !jwt.Encrypted(token) {
		return token, nil
	}
	return jwt.Decrypt(token, c.encryption)
}

// unable tells a person that a provider cannot be asked: because somebody does
// not answer, which may pass, or because there is no trust in it.
func (c *CIE) unable(err error) error {
	c.deps.Log.Warn("CIE provider", "err", err)
	var no *unreachable
	if errors.As(err, &no) {
		return fault.New(fault.Unavailable, "the identity provider or its federation does not answer").Because(err)
	}
	var b *broken
	if errors.As(err, &b) {
		return refuse(b.reason)
	}
	return refuse("chain")
}

// disbelieve refuses a token, for a reason that a check names.
func (c *CIE) disbelieve(reason string, err error) error {
	c.deps.Log.Warn("CIE answer refused", "what", reason, "err", err)
	var r *identify.Refusal
	if errors.As(err, &r) {
		return r
	}
	return refuse(reason)
}
