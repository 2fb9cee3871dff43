//go:build !linux

package limits

import "time"

func threadTime() func() time.Duration { return func() time.Duration { return -1 } }
