package omi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"rogito.dev/rogito/internal/atomicfile"
)

// Watcher imports what appears in a folder: each archive, file or subfolder is part of the
// publication of its semester, so that tables and perimeters may be in separate archives, in any
// order. Files are imported once they no longer grow.
type Watcher struct {
	Dir     string
	Library *Library
	// AllowPartial accepts partial publications too, see [ImportOptions].
	AllowPartial bool

	seen    map[string]string // name → stamp at the last poll
	handled map[string]string // digest of name → stamp that was imported or refused
}

// Outcome is the result for a publication found in the folder.
type Outcome struct {
	Semester Semester
	Report   Report
	Err      error // why it was refused
}

// handledFile records across restarts what was imported. It has digests of names, since an
// archive's name contains a tax code.
const handledFile = "watched.json"

// Poll scans once and imports what is new and has not changed since the last scan. The error means
// that the folder itself cannot be read.
func (w *Watcher) Poll(ctx context.Context) ([]Outcome, error) {
	now, err := w.scan()
	if err != nil {
		return nil, fmt.Errorf("omi: read watched folder: %w", err)
	}
	settled := maps.Equal(now, w.seen)
	w.seen = now
	w.loadHandled()
	if !settled || !slices.ContainsFunc(slices.Collect(maps.Keys(now)), func(name string) bool { return w.handled[digest(name)] != now[name] }) {
		return nil, nil
	}
	outcomes := w.importNew(ctx, now)
	if ctx.Err() != nil {
		return outcomes, nil // it will be new again
	}
	for name, stamp := range now {
		w.handled[digest(name)] = stamp
	}
	return outcomes, w.remember()
}

// importNew imports every semester with new files.
func (w *Watcher) importNew(ctx context.Context, now map[string]string) []Outcome {
	var outcomes []Outcome
	paths, fresh := map[Semester][]string{}, map[Semester]bool{}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		path := filepath.Join(w.Dir, name)
		isNew := w.handled[digest(name)] != now[name]
		sem, ok, err := SniffSemester(ctx, path)
		if err != nil && isNew {
			outcomes = append(outcomes, Outcome{Err: err})
		}
		if err != nil || !ok {
			continue
		}
		paths[sem] = append(paths[sem], path)
		fresh[sem] = fresh[sem] || isNew
	}
	for _, sem := range slices.SortedFunc(maps.Keys(fresh), Semester.Compare) {
		if fresh[sem] {
			report, err := w.Library.Import(ctx, paths[sem], ImportOptions{AllowPartial: w.AllowPartial})
			outcomes = append(outcomes, Outcome{Semester: sem, Report: report, Err: err})
		}
	}
	return outcomes
}

// scan stamps everything in the folder that is neither hidden nor incomplete.
func (w *Watcher) scan() (map[string]string, error) {
	entries, err := os.ReadDir(w.Dir)
	if err != nil {
		return nil, err
	}
	now := map[string]string{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || unfinished(e.Name()) {
			continue
		}
		now[e.Name()] = stamp(filepath.Join(w.Dir, e.Name()))
	}
	return now, nil
}

// unfinished reports whether browsers and copying tools use such a name for an incomplete file.
func unfinished(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return slices.Contains([]string{".part", ".partial", ".crdownload", ".tmp", ".filepart", ".download"}, ext)
}

// stamp changes if anything below the path does.
func stamp(path string) string {
	sum := sha256.New()
	_ = filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := os.Stat(p); err == nil {
			fmt.Fprintln(sum, p, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

// loadHandled loads what was handled before this process started.
func (w *Watcher) loadHandled() {
	if w.handled != nil {
		return
	}
	w.handled = map[string]string{}
	if b, err := os.ReadFile(filepath.Join(w.Library.dir, handledFile)); err == nil {
		_ = json.Unmarshal(b, &w.handled) // a damaged file only costs another import
	}
}

func (w *Watcher) remember() error {
	b, err := json.Marshal(w.handled)
	err = cmp.Or(err, os.MkdirAll(w.Library.dir, 0o750))
	if err == nil {
		err = atomicfile.WriteBytes(filepath.Join(w.Library.dir, handledFile), 0o640, b)
	}
	if err != nil {
		return fmt.Errorf("omi: remember watched folder: %w", err)
	}
	return nil
}
