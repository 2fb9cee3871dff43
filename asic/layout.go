package asic

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
)

// A ZIP can be read from its end, by the central directory, or from its start, header by header, or
// by searching for headers anywhere. The layout is sound if all three find the same files:
// directory and headers agree, and every byte belongs to one entry, to the directory or to the end
// record (APPNOTE.TXT 4.3).

// Signatures of the records of a ZIP.
const (
	sigLocal      = 0x04034b50
	sigDescriptor = 0x08074b50
	sigCentral    = 0x02014b50
	sigEnd        = 0x06054b50
	sigEnd64      = 0x06064b50
	sigLocator64  = 0x07064b50
)

const (
	flagEncrypted  = 1 << 0
	flagDescriptor = 1 << 3
	flagPatch      = 1 << 5
	flagUTF8       = 1 << 11
	flagMasked     = 1 << 13
)

// layout is the structure of a ZIP, read without trusting any of it.
type layout struct {
	src      ades.Source
	problems []ades.Problem
	records  []record
	start    int64 // of the directory
	end      int64 // of the directory
	comment  string
	scanned  int64 // bytes of the entries read so far
}

// record is one entry of the directory.
type record struct {
	name          string
	flags, method uint16
	crc           uint32
	packed, size  int64
	offset        int64 // of the local header
	data          int64 // where the content starts
	next          int64 // where the entry ends, its descriptor included
	mode          uint32
	disk          uint16
	extra         []byte
}

func (l *layout) problem(k *finding.Kind, where string, values ...any) {
	if len(l.problems) < 32 { // enough for a report
		l.problems = append(l.problems, k.Problem(legible(where, false), values...))
	}
}

// readLayout reads the structure. An error means that there is none.
func readLayout(src ades.Source) (*layout, error) {
	l := &layout{src: src}
	count, err := l.readEnd()
	if err != nil {
		return nil, &ades.MalformedError{Format: "ZIP", Err: err}
	}
	if err := l.readDirectory(count); err != nil {
		return nil, &ades.MalformedError{Format: "ZIP", Where: "central directory", Err: err}
	}
	for i := range l.records {
		if l.scanned <= src.Size() {
			l.readLocal(&l.records[i])
			continue
		}
		// What is larger than the file lies over each other. Thousands of entries could be the same
		// bytes, which would be searched again for each.
		l.problem(finding.ZIPOverlap, l.records[i].name)
		for ; i < len(l.records); i++ {
			l.records[i].next = -1
		}
		break
	}
	l.tile()
	return l, nil
}

func (l *layout) at(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > l.src.Size() || n > l.src.Size()-off {
		return nil, fmt.Errorf("%d bytes at %d lie outside the file", n, off)
	}
	b := make([]byte, n)
	if k, err := l.src.ReadAt(b, off); int64(k) < n {
		return nil, err
	}
	return b, nil
}

// readEnd finds the end record, reads the position of the directory, and returns the number of
// entries.
func (l *layout) readEnd() (count int64, err error) {
	size := l.src.Size()
	from := max(0, size-22-0xffff-limits.CMSPadding)
	tail, err := l.at(from, size-from)
	if err != nil {
		return 0, err
	}
	at := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	for ; at >= 0; at = bytes.LastIndex(tail[:at], []byte("PK\x05\x06")) {
		if len(tail)-at >= 22 && len(tail)-at-22 >= int(binary.LittleEndian.Uint16(tail[at+20:])) {
			break
		}
	}
	if at < 0 {
		return 0, fmt.Errorf("no end record")
	}
	e := tail[at:]
	le := binary.LittleEndian
	n := int(le.Uint16(e[20:]))
	l.comment = string(e[22 : 22+n])
	if rest := e[22+n:]; len(bytes.Trim(rest, "\x00\r\n")) > 0 || len(rest) > limits.CMSPadding {
		l.problem(finding.ZIPDataAfter, "")
	}
	l.checkComment()
	count = int64(le.Uint16(e[10:]))
	length, start := int64(le.Uint32(e[12:])), int64(le.Uint32(e[16:]))
	if le.Uint16(e[4:]) != 0 && le.Uint16(e[4:]) != 0xffff || le.Uint16(e[6:]) != 0 && le.Uint16(e[6:]) != 0xffff || le.Uint16(e[8:]) != le.Uint16(e[10:]) {
		l.problem(finding.ZIPVolumes, "end record")
	}
	l.end = from + int64(at)
	if c, n, s, end, ok := l.readEnd64(l.end); ok {
		if count != 0xffff && count != c || length != 0xffffffff && length != n || start != 0xffffffff && start != s {
			l.problem(finding.ZIPEndRecordsDiffer, "end record")
		}
		count, length, start, l.end = c, n, s, end
	}
	l.start = l.end - length
	if l.start < 0 {
		return 0, fmt.Errorf("the directory is larger than the file")
	}
	if l.start != start {
		l.problem(finding.ZIPDataBefore, "end record")
	}
	return count, nil
}

