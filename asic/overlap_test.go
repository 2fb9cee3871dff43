package asic

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/yardstick"
)

// counting counts the bytes that are read.
type counting struct {
	*bytes.Reader
	n int64
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

// TestOneEntryUnderManyNames: a directory that names the same bytes thousands of times has them
// searched once, and not for each name.
func TestOneEntryUnderManyNames(t *testing.T) {
	const names = 5000
	content := bytes.Repeat([]byte("PK\x07\x08"), 1<<14)
	size := uint32(len(content))
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v) // to memory
		}
	}
	const version, flags, none = uint16(20), uint16(flagDescriptor), uint16(0)
	put(uint32(sigLocal), version, flags, none, [4]uint32{}, uint16(1), none, []byte("a"), content)
	put(uint32(sigDescriptor), uint32(0), size, size)
	start := b.Len()
	for range names {
		put(uint32(sigCentral), version, version, flags, none, [2]uint32{}, size, size, uint16(1), [2]uint32{}, uint32(0), uint32(0), []byte("a"))
	}
	put(uint32(sigEnd), [2]uint16{}, uint16(names), uint16(names), uint32(b.Len()-start), uint32(start), none)

	src := &counting{Reader: bytes.NewReader(b.Bytes())}
	l, err := readLayout(src)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(l.problems, func(p ades.Problem) bool { return p.Code == "ZIP_ENTRIES_OVERLAP" }) {
		t.Errorf("problems %v", l.problems)
	}
	if most := 64 * src.Size(); src.n > most {
		t.Errorf("%d bytes of %d were read", src.n, src.Size())
	}
}

// TestLongExtraFields: fields and padding of 64 KB are read once.
func TestLongExtraFields(t *testing.T) {
	var extra []byte
	for i := range 8000 {
		extra = binary.LittleEndian.AppendUint32(extra, uint32(i+10000))
	}
	extra = append(extra, make([]byte, 33_000)...)
	start := yardstick.Processor()
	for range 30 {
		if why := new(record).extras(extra); why != nil {
			t.Fatal(why)
		}
	}
	if d := yardstick.Processor() - start; d > yardstick.Second() {
		t.Errorf("took %v", d)
	}
}
