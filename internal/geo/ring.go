package geo

import (
	"encoding/binary"
	"slices"
)

// BlockSize is the length of one block record in bytes.
const BlockSize = 32

// BlockEdges is the most edges one block holds.
const BlockEdges = 32

// A block record is little-endian: first vertex X, Y; box MinX, MinY, MaxX, MaxY;
// offset of its deltas; number of edges (low byte) and bytes per edge (next byte).
const (
	fieldOffset = 24
	fieldShape  = 28
)

// Ring is a closed ring stored as blocks of delta-coded edges. Every block has its box, so that
// locating a position only reads the deltas of one or two blocks. Both slices may be in a mapped
// file; the ring never writes to them.
type Ring struct {
	Blocks []byte // whole records of BlockSize
	Deltas []byte // the base of the records' offsets
}

// AppendRing encodes a closed ring: its block records are appended to blocks, its deltas to deltas,
// with offsets relative to the start of deltas.
func AppendRing(blocks, deltas []byte, ring []Point) (b, d []byte) {
	for len(ring) > 1 {
		n := min(BlockEdges, len(ring)-1)
		blocks, deltas = appendBlock(blocks, deltas, ring[:n+1])
		ring = ring[n:]
	}
	return blocks, deltas
}

func appendBlock(blocks, deltas []byte, chain []Point) (b, d []byte) {
	box, width := BoxOf(chain), edgeWidth(chain)
	for _, v := range [...]int32{chain[0].X, chain[0].Y, box.MinX, box.MinY, box.MaxX, box.MaxY} {
		blocks = binary.LittleEndian.AppendUint32(blocks, uint32(v))
	}
	blocks = binary.LittleEndian.AppendUint32(blocks, uint32(len(deltas)))
	blocks = binary.LittleEndian.AppendUint32(blocks, uint32(len(chain)-1)|uint32(width)<<8)
	for i := 1; i < len(chain); i++ {
		deltas = appendEdge(deltas, width, chain[i].X-chain[i-1].X, chain[i].Y-chain[i-1].Y)
	}
	return blocks, deltas
}

// edgeWidth is the number of bytes per edge for the longest edge of the chain: 2, 3, 4 or 8, shared
// evenly by the two deltas.
func edgeWidth(chain []Point) int {
	var most uint32
	for i := 1; i < len(chain); i++ {
		dx, dy := chain[i].X-chain[i-1].X, chain[i].Y-chain[i-1].Y
		most |= uint32(dx^dx>>31) | uint32(dy^dy>>31)
	}
	switch {
	case most < 1<<7:
		return 2
	case most < 1<<11:
		return 3
	case most < 1<<15:
		return 4
	}
	return 8
}

func appendEdge(d []byte, width int, dx, dy int32) []byte {
	switch width {
	case 2:
		return append(d, byte(dx), byte(dy))
	case 3:
		return append(d, byte(dx), byte(dx>>8)&0x0F|byte(dy<<4), byte(dy>>4))
	case 4:
		return append(d, byte(dx), byte(dx>>8), byte(dy), byte(dy>>8))
	}
	d = binary.LittleEndian.AppendUint32(d, uint32(dx))
	return binary.LittleEndian.AppendUint32(d, uint32(dy))
}

// Relocate adds base to the offset of every block record.
func Relocate(blocks []byte, base uint32) {
	for ; len(blocks) >= BlockSize; blocks = blocks[BlockSize:] {
		at := blocks[fieldOffset:]
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)+base)
	}
}

// Valid reports whether every block is within the deltas, which the other methods rely on. It does
// not check that the ring is well formed.
func (r Ring) Valid() bool {
	if len(r.Blocks) == 0 || len(r.Blocks)%BlockSize != 0 {
		return false
	}
	for i := range r.len() {
		n, width := r.shape(i)
		known := width == 2 || width == 3 || width == 4 || width == 8
		if !known || n == 0 || n > BlockEdges || uint64(r.offset(i))+uint64(n*width) > uint64(len(r.Deltas)) {
			return false
		}
	}
	return true
}

func (r Ring) len() int { return len(r.Blocks) / BlockSize }

// Edges is how many edges the ring has.
func (r Ring) Edges() int {
	all := 0
	for i := range r.len() {
		n, _ := r.shape(i)
		all += n
	}
	return all
}

