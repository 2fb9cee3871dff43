package enroll

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// issuedCache holds certificates that were issued: those that sign are few, and
// met again with every signature. What was ordered and issued never changes;
// what may is read each time.
type issuedCache struct {
	mu sync.Mutex
	m  map[string]*Certificate // by id
}

const maxIssued = 1000

func (i *issuedCache) get(id string) *Certificate {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.m[id]
}

func (i *issuedCache) put(c *Certificate) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.m == nil || len(i.m) >= maxIssued {
		i.m = map[string]*Certificate{} // what is often used is soon back
	}
	i.m[c.ID] = c
}

// Issued is ByID for whoever signs with a certificate: its order, what was issued
// and its standing are as they are now. The rest, such as the link of its holder,
// may be older. Reading a whole row, unsealing and parsing it, took three times as
// long.
func (s *Service) Issued(ctx context.Context, id string) (*Certificate, error) {
	if known := s.issued.get(id); known != nil {
		c := *known
		now, err := s.standings.Read(ctx, id, func(ctx context.Context) (now Standing, err error) {
			err = scanStanding(s.db.Read().QueryRow(ctx, selectStanding, id), func(read Standing) error { now = read; return nil })
			return now, err
		})
		c.State, c.Level, c.NotBefore, c.NotAfter = now.State, now.Level, now.NotBefore, now.NotAfter
		return &c, err
	}
	c, err := s.ByID(ctx, id)
	if err == nil && c.State == Done && !c.altered {
		s.issued.put(c)
		own := *c
		c = &own
	}
	return c, err
}

const selectStanding = `select state, security_level, not_before, not_after from certificates where id = $1`

// scanStanding reads a standing and has it judged.
func scanStanding(row store.Row, judge func(Standing) error) error {
	var now Standing
	var before, after int64
	err := row.Scan(&now.State, &now.Level, &before, &after)
	if errors.Is(err, store.ErrNoRows) {
		return fault.New(fault.NotFound, "no such certificate")
	}
	if err != nil {
		return fmt.Errorf("enroll: read certificate: %w", err)
	}
	now.NotBefore, now.NotAfter = store.Time(before), store.Time(after)
	return judge(now)
}
