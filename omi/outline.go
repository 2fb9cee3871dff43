package omi

import (
	"encoding/binary"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"rogito.dev/rogito/internal/geo"
)

// Outlines are for drawing. The published perimeters do not match each other: a border is digitised
// once for each side, with gaps and overlaps of some metres, so that simplifying each perimeter
// would separate neighbours. Instead they are rasterized to a mosaic, in which every square belongs
// to one zone, and the borders of its areas are simplified (see [geo.Mosaic]). Lookups never use
// them.
const (
	zoneSquare = 500  // micro-degrees: about 50 m
	areaSquare = 2000 // about 200 m: municipalities and provinces
	mostGap    = 2    // squares between two areas that are a gap, not a lake

	tolerance         = 1.3 // halves of a square
	provinceTolerance = 8

	// smaller rings (in squares) are omitted, unless the area has no other
	leastIsland         = 3
	leastProvinceIsland = 60

	mostSquares = 48 << 20      // in one mosaic
	windowSize  = geo.Micro / 2 // zones are laid out window by window
	mostLabels  = 1<<16 - 1     // of one mosaic
)

// Point is a vertex of an outline: X to the east, Y to the north.
type Point struct{ X, Y int32 }

// Outline is the shape of an area for drawing: closed rings with the even-odd rule. One unit is so
// many micro-degrees.
type Outline struct {
	Unit  int32
	Rings [][]Point
}

// province is a province as the tables have it.
type province struct {
	code   string // two letters
	region string
}

// provincesOf are the provinces of n municipalities, by their codes.
func provincesOf(n int, of func(i int) province) []province {
	byCode := map[string]province{}
	for i := range n {
		p := of(i)
		if known, ok := byCode[p.code]; !ok || known.region == "" {
			byCode[p.code] = p
		}
	}
	return slices.SortedFunc(maps.Values(byCode), func(a, b province) int { return strings.Compare(a.code, b.code) })
}

// outlines makes those of zones, municipalities and provinces. If a mosaic overflows there is no
// outline, which does not happen with real publications.
func (l *layout) outlines() {
	provinces := provincesOf(len(l.pub.places), func(i int) province {
		return province{l.pub.places[i].province, l.pub.places[i].region}
	})
	zones, places := len(l.pub.zones), len(l.pub.places)
	d := &outlineBuilder{l: l, boxes: make([]geo.Box, zones), placeOf: make([]int, zones), provinceOf: make([]uint16, places), drawn: make([][]byte, zones+places+len(provinces))}
	for i, p := range l.pub.places {
		n, _ := slices.BinarySearchFunc(provinces, p.province, func(p province, code string) int { return strings.Compare(p.code, code) })
		d.provinceOf[i] = uint16(n)
		first := le.Uint32(l.sec[secPlaces][i*placeSize+placeZones:])
		for k := range le.Uint32(l.sec[secPlaces][i*placeSize+placeZoneCount:]) {
			d.placeOf[first+k] = i
		}
	}
	byProvince := map[uint16][]int{}
	for _, zone := range l.ranked {
		d.boxes[zone] = boxOf(l.pub.zones[zone].outline)
		in := d.provinceOf[d.placeOf[zone]]
		byProvince[in] = append(byProvince[in], zone)
	}
	var wg sync.WaitGroup
	jobs := make(chan func(*canvas))
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			e := &canvas{has: make([]bool, mostLabels+1)}
			for job := range jobs {
				job(e)
			}
		})
	}
	for in, zones := range byProvince {
		jobs <- func(e *canvas) { d.areas(e, zones, in, len(provinces)) }
	}
	for _, zones := range d.windows() {
		jobs <- func(e *canvas) { d.zones(e, zones) }
	}
	close(jobs)
	wg.Wait()
	for _, b := range d.drawn {
		l.sec[secOutlines] = append(l.sec[secOutlines], b...)
		l.sec[secOutlineEnds] = le.AppendUint32(l.sec[secOutlineEnds], uint32(len(l.sec[secOutlines])))
	}
}

func boxOf(o *outline) geo.Box {
	box := o.polygons[0].box
	for _, p := range o.polygons[1:] {
		box = box.Union(p.box)
	}
	return box
}

// outlineBuilder makes the outlines of a publication.
type outlineBuilder struct {
	l          *layout
	boxes      []geo.Box // of zones with ground
	placeOf    []int     // the municipality of each zone
	provinceOf []uint16  // of each municipality
	drawn      [][]byte  // zones, municipalities, provinces
}

// canvas is the working space of one worker. Reusing it for every window saves half of the time,
// and a third of the import's memory.
type canvas struct {
	geo.Mosaic
	has    []bool // labels that occur
	points []geo.Point
	rings  [][]geo.Point
	traced []geo.Point // the rings of a window, concatenated
	found  []tracedRing
	coded  []byte
}

// tracedRing is the position of a ring in traced.
type tracedRing struct {
	label    uint16
	from, to int
	squares  float64
	small    bool
}