func (r Ring) offset(i int) uint32 {
	return binary.LittleEndian.Uint32(r.Blocks[i*BlockSize+fieldOffset:])
}

func (r Ring) shape(i int) (edges, width int) {
	v := binary.LittleEndian.Uint32(r.Blocks[i*BlockSize+fieldShape:])
	return int(v & 0xFF), int(v >> 8)
}

func (r Ring) box(i int) Box {
	b := r.Blocks[i*BlockSize+8 : i*BlockSize+24 : i*BlockSize+24]
	return Box{
		int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:])),
		int32(binary.LittleEndian.Uint32(b[8:])), int32(binary.LittleEndian.Uint32(b[12:])),
	}
}

func (r Ring) first(i int) Point {
	b := r.Blocks[i*BlockSize:]
	return Point{int32(binary.LittleEndian.Uint32(b)), int32(binary.LittleEndian.Uint32(b[4:]))}
}

// last is the end of block i: where the next begins, or the ring closes.
func (r Ring) last(i int) Point {
	if i+1 == r.len() {
		return r.first(0)
	}
	return r.first(i + 1)
}

// decode writes the vertices of block i after its first into out.
func (r Ring) decode(i int, out *[BlockEdges]Point) []Point {
	n, width := r.shape(i)
	p, off := r.first(i), int(r.offset(i))
	d := r.Deltas[off : off+n*width]
	points := out[:n]
	switch width {
	case 2:
		for k := range points {
			p = Point{p.X + int32(int8(d[2*k])), p.Y + int32(int8(d[2*k+1]))}
			points[k] = p
		}
	case 3:
		for k := range points {
			v := uint32(d[3*k]) | uint32(d[3*k+1])<<8 | uint32(d[3*k+2])<<16
			p = Point{p.X + int32(v<<20)>>20, p.Y + int32(v<<8)>>20}
			points[k] = p
		}
	case 4:
		for k := range points {
			v := binary.LittleEndian.Uint32(d[4*k:])
			p = Point{p.X + int32(int16(v)), p.Y + int32(v)>>16}
			points[k] = p
		}
	default:
		for k := range points {
			p = Point{p.X + int32(binary.LittleEndian.Uint32(d[8*k:])), p.Y + int32(binary.LittleEndian.Uint32(d[8*k+4:]))}
			points[k] = p
		}
	}
	return points
}

// Side is the side of the ring on which a position is.
func (r Ring) Side(at Position) Side {
	var buf [BlockEdges]Point
	way := rayFrom(at)
	for i := range r.len() {
		if way.skips(r.box(i), r.first(i), r.last(i)) {
			continue
		}
		a := r.first(i)
		for _, b := range r.decode(i, &buf) {
			if way.meets(a, b) {
				return Edge
			}
			a = b
		}
	}
	return way.side()
}

// AppendPoints appends the vertices of the ring, the last equal to the first.
func (r Ring) AppendPoints(dst []Point) []Point {
	var buf [BlockEdges]Point
	dst = append(slices.Grow(dst, r.Edges()+1), r.first(0))
	for i := range r.len() {
		dst = append(dst, r.decode(i, &buf)...)
	}
	return dst
}

// Meets reports whether an edge of the ring shares a point with the box.
func (r Ring) Meets(box Box) bool {
	var buf [BlockEdges]Point
	for i := range r.len() {
		if !box.Meets(r.box(i)) {
			continue
		}
		a := r.first(i)
		for _, b := range r.decode(i, &buf) {
			if edgeMeets(a, b, box) {
				return true
			}
			a = b
		}
	}
	return false
}

// edgeMeets reports whether the edge and the closed box share a point: their boxes meet, and the
// corners of the box are not all strictly on one side of the line.
func edgeMeets(a, b Point, box Box) bool {
	if !box.Meets(BoxOf([]Point{a, b})) {
		return false
	}
	var left, right bool
	for _, c := range [...]Point{{box.MinX, box.MinY}, {box.MinX, box.MaxY}, {box.MaxX, box.MinY}, {box.MaxX, box.MaxY}} {
		cross := int64(b.X-a.X)*int64(c.Y-a.Y) - int64(b.Y-a.Y)*int64(c.X-a.X)
		left, right = left || cross >= 0, right || cross <= 0
	}
	return left && right
}
