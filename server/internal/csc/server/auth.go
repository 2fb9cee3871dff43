// Package server is who may use a key through the Cloud Signature Consortium
// API, and for what: bearers, the OAuth flow in which a holder consents, and
// signature activation data (SAD).
//
// A token of the OAuth flow is a token of the certificate's account, so that it
// is seen, charged and revoked like any other; a row beside it says for which
// client and certificate it is good.
//
// A SAD is good for five minutes, for the bearer that asked, for one certificate
// and for the hashes that were authorised. Each hash is a row: reserved before
// the key is used, then used. What was reserved when a process died is never free
// again, so neither a second server nor a restart signs it twice. The holder's
// password is kept under the SAD, which only the client has, and under the master
// key.
package server

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
)

// Word is an error as the specification names it. It is the cause of a fault,
// whose text is the description.
type Word string

func (w Word) Error() string { return string(w) }

// The words of the specification and of OAuth.
const (
	InvalidRequest  Word = "invalid_request"
	InvalidToken    Word = "invalid_token"
	InvalidClient   Word = "invalid_client"
	InvalidGrant    Word = "invalid_grant"
	InvalidScope    Word = "invalid_scope"
	AccessDenied    Word = "access_denied"
	ServerError     Word = "server_error"
	Unavailable     Word = "temporarily_unavailable"
	WrongGrantType  Word = "unsupported_grant_type"
	WrongResponse   Word = "unsupported_response_type"
	InvalidPIN      Word = "invalid_pin"
	InvalidOTP      Word = "invalid_otp"
	InvalidAuthData Word = "invalid_authentication_data"
)

// Refuse is a refusal in the words of the specification.
func Refuse(w Word, format string, args ...any) *fault.Error {
	f := fault.New(fault.BadField, format, args...).Because(w)
	f.Status = http.StatusBadRequest
	return f
}

// Invalid is the refusal of a request that is wrong.
func Invalid(format string, args ...any) *fault.Error { return Refuse(InvalidRequest, format, args...) }

func badSAD() *fault.Error { return Invalid("Invalid parameter SAD") }

// How long things are good, and how many signatures one authorisation covers.
const (
	SADLife       = 5 * time.Minute
	MaxSignatures = 100
	serviceLife   = time.Hour
	refreshLife   = 30 * 24 * time.Hour
	codeLife      = time.Minute
	pushedLife    = 90 * time.Second
	pageLife      = 10 * time.Minute // of a pushed request whose page was shown
	keptFor       = 24 * time.Hour   // after its end, so that a replay can be told
)

// The scopes of the OAuth flow.
const (
	ScopeService    = "service"
	ScopeCredential = "credential"
)

// tokenScope is what a token of the OAuth flow may call. Its domain grants
// nothing; it says that there must be a row of csc_tokens.
const tokenScope = "POST:oauth/csc"

// Config of a Service.
type Config struct {
	Now func() time.Time
}

// Service keeps them.
type Service struct {
	db       *store.DB
	master   *master.Key
	accounts *account.Service
	keys     *keys.Store
	signing  *signing.Service
	audit    *audit.Log
	config   Config
}

// Deps are what a Service works with.
type Deps struct {
	DB       *store.DB
	Master   *master.Key
	Accounts *account.Service
	Keys     *keys.Store
	Signing  *signing.Service
	Audit    *audit.Log
}

// New returns the service.
func New(d Deps, c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{db: d.DB, master: d.Master, accounts: d.Accounts, keys: d.Keys, signing: d.Signing, audit: d.Audit, config: c}
}

// Bearer is who calls: a token of an account, of the OAuth flow or not.
type Bearer struct {
	Account, Token string
	Client         string // of the OAuth flow; else empty
	Certificate    string // the only one it is good for; empty: all of the account
	Scope          string // of the OAuth flow; else empty
	hash           []byte // of the token of the OAuth flow
}

// Sees says whether a certificate of the bearer's account exists for it.
func (b *Bearer) Sees(certificate string) bool {
	return b.Certificate == "" || b.Certificate == certificate
}

// Bearer looks a caller's token up. It is read each time, so that a revoked one
// is refused at once on every server.
func (s *Service) Bearer(ctx context.Context, c *account.Caller) (*Bearer, error) {
	b := &Bearer{Account: c.AccountID, Token: c.TokenID}
	var mac []byte
	err := s.db.Read().QueryRow(ctx, `select coalesce(c.client_id, ''), coalesce(c.certificate_id, ''), coalesce(c.scope, ''), c.hash, c.mac
		from tokens t left join csc_tokens c on c.token_id = t.id where t.id = $1 and t.account_id = $2`, c.TokenID, c.AccountID).
		Scan(&b.Client, &b.Certificate, &b.Scope, &b.hash, &mac)
	if err != nil && !errors.Is(err, store.ErrNoRows) {
		return nil, fmt.Errorf("csc: read bearer: %w", err)
	}
	granted := slices.Contains(c.Scopes, tokenScope)
	if err != nil || granted != (mac != nil) || granted && !hmac.Equal(mac, s.mark(b)) {
		return nil, fault.New(fault.WrongToken, "the access token is expired or has been revoked")
	}
	return b, nil
}

