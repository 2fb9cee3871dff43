package omi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"rogito.dev/rogito/internal/geo"
)

// ErrIndex means that a file is not an index that this program can read: damaged, truncated, or of
// another version.
var ErrIndex = errors.New("omi: not a usable index file")

// Index is one publication, ready for lookups. It is immutable and safe for concurrent use. Most of
// it remains in the mapped file.
type Index struct {
	sec      [sections][]byte
	texts    string // copied from the file, so that texts may outlive the index
	grid     grid
	semester Semester
	report   Report
	id       string
	size     int64

	provinces []province
	atlas     func() *atlas
}

// OpenIndex maps an index file into memory and checks all of it. The memory is released once the
// index is unreachable. Errors wrap [ErrIndex] if the file is at fault.
func OpenIndex(path string) (*Index, error) {
	ix, err := mapIndex(path)
	if err == nil {
		err = checkDigest(path)
	}
	if err != nil {
		return nil, err
	}
	return ix, nil
}

// mapIndex is OpenIndex without the checksum: references in the file are safe, but the data of a
// zone may have been changed.
func mapIndex(path string) (*Index, error) {
	b, unmap, err := mapFile(path)
	if err != nil {
		return nil, fmt.Errorf("omi: open index: %w", err)
	}
	body, trailer, err := frame(b)
	var ix *Index
	if err == nil {
		ix, err = parseBody(body, idOf(trailer))
	}
	if err != nil {
		unmap()
		return nil, err
	}
	releasePages(b) // most of several publications are never used
	// Not at once: a method that has made its last use of the index may still be reading the file.
	runtime.AddCleanup(ix, func(unmap func()) { time.AfterFunc(time.Minute, unmap) }, unmap)
	return ix, nil
}

// ParseIndex reads an index from memory, which must not change afterwards.
func ParseIndex(b []byte) (*Index, error) {
	body, trailer, err := frame(b)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(body); !bytes.Equal(sum[:], trailer) {
		return nil, errDigest
	}
	return parseBody(body, idOf(trailer))
}

var errDigest = fmt.Errorf("%w: its checksum is wrong", ErrIndex)

// frame splits a file into the checksummed part and the checksum.
func frame(b []byte) (body, trailer []byte, err error) {
	if len(b) < headerSize+trailerSize || string(b[:len(magic)]) != magic {
		return nil, nil, fmt.Errorf("%w: it does not begin as one", ErrIndex)
	}
	if v := le.Uint32(b[8:]); v != formatVersion {
		return nil, nil, fmt.Errorf("%w: version %d, this program reads %d", ErrIndex, v, formatVersion)
	}
	return b[:len(b)-trailerSize], b[len(b)-trailerSize:], nil
}

func idOf(trailer []byte) string { return hex.EncodeToString(trailer[:6]) }

// checkDigest checks the checksum of a file. It reads the file in pieces: reading the mapping would
// load all of it into the memory of the process.
func checkDigest(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("omi: open index: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("omi: open index: %w", err)
	}
	sum := sha256.New()
	trailer := make([]byte, trailerSize)
	_, err = io.CopyBuffer(sum, io.LimitReader(f, info.Size()-trailerSize), make([]byte, 256<<10))
	if err == nil {
		_, err = io.ReadFull(f, trailer)
	}
	if err != nil {
		return fmt.Errorf("omi: read index: %w", err)
	}
	if !bytes.Equal(sum.Sum(nil), trailer) {
		return errDigest
	}
	return nil
}

// parseBody reads everything but the checksum.
func parseBody(b []byte, id string) (*Index, error) {
	ix := &Index{id: id, size: int64(len(b) + trailerSize)}
	ix.semester = Semester{Year: int(le.Uint16(b[12:])), Half: int(le.Uint16(b[14:]))}
	field := func(i int) int32 { return int32(le.Uint32(b[gridStart+4*i:])) }
	ix.grid = grid{field(0), field(1), field(2), field(3)}
	if field(4) != cellSize {
		return nil, fmt.Errorf("%w: its grid has another size", ErrIndex)
	}
	for i := range ix.sec {
		at, n := le.Uint64(b[tableStart+16*i:]), le.Uint64(b[tableStart+16*i+8:])
		if at > uint64(len(b)) || n > uint64(len(b))-at {
			return nil, fmt.Errorf("%w: section %d lies outside", ErrIndex, i)
		}
		ix.sec[i] = b[at : at+n : at+n]
	}
	ix.texts = string(ix.sec[secText])
	if err := json.Unmarshal(ix.sec[secReport], &ix.report); err != nil {
		return nil, fmt.Errorf("%w: its report: %w", ErrIndex, err)
	}
	if at := ix.check(); at != "" {
		return nil, fmt.Errorf("%w: its %s do not hold together", ErrIndex, at)
	}
	ix.atlas = sync.OnceValue(ix.draw)
	return ix, nil
}

// check makes sure that no reference is out of range, so that lookups need not check. It returns
// what is wrong.
func (ix *Index) check() string {
	sizes := map[int]int{
		secTextEnds: 4, secPlaces: placeSize, secZones: zoneSize, secValues: valueSize, secPolygons: polygonSize,
		secRings: ringSize, secBlocks: geo.BlockSize, secCells: 4, secEntries: 4, secOutlineEnds: 4,
	}
	for sec, size := range sizes {
		if len(ix.sec[sec])%size != 0 {
			return "records"
		}
	}
	switch {
	case !ix.ascends(secTextEnds, len(ix.texts)):
		return "texts"
	case !ix.checkPlaces():
		return "municipalities"
	case !ix.checkZones():
		return "zones"
	case !ix.checkPolygons():
		return "polygons"
	case !ix.checkGrid():
		return "grid"
	case !ix.checkOutlines():
		return "outlines"
	}
	return ""
}

