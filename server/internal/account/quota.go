package account

import (
	"context"
	"encoding/json"
	"fmt"
)

// Quota bounds what an account may have made, whatever it could pay. Zero: no
// bound. Days and months are UTC.
type Quota struct {
	SignaturesPerDay     int64 `json:"signaturesPerDay,omitempty"`
	SignaturesPerMonth   int64 `json:"signaturesPerMonth,omitempty"`
	CertificatesPerMonth int64 `json:"certificatesPerMonth,omitempty"`
}

// parseQuota reads the column of an account.
func parseQuota(text string) (q Quota, err error) {
	if text == "" {
		return q, nil
	}
	if err := json.Unmarshal([]byte(text), &q); err != nil {
		return q, fmt.Errorf("account: quota: %w", err)
	}
	return q, nil
}

// Quota is that of an account.
func (s *Service) Quota(ctx context.Context, accountID string) (Quota, error) {
	r, err := s.account(ctx, s.db.Read().QueryRow(ctx, `select `+accountColumns+` from accounts a where a.id = $1`, accountID))
	if err != nil {
		return Quota{}, fmt.Errorf("account: quota: %w", err)
	}
	return parseQuota(r.quota)
}

// SetQuota bounds what an account may have made; every server knows within five
// seconds.
func (s *Service) SetQuota(ctx context.Context, accountID string, q Quota) error {
	text, err := json.Marshal(q)
	if err != nil {
		return err
	}
	return s.change(ctx, accountID, func(r *accountRow) { r.quota = string(text) })
}
