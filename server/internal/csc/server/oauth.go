package server

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
)

const pushedPrefix = "urn:ietf:params:oauth:request_uri:"

// maxPushed is how many requests of a client without a secret are kept at a time:
// anyone who knows its name can push some.
const maxPushed = 1000

func mayPush(ctx context.Context, tx *store.Tx, c *Client) error {
	if !c.Public {
		return nil
	}
	var open int
	if err := tx.QueryRow(ctx, `select count(*) from csc_requests where client_id = $1`, c.ID).Scan(&open); err != nil || open < maxPushed {
		return err
	}
	f := Refuse(Unavailable, "Too many requests of the client wait for their holders: try again in a minute")
	f.Status = http.StatusServiceUnavailable
	return f
}

// Push keeps an authorisation request of a client (RFC 9126).
func (s *Service) Push(ctx context.Context, c *Client, v url.Values) (uri string, life time.Duration, err error) {
	if v.Has("request_uri") {
		return "", 0, Invalid("Invalid parameter request_uri")
	}
	v.Set("client_id", c.ID)
	r, err := s.parse(ctx, v)
	if err != nil {
		return "", 0, err
	}
	uri = newSecret(pushedPrefix)
	expires := store.Millis(s.config.Now().Add(pushedLife))
	sealed, err := s.seal(uri, requestOwner(c.ID, expires), r)
	if err != nil {
		return "", 0, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := s.sweep(ctx, tx, "csc_requests", 0); err != nil {
			return err
		}
		if err := mayPush(ctx, tx, c); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into csc_requests (hash, client_id, sealed, expires_at) values ($1, $2, $3, $4)`,
			s.hash(uri), c.ID, sealed, expires)
		return err
	})
	if err != nil {
		return "", 0, fmt.Errorf("csc: store request: %w", err)
	}
	return uri, pushedLife, nil
}

// Asked reads the request that a browser brings: its parameters, or the name of
// one that was pushed. A refusal that comes with a request goes to its redirect
// URI; any other is for the person.
func (s *Service) Asked(ctx context.Context, v url.Values) (*Request, error) {
	uri := v.Get("request_uri")
	if uri == "" {
		return s.parse(ctx, v)
	}
	p, err := single(v)
	if err != nil {
		return nil, err
	}
	r := &Request{pushed: uri}
	var client string
	now := s.config.Now()
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		var sealed []byte
		var expires int64
		err := tx.QueryRow(ctx, `select client_id, sealed, expires_at from csc_requests where hash = $1 and used_at = 0 and expires_at > $2`, s.hash(uri), store.Millis(now)).Scan(&client, &sealed, &expires)
		if errors.Is(err, store.ErrNoRows) || err == nil && client != p["client_id"] {
			return Invalid("Invalid parameter request_uri")
		}
		if err != nil {
			return fmt.Errorf("csc: read request: %w", err)
		}
		// Sealed for this client, so that write access to the database changes nothing of it
		// between the page and the holder's consent.
		if err := s.unseal(uri, requestOwner(client, expires), sealed, r); err != nil {
			return Invalid("Invalid parameter request_uri").Because(err)
		}
		expires = store.Millis(now.Add(pageLife))
		if sealed, err = s.seal(uri, requestOwner(client, expires), r); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update csc_requests set expires_at = $2, sealed = $3 where hash = $1 and used_at = 0`, s.hash(uri), expires, sealed)
		return err
	})
	if err != nil {
		return nil, err
	}
	// A redirect URI that the operator took away since is none.
	if _, err := s.returns(ctx, r.Client, r.Redirect); err != nil || r.Client != client {
		return nil, errors.Join(err, Invalid("Invalid parameter request_uri"))
	}
	return r, nil
}

// requestOwner is what a pushed request is sealed for.
func requestOwner(client string, expires int64) string {
	return fmt.Sprintf("request %q %d", client, expires)
}

