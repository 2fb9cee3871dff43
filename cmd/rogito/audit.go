//go:build !files

package main

import (
	"encoding/json"
	"errors"
	"os"

	"rogito.dev/rogito/server"
)

func init() {
	add(groupCare, "audit", "the audit log: verify it, export it", func() any { return &auditCommand{} })
}

type auditCommand struct {
	Verify auditVerify `cmd:"" help:"verify the live log, or an export"`
	Export auditExport `cmd:"" help:"write the log out, for verification elsewhere"`
}

// Help is the page of the command.
func (auditCommand) Help() string {
	return example(`
The audit log is a tree of digests, authenticated under the master key, with
signed and time-stamped checkpoints that are witnessed outside the database: in
the file audit/witness of the data folder and, where configured (audit.bucket,
audit.timestamp_url), in a bucket with object lock and by an outside time-stamp
authority. Verification recomputes it from its entries, holds it against the
witnesses and the records, names the first entry that was changed, removed, moved
or added, and says what it could prove and what not. It exits 1 if anything is
wrong. An export is verified without the server; who distrusts the key inside
gives the one they know with --key (it is at /pki/audit.pub). With --continue
it begins at the last checkpoint that it proved before, and says so: what somebody
changed behind that since is then not found. See docs/audit.md.`,
		"rogito audit verify", "rogito audit verify --continue",
		"rogito audit export audit.jsonl && rogito audit verify audit.jsonl")
}

type auditVerify struct {
	dataFlags
	Export   string `arg:"" optional:"" type:"existingfile" help:"an export; absent: the live log"`
	Key      string `help:"public key that must have signed the checkpoints of an export"`
	JSON     bool   `help:"print JSON"`
	Continue bool   `help:"read only what was added since the log was last found good here, and the records it tells of"`
}

// Run verifies; a bad entry is exit status 1.
func (c *auditVerify) Run(s *session) error {
	res, err := c.verify(s)
	if err != nil {
		return err
	}
	if c.JSON {
		if err := json.NewEncoder(s.stdout).Encode(res); err != nil {
			return err
		}
	}
	if res.Bad != nil {
		return exit{code: 1, err: res.Bad}
	}
	if !c.JSON {
		s.printf("good: %d entries (%d erased, %d waiting), %d checkpoints, %d of them time-stamped\n", res.Entries, res.Erased, res.Pending, res.Checkpoints, res.Stamped)
		for _, line := range res.Proved {
			s.printf("proved: %s\n", line)
		}
		for _, line := range res.Unproved {
			s.printf("not proved: %s\n", line)
		}
	}
	return nil
}

func (c *auditVerify) verify(s *session) (*server.AuditResult, error) {
	if c.Export != "" {
		f, err := os.Open(c.Export)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return server.VerifyExport(f, c.Key)
	}
	srv, err := c.ProvideServer(s)
	if err != nil {
		return nil, err
	}
	if c.Continue {
		return srv.ContinueAudit(s.ctx)
	}
	return srv.VerifyAudit(s.ctx)
}

type auditExport struct {
	dataFlags
	File string `arg:"" optional:"" type:"path" help:"where to; absent: standard output"`
	JSON bool   `help:"print where it is as JSON; the log itself is JSON in any case, one object a line"`
}

// Run writes the export.
func (c *auditExport) Run(s *session, srv *server.Server) error {
	if c.File == "" {
		return srv.ExportAudit(s.ctx, s.stdout)
	}
	f, err := os.OpenFile(c.File, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(srv.ExportAudit(s.ctx, f), f.Close()); err != nil {
		return err
	}
	return outcome{c.JSON}.told(s, map[string]any{"file": c.File}, "%s", c.File)
}
