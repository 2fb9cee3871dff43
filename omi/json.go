package omi

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/internal/geo"
)

// Geometry is how much of a zone's perimeter is wanted.
type Geometry uint8

// The amounts of geometry.
const (
	FullGeometry       Geometry = iota // every vertex as published
	SimplifiedGeometry                 // within about ten metres
	NoGeometry                         // none at all
)

// simplifiedTo is the tolerance of simplified geometry in micro-degrees.
const simplifiedTo = 100

// Answer is the zone found at a place.
type Answer struct {
	Zone     Zone
	Lat, Lng float64 // the place asked for
	Placed   bool    // there was a place: a zone looked up by code has none
	Near     bool    // the place is outside: see Distance
	Distance float64 // in metres
}

// AppendJSON appends the answer as one JSON object, directly from the index: the semester, the
// place, the zone, its values and its perimeter as rings of lat and lng. An unquoted side is null.
func (a Answer) AppendJSON(b []byte, g Geometry) []byte {
	b = a.appendFields(append(b, '{'))
	if g != NoGeometry {
		b = append(b, `,"geometry":`...)
		b = a.Zone.appendPolygons(b, g)
	}
	return append(b, '}')
}

// appendFields appends everything but the geometry.
func (a Answer) appendFields(b []byte) []byte {
	return a.Zone.appendFields(append(a.appendPlace(b), ','))
}

func (a Answer) appendPlace(b []byte) []byte {
	z := a.Zone
	b = append(b, `"year":`...)
	b = strconv.AppendInt(b, int64(z.ix.semester.Year), 10)
	b = append(b, `,"semester":`...)
	b = strconv.AppendInt(b, int64(z.ix.semester.Half), 10)
	if a.Placed {
		b = append(b, `,"location":{"lat":`...)
		b = strconv.AppendFloat(b, a.Lat, 'f', -1, 64)
		b = append(b, `,"lng":`...)
		b = strconv.AppendFloat(b, a.Lng, 'f', -1, 64)
		b = append(b, '}')
	}
	if a.Near {
		b = append(b, `,"distance":`...)
		b = strconv.AppendFloat(b, a.Distance, 'f', 1, 64)
	}
	return b
}

// appendFields appends the fields of a zone that do not depend on the place.
func (z Zone) appendFields(b []byte) []byte {
	b = appendMunicipality(b, z.Municipality())
	b = appendText(append(b, `,"omi_zone":`...), z.Code())
	b = z.appendDetails(append(b, `,"zone":`...))
	b = append(b, `,"values":[`...)
	for i := range z.Values() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, z.Value(i))
	}
	return append(b, ']')
}

func appendMunicipality(b []byte, m Municipality) []byte {
	b = appendText(append(b, `"region":`...), m.Region)
	b = appendText(append(b, `,"province_code":`...), m.Province)
	b = appendText(append(b, `,"municipality":`...), m.Name)
	b = appendText(append(b, `,"istat_code":`...), m.ISTATCode)
	return appendText(append(b, `,"cadastral_code":`...), m.CadastralCode)
}

