//go:build !linux

package store

import (
	"errors"
	"os"
)

func punchHole(*os.File, int64, int64) error { return errors.ErrUnsupported }
