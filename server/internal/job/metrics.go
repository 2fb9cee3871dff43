package job

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"rogito.dev/rogito/server/internal/store"
)

// Depth is how many jobs are in a state, and how long the oldest has been due.
type Depth struct {
	State  string // available, running, retryable, scheduled, discarded
	Jobs   int64
	Oldest time.Duration
}

// Depths is the queue as it is now, finished jobs left out.
func (q *Queue) Depths(ctx context.Context) ([]Depth, error) {
	age := `(julianday('now') - julianday(min(scheduled_at))) * 86400.0`
	if q.db.Dialect() == store.PostgreSQL {
		age = `extract(epoch from now() - min(scheduled_at))::float8`
	}
	rows, err := q.db.Read().Query(ctx, `select cast(state as text), count(*), coalesce(`+age+`, 0.0) from river_job
		where state in ('available', 'running', 'retryable', 'scheduled', 'discarded') group by state order by 1`)
	return store.All("read the queue", rows, err, func(r store.Row) (d Depth, err error) {
		var seconds float64
		err = r.Scan(&d.State, &d.Jobs, &seconds)
		d.Oldest = max(0, time.Duration(seconds*float64(time.Second)))
		return d, err
	})
}

var (
	depthDesc = prometheus.NewDesc("rogito_jobs", "Jobs in the queue, by state.", []string{"state"}, nil)
	ageDesc   = prometheus.NewDesc("rogito_job_oldest_seconds", "How long the oldest job of a state has been due.", []string{"state"}, nil)
)

// Describe and Collect make the queue a prometheus.Collector.
func (q *Queue) Describe(ch chan<- *prometheus.Desc) { ch <- depthDesc; ch <- ageDesc }

// Collect reads the depths; a database that does not answer gives none.
func (q *Queue) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	list, err := q.Depths(ctx)
	if err != nil {
		return
	}
	for _, d := range list {
		ch <- prometheus.MustNewConstMetric(depthDesc, prometheus.GaugeValue, float64(d.Jobs), d.State)
		ch <- prometheus.MustNewConstMetric(ageDesc, prometheus.GaugeValue, d.Oldest.Seconds(), d.State)
	}
}
