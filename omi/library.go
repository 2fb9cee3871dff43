package omi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/internal/atomicfile"
)

// Library is a folder of publications, one index file each. Several processes may use the same
// folder: files are added and removed atomically, and [Library.Refresh] picks up the changes of
// other processes.
type Library struct {
	dir     string
	mu      sync.Mutex           // changes of current, bad and whole
	bad     map[string]time.Time // files that could not be opened, and their time: not tried again
	whole   map[string]bool      // files whose checksum was verified
	current atomic.Pointer[Set]
}

// Set is an immutable snapshot of the publications, so that an answer never mixes two states.
type Set struct {
	indexes []*Index // newest first
	active  *Index
	files   map[string]*Index // by file name
	pinned  Semester          // chosen by Use; zero: the newest
}

// activeFile has the semester chosen by Use.
const activeFile = "active"

var indexName = regexp.MustCompile(`^(\d{4})-([12])\.([0-9a-f]{12})\.omi$`)

// fileName is the file name of a publication in the folder.
func fileName(s Semester, id string) string { return fmt.Sprintf("%04d-%d.%s.omi", s.Year, s.Half, id) }

// OpenLibrary opens the publications in a folder, which is created when it is first written to.
// While it is empty, the built-in sample is used. The error names files that cannot be opened; the
// library is usable without them. Files only get their names once their checksum is verified, so it
// is not computed again here (80 MB for a semester of all Italy): see [Library.Check].
func OpenLibrary(dir string) (*Library, error) {
	l := &Library{dir: dir, bad: map[string]time.Time{}, whole: map[string]bool{}}
	l.current.Store(&Set{})
	_, err := l.Refresh()
	return l, err
}

// Current is the current set of publications.
func (l *Library) Current() *Set { return l.current.Load() }

// Active is the publication that is used by default, or nil.
func (s *Set) Active() *Index { return s.active }

// All are the publications, the newest first.
func (s *Set) All() []*Index { return s.indexes }

// Sample reports whether the built-in sample is used for lack of official publications.
func (s *Set) Sample() bool { return s.active != nil && s.active.report.Sample }

// Pinned is the semester chosen by Use; the zero Semester means the newest.
func (s *Set) Pinned() Semester { return s.pinned }

// Semester is the publication of a semester.
func (s *Set) Semester(of Semester) (*Index, bool) {
	i := slices.IndexFunc(s.indexes, func(ix *Index) bool { return ix.semester == of })
	if i < 0 {
		return nil, false
	}
	return s.indexes[i], true
}

// Refresh picks up all changes in the folder at once, and reports whether there were any.
func (l *Library) Refresh() (changed bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.current.Load()
	next := &Set{files: map[string]*Index{}}
	names, err := l.files()
	if err != nil {
		return false, fmt.Errorf("omi: read library: %w", err)
	}
	var problems []error
	for _, name := range names {
		if ix := before.files[name]; ix != nil && l.bad[name].IsZero() {
			next.files[name] = ix
			continue
		}
		ix, err := l.open(name)
		if err != nil {
			problems = append(problems, err)
		}
		if ix != nil {
			next.files[name], changed = ix, true
		}
	}
	if next.pinned, err = l.pin(); err != nil {
		problems = append(problems, err)
	}
	changed = changed || len(next.files) != len(before.files) || next.pinned != before.pinned || before.active == nil
	if changed {
		next.arrange(names)
		l.current.Store(next)
	}
	return changed, errors.Join(problems...)
}