// windows groups the zones by the location of their municipality, so that a municipality is drawn
// as a whole, with its surroundings.
func (d *outlineBuilder) windows() [][]int {
	boxes := map[int]geo.Box{}
	for _, zone := range d.l.ranked {
		place := d.placeOf[zone]
		box, known := boxes[place]
		if !known {
			box = d.boxes[zone]
		}
		boxes[place] = box.Union(d.boxes[zone])
	}
	sorted := map[geo.Point][]int{}
	for _, zone := range d.l.ranked {
		box := boxes[d.placeOf[zone]]
		at := geo.Point{X: (box.MinX/2 + box.MaxX/2) / windowSize, Y: (box.MinY/2 + box.MaxY/2) / windowSize}
		sorted[at] = append(sorted[at], zone)
	}
	return slices.Collect(maps.Values(sorted))
}

// rasterize puts zones, and all others around them, on a mosaic of squares of at least a certain
// size. Larger zones come first, so that the smaller one wins a square, as in a lookup. Zones that
// contain no square's centre still get one square.
func (d *outlineBuilder) rasterize(e *canvas, zones []int, size int32, label func(zone int) uint16) {
	box := d.boxes[zones[0]]
	for _, zone := range zones {
		box = box.Union(d.boxes[zone])
	}
	for (int64(box.MaxX-box.MinX)/int64(size)+8)*(int64(box.MaxY-box.MinY)/int64(size)+8) > mostSquares {
		size *= 2
	}
	e.Reset(box, size, mostGap+1)
	window := e.Box()
	clear(e.has)
	for _, zone := range slices.Backward(d.l.ranked) {
		if !window.Meets(d.boxes[zone]) {
			continue
		}
		for _, p := range d.l.pub.zones[zone].outline.polygons {
			if window.Meets(p.box) {
				e.points, e.rings = p.decode(e.points[:0], e.rings[:0])
				l := label(zone)
				e.has[l] = e.Paint(e.rings, l) || e.has[l]
			}
		}
	}
	e.Close(mostGap)
	for _, zone := range zones {
		if l := label(zone); !e.has[l] {
			p := d.l.pub.zones[zone].outline.polygons[0]
			e.Set(geo.Point{X: p.box.MinX/2 + p.box.MaxX/2, Y: p.box.MinY/2 + p.box.MaxY/2}, l)
		}
	}
}

// decode appends the rings of a polygon, whose points share one slice.
func (p *polygon) decode(points []geo.Point, rings [][]geo.Point) ([]geo.Point, [][]geo.Point) {
	points = slices.Grow(points, p.points+1)
	at := uint32(0)
	for _, n := range p.rings {
		from := len(points)
		points = geo.Ring{Blocks: p.blocks[at*geo.BlockSize : (at+n)*geo.BlockSize], Deltas: p.deltas}.AppendPoints(points)
		rings = append(rings, points[from:])
		at += n
	}
	return points, rings
}

// zones makes the outlines of the zones of one window.
func (d *outlineBuilder) zones(e *canvas, zones []int) {
	labels, of := map[int]uint16{}, []int{-1}
	label := func(zone int) uint16 {
		n, known := labels[zone]
		if !known && len(of) <= mostLabels {
			n = uint16(len(of))
			labels[zone], of = n, append(of, zone)
		}
		return n
	}
	d.rasterize(e, zones, zoneSquare, label)
	mine := make([]bool, len(of))
	for _, zone := range zones {
		mine[labels[zone]] = labels[zone] > 0
	}
	e.vectorize(mine, tolerance, leastIsland, func(l uint16, b []byte) { d.drawn[of[l]] = b })
}

// areas makes the outlines of the municipalities of a province, and of the province.
func (d *outlineBuilder) areas(e *canvas, zones []int, province uint16, provinces int) {
	places := len(d.l.pub.places)
	drawn := d.drawn[len(d.l.pub.zones):]
	label := func(zone int) uint16 { return uint16(d.placeOf[zone] + 1) } // there are only 26,000 possible cadastral codes
	d.rasterize(e, zones, areaSquare, label)
	mine := make([]bool, places+1)
	for _, zone := range zones {
		mine[label(zone)] = true
	}
	e.vectorize(mine, tolerance, leastIsland, func(l uint16, b []byte) { drawn[l-1] = b })
	by := make([]uint16, places+1)
	for i, p := range d.provinceOf {
		by[i+1] = p + 1
	}
	e.Relabel(by)
	mine = make([]bool, provinces+1)
	mine[province+1] = true
	e.vectorize(mine, provinceTolerance, leastProvinceIsland, func(_ uint16, b []byte) { drawn[places+int(province)] = b })
}

