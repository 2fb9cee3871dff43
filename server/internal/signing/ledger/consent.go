package ledger

import (
	"context"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/store"
)

// The states of an approval, which a record needs if its certificate asks for a second token's
// consent.
const (
	ApprovalWaiting = "WAITING"
	ApprovalGiven   = "APPROVED"
	ApprovalRefused = "REFUSED"
)

// Approvals lists the records of an account that wait for one, newest first.
func (s *Ledger) Approvals(ctx context.Context, account, after string, skip, limit int) ([]*Record, error) {
	tail, args := store.Page{After: after, Skip: skip, Limit: limit}.Of(account)
	rows, err := s.DB.Read().Query(ctx, `select `+columns+` from signatures where account_id = $1 and approval = 'WAITING' and `+isWaiting+tail, args...)
	return store.All("signing: approvals", rows, err, s.scan)
}

var ErrDecided = fault.New(fault.WrongState, "the signature does not wait for an approval any more")

// approval is the sealed proof of an approval: the word in its column could be written by
// anyone with write access to the database. It holds only for what was bound.
type approval struct{ Token, Bound string }

// CheckApproval refuses a record whose level asks for an approval and that has none.
func (s *Ledger) CheckApproval(r *Record, secrets *Secrets, asked bool) error {
	if !asked {
		return nil
	}
	var a approval
	if err := s.unseal(approvalPurpose, r.Owner(), r.approved, &a); err != nil || a.Token == "" || a != (approval{r.ApprovedBy, secrets.Bound}) {
		return &Refusal{Number: fault.NotApproved, Text: "the approval was not given", Err: err}
	}
	return nil
}

// StoreApproval stores the approval of a record that waits for one, with its proof.
func (s *Ledger) StoreApproval(ctx context.Context, tx *store.Tx, r *Record, token, bound string, now time.Time) error {
	proof, err := s.seal(approvalPurpose, r.Owner(), approval{token, bound})
	if err != nil {
		return err
	}
	n, err := tx.Exec(ctx, `update signatures set approval = 'APPROVED', approved_by = $1, approval_proof = $4, updated_at = $2, turn = `+job.Turn(Table, Ready, "$5", "$6")+` where id = $3 and `+
		only(`approval = 'WAITING' and approval_until > $2 and `+isWaitSign), token, store.Millis(now), r.ID, proof, r.AccountID, r.weight())
	if err == nil && n == 0 {
		err = ErrDecided
	}
	if err == nil {
		r.Approval, r.ApprovedBy = ApprovalGiven, token
	}
	return err
}

// StoreRefusal takes the lease of a record from any worker, so that it can be ended, if its
// approval is still the one that was read.
func StoreRefusal(ctx context.Context, tx *store.Tx, r *Record, lease string, until time.Time) error {
	return tx.Expect(ctx, 1, ErrDecided, `update signatures set approval = 'REFUSED', lease_by = $1, lease_until = $2 where id = $3 and `+only(`approval = $4 and `+isWaiting),
		lease, store.Millis(until), r.ID, r.Approval)
}

// ApprovalWithdrawn is the text of the error that a record ends in.
const ApprovalWithdrawn = "the approval was withdrawn"
