package job

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/store"
)

// claimAtOnce bounds the rows of one claim.
const claimAtOnce = 16

// NewLease is a unique name for the holder of a lease.
func NewLease() string {
	b := make([]byte, 12)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

// free is the condition that a row is not leased, and that its pause is over: $1 is now, $2 the end
// of any lease or pause that can have begun by now.
const free = ` and (t.lease_until <= $1 or t.lease_until > $2)`

func (q *Queue) times(s Source, now time.Time) []any {
	return []any{now.UnixMilli(), now.Add(s.Longest + 3*q.cfg.Lease).UnixMilli()}
}

func (q *Queue) waiting(ctx context.Context, s Source) (some bool, err error) {
	err = q.db.Read().QueryRow(ctx, `select exists (select 1 from `+s.Table+` t where `+s.Ready+free+`)`, q.times(s, q.cfg.Now())...).Scan(&some)
	return some, err
}

// turnsAhead bounds the rows that are passed over to find another account's: its first
// has a turn close to the first of all.
const turnsAhead = 1000

// Claim takes up to n rows, in their order, of other accounts than those of not.
func (q *Queue) Claim(ctx context.Context, s Source, n int, not []any) (all []Claim, err error) {
	now, lease := q.cfg.Now(), NewLease()
	args := append(q.times(s, now), lease, now.Add(q.cfg.Lease).UnixMilli(), n)
	others := ""
	if len(not) > 0 {
		for _, account := range not {
			args = append(args, account)
			others += ",$" + strconv.Itoa(len(args))
		}
		others = ` and t.account_id not in (` + others[1:] + `) and t.turn <= ` + strconv.Itoa(turnsAhead) +
			` + coalesce((select min(t.turn) from ` + s.Table + ` t where ` + s.Ready + ` and t.turn > 0), 0)`
	}
	first := `select t.id from ` + s.Table + ` t where ` + s.Ready + free + others + ` order by ` + s.Order + ` limit $5`
	in := `id in (` + first + `)`
	if q.db.Dialect() == store.PostgreSQL { // two at once take the first and the second
		in = `id = any(array(` + first + ` for update of t skip locked))`
	}
	columns := "id, account_id, starts, failures"
	if s.Scan != nil {
		columns = s.Columns + ", " + columns
	}
	err = q.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, `update `+s.Table+` set lease_by = $3, lease_until = $4, starts = starts + 1 where `+in+` returning `+columns, args...)
		all, err = store.All("job: claim", rows, err, func(r store.Row) (c Claim, err error) {
			c = Claim{Table: s.Table, Lease: lease}
			own := []any{&c.ID, &c.Account, &c.Starts, &c.Failures}
			if s.Scan == nil {
				return c, r.Scan(own...)
			}
			c.Row, err = s.Scan(r, own...)
			return c, err
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (q *Queue) renew(ctx context.Context) error {
	q.mu.Lock()
	held := maps.Clone(q.held)
	q.mu.Unlock()
	if len(held) == 0 {
		return nil
	}
	until := q.cfg.Now().Add(q.cfg.Lease).UnixMilli()
	return q.db.Write(ctx, func(tx *store.Tx) error {
		for key, lease := range held {
			if err := tx.Later(ctx, `update `+key[0]+` set lease_until = $1 where id = $2 and lease_by = $3`, until, key[1], lease); err != nil {
				return err
			}
		}
		return nil
	})
}

// Outcome is the state of a row whose work is not done.
type Outcome struct {
	Pause  time.Duration
	Failed bool // it counts as a failure
	Undone bool // it does not count as begun
}

// Later releases a row, with a pause from now on.
func Later(ctx context.Context, tx *store.Tx, c Claim, o Outcome, now time.Time) error {
	one := map[bool]int{true: 1}
	until := int64(0)
	if o.Pause > 0 {
		until = now.Add(o.Pause).UnixMilli()
	}
	_, err := tx.Exec(ctx, `update `+c.Table+` set lease_by = '', lease_until = $1, failures = failures + $2, starts = starts - $3 where id = $4 and lease_by = $5`,
		until, one[o.Failed], one[o.Undone], c.ID, c.Lease)
	if err != nil {
		return fmt.Errorf("job: give back: %w", err)
	}
	return nil
}

// Turn is SQL for the turn of a row that is added to a table, or becomes ready there,
// by an account: one of so many turns' weight, both given as SQL.
func Turn(table, ready, account, weight string) string {
	waiting := ` from ` + table + ` t where ` + ready + ` and t.turn > 0`
	return strings.NewReplacer("MINE", `coalesce((select max(t.turn)`+waiting+` and t.account_id = `+account+`), 0) + cast(`+weight+` as bigint)`,
		"HEAD", `coalesce((select min(t.turn)`+waiting+`), 1)`).Replace(
		`(select case when m.mine > m.head then m.mine else m.head end from (select MINE as mine, HEAD as head) m)`)
}
