package trust

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
)

// Cache keeps fetched answers until they expire. Its zero value is ready to use. Revocation lists
// of more than a quarter of a megabyte are stored on disk and searched there.
type Cache struct {
	// Dir is a folder for large revocation lists, which then survive a restart. If it is empty,
	// unnamed temporary files are used.
	Dir string

	mu      sync.Mutex
	entries map[string]cached
	size    int
	lists   map[string]*list
}

type cached struct {
	body  []byte
	at    time.Time // when it was requested
	until time.Time
}

// list is a fetched revocation list.
type list struct {
	id string
	*pkix.CRL
	until time.Time
}

// Bounds on what the cache holds.
const (
	maxCacheBytes = 64 << 20  // in memory
	keptInMemory  = 256 << 10 // larger lists are stored on disk
	maxLists      = 128
	maxDisk       = 1 << 30
	listLife      = time.Hour
)

func (c *Cache) get(key string, now time.Time) (cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	return e, ok && !now.After(e.until)
}

func (c *Cache) put(key string, body []byte, at, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil || c.size+len(body) > maxCacheBytes {
		c.entries, c.size = map[string]cached{}, 0
	}
	c.size += len(body) - len(c.entries[key].body)
	c.entries[key] = cached{body, at, until}
}

// remove removes an answer, so that it is requested again.
func (c *Cache) remove(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size -= len(c.entries[key].body)
	delete(c.entries, key)
}

// list returns the cached list of an address, from this process or an earlier one.
func (c *Cache) list(url string, now time.Time) *list {
	c.mu.Lock()
	l := c.lists[url]
	c.mu.Unlock()
	if l == nil && c.Dir != "" {
		l = c.restore(url)
	}
	if l == nil || now.After(l.until) {
		return nil
	}
	return l
}

// store stores a list as it arrives. It does not check its signature.
func (c *Cache) store(url string, r io.Reader, now time.Time) (*list, error) {
	in := io.LimitReader(dearmoured(r), maxCRL+1)
	head, err := io.ReadAll(io.LimitReader(in, keptInMemory+1))
	if err != nil {
		return nil, err
	}
	var l *list
	if len(head) <= keptInMemory {
		crl, err := pkix.ParseCRL(head)
		if err != nil {
			return nil, err
		}
		l = &list{id: ades.FactID(head), CRL: crl}
	} else if l, err = c.spill(url, io.MultiReader(bytes.NewReader(head), in)); err != nil {
		return nil, err
	}
	l.end(now)
	c.remember(url, l)
	return l, nil
}

// end sets until when a list fetched at that time is used.
func (l *list) end(fetched time.Time) {
	l.until = fetched.Add(listLife)
	if l.NextUpdate.After(fetched) && l.NextUpdate.Before(l.until) {
		l.until = l.NextUpdate
	}
}

func (c *Cache) remember(url string, l *list) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists == nil {
		c.lists = map[string]*list{}
	}
	if len(c.lists) >= maxLists {
		oldest := ""
		for u, o := range c.lists {
			if oldest == "" || o.until.Before(c.lists[oldest].until) {
				oldest = u
			}
		}
		delete(c.lists, oldest) // its file is closed once the last reader is done
	}
	c.lists[url] = l
}

// spill writes a list to disk and opens it there.
func (c *Cache) spill(url string, r io.Reader) (*list, error) {
	f, err := c.create()
	if err != nil {
		return nil, fmt.Errorf("store list: %w", err)
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, h), r)
	if err == nil && n > maxCRL {
		err = fmt.Errorf("answer is larger than %d bytes", maxCRL)
	}
	var l *list
	if err == nil {
		l, err = open(f, n, hex.EncodeToString(h.Sum(nil)))
	}
	if err == nil && c.Dir != "" {
		err = os.Rename(f.Name(), c.path(url)) // only a parsed list gets its final name
	}
	if err != nil || c.Dir == "" {
		_ = os.Remove(f.Name()) // open files need no name
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if c.Dir != "" {
		c.tidy()
	}
	return l, nil
}

func open(f *os.File, size int64, id string) (*list, error) {
	crl, err := pkix.OpenCRL(f, size)
	if err != nil {
		return nil, err
	}
	if crl.Size() != size {
		return nil, &ades.MalformedError{Format: "CRL", Where: "CertificateList", Err: errors.New("bytes follow the list")}
	}
	return &list{id: id, CRL: crl}, nil
}

func (c *Cache) create() (*os.File, error) {
	if c.Dir == "" {
		return os.CreateTemp("", "rogito-crl-*")
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(c.Dir, "part-*")
}

// path is the file name of an address's list.
func (c *Cache) path(url string) string {
	h := sha256.Sum256([]byte(url))
	return filepath.Join(c.Dir, hex.EncodeToString(h[:])+listSuffix)
}

const listSuffix = ".crl"

// restore opens a list fetched by an earlier process.
func (c *Cache) restore(url string) *list {
	f, err := os.Open(c.path(url))
	if err != nil {
		return nil
	}
	st, err := f.Stat()
	if err != nil || time.Since(st.ModTime()) > listLife {
		_ = f.Close()
		return nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, st.Size())); err != nil {
		_ = f.Close()
		return nil
	}
	l, err := open(f, st.Size(), hex.EncodeToString(h.Sum(nil)))
	if err != nil {
		_ = f.Close()
		return nil
	}
	l.end(st.ModTime())
	c.remember(url, l)
	return l
}

// tidy removes old and incomplete files, and those over the limit.
func (c *Cache) tidy() {
	files, err := os.ReadDir(c.Dir)
	if err != nil {
		return
	}
	type file struct {
		name string
		fs.FileInfo
	}
	var kept []file
	total := int64(0)
	for _, e := range files {
		st, err := e.Info()
		if err != nil || !e.Type().IsRegular() {
			continue
		}
		if age := time.Since(st.ModTime()); age > listLife {
			_ = os.Remove(filepath.Join(c.Dir, e.Name()))
			continue
		}
		if strings.HasSuffix(e.Name(), listSuffix) {
			kept, total = append(kept, file{e.Name(), st}), total+st.Size()
		}
	}
	slices.SortFunc(kept, func(a, b file) int { return a.ModTime().Compare(b.ModTime()) })
	for i := 0; i < len(kept)-1 && total > maxDisk; i++ {
		_ = os.Remove(filepath.Join(c.Dir, kept[i].name))
		total -= kept[i].Size()
	}
}

// dearmoured decodes PEM and bare base64 while reading.
func dearmoured(r io.Reader) io.Reader {
	b := bufio.NewReader(r)
	start, _ := b.Peek(64)
	if len(start) == 0 || start[0] == 0x30 {
		return b
	}
	return base64.NewDecoder(base64.StdEncoding, &armour{in: b})
}

// armour passes on the characters of PEM or base64, without boundary lines and spaces.
type armour struct {
	in   *bufio.Reader
	line []byte
	err  error
}

func (a *armour) Read(p []byte) (int, error) {
	for len(a.line) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		var line []byte
		line, a.err = a.in.ReadSlice('\n')
		if errors.Is(a.err, bufio.ErrBufferFull) {
			a.err = nil // a long line comes in pieces
		}
		line = bytes.TrimSpace(line)
		if !bytes.HasPrefix(line, []byte("-----")) {
			a.line = append(a.line[:0], line...)
		}
	}
	n := copy(p, a.line)
	a.line = a.line[n:]
	return n, nil
}
