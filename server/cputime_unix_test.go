//go:build unix

package server

import (
	"syscall"
	"time"
)

// cpuTime is the processor time of this process, clients and all; the database
// server of its own is not in it.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
