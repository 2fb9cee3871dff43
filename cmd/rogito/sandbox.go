//go:build !files

package main

import (
	"errors"
	"strings"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupFiles, "sandbox", "print a sandbox's address, token and certificate for a shell", func() any { return &sandboxCommand{} })
}

type sandboxCommand struct {
	Data string `placeholder:"DIR" default:"data" help:"data folder of the sandbox"`
	JSON bool   `help:"print JSON"`
}

// Help is the page of the command.
func (sandboxCommand) Help() string {
	return example("What is in the sandbox's sandbox.json, as variables of a shell: URL, TOKEN, USERNAME and PASSWORD of the automatic certificate.",
		`eval "$(rogito sandbox)"`)
}

// Run prints assignments that a shell can take as they are.
func (c *sandboxCommand) Run(s *session) error {
	box := server.ReadSandbox(c.Data)
	if box == nil {
		return errors.New("there is no sandbox in " + c.Data + ": rogito serve makes one; --data names another folder")
	}
	cert := box.Certificates["automatic"]
	if c.JSON {
		return printJSON(s, map[string]string{"url": box.BaseURL, "token": box.Token, "username": cert.Username, "password": cert.Password})
	}
	for _, v := range [][2]string{{"URL", box.BaseURL}, {"TOKEN", box.Token}, {"USERNAME", cert.Username}, {"PASSWORD", cert.Password}} {
		s.printf("%s='%s'\n", v[0], strings.ReplaceAll(v[1], "'", `'\''`))
	}
	return nil
}
