package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/monitor"
	"rogito.dev/rogito/server/internal/publication"
)

// watchStorage registers checks of everything that this server must be able to write. They run
// for readiness, before work is claimed and before a key is used.
func (s *Server) watchStorage() {
	s.storing = []*monitor.Check{monitor.NewCheck("blobs", s.blobs.Ready), monitor.NewCheck("spool", s.spoolReady)}
	s.health.Add(monitor.NewCheck("database", s.db.Ready))
	for _, c := range s.storing {
		s.health.Add(c)
	}
}

// able returns why this server could not store a result now, or nil. Whether the database takes
// writes shows in the claim itself, and before a key is used.
func (s *Server) able(ctx context.Context) error {
	if err := s.db.Able(ctx); err != nil {
		return err
	}
	for _, c := range s.storing {
		if err := c.Ask(ctx); err != nil {
			return fault.Storage(fmt.Errorf("%s: %w", c.Name, err))
		}
	}
	return nil
}

// spoolSize is more than a file system sets aside for a new file.
const spoolSize = 64 << 10

// spoolReady says what keeps temporary files from being written.
func (s *Server) spoolReady(context.Context) error {
	f, err := os.CreateTemp(s.spool, "probe-*")
	if err != nil {
		return fault.Storage(fmt.Errorf("temporary files: %w", err))
	}
	_, err = f.Write(make([]byte, spoolSize))
	return fault.Storage(errors.Join(err, f.Close(), os.Remove(f.Name())))
}

// forgetKeys forgets idempotency keys past their day, old failures to sign in, and
// sessions of the console that are over.
func (s *Server) forgetKeys(ctx context.Context) error {
	return errors.Join(s.idempotency.Sweep(ctx), s.sig.keys.ForgetLocks(ctx), s.accounts.SweepSessions(ctx))
}

// sweepBlobs removes blobs without references.
func (s *Server) sweepBlobs(ctx context.Context) error {
	found, err := blob.Sweep(disk.Reclaiming(ctx), s.blobs, time.Now(), s.sig.signing.HoldsBlobs, s.sig.enroll.HoldsBlobs, s.sig.people.HoldsBlobs,
		func(ctx context.Context, ids []string) ([]string, error) {
			return publication.HoldsBlobs(ctx, s.db.Read(), ids)
		})
	if found.Removed > 0 {
		s.log.InfoContext(ctx, "removed blobs that nothing referred to", "blobs", found.Removed, "of", found.Seen)
	}
	if err != nil { // it comes again tomorrow, not at once
		s.log.ErrorContext(ctx, "sweep blobs", "error", err)
	}
	return nil
}
