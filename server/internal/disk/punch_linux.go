package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// PunchHole gives the space of a range back; the range then reads as zeros.
func PunchHole(f *os.File, offset, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, n)
}
