package enroll

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Issued is ByID for signing. The order and the issued certificate never change; its standing
// is the one that was read with the credential. Other fields, such as the holder's link, may be
// out of date. Reading, unsealing and parsing the whole row took three times as long.
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
		c.parsed = sync.OnceValues(c.parse) // those that sign are few, and met again with every signature
		s.issued.Put(c.ID, c, 4*len(c.DER))
		own := *c
		c = &own
	}
	return c, err
}

// X509 is the certificate with those above it.
func (c *Certificate) X509() (*x509.Certificate, []*x509.Certificate, error) {
	if c.parsed == nil {
		c.parsed = sync.OnceValues(c.parse)
	}
	all, err := c.parsed()
	if err != nil {
		return nil, nil, err
	}
	return all[0], all[1:], nil
}

func (c *Certificate) parse() ([]*x509.Certificate, error) {
	all := make([]*x509.Certificate, 1+len(c.Chain))
	for i, der := range append([][]byte{c.DER}, c.Chain...) {
		var err error
		if all[i], err = x509.ParseCertificate(der); err != nil {
			return nil, fmt.Errorf("enroll: certificate %d of a chain: %w", i+1, err)
		}
	}
	return all, nil
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
