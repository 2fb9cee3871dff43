package store

import (
	"time"

	"github.com/riverqueue/river"
)

// insertOnly is how jobs are enqueued. River tells workers of new jobs at most
// once in a cooldown: one that came just after another would wait for the next
// poll, a second later. So the cooldown is the shortest that there is.
func insertOnly(cfg Config) *river.Config {
	return &river.Config{Logger: cfg.Log, MaxAttempts: MaxAttempts, FetchCooldown: time.Millisecond}
}
