package film

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// Elements of Matroska that are read (RFC 9559, 5.1). Container elements are traversed without
// regard to their size: a streamed film does not state it.
const (
	idSegment    = 0x18538067
	idInfo       = 0x1549A966
	idTracks     = 0x1654AE6B
	idTrack      = 0xAE
	idCluster    = 0x1F43B675
	idGroup      = 0xA0
	idScale      = 0x2AD7B1
	idDuration   = 0x4489
	idNumber     = 0xD7
	idType       = 0x83
	idTime       = 0xE7
	idSimple     = 0xA3
	idBlock      = 0xA1
	idDocType    = 0x4282
	idHeader     = 0x1A45DFA3
	unknownSize  = math.MaxUint64
	typePictures = 1
)

type matroska struct {
	scan
	r           *bufio.Reader
	elements    int
	doc         string
	scale       uint64 // nanoseconds of a unit
	number      uint64 // of the track that is read
	film        uint64 // number of the track with pictures
	header      float64
	cluster     int64
	first, last int64
	frames      int
}

// vint reads a number of variable size; with its marker it is an id.
func (m *matroska) vint(id bool) (uint64, error) {
	b, err := m.r.ReadByte()
	if err != nil {
		return 0, err
	}
	n, mask := 1, byte(0x80)
	for ; n <= 8 && b&mask == 0; n++ {
		mask >>= 1
	}
	if n > 8 || id && n > 4 {
		return 0, malformed("an element has no size")
	}
	v, ones := uint64(b), b&(mask-1) == mask-1
	if !id {
		v = uint64(b & (mask - 1))
	}
	for i := 1; i < n; i++ {
		b, err := m.r.ReadByte()
		if err != nil {
			return 0, cut(err)
		}
		ones = ones && b == 0xff
		v = v<<8 | uint64(b)
	}
	if !id && ones {
		return unknownSize, nil
	}
	return v, nil
}

func (m *matroska) read() error {
	for {
		id, err := m.vint(true)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if m.elements++; m.elements > maxElements {
			return malformed("it has too many elements")
		}
		size, err := m.vint(false)
		if err != nil {
			return cut(err)
		}
		if err := m.element(id, size); err != nil {
			return err
		}
	}
	if m.doc != "webm" && m.doc != "matroska" {
		return malformed("it is of the type %q", m.doc)
	}
	m.pictures = m.film != 0 && m.film < 128
	if m.frames > 1 && m.last > m.first {
		m.length = seconds(uint64(m.last-m.first), max(1, 1_000_000_000/m.scale))
	}
	if m.header >= 1 && m.header < math.MaxInt64 {
		m.length = max(m.length, seconds(uint64(m.header), max(1, 1_000_000_000/m.scale)))
	}
	if m.frames == 0 {
		m.bytes = 0
	}
	return nil
}

func (m *matroska) element(id, size uint64) error {
	switch id {
	case idHeader, idSegment, idInfo, idTracks, idCluster, idGroup:
		return nil
	case idTrack:
		m.number = 0
		return nil
	case idSimple, idBlock:
		return m.block(size)
	}
	if size > math.MaxInt64 {
		return malformed("an element does not say where it ends")
	}
	if size > 16 {
		return skip(m.r, int64(size))
	}
	var b [16]byte
	if _, err := io.ReadFull(m.r, b[:size]); err != nil {
		return cut(err)
	}
	if id == idDocType {
		m.doc = string(b[:size])
		return nil
	}
	if size > 8 {
		return nil
	}
	var n uint64
	for _, c := range b[:size] {
		n = n<<8 | uint64(c)
	}
	switch id {
	case idScale:
		m.scale = max(1, n)
	case idDuration:
		if m.header = math.Float64frombits(n); size == 4 {
			m.header = float64(math.Float32frombits(uint32(n)))
		}
	case idNumber:
		m.number = n
	case idType:
		if n == typePictures && m.film == 0 {
			m.film = m.number
		}
	case idTime:
		m.cluster = int64(min(n, math.MaxInt64/2))
	}
	return nil
}

// block notes when a picture is shown.
func (m *matroska) block(size uint64) error {
	if size > math.MaxInt64 || size < 4 {
		return malformed("a block has no size")
	}
	// Track numbers of more than one byte are not used in practice.
	var head [4]byte
	if _, err := io.ReadFull(m.r, head[:]); err != nil {
		return cut(err)
	}
	number := uint64(head[0] &^ 0x80)
	if err := skip(m.r, int64(size-4)); err != nil {
		return err
	}
	m.bytes += int64(size - 4)
	if number != m.film {
		return nil
	}
	at := m.cluster + int64(int16(binary.BigEndian.Uint16(head[1:])))
	if m.frames == 0 {
		m.first = at
	}
	m.first, m.last = min(m.first, at), max(m.last, at)
	m.frames++
	return nil
}
