package server

import (
	"context"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/master"
)

// openAccounts opens what knows who calls and who pays.
func (s *Server) openAccounts() error {
	prices, err := s.cfg.prices()
	if err != nil {
		return err
	}
	s.accounts = account.New(s.db, s.master, account.Config{
		Domains: s.cfg.Scopes.Domains, PublicURL: s.cfg.PublicURL, AnyDomain: !s.cfg.Production,
		Prices: prices, Rate: s.cfg.Limits.Rate, Burst: s.cfg.Limits.Burst, Log: s.log,
	})
	s.onClose(s.accounts.Close)
	return nil
}

// prices reads the price list.
func (c *Config) prices() (p account.Prices, err error) {
	p = account.DefaultPrices()
	for key, one := range map[string]struct {
		text string
		dst  *account.Micro
	}{
		"signature":              {c.Money.Signature, &p.Signature},
		"signature_subscription": {c.Money.SignatureSubscription, &p.SignatureSubscription},
		"certificate":            {c.Money.Certificate, &p.Certificate},
		"lookup":                 {c.Money.Lookup, &p.Lookup},
		"lookup_subscription":    {c.Money.LookupSubscription, &p.LookupSubscription},
	} {
		if *one.dst, err = account.ParseEuro(one.text); err != nil {
			return p, fmt.Errorf("money.%s: %w", key, err)
		}
	}
	p.FreeLookups, p.VAT = int64(c.OMI.FreePerDay), c.Money.VAT
	return p, p.Check()
}

// setEndpoints tells the accounts which calls there are, for the list of scopes.
func (s *Server) setEndpoints(a *api.API) {
	seen := map[account.Endpoint]bool{}
	var list []account.Endpoint
	for _, op := range a.Operations() {
		e := account.Endpoint{Method: op.Method, Segment: op.Segment()}
		if !op.Public && !op.Hidden && !seen[e] {
			seen[e] = true
			list = append(list, e)
		}
	}
	s.accounts.Announce(list)
}

// NewAccount is what was made for a new account: secrets that are shown once.
type NewAccount struct {
	Email  string `json:"email"`
	APIKey string `json:"api_key"`
	Token  string `json:"token"`
}

// Init makes the first administrator of a production installation; the master
// key was made when the service was opened.
func (s *Server) Init(ctx context.Context, email string) (*NewAccount, error) {
	some, err := s.accounts.Any(ctx)
	if err != nil {
		return nil, err
	}
	if some {
		return nil, errors.New("this installation has accounts already; add one with: rogito account create")
	}
	return s.CreateAccount(ctx, email, true)
}

// RotateMasterKey makes a new master key and returns its id. Servers that run
// go on; each needs the new file at its next start.
func (s *Server) RotateMasterKey(ctx context.Context) (string, error) {
	return master.Rotate(ctx, s.db, s.cfg.masterKey())
}

// MasterKeyPath is where the master key lies.
func (s *Server) MasterKeyPath() string { return s.cfg.masterKey().Path() }

// observe counts a request in the metrics and in its caller's statistics.
func (s *Server) observe(o api.Observation) {
	s.metrics.observe(o)
	s.accounts.Record(account.Request{
		Caller: o.Caller, Method: o.Method, Segment: o.Segment, Status: o.Status, Code: int(o.Code), Message: o.Message,
	})
}
