package omi

import (
	"slices"

	"rogito.dev/rogito/internal/geo"
)

// Box is a rectangle in micro-degrees, including its border: X longitude, Y latitude.
type Box struct{ MinX, MinY, MaxX, MaxY int32 }

// Union is the smallest box around both.
func (b Box) Union(o Box) Box { return Box(geo.Box(b).Union(geo.Box(o))) }

// Meets reports whether the boxes share a point.
func (b Box) Meets(o Box) bool { return geo.Box(b).Meets(geo.Box(o)) }

// atlas is data for map and search that is derived from the file on first use.
type atlas struct {
	box        Box
	areas      []Area // of municipalities, then of provinces
	names      [][]name
	provinceOf map[string]int
}

// Area is a municipality or a province on a map.
type Area struct {
	Municipality // of a province: code and region only
	Box          Box
	Drawn        bool  // it has a perimeter; otherwise Box is empty
	Quoted       int   // number of values of its zones; of a province: the largest number of a municipality
	Homes        int32 // the median of Zone.Homes over its zones, or for a province over its municipalities; 0: none

	ix      *Index
	outline int
}

// Outline is the area's shape, simplified consistently with its neighbours.
func (a Area) Outline() Outline { return a.ix.outline(a.outline) }

func (ix *Index) draw() *atlas {
	n, zones := ix.Municipalities(), ix.count(secZones, zoneSize)
	a := &atlas{areas: make([]Area, n+len(ix.provinces)), names: make([][]name, n), provinceOf: map[string]int{}}
	for i, p := range ix.provinces {
		a.provinceOf[p.code] = i
		a.areas[n+i] = Area{Municipality: Municipality{Province: p.code, Region: p.region}, ix: ix, outline: zones + n + i}
	}
	homes := make([][]int32, len(ix.provinces))
	for i := range n {
		m := ix.municipality(uint32(i))
		area := Area{Municipality: m, ix: ix, outline: zones + i}
		a.names[i] = namesOf(m)
		var prices []int32
		in, _ := ix.ZonesOf(m.CadastralCode)
		for _, z := range in {
			area.Quoted += z.Values()
			if price := z.Homes(); price > 0 {
				prices = append(prices, price)
			}
			for p := range z.Polygons() {
				area.reach(Box(ix.polygonBox(z.field(zonePolygons) + uint32(p))))
			}
		}
		if area.Homes = median(prices); area.Homes > 0 {
			homes[a.provinceOf[m.Province]] = append(homes[a.provinceOf[m.Province]], area.Homes)
		}
		a.areas[i] = area
		province := &a.areas[n+a.provinceOf[m.Province]]
		province.Quoted = max(province.Quoted, area.Quoted)
		if area.Drawn {
			province.reach(area.Box)
		}
	}
	var all Area
	for i := range ix.provinces {
		province := &a.areas[n+i]
		if province.Homes = median(homes[i]); province.Drawn {
			all.reach(province.Box)
		}
	}
	a.box = all.Box
	return a
}

func (a *Area) reach(box Box) {
	if a.Drawn {
		box = box.Union(a.Box)
	}
	a.Box, a.Drawn = box, true
}

func median(of []int32) int32 {
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[len(of)/2]
}

// Box is the rectangle around all zones; the zero Box if none has a perimeter.
func (ix *Index) Box() Box { return ix.atlas().box }

// Areas are the municipalities, in the order of their cadastral codes.
func (ix *Index) Areas() []Area { return ix.atlas().areas[:ix.Municipalities()] }

// Provinces are the provinces, in the order of their codes.
func (ix *Index) Provinces() []Area { return ix.atlas().areas[ix.Municipalities():] }

// AreaOf is the municipality with a cadastral code.
func (ix *Index) AreaOf(cadastral string) (Area, bool) {
	i, ok := ix.findPlace(cadastral)
	if !ok {
		return Area{}, false
	}
	return ix.atlas().areas[i], true
}

// homes are the codes of residential property types, the most representative first.
var homes = [...]int{20, 21, 19, 1}

// Homes is the middle of the sale range of homes, in thousandths of a euro per square metre: of
// ordinary ones (Abitazioni civili) if they are quoted, in their prevalent condition if there is
// one. 0: no home is quoted.
func (z Zone) Homes() int32 {
	v, ok := z.HomeValue()
	if !ok {
		return 0
	}
	return v.Sale.Min/2 + v.Sale.Max/2
}

// HomeValue is the quotation whose middle is Homes.
func (z Zone) HomeValue() (best Value, ok bool) {
	rank := len(homes) * 2
	for i := range z.Values() {
		v := z.Value(i)
		r := slices.Index(homes[:], v.TypeCode) * 2
		if r < 0 || !v.SaleQuoted || v.Sale.Max <= 0 {
			continue
		}
		if !v.Prevalent {
			r++
		}
		if r < rank {
			best, rank, ok = v, r, true
		}
	}
	return best, ok
}

// Since returns the publications from the active one backwards. The first with perimeters of a
// place should be used: a newer one may only cover a single municipality.
func (s *Set) Since() []*Index {
	i := slices.Index(s.indexes, s.active)
	if i < 0 {
		return nil
	}
	return s.indexes[i:]
}
