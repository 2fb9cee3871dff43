package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/publication"
)

// storing knows what keeps this server from storing what it would make.
type storing struct {
	mu    sync.Mutex
	asked time.Time
	err   error
}

// able says what keeps this server from storing what it would make. A claim and the use
// of a key ask it first, so the blobs are asked at most once a second. That the database
// takes what is written shows in the claim itself.
func (s *Server) able(ctx context.Context) error {
	if err := s.db.Able(ctx); err != nil {
		return err
	}
	k := &s.storing
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.asked) < time.Second {
		return k.err
	}
	err := s.blobs.Ready(ctx)
	if ctx.Err() != nil {
		return ctx.Err() // says nothing about the blobs
	}
	k.asked, k.err = time.Now(), err
	return err
}

// forgetKeys forgets idempotency keys past their day, old failures to sign in, and
// sessions of the console that are over.
func (s *Server) forgetKeys(ctx context.Context) error {
	return errors.Join(s.idempotency.Sweep(ctx), s.sig.keys.ForgetLocks(ctx), s.accounts.SweepSessions(ctx))
}

// sweepBlobs removes blobs that nobody refers to.
func (s *Server) sweepBlobs(ctx context.Context) error {
	found, err := blob.Sweep(disk.Reclaiming(ctx), s.blobs, time.Now(), s.sig.signing.HoldsBlobs, s.sig.enroll.HoldsBlobs,
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
