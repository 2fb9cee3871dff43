package signing

import (
	"context"
	"errors"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/store"
)

// What a record waits for when its certificate asks for a second token's word.
const (
	approvalWaiting = "WAITING"
	approvalGiven   = "APPROVED"
	approvalRefused = "REFUSED"
)

// Approvals lists the records of an account that wait for one, newest first.
func (s *Service) Approvals(ctx context.Context, account, after string, skip, limit int) ([]*Record, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(account)
	rows, err := s.db.Read().Query(ctx, `select `+columns+` from signatures where account_id = $1 and approval = 'WAITING' and deleted_at = 0 and `+isWaiting+tail, args...)
	return store.All("signing: approvals", rows, err, s.scan)
}

// approvable finds a record that an approval was asked for.
func (s *Service) approvable(ctx context.Context, from Caller, id string) (*Record, error) {
	r, err := s.Find(ctx, from.AccountID, id)
	if err != nil {
		return nil, err
	}
	if r.Approval == "" {
		return nil, fault.New(fault.NotFound, "no approval is asked for this signature")
	}
	return r, nil
}

// approves refuses a caller who is not another than the one that asked: its token
// is of the same family.
func (s *Service) approves(ctx context.Context, r *Record, from Caller) error {
	apart, err := s.tokens.Apart(ctx, r.AccountID, r.TokenID, from.TokenID)
	if err == nil && !apart {
		err = fault.New(fault.SecurityLevel, "the approval must come from a token that is neither the one that asked nor of its family: made with the API key, or by such a one")
	}
	return err
}

var errDecided = fault.New(fault.WrongState, "the signature does not wait for an approval any more")

// approval is what stands sealed beside an approval: the word in its column
// alone could be written by whoever can write to the database. It is given for
// what was bound, and good for nothing else.
type approval struct{ Token, Bound string }

// checkApproval refuses a record that asks for an approval and has none.
func (x *run) checkApproval() error {
	if !x.enroll.Levels().Needs(x.secrets.Level, enroll.NeedApproval) {
		return nil
	}
	var a approval
	if err := x.unseal(approvalPurpose, x.record.owner(), x.record.approved, &a); err != nil || a.Token == "" || a != (approval{x.record.ApprovedBy, x.secrets.Bound}) {
		return &refusal{number: fault.NotApproved, text: "the approval was not given", err: err}
	}
	return nil
}

// Approve lets a record that waits be signed.
func (s *Service) Approve(ctx context.Context, from Caller, id string) (*Record, error) {
	r, err := s.approvable(ctx, from, id)
	if err != nil {
		return nil, err
	}
	if err := s.approves(ctx, r, from); err != nil {
		return nil, err
	}
	if r.State == WaitValidation {
		return nil, fault.New(fault.WrongState, "the documents are not validated yet: there is nothing to approve")
	}
	if r.State != WaitSign || r.Approval != approvalWaiting {
		return nil, errDecided
	}
	secrets, err := s.openSecrets(r)
	var no *refusal
	if errors.As(err, &no) {
		return nil, fault.New(fault.WrongState, "%s", no.text)
	}
	if err != nil {
		return nil, err
	}
	x := &run{Service: s, record: r}
	proof, err := s.seal(approvalPurpose, r.owner(), approval{from.TokenID, secrets.Bound})
	if err != nil {
		return nil, err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update signatures set approval = 'APPROVED', approved_by = $1, approval_proof = $4, updated_at = $2, turn = `+job.Turn(table, ready, "$5", "$6")+` where id = $3 and `+
			only(`approval = 'WAITING' and approval_until > $2 and deleted_at = 0 and `+isWaitSign), from.TokenID, store.Millis(s.config.Now()), id, proof, r.AccountID, r.weight())
		if err != nil {
			return err
		}
		if n == 0 {
			return errDecided
		}
		r.Approval, r.ApprovedBy = approvalGiven, from.TokenID
		if err := s.audit.Append(ctx, tx, x.event("approval", "approved by another token", map[string]any{"token": from.TokenID, "address": from.Address})); err != nil {
			return err
		}
		s.jobs.Wake(tx, table)
		return nil
	})
	return r, err
}

// approvalWithdrawn is the text of the error that a record ends in.
const approvalWithdrawn = "the approval was withdrawn"

// Refuse ends a record that waits for approval, for whichever token of the
// account says so: it takes nobody's word for anything. An approval that was given can
// be withdrawn in the same way, until the record is signed: then no key is used
// any more when Refuse returns.
func (s *Service) Refuse(ctx context.Context, from Caller, id string) (*Record, error) {
	r, err := s.approvable(ctx, from, id)
	if err != nil {
		return nil, err
	}
	why := "the approval was refused"
	if r.Approval == approvalGiven {
		why = approvalWithdrawn
	}
	return r, s.endUnapproved(ctx, r, why)
}

// endUnapproved takes the record over from whoever might be working on it. Only
// what the record was found with ends so: one that was approved meanwhile does
// not end because the time for it was over.
func (s *Service) endUnapproved(ctx context.Context, r *Record, why string) error {
	x := &run{Service: s, record: r, lease: job.NewLease()}
	if r.Approval == approvalRefused {
		return errDecided
	}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update signatures set approval = 'REFUSED', lease_by = $1, lease_until = $2 where id = $3 and `+only(`approval = $4 and deleted_at = 0 and `+isWaiting),
			x.lease, store.Millis(s.config.Now().Add(s.config.Lease)), r.ID, r.Approval)
		if err == nil && n == 0 {
			err = errDecided
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := intent.Wait(ctx, s.db, intent.Record, r.ID); err != nil {
		return err
	}
	r.Approval = approvalRefused
	err = x.end(ctx, nil, &refusal{number: fault.NotApproved, text: why})
	if errors.Is(err, errLost) {
		return nil // somebody else ended it
	}
	return err
}
