package enroll

import (
	"context"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Held is what certificates are counted by.
type Held struct {
	Kind  keys.Kind
	State State
}

// Count says how many certificates there are, of all accounts.
func (s *Service) Count(ctx context.Context) (map[Held]int64, error) {
	rows, err := s.db.Read().Query(ctx, `select kind, state, count(*) from certificates group by kind, state`)
	count := map[Held]int64{}
	err = store.Each("enroll: count", rows, err, func(r store.Row) error {
		var kind, state string
		var n int64
		err := r.Scan(&kind, &state, &n)
		count[Held{keys.Kind(kind), State(state)}] = n
		return err
	})
	return count, err
}

// Ending says how many certificates that can sign end within a time.
func (s *Service) Ending(ctx context.Context, within time.Duration) (n int64, err error) {
	err = s.db.Read().QueryRow(ctx, `select count(*) from certificates where state in ($1, $2) and not_after between 1 and $3`,
		string(Done), string(Suspended), store.Millis(s.config.Now().Add(within))).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("enroll: count: %w", err)
	}
	return n, nil
}
