//go:build !files

package main

import (
	"strings"
	"time"

	"rogito.dev/rogito/server"
)

type tokenCommand struct {
	Create tokenCreate `cmd:"" help:"make a token"`
	List   tokenList   `cmd:"" help:"list the tokens of an account"`
	Revoke tokenRevoke `cmd:"" help:"revoke a token"`
}

// Help is the page of the command.
func (tokenCommand) Help() string {
	return example(`
A token is the right to call in an account's name, within its scopes
(METHOD:domain/segment, * for any). It is printed once. A revoked one is refused
by every server within 5 seconds.`,
		"rogito token create anna@example.org --scope 'GET:*/IT-omi' --ttl 24h",
		"rogito token revoke anna@example.org ID")
}

type tokenCreate struct {
	dataFlags
	Email string        `arg:"" help:"e-mail of the account"`
	Scope []string      `placeholder:"SCOPE" sep:"none" help:"scope, repeatable (default: all)"`
	Name  string        `placeholder:"TEXT" help:"name of the token"`
	TTL   time.Duration `placeholder:"TIME" help:"life of the token (default and most: a year)"`
	outcome
}

// Run makes the token.
func (c *tokenCreate) Run(s *session, srv *server.Server) error {
	scopes := c.Scope
	if len(scopes) == 0 {
		scopes = []string{"*:*/*"}
	}
	t, err := srv.CreateToken(s.ctx, c.Email, c.Name, scopes, c.TTL)
	if err != nil {
		return err
	}
	return c.report(s, t, "id:            %s\ntoken:         %s\nrefresh_token: %s\nexpires:       %s", t.ID, t.Token, t.Refresh, t.ExpireAt.Format(time.RFC3339))
}

type tokenList struct {
	dataFlags
	Email string `arg:"" help:"e-mail of the account"`
	outcome
}

// Run lists the tokens.
func (c *tokenList) Run(s *session, srv *server.Server) error {
	list, err := srv.Tokens(s.ctx, c.Email)
	if err != nil {
		return err
	}
	rows := [][]any{{"ID", "TOKEN", "EXPIRES", "NAME", "SCOPES"}}
	for _, t := range list {
		rows = append(rows, []any{t.ID, "…" + t.LastFour, t.ExpireAt.Format(time.DateOnly), t.Name, strings.Join(t.Scopes, " ")})
	}
	return c.table(s, list, rows)
}

type tokenRevoke struct {
	dataFlags
	outcome
	Email string `arg:"" help:"e-mail of the account"`
	Token string `arg:"" help:"the token's id (or the token itself)"`
}

// Run revokes the token.
func (c *tokenRevoke) Run(s *session, srv *server.Server) error {
	if err := srv.RevokeToken(s.ctx, c.Email, c.Token); err != nil {
		return err
	}
	return c.report(s, map[string]any{"email": c.Email, "revoked": true}, "revoked")
}
