package limits

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime returns a function that tells the processor time of the calling
// thread, and may be called from any other; negative where it is not known.
func threadTime() func() time.Duration {
	clock := int32(^unix.Gettid()<<3 | 6) // of a thread, as clock_getcpuclockid(3) has it for a process
	return func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(clock, &t); err != nil {
			return -1
		}
		return time.Duration(t.Nano())
	}
}
