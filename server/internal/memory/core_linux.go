package memory

import (
	"log/slog"

	"golang.org/x/sys/unix"
)

// NoCoreDumps keeps keys and passwords in memory from being written to a file,
// or read by other processes of the same user, when the process dies.
func NoCoreDumps(log *slog.Logger) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		log.Warn("core dumps stay on", "error", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		log.Warn("core dumps stay on", "error", err)
	}
}
