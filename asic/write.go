package asic

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"rogito.dev/rogito/ades"
)

// writer writes a container.
type writer struct {
	z  *zip.Writer
	at time.Time
}

// newWriter begins a container with its media type: first, stored, and without extra fields, so
// that it is at a known offset.
func newWriter(w io.Writer, mime string, at time.Time) (*writer, error) {
	z := &writer{z: zip.NewWriter(w), at: at.UTC()}
	if mime == "" {
		return z, nil
	}
	f, err := z.z.CreateRaw(&zip.FileHeader{
		Name: "mimetype", Method: zip.Store, CRC32: crc32.ChecksumIEEE([]byte(mime)),
		CompressedSize64: uint64(len(mime)), UncompressedSize64: uint64(len(mime)),
	})
	if err != nil {
		return nil, fmt.Errorf("asic: write mimetype: %w", err)
	}
	if _, err := io.WriteString(f, mime); err != nil {
		return nil, fmt.Errorf("asic: write mimetype: %w", err)
	}
	return z, z.z.SetComment("mimetype=" + mime)
}

func (w *writer) close() error { return w.z.Close() }

func (w *writer) bytes(name string, b []byte) error {
	return w.file(ades.File{Name: name, Source: bytes.NewReader(b)})
}

func (w *writer) file(f ades.File) error {
	out, err := w.z.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Deflate, Modified: w.at})
	if err != nil {
		return fmt.Errorf("asic: write %s: %w", f.Name, err)
	}
	if _, err := io.Copy(out, io.NewSectionReader(f.Source, 0, f.Source.Size())); err != nil {
		return fmt.Errorf("asic: write %s: %w", f.Name, err)
	}
	return nil
}

// copyAll copies the compressed entries of a container, some replaced and some under another name.
// The media type is already written.
func (w *writer) copyAll(c *container, replace map[string][]byte, rename map[string]string) error {
	for _, e := range c.entries {
		if e.role == roleMimetype {
			continue
		}
		if b, ok := replace[e.name]; ok {
			if err := w.bytes(e.name, b); err != nil {
				return err
			}
			continue
		}
		if err := w.copy(e, cmp.Or(rename[e.name], e.name)); err != nil {
			return err
		}
	}
	return nil
}

// copy copies an entry, maybe under another name.
func (w *writer) copy(e *entry, name string) error {
	h := e.file.FileHeader
	h.Name = name
	out, err := w.z.CreateRaw(&h)
	if err != nil {
		return fmt.Errorf("asic: copy %s: %w", e.name, err)
	}
	in, err := e.file.OpenRaw()
	if err != nil {
		return fmt.Errorf("asic: copy %s: %w", e.name, err)
	}
	if _, err := io.Copy(out, in); err != nil {
		return fmt.Errorf("asic: copy %s: %w", e.name, err)
	}
	return nil
}
