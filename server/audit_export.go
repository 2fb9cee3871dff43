package server

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"rogito.dev/rogito/internal/atomicfile"
	"rogito.dev/rogito/server/internal/blob"
)

// archive is where exports of the audit log are kept.
type archive interface {
	// list says which there are, and when each was written.
	list(ctx context.Context) (map[string]time.Time, error)
	put(ctx context.Context, name string, data *os.File) error
}

// exports is the archive that the configuration names; nil: none.
func (s *Server) exports() archive {
	switch where := s.cfg.Audit.Export; {
	case where == "":
		return nil
	case strings.HasPrefix(where, "s3://"):
		config := s.cfg.blobs(s.spool)
		config.Location = where
		return &bucketArchive{lockedBucket{config: config}, s.cfg.Audit.Lock}
	default:
		return &folderArchive{strings.TrimPrefix(where, "file://")}
	}
}

// newestExport says when the last export was written; nil where none are.
func (s *Server) newestExport() func(context.Context) (time.Time, error) {
	where := s.exports()
	if where == nil {
		return nil
	}
	return func(ctx context.Context) (newest time.Time, err error) {
		all, err := where.list(ctx)
		for _, at := range all {
			if at.After(newest) {
				newest = at
			}
		}
		return newest, err
	}
}

// exportName has how many events there were at least when the export was made, so
// that names are in the order of time and the next one knows where to go on.
func exportName(size int64) string { return fmt.Sprintf("audit-%020d.jsonl.gz", size) }

// exportedUntil is the inverse, over all exports; 0 where there are none.
func exportedUntil(names iter.Seq[string]) (most int64) {
	for name := range names {
		var size int64
		if _, err := fmt.Sscanf(name, "audit-%d.jsonl.gz", &size); err == nil {
			most = max(most, size)
		}
	}
	return most
}

// exportTo writes what came since the last export to an archive. The checkpoint that it
// ends with is that of the log, so that the next one begins there.
func (s *Server) exportTo(ctx context.Context, to archive) error {
	size, err := s.sig.audit.Size(ctx)
	if err != nil {
		return err
	}
	have, err := to.list(ctx)
	if err != nil {
		return fmt.Errorf("audit.export: %w", err)
	}
	since := exportedUntil(maps.Keys(have))
	if since == size && len(have) > 0 {
		return nil
	}
	if _, err := s.checkpointer().Make(ctx); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.spool, "audit-*")
	if err != nil {
		return err
	}
	defer func() { f.Close(); os.Remove(f.Name()) }()
	packed := gzip.NewWriter(f)
	if err := errors.Join(s.ExportAudit(ctx, packed, since), packed.Close()); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := to.put(ctx, exportName(size), f); err != nil {
		return fmt.Errorf("audit.export: %w", err)
	}
	return nil
}

// folderArchive keeps exports in a folder.
type folderArchive struct{ dir string }

func (a *folderArchive) list(context.Context) (map[string]time.Time, error) {
	entries, err := os.ReadDir(a.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	all := map[string]time.Time{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && isExport(e.Name()) {
			all[e.Name()] = info.ModTime()
		}
	}
	return all, err
}

func isExport(name string) bool {
	ok, _ := filepath.Match("audit-*.jsonl.gz", name)
	return ok
}

func (a *folderArchive) put(_ context.Context, name string, data *os.File) error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(a.dir, name), 0o600, func(w io.Writer) error {
		_, err := io.Copy(w, data)
		return err
	})
}

// bucketArchive keeps exports under object lock, which keeps them from being deleted for a time.
type bucketArchive struct {
	lockedBucket
	lock time.Duration
}

func (a *bucketArchive) list(ctx context.Context) (map[string]time.Time, error) {
	all := map[string]time.Time{}
	b, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	err = b.List(ctx, func(name string, at time.Time) {
		if isExport(name) {
			all[name] = at
		}
	})
	return all, err
}

func (a *bucketArchive) put(ctx context.Context, name string, data *os.File) error {
	info, err := data.Stat()
	if err != nil {
		return err
	}
	var b *blob.Locked
	if b, err = a.open(ctx); err != nil {
		return err
	}
	return b.PutFrom(ctx, name, data, info.Size(), time.Now().Add(a.lock))
}
