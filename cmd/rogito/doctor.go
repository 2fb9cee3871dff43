//go:build !files

package main

import (
	"encoding/json"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupCare, "doctor", "examine an installation and say what to do", func() any { return &doctorCommand{} })
}

type doctorCommand struct {
	dataFlags
	JSON  bool `help:"one JSON object a line"`
	Quick bool `help:"look whether the documents of all records are there, and do not read them"`
}

// Help is the page of the command.
func (c *doctorCommand) Help() string {
	return example(`
Looks at configuration, data folder, disk space, clock, master key, database,
blobs, the embedded authority with its keys and lists, certificates and their
signing keys, the documents of all records, the audit log and publications, and
says what to do about what it does not like. It works beside a running server.
Every stored document is read, which takes its time where there are many:
--quick only looks whether they are there. Exits 0 if nothing is bad, 1
otherwise.`,
		"rogito doctor --data ./data", "rogito doctor --quick --json")
}

// Run examines.
func (c *doctorCommand) Run(s *session) error {
	cfg, err := c.load(s)
	if err != nil {
		return err
	}
	cfg.Log.Level = "error"
	sick := false
	for _, f := range server.Doctor(s.ctx, cfg, server.DoctorOptions{Quick: c.Quick}) {
		sick = sick || f.State == server.FindingBad
		if c.JSON {
			if err := json.NewEncoder(s.stdout).Encode(f); err != nil {
				return err
			}
			continue
		}
		s.state(f)
		s.printf("%-14s %s\n", f.Part, f.Text)
		if !f.Advice.IsZero() {
			s.printf("%-8s %-14s → %s\n", "", "", f.Advice)
		}
	}
	if sick {
		return exit{code: 1}
	}
	return nil
}