// ascends reports whether a section of numbers is non-decreasing and ends with last.
func (ix *Index) ascends(sec, last int) bool {
	before, b := uint32(0), ix.sec[sec]
	for i := 0; i < len(b); i += 4 {
		v := le.Uint32(b[i:])
		if v < before {
			return false
		}
		before = v
	}
	return int(before) == last
}

func (ix *Index) count(sec, size int) int { return len(ix.sec[sec]) / size }

// u32 is a field of a record.
func (ix *Index) u32(sec, size int, i uint32, field int) uint32 {
	return le.Uint32(ix.sec[sec][int(i)*size+field:])
}

// within reports whether the n records from first exist.
func within(first, n uint32, count int) bool { return uint64(first)+uint64(n) <= uint64(count) }

func (ix *Index) isText(n uint32) bool { return int(n) < ix.count(secTextEnds, 4) }

func (ix *Index) checkPlaces() bool {
	for i := range uint32(ix.count(secPlaces, placeSize)) {
		for k := range 5 {
			if !ix.isText(ix.u32(secPlaces, placeSize, i, placeCadastral+4*k)) {
				return false
			}
		}
		if !within(ix.u32(secPlaces, placeSize, i, placeZones), ix.u32(secPlaces, placeSize, i, placeZoneCount), ix.count(secZones, zoneSize)) {
			return false
		}
	}
	return true
}

func (ix *Index) checkZones() bool {
	field := func(i uint32, at int) uint32 { return ix.u32(secZones, zoneSize, i, at) }
	for i := range uint32(ix.count(secZones, zoneSize)) {
		ok := int(field(i, zonePlace)) < ix.count(secPlaces, placeSize) &&
			ix.isText(field(i, zoneCodeText)) && ix.isText(field(i, zoneDescription)) && ix.isText(field(i, zoneKind)) &&
			within(field(i, zoneValues), field(i, zoneValueCount), ix.count(secValues, valueSize)) &&
			within(field(i, zonePolygons), field(i, zonePolygonCount), ix.count(secPolygons, polygonSize))
		if !ok {
			return false
		}
	}
	for i := range uint32(ix.count(secValues, valueSize)) {
		if !ix.isText(ix.u32(secValues, valueSize, i, valueKind)) || !ix.isText(ix.u32(secValues, valueSize, i, valueCondition)) {
			return false
		}
	}
	return true
}

func (ix *Index) checkPolygons() bool {
	for i := range uint32(ix.count(secPolygons, polygonSize)) {
		rings := ix.u32(secPolygons, polygonSize, i, polygonCount)
		ok := rings > 0 && int(ix.u32(secPolygons, polygonSize, i, polygonZone)) < ix.count(secZones, zoneSize) &&
			within(ix.u32(secPolygons, polygonSize, i, polygonRings), rings, ix.count(secRings, ringSize))
		if !ok {
			return false
		}
	}
	for i := range uint32(ix.count(secRings, ringSize)) {
		first, n := ix.u32(secRings, ringSize, i, ringBlocks), ix.u32(secRings, ringSize, i, ringCount)
		if !within(first, n, ix.count(secBlocks, geo.BlockSize)) || !ix.ring(i).Valid() {
			return false
		}
	}
	return true
}

func (ix *Index) checkGrid() bool {
	g := ix.grid
	if g.nx < 0 || g.ny < 0 || int64(g.nx)*int64(g.ny)+1 != int64(ix.count(secCells, 4)) {
		return false
	}
	if !ix.ascends(secCells, ix.count(secEntries, 4)) {
		return false
	}
	for i := range uint32(ix.count(secEntries, 4)) {
		if int(ix.u32(secEntries, 4, i, 0)>>1) >= ix.count(secPolygons, polygonSize) {
			return false
		}
	}
	return true
}

// checkOutlines also gathers the provinces, which the file does not list.
func (ix *Index) checkOutlines() bool {
	ix.provinces = provincesOf(ix.Municipalities(), func(i int) province {
		return province{code: ix.text(ix.u32(secPlaces, placeSize, uint32(i), placeCadastral+8)), region: ix.text(ix.u32(secPlaces, placeSize, uint32(i), placeCadastral+4))}
	})
	return ix.count(secOutlineEnds, 4) == ix.count(secZones, zoneSize)+ix.Municipalities()+len(ix.provinces) &&
		ix.ascends(secOutlineEnds, len(ix.sec[secOutlines]))
}

// ring is the i-th ring of the file.
func (ix *Index) ring(i uint32) geo.Ring {
	first, n := ix.u32(secRings, ringSize, i, ringBlocks), ix.u32(secRings, ringSize, i, ringCount)
	from, to := int(first)*geo.BlockSize, int(first+n)*geo.BlockSize
	return geo.Ring{Blocks: ix.sec[secBlocks][from:to:to], Deltas: ix.sec[secDeltas]}
}

// text is the n-th text of the file.
func (ix *Index) text(n uint32) string {
	ends := ix.sec[secTextEnds]
	from := uint32(0)
	if n > 0 {
		from = le.Uint32(ends[4*(n-1):])
	}
	return ix.texts[from:le.Uint32(ends[4*n:])]
}

// Semester is the semester of the publication.
func (ix *Index) Semester() Semester { return ix.semester }

// ID identifies the publication by its content: twelve hexadecimal digits.
func (ix *Index) ID() string { return ix.id }

// Size is the length of the index file in bytes.
func (ix *Index) Size() int64 { return ix.size }

// Report is what the import found.
func (ix *Index) Report() Report { return ix.report }