// open opens a file of the folder. If that fails, the error is reported once, and the file is
// ignored until it changes.
func (l *Library) open(name string) (*Index, error) {
	path := filepath.Join(l.dir, name)
	info, err := os.Stat(path)
	if err != nil || l.bad[name].Equal(info.ModTime()) {
		return nil, nil
	}
	ix, err := mapIndex(path)
	if err == nil && fileName(ix.semester, ix.id) != name {
		err = fmt.Errorf("%w: it is %s", ErrIndex, fileName(ix.semester, ix.id))
	}
	if err != nil {
		l.bad[name] = info.ModTime()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	delete(l.bad, name)
	return ix, nil
}

// Check verifies the checksums of files not yet checked by this library, which takes a while. It
// drops damaged files, and names them in its error.
func (l *Library) Check() error {
	var problems []error
	for name := range l.Current().files {
		if l.isWhole(name) {
			continue
		}
		err := checkDigest(filepath.Join(l.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		l.mu.Lock()
		if err == nil {
			l.whole[name] = true
		} else if info, gone := os.Stat(filepath.Join(l.dir, name)); gone == nil {
			l.bad[name] = info.ModTime()
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
		l.mu.Unlock()
	}
	if len(problems) > 0 {
		_, err := l.Refresh()
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

func (l *Library) isWhole(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.whole[name]
}

// files are the index files in the folder, the newest of each semester last.
func (l *Library) files() ([]string, error) {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	written := map[string]time.Time{}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && indexName.MatchString(e.Name()) {
			names = append(names, e.Name())
			written[e.Name()] = info.ModTime()
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return written[a].Compare(written[b]) })
	return names, nil
}

// arrange sorts the publications and picks the active one. Of two files of one semester, as left by
// an interrupted import, the later one is used.
func (s *Set) arrange(names []string) {
	of := map[Semester]*Index{}
	for _, name := range names {
		if ix := s.files[name]; ix != nil {
			of[ix.semester] = ix
		}
	}
	s.indexes = slices.AppendSeq(s.indexes, maps.Values(of))
	if len(s.indexes) == 0 {
		s.indexes = append(s.indexes, sample())
	}
	slices.SortFunc(s.indexes, func(a, b *Index) int { return b.semester.Compare(a.semester) })
	s.active = s.indexes[0]
	if ix, ok := s.Semester(s.pinned); ok {
		s.active = ix
	}
}

func (l *Library) pin() (Semester, error) {
	b, err := os.ReadFile(filepath.Join(l.dir, activeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return Semester{}, nil
	}
	if err != nil {
		return Semester{}, fmt.Errorf("omi: read library: %w", err)
	}
	return ParseSemester(strings.TrimSpace(string(b)))
}

// Import reads a publication, adds its index and uses it. A publication of the same semester is
// replaced. A refused one (a [*RefusedError]) changes nothing.
func (l *Library) Import(ctx context.Context, paths []string, opts ImportOptions) (Report, error) {
	pub, err := ReadPublication(ctx, paths, opts)
	if err != nil {
		return Report{}, err
	}
	if err := l.Add(pub); err != nil {
		return Report{}, err
	}
	return pub.Report, nil
}

// ImportAll is Import for a supply of several semesters.
func (l *Library) ImportAll(ctx context.Context, paths []string, opts ImportOptions) ([]Report, error) {
	all, err := ReadPublications(ctx, paths, opts)
	if err != nil {
		return nil, err
	}
	var reports []Report
	for _, pub := range all {
		if err := l.Add(pub); err != nil {
			return reports, err
		}
		reports = append(reports, pub.Report)
	}
	return reports, nil
}

// Add stores a publication and uses it.
func (l *Library) Add(pub *Publication) error {
	return l.addFile(func(f *os.File) error { return pub.WriteIndex(f) })
}

// addFile writes a new index file beside the others, and uses it once it is complete and on disk.
func (l *Library) addFile(write func(*os.File) error) error {
	if err := os.MkdirAll(l.dir, 0o750); err != nil {
		return fmt.Errorf("omi: add to library: %w", err)
	}
	l.sweep()
	f, err := os.CreateTemp(l.dir, atomicfile.Prefix+"*")
	if err != nil {
		return fmt.Errorf("omi: add to library: %w", err)
	}
	defer os.Remove(f.Name()) // renamed if all went well
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("omi: add to library: %w", err)
	}
	return l.adopt(f.Name())
}

// adopt checks a finished index file, moves it to its place and uses it.
func (l *Library) adopt(path string) error {
	ix, err := OpenIndex(path)
	if err != nil {
		return err
	}
	name := fileName(ix.semester, ix.id)
	if err := os.Rename(path, filepath.Join(l.dir, name)); err != nil {
		return fmt.Errorf("omi: add to library: %w", err)
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(l.dir, name), now, now) // decides which of two files is newer
	_ = os.Chmod(filepath.Join(l.dir, name), 0o640)      // temporary files are only readable by their owner
	atomicfile.SyncDir(l.dir)
	if err := l.drop(ix.semester, name); err != nil {
		return err
	}
	l.mu.Lock()
	l.whole[name] = true
	l.mu.Unlock()
	_, err = l.Refresh()
	return err
}

// drop removes the files of a semester, except one.
func (l *Library) drop(s Semester, keep string) error {
	names, err := l.files()
	if err != nil {
		return fmt.Errorf("omi: read library: %w", err)
	}
	for _, name := range names {
		if name == keep || semesterOf(name) != s {
			continue
		}
		if err := os.Remove(filepath.Join(l.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("omi: remove publication: %w", err)
		}
	}
	return nil
}

func semesterOf(name string) Semester {
	m := indexName.FindStringSubmatch(name)
	if m == nil {
		return Semester{}
	}
	s, _ := ParseSemester(m[1] + "/" + m[2]) // the form is the same
	return s
}

// sweep removes the temporary files of a crashed import.
func (l *Library) sweep() {
	left, _ := filepath.Glob(filepath.Join(l.dir, atomicfile.Prefix+"*"))
	for _, path := range left {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(path)
		}
	}
}

// Use makes a semester the active one; the zero Semester means the newest.
func (l *Library) Use(s Semester) error {
	path := filepath.Join(l.dir, activeFile)
	if s == (Semester{}) {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("omi: use publication: %w", err)
		}
	} else {
		if !l.has(s) {
			return ErrUnknownSemester
		}
		if err := atomicfile.WriteBytes(path, 0o640, []byte(s.String()+"\n")); err != nil {
			return fmt.Errorf("omi: use publication: %w", err)
		}
	}
	_, err := l.Refresh()
	return err
}

func (l *Library) has(s Semester) bool {
	names, _ := l.files()
	return slices.ContainsFunc(names, func(name string) bool { return semesterOf(name) == s })
}

// Remove removes the publication of a semester.
func (l *Library) Remove(s Semester) error {
	if !l.has(s) {
		return ErrUnknownSemester
	}
	if pinned, err := l.pin(); err == nil && pinned == s {
		if err := os.Remove(filepath.Join(l.dir, activeFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("omi: remove publication: %w", err)
		}
	}
	if err := l.drop(s, ""); err != nil {
		return err
	}
	_, err := l.Refresh()
	return err
}

// Path is where the file of a publication of this library is.
func (l *Library) Path(ix *Index) string { return filepath.Join(l.dir, fileName(ix.semester, ix.id)) }

// Receive stores an index written by another library, and uses it.
func (l *Library) Receive(r io.Reader) error {
	return l.addFile(func(f *os.File) error {
		_, err := io.Copy(f, r)
		return err
	})
}
