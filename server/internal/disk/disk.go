package store

import (
	"context"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/fault"
)

// disk watches the free space of a folder. Work is refused while there is
// still room to finish what is under way and to write the refusal down.
type disk struct {
	dir     string
	reserve int64

	mu      sync.Mutex
	checked time.Time
	full    error
}

func newDisk(dir string, reserve int64) *disk {
	return &disk{dir: dir, reserve: reserve}
}

type reclaimKey struct{}

// Reclaiming marks work that frees space, which goes on below the reserve.
func Reclaiming(ctx context.Context) context.Context {
	return context.WithValue(ctx, reclaimKey{}, true)
}

// check refuses with fault 105 where the reserve is touched. It asks the
// system at most once a second. A nil disk has room.
func (d *disk) check(ctx context.Context) error {
	if d == nil || d.reserve < 0 || ctx.Value(reclaimKey{}) != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.checked) < time.Second {
		return d.full
	}
	d.checked, d.full = time.Now(), nil
	free, size, err := diskSpace(d.dir)
	if err != nil {
		return nil // a system that does not tell is not a full one
	}
	if free < d.floor(size) {
		f := fault.New(fault.Unavailable, "the storage is not available: free disk space is below the reserve")
		f.RetryAfter = 30 * time.Second
		d.full = f
	}
	return d.full
}

func (d *disk) floor(size int64) int64 {
	if d.reserve > 0 {
		return d.reserve
	}
	return min(size/20, 1<<30)
}

// DiskSpace is the free space and the size of the disk that holds dir.
func DiskSpace(dir string) (free, size int64, err error) { return diskSpace(dir) }
