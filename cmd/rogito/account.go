package main

import (
	"encoding/json"
	"text/tabwriter"
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
}

// Help is the page of the command.
func (accountCommand) Help() string {
	return example(`
An account owns tokens, certificates, signatures and a wallet. Its API key and
its first token (of all scopes) are printed once and stored only as digests.`,
		"rogito account create anna@example.org --json",
		"rogito wallet credit anna@example.org 50")
}

type accountCreate struct {
	dataFlags
	Email string `arg:"" help:"e-mail of the account"`
	Admin bool   `help:"an administrator"`
	JSON  bool   `help:"print JSON"`
}

// Run makes the account.
func (c *accountCreate) Run(s *session, srv *server.Server) error {
	made, err := srv.CreateAccount(s.ctx, c.Email, c.Admin)
	if err != nil {
		return err
	}
	return printAccount(s, made, c.JSON)
}

type accountList struct {
	dataFlags
	JSON bool `help:"print JSON"`
}

// Run lists the accounts.
func (c *accountList) Run(s *session, srv *server.Server) error {
	list, err := srv.Accounts(s.ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(list)
	}
	w := tabwriter.NewWriter(s.text(), 0, 8, 2, ' ', 0)
	printRow(w, "ID", "E-MAIL", "CREDIT", "CREATED", "ROLE")
	for _, a := range list {
		role := ""
		if a.Admin {
			role = "administrator"
		}
		if a.Sandbox {
			role = "sandbox"
		}
		printRow(w, a.ID, a.Email, a.Credit+" EUR", a.CreatedAt.Format(time.DateOnly), role)
	}
	return w.Flush()
}

type accountNewKey struct {
	dataFlags
	Email string `arg:"" help:"e-mail of the account"`
	JSON  bool   `help:"print JSON"`
}

// Run replaces the key.
func (c *accountNewKey) Run(s *session, srv *server.Server) error {
	key, err := srv.NewKey(s.ctx, c.Email)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(map[string]string{"email": c.Email, "api_key": key})
	}
	s.printf("api_key: %s\n", key)
	return nil
}
