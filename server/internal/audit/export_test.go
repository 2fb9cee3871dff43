package audit

import "time"

// LoseAfter has events missed earlier, for the time of a test.
func LoseAfter(d time.Duration) (undo func()) {
	old := lostAfter
	lostAfter = d
	return func() { lostAfter = old }
}
