package store

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// abandoned is the age of a half-written file whose writer is gone.
const abandoned = 24 * time.Hour

// sweepOld removes files of an ending that nobody has touched for a day.
func sweepOld(dir, ending string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ending) {
			continue
		}
		info, err := file.Info()
		if err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(dir, file.Name()))
		}
	}
}
