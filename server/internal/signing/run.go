package signing

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// run is the work on one record, by one worker.
type run struct {
	*Service
	record  *ledger.Record
	cert    *enroll.Certificate
	cred    *keys.Credential
	secrets *ledger.Secrets
	lease   string // ours; empty while the record is not stored

	docs     *documents.Set
	intents  int           // uses of the key that count
	position int           // of the next intent; more, where a provider refused some
	paid     int           // signatures that the charge is known to pay for
	key      crypto.Signer // handed out after the first intent
	remote   *remoteKey    // nil: the key is here
	passed   *passedKey    // nil: what the key is used with is stored here

	tookOver  bool           // from a run that may have used the key
	made      []string       // intents of this run that count, by their ids
	uses      []string       // intents that are open, by their ids; none: the work is settled
	closing   []closing      // intents whose outcome is known, and not stored yet
	values    []ledger.Value // that were made under intents of this run that count
	time      time.Time      // of the signatures
	kept      bool           // values wait with the record
	stored    *ledger.File   // the signed document, which may have no row yet
	unsure    bool           // whether it has one
	committed func() bool    // the caller cannot end the work any more; nil in a worker

	logged ledger.Events // builds the record's events

	starts, failures int // of the work on the record, this one counted as started
}

// close ends the work on a record. Uses of the key that were permitted but never happened,
// since the record was taken over or deleted, are settled: a change may be waiting for them.
func (x *run) close() {
	if len(x.uses)+len(x.closing) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
		defer cancel()
		err := x.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
			if err := x.closeIntents(ctx, tx); err != nil {
				return err
			}
			if x.kept || x.remote != nil && x.remote.sent { // used they are, and never again
				return intent.Used(ctx, tx, x.record.ID, x.uses...)
			}
			return intent.Close(ctx, tx, x.record.ID, x.uses, intent.Failed, x.config.Now())
		})
		if err != nil {
			x.config.Log.ErrorContext(ctx, "settle intents", "record", x.record.ID, "error", err)
		}
	}
	if x.remote != nil {
		ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
		x.remote.Close(ctx)
		cancel()
	}
	x.docs.Close()
}

// closing is what became of intents.
type closing struct {
	ids     []string
	outcome string
}

// closeIntents stores it.
func (x *run) closeIntents(ctx context.Context, tx *store.Tx) error {
	for _, c := range x.closing {
		if err := intent.Close(ctx, tx, x.record.ID, c.ids, c.outcome, x.config.Now()); err != nil {
			return fmt.Errorf("signing: close intents: %w", err)
		}
	}
	return nil
}

const (
	runLimit    = 10 * time.Minute
	maxFailures = 3
	settleLimit = 5 * time.Second
)

// validated is the step after validation, with its callback. A record that
// waits for an approval gives its lease back: the approval brings the work.
func (x *run) validated(ctx context.Context) error {
	return x.storeValidated(ctx, ledger.WaitSign, ledger.StoreValidated, func(tx *store.Tx) error {
		if x.docs.Picture != nil {
			if err := x.InsertFiles(ctx, tx, x.record.ID, x.docs.Picture); err != nil {
				return err
			}
		}
		if x.record.Approval == ledger.ApprovalWaiting {
			return x.config.Waits(ctx, tx, x.record)
		}
		return nil
	})
}

// storeValidated makes a step after validation: what was fetched and built is known
// from here on. more is done in its transaction.
func (x *run) storeValidated(ctx context.Context, to ledger.State, step func(context.Context, *store.Tx, *ledger.Record, string) error, more func(*store.Tx) error) error {
	r, before := x.record, *x.record
	r.State, r.UpdatedAt = to, x.config.Now()
	if err := x.Bind(r, x.secrets); err != nil {
		return err
	}
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		if err := step(ctx, tx, r, x.lease); err != nil {
			return err
		}
		for _, f := range x.docs.Fetched {
			if err := x.UpdateFile(ctx, tx, r.ID, f); err != nil {
				return err
			}
		}
		if err := x.InsertValidated(ctx, tx, r); err != nil {
			return err
		}
		if err := x.audit.Append(ctx, tx, x.events().Validated(x.docs.Fetched)...); err != nil {
			return err
		}
		if err := more(tx); err != nil {
			return err
		}
		return x.queueCallback(ctx, tx, r)
	})
	if err != nil {
		*r = before
	}
	return err
}

// internal is the refusal for trouble of our own: the text carries the request id, under
// which the log has the error, and of the error only what a caller may read.
func (x *run) internal(err error) *ledger.Refusal {
	return &ledger.Refusal{Number: fault.SigningFailed, Text: "internal failure; request " + x.record.RequestID + ": " + reason(err), Err: err}
}

// errNeverEnds is a record that was begun too often.
var errNeverEnds = errors.New("begun again and again, and never ended")

func reason(err error) string {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
		return f.Text
	case errors.Is(err, errNeverEnds):
		return "the work on it was begun too often without an end"
	case errors.Is(err, blob.ErrNotFound), errors.Is(err, blob.ErrCorrupt):
		return "a stored document is missing or damaged"
	case errors.Is(err, errKeyUse):
		return "the key could not be used"
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	}
	return "the program failed, and its log says at what"
}