// readEnd64 reads the ZIP64 end record before the end record, if there is one.
func (l *layout) readEnd64(end int64) (count, length, start, before int64, ok bool) {
	le := binary.LittleEndian
	loc, err := l.at(end-20, 20)
	if err != nil || le.Uint32(loc) != sigLocator64 {
		return 0, 0, 0, 0, false
	}
	off := int64(le.Uint64(loc[8:]))
	e, err := l.at(off, 56)
	if err != nil || le.Uint32(e) != sigEnd64 {
		l.problem(finding.ZIP64EndMissing, "end record")
		return 0, 0, 0, 0, false
	}
	if off+12+int64(le.Uint64(e[4:])) != end-20 || le.Uint32(loc[4:]) != 0 || le.Uint64(e[24:]) != le.Uint64(e[32:]) {
		l.problem(finding.ZIP64EndDiffers, "end record")
	}
	return int64(le.Uint64(e[32:])), int64(le.Uint64(e[40:])), int64(le.Uint64(e[48:])), off, true
}

// checkComment: some readers search for the end record from the front, and a long comment can
// contain anything.
func (l *layout) checkComment() {
	if l.comment == "" {
		return
	}
	for _, mark := range []string{"PK\x05\x06", "PK\x01\x02", "PK\x03\x04", "PK\x06\x06", "PK\x06\x07", "PK\x07\x08", "%PDF-"} {
		if strings.Contains(l.comment, mark) {
			l.problem(finding.ZIPCommentForeign, "comment")
			return
		}
	}
	if len(l.comment) > 1024 {
		l.problem(finding.ZIPComment, "comment", len(l.comment))
	}
}

// readDirectory reads exactly as many records as the end record states.
func (l *layout) readDirectory(count int64) error {
	if count < 0 || count > limits.ZIPEntries {
		return fmt.Errorf("more than %d entries", limits.ZIPEntries)
	}
	if l.end-l.start > limits.ZIPMeta {
		return fmt.Errorf("%d bytes", l.end-l.start)
	}
	b, err := l.at(l.start, l.end-l.start)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	for range count {
		if len(b) < 46 || le.Uint32(b) != sigCentral {
			return fmt.Errorf("fewer entries than the end record says")
		}
		n, x, c := int(le.Uint16(b[28:])), int(le.Uint16(b[30:])), int(le.Uint16(b[32:]))
		if len(b) < 46+n+x+c {
			return fmt.Errorf("an entry runs past the end")
		}
		r := record{
			name: string(b[46 : 46+n]), flags: le.Uint16(b[8:]), method: le.Uint16(b[10:]), crc: le.Uint32(b[16:]),
			packed: int64(le.Uint32(b[20:])), size: int64(le.Uint32(b[24:])), offset: int64(le.Uint32(b[42:])),
			mode: le.Uint32(b[38:]), disk: le.Uint16(b[34:]), extra: b[46+n : 46+n+x],
		}
		if err := r.zip64(); err != nil {
			return fmt.Errorf("%q: %w", r.name, err)
		}
		if bytes.Contains(b[46+n+x:46+n+x+c], []byte("PK\x05\x06")) {
			l.problem(finding.ZIPEntryComment, r.name)
		}
		l.records = append(l.records, r)
		b = b[46+n+x+c:]
	}
	if len(b) > 0 {
		l.problem(finding.ZIPDirectoryTooLong, "central directory")
	}
	return nil
}

// zip64 reads sizes and offset from the extra field if the record requires it.
func (r *record) zip64() error {
	if r.size != 0xffffffff && r.packed != 0xffffffff && r.offset != 0xffffffff {
		return nil
	}
	field := extraField(r.extra, fieldZIP64)
	for _, v := range []*int64{&r.size, &r.packed, &r.offset} {
		if *v != 0xffffffff {
			continue
		}
		if len(field) < 8 {
			if v == &r.offset || len(field) == 0 { // a file of exactly that size
				continue
			}
			return fmt.Errorf("the ZIP64 field is too short")
		}
		*v = int64(binary.LittleEndian.Uint64(field))
		if *v < 0 {
			return fmt.Errorf("negative size")
		}
		field = field[8:]
	}
	return nil
}

