// Package disk holds what the storage needs of the file system: a watch on the
// free space, durable names, a lock between processes.
package disk

import (
	"context"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/fault"
)

// Reserve watches the free space of a folder. Work is refused while there is
// still space to finish what is under way and to write the refusal down.
type Reserve struct {
	dir     string
	reserve int64

	mu      sync.Mutex
	checked time.Time
	full    error
}

// NewReserve watches a folder. reserve is the free space to keep, in bytes: zero
// means 5 % of the disk, at most 1 GiB; negative means none.
func NewReserve(dir string, reserve int64) *Reserve {
	return &Reserve{dir: dir, reserve: reserve}
}

type reclaimKey struct{}

// Reclaiming marks work that frees space, which goes on below the reserve.
func Reclaiming(ctx context.Context) context.Context {
	return context.WithValue(ctx, reclaimKey{}, true)
}

// Check refuses with fault.Unavailable where the reserve is touched. It asks the
// system at most once a second. A nil Reserve refuses nothing.
func (d *Reserve) Check(ctx context.Context) error {
	if d == nil || d.reserve < 0 || ctx.Value(reclaimKey{}) != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.checked) < time.Second {
		return d.full
	}
	d.checked, d.full = time.Now(), nil
	free, size, err := Space(d.dir)
	if err != nil {
		return nil // an unknown size does not mean a full disk
	}
	if free < d.floor(size) {
		f := fault.New(fault.Unavailable, "the storage is not available: free disk space is below the reserve")
		f.RetryAfter = 30 * time.Second
		d.full = f
	}
	return d.full
}

func (d *Reserve) floor(size int64) int64 {
	if d.reserve > 0 {
		return d.reserve
	}
	return min(size/20, 1<<30)
}
