package signing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// Delete removes the files, details and personal data of a record. A tombstone
// stays, and the audit log still verifies. No key is used for the record any
// more when it returns.
func (s *Service) Delete(ctx context.Context, account, id string) error {
	r, err := s.Find(ctx, account, id)
	if err != nil {
		return err
	}
	if err := s.erase(ctx, r, "record deleted by its owner"); err != nil {
		return err
	}
	return intent.Wait(ctx, s.db, intent.Record, r.ID)
}

// erase does it: the row becomes a tombstone, the blobs go after the commit.
func (s *Service) erase(ctx context.Context, r *Record, why string) error {
	ctx = disk.Reclaiming(ctx)
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		// Whether the price comes back is decided by the state that the record ends in.
		var state State
		err := tx.QueryRow(ctx, `update signatures set deleted_at = $1, updated_at = $1, title = '', description = '', caller_address = '', options = '{}', secret = null,
				callback = null, error_message = '', signer = '', evidence = '', approval = '', lease_by = '', lease_until = 0 where id = $2 and `+only(`deleted_at = 0`)+` returning state`,
			store.Millis(s.config.Now()), r.ID).Scan(&state)
		if errors.Is(err, store.ErrNoRows) {
			return fault.New(fault.NotFound, "no such signature")
		}
		if err != nil {
			return fmt.Errorf("signing: erase: %w", err)
		}
		if !state.Final() && r.chargeID != "" {
			if err := s.biller.Refund(ctx, tx, r.chargeID); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, `delete from signature_files where signature_id = $1`, r.ID); err != nil {
			return err
		}
		if err := s.callbacks.EraseRecord(ctx, tx, r.ID); err != nil {
			return err
		}
		return s.audit.Erase(ctx, tx, r.AccountID, r.ID, why)
	})
	if err != nil {
		return err
	}
	s.dropBlobs(ctx, r.files())
	return nil
}

// dropBlobs deletes blobs whose rows are gone; one that stays behind is found
// by the sweep of blobs.
func (s *Service) dropBlobs(ctx context.Context, files []*File) {
	seen := map[string]bool{"": true}
	for _, f := range files {
		if seen[f.blob] {
			continue
		}
		seen[f.blob] = true
		if err := s.blobs.Delete(ctx, f.blob); err != nil {
			s.config.Log.WarnContext(ctx, "delete a document", "blob", f.blob, "error", err)
		}
	}
}

// Sweep ends the records whose approval never came.
func (s *Service) Sweep(ctx context.Context) error { return s.expireApprovals(ctx) }

func (s *Service) ids(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.db.Read().Query(ctx, query, args...)
	return store.All("signing: sweep", rows, err, store.Column[string])
}

func (s *Service) expireApprovals(ctx context.Context) error {
	ids, err := s.ids(ctx, lateApprovals+` limit 1000`, store.Millis(s.config.Now()))
	if err != nil {
		return err
	}
	for _, id := range ids {
		r, err := s.byID(ctx, id)
		if err == nil {
			err = s.endUnapproved(ctx, r, "the approval was not given in time")
		}
		var f *fault.Error
		if err != nil && !errors.As(err, &f) {
			return err
		}
	}
	return nil
}

// What sweeps look for, each out of an index of its own. That an approval is late
// is not said by isWaiting: SQLite would take the index of all that waits, and look
// at each of them.
var (
	lateApprovals = `select id from signatures where approval = 'WAITING' and deleted_at = 0 and not ` + isEnded + ` and approval_until < $1`
	oldFiles      = `select id from signatures where files_until > 0 and files_until < $1 and ` + isEnded + ` and deleted_at = 0`
	oldRecords    = `select id from signatures where created_at < $1 and ` + isEnded + ` and deleted_at = 0`
)

// Retain removes files after their retention, and records after theirs, until
// none is left.
func (s *Service) Retain(ctx context.Context) error {
	ctx = disk.Reclaiming(ctx)
	now := s.config.Now()
	err := s.untilNone(ctx, oldFiles, store.Millis(now), s.dropFiles)
	return errors.Join(err, s.untilNone(ctx, oldRecords, store.Millis(now.Add(-s.config.KeepRecords)), func(ctx context.Context, r *Record) error {
		return s.erase(ctx, r, "record removed at the end of its retention")
	}))
}

// retainedAtOnce is how many records are worked on together: they share commits,
// and removing is as quick as signing.
const retainedAtOnce = 16

// untilNone has every record of a query worked on, which then is not in it any
// more. One that cannot be is passed over, and told of.
func (s *Service) untilNone(ctx context.Context, query string, arg any, do func(context.Context, *Record) error) error {
	failed := map[string]error{}
	var mu sync.Mutex
	for {
		ids, err := s.ids(ctx, fmt.Sprintf(`%s limit %d`, query, 1000+len(failed)), arg)
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
				r, err := s.byID(ctx, id)
				if err == nil {
					err = do(ctx, r)
				}
				if err != nil && !isGone(err) {
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

// retained is what the log tells of documents that were deleted: until when they
// were to be kept, as the row said then.
type retained struct {
	Until int64 `json:"until"`
}

func (s *Service) dropFiles(ctx context.Context, r *Record) error {
	x := &run{Service: s, record: r}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `update signatures set files_until = -abs(files_until) where id = $1`, r.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update signature_files set deleted_at = $1, blob = '' where signature_id = $2`, store.Millis(s.config.Now()), r.ID); err != nil {
			return err
		}
		return s.audit.Append(ctx, tx, x.event("retention", "documents deleted at the end of their retention", retained{store.Millis(r.filesUntil)}))
	})
	if err != nil {
		return err
	}
	s.dropBlobs(ctx, r.files())
	return nil
}

// HoldsBlobs returns those of some blobs that are documents of records; it is a
// blob.Holder. A signed document may stand on the blob of its input: both belong
// to one record, and go together.
func (s *Service) HoldsBlobs(ctx context.Context, ids []string) ([]string, error) {
	rows, err := s.db.Read().Query(ctx, `select substr(blob, 1, 24) from signature_files where blob <> '' and substr(blob, 1, 24)`+store.In(len(ids)), store.Args(ids)...)
	return store.All("signing: look for documents", rows, err, store.Column[string])
}
