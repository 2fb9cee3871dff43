package enroll

import (
	"context"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Issued is ByID for whoever signs with a certificate: its order and what was
// issued, which never change, and its standing as the credential was read with it.
// The rest, such as the link of its holder, may be older. Reading a whole row,
// unsealing and parsing it, took three times as long.
func (s *Service) Issued(ctx context.Context, cred *keys.Credential) (*Certificate, error) {
	if known, ok := s.issued.Get(cred.ID); ok {
		c, now := *known, cred.Certificate
		if now.State == "" {
			return nil, errNoCertificate()
		}
		c.State, c.Level, c.NotBefore, c.NotAfter = State(now.State), now.Level, store.Time(now.NotBefore), store.Time(now.NotAfter)
		return &c, nil
	}
	c, err := s.ByID(ctx, cred.ID)
	if err == nil && c.State == Done && !c.altered {
		s.issued.Put(c.ID, c, len(c.DER))
		own := *c
		c = &own
	}
	return c, err
}

func errNoCertificate() error { return fault.New(fault.NotFound, "no such certificate") }

const selectStanding = `select state, security_level, not_before, not_after from certificates where id = $1`

// scanStanding reads a standing and has it judged.
func scanStanding(row store.Row, judge func(Standing) error) error {
	var now Standing
	var before, after int64
	err := row.Scan(&now.State, &now.Level, &before, &after)
	if errors.Is(err, store.ErrNoRows) {
		return errNoCertificate()
	}
	if err != nil {
		return fmt.Errorf("enroll: read certificate: %w", err)
	}
	now.NotBefore, now.NotAfter = store.Time(before), store.Time(after)
	return judge(now)
}
