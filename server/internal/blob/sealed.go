package blob

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"rogito.dev/rogito/server/internal/master"
)

// The sealed form of a blob: a header (magic, chunk size, the object's key,
// sealed by the master key for the blob's id and owner and no other), the content in chunks of
// 64 KiB each sealed under the object's key with its index as nonce, and a
// footer with size and digests sealed in the same way. Chunks cannot be
// changed, swapped, dropped or taken from another blob unnoticed, and any one
// can be read alone.
const (
	blobMagic     = "rogblob1"
	chunkSize     = 64 << 10
	chunkOverhead = 16
	sealedKeySize = 5 + 12 + 32 + 16
	headerSize    = len(blobMagic) + 4 + sealedKeySize
	footerSize    = 8 + 32 + 16 + chunkOverhead
)

// sealing is the key of one object.
type sealing struct{ aead cipher.AEAD }

func newSealing(m *master.Key, id, owner string) (sealing, []byte, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	wrapped, err := m.SealFor(blobPurpose(id), id+" "+owner, key)
	if err != nil {
		return sealing{}, nil, err
	}
	aead, err := master.NewGCM(key)
	header := append([]byte(blobMagic), beUint32(chunkSize)...)
	return sealing{aead}, append(header, wrapped...), err
}

// blobPurpose changes every five hours, with the time in the id: nonces that are
// random are good for 2³² uses of one key.
func blobPurpose(id string) string { return "blob " + id[:6] }

func openSealing(m *master.Key, id, owner string, header []byte) (sealing, error) {
	prefix := len(blobMagic) + 4
	if string(header[:len(blobMagic)]) != blobMagic || !bytes.Equal(header[len(blobMagic):prefix], beUint32(chunkSize)) {
		return sealing{}, ErrCorrupt
	}
	key, err := m.UnsealFor(blobPurpose(id), id+" "+owner, header[prefix:])
	if errors.Is(err, master.ErrUnseal) {
		return sealing{}, ErrCorrupt
	}
	if err != nil {
		return sealing{}, err
	}
	aead, err := master.NewGCM(key)
	return sealing{aead}, err
}

// chunk seals in place; plain has room for the tag behind it.
func (s sealing) chunk(index uint64, plain []byte) []byte {
	return s.aead.Seal(plain[:0], chunkNonce('c', index), plain, nil)
}

func (s sealing) openChunk(index uint64, sealed []byte) ([]byte, error) {
	plain, err := s.aead.Open(sealed[:0], chunkNonce('c', index), sealed, nil)
	if err != nil {
		return nil, ErrCorrupt
	}
	return plain, nil
}

func (s sealing) footer(b *Info) []byte {
	plain := binary.BigEndian.AppendUint64(nil, uint64(b.Size))
	plain = append(append(plain, b.SHA256[:]...), b.MD5[:]...)
	return s.aead.Seal(nil, chunkNonce('f', 0), plain, nil)
}

func (s sealing) openFooter(sealed []byte, b *Info) error {
	plain, err := s.aead.Open(nil, chunkNonce('f', 0), sealed, nil)
	if err != nil {
		return ErrCorrupt
	}
	b.Size = int64(binary.BigEndian.Uint64(plain))
	copy(b.SHA256[:], plain[8:])
	copy(b.MD5[:], plain[40:])
	return nil
}

func beUint32(v uint32) []byte { return binary.BigEndian.AppendUint32(nil, v) }

func chunkNonce(kind byte, index uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{kind, 0, 0, 0}, index)
}

// Reader reads a blob. ReadAt may be called from several goroutines; Read
// and Seek from one.
type Reader struct {
	Info
	object object
	seal   sealing
	at     int64

	// window holds plain chunks ahead of a sequential reader; it doubles up
	// to maxWindow, so that a remote object is read in few requests.
	window []byte
	start  int64
	ahead  int64
}

const maxWindow = 128 // chunks: 8 MiB

var chunkBuffers = sync.Pool{New: func() any { b := make([]byte, chunkSize+chunkOverhead); return &b }}

func newReader(o object, m *master.Key, id, owner string) (*Reader, error) {
	if o.size() < int64(headerSize+footerSize) {
		return nil, ErrCorrupt
	}
	header, footer := make([]byte, headerSize), make([]byte, footerSize)
	if _, err := o.ReadAt(header, 0); err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	if _, err := o.ReadAt(footer, o.size()-int64(footerSize)); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	seal, err := openSealing(m, id, owner, header)
	if err != nil {
		return nil, err
	}
	r := &Reader{Info: Info{ID: id}, object: o, seal: seal, ahead: 1}
	if err := seal.openFooter(footer, &r.Info); err != nil {
		return nil, err
	}
	chunks := (r.Info.Size + chunkSize - 1) / chunkSize
	if o.size() != int64(headerSize+footerSize)+r.Info.Size+chunks*chunkOverhead {
		return nil, ErrCorrupt
	}
	return r, nil
}

// Size is the size of the content.
func (r *Reader) Size() int64 { return r.Info.Size }

// Close ends the reading.
func (r *Reader) Close() error { return r.object.Close() }

// ReadAt reads content at random, a chunk at a time.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("blob: negative offset")
	}
	buf := chunkBuffers.Get().(*[]byte)
	defer chunkBuffers.Put(buf)
	n := 0
	for n < len(p) && off < r.Info.Size {
		index := off / chunkSize
		plain, err := r.chunks(*buf, index, 1)
		if err != nil {
			return n, err
		}
		c := copy(p[n:], plain[off-index*chunkSize:])
		n, off = n+c, off+int64(c)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Read reads on from where it is.
func (r *Reader) Read(p []byte) (int, error) {
	if r.at >= r.Info.Size {
		return 0, io.EOF
	}
	if r.at < r.start || r.at >= r.start+int64(len(r.window)) {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.window[r.at-r.start:])
	r.at += int64(n)
	return n, nil
}

func (r *Reader) fill() error {
	if r.at == r.start+int64(len(r.window)) {
		r.ahead = min(2*r.ahead, maxWindow)
	} else {
		r.ahead = 1
	}
	index := r.at / chunkSize
	count := min(r.ahead, (r.Info.Size-1)/chunkSize-index+1)
	plain, err := r.chunks(make([]byte, count*(chunkSize+chunkOverhead)), index, count)
	if err != nil {
		return err
	}
	r.window, r.start = plain, index*chunkSize
	return nil
}

// Seek sets where Read goes on.
func (r *Reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.at
	case io.SeekEnd:
		offset += r.Info.Size
	}
	if offset < 0 {
		return 0, errors.New("blob: negative offset")
	}
	r.at = offset
	return offset, nil
}

// chunks reads and opens count chunks into buf, which they fill packed.
func (r *Reader) chunks(buf []byte, index, count int64) ([]byte, error) {
	const step = chunkSize + chunkOverhead
	from := int64(headerSize) + index*step
	n := min(count*step, r.object.size()-int64(footerSize)-from)
	if _, err := r.object.ReadAt(buf[:n], from); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	out := buf[:0]
	for i := int64(0); i*step < n; i++ {
		plain, err := r.seal.openChunk(uint64(index+i), buf[i*step:min((i+1)*step, n)])
		if err != nil {
			return nil, err
		}
		out = append(out, plain...)
	}
	return out, nil
}
