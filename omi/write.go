package omi

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/internal/geo"
)

var le = binary.LittleEndian

// WriteIndex writes the publication as an index file.
func (p *Publication) WriteIndex(w io.Writer) error {
	l := layout{pub: p, texts: map[string]uint32{}}
	if err := l.build(); err != nil {
		return err
	}
	buf := bufio.NewWriterSize(w, 1<<20)
	sum := sha256.New()
	err := l.write(io.MultiWriter(buf, sum))
	if err == nil {
		_, _ = buf.Write(sum.Sum(nil)) // Flush returns the error
		err = buf.Flush()
	}
	if err != nil {
		return fmt.Errorf("omi: write index: %w", err)
	}
	return nil
}

// layout arranges a publication as the sections of a file. Blocks and deltas, which are most of it,
// are not copied until written.
type layout struct {
	pub   *Publication
	texts map[string]uint32
	sec   [sections][]byte
	sizes [sections]uint64

	ranked []int // zones with outlines, smallest first
	grid   grid
}

// grid is the frame of the lookup grid, in squares.
type grid struct{ x0, y0, nx, ny int32 }

func (l *layout) build() error {
	var err error
	if l.sec[secReport], err = json.Marshal(l.pub.Report); err != nil {
		return fmt.Errorf("omi: write report: %w", err)
	}
	l.rank()
	first := l.polygons()
	l.places()
	l.zones(first)
	l.cells()
	l.outlines()
	for i, s := range l.sec {
		if len(s) > 0 {
			l.sizes[i] = uint64(len(s))
		}
	}
	if l.sizes[secDeltas] > 1<<32-1 {
		return refuse("the perimeters have too many vertices")
	}
	return nil
}

// rank orders the zones by precedence for a point in two of them: the smaller area, then the lower
// cadastral code, then the lower zone code.
func (l *layout) rank() {
	zones := l.pub.zones
	for i := range zones {
		if zones[i].outline != nil {
			l.ranked = append(l.ranked, i)
		}
	}
	slices.SortFunc(l.ranked, func(a, b int) int { return cmp.Or(cmp.Compare(zones[a].area, zones[b].area), a-b) })
}

// text returns the number of a text, adding it if it is new.
func (l *layout) text(s string) uint32 {
	n, known := l.texts[s]
	if !known {
		n = uint32(len(l.texts))
		l.texts[s] = n
		l.sec[secText] = append(l.sec[secText], s...)
		l.sec[secTextEnds] = le.AppendUint32(l.sec[secTextEnds], uint32(len(l.sec[secText])))
	}
	return n
}

// polygons lays out polygons and rings and returns where each zone's polygons begin.
func (l *layout) polygons() (first []uint32) {
	first = make([]uint32, len(l.pub.zones))
	var polygon, ring, block uint32
	for _, zone := range l.ranked {
		first[zone] = polygon
		for _, p := range l.pub.zones[zone].outline.polygons {
			r := make([]byte, polygonSize)
			le.PutUint32(r[polygonZone:], uint32(zone))
			le.PutUint32(r[polygonRings:], ring)
			le.PutUint32(r[polygonCount:], uint32(len(p.rings)))
			for i, v := range [...]int32{p.box.MinX, p.box.MinY, p.box.MaxX, p.box.MaxY} {
				le.PutUint32(r[polygonBox+4*i:], uint32(v))
			}
			l.sec[secPolygons] = append(l.sec[secPolygons], r...)
			for _, n := range p.rings {
				l.sec[secRings] = le.AppendUint32(le.AppendUint32(l.sec[secRings], block), n)
				block += n
			}
			polygon, ring = polygon+1, ring+uint32(len(p.rings))
			l.sizes[secBlocks] += uint64(len(p.blocks))
			l.sizes[secDeltas] += uint64(len(p.deltas))
		}
	}
	return first
}

func (l *layout) places() {
	zone := 0
	for _, p := range l.pub.places {
		r := make([]byte, placeSize)
		for i, s := range [...]string{p.cadastral, p.region, p.province, p.istat, p.name} {
			le.PutUint32(r[placeCadastral+4*i:], l.text(s))
		}
		from := zone
		for zone < len(l.pub.zones) && l.pub.zones[zone].key.cadastral == p.cadastral {
			zone++
		}
		le.PutUint32(r[placeZones:], uint32(from))
		le.PutUint32(r[placeZoneCount:], uint32(zone-from))
		l.sec[secPlaces] = append(l.sec[secPlaces], r...)
	}
}

