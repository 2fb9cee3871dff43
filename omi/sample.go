package omi

import (
	"bytes"
	"context"
	"embed"
	"io"
	"io/fs"
	"sync"
)

//go:embed sample/*.csv sample/*.kml
var sampleFiles embed.FS

// sample is an invented publication: an imaginary island in the open sea, in the official formats,
// so that a fresh installation can answer. It is no longer used once anything is imported.
var sample = sync.OnceValue(func() *Index {
	pub, err := samplePublication(context.Background())
	if err != nil {
		panic(err) // it is built in; a test reads it
	}
	var b bytes.Buffer
	if err := pub.WriteIndex(&b); err != nil {
		panic(err)
	}
	ix, err := ParseIndex(b.Bytes())
	if err != nil {
		panic(err)
	}
	return ix
})

func samplePublication(ctx context.Context) (*Publication, error) {
	s := &fileSet{}
	err := fs.WalkDir(sampleFiles, "sample", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := sampleFiles.ReadFile(path)
		if err != nil {
			return err
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
		return s.append(source{name: e.Name(), size: int64(len(b)), open: open})
	})
	if err != nil {
		return nil, err
	}
	return readFileSet(ctx, s, ImportOptions{sample: true})
}
