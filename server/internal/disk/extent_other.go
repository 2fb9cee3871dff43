//go:build !linux

package disk

import (
	"errors"
	"os"
)

// PunchHole gives the space of a range back; the range then reads as zeros.
func PunchHole(*os.File, int64, int64) error { return errors.ErrUnsupported }

// Allocate sets space aside for a range.
func Allocate(*os.File, int64, int64) error { return errors.ErrUnsupported }

// SyncData makes what was written to a file durable.
func SyncData(f *os.File) error { return f.Sync() }
