//go:build !unix

package omi

import "os"

// mapFile reads a file on systems where it cannot be mapped.
func mapFile(path string) (b []byte, unmap func(), err error) {
	b, err = os.ReadFile(path)
	return b, func() {}, err
}

// releasePages does nothing: the file is in the memory of the process.
func releasePages([]byte) {}
