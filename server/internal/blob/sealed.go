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
//
// One that begins with another blob is sealed in the same way under a magic of
// its own: its chunks are what comes behind that blob, and its footer, whose
// size and digests are of the whole, also has that one's id and size.
const (
	blobMagic     = "rogblob1"
	grownMagic    = "rogblob2"
	chunkSize     = 64 << 10
	chunkOverhead = 16
	sealedKeySize = 5 + 12 + 32 + 16
	headerSize    = len(blobMagic) + 4 + sealedKeySize
	footerSize    = 8 + 32 + 16 + chunkOverhead
	baseSize      = 8 + maxID
	maxID         = 24 + 1 + 24 + 1 + 16 // with the place in a pack
)

// base is the blob that another begins with.
type base struct {
	id   string
	size int64
}

// sealing is the key of one object.
type sealing struct {
	aead  cipher.AEAD
	grown bool // it begins with another blob
}

func newSealing(m *master.Key, b *Info, owner string) (sealing, []byte, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	wrapped, err := m.SealFor(blobPurpose(b.ID), b.ID+" "+owner, key)
	if err != nil {
		return sealing{}, nil, err
	}
	aead, err := master.NewGCM(key)
	magic := blobMagic
	if b.base.id != "" {
		magic = grownMagic
	}
	header := append([]byte(magic), beUint32(chunkSize)...)
	return sealing{aead, b.base.id != ""}, append(header, wrapped...), err
}

// blobPurpose changes every five hours, with the time in the id: nonces that are
// random are good for 2³² uses of one key.
func blobPurpose(id string) string { return "blob " + id[:6] }

func openSealing(m *master.Key, id, owner string, header []byte) (sealing, error) {
	prefix, magic := len(blobMagic)+4, string(header[:len(blobMagic)])
	if magic != blobMagic && magic != grownMagic || !bytes.Equal(header[len(blobMagic):prefix], beUint32(chunkSize)) {
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
	return sealing{aead, magic == grownMagic}, err
}

// chunk seals to the end of dst.
func (s sealing) chunk(dst []byte, index uint64, plain []byte) []byte {
	return s.aead.Seal(dst, chunkNonce('c', index), plain, nil)
}

func (s sealing) openChunk(index uint64, sealed []byte) ([]byte, error) {
	plain, err := s.aead.Open(sealed[:0], chunkNonce('c', index), sealed, nil)
	if err != nil {
		return nil, ErrCorrupt
	}
	return plain, nil
}

// footerSize is how long the footer is.
func (s sealing) footerSize() int {
	if s.grown {
		return footerSize + baseSize
	}
	return footerSize
}

// footerNonce distinguishes the two kinds of footers.
func (s sealing) footerNonce() []byte {
	if s.grown {
		return chunkNonce('g', 0)
	}
	return chunkNonce('f', 0)
}

func (s sealing) footer(b *Info) []byte {
	plain := binary.BigEndian.AppendUint64(make([]byte, 0, s.footerSize()), uint64(b.Size))
	plain = append(append(plain, b.SHA256[:]...), b.MD5[:]...)
	if s.grown {
		plain = binary.BigEndian.AppendUint64(plain, uint64(b.base.size))
		plain = append(plain, b.base.id...)
		plain = append(plain, make([]byte, maxID-len(b.base.id))...)
	}
	return s.aead.Seal(plain[:0], s.footerNonce(), plain, nil)
}

func (s sealing) openFooter(sealed []byte, b *Info) error {
	plain, err := s.aead.Open(nil, s.footerNonce(), sealed, nil)
	if err != nil {
		return ErrCorrupt
	}
	b.Size = int64(binary.BigEndian.Uint64(plain))
	copy(b.SHA256[:], plain[8:])
	copy(b.MD5[:], plain[40:])
	if s.grown {
		b.base = base{string(bytes.TrimRight(plain[64:], "\x00")), int64(binary.BigEndian.Uint64(plain[56:]))}
	}
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
	base   *Reader // what its content begins with; nil: nothing
	object object
	seal   sealing
	at     int64

	// The chunk that was read last is kept: who reads at random reads near it, and
	// who reads on reads it in pieces.
	mu    sync.Mutex
	buf   *[]byte
	plain []byte
	index int64
}

var chunkBuffers = sync.Pool{New: func() any { b := make([]byte, chunkSize+chunkOverhead); return &b }}

func newReader(o object, m *master.Key, id, owner string) (*Reader, error) {
	header := make([]byte, headerSize)
	if o.size() < int64(headerSize+footerSize) {
		return nil, ErrCorrupt
	}
	if _, err := o.ReadAt(header, 0); err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	seal, err := openSealing(m, id, owner, header)
	if err != nil {
		return nil, err
	}
	footer := make([]byte, seal.footerSize())
	end := o.size() - int64(len(footer))
	if end < int64(headerSize) {
		return nil, ErrCorrupt
	}
	if _, err := o.ReadAt(footer, end); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	r := &Reader{Info: Info{ID: id}, object: o, seal: seal, index: -1}
	if err := seal.openFooter(footer, &r.Info); err != nil {
		return nil, err
	}
	own := r.Info.Size - r.Info.base.size
	chunks := (own + chunkSize - 1) / chunkSize
	if own < 0 || end != int64(headerSize)+own+chunks*chunkOverhead {
		return nil, ErrCorrupt
	}
	return r, nil
}

// Size is the size of the content.
func (r *Reader) Size() int64 { return r.Info.Size }

// Close ends the reading.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.buf != nil {
		chunkBuffers.Put(r.buf)
		r.buf, r.plain, r.index = nil, nil, -1
	}
	if r.base != nil {
		return errors.Join(r.base.Close(), r.object.Close())
	}
	return r.object.Close()
}

