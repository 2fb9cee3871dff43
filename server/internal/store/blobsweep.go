package store

import (
	"os"
	"path/filepath"
	"time"
)

// sweep removes incoming files older than a day.
func (f *folder) sweep() { sweepOld(f.incoming(), 24*time.Hour) }

func sweepOld(dir string, age time.Duration) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, file := range files {
		info, err := file.Info()
		if err == nil && time.Since(info.ModTime()) > age {
			_ = os.Remove(filepath.Join(dir, file.Name()))
		}
	}
}
