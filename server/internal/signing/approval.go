package signing

import (
	"context"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// What a record waits for when its certificate asks for a second token's word.
const (
	approvalWaiting = "WAITING"
	approvalGiven   = "APPROVED"
	approvalRefused = "REFUSED"
)

// Approvals lists the records of an account that wait for one, newest first.
func (s *Service) Approvals(ctx context.Context, account string, skip, limit int) ([]*Record, error) {
	rows, err := s.db.Read().Query(ctx, `select `+columns+` from signatures where account_id = $1 and approval = 'WAITING' and deleted_at = 0
		and `+isWaiting+` order by id desc limit $2 offset $3`, account, limit, skip)
	if err != nil {
		return nil, fmt.Errorf("signing: approvals: %w", err)
	}
	defer rows.Close()
	all := []*Record{}
	for rows.Next() {
		r, err := s.scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, rows.Err()
}

// waiting finds a record that waits for approval, for a caller who may give
// it.
func (s *Service) waiting(ctx context.Context, from Caller, id string) (*Record, error) {
	r, err := s.Find(ctx, from.AccountID, id)
	if err != nil {
		return nil, err
	}
	if r.Approval == "" {
		return nil, fault.New(fault.NotFound, "no approval is asked for this signature")
	}
	same, err := s.tokens.SameLine(ctx, r.AccountID, r.TokenID, from.TokenID)
	if err != nil {
		return nil, err
	}
	if from.TokenID == "" || same {
		return nil, fault.New(fault.SecurityLevel, "the approval must come from another token than the one that asked")
	}
	if r.Approval != approvalWaiting || r.State.Final() {
		return nil, fault.New(fault.WrongState, "the signature does not wait for an approval any more")
	}
	return r, nil
}

// Approve lets a record that waits be signed.
func (s *Service) Approve(ctx context.Context, from Caller, id string) (*Record, error) {
	r, err := s.waiting(ctx, from, id)
	if err != nil {
		return nil, err
	}
	x := &run{Service: s, record: r}
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update signatures set approval = 'APPROVED', approved_by = $1, updated_at = $2 where id = $3 and approval = 'WAITING' and approval_until > $2`,
			from.TokenID, store.Millis(s.config.Now()), id)
		if err != nil {
			return err
		}
		if n == 0 {
			return fault.New(fault.WrongState, "the signature does not wait for an approval any more")
		}
		r.Approval = approvalGiven
		if err := s.audit.Append(ctx, tx, x.event("approval", "approved by another token", map[string]any{"token": from.TokenID, "address": from.Address})); err != nil {
			return err
		}
		return s.enter(ctx, tx, r)
	})
	return r, err
}

// Refuse ends a record that waits for approval.
func (s *Service) Refuse(ctx context.Context, from Caller, id string) (*Record, error) {
	r, err := s.waiting(ctx, from, id)
	if err != nil {
		return nil, err
	}
	return r, s.endUnapproved(ctx, r, "the approval was refused")
}

// endUnapproved takes the record over from whoever might be validating it.
func (s *Service) endUnapproved(ctx context.Context, r *Record, why string) error {
	x := &run{Service: s, record: r, lease: newLease()}
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update signatures set approval = 'REFUSED', lease_by = $1, lease_until = $2 where id = $3 and approval = 'WAITING'`,
			x.lease, store.Millis(s.config.Now().Add(s.config.Lease)), r.ID)
		if err == nil && n == 0 {
			err = errLost
		}
		return err
	})
	if errors.Is(err, errLost) {
		return fault.New(fault.WrongState, "the signature does not wait for an approval any more")
	}
	if err != nil {
		return err
	}
	r.Approval = approvalRefused
	err = x.end(ctx, nil, &refusal{number: fault.NotApproved, text: why})
	if errors.Is(err, errLost) {
		return nil // somebody else ended it
	}
	return err
}
