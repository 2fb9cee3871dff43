package store

import (
	"bytes"
	"context"
	"io"
	"testing"
)

// A blob in the first form is still read.
func TestFirstFormOfBlob(t *testing.T) {
	m := &Master{id: firstDataKey, data: bytes.Repeat([]byte{7}, 32)}
	id, want := NewID(), []byte("a document of long ago")
	key := bytes.Repeat([]byte{9}, 32)
	wrapped, err := m.Seal("blob "+id, key)
	if err != nil {
		t.Fatal(err)
	}
	aead, err := newGCM(key)
	if err != nil {
		t.Fatal(err)
	}
	s := sealing{aead}
	b := Blob{Size: int64(len(want)), digests: (*digests)(nil).goOn()}
	b.digests.write(0, want)
	b.digests.sum(&b)
	old := append(append([]byte(blobMagic1), beUint32(chunkSize)...), wrapped...)
	old = append(old, s.chunk(0, append(make([]byte, 0, 100), want...))...)
	old = append(old, s.footer(&b)...)
	r, err := newBlobReader(held{bytes.NewReader(old)}, m, id)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := newBlobReader(held{bytes.NewReader(old)}, m, NewID()); err != ErrCorrupt {
		t.Errorf("under another id: %v", err)
	}
}

type held struct{ *bytes.Reader }

func (held) Close() error  { return nil }
func (m held) size() int64 { return m.Size() }

// However many blobs are put, few keys are kept.
func TestBlobsKeepNoKeys(t *testing.T) {
	m := &Master{id: firstDataKey, data: bytes.Repeat([]byte{7}, 32)}
	f, err := openFolder(Config{Data: t.TempDir(), Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	blobs := &sealedBlobs{bucket: f, master: m}
	for range 50 {
		if _, err := blobs.Put(context.Background(), bytes.NewReader([]byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	m.sealers.Range(func(any, any) bool { n++; return true })
	if n > 2 {
		t.Errorf("%d keys are kept after 50 blobs", n)
	}
}
