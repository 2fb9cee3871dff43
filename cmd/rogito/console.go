//go:build !files

package main

import (
	"time"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupPeople, "console", "log a browser in to the pages under /console", func() any { return &consoleCommand{} })
}

type consoleCommand struct {
	Login  consoleLogin  `cmd:"" help:"print a link that logs a browser in, once"`
	Invite consoleInvite `cmd:"" help:"invite a person to the console of an account"`
}

// Help is the page of the command.
func (consoleCommand) Help() string {
	return example(`
The pages under /console sign documents and show records, certificates, the
account and, to administrators, the health of the server. A browser logs in
there with a token, or with the link that this command prints: it is good once,
for ten minutes, and for everything that the account may do. Without an e-mail it
is for the sandbox's account, or the only one that there is.

People log in with a passkey, or a password and a code. The first of them is
invited here, as an owner, and invites the others in the console.`,
		"rogito console login",
		"rogito console login anna@example.org",
		"rogito console invite anna@example.org --role owner")
}

type consoleLogin struct {
	dataFlags
	Email string `arg:"" optional:"" help:"e-mail of the account"`
	outcome
}

// Run makes the link.
func (c *consoleLogin) Run(s *session, srv *server.Server) error {
	link, err := srv.ConsoleLogin(s.ctx, c.Email)
	if err != nil {
		return err
	}
	return printLink(s, link, c.outcome)
}

type consoleInvite struct {
	dataFlags
	Email string `arg:"" help:"e-mail of the person"`
	Role  string `required:"" enum:"owner,signer,reviewer,reader" placeholder:"ROLE" help:"owner (everything), signer (signs and invites), reviewer (decides on identifications) or reader"`
	Of    string `name:"account" placeholder:"EMAIL" help:"e-mail of the account; without it the sandbox's, or the only one"`
	Name  string `help:"of the person"`
	outcome
}

// Help is the page of the command.
func (consoleInvite) Help() string {
	return example(`
Makes a link that lets somebody choose a passkey, or a password and a code, and
log in to the console. It is good once, for a day. Where the server sends mail
the running server sends it; it is printed in any case. Whoever was invited
before, with the same role, gets a new link, and chooses anew.`,
		"rogito console invite anna@example.org --role owner",
		"rogito console invite ugo@example.org --role signer --account anna@example.org")
}

// Run invites.
func (c *consoleInvite) Run(s *session, srv *server.Server) error {
	i, err := srv.ConsoleInvite(s.ctx, c.Email, c.Name, c.Role, c.Of)
	if err != nil {
		return err
	}
	err = c.report(s, i, "%s", i.URL)
	if !c.JSON {
		s.notef("lets %s in to the account of %s as %s, once, until %s", i.Email, i.Account, i.Role, i.Until.Format(time.DateTime))
	}
	return err
}

func printLink(s *session, link *server.ConsoleLink, o outcome) error {
	err := o.report(s, link, "%s", link.URL)
	if !o.JSON {
		s.notef("logs %s in, once, until %s", link.Email, link.Until.Format(time.TimeOnly))
	}
	return err
}
