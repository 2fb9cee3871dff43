//go:build !files

package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupPeople, "identify", "identification: evidence, SPID metadata, checks of what it depends on", func() any { return &identifyCommand{} })
}

type identifyCommand struct {
	Evidence identifyEvidence `cmd:"" help:"show what is kept of the identification of an order"`
	Erase    identifyErase    `cmd:"" help:"erase it"`
	Spid     identifySPID     `cmd:"" name:"spid" help:"what SPID asks for"`
	Test     identifyTest     `cmd:"" help:"check what a method depends on: keys, certificates, providers"`
}

// Help is the page of the command.
func (identifyCommand) Help() string {
	return example(`
What an operator needs for SPID, CIE and CNS. docs/identification.md says what to
agree with whom, how to begin, how to replace keys, what is kept and for how
long. Evidence has what a provider said of a person: handle it as such.`,
		"rogito identify test spid",
		"rogito identify spid metadata > metadata.xml",
		"rogito identify evidence 65c0ffee65c0ffee65c0ffee --json")
}

type identifyEvidence struct {
	dataFlags
	Order string `arg:"" help:"id of the certificate that was ordered"`
	JSON  bool   `help:"print JSON, with the files as base64"`
}

// Run prints the evidence.
func (c *identifyEvidence) Run(s *session, srv *server.Server) error {
	kept, err := srv.Evidence(s.ctx, c.Order)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(kept)
	}
	w := tabwriter.NewWriter(s.text(), 0, 4, 2, ' ', 0)
	for _, row := range [][2]string{{"method", kept.Method}, {"issuer", kept.Issuer}, {"level", kept.Level}, {"at", kept.At.UTC().Format(time.RFC3339)}, {"request", kept.Request}} {
		printRow(w, row[0], row[1])
	}
	for _, f := range kept.Files {
		printRow(w, "file", fmt.Sprintf("%s (%d bytes)", f.Name, len(f.Content)))
	}
	return w.Flush()
}

type identifyErase struct {
	dataFlags
	outcome
	Order string `arg:"" help:"id of the certificate that was ordered"`
}

// Run erases the evidence.
func (c *identifyErase) Run(s *session, srv *server.Server) error {
	if err := srv.EraseEvidence(s.ctx, c.Order); err != nil {
		return err
	}
	return c.report(s, map[string]any{"erased": c.Order}, "erased")
}

type identifySPID struct {
	Metadata identifyMetadata `cmd:"" help:"print the signed metadata of this service provider, as AgID wants it"`
}

type identifyMetadata struct{ dataFlags }

// Run prints the metadata.
func (c *identifyMetadata) Run(s *session, srv *server.Server) error {
	b, err := srv.SPIDMetadata()
	if err != nil {
		return err
	}
	_, err = s.stdout.Write(b)
	return err
}

type identifyTest struct {
	dataFlags
	Name string `arg:"" enum:"spid,cie,cns" help:"spid, cie or cns"`
	JSON bool   `help:"one JSON object a line"`
}

// Run checks a method.
func (c *identifyTest) Run(s *session, srv *server.Server) error {
	found, err := srv.CheckIdentification(s.ctx, c.Name)
	if err != nil {
		return err
	}
	return printFindings(s, found, c.JSON)
}

// state prints how bad a finding is, and makes it a column.
func (s *session) state(f server.Finding) {
	s.colour(map[string]int{server.FindingBad: exitInvalid, server.FindingWarning: exitUndetermined}[f.State], f.State)
	s.printf("%*s", 9-len(f.State), "")
}

// printFindings prints what a check found; something bad is exit code 1.
func printFindings(s *session, found []server.Finding, asJSON bool) error {
	sick := false
	for _, f := range found {
		sick = sick || f.State == server.FindingBad
		if asJSON {
			if err := json.NewEncoder(s.stdout).Encode(f); err != nil {
				return err
			}
			continue
		}
		s.state(f)
		s.printf("%-24s %s\n", f.Part, f.Text)
	}
	if sick {
		return exit{code: 1}
	}
	return nil
}
