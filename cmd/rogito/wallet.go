//go:build !files

package main

import "rogito.dev/rogito/server"

type walletCommand struct {
	Credit walletCredit `cmd:"" help:"put money into a wallet"`
}

type walletCredit struct {
	dataFlags
	Email string `arg:"" help:"e-mail of the account"`
	outcome
	EUR string `arg:"" name:"eur" help:"amount, such as 50 or 0.05"`
}

// Run puts the money in.
func (c *walletCredit) Run(s *session, srv *server.Server) error {
	credit, err := srv.CreditWallet(s.ctx, c.Email, c.EUR)
	if err != nil {
		return err
	}
	return c.report(s, map[string]any{"email": c.Email, "credit": credit}, "credit: %s EUR", credit)
}

type subscriptionCommand struct {
	Create subscriptionCreate `cmd:"" help:"give an account requests paid in advance"`
}

type subscriptionCreate struct {
	dataFlags
	Email    string `arg:"" help:"e-mail of the account"`
	Scope    string `arg:"" help:"what the requests are for, such as POST:*/EU-QES_automatic"`
	Requests int64  `arg:"" help:"how many"`
	EUR      string `arg:"" name:"eur" help:"price of all"`
	outcome
}

// Run makes the subscription.
func (c *subscriptionCreate) Run(s *session, srv *server.Server) error {
	id, err := srv.Subscribe(s.ctx, c.Email, c.Scope, c.Requests, c.EUR)
	if err != nil {
		return err
	}
	return c.report(s, map[string]any{"email": c.Email, "subscription": id}, "subscription: %s", id)
}
