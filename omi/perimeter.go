package omi

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"rogito.dev/rogito/internal/geo"
	"rogito.dev/rogito/internal/limits"
)

// cellSize is the side of the lookup grid's squares in micro-degrees: about 1.1 km.
const cellSize = 10_000

// italy bounds the polygons of a perimeter; one beyond it is an error of the source. It also keeps
// the arithmetic of package geo within 64 bits.
var italy = geo.Box{MinX: 6 * geo.Micro, MinY: 35 * geo.Micro, MaxX: 19 * geo.Micro, MaxY: 48 * geo.Micro}

// perimeter is one KML file: a municipality's zones.
type perimeter struct {
	name, province string
	semester       Semester // zero where the file names none
	generated      time.Time
	zones          []outline
	dropped        int // polygons left out
	nameless       int // placemarks without a key
}

// outline is the shape of one zone.
type outline struct {
	cadastral, zone string
	area            float64 // square metres
	polygons        []polygon
}

// polygon is an outer ring and its holes, encoded.
type polygon struct {
	blocks, deltas []byte
	rings          []uint32 // block records of each ring, the outer first
	points         int
	cells          []geo.Cell
	box            geo.Box
}

// scratch is working space that a worker reuses from file to file.
type scratch struct {
	words  words
	points []geo.Point
	rings  [][]geo.Point
	cover  geo.Coverer
	cells  []geo.Cell
	reach  *atomic.Int64 // squares of the grid touched by all workers together
}

func newScratch(reach *atomic.Int64) *scratch {
	return &scratch{words: words{}, cover: geo.Coverer{Size: cellSize}, reach: reach}
}

// drawing builds a perimeter from the elements of a KML file.
type drawing struct {
	*scratch
	perimeter *perimeter
	file      string
	inMark    bool
	mark      outline // of the open Placemark
	markName  string
	data      string // name of the open Data
	starts    []int  // start of each ring of the open Polygon in points
	inPolygon bool
	isOuter   bool
	outers    int
	bad       bool // the open Polygon is invalid
}

var (
	nameForm     = regexp.MustCompile(`^(.*?)\s*\(([A-Z]{2})\)\s+Anno/Semestre\s+(\d{4}/[12])(?:\s+generato il\s+(\d\d/\d\d/\d{4} \d\d:\d\d))?`)
	markNameForm = regexp.MustCompile(`Zona OMI\s+(\S+)\s*$`)
)

func (d *drawing) open(_ *kmlScanner, name, attributes []byte) {
	switch string(name) {
	case "Placemark":
		d.inMark, d.mark, d.markName = true, outline{}, ""
	case "Data", "SimpleData":
		d.data = attribute(attributes, "name")
	case "Polygon":
		d.inPolygon, d.bad, d.outers = true, false, 0
		d.points, d.starts = d.points[:0], d.starts[:0]
	case "outerBoundaryIs":
		d.isOuter = true
		d.outers++
	case "innerBoundaryIs":
		d.isOuter = false
	}
}

func (d *drawing) close(s *kmlScanner, name []byte) error {
	switch string(name) {
	case "coordinates":
		if d.inPolygon {
			d.ring(s.text)
		}
	case "Polygon":
		d.inPolygon = false
		d.polygon()
	case "Placemark":
		d.placemark()
	case "name":
		return d.named(s)
	case "value", "SimpleData":
		return d.valued(s)
	}
	return nil
}

func (d *drawing) named(s *kmlScanner) error {
	parent := s.parent()
	if parent != "Document" && parent != "Placemark" {
		return nil
	}
	words, err := s.words()
	if err != nil {
		return err
	}
	if parent == "Placemark" {
		d.markName = words
		return nil
	}
	if m := nameForm.FindStringSubmatch(words); m != nil && d.perimeter.semester == (Semester{}) {
		d.perimeter.name, d.perimeter.province = m[1], m[2]
		d.perimeter.semester, _ = ParseSemester(m[3])
		d.perimeter.generated, _ = time.Parse("02/01/2006 15:04", m[4])
	}
	return nil
}

func (d *drawing) valued(s *kmlScanner) error {
	words, err := s.words()
	if err != nil {
		return err
	}
	switch d.data {
	case "CODCOM":
		d.mark.cadastral = words
	case "CODZONA":
		d.mark.zone = words
	}
	return nil
}

// ring reads the coordinates of one ring of the open polygon.
func (d *drawing) ring(text []byte) {
	if d.isOuter != (len(d.starts) == 0) { // the outer ring comes first, and once
		d.bad = true
		return
	}
	from := len(d.points)
	points, ok := appendCoordinates(d.points, text)
	d.points = points
	if n := len(points) - from; !ok || n < 3 || n > limits.OMIRing {
		d.bad = true
		return
	}
	if points[from] != points[len(points)-1] {
		d.points = append(points, points[from])
	}
	d.starts = append(d.starts, from)
}

