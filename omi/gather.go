package omi

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"rogito.dev/rogito/internal/limits"
)

// ImportOptions changes how a publication is read; the zero value is strict.
type ImportOptions struct {
	// AllowMixed accepts files of different semesters; that of the values is used.
	AllowMixed bool
	// AllowPartial accepts a publication in which less than half of the zones have a perimeter, or
	// of which files were ignored because of their names.
	AllowPartial bool
	// Workers is how many files are read concurrently; 0 is one per processor.
	Workers int
	// Progress, if set, is called with how many bytes of how many have been unpacked, from several
	// goroutines.
	Progress func(done, total int64)

	sample bool // mark the report
}

// fileResult is the result of one file: a table, a perimeter, or neither.
type fileResult struct {
	order     int
	name      string
	table     *table
	perimeter *perimeter
	err       error // why a perimeter was skipped
	leftOut   bool  // a table or a perimeter that was ignored because of its name
}

// gatherer reads the files of a supply concurrently.
type gatherer struct {
	fileSet *fileSet
	opts    ImportOptions
	total   int64
	done    atomic.Int64
	reach   atomic.Int64

	mu    sync.Mutex
	found []fileResult
}

// gather reads every file. The results have the order of the supply, regardless of when workers
// finished.
func gather(ctx context.Context, s *fileSet, opts ImportOptions) ([]fileResult, error) {
	g := &gatherer{fileSet: s, opts: opts}
	for _, src := range s.sources {
		g.total += src.size
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	jobs := make(chan source)
	for range cmp.Or(opts.Workers, runtime.GOMAXPROCS(0)) {
		wg.Go(func() { g.work(ctx, jobs, stop) })
	}
	for _, src := range largestFirst(s.sources) {
		select {
		case jobs <- src:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(jobs)
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	slices.SortStableFunc(g.found, func(a, b fileResult) int { return a.order - b.order })
	return g.found, nil
}

// largestFirst keeps the workers equally busy to the end.
func largestFirst(sources []source) []source {
	sorted := slices.Clone(sources)
	slices.SortStableFunc(sorted, func(a, b source) int { return cmp.Compare(b.size, a.size) })
	return sorted
}

func (g *gatherer) work(ctx context.Context, jobs <-chan source, stop context.CancelCauseFunc) {
	var buf []byte
	scratch := newScratch(&g.reach)
	for src := range jobs {
		if ctx.Err() != nil {
			continue
		}
		var err error
		if buf, err = g.readFile(src, buf, scratch, 0); err != nil {
			stop(err)
		}
		if g.opts.Progress != nil {
			g.opts.Progress(g.done.Add(src.size), g.total)
		}
	}
}

// readFile reads a file and records the result. It returns the buffer for the next file, and an
// error only if the publication is to be refused.
func (g *gatherer) readFile(src source, buf []byte, scratch *scratch, depth int) ([]byte, error) {
	buf, err := g.fileSet.read(src, buf)
	if _, ok := errors.AsType[*RefusedError](err); ok {
		return buf, err
	}
	f := fileResult{order: src.order, name: src.name, err: err}
	switch {
	case src.hidden && (err != nil || !isArchive(buf)):
		if f.leftOut = err == nil && (isTable(buf) || isKML(buf)); !f.leftOut {
			return buf, nil
		}
	case err != nil:
	case isArchive(buf):
		return nil, g.nested(src, buf, scratch, depth+1) // the archive keeps the buffer
	case isTable(buf):
		if f.table, err = readTable(buf, scratch.words); err != nil {
			return buf, err
		}
	case isKML(buf):
		f.perimeter, f.err = readKML(buf, strings.TrimSuffix(src.name, filepath.Ext(src.name)), scratch)
	case namedLikeOurs(src.name):
		f.err = errors.New("it is neither a table nor a perimeter")
	}
	g.mu.Lock()
	g.found = append(g.found, f)
	g.mu.Unlock()
	return buf, nil
}

// namedLikeOurs reports whether a file that was not recognised should have been, by its name.
func namedLikeOurs(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".kml" || ext == ".csv"
}

func (g *gatherer) nested(src source, b []byte, scratch *scratch, depth int) error {
	if depth > limits.OMINesting {
		return refuse("archives nest more than %d deep", limits.OMINesting)
	}
	inner := &fileSet{}
	if err := inner.archive(bytes.NewReader(b), int64(len(b)), src.hidden); err != nil {
		return err
	}
	var buf []byte
	var err error
	for _, f := range inner.sources {
		f.order = src.order
		if buf, err = g.readFile(f, buf, scratch, depth); err != nil {
			return err
		}
	}
	return nil
}
