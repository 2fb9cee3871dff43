//go:build unix

package publication

import (
	"os/exec"
	"runtime"
	"syscall"
)

// peakMB is the most memory a process that ended had, in megabytes.
func peakMB(c *exec.Cmd) int64 {
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(usage.Maxrss) / 1_000_000
	}
	return int64(usage.Maxrss) / 1000
}
