package server

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
)

func unzip(t *testing.T, b []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name], err = io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
	}
	return out
}
