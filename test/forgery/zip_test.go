package forgery

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
	"testing"
)

// member is an entry of a ZIP as a forger writes it: the directory may say
// something else than the header before the content.
type member struct {
	name   string
	data   []byte
	method uint16 // 0 stored, 8 deflated
	flags  uint16
	extra  []byte
	mode   uint32 // of Unix
	// attributes of MS-DOS
	attributes byte
	// local changes the header before the content; nil leaves it as the
	// directory has it. It is given the 30 bytes of the header.
	local     func(h []byte)
	localName string // in place of name, in the header only
	slack     []byte // after the deflated content, inside the entry
	before    []byte // before the header, belonging to no entry
	hidden    bool   // not in the directory
	described bool   // sizes after the content
}

// archive is a ZIP to be written.
type archive struct {
	members []member
	comment []byte
	prefix  []byte // before everything, offsets counted from after it
	gap     []byte // before the directory
	suffix  []byte
	shift   bool // count offsets from the first byte of the file, prefix included
	end     func(e []byte)
}

// take reads a container into members.
func take(t *testing.T, b []byte) archive {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var a archive
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		a.members = append(a.members, member{name: f.Name, data: data, method: f.Method})
	}
	return a
}

func (a archive) clone() archive {
	a.members = slices.Clone(a.members)
	return a
}

// with is the archive with an entry added at a place; -1 is the end.
func (a archive) with(at int, m member) archive {
	a = a.clone()
	if at < 0 {
		at = len(a.members)
	}
	a.members = slices.Insert(a.members, at, m)
	return a
}

// change is the archive with one entry changed.
func (a archive) change(name string, f func(m *member)) archive {
	a = a.clone()
	for i := range a.members {
		if a.members[i].name == name {
			f(&a.members[i])
		}
	}
	return a
}

// without is the archive less an entry.
func (a archive) without(name string) archive {
	a = a.clone()
	a.members = slices.DeleteFunc(a.members, func(m member) bool { return m.name == name })
	return a
}

// find is the entry of that name.
func (a archive) find(name string) member {
	for _, m := range a.members {
		if m.name == name {
			return m
		}
	}
	return member{}
}

func (a archive) bytes() []byte {
	le := binary.LittleEndian
	var out, dir bytes.Buffer
	out.Write(a.prefix)
	base := len(a.prefix)
	if a.shift {
		base = 0
	}
	count := 0
	for _, m := range a.members {
		out.Write(m.before)
		packed := m.data
		if m.method == 8 {
			var z bytes.Buffer
			w, _ := flate.NewWriter(&z, 6)
			_, _ = w.Write(m.data)
			_ = w.Close()
			packed = z.Bytes()
		}
		packed = append(slices.Clone(packed), m.slack...)
		flags := m.flags
		if m.described {
			flags |= 8
		}
		h := make([]byte, 30)
		le.PutUint32(h, 0x04034b50)
		le.PutUint16(h[4:], 20)
		le.PutUint16(h[6:], flags)
		le.PutUint16(h[8:], m.method)
		le.PutUint32(h[14:], crc32.ChecksumIEEE(m.data))
		le.PutUint32(h[18:], uint32(len(packed)))
		le.PutUint32(h[22:], uint32(len(m.data)))
		le.PutUint16(h[28:], uint16(len(m.extra)))
		if m.described {
			clear(h[14:26])
		}
		name := m.name
		if m.localName != "" {
			name = m.localName
		}
		le.PutUint16(h[26:], uint16(len(name)))
		at := out.Len() - base
		c := make([]byte, 46)
		le.PutUint32(c, 0x02014b50)
		c[4], c[5], c[6] = 20, 3, 20
		le.PutUint16(c[8:], flags)
		le.PutUint16(c[10:], m.method)
		le.PutUint32(c[16:], crc32.ChecksumIEEE(m.data))
		le.PutUint32(c[20:], uint32(len(packed)))
		le.PutUint32(c[24:], uint32(len(m.data)))
		le.PutUint16(c[28:], uint16(len(m.name)))
		le.PutUint16(c[30:], uint16(len(m.extra)))
		le.PutUint32(c[38:], m.mode<<16|uint32(m.attributes))
		le.PutUint32(c[42:], uint32(at))
		if m.local != nil {
			m.local(h)
		}
		out.Write(h)
		out.WriteString(name)
		out.Write(m.extra)
		out.Write(packed)
		if m.described {
			d := make([]byte, 16)
			le.PutUint32(d, 0x08074b50)
			copy(d[4:8], c[16:20])
			copy(d[8:16], c[20:28])
			out.Write(d)
		}
		if !m.hidden {
			count++
			dir.Write(c)
			dir.WriteString(m.name)
			dir.Write(m.extra)
		}
	}
	out.Write(a.gap)
	e := make([]byte, 22)
	le.PutUint32(e, 0x06054b50)
	le.PutUint16(e[8:], uint16(count))
	le.PutUint16(e[10:], uint16(count))
	le.PutUint32(e[12:], uint32(dir.Len()))
	le.PutUint32(e[16:], uint32(out.Len()-base))
	le.PutUint16(e[20:], uint16(len(a.comment)))
	if a.end != nil {
		a.end(e)
	}
	out.Write(dir.Bytes())
	out.Write(e)
	out.Write(a.comment)
	out.Write(a.suffix)
	return out.Bytes()
}