// Shown is the digest of all that a page shows of a request: the form carries it,
// so that a word is given for what was read.
func (r *Request) Shown() string {
	b, err := json.Marshal(r)
	if err != nil {
		return "" // texts and numbers: it cannot be
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// use makes a pushed request good once.
func (s *Service) use(ctx context.Context, tx *store.Tx, r *Request) error {
	if r.pushed == "" {
		return nil
	}
	n, err := tx.Exec(ctx, `update csc_requests set used_at = $2 where hash = $1 and used_at = 0`, s.hash(r.pushed), store.Millis(s.config.Now()))
	if err == nil && n == 0 {
		return Invalid("Invalid parameter request_uri")
	}
	if err != nil {
		return err
	}
	if err = s.useOnce(ctx, tx, "csc-request-used", "", s.hash(r.pushed)); errors.Is(err, audit.ErrTwice) {
		return Invalid("Invalid parameter request_uri")
	}
	return err
}

// useOnce logs the use of a secret that is good only once. A restored row does not make it good
// again.
func (s *Service) useOnce(ctx context.Context, tx *store.Tx, kind, account string, hash []byte) error {
	return s.audit.Once(ctx, tx, audit.Event{Account: account, Record: hex.EncodeToString(hash[:16]), Kind: kind, Log: "used, and not good any more"})
}

// Decline ends a request that the holder did not consent to.
func (s *Service) Decline(ctx context.Context, r *Request) error {
	return s.db.Write(ctx, func(tx *store.Tx) error { return s.use(ctx, tx, r) })
}

// consent is what a code was given for.
type consent struct {
	Account     string         `json:"account"`
	Certificate string         `json:"certificate"`
	Request     *Request       `json:"request"`
	Grant       *signing.Grant `json:"grant"` // of the scope credential
}

// owner is what a code or a refresh token is sealed for: all that its row says.
func (g *grantOf) owner(kind string, expires int64) string {
	return fmt.Sprintf("%s %q %q %q %d", kind, g.account, g.client, g.certificate, expires)
}

// Consent judges the holder's word and gives the code for it. Faults carry the
// codes of records (110, 111, 112, 116).
func (s *Service) Consent(ctx context.Context, r *Request, username, password, otp string) (string, error) {
	cred, err := s.credential(ctx, r, username)
	if err != nil {
		return "", err
	}
	grant, err := s.signing.GrantUnseen(ctx, cred, username, password, otp)
	if err != nil {
		return "", err
	}
	if r.Scope == ScopeService {
		grant = nil // the token alone is not enough: signing needs the password
	}
	code := newSecret("csc_")
	expires := store.Millis(s.config.Now().Add(codeLife))
	sealed, err := s.seal(code, (&grantOf{"", cred.AccountID, r.Client, cred.ID}).owner("code", expires), consent{cred.AccountID, cred.ID, r, grant})
	if err != nil {
		return "", err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := s.use(ctx, tx, r); err != nil {
			return err
		}
		if err := s.sweep(ctx, tx, "csc_codes", keptFor); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into csc_codes (hash, account_id, client_id, certificate_id, sealed, expires_at) values ($1, $2, $3, $4, $5, $6)`,
			s.hash(code), cred.AccountID, r.Client, cred.ID, sealed, expires)
		if err != nil {
			return fmt.Errorf("csc: store code: %w", err)
		}
		return s.audit.Append(ctx, tx, audit.Event{
			Account: cred.AccountID, Record: cred.ID, Kind: "csc-consent", Log: "the holder consented to the use of the certificate by an application",
			Detail: map[string]any{"client": r.Client, "scope": r.Scope, "signatures": r.Signatures},
		})
	})
	return code, err
}

// credential finds the credential of a username. It is nil if there is none, which is judged as if
// there were, and if several accounts have the username, since nothing on the page tells them
// apart.
func (s *Service) credential(ctx context.Context, r *Request, username string) (*keys.Credential, error) {
	all, err := s.keys.ByUsername(ctx, username)
	if err != nil {
		return nil, err
	}
	var found *keys.Credential
	for _, c := range all {
		if r.Credential == c.ID || r.Credential == "" && len(all) == 1 {
			found = c
		}
	}
	return found, nil
}

// Tokens is what the token endpoint gives.
type Tokens struct {
	Access, Refresh string
	Life            time.Duration
	Credential      string // of the scope credential
	Details         string // authorization_details, as they came

	token string
}

// Exchange gives a token for a code. Presenting a code uses it up, and presenting it twice ends
// what was given for it (RFC 6749, 4.1.2).
func (s *Service) Exchange(ctx context.Context, c *Client, code, redirect, verifier string) (*Tokens, error) {
	var out *Tokens
	var verdict error
	var replayed grantOf
	hash, now := s.hash(code), s.config.Now()
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		out, verdict = nil, nil
		n, err := tx.Exec(ctx, `update csc_codes set used_at = $2 where hash = $1 and used_at = 0 and token_id = ''`, hash, store.Millis(now))
		if err != nil {
			return fmt.Errorf("csc: use code: %w", err)
		}
		var g grantOf
		var sealed []byte
		var expires int64
		err = tx.QueryRow(ctx, `select account_id, client_id, certificate_id, token_id, sealed, expires_at from csc_codes where hash = $1`, hash).
			Scan(&g.account, &g.client, &g.certificate, &g.token, &sealed, &expires)
		if errors.Is(err, store.ErrNoRows) {
			verdict = Refuse(InvalidGrant, "Invalid parameter code")
			return nil
		}
		if err != nil {
			return fmt.Errorf("csc: read code: %w", err)
		}
		if n == 1 {
			if err = s.useOnce(ctx, tx, "csc-code-used", g.account, hash); err != nil && !errors.Is(err, audit.ErrTwice) {
				return err
			}
		}
		if n == 0 || err != nil {
			verdict, replayed = Refuse(InvalidGrant, "Authorization code is invalid or expired"), g
			return nil
		}
		var given consent
		if err := s.unseal(code, g.owner("code", expires), sealed, &given); err != nil {
			return err
		}
		if verdict = given.Request.redeem(c, redirect, verifier, expires <= store.Millis(now)); verdict != nil {
			return nil
		}
		if out, err = s.issue(ctx, tx, &given); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update csc_codes set token_id = $2, sealed = null where hash = $1`, hash, out.token)
		return err
	})
	if err != nil {
		return nil, err
	}
	if replayed.token != "" {
		verdict = errors.Join(verdict, s.endAll(ctx, replayed))
	}
	return out, verdict
}

