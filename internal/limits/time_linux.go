package limits

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns a function that returns the processor time of the calling thread; it may be
// called from any thread. The result is negative if it is unknown.
func threadTime() func() time.Duration {
	clock := int32(^unix.Gettid()<<3 | 6) // clock id of a thread, as clock_getcpuclockid(3) makes it for a process
	return func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(clock, &t); err != nil {
			return -1
		}
		return time.Duration(t.Nano())
	}
}
