package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// folder keeps objects as files: written beside, synced, renamed, and the
// folder synced, so that a name stands for whole content or does not exist.
// What is being written lies in the folder where it will stay: one folder for
// all would have writers wait for one another.
type folder struct {
	dir  string
	disk *disk
}

func openFolder(cfg Config) (bucket, error) {
	dir := strings.TrimPrefix(cfg.Blobs, "file://")
	if dir == "" {
		dir = filepath.Join(cfg.data(), "blobs")
	}
	f := &folder{dir: dir, disk: newDisk(dir, cfg.Reserve)}
	if err := os.MkdirAll(f.incoming(), 0o700); err != nil {
		return nil, err
	}
	return f, syncDir(dir)
}

func (f *folder) incoming() string { return filepath.Join(f.dir, "incoming") }

// shard is by the end of the id, which is random: 256 folders.
func (f *folder) shard(id string) string { return filepath.Join(f.dir, id[len(id)-2:]) }

func (f *folder) path(id string) string { return filepath.Join(f.shard(id), id) }

func (f *folder) create(ctx context.Context, id string) (sink, error) {
	if err := f.disk.check(ctx); err != nil {
		return nil, err
	}
	shard := f.shard(id)
	file, err := newFile(shard, id)
	if errors.Is(err, fs.ErrNotExist) {
		if err = f.makeShard(shard); err == nil {
			file, err = newFile(shard, id)
		}
	}
	if err != nil {
		return nil, unavailable(err)
	}
	s := &folderSink{file: file, folder: f, id: id, buf: sinkBuffers.Get().(*bufio.Writer)}
	s.buf.Reset(file)
	return s, nil
}

// newEnding marks a file that is being written.
const newEnding = ".new"

func newFile(shard, id string) (*os.File, error) {
	return os.OpenFile(filepath.Join(shard, id+newEnding), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func (f *folder) makeShard(shard string) error {
	if err := os.Mkdir(shard, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(f.dir)
}

// sinkBuffers hold sealed bytes only.
var sinkBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 160<<10) }}

// folderSink writes in large pieces: a usual document in one.
type folderSink struct {
	file   *os.File
	buf    *bufio.Writer
	folder *folder
	id     string
	done   bool
}

func (s *folderSink) Write(p []byte) (int, error) { return s.buf.Write(p) }

func (s *folderSink) commit(context.Context) error {
	if err := errors.Join(s.buf.Flush(), s.file.Sync(), s.file.Close()); err != nil {
		return err
	}
	if err := os.Rename(s.file.Name(), s.folder.path(s.id)); err != nil {
		return err
	}
	s.done = true
	if err := syncDir(s.folder.shard(s.id)); err != nil {
		return errors.Join(err, os.Remove(s.folder.path(s.id)))
	}
	return nil
}

func (s *folderSink) abort() {
	if !s.done {
		_ = s.file.Close()
		_ = os.Remove(s.file.Name())
	}
	if s.buf != nil {
		s.buf.Reset(nil)
		sinkBuffers.Put(s.buf)
		s.buf = nil
	}
}

func (f *folder) open(_ context.Context, id string) (object, error) {
	file, err := os.Open(f.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoBlob
	}
	if err != nil {
		return nil, unavailable(err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, unavailable(err)
	}
	return folderObject{file, info.Size()}, nil
}

type folderObject struct {
	*os.File
	length int64
}

func (o folderObject) size() int64 { return o.length }

func (f *folder) remove(_ context.Context, id string) error {
	err := os.Remove(f.path(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// list also takes away what a killed process left half written: it belongs to a
// request, and no request lives for a day. (Earlier releases wrote in incoming.)
func (f *folder) list(ctx context.Context, fn func(id string) error) error {
	shards, err := os.ReadDir(f.dir)
	if err != nil {
		return unavailable(err)
	}
	for _, shard := range shards {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !shard.IsDir() {
			continue
		}
		if shard.Name() == "incoming" {
			sweepOld(f.incoming(), "")
			continue
		}
		if err := f.listShard(shard.Name(), fn); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) listShard(name string, fn func(id string) error) error {
	dir := filepath.Join(f.dir, name)
	files, err := os.ReadDir(dir)
	if err != nil {
		return unavailable(err)
	}
	sweepOld(dir, newEnding)
	for _, file := range files {
		if err := fn(file.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) ready(ctx context.Context) error {
	if err := f.disk.check(ctx); err != nil {
		return err
	}
	probe, err := os.CreateTemp(f.incoming(), "probe-*")
	if err != nil {
		return unavailable(fmt.Errorf("blobs are not writable: %w", err))
	}
	_ = probe.Close()
	return os.Remove(probe.Name())
}