// vectorize encodes the outlines of some labels. Rings of fewer than least squares are omitted if
// there is a larger one.
func (e *canvas) vectorize(wanted []bool, tolerance, least float64, each func(label uint16, coded []byte)) {
	e.traced, e.found = e.traced[:0], e.found[:0]
	e.Outlines(tolerance, wanted, func(l uint16, ring []geo.Point, lost bool) {
		from, size := len(e.traced), squares(ring)
		e.traced = append(e.traced, ring...)
		e.found = append(e.found, tracedRing{l, from, len(e.traced), size, lost || size < least})
	})
	slices.SortStableFunc(e.found, func(a, b tracedRing) int { return int(a.label) - int(b.label) })
	for i := 0; i < len(e.found); {
		e.rings = e.rings[:0]
		label := e.found[i].label
		var largest tracedRing // of the omitted ones
		for ; i < len(e.found) && e.found[i].label == label; i++ {
			if r := e.found[i]; !r.small {
				e.rings = append(e.rings, e.traced[r.from:r.to])
			} else if r.squares > largest.squares {
				largest = r
			}
		}
		if len(e.rings) == 0 && largest.squares > 0 {
			e.rings = append(e.rings, e.traced[largest.from:largest.to])
		}
		if len(e.rings) > 0 {
			e.coded = appendOutline(e.coded[:0], e.Size/2, e.rings)
			each(label, slices.Clone(e.coded))
		}
	}
}

// squares is the area of a ring in squares.
func squares(ring []geo.Point) float64 {
	twice := int64(0)
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		twice += int64(a.X)*int64(b.Y) - int64(b.X)*int64(a.Y)
	}
	return float64(max(twice, -twice)) / 8 // vertices are in half squares
}

// appendOutline encodes an outline: the unit, the number of rings, and for each ring the number of
// its vertices (without the closing one) and their differences from the previous vertex. The very
// first vertex is relative to the origin.
func appendOutline(b []byte, unit int32, rings [][]geo.Point) []byte {
	b = binary.AppendUvarint(b, uint64(unit))
	b = binary.AppendUvarint(b, uint64(len(rings)))
	last := geo.Point{}
	for _, ring := range rings {
		ring = ring[:len(ring)-1]
		b = binary.AppendUvarint(b, uint64(len(ring)))
		for _, p := range ring {
			b = binary.AppendVarint(b, int64(p.X-last.X))
			b = binary.AppendVarint(b, int64(p.Y-last.Y))
			last = p
		}
	}
	return b
}

// readOutline decodes an outline, as far as it is valid.
func readOutline(b []byte) (o Outline) {
	next := func() (v uint64) {
		v, n := binary.Uvarint(b)
		b = b[max(0, min(n, len(b))):]
		if n <= 0 {
			b = nil
		}
		return v
	}
	step := func() int32 {
		v := next()
		return int32(v>>1) ^ -int32(v&1)
	}
	o.Unit = int32(next())
	last := Point{}
	for n := next(); n > 0 && len(b) > 0; n-- {
		vertices := next()
		if vertices > uint64(len(b)/2) {
			return o
		}
		ring := make([]Point, 0, vertices+1)
		for range vertices {
			last = Point{X: last.X + step(), Y: last.Y + step()}
			ring = append(ring, last)
		}
		if len(ring) > 2 {
			o.Rings = append(o.Rings, append(ring, ring[0]))
		}
	}
	return o
}

// outline is the i-th outline of the file.
func (ix *Index) outline(i int) Outline {
	from := uint32(0)
	if i > 0 {
		from = ix.u32(secOutlineEnds, 4, uint32(i-1), 0)
	}
	return readOutline(ix.sec[secOutlines][from:ix.u32(secOutlineEnds, 4, uint32(i), 0)])
}

// Outline is the zone's shape, simplified consistently with its neighbours; empty without a
// perimeter.
func (z Zone) Outline() Outline { return z.ix.outline(int(z.i)) }

// Detail is the zone's published shape, without the vertices that are within a tolerance in
// micro-degrees of a straight line, and without the polygons outside of a box.
func (z Zone) Detail(tolerance float64, box Box) Outline {
	o := Outline{Unit: 1}
	for p := range z.Polygons() {
		if !z.ix.polygonBox(z.field(zonePolygons) + uint32(p)).Meets(geo.Box(box)) {
			continue
		}
		z.eachRing(p, FullGeometry, func(_ int, ring []geo.Point) {
			ring = geo.Simplify(ring, tolerance)
			points := make([]Point, len(ring))
			for i, p := range ring {
				points[i] = Point(p)
			}
			o.Rings = append(o.Rings, points)
		})
	}
	return o
}

// AppendJSON appends the outline as a list: the unit in micro-degrees, then for each ring a list of
// numbers, the differences of its vertices from the previous vertex, east and north. The first
// vertex of a ring is relative to the first of the previous ring, that of the first ring to the
// origin; rings are closed implicitly.
func (o Outline) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, '['), int64(o.Unit), 10)
	first := Point{}
	for _, ring := range o.Rings {
		b = append(b, ",["...)
		last := first
		for i, p := range ring[:len(ring)-1] {
			if i > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendInt(b, int64(p.X-last.X), 10)
			b = strconv.AppendInt(append(b, ','), int64(p.Y-last.Y), 10)
			last = p
		}
		first = ring[0]
		b = append(b, ']')
	}
	return append(b, ']')
}
