package account

import (
	"context"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

// Rewrite changes when the line of a token ends, as only this service can.
func (s *Service) Rewrite(ctx context.Context, id string, lineUntil int64) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		var r tokenRow
		var mac []byte
		if err := tx.QueryRow(ctx, `select `+tokenRowColumns+` from tokens t where t.id = $1`, id).Scan(r.fields(&mac)...); err != nil {
			return err
		}
		r.lineUntil = lineUntil
		_, err := tx.Exec(ctx, `update tokens set line_until = $1, mac = $2 where id = $3`, lineUntil, s.mark(&r), id)
		return err
	})
}

// SetClock has sessions begin and end by another clock.
func (s *Service) SetClock(now func() time.Time) { s.now = now }
