//go:build !files

package main

import (
	"encoding/json"
	"time"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupPeople, "console", "log a browser in to the pages under /console", func() any { return &consoleCommand{} })
}

type consoleCommand struct {
	Login consoleLogin `cmd:"" help:"print a link that logs a browser in, once"`
}

// Help is the page of the command.
func (consoleCommand) Help() string {
	return example(`
The pages under /console sign documents and show records, certificates, the
account and, to administrators, the health of the server. A browser logs in
there with a token, or with the link that this command prints: it is good once,
for ten minutes, and for everything that the account may do. Without an e-mail it
is for the sandbox's account, or the only one that there is.`,
		"rogito console login",
		"rogito console login anna@example.org")
}

type consoleLogin struct {
	dataFlags
	Email string `arg:"" optional:"" help:"e-mail of the account"`
	JSON  bool   `help:"print JSON"`
}

// Run makes the link.
func (c *consoleLogin) Run(s *session, srv *server.Server) error {
	link, err := srv.ConsoleLogin(s.ctx, c.Email)
	if err != nil {
		return err
	}
	return printLink(s, link, c.JSON)
}

func printLink(s *session, link *server.ConsoleLink, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.stdout).Encode(link)
	}
	s.printf("%s\n", link.URL)
	s.notef("logs %s in, once, until %s", link.Email, link.Until.Format(time.TimeOnly))
	return nil
}
