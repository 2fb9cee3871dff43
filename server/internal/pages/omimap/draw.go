package omimap

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/pages/look"
)

// steps are the limits of the colours, in euro per square metre.
var steps = [...]int{600, 900, 1300, 1800, 2500, 3500, 5000}

// colour is the class of a price in thousandths of a euro: 1 to 8; 0 is none.
func colour(milli int32) int {
	if milli <= 0 {
		return 0
	}
	n := 1
	for _, s := range steps {
		if int(milli/1000) >= s {
			n++
		}
	}
	return n
}

// key is one line of the map's legend.
type key struct {
	Class int
	Text  string
}

func legend(l paper.Lang) []key {
	keys := []key{{1, "< " + look.Number(l, steps[0])}}
	for i := 1; i < len(steps); i++ {
		keys = append(keys, key{i + 1, look.Number(l, steps[i-1]) + "–" + look.Number(l, steps[i])})
	}
	return append(keys, key{len(steps) + 1, "≥ " + look.Number(l, steps[len(steps)-1])})
}

// figure is a map as the server draws it, without scripts.
type figure struct {
	Width, Height int
	Shapes        []shape
	Dot           bool // a place is marked
	X, Y          int
	Frame         string // what is shown, as four numbers in degrees: for the script
	Place         string // the marked one, as two numbers
	Hatched       bool   // areas of another semester are among the shapes

	west, top, scale float64
}

// shape is an area, and where a click on it leads.
type shape struct {
	Path, Link, Title string
	Class             int
	Current           bool
	Other             bool // its price is of another semester than the colours
}

// mercator is the projection of latitudes, in degrees like longitudes: angles stay
// what they are anywhere in the country.
func mercator(lat float64) float64 {
	return math.Log(math.Tan(math.Pi/4+lat*math.Pi/360)) * 180 / math.Pi
}

// figureWidth is that of drawings, in tenths of a pixel.
const figureWidth = 8000

// newFigure frames a box, with a margin.
func newFigure(box omi.Box) *figure {
	margin := max(box.MaxX-box.MinX, box.MaxY-box.MinY)/40 + 200
	box = omi.Box{MinX: box.MinX - margin, MinY: box.MinY - margin, MaxX: box.MaxX + margin, MaxY: box.MaxY + margin}
	west, east := float64(box.MinX)/1e6, float64(box.MaxX)/1e6
	south, north := float64(box.MinY)/1e6, float64(box.MaxY)/1e6
	f := &figure{Width: figureWidth, west: west, top: mercator(north), scale: figureWidth / (east - west)}
	f.Height = int(f.scale * (mercator(north) - mercator(south)))
	f.Frame = fmt.Sprintf("%g,%g,%g,%g", west, south, east, north)
	return f
}

// project gives the place of a point in the drawing.
func (f *figure) project(p point) (x, y int) {
	return int(math.Round((p.Lng - f.west) * f.scale)), int(math.Round((f.top - mercator(p.Lat)) * f.scale))
}

// unit is how many micro-degrees a pixel shows: more detail is not seen.
func (f *figure) unit() float64 { return 1e7 / f.scale }

// add draws an area.
func (f *figure) add(o omi.Outline, s shape) {
	var b []byte
	for _, ring := range o.Rings {
		lastX, lastY, command := 0, 0, byte('M')
		for i, p := range ring[:len(ring)-1] {
			x, y := f.project(point{float64(p.Y) * float64(o.Unit) / 1e6, float64(p.X) * float64(o.Unit) / 1e6})
			if i > 0 && x == lastX && y == lastY {
				continue
			}
			b = append(b, command)
			b = strconv.AppendInt(b, int64(x-lastX), 10)
			b = strconv.AppendInt(append(b, ' '), int64(y-lastY), 10)
			lastX, lastY, command = x, y, 'l'
		}
		b = append(b, 'z')
	}
	if s.Other {
		f.Hatched = true
	}
	if len(b) > 0 {
		s.Path = string(b)
		f.Shapes = append(f.Shapes, s)
	}
}

// mark marks a place.
func (f *figure) mark(p point) {
	f.Dot, f.Place = true, degrees(p.Lat)+","+degrees(p.Lng)
	f.X, f.Y = f.project(p)
}

