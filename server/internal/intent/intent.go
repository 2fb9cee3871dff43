// Package intent keeps the row that is written before each use of a private
// key, and lets a change that forbids further uses wait for those that were
// permitted before it.
//
// The order of things, on any number of servers:
//
//   - A use is permitted in one transaction, under [Permit]: it reads the rows
//     that may forbid it and writes an intent. The key is used after that.
//   - A change (revocation, suspension, new password, deleted token, withdrawn
//     approval, deleted record) writes one of those rows, under [Forbid]. It waits
//     for permits under way, and permits that come later see it.
//   - Before the change is acknowledged, [Wait] waits until every intent that
//     was written before it is settled.
//
// So no key is used after an acknowledged change. A process that dies with an
// intent open cannot say so: Wait gives up after [Longest], and the holder of a
// permit for longer than [Within] must not use the key any more.
package intent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

const (
	// Within is how soon after its permit a use must begin.
	Within = 10 * time.Second
	// Longest is how long Wait waits. It is more than Within and the time that a
	// slow token takes for a signature.
	Longest = 30 * time.Second
)

// Permit is the first step of a transaction that permits a use: what it reads
// about the certificate and the account's tokens afterwards holds until it ends.
// A record needs none: its row is written by all who touch it.
func Permit(ctx context.Context, tx *store.Tx, account, certificate string) error {
	return tx.Share(ctx, string(Account)+account, string(Certificate)+certificate)
}

// Forbid is a step of a transaction that may forbid uses of a certificate, or by
// tokens of an account: tokens have families and are replaced by others, so that
// they are not told apart here.
func Forbid(ctx context.Context, tx *store.Tx, of Of, id string) error {
	return tx.Alone(ctx, string(of)+id)
}

// Intent is one permitted use of a key.
type Intent struct {
	ID          string
	Account     string
	Record      string
	Certificate string
	Position    int    // among those of the record
	Digest      []byte // to be signed
	At          time.Time
}

// Write stores an intent in the transaction that permits it.
func Write(ctx context.Context, tx *store.Tx, i Intent) error {
	return tx.Later(ctx, `insert into signing_intents (id, account_id, signature_id, certificate_id, position, digest, created_at) values ($1, $2, $3, $4, $5, $6, $7)`,
		i.ID, i.Account, i.Record, i.Certificate, i.Position, i.Digest, store.Millis(i.At))
}

// Used marks the keys of a record's intents as used while the work on the record goes on, so that
// Wait no longer waits for them.
func Used(ctx context.Context, tx *store.Tx, record string, ids ...string) error {
	for _, id := range ids {
		if err := tx.Later(ctx, `update signing_intents set outcome = 'USED' where signature_id = $1 and id = $2 and outcome = ''`, record, id); err != nil {
			return err
		}
	}
	return nil
}

// Outcomes of intents.
const (
	Signed  = "SIGNED"
	Failed  = "FAILED"
	Unknown = "UNKNOWN" // a provider, or a process that died, may have used the key
)

// Settle closes the intents of a record: the work on it is over.
func Settle(ctx context.Context, tx *store.Tx, record, outcome string, at time.Time) error {
	return tx.Later(ctx, `update signing_intents set outcome = $1, finished_at = $2 where signature_id = $3 and outcome in ('', 'USED')`, outcome, store.Millis(at), record)
}

// Abandon closes the open intents of a record that was taken over, before there
// are new ones: its key may have been used for them. Found says later whether
// there were any; it comes with what the transaction asks next.
func Abandon(ctx context.Context, tx *store.Tx, record string, at time.Time, found *bool) error {
	return tx.Ask(ctx, func(row store.Row) error {
		var id string
		err := row.Scan(&id)
		*found = *found || err == nil
		if err != nil && !errors.Is(err, store.ErrNoRows) {
			return fmt.Errorf("abandon intents: %w", err)
		}
		return nil
	}, `update signing_intents set outcome = '`+Unknown+`', finished_at = $1 where signature_id = $2 and outcome in ('', 'USED') returning id`, store.Millis(at), record)
}

// Close closes intents of a record whose key was not used, or of which that is not known;
// other work on the record may go on.
func Close(ctx context.Context, tx *store.Tx, record string, ids []string, outcome string, at time.Time) error {
	for _, id := range ids {
		if err := tx.Later(ctx, `update signing_intents set outcome = $1, finished_at = $2 where signature_id = $3 and id = $4 and outcome = ''`, outcome, store.Millis(at), record, id); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes the intents of a deleted record, except those that Wait may be waiting for.
func Forget(ctx context.Context, tx *store.Tx, record string) error {
	_, err := tx.Exec(ctx, `delete from signing_intents where signature_id = $1 and outcome <> ''`, record)
	if err != nil {
		return fmt.Errorf("forget intents: %w", err)
	}
	return nil
}

// Of selects intents by what a change was made to.
type Of string

// What intents belong to.
const (
	Certificate Of = `certificate_id = $1`
	Account     Of = `account_id = $1`
	Record      Of = `signature_id = $1`
)

// Wait returns when no intent that was written before the call is open any more.
// It is called after the change has committed, which is not undone by whatever
// comes of the waiting: a caller that hangs up does not shorten it.
func Wait(ctx context.Context, db *store.DB, of Of, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), Longest)
	defer cancel()
	before, err := open(ctx, db, of, id)
	for pause := time.Millisecond; err == nil && len(before) > 0; pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-ctx.Done():
			return nil // who could have used the key is dead, or too late
		case <-time.After(pause):
		}
		var now map[string]bool
		now, err = open(ctx, db, of, id)
		for i := range before {
			if !now[i] {
				delete(before, i)
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("wait for uses of the key: %w", err)
	}
	return nil
}

// open returns the ids of intents that are not settled.
func open(ctx context.Context, db *store.DB, of Of, id string) (map[string]bool, error) {
	rows, err := db.Read().Query(ctx, `select id from signing_intents where outcome = '' and `+string(of), id)
	ids, err := store.All("read intents", rows, err, store.Column[string])
	all := make(map[string]bool, len(ids))
	for _, i := range ids {
		all[i] = true
	}
	return all, err
}
