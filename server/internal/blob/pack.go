package blob

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// packs keeps small objects one behind the other in files that only grow: what
// arrives together is synced together, and no folder has to be. A file for
// each was measured at a quarter of what a signature cost. A process starts
// its own pack, goes on to the next in an hour or at packSize, and never
// writes to one that it has left.
//
// An object is a frame: a mark, its id, its length, its sealed bytes. The
// place (pack and offset) is part of the blob's id. A deleted object is
// overwritten in place; a pack without objects is removed.
type packs struct {
	dir  string
	mu   sync.Mutex // held to append, not to sync
	last *pack
}

const (
	packSize   = 64 << 20
	packTime   = time.Hour
	maxPacked  = 256 << 10 // sealed; larger objects have files of their own
	packStep   = 4 << 20   // set aside on the disk ahead of the end: a sync of allocated space takes half the time
	frameMark  = "rgpk"
	frameHead  = len(frameMark) + 24 + 4
	frameEmpty = "------------------------" // in place of the id of what was deleted
)

// pack is the file that this process appends to.
type pack struct {
	file     *os.File
	id       string
	size     int64 // under packs.mu
	reserved int64 // up to where space is set aside, under packs.mu

	sync   sync.Mutex // held to sync
	synced int64
	failed error // a file that could not be synced once is not believed again
}

// place is the position of a packed object.
type place struct {
	pack   string
	offset int64
}

func (p place) String() string { return "." + p.pack + "." + strconv.FormatInt(p.offset, 16) }

// splitID takes the place off a blob's id; packed is false where it has a
// file of its own.
func splitID(id string) (base string, at place, packed, ok bool) {
	base, rest, packed := strings.Cut(id, ".")
	if !packed {
		return base, at, false, store.IsID(base)
	}
	name, offset, _ := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(offset, 16, 64)
	at = place{pack: name, offset: n}
	return base, at, true, store.IsID(base) && store.IsID(name) && err == nil && n >= 0 && at.String() == "."+rest
}

// add appends an object and returns when it is durable. frame has its sealed
// bytes behind room for the head.
func (p *packs) add(id string, frame []byte) (place, error) {
	head := append(append(frame[:0], frameMark...), id...)
	binary.BigEndian.AppendUint32(head, uint32(len(frame)-frameHead))
	pk, offset, err := p.append(frame)
	if err != nil {
		return place{}, err
	}
	if err := p.flush(pk, offset+int64(len(frame))); err != nil {
		return place{}, err
	}
	return place{pack: pk.id, offset: offset}, nil
}

func (p *packs) append(frame []byte) (pk *pack, offset int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pk, err = p.current(); err != nil {
		return nil, 0, err
	}
	offset = pk.size
	if end := offset + int64(len(frame)); end > pk.reserved {
		_ = disk.Allocate(pk.file, offset, end+packStep-offset) // without it writing is slower, or fails in its turn
		pk.reserved = end + packStep
	}
	if _, err = pk.file.WriteAt(frame, offset); err != nil {
		p.leave() // a full disk may leave half a frame: nothing comes after it
		return nil, 0, err
	}
	pk.size += int64(len(frame))
	return pk, offset, nil
}

// flush syncs a pack up to an end, unless another caller's sync has.
func (p *packs) flush(pk *pack, end int64) error {
	pk.sync.Lock()
	defer pk.sync.Unlock()
	if pk.failed != nil || pk.synced >= end {
		return pk.failed
	}
	p.mu.Lock()
	size := pk.size
	p.mu.Unlock()
	if err := disk.SyncData(pk.file); err != nil {
		pk.failed = err
		p.mu.Lock()
		if p.last == pk {
			p.leave()
		}
		p.mu.Unlock()
		return err
	}
	pk.synced = size
	return nil
}

