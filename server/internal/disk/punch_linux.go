package store

import (
	"os"

	"golang.org/x/sys/unix"
)

func punchHole(f *os.File, offset, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, n)
}
