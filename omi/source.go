package omi

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/flate"

	"rogito.dev/rogito/internal/limits"
)

// source is one file of a publication, archived or not.
type source struct {
	name  string // its own name, for reports; never an archive's
	order int    // position in the supply, which resolves ties
	size  int64  // as declared
	open  func() (io.ReadCloser, error)
	zip   bool // an entry of an archive: a read error means that the archive is damaged

	// hidden: its name, or that of a parent folder, means that it is not part of the supply. It is
	// read anyway, to report that it was ignored.
	hidden bool
}

// fileSet is all files of a publication.
type fileSet struct {
	sources []source
	closers []io.Closer
	bytes   atomic.Int64 // unpacked so far
	files   atomic.Int64
}

func (s *fileSet) Close() {
	for _, c := range s.closers {
		c.Close()
	}
}

// openFileSet lists the files behind the paths. Archives are opened, not unpacked.
func openFileSet(ctx context.Context, paths []string) (*fileSet, error) {
	s := &fileSet{}
	for i, path := range paths {
		err := filepath.WalkDir(path, func(p string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case ctx.Err() != nil:
				return ctx.Err()
			case e.IsDir() && e.Name() == ".git":
				return fs.SkipDir
			case e.IsDir():
				return nil
			}
			below, err := filepath.Rel(path, p)
			if err != nil {
				return err
			}
			return s.add(p, p != path && hidden(filepath.ToSlash(below)))
		})
		if err != nil {
			s.Close()
			return nil, unnamed(i, err)
		}
	}
	return s, nil
}

// Input is a file given by its content: a table, a perimeter or an archive.
type Input struct {
	Content io.ReaderAt
	Size    int64
}

// inputFileSet lists the files behind contents.
func inputFileSet(inputs []Input) (*fileSet, error) {
	s := &fileSet{}
	for i, in := range inputs {
		var magic [4]byte
		n, _ := in.Content.ReadAt(magic[:], 0)
		var err error
		if isArchive(magic[:min(n, 4)]) {
			err = s.archive(in.Content, in.Size, false)
		} else {
			open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(in.Content, 0, in.Size)), nil }
			err = s.append(source{name: "file " + strconv.Itoa(i+1), size: min(in.Size, limits.OMIFile), open: open})
		}
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// unnamed removes the file's name from an error: it may contain a tax code.
func unnamed(i int, err error) error {
	var refused *RefusedError
	var path *fs.PathError
	switch {
	case errors.As(err, &refused), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &path):
		return refuse("path %d cannot be read: %v", i+1, path.Err)
	}
	return refuse("path %d cannot be read", i+1)
}

func (s *fileSet) add(path string, hidden bool) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	var magic [4]byte
	n, _ := f.ReadAt(magic[:], 0)
	if !isArchive(magic[:n]) {
		f.Close()
		return s.append(source{name: printable(path), size: info.Size(), hidden: hidden, open: func() (io.ReadCloser, error) { return os.Open(path) }})
	}
	s.closers = append(s.closers, f)
	return s.archive(f, info.Size(), hidden)
}

func (s *fileSet) append(src source) error {
	src.order = len(s.sources)
	s.sources = append(s.sources, src)
	if len(s.sources) > limits.OMIFiles {
		return refuse("more than %d files", limits.OMIFiles)
	}
	return nil
}

// archive lists the files in an archive, which may itself be hidden.
func (s *fileSet) archive(r io.ReaderAt, size int64, within bool) error {
	z, err := zip.NewReader(r, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return refuse("an archive is damaged or cut short")
	}
	z.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) }) // faster than the standard library's
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		src := source{name: printable(f.Name), size: int64(min(f.UncompressedSize64, limits.OMIFile)), open: f.Open, zip: true, hidden: within || hidden(f.Name)}
		if err := s.append(src); err != nil {
			return err
		}
	}
	return nil
}

func isArchive(b []byte) bool {
	return bytes.HasPrefix(b, []byte("PK\x03\x04")) || bytes.HasPrefix(b, []byte("PK\x05\x06"))
}

// hidden reports whether a name, or that of a parent folder, is hidden or a system file.
func hidden(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasPrefix(part, ".") && part != "." && part != ".." || part == "__MACOSX" {
			return true
		}
	}
	return false
}

var taxCode = regexp.MustCompile(`(?i)[A-Z]{6}[0-9A-Z]{2}[A-Z][0-9A-Z]{2}[A-Z][0-9A-Z]{3}[A-Z]|\d{11}`)

// printable is a file's own name for reports: archives have none, and possible tax codes are
// masked.
func printable(path string) string {
	name := text([]byte(filepath.Base(path)))
	switch strings.ToLower(filepath.Ext(name)) {
	case ".zip", ".kmz":
		return "archive"
	}
	return taxCode.ReplaceAllString(name, "***")
}

// read unpacks a file into buf, within the limits.
func (s *fileSet) read(src source, buf []byte) ([]byte, error) {
	if s.files.Add(1) > limits.OMIFiles {
		return buf, refuse("more than %d files", limits.OMIFiles)
	}
	r, err := src.open()
	if err != nil {
		return buf, s.damaged(src, err)
	}
	defer r.Close()
	if int64(cap(buf)) < src.size+1 {
		buf = make([]byte, 0, src.size+src.size/4+512)
	}
	buf = buf[:0]
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case len(buf) > limits.OMIFile:
			return buf, refuse("a file unpacks to more than %d MB", limits.OMIFile>>20)
		case s.bytes.Add(int64(n)) > limits.OMIBytes:
			return buf, refuse("the files unpack to more than %d GB", limits.OMIBytes>>30)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return buf, s.damaged(src, err)
		}
	}
}

// damaged distinguishes a damaged archive, which refuses the publication, from an unreadable file,
// which is counted.
func (s *fileSet) damaged(src source, err error) error {
	if src.zip {
		return refuse("an archive is damaged: %s cannot be unpacked", src.name)
	}
	return errors.New("it cannot be read: " + unnamed(src.order, err).Error())
}
