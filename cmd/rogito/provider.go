//go:build !files

package main

import (
	"rogito.dev/rogito/server"
)

func init() {
	add(groupPeople, "provider", "providers of remote keys: test", func() any { return &providerCommand{} })
}

type providerCommand struct {
	Test providerTest `cmd:"" help:"walk what a provider of remote keys offers, and say what is missing"`
}

// Help is the page of the command.
func (providerCommand) Help() string {
	return example(`
A provider keeps keys that sign here (docs/providers.md). The test asks one of
kind csc what it is (info), gets a token, lists the credentials and describes
each. One of kind arss or sws it asks whether it is there and what it is; with
--username it reads the certificate of that key. Nothing is signed unless --sign
asks for one signature over a random digest, which the provider may count.`,
		"rogito provider test trust-provider",
		"rogito provider test namirial --username AHI1234567 --password-file password --sign",
		"rogito provider test trust-provider --json")
}

type providerTest struct {
	dataFlags
	Name string `arg:"" help:"name of the provider in the configuration (signing.providers)"`
	JSON bool   `help:"one JSON object a line"`

	Username             string `placeholder:"USER" help:"look at this key too (kinds arss and sws)"`
	PasswordFile         string `type:"existingfile" placeholder:"FILE" help:"file with its password; with --delegate and no other file, that of the delegate"`
	Delegate             string `placeholder:"USER" help:"who uses the key in place of its holder (ARSS)"`
	DelegatePasswordFile string `type:"existingfile" placeholder:"FILE" help:"file with the delegate's password"`
	OTP                  string `name:"otp" placeholder:"CODE" help:"one-time password, of a key that is used with one"`
	Sign                 bool   `help:"have one random digest signed"`
}

// keyPasswords reads what a key at a provider is used with. With a delegate and one file, that has
// the delegate's password.
func keyPasswords(file, delegate, delegateFile string) (key, delegates string, err error) {
	if key, err = secretFile(file); err == nil {
		delegates, err = secretFile(delegateFile)
	}
	if delegate != "" && delegates == "" {
		key, delegates = "", key
	}
	return key, delegates, err
}

// Run tests a provider.
func (c *providerTest) Run(s *session, srv *server.Server) error {
	k := server.ProviderKey{Username: c.Username, Delegate: c.Delegate, OTP: c.OTP, Sign: c.Sign}
	var err error
	if k.Password, k.DelegatePassword, err = keyPasswords(c.PasswordFile, c.Delegate, c.DelegatePasswordFile); err != nil {
		return err
	}
	found, err := srv.CheckProvider(s.ctx, c.Name, k)
	if err != nil {
		return err
	}
	return printFindings(s, found, c.JSON)
}
