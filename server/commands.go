package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/backup"
	"rogito.dev/rogito/server/internal/store"
)

// CreateAccount makes an account; its secrets are shown once.
func (s *Server) CreateAccount(ctx context.Context, email string, admin bool) (*NewAccount, error) {
	c, err := s.accounts.Create(ctx, account.NewAccount{Email: email, Admin: admin})
	if err != nil {
		return nil, err
	}
	return &NewAccount{Email: c.Account.Email, APIKey: c.APIKey, Token: c.Token}, nil
}

// AccountInfo is an account in the list of all.
type AccountInfo struct {
	ID        string    `json:"id"`
	Email     string    `json:"email"`
	Admin     bool      `json:"admin"`
	Sandbox   bool      `json:"sandbox"`
	Credit    string    `json:"credit"`
	CreatedAt time.Time `json:"createdAt"`
}

// Accounts lists all accounts.
func (s *Server) Accounts(ctx context.Context) ([]AccountInfo, error) {
	list, err := s.accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	lines := []AccountInfo{}
	for _, a := range list {
		w, err := s.accounts.Wallet(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		lines = append(lines, AccountInfo{a.ID, a.Email, a.Admin, a.Sandbox, w.Credit.String(), a.CreatedAt})
	}
	return lines, nil
}

// NewKey replaces the API key of an account.
func (s *Server) NewKey(ctx context.Context, email string) (string, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return "", err
	}
	return s.accounts.NewKey(ctx, a.ID)
}

// TokenInfo is a token; the secret is there only when it was made.
type TokenInfo struct {
	ID       string    `json:"id"`
	Token    string    `json:"token,omitempty"`
	Refresh  string    `json:"refresh_token,omitempty"`
	LastFour string    `json:"last_four"`
	Name     string    `json:"name"`
	Scopes   []string  `json:"scopes"`
	ExpireAt time.Time `json:"expireAt"`
}

func tokenInfo(t account.Token) TokenInfo {
	return TokenInfo{t.ID, t.Secret, t.Refresh, t.LastFour, t.Name, t.Scopes, t.ExpireAt}
}

// CreateToken makes a token of an account.
func (s *Server) CreateToken(ctx context.Context, email, name string, scopes []string, life time.Duration) (*TokenInfo, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return nil, err
	}
	n := account.NewToken{Name: name, Scopes: scopes, Life: life}
	operator := &account.Caller{AccountID: a.ID, Sandbox: a.Sandbox}
	if err := s.accounts.CheckToken(operator, "", &n); err != nil {
		return nil, err
	}
	var made *account.Token
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		made, err = s.accounts.CreateToken(ctx, tx, operator, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	line := tokenInfo(*made)
	return &line, nil
}

// Tokens lists the tokens of an account.
func (s *Server) Tokens(ctx context.Context, email string) ([]TokenInfo, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return nil, err
	}
	list, err := s.accounts.Tokens(ctx, a.ID, account.TokenFilter{Limit: 10_000})
	lines := []TokenInfo{}
	for _, t := range list {
		lines = append(lines, tokenInfo(t))
	}
	return lines, err
}

// RevokeToken deletes a token of an account, by itself or by its id.
func (s *Server) RevokeToken(ctx context.Context, email, token string) error {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return err
	}
	return s.accounts.DeleteToken(ctx, &account.Caller{AccountID: a.ID}, token)
}

// CreditWallet puts money into the wallet of an account and says what it holds
// then.
func (s *Server) CreditWallet(ctx context.Context, email, eur string) (string, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return "", err
	}
	amount, err := account.ParseEuro(eur)
	if err != nil {
		return "", err
	}
	if err := s.accounts.Credit(ctx, a.ID, amount, "credit"); err != nil {
		return "", err
	}
	w, err := s.accounts.Wallet(ctx, a.ID)
	return w.Credit.String(), err
}

// Subscribe gives an account requests of a scope, paid in advance, and returns
// the subscription's id.
func (s *Server) Subscribe(ctx context.Context, email, scope string, requests int64, eur string) (string, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return "", err
	}
	price, err := account.ParseEuro(eur)
	if err != nil {
		return "", err
	}
	u, err := s.accounts.Subscribe(ctx, a.ID, scope, requests, price)
	return u.ID, err
}

// Backup writes a backup of an embedded installation, the master key left out.
func Backup(ctx context.Context, cfg Config, w io.Writer) error {
	return backup.Write(ctx, cfg.database(nil), cfg.masterKey(), w)
}

// Restore writes a backup into an empty data folder and says which master key
// it wants, and where.
func Restore(ctx context.Context, cfg Config, r io.Reader) (keyID, keyPath string, err error) {
	if cfg.Database != "" && cfg.Database != "sqlite" {
		return "", "", errors.New("restore is for the embedded database")
	}
	if keyID, err = backup.Restore(ctx, cfg.Data, cfg.masterKey(), r); err != nil {
		return "", "", fmt.Errorf("restore: %w", err)
	}
	return keyID, cfg.masterKey().Path(), nil
}