// polygon encodes the open polygon, or drops it.
func (d *drawing) polygon() {
	if !d.inMark || d.bad || len(d.starts) == 0 || d.outers != 1 {
		d.perimeter.dropped++
		return
	}
	d.rings = d.rings[:0]
	for i, from := range d.starts {
		to := len(d.points)
		if i+1 < len(d.starts) {
			to = d.starts[i+1]
		}
		d.rings = append(d.rings, d.points[from:to])
	}
	box := geo.BoxOf(d.points)
	if box.Union(italy) != italy {
		d.perimeter.dropped++
		return
	}
	d.cells = d.cover.AppendCells(d.cells[:0], d.rings)
	if d.reach.Add(int64(len(d.cells))) > limits.OMICells {
		d.perimeter.dropped++ // thousands of polygons as large as the country
		return
	}
	p := polygon{points: len(d.points), box: box, rings: make([]uint32, 0, len(d.rings))}
	p.blocks = make([]byte, 0, (len(d.points)/geo.BlockEdges+len(d.rings))*geo.BlockSize)
	p.deltas = make([]byte, 0, 4*len(d.points))
	for i, ring := range d.rings {
		before := len(p.blocks)
		p.blocks, p.deltas = geo.AppendRing(p.blocks, p.deltas, ring)
		p.rings = append(p.rings, uint32((len(p.blocks)-before)/geo.BlockSize))
		if area := geo.Area(ring); i == 0 {
			d.mark.area += area
		} else {
			d.mark.area -= area
		}
	}
	p.cells = append([]geo.Cell(nil), d.cells...)
	d.mark.polygons = append(d.mark.polygons, p)
}

// placemark stores the open zone. Old files have no codes: there the zone is in the placemark's
// name and the municipality in the file's.
func (d *drawing) placemark() {
	d.inMark = false
	if d.mark.zone == "" {
		if m := markNameForm.FindStringSubmatch(d.markName); m != nil {
			d.mark.zone = m[1]
		}
	}
	if file := strings.ToUpper(d.file); d.mark.cadastral == "" && isCadastral(file) {
		d.mark.cadastral = file
	}
	if !isCadastral(d.mark.cadastral) || d.mark.zone == "" || len(d.mark.zone) > maxZoneCode {
		d.perimeter.nameless++
		return
	}
	d.mark.cadastral = d.words.text([]byte(d.mark.cadastral))
	d.mark.zone = d.words.text([]byte(d.mark.zone))
	d.perimeter.zones = append(d.perimeter.zones, d.mark)
}

// appendCoordinates reads tuples of longitude, latitude and optional height, separated by spaces.
func appendCoordinates(dst []geo.Point, b []byte) ([]geo.Point, bool) {
	for i := 0; ; {
		for i < len(b) && b[i] <= ' ' {
			i++
		}
		if i == len(b) {
			return dst, true
		}
		x, j, ok := microDegrees(b, i)
		if !ok || j >= len(b) || b[j] != ',' {
			return dst, false
		}
		y, k, ok := microDegrees(b, j+1)
		if !ok {
			return dst, false
		}
		if i = k; i < len(b) && b[i] == ',' { // the height is ignored
			for i++; i < len(b) && b[i] > ' ' && b[i] != ','; {
				i++
			}
		}
		if i < len(b) && b[i] > ' ' {
			return dst, false
		}
		dst = append(dst, geo.Point{X: x, Y: y})
	}
}

// microDegrees reads a decimal number of degrees at b[i:]: official files always have six decimals,
// which are exact; more are rounded.
func microDegrees(b []byte, i int) (v int32, next int, ok bool) {
	start, negative := i, false
	if i < len(b) && b[i] == '-' {
		negative = true
		i++
	}
	whole := i
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		v = v*10 + int32(b[i]-'0')
		if i-whole >= 3 {
			return 0, i, false
		}
	}
	digits, scale := i-whole, 6
	if i < len(b) && b[i] == '.' {
		for i++; i < len(b) && b[i]-'0' <= 9 && scale > 0; i++ {
			v = v*10 + int32(b[i]-'0')
			scale--
			digits++
		}
	}
	if i < len(b) && b[i] != ',' && b[i] > ' ' || v > 360*geo.Micro {
		return slowDegrees(b, start)
	}
	for ; scale > 0; scale-- {
		v *= 10
	}
	if negative {
		v = -v
	}
	return v, i, digits > 0
}

// slowDegrees reads numbers in forms that official files do not use.
func slowDegrees(b []byte, i int) (v int32, next int, ok bool) {
	j := i
	for j < len(b) && b[j] != ',' && b[j] > ' ' {
		j++
	}
	f, err := strconv.ParseFloat(string(b[i:j]), 64)
	if err != nil || !(f >= -360 && f <= 360) {
		return 0, j, false
	}
	return int32(math.Round(f * geo.Micro)), j, true
}
