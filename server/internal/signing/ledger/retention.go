package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// Erase removes a record with its files, details and personal data: the log keeps
// that it was there, the blobs go after the commit. One that had not ended gets its
// price back.
func (s *Ledger) Erase(ctx context.Context, r *Record, why string) error {
	ctx = disk.Reclaiming(ctx)
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		state, err := remove(ctx, tx, r.ID)
		if err != nil {
			return err
		}
		// Whether the price comes back is decided by the state that the record ended in.
		if !state.Final() {
			if err := s.Biller.Refund(ctx, tx, r.ChargeID); err != nil {
				return err
			}
		}
		if err := s.Biller.Forget(ctx, tx, r.ChargeID); err != nil {
			return err
		}
		if err := s.Callbacks.EraseRecord(ctx, tx, r.ID); err != nil {
			return err
		}
		return s.Audit.Erase(ctx, tx, r.AccountID, r.ID, why)
	})
	if err != nil {
		return err
	}
	s.DropBlobs(ctx, r.allFiles())
	return nil
}

// DropBlobs deletes blobs whose rows are gone; one that stays behind is found
// by the sweep of blobs.
func (s *Ledger) DropBlobs(ctx context.Context, files []*File) {
	seen := map[string]bool{"": true}
	for _, f := range files {
		if seen[f.Blob] {
			continue
		}
		seen[f.Blob] = true
		if err := s.Blobs.Delete(ctx, f.Blob); err != nil {
			s.Log.WarnContext(ctx, "delete a document", "blob", f.Blob, "error", err)
		}
	}
}

// Retain removes files after their retention, and records after theirs, until
// none is left.
func (s *Ledger) Retain(ctx context.Context) error {
	ctx = disk.Reclaiming(ctx)
	now := s.Now()
	err := s.untilNone(ctx, selectOldFiles, now, s.dropFiles)
	return errors.Join(err, s.untilNone(ctx, selectOldRecords, now.Add(-s.KeepRecords), func(ctx context.Context, r *Record) error {
		return s.Erase(ctx, r, "record removed at the end of its retention")
	}))
}

// retainedAtOnce is how many records are worked on together: they share commits,
// and removing is as quick as signing.
const retainedAtOnce = 16

// untilNone has every record of a query worked on, which then is not in it any
// more. One that cannot be is passed over, and told of.
func (s *Ledger) untilNone(ctx context.Context, query string, before time.Time, do func(context.Context, *Record) error) error {
	failed := map[string]error{}
	var mu sync.Mutex
	for {
		ids, err := s.ids(ctx, query, before, 1000+len(failed))
		if err != nil {
			return err
		}
		ids = slices.DeleteFunc(ids, func(id string) bool { return failed[id] != nil })
		if len(ids) == 0 {
			return errors.Join(slices.Collect(maps.Values(failed))...)
		}
		var all errgroup.Group
		all.SetLimit(retainedAtOnce)
		for _, id := range ids {
			all.Go(func() error {
				r, err := s.ByID(ctx, id)
				if err == nil {
					err = do(ctx, r)
				}
				if err != nil && !errors.Is(err, fault.NotFound) {
					mu.Lock()
					defer mu.Unlock()
					failed[id] = fmt.Errorf("record %s: %w", id, err)
				}
				return ctx.Err()
			})
		}
		if err := all.Wait(); err != nil {
			return err
		}
		if len(failed) >= 1000 {
			return errors.Join(slices.Collect(maps.Values(failed))[:10]...)
		}
	}
}

func (s *Ledger) dropFiles(ctx context.Context, r *Record) error {
	err := s.DB.Write(ctx, func(tx *store.Tx) error { return s.forgetFiles(ctx, tx, r, s.Now()) })
	if err != nil {
		return err
	}
	s.DropBlobs(ctx, append(r.files(), r.Work...))
	return nil
}
