// Package account knows who calls: accounts, their keys and tokens with scopes
// and limits, and sessions. What they pay is in package billing.
//
// Secrets are stored as keyed digests and shown once.
package account

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
)

// Config is how accounts are kept.
type Config struct {
	Domains   []string // that scopes may name
	PublicURL string   // whose host they may always name
	AnyDomain bool     // scopes may name any: the sandbox
	Rate      float64  // requests a second of a token; 0: no limit
	Burst     int      // at once; 0 means 100
	// A session of the console ends when nothing is done for so long, and after
	// so long in any case; zero means half an hour and twelve.
	SessionIdle, SessionLife time.Duration
	Log                      *slog.Logger
}

// Service knows accounts and tokens.
type Service struct {
	db        *store.DB
	master    *master.Key
	cfg       Config
	domains   []string
	endpoints atomic.Pointer[[]Endpoint]
	entries   sync.Map // hash of a secret → *entry
	limiters  sync.Map // id of a token → *rate.Limiter
	now       func() time.Time
	forgot    atomic.Int64 // when old entries were dropped, in seconds
	// Log is the audit log; nil in tests of this package. It is set before the first call.
	Log *audit.Log
	// Kin is the line that a root belongs to where that is another's: of a person who was
	// invited with a token, that token's. Empty: its own. It is set before the first call.
	Kin func(ctx context.Context, root string) (string, error)
}

// New returns the service.
func New(db *store.DB, m *master.Key, cfg Config) *Service {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Burst <= 0 {
		cfg.Burst = 100
	}
	if cfg.SessionIdle <= 0 {
		cfg.SessionIdle = sessionIdle
	}
	if cfg.SessionLife <= 0 {
		cfg.SessionLife = sessionLife
	}
	s := &Service{db: db, master: m, cfg: cfg, now: time.Now}
	for _, d := range cfg.Domains {
		s.domains = append(s.domains, strings.ToLower(strings.TrimSpace(d)))
	}
	if u, err := url.Parse(cfg.PublicURL); err == nil && u.Host != "" {
		s.domains = append(s.domains, strings.ToLower(u.Host), strings.ToLower(u.Hostname()))
	}
	return s
}

// Announce sets the calls that exist, for the list of scopes.
func (s *Service) Announce(list []Endpoint) { s.endpoints.Store(&list) }

// Account is one customer.
type Account struct {
	ID        string
	Email     string
	Admin     bool
	Sandbox   bool
	CreatedAt time.Time
}

// NewAccount says what account to make.
type NewAccount struct {
	Email   string
	Admin   bool
	Sandbox bool
}

// Credentials are an account's secrets, known only now.
type Credentials struct {
	Account Account
	APIKey  string
	Token   string // of all scopes
}

// Create makes an account with an API key and an all-scopes token.
func (s *Service) Create(ctx context.Context, tx *store.Tx, n NewAccount) (*Credentials, error) {
	email, err := Email(n.Email)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c := &Credentials{
		Account: Account{ID: store.NewID(), Email: email, Admin: n.Admin, Sandbox: n.Sandbox, CreatedAt: now},
		APIKey:  newSecret(keyPrefix),
	}
	hash := s.keyHash(c.Account.ID, c.APIKey)
	row := &accountRow{id: c.Account.ID, email: email, keyHash: hash[:], admin: n.Admin, sandbox: n.Sandbox, created: now.UnixMilli()}
	_, err = tx.Exec(ctx, `insert into accounts (id, email, key_hash, admin, sandbox, quota, created_at, mac) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
		row.id, row.email, row.keyHash, row.admin, row.sandbox, row.quota, row.created, s.accountMark(row))
	if store.IsConflict(err) {
		return nil, fault.New(fault.BadField, "there is an account %s already", email)
	}
	if err == nil {
		err = s.logAccount(ctx, tx, row, kindCreated, map[bool]string{false: "account created", true: "account of an administrator created"}[row.admin])
	}
	if err != nil {
		return nil, err
	}
	t, err := s.CreateToken(ctx, tx, &Caller{AccountID: c.Account.ID}, NewToken{Name: "first", Scopes: []string{AllScopes}})
	if err != nil {
		return nil, err
	}
	c.Token = t.Secret
	return c, nil
}

// Email is an e-mail address as it is stored; fault 310 where it is none.
func Email(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	user, domain, ok := strings.Cut(s, "@")
	if !ok || user == "" || domain == "" || len(s) > 254 || strings.ContainsAny(s, " \t\r\n:<>\"") {
		return "", fault.New(fault.BadField, "%q is not an e-mail address", Shorten(s))
	}
	return s, nil
}

// Find is the account of an e-mail address; fault 140 where there is none.
func (s *Service) Find(ctx context.Context, email string) (Account, error) {
	r, err := s.account(ctx, s.db.Read().QueryRow(ctx, `select `+accountColumns+` from accounts a where a.email = $1`,
		strings.ToLower(strings.TrimSpace(email))))
	if errors.Is(err, store.ErrNoRows) {
		return Account{}, fault.New(fault.NotFound, "there is no account %s", Shorten(email))
	}
	return r.account(), err
}

// ByID is an account; fault 140 where there is none.
func (s *Service) ByID(ctx context.Context, id string) (Account, error) {
	r, err := s.account(ctx, s.db.Read().QueryRow(ctx, `select `+accountColumns+` from accounts a where a.id = $1`, id))
	if errors.Is(err, store.ErrNoRows) {
		return Account{}, fault.New(fault.NotFound, "there is no such account")
	}
	if err != nil {
		return Account{}, err
	}
	return r.account(), nil
}

// List is all accounts, oldest first. One whose row was changed is in it, and an
// administrator's no more.
func (s *Service) List(ctx context.Context) ([]Account, error) {
	rows, err := s.db.Read().Query(ctx, `select `+accountColumns+` from accounts a order by a.id`)
	return store.All("list accounts", rows, err, func(row store.Row) (Account, error) {
		r, err := s.account(ctx, row)
		if errors.Is(err, errForged) {
			r.admin, err = false, nil
		}
		return r.account(), err
	})
}

// SandboxExists says whether this database has a sandbox's account.
func (s *Service) SandboxExists(ctx context.Context) (some bool, err error) {
	err = s.db.Read().QueryRow(ctx, `select exists (select 1 from accounts where sandbox)`).Scan(&some)
	return some, err
}

// Any says whether there is any account.
func (s *Service) Any(ctx context.Context) (bool, error) { return Any(ctx, s.db) }

// Any says whether a database has an account.
func Any(ctx context.Context, db *store.DB) (some bool, err error) {
	err = db.Read().QueryRow(ctx, `select exists (select 1 from accounts)`).Scan(&some)
	return some, err
}

// NewKey replaces the API key of an account and returns the new one.
func (s *Service) NewKey(ctx context.Context, accountID string) (string, error) {
	key := newSecret(keyPrefix)
	hash := s.keyHash(accountID, key)
	err := s.change(ctx, accountID, func(r *accountRow) { r.keyHash = hash[:] })
	s.entries.Clear()
	return key, err
}

func HostOnly(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return host
}