// Copy writes the content, which must be what the footer says. It returns what is
// known of it with the state of its digests.
func (r *Reader) Copy(w io.Writer) (Info, error) {
	b := r.Info
	b.digests = newDigests()
	buf := chunkBuffers.Get().(*[]byte)
	defer chunkBuffers.Put(buf)
	for off := int64(0); off < b.Size; {
		n, err := r.ReadAt((*buf)[:min(chunkSize, b.Size-off)], off)
		if err != nil {
			return Info{}, err
		}
		b.digests.write((*buf)[:n])
		if _, err := w.Write((*buf)[:n]); err != nil {
			return Info{}, err
		}
		off += int64(n)
	}
	b.digests.sum(&b)
	if b.SHA256 != r.SHA256 || b.MD5 != r.MD5 {
		return Info{}, ErrCorrupt
	}
	return b, nil
}

// ReadAt reads content at random.
func (r *Reader) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("blob: negative offset")
	}
	n, from := 0, r.Info.base.size
	if off < from {
		var err error
		if n, err = r.base.ReadAt(p[:min(int64(len(p)), from-off)], off); err != nil {
			return n, err
		}
		off += int64(n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n < len(p) && off < r.Info.Size {
		index := (off - from) / chunkSize
		if err := r.readChunk(index); err != nil {
			return n, err
		}
		c := copy(p[n:], r.plain[off-from-index*chunkSize:])
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
	n, err := r.ReadAt(p[:min(int64(len(p)), r.Info.Size-r.at)], r.at)
	r.at += int64(n)
	return n, err
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

// readChunk reads and opens a chunk, unless it was read last.
func (r *Reader) readChunk(index int64) error {
	if index == r.index {
		return nil
	}
	if r.buf == nil {
		r.buf = chunkBuffers.Get().(*[]byte)
	}
	r.index = -1 // it is written over
	const step = chunkSize + chunkOverhead
	from := int64(headerSize) + index*step
	sealed := (*r.buf)[:min(step, r.object.size()-int64(r.seal.footerSize())-from)]
	if _, err := r.object.ReadAt(sealed, from); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read blob: %w", err)
	}
	plain, err := r.seal.openChunk(uint64(index), sealed)
	if err != nil {
		return err
	}
	r.plain, r.index = plain, index
	return nil
}
