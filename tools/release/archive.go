package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
)

// file of an archive: where it lies now, and where there.
type file struct {
	from, to string
	mode     int64
}

// contents of the archive for a platform.
func (r *release) contents(p platform) []file {
	list := []file{{r.binary(p), filepath.Base(r.binary(p)), 0o755}}
	for _, doc := range []string{"CHANGELOG.md", "LICENSE", "README.md"} {
		list = append(list, file{filepath.Join(r.root, doc), doc, 0o644})
	}
	for _, one := range pages {
		folder := "completions"
		if one.file == "rogito.1" {
			folder = "man"
		}
		list = append(list, file{r.page(one.file), path.Join(folder, one.file), 0o644})
	}
	return list
}

// archive writes a zip for Windows and a tar.gz for the others, with everything in one folder, all
// with one date and no owner.
func (r *release) archive(p platform) error {
	base := fmt.Sprintf("_%s_%s", p.system, p.machine)
	write, suffix := r.writeTar, ".tar.gz"
	if p.system == "windows" {
		write, suffix = r.writeZip, ".zip"
	}
	var out bytes.Buffer
	if err := write(&out, "rogito_"+r.version+base, r.contents(p)); err != nil {
		return err
	}
	return os.WriteFile(r.name(base+suffix), out.Bytes(), 0o644)
}

func (r *release) writeTar(out io.Writer, folder string, list []file) error {
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, f := range list {
		b, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		err = w.WriteHeader(&tar.Header{Name: path.Join(folder, f.to), Mode: f.mode, Size: int64(len(b)), ModTime: r.date, Format: tar.FormatUSTAR})
		if err == nil {
			_, err = w.Write(b)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), packed.Close())
}

func (r *release) writeZip(out io.Writer, folder string, list []file) error {
	w := zip.NewWriter(out)
	for _, f := range list {
		b, err := os.ReadFile(f.from)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: path.Join(folder, f.to), Method: zip.Deflate, Modified: r.date}
		h.SetMode(os.FileMode(f.mode))
		entry, err := w.CreateHeader(h)
		if err == nil {
			_, err = entry.Write(b)
		}
		if err != nil {
			return err
		}
	}
	return w.Close()
}
