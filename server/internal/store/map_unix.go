//go:build unix

package store

import (
	"os"
	"syscall"
)

// mapForEver maps the beginning of a file for reading. Neither the mapping nor the
// descriptor is given up before the process ends: closing any descriptor of a file
// drops all locks of the process on it, SQLite's too (POSIX, fcntl).
func mapForEver(path string, size int) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	b, err := syscall.Mmap(fd, 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
	return b, os.NewSyscallError("mmap", err)
}
