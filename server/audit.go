package server

import (
	"context"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/tsp"
)

// AuditResult is what a verification of the audit log found.
type AuditResult = audit.Result

// VerifyAudit verifies the audit log of this installation.
func (s *Server) VerifyAudit(ctx context.Context) (*AuditResult, error) {
	live, err := s.liveAudit()
	if err != nil {
		return nil, err
	}
	return audit.Verify(ctx, live, checkToken)
}

// ExportAudit writes the audit log, for verification elsewhere. A checkpoint
// is made first, so that the export is covered to its end.
func (s *Server) ExportAudit(ctx context.Context, w io.Writer) error {
	if _, err := s.sig.audit.Sequence(ctx); err != nil {
		return err
	}
	if _, err := s.checkpointer().Make(ctx); err != nil {
		return err
	}
	live, err := s.liveAudit()
	if err != nil {
		return err
	}
	return audit.Export(ctx, live, w)
}

func (s *Server) liveAudit() (*audit.Live, error) {
	filed, err := audit.ReadFile(s.checkpointFile())
	if err != nil {
		return nil, err
	}
	return &audit.Live{Log: s.sig.audit, Public: s.sig.authority.AuditKey(), Extra: filed}, nil
}

// VerifyExport verifies an export of an audit log. Where a key is given, the
// export must be signed by it.
func VerifyExport(ctx context.Context, r io.Reader, key string) (*AuditResult, error) {
	x, err := audit.ReadExport(r)
	if err != nil {
		return nil, err
	}
	if key != "" && key != x.Key() {
		return nil, errors.New("the export names another key than the one given")
	}
	return audit.Verify(ctx, x, checkToken)
}

// checkToken holds a time-stamp token against a digest.
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
