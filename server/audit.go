package server

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"rogito.dev/rogito/internal/version"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/completion"
	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/tsp"
)

// AuditResult is what a verification of the audit log found.
type AuditResult = audit.Result

// VerifyAudit verifies the audit log of this installation, all of it.
func (s *Server) VerifyAudit(ctx context.Context) (*AuditResult, error) {
	return s.verifyAudit(ctx, audit.Whole)
}

// ContinueAudit verifies what was added to the audit log since it was last found
// good here, and says so.
func (s *Server) ContinueAudit(ctx context.Context) (*AuditResult, error) {
	return s.verifyAudit(ctx, audit.SinceProved)
}

func (s *Server) verifyAudit(ctx context.Context, extent audit.Extent) (*AuditResult, error) {
	settled, err := s.sig.authority.Settled(ctx)
	if err != nil {
		return nil, err
	}
	k := s.checkpointer()
	live := &audit.Live{
		Log: k.Log, Public: k.Public, File: k.File, Bucket: k.Bucket, Check: checkToken,
		Books: []audit.Book{
			account.Book{Service: s.accounts},
			ledger.Book{Ledger: s.sig.signing.Ledger},
			enroll.Book{Service: s.sig.enroll},
			enroll.IssuedBook{Service: s.sig.enroll},
			keys.Book{},
			account.Tokens, account.Spent, enroll.Clients, cscserver.Applications, callback.Secrets, people.Templates, member.Members,
		},
		Proof: filepath.Join(s.cfg.Data, "audit", "proved"),
	}
	if settled {
		live.Books = append(live.Books, authority.Keys, authority.Own)
	}
	return live.Verify(ctx, extent)
}

// ExportAudit writes the audit log, for verification elsewhere: from the newest
// checkpoint of at most since entries, or all of it.
func (s *Server) ExportAudit(ctx context.Context, w io.Writer, since int64) error {
	return s.checkpointer().Export(ctx, w, since)
}

// VerifyExport verifies exports of an audit log, oldest first, compressed or not.
// Where a key is given, they must be signed by it.
func VerifyExport(key string, exports ...io.Reader) (*AuditResult, error) {
	parts := make([]io.Reader, len(exports))
	for i, r := range exports {
		in := bufio.NewReader(r)
		parts[i] = in
		if start, err := in.Peek(2); err == nil && start[0] == 0x1f && start[1] == 0x8b {
			if parts[i], err = gzip.NewReader(in); err != nil {
				return nil, fmt.Errorf("audit: export: %w", err)
			}
		}
	}
	return audit.VerifyExport(key, checkToken, parts...)
}

// checkpointer makes the checkpoints of the audit log and has them witnessed.
func (s *Server) checkpointer() *audit.Checkpointer {
	k := &audit.Checkpointer{
		Log: s.sig.audit, Signer: s.sig.authority.AuditSigner(), Public: s.sig.authority.AuditKey(),
		Stamper: s.sig.authority.Stamper(), File: &audit.File{Path: filepath.Join(s.cfg.Data, "audit", "witness")}, Warn: s.log,
		Failed: s.metrics.CheckpointFailed,
	}
	if s.cfg.Audit.TimestampURL != "" {
		k.Authority = s.stamper(s.cfg.Audit.TimestampURL)
	}
	if s.cfg.Audit.Bucket != "" {
		where := s.cfg.blobs(s.spool)
		where.Location = s.cfg.Audit.Bucket
		k.Bucket, k.Lock = &lockedBucket{config: where}, s.cfg.Audit.Lock
	}
	return k
}

// beginAudit makes the first checkpoint of a new log. Where the log does not match the witness
// file the server logs it and starts all the same; verification will fail.
func (s *Server) beginAudit(ctx context.Context) error {
	err := s.checkpointer().Begin(ctx)
	if errors.Is(err, audit.ErrWitness) {
		s.log.ErrorContext(ctx, "the audit log was replaced", "error", err)
		return nil
	}
	return err
}

// lockedBucket opens the witness bucket on first use, so that an unreachable bucket does not
// keep the server from signing.
type lockedBucket struct {
	config blob.Config
	mu     sync.Mutex
	opened *blob.Locked
}

func (b *lockedBucket) open(ctx context.Context) (*blob.Locked, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.opened != nil {
		return b.opened, nil
	}
	var err error
	b.opened, err = blob.OpenLocked(ctx, b.config)
	return b.opened, err
}

// Put stores an object.
func (b *lockedBucket) Put(ctx context.Context, name string, data []byte, until time.Time) error {
	l, err := b.open(ctx)
	if err != nil {
		return err
	}
	return l.Put(ctx, name, data, until)
}

// Each reads all objects.
func (b *lockedBucket) Each(ctx context.Context, fn func(name string, data []byte) error) error {
	l, err := b.open(ctx)
	if err != nil {
		return err
	}
	return l.Each(ctx, fn)
}

// checkToken checks that a time-stamp token is for a digest.
func checkToken(token, digest []byte) error {
	t, err := tsp.Parse(token)
	if err != nil {
		return err
	}
	h, ok := t.Hash()
	if !ok {
		return fmt.Errorf("imprint algorithm %s is not known", t.Algorithm)
	}
	return t.Check(&tsp.Request{Hash: h, Digest: digest})
}

// completion writes the audit of a record for people.
func (s *Server) completion() *completion.Certificates {
	w := &s.sig
	check := func(record string) string { return s.cfg.PublicURL + "/signatures/" + record + "/audit" }
	switch {
	case s.cfg.Console.Enabled && s.publicCheck():
		check = func(string) string { return s.cfg.PublicURL + "/check" }
	case s.cfg.Console.Enabled:
		check = func(record string) string { return s.cfg.PublicURL + "/console/records/" + record }
	}
	return &completion.Certificates{
		Signing: w.signing, Enroll: w.enroll, Verifier: w.verifier, Seal: w.authority.Seal, Chain: w.authority.Chain(),
		Stamper: s.stamper(s.cfg.Signing.TimestampURL), Gatherer: s.gatherer(), AuditKey: w.authority.AuditKey(), Check: check,
		Producer: "Rogito " + version.Number, Sandbox: s.sandboxed, Zone: s.zone(), Spool: s.spool, Now: time.Now, Log: s.log,
	}
}
