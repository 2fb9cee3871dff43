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
A provider of kind csc keeps keys that sign here (docs/remote-keys.md). The test
asks what it is (info), gets a token, lists the credentials and describes each.
Nothing is signed.`,
		"rogito provider test trust-provider",
		"rogito provider test trust-provider --json")
}

type providerTest struct {
	dataFlags
	Name string `arg:"" help:"name of the provider in the configuration (signing.providers)"`
	JSON bool   `help:"one JSON object a line"`
}

// Run tests a provider.
func (c *providerTest) Run(s *session, srv *server.Server) error {
	found, err := srv.CheckProvider(s.ctx, c.Name)
	if err != nil {
		return err
	}
	return printFindings(s, found, c.JSON)
}
