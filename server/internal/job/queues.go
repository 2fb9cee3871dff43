package job

import "github.com/riverqueue/river"

// Aside is a queue of its own, for jobs that wait for strangers: when they fill
// it, no other job waits for them.
const Aside = "callbacks"

// asideWorkers is how many of them may wait at once.
const asideWorkers = 64

// queues: the work of accounts has most of the workers, with a few kept for
// those who come first; housekeeping never waits for either.
func (q *Queue) queues() map[string]river.QueueConfig {
	few := max(2, q.cfg.Workers/4)
	return map[string]river.QueueConfig{
		river.QueueDefault: {MaxWorkers: max(8, q.cfg.Workers/2)},
		Turns:              {MaxWorkers: q.cfg.Workers},
		First:              {MaxWorkers: few},
		Aside:              {MaxWorkers: asideWorkers},
	}
}
