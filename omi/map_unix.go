//go:build unix

package omi

import (
	"os"
	"syscall"
)

// mapFile maps a file for reading. It stays readable after the file is removed.
func mapFile(path string) (b []byte, unmap func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 || info.Size() != int64(int(info.Size())) {
		return nil, func() {}, nil
	}
	b, err = syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return b, func() { _ = syscall.Munmap(b) }, nil
}

// releasePages lets the system reclaim the memory of a mapping until it is read again.
func releasePages(b []byte) {
	if len(b) > 0 {
		_ = syscall.Madvise(b, syscall.MADV_DONTNEED) // only a hint
	}
}
