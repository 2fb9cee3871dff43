//go:build !linux

package disk

import (
	"errors"
	"os"
)

// PunchHole gives the space of a range back; the range then reads as zeros.
func PunchHole(*os.File, int64, int64) error { return errors.ErrUnsupported }