// extraField finds a field by its id; nil where there is none.
func extraField(extra []byte, id uint16) []byte {
	for len(extra) >= 4 {
		n := int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return nil
		}
		if binary.LittleEndian.Uint16(extra) == id {
			return extra[4 : 4+n]
		}
		extra = extra[4+n:]
	}
	return nil
}

// readLocal compares the header before an entry's content with the directory.
func (l *layout) readLocal(r *record) {
	le := binary.LittleEndian
	h, err := l.at(r.offset, 30)
	if err != nil || le.Uint32(h) != sigLocal {
		l.problem(finding.ZIPEntryMissing, r.name)
		r.next = -1
		return
	}
	n, x := int64(le.Uint16(h[26:])), int64(le.Uint16(h[28:]))
	rest, err := l.at(r.offset+30, n+x)
	if err != nil {
		l.problem(finding.ZIPEntryPastEnd, r.name)
		r.next = -1
		return
	}
	r.data = r.offset + 30 + n + x
	l.scanned += 30 + n + x + min(r.packed, l.src.Size())
	local := record{
		name: string(rest[:n]), flags: le.Uint16(h[6:]), method: le.Uint16(h[8:]), crc: le.Uint32(h[14:]),
		packed: int64(le.Uint32(h[18:])), size: int64(le.Uint32(h[22:])), extra: rest[n:],
	}
	_ = local.zip64()
	const said = flagEncrypted | flagPatch | flagUTF8 | flagMasked | flagDescriptor
	switch {
	case local.name != r.name:
		l.problem(finding.ZIPNamesDiffer, r.name)
	case local.method != r.method:
		l.problem(finding.ZIPMethodsDiffer, r.name)
	case (local.flags^r.flags)&said&^flagUTF8 != 0, (local.flags^r.flags)&flagUTF8 != 0 && !ascii(r.name):
		l.problem(finding.ZIPFlagsDiffer, r.name)
	case r.flags&(flagEncrypted|flagPatch|flagMasked) != 0:
		l.problem(finding.ZIPEncrypted, r.name)
	}
	if local.crc != r.crc || local.packed != r.packed || local.size != r.size {
		blank := func(a, b int64) bool { return a == b || a == 0 || a == 0xffffffff }
		if r.flags&flagDescriptor == 0 || !blank(int64(local.crc), int64(r.crc)) || !blank(local.packed, r.packed) || !blank(local.size, r.size) {
			l.problem(finding.ZIPSizesDiffer, r.name)
		}
	}
	for _, extra := range [][]byte{r.extra, local.extra} {
		if why := r.extras(extra); why != nil {
			l.problem(why, r.name)
		}
	}
	if why := r.kind(); why != nil {
		l.problem(why, r.name)
	}
	r.next = r.data + r.packed
	if r.packed > l.src.Size() || r.next > l.src.Size() {
		l.problem(finding.ZIPEntryPastEnd, r.name)
		r.next = -1
		return
	}
	if r.flags&flagDescriptor != 0 {
		l.descriptor(r)
	}
}

// Attributes of MS-DOS, and the types of Unix in the upper half.
const (
	attrVolume    = 1 << 3
	attrFolder    = 1 << 4
	typeFolder    = 4
	typeFile      = 8
	fieldZIP64    = 0x0001
	fieldNameUTF8 = 0x7075 // Info-ZIP Unicode Path
)

// kind returns why some readers take an entry for something other than a file or folder, or nil.
// The system that made the entry does not matter: readers use both halves of the attributes.
func (r *record) kind() *finding.Kind {
	folder := strings.HasSuffix(r.name, "/")
	t := r.mode >> 28
	switch {
	case r.disk != 0 && (r.disk != 0xffff || extraField(r.extra, fieldZIP64) == nil):
		return finding.ZIPOtherVolume
	case r.mode&attrVolume != 0:
		return finding.ZIPLabel
	case !folder && (r.mode&attrFolder != 0 || t == typeFolder):
		return finding.ZIPFolderOrFile
	case t != 0 && t != typeFile && t != typeFolder:
		return finding.ZIPLink
	}
	return nil
}

