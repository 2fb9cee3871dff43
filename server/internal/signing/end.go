package signing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// end is the one way in which a record ends: DONE with what was signed, or
// ERROR with a refusal, with its callback. A record that was never stored
// is stored in its end. One that another worker has taken over stays as it is:
// ledger.ErrLost.
func (x *run) end(ctx context.Context, out *signedDocument, no *ledger.Refusal) error {
	ctx = context.WithoutCancel(ctx) // a caller that hangs up does not undo a signature
	r, before, blobs := x.record, *x.record, x.docs.Stored()
	r.UpdatedAt, r.Secret = x.config.Now(), nil
	if no != nil {
		r.State, r.ErrorNumber, r.ErrorMessage, r.Results = ledger.Error, no.Number, no.Text, no.Results
		if r.Type == "" {
			r.Type = x.docs.KnownFormat()
		}
		if no.Err != nil {
			x.config.Log.WarnContext(ctx, "signature ended in error", "record", r.ID, "number", no.Number, "error", no.Err)
		}
	} else {
		if x.stored == nil {
			f := &ledger.File{ID: store.NewID(), Role: ledger.RoleSigned, Name: r.ID + "." + out.media.Ext, CreatedAt: r.UpdatedAt}
			if _, err := x.docs.Store(ctx, f, out.src, out.media); err != nil {
				*r = before
				return err
			}
			x.stored = f
		}
		x.config.Hook("stored", r.ID)
		r.State, r.Achieved, r.Signed, r.Results = ledger.Done, x.achieved(out), x.stored, out.results
		if !r.ByPeople() { // of which there are several, or none
			r.Signer = x.config.Signer(ctx, x.cert)
		}
	}
	r.Tally = ledger.TallyOf(r.Results)
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		switch {
		case !r.Stored:
			return x.insertEnded(ctx, tx)
		case no != nil:
			return x.storeError(ctx, tx, no)
		}
		return x.storeDone(ctx, tx, out)
	})
	if err != nil {
		*r = before
		// A commit that was cut off may have been made, and its record refers to the document
		// then; one that nothing refers to is swept.
		if x.unsure = x.unsure || errors.Is(err, fault.Unavailable); !x.unsure {
			x.docs.Discard(ctx, blobs)
		}
		return err
	}
	r.Stored, x.uses, x.closing = true, nil, nil
	x.config.Ended(r)
	return nil
}

// refuse ends a record for the reason that an error gives. For errors of our own the text has
// only the request's id.
func (x *run) refuse(ctx context.Context, err error) (*ledger.Record, error) {
	var no *ledger.Refusal
	if !errors.As(err, &no) {
		no = x.internal(err)
	}
	err = x.end(ctx, nil, no)
	if errors.Is(err, ledger.ErrLost) {
		return x.ByID(ctx, x.record.ID)
	}
	if err != nil {
		return nil, err
	}
	return x.record, nil
}

// insertEnded stores a record that is in ERROR before it was ever stored: there
// is no charge to give back and no intent to settle.
func (x *run) insertEnded(ctx context.Context, tx *store.Tx) error {
	if err := x.insert(ctx, tx, x.events().Failed()); err != nil {
		return err
	}
	if err := idempotency.ClaimFrom(ctx).Record(ctx, tx, x.record.ID, 0); err != nil {
		return err
	}
	return x.queueCallback(ctx, tx, x.record)
}

// storeError ends a stored record; the price comes back.
func (x *run) storeError(ctx context.Context, tx *store.Tx, no *ledger.Refusal) error {
	r := x.record
	if err := ledger.StoreEnd(ctx, tx, r, x.lease); err != nil {
		return err
	}
	if err := x.peopleEnd(ctx, tx); err != nil {
		return err
	}
	if r.ChargeID != "" && !r.AnySigned() {
		if err := x.biller.Refund(ctx, tx, r.ChargeID); err != nil {
			return err
		}
	}
	for _, f := range x.docs.Fetched {
		if err := x.UpdateFile(ctx, tx, r.ID, f); err != nil {
			return err
		}
	}
	outcome := intent.Failed
	if no.Number == fault.OutcomeUnknown {
		outcome = intent.Unknown
	}
	return x.logEnd(ctx, tx, outcome, x.events().Failed())
}

