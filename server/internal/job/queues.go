package job

import "github.com/riverqueue/river"

// Callbacks is the queue of jobs that wait for other people's servers: however
// many wait there, no other job waits for them.
const Callbacks = "callbacks"

// callbackWorkers is how many of them may wait at once.
const callbackWorkers = 64

// queues: work of accounts has the shared workers and some reserved ones;
// periodic jobs never wait for either.
func (q *Queue) queues() map[string]river.QueueConfig {
	return map[string]river.QueueConfig{
		river.QueueDefault: {MaxWorkers: max(8, q.cfg.Workers/2)},
		Shared:             {MaxWorkers: q.cfg.Workers},
		Reserved:           {MaxWorkers: max(2, q.cfg.Workers/4)},
		Callbacks:          {MaxWorkers: callbackWorkers},
	}
}
