package job

import "github.com/riverqueue/river"

// Aside is a queue of its own, for jobs that wait for strangers: when they fill
// it, no other job waits for them.
const Aside = "callbacks"

// asideWorkers is how many of them may wait at once.
const asideWorkers = 64

func (q *Queue) queues() map[string]river.QueueConfig {
	return map[string]river.QueueConfig{
		river.QueueDefault: {MaxWorkers: q.cfg.Workers},
		Aside:              {MaxWorkers: asideWorkers},
	}
}