func (p *packs) current() (*pack, error) {
	if pk := p.last; pk != nil {
		if pk.size < packSize && time.Since(store.IDTime(pk.id)) < packTime {
			return pk, nil
		}
		p.leave()
	}
	if err := os.Mkdir(p.dir, 0o700); err == nil {
		if err := disk.SyncDir(filepath.Dir(p.dir)); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	pk := &pack{id: store.NewID()}
	var err error
	if pk.file, err = os.OpenFile(p.path(pk.id), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	if err := disk.SyncDir(p.dir); err != nil {
		_ = pk.file.Close()
		return nil, err
	}
	p.last = pk
	return pk, nil
}

// leave stops writing to a pack; it is closed when the last sync is done.
func (p *packs) leave() {
	pk, size := p.last, p.last.size
	p.last = nil
	go func() {
		pk.sync.Lock()
		defer pk.sync.Unlock()
		if pk.failed == nil {
			pk.failed = pk.file.Sync()
		}
		if pk.failed == nil {
			pk.synced = 1 << 62
			_ = pk.file.Truncate(size) // what was set aside and not used
		}
		_ = pk.file.Close() // synced, or failed already
	}()
}

func (p *packs) path(id string) string { return filepath.Join(p.dir, id) }

func (p *packs) open(base string, at place) (object, error) {
	f, err := os.Open(p.path(at.pack))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fault.Storage(err)
	}
	id, n, err := readFrame(f, at.offset)
	switch {
	case err == nil && id == frameEmpty:
		err = ErrNotFound
	case err == nil && id != base:
		err = ErrCorrupt
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return packedObject{io.NewSectionReader(f, at.offset+int64(frameHead), n), f}, nil
}

type packedObject struct {
	*io.SectionReader
	file *os.File
}

func (o packedObject) size() int64  { return o.Size() }
func (o packedObject) Close() error { return o.file.Close() }

// readFrame reads the head of a frame; ErrCorrupt where there is none.
func readFrame(f io.ReaderAt, offset int64) (id string, length int64, err error) {
	head := make([]byte, frameHead)
	if _, err := f.ReadAt(head, offset); errors.Is(err, io.EOF) {
		return "", 0, ErrCorrupt
	} else if err != nil {
		return "", 0, fmt.Errorf("read blob: %w", err)
	}
	mark, rest := string(head[:len(frameMark)]), head[len(frameMark):]
	length = int64(binary.BigEndian.Uint32(rest[24:]))
	if mark != frameMark || length > maxPacked {
		return "", 0, ErrCorrupt
	}
	return string(rest[:24]), length, nil
}

// remove empties an object.
func (p *packs) remove(base string, at place) error {
	f, err := os.OpenFile(p.path(at.pack), os.O_RDWR, 0)
	if err != nil {
		return skipGone(err)
	}
	defer f.Close()
	id, n, err := readFrame(f, at.offset)
	if errors.Is(err, ErrCorrupt) || err == nil && id != base {
		return nil // not there, or not ours: as good as deleted
	}
	if err != nil {
		return err
	}
	if err := emptyRange(f, at.offset+int64(frameHead), n); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(frameEmpty), at.offset+int64(len(frameMark)))
	return err
}

// list calls fn for every object, and removes packs that have none and no
// writer any more.
func (p *packs) list(ctx context.Context, fn func(id string) error) error {
	files, err := os.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.Storage(err)
	}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.listPack(file.Name(), fn); err != nil {
			return err
		}
	}
	return nil
}

func (p *packs) listPack(name string, fn func(id string) error) error {
	f, err := os.Open(p.path(name))
	if err != nil {
		return skipGone(err)
	}
	defer f.Close()
	live, offset := 0, int64(0)
	for {
		id, n, err := readFrame(f, offset)
		if errors.Is(err, ErrCorrupt) {
			break // the end, or what a crash left of a frame
		}
		if err != nil {
			return err
		}
		if id != frameEmpty {
			live++
			if err := fn(id + place{name, offset}.String()); err != nil {
				return err
			}
		}
		offset += int64(frameHead) + n
	}
	if !store.IsID(name) || time.Since(store.IDTime(name)) < abandoned {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if live > 0 { // its process may have died with space set aside
		return skipGone(os.Truncate(p.path(name), info.Size()))
	}
	// Behind a damaged frame there may be objects that only their ids lead to.
	if offset < info.Size() {
		return nil
	}
	return skipGone(os.Remove(p.path(name)))
}

// emptyRange makes a range of a file read as zeros, and gives its space back
// where the system can.
func emptyRange(f *os.File, offset, n int64) error {
	if disk.PunchHole(f, offset, n) == nil {
		return nil
	}
	_, err := f.WriteAt(make([]byte, n), offset)
	return err
}

// skipGone ignores that a file is gone: deleted between being seen and being read, or before.
func skipGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
