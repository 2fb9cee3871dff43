package main

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

const intro = `Rogito signs documents, verifies signatures and looks up Italian real-estate
quotations: on files, without a server, or as a service over HTTP.`

// start says where to begin; a build for files only says what it is.
var start = `
This build works on files (-tags files). The server, accounts, certificates and
quotations are in the whole program: go build ./cmd/rogito.
`

const more = `
"rogito help COMMAND" tells more, "rogito man COMMAND" as a manual page;
"rogito --version" says which version this is.
`

func init() {
	add(groupCare, "help", "what this program can do", func() any { return &helpCommand{} })
}

type helpCommand struct {
	Command []string `arg:"" optional:"" help:"the command to explain"`
}

func (c *helpCommand) Run(s *session) error {
	if len(c.Command) > 0 {
		if code := run(s, append(c.Command, "--help")); code != exitOK {
			return exit{code: code}
		}
		return nil
	}
	s.printf("%s\n\nUsage: rogito COMMAND [ARGUMENTS]\n", intro)
	group := ""
	for _, cmd := range sorted(commands) {
		if cmd.group != group {
			group = cmd.group
			s.printf("\n%s\n", group)
		}
		s.printf("  %-14s %s\n", cmd.name, cmd.summary)
	}
	s.printf("%s%s", start, more)
	return nil
}

// printHelp writes the page of one command: usage, prose, arguments and flags.
// For the program itself it is the same as "rogito help".
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if ctx.Selected() == nil {
		return (&helpCommand{}).Run(&session{stdout: ctx.Stdout, stderr: ctx.Stderr})
	}
	return kong.DefaultHelpPrinter(options, ctx)
}

// example writes prose and a worked example, for the Help method of commands.
func example(prose string, lines ...string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(prose))
	b.WriteString("\n\nExample:\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "\n    %s", l)
	}
	return b.String()
}