// inside is a place in a zone, away from its border, that a lookup answers with
// the zone: an address for it.
func inside(z omi.Zone) (point, bool) {
	ix := z.Index()
	for _, o := range []omi.Outline{z.Outline(), z.Detail(0, ix.Box())} {
		var best []span
		for _, ring := range o.Rings {
			low, high := ring[0].Y, ring[0].Y
			for _, p := range ring {
				low, high = min(low, p.Y), max(high, p.Y)
			}
			for k := int32(1); k < 8; k++ {
				y := float64(low) + float64(high-low)*float64(k)/8 + 0.01
				best = append(best, widest(o, y))
			}
		}
		slices.SortStableFunc(best, func(a, b span) int { return int(math.Copysign(1, b.width-a.width)) })
		for _, s := range best[:min(len(best), 12)] {
			p := point{s.y * float64(o.Unit) / 1e6, s.x * float64(o.Unit) / 1e6}
			if found, ok := ix.Lookup(p.Lat, p.Lng); ok && found == z {
				return p, true
			}
		}
	}
	return point{}, false
}

// span is the middle of a stretch inside an outline.
type span struct{ x, y, width float64 }

// widest is the widest stretch inside an outline at a height.
func widest(o omi.Outline, y float64) (best span) {
	var at []float64
	for _, ring := range o.Rings {
		for i := 1; i < len(ring); i++ {
			a, b := ring[i-1], ring[i]
			if (float64(a.Y) > y) != (float64(b.Y) > y) {
				at = append(at, float64(a.X)+float64(b.X-a.X)*(y-float64(a.Y))/float64(b.Y-a.Y))
			}
		}
	}
	slices.Sort(at)
	for i := 0; i+1 < len(at); i += 2 {
		if w := at[i+1] - at[i]; w > best.width {
			best = span{(at[i] + at[i+1]) / 2, y, w}
		}
	}
	return best
}

// chart is a small drawing of a range over the semesters, the oldest on the left.
type chart struct {
	Title, Text   string
	Width, Height int
	Band, Line    string
	Dots          []dot
	Ticks         []tick
	Labels        []tick
}

type dot struct {
	X, Y    int
	Title   string
	Current bool
}

type tick struct {
	At   int
	Text string
}

// entry is one semester of a chart, in thousandths of a euro.
type entry struct {
	Semester omi.Semester
	Min, Max int32
	Current  bool
}

// newChart draws entries, the oldest first; at least two.
func newChart(l paper.Lang, entries []entry) *chart {
	const left, right, top, bottom = 56, 20, 12, 28
	c := &chart{Width: 480, Height: 190}
	most := 0.0
	for _, e := range entries {
		most = max(most, float64(e.Max)/1000)
	}
	step := math.Pow(10, math.Floor(math.Log10(max(most, 1))))
	for most/step < 3 {
		step /= 2
	}
	for most/step > 6 {
		step *= 2
	}
	high := math.Ceil(most/step) * step
	y := func(v float64) int { return c.Height - bottom - int(v/high*float64(c.Height-top-bottom)) }
	first, last := number(entries[0].Semester), number(entries[len(entries)-1].Semester)
	x := func(s omi.Semester) int {
		return left + (number(s)-first)*(c.Width-left-right)/max(1, last-first)
	}
	for v := 0.0; v <= high+step/2; v += step {
		c.Ticks = append(c.Ticks, tick{y(v), look.Number(l, strconv.FormatFloat(v, 'f', -1, 64))})
	}
	var upper, lower, line []string
	for _, e := range entries {
		at, mid := x(e.Semester), (float64(e.Min)+float64(e.Max))/2000
		upper = append(upper, fmt.Sprintf("%d %d", at, y(float64(e.Max)/1000)))
		lower = append(lower, fmt.Sprintf("%d %d", at, y(float64(e.Min)/1000)))
		line = append(line, fmt.Sprintf("%d %d", at, y(mid)))
		c.Dots = append(c.Dots, dot{at, y(mid), e.Semester.String() + ": " + amounts(l, e.Min, e.Max), e.Current})
		if n := len(c.Labels); n == 0 || at-c.Labels[n-1].At > 52 {
			c.Labels = append(c.Labels, tick{at, e.Semester.String()})
		}
	}
	slices.Reverse(lower)
	c.Line = "M" + strings.Join(line, "L")
	c.Band = "M" + strings.Join(upper, "L") + "L" + strings.Join(lower, "L") + "z"
	return c
}

// number counts semesters.
func number(s omi.Semester) int { return 2*s.Year + s.Half }

// amount writes thousandths of a euro.
func amount(l paper.Lang, milli int32) string {
	return look.Number(l, strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64))
}

// amounts writes a range of them.
func amounts(l paper.Lang, low, high int32) string {
	if low == high {
		return amount(l, low)
	}
	return amount(l, low) + "–" + amount(l, high)
}
