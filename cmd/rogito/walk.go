package main

import (
	"bytes"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
)

// item is a file that a command was led to: by its name, in a folder or in a zip.
type item struct {
	ades.File             // its name is the path as it is printed
	root, rel string      // the folder that led to it, and the path below that: where its results go
	named     bool        // the caller named it, and not what is around it
	broken    bool        // a zip that readers take in two ways, or not at all
	beside    []ades.File // what a detached signature or time-stamp is over, by the names of both
	err       error       // why there is no source
	release   func()
}

// maxZips is how deep plain zips inside each other are opened.
const maxZips = 4

// walk leads to the files at the paths; plain zips are folders where zips is
// set. Files that lie beside a detached signature or time-stamp over them come
// with that. The consumer of an item releases it.
func (s *session) walk(files []found, zips bool) iter.Seq[item] {
	return func(yield func(item) bool) {
		beside, covered := s.pairs(files, zips)
		for _, p := range files {
			if s.ctx.Err() != nil {
				return
			}
			if covered[p.path] && beside[p.path] == "" {
				continue
			}
			it := item{File: ades.File{Name: displayName(p.path)}, root: strings.TrimSuffix(p.path, p.rel), rel: p.rel, named: p.named, release: func() {}}
			f, err := s.open(p.path)
			if err != nil {
				it.err = err
			} else {
				it.Source, it.release = f, func() { f.Close() }
			}
			if c := beside[p.path]; c != "" && err == nil {
				content, err := openFile(c)
				if err != nil {
					it.err = err
				} else {
					it.beside = []ades.File{{Name: filepath.Base(c), Source: content}}
					it.release = func() { f.Close(); content.Close() }
				}
			}
			if !s.unzip(it, zips, 0, yield) {
				return
			}
		}
	}
}

// displayName is a path as it is printed.
func displayName(path string) string {
	if path == input {
		return "standard input"
	}
	return path
}

// pairs finds detached signatures and time-stamps whose files lie beside them,
// and the files that are covered so.
func (s *session) pairs(files []found, zips bool) (beside map[string]string, covered map[string]bool) {
	beside, covered = map[string]string{}, map[string]bool{}
	if !zips { // one file is looked at, and what counts in it is named
		return beside, covered
	}
	present := map[string]bool{}
	for _, p := range files {
		present[p.path] = true
	}
	for _, p := range files {
		c := rogito.ContentName(p.path)
		if c == "" || s.ctx.Err() != nil {
			continue
		}
		if !present[c] {
			if info, err := os.Stat(c); !p.named || err != nil || !info.Mode().IsRegular() {
				continue
			}
		}
		f, err := s.open(p.path)
		if err != nil {
			continue // told when its turn comes
		}
		if rogito.IsDetached(s.ctx, f) {
			beside[p.path], covered[c] = c, true
		}
		f.Close()
	}
	return beside, covered
}

// unzip yields an item, or what is in it where it is a plain zip. The zip is
// released after the last of its files.
func (s *session) unzip(it item, zips bool, depth int, yield func(item) bool) bool {
	if !zips || depth == maxZips || it.err != nil || !begins(it.Source, "PK") || rogito.Detect(it.Source) != rogito.KindZIP {
		return yield(it)
	}
	files, problems, err := rogito.Archived(s.ctx, it.Source)
	it.broken = ades.Fatal(problems)
	if err != nil || it.broken || len(files) == 0 {
		return yield(it)
	}
	var inside sync.WaitGroup
	more := true
	beside, covered := rogito.Paired(s.ctx, files)
	for _, f := range files {
		content, signs := beside[f.Name]
		if covered[f.Name] && !signs {
			continue
		}
		if more = more && s.ctx.Err() == nil; !more {
			break
		}
		inside.Add(1)
		in := item{
			File: ades.File{Name: it.Name + "/" + f.Name, Source: f.Source}, release: inside.Done,
			root: it.root, rel: filepath.Join(strings.TrimSuffix(it.rel, filepath.Ext(it.rel)), filepath.FromSlash(f.Name)),
		}
		if signs {
			in.beside = []ades.File{content}
		}
		more = s.unzip(in, zips, depth+1, yield)
	}
	go func() { inside.Wait(); it.release() }()
	return more
}

// begins looks at the first bytes alone: what else could be told of a file is
// for those who work side by side.
func begins(src ades.Source, with string) bool {
	head := make([]byte, len(with))
	n, _ := src.ReadAt(head, 0)
	return string(head[:n]) == with
}

// smallEntry is up to what size a file of a zip is unpacked at once. Others are
// inflated again from the start each time a reader goes back.
const smallEntry = 16 << 20

// load unpacks a small file of a zip, for readers that go back and forth.
func (it *item) load() error {
	if _, ok := it.Source.(*sourceFile); ok || it.Source.Size() > smallEntry {
		return nil
	}
	b, err := io.ReadAll(io.NewSectionReader(it.Source, 0, it.Source.Size()))
	if err == nil {
		it.Source = bytes.NewReader(b)
	}
	return err
}

// inOrder does work on items, on all processors, and hands on what comes of them
// in the order of the items. No more are under way than twice the processors, so
// that ten thousand take no more memory than ten.
func inOrder[T, R any](items iter.Seq[T], work func(T) R, then func(R)) {
	n := runtime.GOMAXPROCS(0)
	line, places := make(chan chan R, n), make(chan struct{}, n)
	go func() {
		defer close(line)
		for it := range items {
			done := make(chan R, 1)
			places <- struct{}{}
			line <- done
			go func() {
				defer func() { <-places }()
				done <- work(it)
			}()
		}
	}()
	for done := range line {
		then(<-done)
	}
}

// found is a file to be opened.
type found struct {
	path  string
	rel   string // below the folder that was named
	named bool   // it was named itself
}

// expand replaces folders by the regular files in them, without the hidden ones:
// those are of programs, and not documents of people.
func expand(names []string) ([]found, error) {
	var out []found
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			out = append(out, found{name, filepath.Base(name), true}) // what cannot be opened is reported in its turn
			continue
		}
		root := name + string(filepath.Separator) // a link to a folder is followed
		err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
			switch skip := at != root && strings.HasPrefix(d.Name(), "."); {
			case err != nil:
				return err
			case d.IsDir() && skip:
				return fs.SkipDir
			case d.Type().IsRegular() && !skip:
				rel, err := filepath.Rel(root, at)
				out = append(out, found{at, rel, false})
				return err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, errNoFiles
	}
	return out, nil
}
