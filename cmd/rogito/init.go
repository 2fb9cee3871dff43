//go:build !files

package main

import (
	"encoding/json"
	"errors"
	"os"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupServe, "init", "make a production installation: master key and first administrator", func() any { return &initCommand{} })
	add(groupCare, "master-key", "rotate the master key", func() any { return &masterKeyCommand{} })
}

type initCommand struct {
	dataFlags
	Email string `arg:"" help:"e-mail of the first administrator"`
	outcome
	IfNew bool   `name:"if-new" help:"do nothing where the installation is made already, instead of refusing"`
	Out   string `placeholder:"FILE" help:"write the secrets to a new file that only you can read, as JSON, and print none"`
}

// Help is the page of the command.
func (c *initCommand) Help() string {
	return example(`
Makes the master key and the first administrator of a production installation,
and prints the administrator's API key and token. They are shown this once. With
--out they go to a file: where standard output is a log, others read it.

Keep a copy of the master key apart from the backups of the data: without it
nothing that is sealed can be read.`,
		"rogito init --data /var/lib/rogito admin@example.org",
		"rogito serve --production --data /var/lib/rogito")
}

// Run makes the installation.
func (c *initCommand) Run(s *session, srv *server.Server) error {
	if c.IfNew {
		if some, err := srv.Initialised(s.ctx); some || err != nil {
			return err
		}
	}
	var out *os.File
	if c.Out != "" { // before anything is made whose secrets would have no place
		var err error
		if out, err = os.OpenFile(c.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
			return err
		}
	}
	made, err := srv.Init(s.ctx, c.Email)
	if err != nil {
		if out != nil {
			err = errors.Join(err, out.Close(), os.Remove(c.Out))
		}
		return err
	}
	s.notef("the master key is %s: keep a copy in a safe place", srv.MasterKeyPlace())
	if out != nil {
		return errors.Join(json.NewEncoder(out).Encode(made), out.Close())
	}
	return printAccount(s, made, c.outcome)
}

// printAccount shows the secrets of a new account.
func printAccount(s *session, a *server.NewAccount, o outcome) error {
	return o.report(s, a, "email:   %s\napi_key: %s\ntoken:   %s", a.Email, a.APIKey, a.Token)
}

type masterKeyCommand struct {
	Rotate masterKeyRotateCommand `cmd:"" help:"make a new master key and seal everything under it"`
}

// Help is the page of the command.
func (c *masterKeyCommand) Help() string {
	return example(`
Everything sealed stays readable: only one key is wrapped anew. Servers that run
go on; where the key's file is not shared, bring the new one to every machine
before its next start. Old backups need the old key: keep it with them.

A key that master.command prints, or that is in the environment, cannot be
written from here: make the new one (openssl rand -hex 32), store it in the vault
beside the old one, name a file of it with --to, then let the command print it.`,
		"rogito master-key rotate --data ./data")
}

type masterKeyRotateCommand struct {
	To string `placeholder:"FILE" help:"the new key, where the old one comes from ROGITO_MASTER_KEY or master.command: made and stored there by you before"`
	dataFlags
	outcome
}

// Run rotates the key.
func (c *masterKeyRotateCommand) Run(s *session, srv *server.Server) error {
	id, err := srv.RotateMasterKey(s.ctx, c.To)
	if err != nil {
		return err
	}
	file := srv.MasterKeyPlace()
	return c.report(s, map[string]any{"id": id, "file": file}, "the master key is now %s: %s", id, file)
}
