package asic

import (
	"archive/zip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
)

var errBomb = errors.New("container asks for too much inflation")

// container is an opened ZIP.
type container struct {
	zip     *zip.Reader
	entries []*entry
	byName  map[string]*entry
	mime    string
	budget  int64
	twice   []string // names that occur more than once
}

// entry is a file in the container.
type entry struct {
	*source
	name string
	role role
	file *zip.File
}

func open(src ades.Source) (*container, error) {
	z, err := zip.NewReader(src, src.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, &ades.MalformedError{Format: "ZIP", Err: err}
	}
	if len(z.File) > limits.ZIPEntries {
		return nil, ades.Malformed("ZIP", "", "more than %d entries", limits.ZIPEntries)
	}
	c := &container{zip: z, byName: map[string]*entry{}, budget: limits.ZIPInflate + limits.ZIPInflateTimes*src.Size()}
	for _, f := range z.File {
		if err := sameName(src, f); err != nil {
			return nil, &ades.MalformedError{Format: "ZIP", Where: f.Name, Err: err}
		}
		e := &entry{source: newSource(src, f, &c.budget), name: f.Name, role: roleOf(f.Name), file: f}
		c.entries = append(c.entries, e)
		if e.role == roleFolder {
			continue
		}
		if c.byName[f.Name] != nil {
			c.twice = append(c.twice, f.Name)
		}
		c.byName[f.Name] = e
	}
	return c, c.readMime()
}

// sameName compares the central directory with the entry's own header:
// readers that walk the file from its start must see the same names. The
// header lies before the data, with name and extra field in between.
func sameName(src ades.Source, f *zip.File) error {
	off, err := f.DataOffset()
	if err != nil {
		return err
	}
	n := int64(len(f.Name))
	start := max(0, off-limits.ZIPExtra-n-30)
	window := make([]byte, off-start)
	if _, err := src.ReadAt(window, start); err != nil {
		return err
	}
	for at := int64(len(window)) - n - 30; at >= 0; at-- {
		head := window[at:]
		extra := int64(len(head)) - n - 30
		if binary.LittleEndian.Uint32(head) == 0x04034b50 && int64(binary.LittleEndian.Uint16(head[28:])) == extra &&
			int64(binary.LittleEndian.Uint16(head[26:])) == n && string(head[30:30+n]) == f.Name {
			return nil
		}
	}
	return errors.New("name differs between directory and entry")
}

// readMime finds the media type: the mimetype file, wherever it stands and
// however it is stored, or the comment of the ZIP.
func (c *container) readMime() error {
	if e := c.byName["mimetype"]; e != nil && e.Size() < 1024 {
		b, err := e.bytes()
		if err != nil {
			return err
		}
		c.mime = strings.TrimSpace(strings.TrimPrefix(string(b), "\xEF\xBB\xBF"))
	}
	if c.mime == "" {
		if m, ok := strings.CutPrefix(strings.TrimSpace(c.zip.Comment), "mimetype="); ok {
			c.mime = strings.TrimSpace(m)
		}
	}
	return nil
}

// of lists the files of some role in the order of the directory.
func (c *container) of(roles ...role) []*entry {
	var found []*entry
	for _, e := range c.entries {
		for _, r := range roles {
			if e.role == r {
				found = append(found, e)
			}
		}
	}
	return found
}

// format tells what the container is, by its media type or else by its shape.
func (c *container) format() (ades.Format, error) {
	switch {
	case strings.HasPrefix(c.mime, mimeODF):
		return ades.ODF, nil
	case c.mime == MimeS:
		return ades.ASiCS, nil
	case c.mime == MimeE:
		return ades.ASiCE, nil
	}
	signed := len(c.of(roleXML, roleCMS, roleTimestamp)) > 0
	switch {
	case !signed:
		return "", ErrNotContainer
	case len(c.of(roleManifest)) == 0 && len(c.of(roleData)) == 1:
		return ades.ASiCS, nil
	}
	return ades.ASiCE, nil
}

// bytes reads a small file.
func (e *entry) bytes() ([]byte, error) {
	if e.Size() > limits.ZIPMeta {
		return nil, ades.Malformed("ZIP", e.name, "%d bytes, more than a signature file may have", e.Size())
	}
	b := make([]byte, e.Size())
	if _, err := io.ReadFull(io.NewSectionReader(e, 0, e.Size()), b); err != nil {
		return nil, fmt.Errorf("asic: read %s: %w", e.name, err)
	}
	return b, nil
}

// Detect reports whether a source is a ZIP that may be a signature container.
func Detect(src ades.Source) (ades.Format, bool) {
	c, err := open(src)
	if err != nil {
		return "", false
	}
	f, err := c.format()
	return f, err == nil
}