// mark authenticates a row of csc_tokens.
func (s *Service) mark(b *Bearer) []byte {
	sum := s.master.MAC("csc token", fmt.Appendf(nil, "%q %q %q %q %q %x", b.Account, b.Token, b.Client, b.Certificate, b.Scope, b.hash))
	return sum[:]
}

// newSecret makes a secret of 260 bits that says what it is.
func newSecret(prefix string) string { return prefix + rand.Text() + rand.Text() }

// hash is what is stored of a secret: useless without the master key.
func (s *Service) hash(secret string) []byte {
	sum := s.master.MAC("csc", []byte(secret))
	return sum[:]
}

const sealPurpose = "csc-grant"

// seal keeps a value that neither the database, nor the master key, nor the
// secret opens alone.
func (s *Service) seal(secret, owner string, v any) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256([]byte("rogito csc grant " + secret))
	aead, err := master.NewGCM(key[:])
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	_, _ = rand.Read(nonce)
	return s.master.SealFor(sealPurpose, owner, aead.Seal(nonce, nonce, plain, nil))
}

// unseal opens what seal sealed.
func (s *Service) unseal(secret, owner string, sealed []byte, v any) error {
	inner, err := s.master.UnsealFor(sealPurpose, owner, sealed)
	if err != nil {
		return fmt.Errorf("csc: unseal: %w", err)
	}
	key := sha256.Sum256([]byte("rogito csc grant " + secret))
	aead, err := master.NewGCM(key[:])
	if err != nil {
		return err
	}
	if len(inner) < aead.NonceSize() {
		return errors.New("csc: unseal: too short")
	}
	plain, err := aead.Open(nil, inner[:aead.NonceSize()], inner[aead.NonceSize():], nil)
	if err != nil {
		return fmt.Errorf("csc: unseal: %w", err)
	}
	return json.Unmarshal(plain, v)
}

// RevokeOwn ends a token for a bearer: itself; of the OAuth flow, what the same
// client holds for the same certificate; of the account, what its token may
// delete. A token that is not there is no error (RFC 7009, 2.2).
func (s *Service) RevokeOwn(ctx context.Context, b *Bearer, c *account.Caller, token string) error {
	if b.Client != "" {
		return s.revoke(ctx, token, func(g *grantOf) bool {
			return g.account == b.Account && g.client == b.Client && g.certificate == b.Certificate
		})
	}
	err := s.accounts.DeleteToken(ctx, c, token)
	if errors.Is(err, fault.NotFound) || errors.Is(err, fault.MalformedID) {
		return s.revoke(ctx, token, func(g *grantOf) bool { return g.account == b.Account })
	}
	return err
}

// RevokeOf ends a token of a client.
func (s *Service) RevokeOf(ctx context.Context, c *Client, token string) error {
	return s.revoke(ctx, token, func(g *grantOf) bool { return g.client == c.ID })
}

// grantOf is whose a token of the OAuth flow is.
type grantOf struct {
	token                        string
	account, client, certificate string
}

// revoke ends a token or refresh token of the OAuth flow. With a refresh token
// ends the token that it renews; a token alone leaves its refresh token (CSC v2,
// 8.4.5).
func (s *Service) revoke(ctx context.Context, token string, mine func(*grantOf) bool) error {
	var g grantOf
	hash := s.hash(token)
	err := s.db.Read().QueryRow(ctx, `select c.token_id, t.account_id, c.client_id, c.certificate_id from csc_tokens c join tokens t on t.id = c.token_id where c.hash = $1
		union all select token_id, account_id, client_id, certificate_id from csc_refresh where hash = $1`, hash).
		Scan(&g.token, &g.account, &g.client, &g.certificate)
	if errors.Is(err, store.ErrNoRows) || err == nil && !mine(&g) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("csc: find token: %w", err)
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `delete from csc_refresh where hash = $1`, hash)
		return err
	})
	if err != nil {
		return fmt.Errorf("csc: end refresh token: %w", err)
	}
	return s.endToken(ctx, g.account, g.token)
}

// endToken deletes a token. No key is used in its name any more when it returns.
func (s *Service) endToken(ctx context.Context, acc, id string) error {
	err := s.accounts.DeleteToken(ctx, &account.Caller{AccountID: acc}, id)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// endAll ends whatever a client holds for a certificate: something of it was
// shown twice.
func (s *Service) endAll(ctx context.Context, g grantOf) error {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := intent.Forbid(ctx, tx, intent.Account, g.account); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from csc_refresh where account_id = $1 and client_id = $2 and certificate_id = $3`, g.account, g.client, g.certificate); err != nil {
			return err
		}
		_, err := s.accounts.EndTokens(ctx, tx, g.account, `account_id = $1 and id in (select token_id from csc_tokens where client_id = $2 and certificate_id = $3)`,
			g.account, g.client, g.certificate)
		return err
	})
	if err != nil {
		return fmt.Errorf("csc: end tokens: %w", err)
	}
	return intent.Wait(ctx, s.db, intent.Account, g.account)
}

// sweep deletes what has been over for some time.
func (s *Service) sweep(ctx context.Context, tx *store.Tx, table string, kept time.Duration) error {
	_, err := tx.Exec(ctx, `delete from `+table+` where expires_at < $1`, store.Millis(s.config.Now().Add(-kept)))
	return err
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
