package tsl

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/internal/atomicfile"
)

// Bounds of an imported collection of files.
const (
	maxFiles      = 1000
	maxCollection = 256 << 20
)

// files are lists in a folder or ZIP under any names. They are found by their contents, through the
// pointers of the list of lists.
type files struct{ lists []*candidate } // the newest first

func (f files) lotl(context.Context) ([]*candidate, error) {
	var out []*candidate
	for _, c := range f.lists {
		if c.list.IsLOTL() {
			out = append(out, c)
		}
	}
	return out[:min(len(out), maxPivots)], nil
}

func (f files) pivots(_ context.Context, lotl *List) ([]*candidate, error) {
	var out []*candidate
	for _, c := range slices.Backward(f.lists) {
		if c.list.IsLOTL() && c.list.Territory == lotl.Territory && c.list.Sequence < lotl.Sequence {
			out = append(out, c)
		}
	}
	if len(out) > maxPivots {
		return nil, fmt.Errorf("tsl: %d older lists of lists are too many", len(out))
	}
	return out, nil
}

func (f files) national(_ context.Context, p Pointer) ([]*candidate, error) {
	var out []*candidate
	for _, c := range f.lists {
		if !c.list.IsLOTL() && sameTerritory(c.list.Territory, p.Territory) {
			out = append(out, c)
		}
	}
	return out, nil
}

// readFiles parses every list below a folder or ZIP, ignoring other files. stamp returns the time
// at which a file counts as fetched.
func readFiles(ctx context.Context, fsys fs.FS, stamp func(fs.FileInfo) time.Time) (files, error) {
	var names []string
	total := int64(0)
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(d.Name(), atomicfile.Prefix) {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() > maxList {
			return err
		}
		names = append(names, path)
		if total += info.Size(); len(names) > maxFiles || total > maxCollection {
			return errors.New("too many files for a collection of lists")
		}
		return nil
	})
	if err != nil {
		return files{}, err
	}
	found := make([]*candidate, len(names))
	var wg sync.WaitGroup
	gate := make(chan struct{}, 4)
	for i, name := range names {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			if ctx.Err() == nil {
				found[i] = readCandidate(fsys, name, stamp)
			}
		})
	}
	wg.Wait()
	found = slices.DeleteFunc(found, func(c *candidate) bool { return c == nil })
	slices.SortStableFunc(found, func(a, b *candidate) int {
		if d := b.list.Sequence - a.list.Sequence; d != 0 {
			return d
		}
		return b.list.Issued.Compare(a.list.Issued)
	})
	return files{found}, ctx.Err()
}

// readCandidate reads one file; nil if it is not a list.
func readCandidate(fsys fs.FS, name string, stamp func(fs.FileInfo) time.Time) *candidate {
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	raw := bytes.NewBuffer(make([]byte, 0, min(info.Size(), maxList)+bytes.MinRead))
	if _, err := raw.ReadFrom(io.LimitReader(f, maxList+1)); err != nil {
		return nil
	}
	text := bytes.TrimLeft(bytes.TrimPrefix(raw.Bytes(), []byte("\xef\xbb\xbf")), " \t\r\n")
	if !bytes.HasPrefix(text, []byte("<")) {
		return nil
	}
	l, err := Parse(raw.Bytes())
	if err != nil {
		return nil
	}
	return &candidate{list: l, raw: raw.Bytes(), at: stamp(info)}
}

// Load reads the lists cached on disk, without the network. They are verified like fetched ones.
func (s *Set) Load(ctx context.Context) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	return s.load(ctx)
}

func (s *Set) load(ctx context.Context) error {
	if s.config.Dir == "" {
		return nil
	}
	s.loaded = s.folder()
	found, err := readFiles(ctx, os.DirFS(s.config.Dir), fs.FileInfo.ModTime)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(found.lists) == 0 && !s.Loaded() {
		return &LOTLError{errMissing}
	}
	if err != nil {
		return fmt.Errorf("tsl: %w", err)
	}
	return s.update(ctx, found, false)
}

// Import reads lists from a folder or ZIP, verifies them like fetched ones and keeps those that
// verify. The error names the others; it is a *LOTLError if the list of lists failed.
func (s *Set) Import(ctx context.Context, from fs.FS) error {
	s.refresh.Lock()
	defer s.refresh.Unlock()
	s.reload(ctx)
	now := s.now()
	found, err := readFiles(ctx, from, func(fs.FileInfo) time.Time { return now })
	if err != nil {
		return fmt.Errorf("tsl: %w", err)
	}
	if len(found.lists) == 0 {
		return errors.New("tsl: there is no trusted list in it")
	}
	err = s.update(ctx, found, true)
	s.loaded = s.folder()
	return err
}

// Export writes the lists cached on disk to a ZIP for Import.
func (s *Set) Export(w io.Writer) error {
	z := zip.NewWriter(w)
	entries, err := os.ReadDir(s.config.Dir)
	if err != nil {
		return fmt.Errorf("tsl: %w", err)
	}
	n := 0
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".xml") || strings.HasPrefix(e.Name(), atomicfile.Prefix) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(s.config.Dir, e.Name()))
		if err != nil {
			return fmt.Errorf("tsl: %w", err)
		}
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("tsl: %w", err)
		}
		f, err := z.CreateHeader(&zip.FileHeader{Name: e.Name(), Method: zip.Deflate, Modified: info.ModTime().UTC()})
		if err != nil {
			return fmt.Errorf("tsl: %w", err)
		}
		if _, err := f.Write(raw); err != nil {
			return fmt.Errorf("tsl: %w", err)
		}
		n++
	}
	if n == 0 {
		return &LOTLError{errMissing}
	}
	return z.Close()
}

// fileName is the file name of a list: IT.xml, EU-300.xml. A territory should be two letters;
// whatever a list says must not choose a path.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '_'
	}, name) + ".xml"
}

// writeCache writes a verified list atomically. Failing to write the cache only costs a fetch after
// the next start.
func (s *Set) writeCache(name string, raw []byte) {
	if s.config.Dir == "" || os.MkdirAll(s.config.Dir, 0o755) != nil {
		return
	}
	path := filepath.Join(s.config.Dir, name)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, raw) {
		now := s.now()
		_ = os.Chtimes(path, now, now)
		return
	}
	_ = atomicfile.WriteBytes(path, 0o600, raw)
}

// folder describes the cache, to detect changes by another process.
func (s *Set) folder() string {
	if s.config.Dir == "" {
		return ""
	}
	entries, _ := os.ReadDir(s.config.Dir)
	var b strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !strings.HasPrefix(e.Name(), atomicfile.Prefix) {
			fmt.Fprintf(&b, "%s %d %d\n", e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}

// reload reads what another process has put into the cache meanwhile. The caller holds s.refresh.
func (s *Set) reload(ctx context.Context) {
	if s.folder() != s.loaded {
		_ = s.load(ctx) // errors show in State
	}
}
