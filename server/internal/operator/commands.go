// Package operator is what an operator can have done at an installation without
// the API: accounts, tokens, money and certificates.
package operator

import (
	"context"
	"errors"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/billing"
	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/store"
)

// Commands are what an operator can have done at an installation, beside what
// the API offers.
type Commands struct {
	db        *store.DB
	accounts  *account.Service
	billing   *billing.Service
	keys      *keys.Store
	enroll    *enroll.Service
	csc       *cscserver.Service
	sandboxed bool
}

// New returns the commands of an installation.
func New(db *store.DB, accounts *account.Service, billing *billing.Service, keys *keys.Store, enroll *enroll.Service, csc *cscserver.Service, sandboxed bool) Commands {
	return Commands{db, accounts, billing, keys, enroll, csc, sandboxed}
}

// NewAccount is what was made for a new account: secrets that are shown once.
type NewAccount struct {
	Email  string `json:"email"`
	APIKey string `json:"api_key"`
	Token  string `json:"token"`
}

// Initialised says whether the installation has an account.
func (s *Commands) Initialised(ctx context.Context) (bool, error) { return s.accounts.Any(ctx) }

// Init makes the first administrator of a production installation; the master
// key was made when the service was opened.
func (s *Commands) Init(ctx context.Context, email string) (*NewAccount, error) {
	some, err := s.Initialised(ctx)
	if err != nil {
		return nil, err
	}
	if some {
		return nil, errors.New("this installation has accounts already; add one with: rogito account create")
	}
	return s.CreateAccount(ctx, email, true)
}

// CreateAccount makes an account; its secrets are shown once.
func (s *Commands) CreateAccount(ctx context.Context, email string, admin bool) (*NewAccount, error) {
	c, err := s.billing.CreateAccount(ctx, account.NewAccount{Email: email, Admin: admin}, 0)
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
func (s *Commands) Accounts(ctx context.Context) ([]AccountInfo, error) {
	list, err := s.accounts.List(ctx)
	if err != nil {
		return nil, err
	}
	lines := []AccountInfo{}
	for _, a := range list {
		w, err := s.billing.Wallet(ctx, a.ID)
		if err != nil {
			return nil, err
		}
		lines = append(lines, AccountInfo{a.ID, a.Email, a.Admin, a.Sandbox, w.Credit.String(), a.CreatedAt})
	}
	return lines, nil
}

// AccountQuota bounds what an account may have made.
type AccountQuota = account.Quota

// Quota is that of an account.
func (s *Commands) Quota(ctx context.Context, email string) (AccountQuota, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return AccountQuota{}, err
	}
	return s.accounts.Quota(ctx, a.ID)
}

// SetQuota bounds what an account may have made.
func (s *Commands) SetQuota(ctx context.Context, email string, q AccountQuota) error {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return err
	}
	return s.accounts.SetQuota(ctx, a.ID, q)
}

// NewKey replaces the API key of an account.
func (s *Commands) NewKey(ctx context.Context, email string) (string, error) {
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
func (s *Commands) CreateToken(ctx context.Context, email, name string, scopes []string, life time.Duration) (*TokenInfo, error) {
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

// listPage is how many rows of a list are read at once.
const listPage = 1000

// Tokens lists the tokens of an account.
func (s *Commands) Tokens(ctx context.Context, email string) ([]TokenInfo, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return nil, err
	}
	lines := []TokenInfo{}
	for page := (account.TokenFilter{Limit: listPage}); ; {
		list, err := s.accounts.Tokens(ctx, a.ID, page)
		for _, t := range list {
			lines = append(lines, tokenInfo(t))
			page.After = t.ID
		}
		if err != nil || len(list) < listPage {
			return lines, err
		}
	}
}

// RevokeToken deletes a token of an account, by itself or by its id.
func (s *Commands) RevokeToken(ctx context.Context, email, token string) error {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return err
	}
	return s.accounts.DeleteToken(ctx, &account.Caller{AccountID: a.ID}, token)
}

// CreditWallet puts money into the wallet of an account and says what it holds
// then.
func (s *Commands) CreditWallet(ctx context.Context, email, eur string) (string, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return "", err
	}
	amount, err := money.ParseEuro(eur)
	if err != nil {
		return "", err
	}
	if err := s.billing.Credit(ctx, a.ID, amount, "credit"); err != nil {
		return "", err
	}
	w, err := s.billing.Wallet(ctx, a.ID)
	return w.Credit.String(), err
}

// Subscribe gives an account requests of a scope, paid in advance, and returns
// the subscription's id.
func (s *Commands) Subscribe(ctx context.Context, email, scope string, requests int64, eur string) (string, error) {
	a, err := s.accounts.Find(ctx, email)
	if err != nil {
		return "", err
	}
	price, err := money.ParseEuro(eur)
	if err != nil {
		return "", err
	}
	u, err := s.billing.Subscribe(ctx, a.ID, scope, requests, price)
	return u.ID, err
}

// CSCClient is an application that may ask holders for their consent (OAuth). Its
// secret is there only when it was made.
type CSCClient struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret,omitempty"`
	*cscserver.Client
}

// AddCSCClient registers an application.
func (s *Commands) AddCSCClient(ctx context.Context, name string, redirects []string, public bool) (*CSCClient, error) {
	c, secret, err := s.csc.AddClient(ctx, name, redirects, public)
	if err != nil {
		return nil, err
	}
	return &CSCClient{c.ID, secret, c}, nil
}

// CSCClients lists the applications.
func (s *Commands) CSCClients(ctx context.Context) ([]*cscserver.Client, error) {
	return s.csc.Clients(ctx)
}

// RemoveCSCClient ends an application and whatever it was given.
func (s *Commands) RemoveCSCClient(ctx context.Context, id string) error {
	return s.csc.RemoveClient(ctx, id)
}
