package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
)

// folder keeps objects as files: written beside, synced, renamed, and the
// folder synced, so that a name has its whole content or does not exist.
// A file is written in the folder where it will stay: one folder for
// all would have writers wait for one another.
type folder struct {
	dir   string
	disk  *disk.Reserve
	packs packs
}

func openFolder(cfg Config) (bucket, error) {
	dir := strings.TrimPrefix(cfg.Location, "file://")
	if dir == "" {
		dir = filepath.Join(cfg.Data, "blobs")
	}
	f := &folder{dir: dir, disk: disk.NewReserve(dir, cfg.Reserve), packs: packs{dir: filepath.Join(dir, "packs")}}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return f, disk.SyncDir(dir)
}

// shard is by the end of the id, which is random: 256 folders.
func (f *folder) shard(id string) string { return filepath.Join(f.dir, id[len(id)-2:]) }

func (f *folder) path(id string) string { return filepath.Join(f.shard(id), id) }

func (f *folder) create(ctx context.Context, id string) (sink, error) {
	if err := f.disk.Check(ctx); err != nil {
		return nil, err
	}
	buf := sinkBuffers.Get().(*bytes.Buffer)
	buf.Reset()
	buf.Write(make([]byte, frameHead))
	return &folderSink{folder: f, id: id, buf: buf}, nil
}

// PartialSuffix ends the name of a file that is being written.
const PartialSuffix = ".new"

func newFile(shard, id string) (*os.File, error) {
	return os.OpenFile(filepath.Join(shard, id+PartialSuffix), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func (f *folder) makeShard(shard string) error {
	if err := os.Mkdir(shard, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return disk.SyncDir(f.dir)
}

// sinkBuffers hold sealed bytes only: an object that fits into a pack, and room for
// the chunk that is too much.
var sinkBuffers = sync.Pool{New: func() any {
	return bytes.NewBuffer(make([]byte, 0, frameHead+maxPacked+chunkSize+chunkOverhead))
}}

// folderSink gathers a small object in memory, for a pack, and writes a large
// one to a file of its own, in large pieces.
type folderSink struct {
	folder *folder
	id     string
	buf    *bytes.Buffer // while the object is small, with room for a frame's head
	file   *os.File      // nil while the object is small
	done   bool
}

func (s *folderSink) Write(p []byte) (int, error) {
	if s.buf.Len()+len(p) > maxPacked+frameHead {
		if err := s.spill(); err != nil {
			return 0, err
		}
	}
	return s.buf.Write(p)
}

// space is the free part of the buffer.
func (s *folderSink) space(int) []byte { return s.buf.AvailableBuffer() }

// spill writes what was gathered to the object's file.
func (s *folderSink) spill() (err error) {
	if s.file == nil {
		if s.file, err = s.folder.newFile(s.id); err != nil {
			return err
		}
		s.buf.Next(frameHead)
	}
	_, err = s.file.Write(s.buf.Bytes())
	s.buf.Reset()
	return err
}

func (f *folder) newFile(id string) (*os.File, error) {
	shard := f.shard(id)
	file, err := newFile(shard, id)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.makeShard(shard); err == nil {
			file, err = newFile(shard, id)
		}
	}
	return file, err
}

func (s *folderSink) commit(context.Context) (string, error) {
	if s.file == nil {
		at, err := s.folder.packs.add(s.id, s.buf.Bytes())
		if err != nil {
			return "", err
		}
		return at.String(), nil
	}
	if err := errors.Join(s.spill(), s.file.Sync(), s.file.Close()); err != nil {
		return "", err
	}
	if err := os.Rename(s.file.Name(), s.folder.path(s.id)); err != nil {
		return "", err
	}
	s.done = true
	if err := disk.SyncDir(s.folder.shard(s.id)); err != nil {
		return "", errors.Join(err, os.Remove(s.folder.path(s.id)))
	}
	return "", nil
}

func (s *folderSink) abort() {
	if s.file != nil && !s.done {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
	if s.buf != nil {
		sinkBuffers.Put(s.buf)
		s.buf = nil
	}
}

func (f *folder) open(_ context.Context, id string) (object, error) {
	if base, at, packed, _ := splitID(id); packed {
		return f.packs.open(base, at)
	}
	file, err := os.Open(f.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fault.Storage(err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, fault.Storage(err)
	}
	return folderObject{file, info.Size()}, nil
}

type folderObject struct {
	*os.File
	length int64
}

func (o folderObject) size() int64 { return o.length }

func (f *folder) remove(_ context.Context, id string) error {
	if base, at, packed, _ := splitID(id); packed {
		return f.packs.remove(base, at)
	}
	return skipGone(os.Remove(f.path(id)))
}

// list also removes what a killed process left half written: it belongs to a
// request, and no request lives for a day.
func (f *folder) list(ctx context.Context, fn func(id string) error) error {
	shards, err := os.ReadDir(f.dir)
	if err != nil {
		return fault.Storage(err)
	}
	for _, shard := range shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !shard.IsDir() {
			continue
		}
		if shard.Name() == "packs" {
			err = f.packs.list(ctx, fn)
		} else {
			err = f.listShard(shard.Name(), fn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) listShard(name string, fn func(id string) error) error {
	dir := filepath.Join(f.dir, name)
	files, err := os.ReadDir(dir)
	if err != nil {
		return fault.Storage(err)
	}
	sweepOld(dir)
	for _, file := range files {
		if err := fn(file.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) missing(ctx context.Context, ids []string) (out []string, err error) {
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		o, err := f.open(ctx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			out = append(out, id)
		case err != nil:
			return out, err
		default:
			_ = o.Close()
		}
	}
	return out, nil
}

// probeSize is more than a file system sets aside for a new file.
const probeSize = 64 << 10

func (f *folder) reserve(ctx context.Context) error { return f.disk.Check(ctx) }

func (f *folder) probe(context.Context) error {
	probe, err := os.CreateTemp(f.dir, "probe-*"+PartialSuffix)
	if err != nil {
		return fault.Storage(fmt.Errorf("blobs are not writable: %w", err))
	}
	_, err = probe.Write(make([]byte, probeSize)) // a full disk may still take an empty file
	if err == nil {
		err = probe.Sync() // a disk that fails says so here
	}
	if err = errors.Join(err, probe.Close(), os.Remove(probe.Name())); err != nil {
		return fault.Storage(fmt.Errorf("blobs are not writable: %w", err))
	}
	return nil
}

// abandoned is the age of a half-written file whose writer is gone.
const abandoned = 24 * time.Hour

// sweepOld removes half-written files that are a day old.
func sweepOld(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), PartialSuffix) {
			continue
		}
		info, err := file.Info()
		if err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(dir, file.Name()))
		}
	}
}
