package film

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
)

// isBox reports whether an ISO base media file may begin with a box of this type. Old QuickTime
// files have no ftyp.
func isBox(name string) bool {
	switch name {
	case "ftyp", "moov", "mdat", "wide", "free", "skip":
		return true
	}
	return false
}

// media reads ISO base media.
type media struct {
	scan
	r      *bufio.Reader
	boxes  int
	tracks map[uint32]*track
}

// track of a film. Its duration is in units of its own time scale.
type track struct {
	id, scale   uint32
	pictures    bool
	length, end uint64 // by its header; by its fragments
	usual       uint32 // duration of a sample that says none
}

func (m *media) read() error {
	for {
		var head [16]byte
		if _, err := io.ReadFull(m.r, head[:8]); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return cut(err)
		}
		if m.boxes++; m.boxes > maxElements {
			return malformed("it has too many boxes")
		}
		name, size := string(head[4:8]), uint64(binary.BigEndian.Uint32(head[:4]))
		header := uint64(8)
		switch size {
		case 0: // to the end
			n, err := io.Copy(io.Discard, m.r)
			if err != nil {
				return err
			}
			if name == "mdat" {
				m.bytes += n
			}
			m.conclude()
			return nil
		case 1:
			if _, err := io.ReadFull(m.r, head[8:]); err != nil {
				return cut(err)
			}
			size, header = binary.BigEndian.Uint64(head[8:]), 16
		}
		if size < header || size > math.MaxInt64 {
			return malformed("a box has no size")
		}
		size -= header
		if name == "moov" || name == "moof" {
			if size > maxTables {
				return malformed("its tables are too large")
			}
			tables, err := io.ReadAll(io.LimitReader(m.r, int64(size)))
			if err != nil {
				return err
			}
			if uint64(len(tables)) < size {
				return cut(io.ErrUnexpectedEOF)
			}
			if err := m.tables(name, tables, nil, 0); err != nil {
				return err
			}
			continue
		}
		if err := skip(m.r, int64(size)); err != nil {
			return err
		}
		if name == "mdat" {
			m.bytes += int64(size)
		}
	}
	m.conclude()
	return nil
}

// conclude uses the longest track with pictures.
func (m *media) conclude() {
	for _, t := range m.tracks {
		if t.pictures {
			m.pictures = true
			m.length = max(m.length, seconds(max(t.length, t.end), uint64(t.scale)))
		}
	}
}

// tables reads what is inside a moov or a moof box.
func (m *media) tables(inside string, b []byte, t *track, depth int) error {
	if inside == "trak" {
		t = &track{}
	}
	if depth > 8 {
		return malformed("its boxes are too deep")
	}
	for len(b) > 0 {
		if m.boxes++; m.boxes > maxElements {
			return malformed("it has too many boxes")
		}
		if len(b) < 8 {
			return malformed("a box is cut")
		}
		name, size, header := string(b[4:8]), uint64(binary.BigEndian.Uint32(b)), uint64(8)
		switch {
		case size == 0:
			size = uint64(len(b))
		case size == 1 && len(b) >= 16:
			size, header = binary.BigEndian.Uint64(b[8:]), 16
		}
		if size < header || size > uint64(len(b)) {
			return malformed("a box is larger than what it is in")
		}
		body := b[header:size]
		b = b[size:]
		var err error
		switch name {
		case "trak", "mdia", "mvex":
			err = m.tables(name, body, t, depth+1)
		case "traf":
			err = m.fragment(body)
		default:
			m.field(name, body, t)
		}
		if err != nil {
			return err
		}
	}
	if inside == "trak" && t.id != 0 {
		m.tracks[t.id] = t
	}
	return nil
}

// field reads a box about a track. Version 1 has 64-bit times.
func (m *media) field(name string, b []byte, t *track) {
	wide := len(b) > 0 && b[0] == 1
	switch {
	case name == "trex" && len(b) >= 16:
		if one := m.tracks[binary.BigEndian.Uint32(b[4:])]; one != nil {
			one.usual = binary.BigEndian.Uint32(b[12:])
		}
	case t == nil:
	case name == "tkhd" && wide && len(b) >= 24:
		t.id = binary.BigEndian.Uint32(b[20:])
	case name == "tkhd" && !wide && len(b) >= 16:
		t.id = binary.BigEndian.Uint32(b[12:])
	case name == "mdhd" && wide && len(b) >= 32:
		t.scale, t.length = binary.BigEndian.Uint32(b[20:]), known(binary.BigEndian.Uint64(b[24:]), math.MaxUint64)
	case name == "mdhd" && !wide && len(b) >= 20:
		t.scale, t.length = binary.BigEndian.Uint32(b[12:]), known(uint64(binary.BigEndian.Uint32(b[16:])), math.MaxUint32)
	case name == "hdlr" && len(b) >= 12 && string(b[8:12]) == "vide":
		t.pictures = true
	}
}

// known is a duration; all ones mean that it is unknown.
func known(length, unknown uint64) uint64 {
	if length == unknown {
		return 0
	}
	return length
}

// fragment reads one of a track: when it begins, and how long its samples last.
func (m *media) fragment(b []byte) error {
	var t *track
	var usual uint32
	var at uint64
	for len(b) >= 8 {
		if m.boxes++; m.boxes > maxElements {
			return malformed("it has too many boxes")
		}
		name, size := string(b[4:8]), uint64(binary.BigEndian.Uint32(b))
		if size < 8 || size > uint64(len(b)) {
			return malformed("a box is larger than what it is in")
		}
		body := b[8:size]
		b = b[size:]
		if len(body) < 8 {
			continue
		}
		flags := binary.BigEndian.Uint32(body) & 0xffffff
		switch name {
		case "tfhd":
			t = m.tracks[binary.BigEndian.Uint32(body[4:])]
			if t != nil {
				usual = t.usual
			}
			skip := 8
			for _, f := range []struct {
				flag uint32
				size int
			}{{1, 8}, {2, 4}} { // where the data begin; which description
				if flags&f.flag != 0 {
					skip += f.size
				}
			}
			if flags&8 != 0 && len(body) >= skip+4 {
				usual = binary.BigEndian.Uint32(body[skip:])
			}
		case "tfdt":
			at = uint64(binary.BigEndian.Uint32(body[4:]))
			if body[0] == 1 && len(body) >= 12 {
				at = binary.BigEndian.Uint64(body[4:])
			}
		case "trun":
			at += run(body, flags, usual)
			if t != nil && at < math.MaxInt64 {
				t.end = max(t.end, at)
			}
		}
	}
	return nil
}

// run is how long the samples of a trun box last.
func run(b []byte, flags, usual uint32) uint64 {
	n := uint64(binary.BigEndian.Uint32(b[4:]))
	if flags&0x100 == 0 {
		return n * uint64(usual)
	}
	at, each := 8, 0
	for _, f := range []struct {
		flag uint32
		size *int
	}{{1, &at}, {4, &at}, {0x100, &each}, {0x200, &each}, {0x400, &each}, {0x800, &each}} {
		if flags&f.flag != 0 {
			*f.size += 4
		}
	}
	var all uint64
	for ; n > 0 && at+each <= len(b); n-- {
		all += uint64(binary.BigEndian.Uint32(b[at:]))
		at += each
	}
	return all
}
