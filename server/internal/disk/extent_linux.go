package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// PunchHole gives the space of a range back; the range then reads as zeros.
func PunchHole(f *os.File, offset, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, n)
}

// Allocate sets space aside for a range, which may lie behind the end of the
// file: what is written there later needs none to be found. The file stays as
// long as it is. Truncating it to its size gives the rest back.
func Allocate(f *os.File, offset, n int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, n)
}

// SyncData makes what was written to a file durable, with whatever is needed to
// read it, and without the time of the last change.
func SyncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