// extras returns what is wrong with the extra fields of an entry, or nil. Readers differ in which
// of two fields with one id they use, and in how they handle fields beyond the end. Zeros at the
// end are padding.
func (r *record) extras(extra []byte) *finding.Kind {
	seen := map[uint16]bool{}
	padding := len(extra) - len(bytes.TrimRight(extra, "\x00"))
	for len(extra) > padding {
		if len(extra) < 4 {
			return finding.ZIPExtraMalformed
		}
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if n > len(extra)-4 {
			return finding.ZIPExtraMalformed
		}
		if seen[id] {
			return finding.ZIPExtraTwice
		}
		seen[id] = true
		if id == fieldNameUTF8 {
			if n < 5 {
				return finding.ZIPExtraMalformed
			}
			if other := string(extra[9 : 4+n]); other != r.name && other != cp437(r.name) {
				return finding.ZIPExtraName
			}
		}
		extra = extra[4+n:]
	}
	return nil
}

// descriptor skips the sizes that follow the content, which must be those of the directory. Its
// signature is optional, and so are sizes of 8 bytes.
func (l *layout) descriptor(r *record) {
	le := binary.LittleEndian
	b, _ := l.at(r.next, min(24, l.src.Size()-r.next))
	for _, signed := range []bool{true, false} {
		d, skip := b, int64(0)
		if signed {
			if len(b) < 4 || le.Uint32(b) != sigDescriptor {
				continue
			}
			d, skip = b[4:], 4
		}
		if len(d) >= 12 && le.Uint32(d) == r.crc && int64(le.Uint32(d[4:])) == r.packed && int64(le.Uint32(d[8:])) == r.size {
			r.next += skip + 12
			break
		}
		if len(d) >= 20 && le.Uint32(d) == r.crc && int64(le.Uint64(d[4:])) == r.packed && int64(le.Uint64(d[12:])) == r.size {
			r.next += skip + 20
			break
		}
		if !signed {
			l.problem(finding.ZIPDescriptorDiffers, r.name)
			return
		}
	}
	if r.method == 0 && r.size > 0 {
		// A reader from the start finds the end of stored content by this mark.
		if early, err := l.endsEarly(r.data, r.packed); err != nil || early {
			l.problem(finding.ZIPDescriptorInside, r.name)
		}
	}
}

// endsEarly searches stored content for a descriptor that matches the bytes before it: a nested
// archive has descriptors too, but not of that length.
func (l *layout) endsEarly(off, n int64) (bool, error) {
	const window = 1 << 16
	mark := []byte("PK\x07\x08")
	for done := int64(0); done < n; {
		b, err := l.at(off+done, min(n-done, window))
		if err != nil {
			return false, err
		}
		for at := 0; ; at++ {
			i := bytes.Index(b[at:], mark)
			if i < 0 {
				break
			}
			at += i
			d, err := l.at(off+done+int64(at), 24)
			if err != nil {
				return false, nil // the real one follows the content
			}
			before := done + int64(at)
			if int64(binary.LittleEndian.Uint32(d[8:])) == before || int64(binary.LittleEndian.Uint64(d[8:])) == before {
				return true, nil
			}
		}
		if int64(len(b)) == n-done {
			break
		}
		done += int64(len(b) - len(mark) + 1)
	}
	return false, nil
}

// tile checks that the entries are contiguous from the first byte to the directory.
func (l *layout) tile() {
	sorted := slices.Clone(l.records)
	slices.SortStableFunc(sorted, func(a, b record) int { return cmp.Compare(a.offset, b.offset) })
	at := int64(0)
	for _, r := range append(sorted, record{name: "central directory", offset: l.start}) {
		switch {
		case r.next < 0:
			return // already reported
		case r.offset < at:
			l.problem(finding.ZIPOverlap, r.name)
			return
		case r.offset > at && !l.padding(at, r.offset-at):
			l.problem(finding.ZIPGap, r.name, r.offset-at)
		case r.offset > at:
			l.problem(finding.ZIPPadding, r.name, r.offset-at)
		}
		at = r.next
	}
}

// padding reports whether there are only a few zeros, which hide nothing.
func (l *layout) padding(off, n int64) bool {
	if n > limits.CMSPadding || off == 0 {
		return false
	}
	b, err := l.at(off, n)
	return err == nil && len(bytes.Trim(b, "\x00")) == 0
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