func (z Zone) appendDetails(b []byte) []byte {
	b = appendText(append(b, `{"description":`...), z.Description())
	b = appendText(append(b, `,"prevalent_property_type":`...), z.PrevalentType())
	b = appendText(append(b, `,"band":`...), z.Band())
	b = append(b, `,"prevalent_condition":`...)
	if c := z.PrevalentCondition(); c != "" {
		b = appendText(b, c)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"microzone":`...)
	if m := z.Microzone(); m > 0 {
		b = strconv.AppendInt(b, int64(m), 10)
	} else {
		b = append(b, "null"...)
	}
	return append(b, '}')
}

func appendValue(b []byte, v Value) []byte {
	b = appendText(append(b, `{"property_type":`...), v.Type)
	b = append(b, `,"property_type_code":`...)
	b = strconv.AppendInt(b, int64(v.TypeCode), 10)
	b = appendText(append(b, `,"condition":`...), v.Condition)
	b = append(b, `,"prevalent":`...)
	b = strconv.AppendBool(b, v.Prevalent)
	b = appendRange(append(b, `,"sale":`...), v.Sale, v.SaleQuoted)
	b = appendRange(append(b, `,"rent":`...), v.Rent, v.RentQuoted)
	return append(b, '}')
}

func appendRange(b []byte, r Range, quoted bool) []byte {
	if !quoted {
		return append(b, "null"...)
	}
	b = appendMilli(append(b, `{"min":`...), r.Min)
	b = appendMilli(append(b, `,"max":`...), r.Max)
	return append(appendSurface(append(b, `,"surface":`...), r.Surface), '}')
}

func appendSurface(b []byte, kind Surface) []byte {
	if kind == SurfaceUnknown {
		return append(b, "null"...)
	}
	return appendText(b, kind.String())
}

// appendMilli appends thousandths as a decimal number without trailing zeros. Nearly all amounts
// are whole.
func appendMilli(b []byte, v int32) []byte {
	if v%1000 == 0 {
		return strconv.AppendInt(b, int64(v/1000), 10)
	}
	return strconv.AppendFloat(b, float64(v)/1000, 'f', -1, 64)
}

// appendMicro appends micro-degrees as degrees, always with six decimals, like the source. Most bytes
// that the service sends are written here.
func appendMicro(b []byte, v int32) []byte {
	if v < 0 {
		b, v = append(b, '-'), -v
	}
	b = strconv.AppendUint(b, uint64(uint32(v)/geo.Micro), 10)
	f := uint32(v) % geo.Micro
	high, middle, low := f/10_000, f/100%100, f%100 // in pairs: a third faster than one by one
	return append(b, '.', '0'+byte(high/10), '0'+byte(high%10), '0'+byte(middle/10), '0'+byte(middle%10), '0'+byte(low/10), '0'+byte(low%10))
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // invalid UTF-8 is replaced
	return b
}

// eachRing visits the rings of one polygon, the outer one first.
func (z Zone) eachRing(polygon int, g Geometry, visit func(i int, ring []geo.Point)) {
	first, n := z.ix.polygonRings(z.field(zonePolygons) + uint32(polygon))
	for i := range n {
		ring := z.ix.ring(first + i).AppendPoints(nil)
		if g == SimplifiedGeometry {
			ring = geo.Simplify(ring, simplifiedTo)
		}
		visit(int(i), ring)
	}
}

// vertices is how many points the full perimeter has.
func (z Zone) vertices() int {
	all := 0
	for p := range z.Polygons() {
		first, n := z.ix.polygonRings(z.field(zonePolygons) + uint32(p))
		for i := range n {
			all += z.ix.ring(first+i).Edges() + 1
		}
	}
	return all
}

// appendPolygons appends the perimeter as a list of {exterior, holes}.
func (z Zone) appendPolygons(b []byte, g Geometry) []byte {
	if g == FullGeometry { // some 60 KB, which would be copied while the slice grows
		b = slices.Grow(b, len(`,{"lat":45.464200,"lng":12.345678}`)*z.vertices()+1024)
	}
	b = append(b, '[')
	for p := range z.Polygons() {
		if p > 0 {
			b = append(b, ',')
		}
		holes := 0
		z.eachRing(p, g, func(i int, ring []geo.Point) {
			switch i {
			case 0:
				b = append(b, `{"exterior":`...)
			case 1:
				b = append(b, `,"holes":[`...)
			default:
				b = append(b, ',')
			}
			b = appendLatLng(b, ring)
			holes = i
		})
		if holes == 0 {
			b = append(b, `,"holes":[`...)
		}
		b = append(b, `]}`...)
	}
	return append(b, ']')
}

// appendLatLng appends a ring.
func appendLatLng(b []byte, ring []geo.Point) []byte {
	b = append(b, '[')
	for i, p := range ring {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMicro(append(b, `{"lat":`...), p.Y)
		b = appendMicro(append(b, `,"lng":`...), p.X)
		b = append(b, '}')
	}
	return append(b, ']')
}
