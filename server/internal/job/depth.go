package job

import (
	"context"
	"time"

	"rogito.dev/rogito/server/internal/store"
)

// States of work that is not done.
var States = []string{"available", "running", "scheduled", "discarded"}

// Names of the tables that have work.
var Names = []string{"signatures", "callbacks", "work"}

// Depth is how many rows of a table are in a state, and how long the oldest has been
// due.
type Depth struct {
	Queue  string
	State  string
	Jobs   int64
	Oldest time.Duration
}

// Waits says whether this work is due and not claimed yet.
func (d Depth) Waits() bool { return d.State == "available" }

// Depths is the queue as it is now.
func (q *Queue) Depths(ctx context.Context) (all []Depth, err error) {
	now := time.Now()
	for _, l := range q.lanes {
		rows, err := q.db.Read().Query(ctx, `select case when t.lease_until <= $1 then 'available' when t.lease_by <> '' then 'running' else 'scheduled' end as state,
				count(*), min(case when t.lease_until > t.created_at then t.lease_until else t.created_at end)
			from `+l.Table+` t where `+l.Ready+` group by 1 order by 1`, now.UnixMilli())
		found, err := store.All("read the queue", rows, err, func(r store.Row) (Depth, error) {
			d := Depth{Queue: l.Table}
			var since int64
			err := r.Scan(&d.State, &d.Jobs, &since)
			d.Oldest = max(0, now.Sub(store.Time(since)))
			return d, err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	d := Depth{Queue: "work", State: "discarded"}
	if err := q.db.Read().QueryRow(ctx, `select count(*) from work where `+dead).Scan(&d.Jobs); err != nil {
		return nil, err
	}
	if d.Jobs > 0 {
		all = append(all, d)
	}
	return all, nil
}
