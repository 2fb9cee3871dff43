//go:build !files

package main

import (
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupPeople, "account", "accounts: create, list, new API key", func() any { return &accountCommand{} })
	add(groupPeople, "token", "tokens of an account: create, list, revoke", func() any { return &tokenCommand{} })
	add(groupPeople, "wallet", "put money into a wallet", func() any { return &walletCommand{} })
	add(groupPeople, "subscription", "give an account requests paid in advance", func() any { return &subscriptionCommand{} })
}

type accountCommand struct {
	Create accountCreate `cmd:"" help:"make an account"`
	List   accountList   `cmd:"" help:"list the accounts"`
	NewKey accountNewKey `cmd:"" help:"replace the API key of an account"`
	Quota  accountQuota  `cmd:"" help:"show or set how much an account may have made"`
}

// Help is the page of the command.
func (accountCommand) Help() string {
	return example(`
An account owns tokens, certificates, signatures and a wallet. Its API key and
its first token (of all scopes) are printed once and stored only as digests.`,
		"rogito account create anna@example.org --json",
		"rogito wallet credit anna@example.org 50",
		"rogito account quota anna@example.org --signatures-per-month 1000")
}

type accountCreate struct {
	dataFlags
	Email string `arg:"" help:"e-mail of the account"`
	Admin bool   `help:"an administrator"`
	outcome
}

// Run makes the account.
func (c *accountCreate) Run(s *session, srv *server.Server) error {
	made, err := srv.CreateAccount(s.ctx, c.Email, c.Admin)
	if err != nil {
		return err
	}
	return printAccount(s, made, c.outcome)
}

type accountList struct {
	dataFlags
	outcome
}

// Run lists the accounts.
func (c *accountList) Run(s *session, srv *server.Server) error {
	list, err := srv.Accounts(s.ctx)
	if err != nil {
		return err
	}
	rows := [][]any{{"ID", "E-MAIL", "CREDIT", "CREATED", "ROLE"}}
	for _, a := range list {
		role := ""
		if a.Admin {
			role = "administrator"
		}
		if a.Sandbox {
			role = "sandbox"
		}
		rows = append(rows, []any{a.ID, a.Email, a.Credit + " EUR", a.CreatedAt.Format(time.DateOnly), role})
	}
	return c.table(s, list, rows)
}

type accountQuota struct {
	dataFlags
	Email                string `arg:"" help:"e-mail of the account"`
	SignaturesPerDay     *int64 `name:"signatures-per-day" placeholder:"N" help:"signatures in a day (UTC); 0: no bound"`
	SignaturesPerMonth   *int64 `name:"signatures-per-month" placeholder:"N" help:"signatures in a month (UTC); 0: no bound"`
	CertificatesPerMonth *int64 `name:"certificates-per-month" placeholder:"N" help:"certificates bought in a month (UTC); 0: no bound"`
	JSON                 bool   `help:"print JSON"`
}

// Run sets what the flags say and shows the quota.
func (c *accountQuota) Run(s *session, srv *server.Server) error {
	q, err := srv.Quota(s.ctx, c.Email)
	if err != nil {
		return err
	}
	changed := false
	for _, one := range []struct{ from, to *int64 }{
		{c.SignaturesPerDay, &q.SignaturesPerDay}, {c.SignaturesPerMonth, &q.SignaturesPerMonth}, {c.CertificatesPerMonth, &q.CertificatesPerMonth},
	} {
		if one.from == nil {
			continue
		}
		if *one.from < 0 {
			return errors.New("a quota is not negative; 0 is no bound")
		}
		*one.to, changed = *one.from, true
	}
	if changed {
		if err := srv.SetQuota(s.ctx, c.Email, q); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(q)
	}
	for _, line := range []struct {
		what string
		most int64
	}{{"signatures a day", q.SignaturesPerDay}, {"signatures a month", q.SignaturesPerMonth}, {"certificates a month", q.CertificatesPerMonth}} {
		most := "no bound"
		if line.most > 0 {
			most = strconv.FormatInt(line.most, 10)
		}
		s.printf("%-21s %s\n", line.what, most)
	}
	return nil
}

type accountNewKey struct {
	dataFlags
	Email string `arg:"" help:"e-mail of the account"`
	outcome
}

// Run replaces the key.
func (c *accountNewKey) Run(s *session, srv *server.Server) error {
	key, err := srv.NewKey(s.ctx, c.Email)
	if err != nil {
		return err
	}
	return c.report(s, map[string]string{"email": c.Email, "api_key": key}, "api_key: %s", key)
}
