package audit

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/sentence"
)

// A witness keeps checkpoints out of reach of those who can write to the database. Each
// server has a file of its own, which gets the newest checkpoint of any server, so that every
// file alone shows when the database was restored to an older state.

// outsideEvery is the time between two objects in the bucket, and between two
// requests to an outside time-stamp authority.
const outsideEvery = time.Hour

// runOutside calls the witnesses on other machines, separately from the work on the log, which
// must not wait for them.
func (k *Checkpointer) runOutside(ctx context.Context) {
	last, pause := time.Time{}, time.Second
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = time.Minute
		if time.Since(last) < outsideEvery {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, time.Minute)
		if k.outside(bounded) {
			last = time.Now()
		}
		cancel()
	}
}

// outside has the newest checkpoint time-stamped by an outside authority and stored in the
// bucket, if it was not yet, and reports success.
func (k *Checkpointer) outside(ctx context.Context) bool {
	if k.Bucket == nil && k.Authority == nil {
		return true
	}
	c := &Checkpoint{}
	err := k.Log.db.Read().QueryRow(ctx, selectCheckpoint+`order by size desc limit 1`).Scan(&c.Size, &c.Note, &c.Token, &c.CreatedAt)
	if err == nil && c.Size == k.boxed {
		return true
	}
	if err == nil {
		_, err = openNote(c.Note, k.Public)
	}
	if err != nil {
		k.warn(ctx, "witness an audit checkpoint", err)
		return false
	}
	c.Token = nil
	if k.Authority != nil {
		d := sha256.Sum256([]byte(c.Note))
		if c.Token, err = k.Authority.Stamp(ctx, crypto.SHA256, d[:]); err == nil && k.File != nil {
			err = k.File.append(c)
		}
	}
	if k.Bucket != nil {
		line, _ := json.Marshal(c) // numbers, a string and bytes
		err = errors.Join(err, k.Bucket.Put(ctx, fmt.Sprintf("checkpoint-%020d.json", c.Size), line, k.Log.now().Add(k.Lock)))
	}
	if err != nil {
		k.warn(ctx, "witness an audit checkpoint", err)
		return false
	}
	k.boxed = c.Size
	return true
}

// Bucket keeps objects that nobody can change or delete before a time.
type Bucket interface {
	Put(ctx context.Context, name string, data []byte, until time.Time) error
	// Each calls fn for every object, those behind others of the same name too.
	Each(ctx context.Context, fn func(name string, data []byte) error) error
}

// File is a witness file: one checkpoint in JSON a line, appended and synced. It
// is signed by what it holds. A line that a power cut has torn is left where it
// is, so that the file may be one that can only be appended to.
type File struct {
	Path string

	mu   sync.Mutex
	read bool
	kept *Checkpoint // the last one
}

// last is the last checkpoint in the file; nil when there is none.
func (f *File) last() (*Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read {
		return f.kept, nil
	}
	all, _, err := f.All()
	if err != nil {
		return nil, err
	}
	if len(all) > 0 {
		f.kept = &all[len(all)-1]
	}
	f.read = true
	return f.kept, nil
}

// add appends a checkpoint that is newer than the last one. Its token was made
// with a key of the same database and is left out.
func (f *File) add(c *Checkpoint) error {
	last, err := f.last()
	if err != nil || last != nil && c.Size <= last.Size {
		return err
	}
	bare := *c
	bare.Token = nil
	return f.append(&bare)
}

func (f *File) append(c *Checkpoint) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return fmt.Errorf("audit: witness file: %w", err)
	}
	file, err := os.OpenFile(f.Path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("audit: witness file: %w", err)
	}
	line, _ := json.Marshal(c) // numbers, a string and bytes
	line = append(line, '\n')
	if torn(file) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = file.Write(line)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("audit: witness file: %w", err)
	}
	if f.kept == nil {
		err = disk.SyncDir(filepath.Dir(f.Path))
	}
	if f.kept == nil || f.kept.Size < c.Size {
		f.kept = c
	}
	return err
}

// torn says whether a file ends in the middle of a line.
func torn(f *os.File) bool {
	end := make([]byte, 1)
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	_, err = f.ReadAt(end, info.Size()-1)
	return err == nil && end[0] != '\n'
}

// All reads the file: its checkpoints by size, and how many lines cannot be
// read. There is no error where there is no file.
func (f *File) All() (points []Checkpoint, unreadable int, err error) {
	b, err := os.ReadFile(f.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("audit: witness file: %w", err)
	}
	for line := range bytes.Lines(b) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		c, err := parseWitness(line)
		if err != nil {
			unreadable++
			continue
		}
		points = append(points, *c)
	}
	slices.SortStableFunc(points, bySize)
	return points, unreadable, nil
}

func bySize(a, b Checkpoint) int { return int(min(max(a.Size-b.Size, -1), 1)) }

func parseWitness(line []byte) (*Checkpoint, error) {
	c := &Checkpoint{}
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(c); err != nil || c.Note == "" {
		return nil, errors.New("audit: a line of the witness is no checkpoint")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("audit: a line of the witness goes on")
	}
	return c, nil
}

// Witness is what one of them can say, for a verification.
type Witness struct {
	Name        sentence.Sentence `json:"name"`
	Configured  bool              `json:"configured"`
	Checkpoints int               `json:"checkpoints"`
	Stamped     int               `json:"stamped"` // by an outside authority
	Unreadable  int               `json:"unreadable,omitempty"`
	Problem     string            `json:"problem,omitempty"` // why it cannot be asked
	Size        int64             `json:"size"`              // entries that its last checkpoint covers
	Time        int64             `json:"time"`              // of that

	points []Checkpoint
	next   int
}

// Witnesses reads the file and the bucket; nil for what is not there. It is done
// before the log is read: a checkpoint is witnessed after its leaves are
// durable, so that all of them must be found then.
func Witnesses(ctx context.Context, file *File, bucket Bucket) ([]*Witness, error) {
	f, b := &Witness{Name: sentence.New("witness file"), Configured: file != nil}, &Witness{Name: sentence.New("witness in a bucket"), Configured: bucket != nil}
	var err error
	if file != nil {
		if f.points, f.Unreadable, err = file.All(); err != nil {
			return nil, err
		}
	}
	if bucket != nil {
		err := bucket.Each(ctx, func(_ string, data []byte) error {
			c, err := parseWitness(data)
			if err != nil {
				b.Unreadable++
				return nil
			}
			b.points = append(b.points, *c)
			return nil
		})
		if err != nil {
			b.Problem = err.Error()
		}
		slices.SortStableFunc(b.points, bySize)
	}
	return []*Witness{f, b}, nil
}
