//go:build !files

package main

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

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
wrong. Exports are verified without the server, several of them oldest first; who
distrusts the key inside gives the one they know with --key (it is at
/pki/audit.pub). With --continue
it begins at the last checkpoint that it proved before, and says so: what somebody
changed behind that since is then not found. See docs/audit.md.`,
		"rogito audit verify", "rogito audit verify --continue",
		"rogito audit export audit.jsonl.gz && rogito audit verify audit.jsonl.gz",
		"rogito audit export --since 120000 more.jsonl.gz && rogito audit verify audit.jsonl.gz more.jsonl.gz")
}

type auditVerify struct {
	dataFlags
	Exports  []string `arg:"" optional:"" type:"existingfile" help:"exports, oldest first; absent: the live log"`
	Key      string   `help:"public key that must have signed the checkpoints of an export"`
	JSON     bool     `help:"print JSON"`
	Continue bool     `help:"read only what was added since the log was last found good here, and the records it tells of"`
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
	if len(c.Exports) > 0 {
		var parts []io.Reader
		for _, name := range c.Exports {
			f, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			parts = append(parts, f)
		}
		return server.VerifyExport(c.Key, parts...)
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
	File  string `arg:"" optional:"" type:"path" help:"where to, compressed where the name ends in .gz; absent: standard output"`
	Since int64  `placeholder:"N" help:"only what came after the last checkpoint of at most N entries; 0 is the whole log"`
	JSON  bool   `help:"print where it is as JSON; the log itself is JSON in any case, one object a line"`
}

// Run writes the export.
func (c *auditExport) Run(s *session, srv *server.Server) error {
	if c.File == "" {
		return srv.ExportAudit(s.ctx, s.stdout, c.Since)
	}
	f, err := os.OpenFile(c.File, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(c.write(s, srv, f), f.Close()); err != nil {
		return err
	}
	return outcome{c.JSON}.report(s, map[string]any{"file": c.File}, "%s", c.File)
}

func (c *auditExport) write(s *session, srv *server.Server, w io.Writer) error {
	if !strings.HasSuffix(c.File, ".gz") {
		return srv.ExportAudit(s.ctx, w, c.Since)
	}
	packed := gzip.NewWriter(w)
	return errors.Join(srv.ExportAudit(s.ctx, packed, c.Since), packed.Close())
}
