package memory

import (
	"log/slog"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNoCoreDumps(t *testing.T) {
	t.Cleanup(func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }) // other tests read this process's memory
	NoCoreDumps(slog.New(slog.DiscardHandler))
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil || limit.Cur != 0 || limit.Max != 0 {
		t.Errorf("the limit of core dumps is %+v, %v", limit, err)
	}
	if n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || n != 0 {
		t.Errorf("dumpable: %d, %v", n, err)
	}
}
