//go:build unix

package yardstick

import (
	"syscall"
	"time"
)

// Processor is the processor time that this process has used, which other work
// on the machine changes little.
func Processor() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail with these arguments
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
