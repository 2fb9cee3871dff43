package signing

import (
	"context"
	"errors"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/store"
)

// approvable finds a record that an approval was asked for.
func (s *Service) approvable(ctx context.Context, from request.Caller, id string) (*ledger.Record, error) {
	r, err := s.Find(ctx, from.AccountID, id)
	if err != nil {
		return nil, err
	}
	if r.Approval == "" {
		return nil, fault.New(fault.NotFound, "no approval is asked for this signature")
	}
	return r, nil
}

// approves refuses an approver whose token is of the same family as the one that asked.
func (s *Service) approves(ctx context.Context, r *ledger.Record, from request.Caller) error {
	apart, err := s.tokens.Apart(ctx, r.AccountID, r.TokenID, from.TokenID)
	if err == nil && !apart {
		err = fault.New(fault.SecurityLevel, "the approval must come from a token that is neither the one that asked nor of its family: made with the API key, or by such a one")
	}
	return err
}

// Approve lets a record that waits be signed.
func (s *Service) Approve(ctx context.Context, from request.Caller, id string) (*ledger.Record, error) {
	r, err := s.approvable(ctx, from, id)
	if err != nil {
		return nil, err
	}
	if err := s.approves(ctx, r, from); err != nil {
		return nil, err
	}
	if r.State == ledger.WaitValidation {
		return nil, fault.New(fault.WrongState, "the documents are not validated yet: there is nothing to approve")
	}
	if r.State != ledger.WaitSign || r.Approval != ledger.ApprovalWaiting {
		return nil, ledger.ErrDecided
	}
	secrets, err := s.OpenSecrets(r)
	var no *ledger.Refusal
	if errors.As(err, &no) {
		return nil, fault.New(fault.WrongState, "%s", no.Text)
	}
	if err != nil {
		return nil, err
	}
	now := s.config.Now()
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		if err := s.StoreApproval(ctx, tx, r, from.TokenID, secrets.Bound, now); err != nil {
			return err
		}
		told := ledger.Events{Record: r}
		if err := s.audit.Append(ctx, tx, told.Event("approval", "approved by another token", from.Named(map[string]any{"token": from.TokenID, "address": from.Address, "updatedAt": store.Millis(now)}))); err != nil {
			return err
		}
		s.jobs.Wake(tx, ledger.Table)
		return nil
	})
	return r, err
}

// Refuse ends a record that waits for approval. Any token of the account may refuse. An
// approval can be withdrawn in the same way until the record is signed; when Refuse returns, no
// key is used for it any more.
func (s *Service) Refuse(ctx context.Context, from request.Caller, id string) (*ledger.Record, error) {
	r, err := s.approvable(ctx, from, id)
	if err != nil {
		return nil, err
	}
	why := "the approval was refused"
	if r.Approval == ledger.ApprovalGiven {
		why = ledger.ApprovalWithdrawn
	}
	return r, s.endUnapproved(ctx, r, why)
}

// endUnapproved takes the record over from any worker and ends it, if its approval is still as
// it was read: a record approved meanwhile does not end because its time ran out.
func (s *Service) endUnapproved(ctx context.Context, r *ledger.Record, why string) error {
	x := s.newRun(r, nil)
	x.lease = job.NewLease()
	if r.Approval == ledger.ApprovalRefused {
		return ledger.ErrDecided
	}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		return ledger.StoreRefusal(ctx, tx, r, x.lease, s.config.Now().Add(s.config.Lease))
	})
	if err != nil {
		return err
	}
	if err := intent.Wait(ctx, s.db, intent.Record, r.ID); err != nil {
		return err
	}
	r.Approval = ledger.ApprovalRefused
	err = x.end(ctx, nil, &ledger.Refusal{Number: fault.NotApproved, Text: why})
	if errors.Is(err, ledger.ErrLost) {
		return nil // it was ended meanwhile
	}
	return err
}

// Sweep ends the records whose approval never came.
func (s *Service) Sweep(ctx context.Context) error { return s.expireApprovals(ctx) }

func (s *Service) expireApprovals(ctx context.Context) error {
	ids, err := s.LateApprovals(ctx, s.config.Now(), 1000)
	if err != nil {
		return err
	}
	for _, id := range ids {
		r, err := s.ByID(ctx, id)
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
