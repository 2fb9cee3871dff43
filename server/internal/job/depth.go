package job

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"rogito.dev/rogito/server/internal/store"
)

// States of a job that is not done.
var States = []string{"available", "running", "retryable", "scheduled", "discarded"}

// Names of the queues.
var Names = []string{river.QueueDefault, Shared, Reserved, Callbacks}

// Depth is how many jobs of a queue are in a state, and how long the oldest has
// been due.
type Depth struct {
	Queue  string
	State  string
	Jobs   int64
	Oldest time.Duration
}

// Waits says whether these are jobs that nobody works on yet.
func (d Depth) Waits() bool {
	return d.State == "available" || d.State == "retryable" || d.State == "scheduled"
}

// Depths is the queue as it is now, finished jobs left out.
func (q *Queue) Depths(ctx context.Context) ([]Depth, error) {
	age := `(julianday('now') - julianday(min(scheduled_at))) * 86400.0`
	if q.db.Dialect() == store.PostgreSQL {
		age = `extract(epoch from now() - min(scheduled_at))::float8`
	}
	rows, err := q.db.Read().Query(ctx, `select queue, cast(state as text), count(*), coalesce(`+age+`, 0.0) from river_job
		where state in ('available', 'running', 'retryable', 'scheduled', 'discarded') group by queue, state order by 1, 2`)
	return store.All("read the queue", rows, err, func(r store.Row) (d Depth, err error) {
		var seconds float64
		err = r.Scan(&d.Queue, &d.State, &d.Jobs, &seconds)
		d.Oldest = max(0, time.Duration(seconds*float64(time.Second)))
		return d, err
	})
}
