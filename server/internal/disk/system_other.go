//go:build !unix

package disk

import "errors"

// Space is the free space and the size of the disk that holds dir.
func Space(string) (free, size int64, err error) {
	return 0, 0, errors.New("disk space is not known on this system")
}

// Lock does nothing where the system has no flock.
func Lock(string) (unlock func(), err error) { return func() {}, nil }

// SyncDir does nothing where folders cannot be synced.
func SyncDir(string) error { return nil }
