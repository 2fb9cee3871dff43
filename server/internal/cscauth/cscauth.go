// Package cscauth is who may use a key through the Cloud Signature Consortium
// API, and for what: bearers, the OAuth flow in which a holder consents, and
// signature activation data (SAD).
//
// A token of the OAuth flow is a token of the certificate's account, so that it
// is seen, charged and revoked like any other; a row beside it says for which
// client and certificate it is good.
//
// A SAD is good for five minutes, for the bearer that asked, for one certificate
// and for the hashes that were authorised. Each hash is a row: reserved before
// the key is used, then used. What was reserved is never free again, so neither
// a second server nor a restart signs it twice. The holder's password is kept
// under the SAD, which only the client has, and under the master key.
package cscauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
)

// Error is a refusal in the words of the specification.
type Error struct {
	Status int
	Word   string // invalid_request, …
	Text   string
}

func (e *Error) Error() string { return e.Word + ": " + e.Text }

// Invalid is the refusal of a request that is wrong.
func Invalid(format string, args ...any) *Error {
	return &Error{http.StatusBadRequest, "invalid_request", fmt.Sprintf(format, args...)}
}

func refuse(word, text string) *Error { return &Error{http.StatusBadRequest, word, text} }

// ErrToken says that a bearer token is not good any more.
var ErrToken = &Error{http.StatusUnauthorized, "invalid_token", "the access token is wrong, expired or revoked"}

// How long things are good.
const (
	SADLife      = 5 * time.Minute
	serviceLife  = time.Hour
	refreshLife  = 30 * 24 * time.Hour
	codeLife     = time.Minute
	requestLife  = 90 * time.Second
	MaxSignatures = 100 // of one authorisation
)

// The scopes of the OAuth flow.
const (
	ScopeService    = "service"
	ScopeCredential = "credential"
)

// scope is what a token of the OAuth flow may do.
const scope = "POST:*/csc"

// Client is an application that was registered.
type Client struct {
	ID, Name  string
	Secret    string   // empty: a public client
	Redirects []string // its redirect URIs
}

// Config of a Service.
type Config struct {
	Clients []Client
	// Open lets every client in that is not registered, as a public one: for the
	// sandbox.
	Open bool
	Now  func() time.Time
}

// Service keeps them.
type Service struct {
	db       *store.DB
	master   *master.Key
	accounts *account.Service
	keys     *keys.Store
	signing  *signing.Service
	config   Config
}

// New returns the service.
func New(db *store.DB, m *master.Key, a *account.Service, k *keys.Store, s *signing.Service, c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{db: db, master: m, accounts: a, keys: k, signing: s, config: c}
}

// Bearer is who calls: a token of an account, of the OAuth flow or not.
type Bearer struct {
	Account, Token string
	Client         string // of the OAuth flow; else empty
	Certificate    string // the only one it is good for; empty: all of the account
	Scope          string
}

// Sees says whether a certificate of the bearer's account exists for it.
func (b *Bearer) Sees(certificate string) bool {
	return b.Certificate == "" || b.Certificate == certificate
}

// Bearer looks a caller's token up. It is read each time, so that a revoked one
// is refused at once on every server.
func (s *Service) Bearer(ctx context.Context, c *account.Caller) (*Bearer, error) {
	b := &Bearer{Account: c.AccountID, Token: c.TokenID}
	err := s.db.Read().QueryRow(ctx, `select coalesce(c.client_id, ''), coalesce(c.certificate_id, ''), coalesce(c.scope, '')
		from tokens t left join csc_tokens c on c.token_id = t.id where t.id = $1 and t.account_id = $2`, c.TokenID, c.AccountID).
		Scan(&b.Client, &b.Certificate, &b.Scope)
	if errors.Is(err, store.ErrNoRows) {
		return nil, ErrToken
	}
	if err != nil {
		return nil, fmt.Errorf("cscauth: read bearer: %w", err)
	}
	return b, nil
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
func (s *Service) seal(secret string, owner string, v any) ([]byte, error) {
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
		return fmt.Errorf("cscauth: unseal: %w", err)
	}
	key := sha256.Sum256([]byte("rogito csc grant " + secret))
	aead, err := master.NewGCM(key[:])
	if err != nil {
		return err
	}
	if len(inner) < aead.NonceSize() {
		return errors.New("cscauth: unseal: too short")
	}
	plain, err := aead.Open(nil, inner[:aead.NonceSize()], inner[aead.NonceSize():], nil)
	if err != nil {
		return fmt.Errorf("cscauth: unseal: %w", err)
	}
	return json.Unmarshal(plain, v)
}

// Revoke ends a token or refresh token that the OAuth flow gave, if it is the
// bearer's own or of its account. It says whether there was one.
func (s *Service) Revoke(ctx context.Context, token string, mine func(account, client, certificate string) bool) (bool, error) {
	var id, acc, client, certificate string
	hash := s.hash(token)
	err := s.db.Read().QueryRow(ctx, `select c.token_id, t.account_id, c.client_id, c.certificate_id from csc_tokens c join tokens t on t.id = c.token_id where c.hash = $1
		union all select token_id, account_id, client_id, certificate_id from csc_refresh where hash = $1`, hash).Scan(&id, &acc, &client, &certificate)
	if errors.Is(err, store.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cscauth: find token: %w", err)
	}
	if !mine(acc, client, certificate) {
		return false, nil
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `delete from csc_refresh where hash = $1 or token_id = $2`, hash, id)
		return err
	})
	if err != nil {
		return false, err
	}
	return true, s.end(ctx, acc, id)
}

// end deletes a token. No key is used in its name any more when it returns.
func (s *Service) end(ctx context.Context, acc, id string) error {
	err := s.accounts.DeleteToken(ctx, &account.Caller{AccountID: acc}, id)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// endAll ends whatever a client holds for a certificate: something of it was
// shown twice.
func (s *Service) endAll(ctx context.Context, acc, client, certificate string) error {
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := intent.Forbid(ctx, tx, intent.Account, acc); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `delete from csc_refresh where account_id = $1 and client_id = $2 and certificate_id = $3`, acc, client, certificate); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `delete from tokens where account_id = $1 and id in (select token_id from csc_tokens where client_id = $2 and certificate_id = $3)`, acc, client, certificate)
		return err
	})
	if err != nil {
		return fmt.Errorf("cscauth: end tokens: %w", err)
	}
	return intent.Wait(ctx, s.db, intent.Account, acc)
}

// sweep deletes what is over, with a day's delay so that a refusal can still say
// why.
func (s *Service) sweep(ctx context.Context, tx *store.Tx, table string) error {
	_, err := tx.Exec(ctx, `delete from `+table+` where expires_at < $1`, store.Millis(s.config.Now().Add(-24*time.Hour)))
	return err
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