// redeem judges whether a code may be exchanged.
func (r *Request) redeem(c *Client, redirect, verifier string, late bool) error {
	sum := sha256.Sum256([]byte(verifier))
	switch {
	case r.Client != c.ID:
		return Refuse(InvalidGrant, "Invalid parameter code")
	case r.Redirect != redirect:
		return Refuse(InvalidGrant, "redirect_uri parameter does not match")
	case len(verifier) < 43 || len(verifier) > 128 || !equal(base64.RawURLEncoding.EncodeToString(sum[:]), r.Challenge):
		return Refuse(InvalidGrant, "Invalid parameter code_verifier")
	case late:
		return Refuse(InvalidGrant, "Authorization code is invalid or expired")
	}
	return nil
}

// issue makes the token of a request that was consented to.
func (s *Service) issue(ctx context.Context, tx *store.Tx, given *consent) (*Tokens, error) {
	r, b := given.Request, &Bearer{Account: given.Account, Client: given.Request.Client, Certificate: given.Certificate, Scope: given.Request.Scope}
	if r.Scope == ScopeService {
		return s.renewable(ctx, tx, b)
	}
	t, err := s.token(ctx, tx, b, SADLife)
	if err != nil {
		return nil, err
	}
	a := &Authorisation{Grant: given.Grant, Hashes: r.Hashes, Signatures: r.Signatures, Description: r.Description, Until: store.Millis(t.ExpireAt)}
	if err := s.insertSAD(ctx, tx, t.Secret, b, a); err != nil {
		return nil, err
	}
	return &Tokens{Access: t.Secret, Life: SADLife, Credential: b.Certificate, Details: r.Details, token: t.ID}, nil
}

