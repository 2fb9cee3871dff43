//go:build !files

package main

import (
	"strings"
	"time"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupPeople, "csc", "applications that sign with our keys over the CSC API: add, list, remove", func() any { return &cscCommand{} })
}

type cscCommand struct {
	Client cscClientCommand `cmd:"" help:"applications that may ask holders for their consent"`
}

// Help is the page of the command.
func (cscCommand) Help() string {
	return example(`
Others sign with the keys that this server holds over the API of the Cloud
Signature Consortium (/csc/v1, /csc/v2). A token of an account with the scope
POST:*/csc is enough for that. An application that is to ask a holder for
consent in the browser (OAuth) is registered here first. Its secret is printed
once and stored only as a digest.`,
		"rogito csc client add Contracts --redirect https://app.example.org/callback --json")
}

type cscClientCommand struct {
	Add    cscClientAdd    `cmd:"" help:"register an application"`
	List   cscClientList   `cmd:"" help:"list the applications"`
	Remove cscClientRemove `cmd:"" help:"end an application and whatever it was given"`
}

type cscClientAdd struct {
	dataFlags
	Name     string   `arg:"" help:"name that holders read"`
	Redirect []string `required:"" placeholder:"URI" sep:"none" help:"where the browser goes back to, compared as it is; may be given several times"`
	Public   bool     `help:"an application that cannot keep a secret: it gets none"`
	outcome
}

// Run registers the application.
func (c *cscClientAdd) Run(s *session, srv *server.Server) error {
	made, err := srv.AddCSCClient(s.ctx, c.Name, c.Redirect, c.Public)
	if err != nil {
		return err
	}
	text := "client_id      " + made.ID
	if made.Secret != "" {
		text += "\nclient_secret  " + made.Secret
	}
	return c.report(s, made, "%s", text)
}

type cscClientList struct {
	dataFlags
	outcome
}

// Run lists the applications.
func (c *cscClientList) Run(s *session, srv *server.Server) error {
	list, err := srv.CSCClients(s.ctx)
	if err != nil {
		return err
	}
	rows := [][]any{{"CLIENT_ID", "NAME", "CREATED", "REDIRECTS"}}
	for _, one := range list {
		rows = append(rows, []any{one.ID, one.Name, one.CreatedAt.Format(time.DateOnly), strings.Join(one.Redirects, " ")})
	}
	return c.table(s, list, rows)
}

type cscClientRemove struct {
	dataFlags
	outcome
	ID string `arg:"" help:"client_id of the application"`
}

// Run ends the application.
func (c *cscClientRemove) Run(s *session, srv *server.Server) error {
	if err := srv.RemoveCSCClient(s.ctx, c.ID); err != nil {
		return err
	}
	return c.report(s, map[string]any{"removed": c.ID}, "removed: %s", c.ID)
}
