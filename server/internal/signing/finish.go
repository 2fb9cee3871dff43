package signing

import (
	"context"
	"fmt"

	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/store"
)

// done stores the signed document and ends the record. What another worker has
// ended meanwhile stays as it is.
func (x *run) done(ctx context.Context, out *signedDocument) error {
	r, now := x.record, x.config.Now()
	f := &File{ID: store.NewID(), Role: roleSigned, Name: r.ID + "." + out.media.ext, CreatedAt: now}
	before := len(x.stored)
	if err := x.store(ctx, f, out.src, out.media); err != nil {
		return err
	}
	x.config.Hook("stored", r.ID)
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		err := tx.Expect(ctx, 1, errLost, `update signatures set state = 'DONE', signature_type = $1, achieved_level = $2, secret = null, lease_by = '', lease_until = 0, updated_at = $3
			where id = $4 and state = 'WAIT_SIGN' and lease_by = $5 and deleted_at = 0`, r.Type, x.achieved(out), store.Millis(now), r.ID, x.lease)
		if err != nil {
			return fmt.Errorf("signing: end record: %w", err)
		}
		if err := x.insertFile(ctx, tx, r.ID, f); err != nil {
			return err
		}
		if err := x.settleIntents(ctx, tx, "SIGNED"); err != nil {
			return err
		}
		if r.Options.Batch {
			if err := x.purse.Keep(ctx, tx, r.chargeID, out.count); err != nil {
				return err
			}
		}
		r.State, r.Achieved, r.Signed, r.UpdatedAt = Done, x.achieved(out), f, now
		if err := x.audit.Append(ctx, tx, x.signedEvents(out)...); err != nil {
			return err
		}
		if err := idempotency.ClaimFrom(ctx).Done(ctx, tx); err != nil {
			return err
		}
		return x.tell(ctx, tx, r)
	})
	if err != nil {
		r.State, r.Signed = WaitSign, nil
		for _, b := range x.stored[before:] {
			_ = x.blobs.Delete(ctx, b.ID) // the sweep of blobs would find it later
		}
	}
	return err
}

// achieved is the level that a record shows: LTV is LT with what Acrobat wants
// to see, in a PDF.
func (x *run) achieved(out *signedDocument) string {
	if x.record.Type == "pades" && x.record.Options.Level == "LTV" && out.level == "LT" {
		return "LTV"
	}
	return out.level
}

func (x *run) settleIntents(ctx context.Context, tx *store.Tx, outcome string) error {
	err := tx.Later(ctx, `update signing_intents set outcome = $1, finished_at = $2 where signature_id = $3 and outcome = ''`,
		outcome, store.Millis(x.config.Now()), x.record.ID)
	if err != nil {
		return fmt.Errorf("signing: settle intents: %w", err)
	}
	return nil
}

// fail ends a stored record in ERROR; the price comes back.
func (x *run) fail(ctx context.Context, no *refusal) error {
	ctx = context.WithoutCancel(ctx)
	r, now := x.record, x.config.Now()
	if r.Type == "" {
		r.Type = x.knownFormat()
	}
	x.logRefusal(ctx, no)
	return x.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update signatures set state = 'ERROR', error_number = $1, error_message = $2, signature_type = $3, secret = null, lease_by = '', lease_until = 0, updated_at = $4
			where id = $5 and state in ('WAIT_VALIDATION', 'WAIT_SIGN') and lease_by = $6 and deleted_at = 0`,
			no.number, no.text, r.Type, store.Millis(now), r.ID, x.lease)
		if err != nil {
			return fmt.Errorf("signing: end record: %w", err)
		}
		if n == 0 {
			return nil // somebody else ended it
		}
		if r.chargeID != "" {
			if err := x.purse.Refund(ctx, tx, r.chargeID); err != nil {
				return err
			}
		}
		for _, f := range x.fetched {
			if err := x.updateFile(ctx, tx, f); err != nil {
				return err
			}
		}
		if err := x.settleIntents(ctx, tx, "FAILED"); err != nil {
			return err
		}
		r.State, r.ErrorNumber, r.ErrorMessage, r.UpdatedAt = Error, no.number, no.text, now
		if err := x.audit.Append(ctx, tx, x.event("error", fmt.Sprintf("ended in error %d: %s", no.number, no.text), nil)); err != nil {
			return err
		}
		if err := idempotency.ClaimFrom(ctx).Done(ctx, tx); err != nil {
			return err
		}
		return x.tell(ctx, tx, r)
	})
}

// tell queues a callback for the state that a record has reached.
func (x *run) tell(ctx context.Context, tx *store.Tx, r *Record) error {
	if r.callback == nil {
		return nil
	}
	return x.callbacks.Queue(ctx, tx, callback.Message{
		Account: r.AccountID, Scope: r.CertificateType, Record: r.ID, Target: r.callback, Data: x.Render(r),
	})
}

func (x *run) logRefusal(ctx context.Context, no *refusal) {
	if no.err != nil {
		x.config.Log.WarnContext(ctx, "signature ended in error", "record", x.record.ID, "number", no.number, "error", no.err)
	}
}