// renewable makes a token of the scope service, and its refresh token.
func (s *Service) renewable(ctx context.Context, tx *store.Tx, b *Bearer) (*Tokens, error) {
	t, err := s.token(ctx, tx, b, serviceLife)
	if err != nil {
		return nil, err
	}
	out := &Tokens{Access: t.Secret, Refresh: newSecret("csr_"), Life: serviceLife, token: t.ID}
	expires := store.Millis(s.config.Now().Add(refreshLife))
	sealed, err := s.seal(out.Refresh, (&grantOf{t.ID, b.Account, b.Client, b.Certificate}).owner("refresh "+t.ID, expires), b)
	if err != nil {
		return nil, err
	}
	if err := s.sweep(ctx, tx, "csc_refresh", keptFor); err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, `insert into csc_refresh (hash, token_id, account_id, client_id, certificate_id, sealed, expires_at) values ($1, $2, $3, $4, $5, $6, $7)`,
		s.hash(out.Refresh), t.ID, b.Account, b.Client, b.Certificate, sealed, expires)
	return out, err
}

// token makes an account's token for a client and a certificate.
func (s *Service) token(ctx context.Context, tx *store.Tx, b *Bearer, life time.Duration) (*account.Token, error) {
	name := "csc " + b.Scope + " " + clip(strings.TrimSpace(b.Client)) + " " + b.Certificate
	t, err := s.accounts.CreateToken(ctx, tx, &account.Caller{AccountID: b.Account}, account.NewToken{Name: name, Scopes: []string{tokenScope}, Life: life})
	if err != nil {
		return nil, err
	}
	b.Token = t.ID
	b.hash = s.hash(t.Secret)
	_, err = tx.Exec(ctx, `insert into csc_tokens (token_id, hash, client_id, certificate_id, scope, mac) values ($1, $2, $3, $4, $5, $6)`,
		t.ID, b.hash, b.Client, b.Certificate, b.Scope, s.mark(b))
	return t, err
}

// Refresh gives a new token of the scope service, and a new refresh token, for a
// refresh token. One that is shown twice ends all that its client holds for the
// certificate: one of the two who have it has stolen it.
func (s *Service) Refresh(ctx context.Context, c *Client, refresh string) (*Tokens, error) {
	var out *Tokens
	var verdict error
	var old, replayed grantOf
	hash, now := s.hash(refresh), s.config.Now()
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		out, verdict, replayed = nil, nil, grantOf{}
		var g grantOf
		var b Bearer
		var sealed []byte
		var expires int64
		n, err := tx.Exec(ctx, `update csc_refresh set used_at = $3 where hash = $1 and client_id = $2 and used_at = 0`, hash, c.ID, store.Millis(now))
		if err != nil {
			return fmt.Errorf("csc: use refresh token: %w", err)
		}
		err = tx.QueryRow(ctx, `select token_id, account_id, client_id, certificate_id, sealed, expires_at from csc_refresh where hash = $1`, hash).
			Scan(&g.token, &g.account, &g.client, &g.certificate, &sealed, &expires)
		switch {
		case errors.Is(err, store.ErrNoRows) || err == nil && g.client != c.ID:
			verdict = Refuse(InvalidGrant, "Invalid parameter refresh_token")
			return nil
		case err != nil:
			return fmt.Errorf("csc: read refresh token: %w", err)
		case n == 1:
			if err = s.useOnce(ctx, tx, "csc-refresh-used", g.account, hash); err != nil && !errors.Is(err, audit.ErrTwice) {
				return err
			}
		}
		switch {
		case n == 0 || err != nil:
			verdict, replayed = Refuse(InvalidGrant, "Invalid parameter refresh_token"), g
			return nil
		case expires <= store.Millis(now):
			verdict = Refuse(InvalidGrant, "Refresh token expired")
			return nil
		}
		if err := s.unseal(refresh, g.owner("refresh "+g.token, expires), sealed, &b); err != nil {
			return err
		}
		old = g
		out, err = s.renewable(ctx, tx, &b)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case replayed.client != "":
		return nil, errors.Join(verdict, s.endAll(ctx, replayed))
	case verdict != nil:
		return nil, verdict
	}
	return out, s.endToken(ctx, old.account, old.token)
}