// storeDone ends a stored record with its signed document.
func (x *run) storeDone(ctx context.Context, tx *store.Tx, out *signedDocument) error {
	r := x.record
	if err := ledger.StoreEnd(ctx, tx, r, x.lease); err != nil {
		return err
	}
	if err := x.InsertFiles(ctx, tx, r.ID, r.Signed); err != nil {
		return err
	}
	if err := x.peopleEnd(ctx, tx); err != nil {
		return err
	}
	if r.Options.Batch { // what could not be signed is not paid for
		if err := x.biller.Keep(ctx, tx, r.ChargeID, out.count); err != nil {
			return err
		}
	}
	return x.logEnd(ctx, tx, intent.Signed, x.signedEvents(out)...)
}

// peopleEnd ends what belongs to the people who were asked to sign.
func (x *run) peopleEnd(ctx context.Context, tx *store.Tx) error {
	if !x.record.ByPeople() {
		return nil
	}
	if err := x.People.Ending(ctx, tx, x.record); err != nil {
		return err
	}
	return x.DropWork(ctx, tx, x.record)
}

// logEnd closes the intents that the run left open, and logs the end.
func (x *run) logEnd(ctx context.Context, tx *store.Tx, outcome string, events ...audit.Event) error {
	if err := x.closeIntents(ctx, tx); err != nil {
		return err
	}
	if err := intent.Settle(ctx, tx, x.record.ID, outcome, x.record.UpdatedAt); err != nil {
		return fmt.Errorf("signing: settle intents: %w", err)
	}
	if err := x.audit.Append(ctx, tx, events...); err != nil {
		return err
	}
	return x.queueCallback(ctx, tx, x.record)
}

// signedEvents are the log's entries for each signature and for the signed document.
func (x *run) signedEvents(out *signedDocument) []audit.Event {
	all := out.parts
	if all == nil {
		all = x.signatureEvents(out, 0)
	}
	var others []string
	if x.tookOver {
		others = x.made
	}
	return append(all, x.events().Signed(x.intents, others))
}

func (x *run) signatureEvents(out *signedDocument, index int) []audit.Event {
	if out.Signed == nil {
		return nil
	}
	return x.events().Signature(out.Signed, out.level, x.achieved(out), index)
}

// achieved is the level that a record shows: LTV is LT with the VRI entries that Acrobat looks
// for, in a PDF.
func (x *run) achieved(out *signedDocument) string {
	switch {
	case out.level == nil:
		return ""
	case x.record.Type == request.PAdES && x.record.Options.Level == "LTV" && *out.level == ades.LevelLT:
		return "LTV"
	}
	return out.level.String()
}

// queueCallback queues a callback for the state that a record has reached.
func (x *run) queueCallback(ctx context.Context, tx *store.Tx, r *ledger.Record) error {
	if r.Callback == nil {
		return nil
	}
	return x.callbacks.Queue(ctx, tx, callback.Message{
		Account: r.AccountID, Scope: r.CertificateType, Record: r.ID, Target: r.Callback, State: string(r.State), At: r.UpdatedAt,
	})
}

// Told is what a callback about a state of a record carries: the record as it was then, however
// late the callback is.
func (s *Service) Told(ctx context.Context, id string, state ledger.State, at time.Time) (any, error) {
	r, err := s.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.Render(r.When(state, at)), nil
}

// Delete removes a record with its files, details and personal data. The audit log keeps that
// it existed, and still verifies. When it returns, no key is used for the record any more.
func (s *Service) Delete(ctx context.Context, account, id string) error {
	r, err := s.Find(ctx, account, id)
	if err != nil {
		return err
	}
	if r.ByPeople() && !r.State.Final() {
		return s.Stop(ctx, r, &ledger.Refusal{Number: fault.SigningCancelled, Text: "cancelled by whoever asked"}, func(*store.Tx) error { return nil })
	}
	if err := s.Erase(ctx, r, "record deleted by its owner"); err != nil {
		return err
	}
	if err := intent.Wait(ctx, s.db, intent.Record, r.ID); err != nil || r.State.Final() {
		return err
	}
	return s.db.Write(ctx, func(tx *store.Tx) error { return intent.Forget(ctx, tx, r.ID) })
}
