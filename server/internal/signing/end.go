package signing

import (
	"context"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// end is the one way in which a record ends: DONE with what was signed, or
// ERROR with a refusal, told to whoever waits. A record that was never stored
// is stored in its end. One that another worker has taken over stays as it is:
// errLost.
func (x *run) end(ctx context.Context, out *signedDocument, no *refusal) error {
	ctx = context.WithoutCancel(ctx) // a caller that hangs up does not undo a signature
	r, before, blobs := x.record, *x.record, len(x.contents)
	r.UpdatedAt, r.secret = x.config.Now(), nil
	if no != nil {
		r.State, r.ErrorNumber, r.ErrorMessage = Error, no.number, no.text
		if r.Type == "" {
			r.Type = x.knownFormat()
		}
		if no.err != nil {
			x.config.Log.WarnContext(ctx, "signature ended in error", "record", r.ID, "number", no.number, "error", no.err)
		}
	} else {
		f := &File{ID: store.NewID(), Role: roleSigned, Name: r.ID + "." + out.media.ext, CreatedAt: r.UpdatedAt}
		if _, err := x.store(ctx, f, out.src, out.media); err != nil {
			*r = before
			return err
		}
		x.config.Hook("stored", r.ID)
		r.State, r.Achieved, r.Signed, r.Signer = Done, x.achieved(out), f, x.config.Signer(ctx, x.cert)
	}
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		switch {
		case !r.stored:
			return x.insertEnded(ctx, tx, no)
		case no != nil:
			return x.storeError(ctx, tx, no)
		}
		return x.storeDone(ctx, tx, out)
	})
	if err != nil {
		*r = before
		for _, c := range x.contents[blobs:] {
			_ = x.blobs.Delete(ctx, c.stored.ID) // the sweep of blobs would find it later
		}
		return err
	}
	r.stored, x.uses, x.closing = true, nil, nil
	x.config.Ended(r)
	return nil
}

// refuse ends a record for the reason that an error gives. Trouble of our own
// is told with the request's id and nothing else.
func (x *run) refuse(ctx context.Context, err error) (*Record, error) {
	var no *refusal
	if !errors.As(err, &no) {
		no = x.internal(err)
	}
	err = x.end(ctx, nil, no)
	if errors.Is(err, errLost) {
		return x.byID(ctx, x.record.ID)
	}
	if err != nil {
		return nil, err
	}
	return x.record, nil
}

// insertEnded stores a record that is in ERROR before it was ever stored: there
// is no charge to give back and no intent to settle.
func (x *run) insertEnded(ctx context.Context, tx *store.Tx, no *refusal) error {
	if err := x.insert(ctx, tx, x.errorEvent(no)); err != nil {
		return err
	}
	if err := idempotency.ClaimFrom(ctx).Record(ctx, tx, x.record.ID, 0); err != nil {
		return err
	}
	return x.tell(ctx, tx, x.record)
}

// storeError ends a stored record; the price comes back.
func (x *run) storeError(ctx context.Context, tx *store.Tx, no *refusal) error {
	r := x.record
	err := x.transition(ctx, tx, Error, `error_number = $5, error_message = $6, signature_type = $7, secret = null, lease_by = '', lease_until = 0`,
		no.number, no.text, r.Type)
	if err != nil {
		return err
	}
	if r.chargeID != "" {
		if err := x.biller.Refund(ctx, tx, r.chargeID); err != nil {
			return err
		}
	}
	for _, f := range x.fetched {
		if err := x.updateFile(ctx, tx, r.ID, f); err != nil {
			return err
		}
	}
	outcome := intent.Failed
	if no.number == fault.OutcomeUnknown {
		outcome = intent.Unknown
	}
	return x.settled(ctx, tx, outcome, x.errorEvent(no))
}

// storeDone ends a stored record with its signed document.
func (x *run) storeDone(ctx context.Context, tx *store.Tx, out *signedDocument) error {
	r := x.record
	err := x.transition(ctx, tx, Done, `signature_type = $5, achieved_level = $6, signer = $7, secret = null, lease_by = '', lease_until = 0`, r.Type, r.Achieved, storedSigner(r.Signer))
	if err != nil {
		return err
	}
	if err := x.insertFiles(ctx, tx, r.ID, r.Signed); err != nil {
		return err
	}
	if r.Options.Batch { // what could not be signed is not paid for
		if err := x.biller.Keep(ctx, tx, r.chargeID, out.count); err != nil {
			return err
		}
	}
	return x.settled(ctx, tx, intent.Signed, x.signedEvents(out)...)
}

// settled closes the intents that the work on a record left open, and tells of it.
func (x *run) settled(ctx context.Context, tx *store.Tx, outcome string, events ...audit.Event) error {
	if err := x.closeIntents(ctx, tx); err != nil {
		return err
	}
	if err := intent.Settle(ctx, tx, x.record.ID, outcome, x.record.UpdatedAt); err != nil {
		return fmt.Errorf("signing: settle intents: %w", err)
	}
	if err := x.audit.Append(ctx, tx, events...); err != nil {
		return err
	}
	return x.tell(ctx, tx, x.record)
}

func (x *run) errorEvent(no *refusal) audit.Event {
	return x.event("error", fmt.Sprintf("ended in error %d: %s", no.number, no.text), ending{Ended: x.record.ended()})
}

// achieved is the level that a record shows: LTV is LT with what Acrobat wants
// to see, in a PDF.
func (x *run) achieved(out *signedDocument) string {
	if x.record.Type == "pades" && x.record.Options.Level == "LTV" && out.level == "LT" {
		return "LTV"
	}
	return out.level
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