func (l *layout) zones(firstPolygon []uint32) {
	place, value := 0, uint32(0)
	for i := range l.pub.zones {
		g := &l.pub.zones[i]
		for l.pub.places[place].cadastral != g.key.cadastral {
			place++
		}
		r := make([]byte, zoneSize)
		le.PutUint32(r[zonePlace:], uint32(place))
		le.PutUint32(r[zoneCodeText:], l.text(g.key.zone))
		le.PutUint32(r[zoneDescription:], l.text(g.row.description))
		le.PutUint32(r[zoneKind:], l.text(g.row.kind))
		r[zoneCondition] = g.row.condition
		if g.inTable {
			r[zoneInTable] = 1
		}
		le.PutUint32(r[zoneValues:], value)
		le.PutUint32(r[zoneValueCount:], uint32(len(g.values)))
		value += uint32(len(g.values))
		if g.outline != nil {
			le.PutUint32(r[zonePolygons:], firstPolygon[i])
			le.PutUint32(r[zonePolygonCount:], uint32(len(g.outline.polygons)))
		}
		le.PutUint32(r[zoneMicrozone:], g.row.microzone)
		le.PutUint64(r[zoneArea:], g.area)
		l.sec[secZones] = append(l.sec[secZones], r...)
		for k := range g.values {
			l.value(&g.values[k])
		}
	}
}

func (l *layout) value(v *valueRow) {
	var r [valueSize]byte
	le.PutUint16(r[valueCode:], v.code)
	r[valueFlags] = v.flags
	le.PutUint32(r[valueKind:], l.text(v.kind))
	le.PutUint32(r[valueCondition:], l.text(v.condition))
	for i, amount := range [...]int32{v.sale[0], v.sale[1], v.rent[0], v.rent[1]} {
		le.PutUint32(r[valueAmounts+4*i:], uint32(amount))
	}
	l.sec[secValues] = append(l.sec[secValues], r[:]...)
}

// eachCell visits the squares of all polygons, polygons in the order of the file.
func (l *layout) eachCell(visit func(polygon uint32, c geo.Cell)) {
	polygon := uint32(0)
	for _, zone := range l.ranked {
		for _, p := range l.pub.zones[zone].outline.polygons {
			for _, c := range p.cells {
				visit(polygon, c)
			}
			polygon++
		}
	}
}

// cells assigns the polygons to the squares of the grid by counting sort: within a square they keep
// the order of the file, which is that of their rank.
func (l *layout) cells() {
	l.frame()
	counts := make([]uint32, int(l.grid.nx)*int(l.grid.ny)+1)
	slot := func(c geo.Cell) int { return int(c.Y-l.grid.y0)*int(l.grid.nx) + int(c.X-l.grid.x0) }
	l.eachCell(func(_ uint32, c geo.Cell) { counts[slot(c)+1]++ })
	for i := 1; i < len(counts); i++ {
		counts[i] += counts[i-1]
	}
	l.sec[secCells] = make([]byte, 0, 4*len(counts))
	for _, n := range counts {
		l.sec[secCells] = le.AppendUint32(l.sec[secCells], n)
	}
	l.sec[secEntries] = make([]byte, 4*counts[len(counts)-1])
	l.eachCell(func(polygon uint32, c geo.Cell) {
		entry := polygon << 1
		if c.Full {
			entry |= 1
		}
		at := &counts[slot(c)]
		le.PutUint32(l.sec[secEntries][4**at:], entry)
		*at++
	})
}

func (l *layout) frame() {
	empty := true
	var x1, y1 int32
	l.eachCell(func(_ uint32, c geo.Cell) {
		if empty {
			l.grid.x0, l.grid.y0, x1, y1, empty = c.X, c.Y, c.X, c.Y, false
		}
		l.grid.x0, l.grid.y0 = min(l.grid.x0, c.X), min(l.grid.y0, c.Y)
		x1, y1 = max(x1, c.X), max(y1, c.Y)
	})
	if !empty {
		l.grid.nx, l.grid.ny = x1-l.grid.x0+1, y1-l.grid.y0+1
	}
}

func (l *layout) write(w io.Writer) error {
	if _, err := w.Write(l.header()); err != nil {
		return err
	}
	for i, s := range l.sec {
		var err error
		switch i {
		case secBlocks:
			err = l.writeBlocks(w)
		case secDeltas:
			err = l.eachPolygon(func(p *polygon) error { _, err := w.Write(p.deltas); return err })
		default:
			_, err = w.Write(s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *layout) eachPolygon(visit func(*polygon) error) error {
	for _, zone := range l.ranked {
		polygons := l.pub.zones[zone].outline.polygons
		for i := range polygons {
			if err := visit(&polygons[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeBlocks makes the offsets of the blocks relative to the whole section. It works on a copy: a
// publication can be written twice.
func (l *layout) writeBlocks(w io.Writer) error {
	var base uint32
	var buf []byte
	return l.eachPolygon(func(p *polygon) error {
		buf = append(buf[:0], p.blocks...)
		geo.Relocate(buf, base)
		base += uint32(len(p.deltas))
		_, err := w.Write(buf)
		return err
	})
}

func (l *layout) header() []byte {
	h := le.AppendUint32([]byte(magic), formatVersion)
	h = le.AppendUint16(h, uint16(l.pub.Semester.Year))
	h = le.AppendUint16(h, uint16(l.pub.Semester.Half))
	for _, v := range [...]int32{l.grid.x0, l.grid.y0, l.grid.nx, l.grid.ny, cellSize, 0} {
		h = le.AppendUint32(h, uint32(v))
	}
	at := uint64(headerSize)
	for _, size := range l.sizes {
		h = le.AppendUint64(le.AppendUint64(h, at), size)
		at += size
	}
	return h
}
