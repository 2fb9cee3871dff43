package server

import (
	"context"
	"fmt"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/money"
)

// openAccounts opens accounts and billing.
func (s *Server) openAccounts() error {
	prices, err := s.cfg.prices()
	if err != nil {
		return err
	}
	s.accounts = account.New(s.db, s.master, account.Config{
		Domains: s.cfg.Scopes.Domains, PublicURL: s.cfg.PublicURL, AnyDomain: !s.cfg.Production,
		Rate: s.cfg.Limits.Rate, Log: s.log,
		SessionIdle: s.cfg.Console.SessionIdle, SessionLife: s.cfg.Console.SessionLife,
	})
	s.billing = billing.New(s.db, s.accounts, prices, s.log)
	s.onClose(s.billing.Close)
	return nil
}

// prices reads the price list.
func (c *Config) prices() (p billing.Prices, err error) {
	p = billing.DefaultPrices()
	for key, one := range map[string]struct {
		text string
		dst  *money.Micro
	}{
		"signature":              {c.Money.Signature, &p.Signature},
		"signature_subscription": {c.Money.SignatureSubscription, &p.SignatureSubscription},
		"certificate":            {c.Money.Certificate, &p.Certificate},
		"lookup":                 {c.Money.Lookup, &p.Lookup},
		"lookup_subscription":    {c.Money.LookupSubscription, &p.LookupSubscription},
		"ses":                    {c.Prices.SES, &p.SES},
	} {
		if *one.dst, err = money.ParseEuro(one.text); err != nil {
			return p, fmt.Errorf("money.%s: %w", key, err)
		}
	}
	p.FreeLookups, p.VAT = int64(c.OMI.FreePerDay), c.Money.VAT
	return p, p.Check()
}

// setEndpoints gives the accounts the list of calls, which scopes are made from.
func (s *Server) setEndpoints(a *api.API) {
	seen := map[account.Endpoint]bool{}
	var list []account.Endpoint
	for _, op := range a.Operations() {
		e := account.Endpoint{Method: op.Method, Segment: op.Segment()}
		if !op.Public && !seen[e] {
			seen[e] = true
			list = append(list, e)
		}
	}
	s.accounts.Announce(list)
}

// RotateMasterKey makes a new master key and returns its id. Servers that run
// go on; each needs the new file at its next start.
func (s *Server) RotateMasterKey(ctx context.Context, to string) (string, error) {
	return master.Rotate(ctx, s.db, s.cfg.masterKey(), to)
}

// MasterKeyPlace is where the master key is, for people.
func (s *Server) MasterKeyPlace() string { return s.cfg.masterKey().Where() }

// observe counts a request in the metrics and in its caller's statistics.
func (s *Server) observe(o api.Observation) {
	s.metrics.Observe(o.Method, o.Route, o.Status, o.Code, o.Elapsed)
	s.billing.Record(billing.Request{
		Caller: o.Caller, Method: o.Method, Segment: o.Segment, Status: o.Status, Code: int(o.Code), Message: o.Message,
	})
}
