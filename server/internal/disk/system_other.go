//go:build !unix

package store

import "errors"

func diskSpace(string) (free, size int64, err error) {
	return 0, 0, errors.New("disk space is not known on this system")
}

func lockFile(string) (unlock func(), err error) { return func() {}, nil }

func syncDir(string) error { return nil }
