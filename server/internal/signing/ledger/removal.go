package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// retained is the log's entry for deleted documents: until when they were to be kept, as the row
// said at the time.
type retained struct {
	Until int64 `json:"until"`
}

// HoldsBlobs is a blob.Holder for the documents of records. A signed document may refer to the
// blob of its input; both belong to one record and are deleted together.
func (s *Ledger) HoldsBlobs(ctx context.Context, ids []string) ([]string, error) {
	rows, err := s.DB.Read().Query(ctx, `select substr(blob, 1, 24) from signature_files where blob <> '' and substr(blob, 1, 24)`+store.In(len(ids)), store.Args(ids)...)
	return store.All("signing: look for documents", rows, err, store.Column[string])
}

// What sweeps look for, each out of an index of its own. That an approval is late
// is not said by isWaiting: SQLite would take the index of all that waits, and look
// at each of them.
var (
	selectLateApprovals = `select id from signatures where approval = 'WAITING' and not ` + isEnded + ` and approval_until < $1`
	selectOldFiles      = `select id from signatures where files_until > 0 and files_until < $1 and ` + isEnded
	selectOldRecords    = `select id from signatures where created_at < $1 and ` + isEnded
)

func (s *Ledger) ids(ctx context.Context, query string, before time.Time, most int) ([]string, error) {
	rows, err := s.DB.Read().Query(ctx, query+` limit $2`, store.Millis(before), most)
	return store.All("signing: sweep", rows, err, store.Column[string])
}

func (s *Ledger) LateApprovals(ctx context.Context, at time.Time, most int) ([]string, error) {
	return s.ids(ctx, selectLateApprovals, at, most)
}

// remove deletes a record with its documents and its settled uses of the key, and returns the
// state it was in. Only the log keeps that it existed: a row left for each record would pile up
// for ever.
func remove(ctx context.Context, tx *store.Tx, id string) (state State, err error) {
	err = tx.QueryRow(ctx, `delete from signatures where id = $1 returning state`, id).Scan(&state)
	if errors.Is(err, store.ErrNoRows) {
		return state, fault.New(fault.NotFound, "no such signature")
	}
	if err != nil {
		return state, fmt.Errorf("signing: erase: %w", err)
	}
	if _, err = tx.Exec(ctx, `delete from signers where signature_id = $1`, id); err != nil {
		return state, fmt.Errorf("signing: erase: %w", err)
	}
	if _, err = tx.Exec(ctx, `delete from signature_files where signature_id = $1`, id); err != nil {
		return state, fmt.Errorf("signing: erase: %w", err)
	}
	return state, intent.Forget(ctx, tx, id)
}

// forgetFiles marks a record's documents as deleted.
func (s *Ledger) forgetFiles(ctx context.Context, tx *store.Tx, r *Record, at time.Time) error {
	if _, err := tx.Exec(ctx, `update signatures set files_until = -abs(files_until) where id = $1`, r.ID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `update signature_files set deleted_at = $1, blob = '' where signature_id = $2 and role <> '`+RoleEvidence+`'`, store.Millis(at), r.ID); err != nil {
		return err
	}
	told := Events{Record: r}
	return s.Audit.Append(ctx, tx, told.Event("retention", "documents deleted at the end of their retention", retained{store.Millis(r.FilesUntil)}))
}
