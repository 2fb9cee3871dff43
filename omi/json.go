package omi

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

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

// Answer is a zone found at a place.
type Answer struct {
	Zone     Zone
	Lat, Lng float64 // the place asked for
	Placed   bool    // there was a place: a zone taken by its code has none
	Near     bool    // the place is outside: Distance says how far
	Distance float64 // in metres
}

// AppendJSON appends the answer as one JSON object, straight from the index: the
// semester, the place, the zone, its values and its perimeter as rings of lat and
// lng. A side that is not quoted is null.
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

// warmLimit bounds what an index keeps of encoded zones, in bytes.
const warmLimit = 16 << 20

// appendFields appends what there is to say of a zone whatever the place. The first
// zones that are asked for stay encoded: most traffic is about few of them.
func (z Zone) appendFields(b []byte) []byte {
	slot := &z.ix.warm[z.i]
	if ready := slot.Load(); ready != nil {
		return append(b, *ready...)
	}
	start := len(b)
	b = z.encodeFields(b)
	if n := int64(len(b) - start); z.ix.warmed.Add(n) <= warmLimit {
		ready := append(make([]byte, 0, n), b[start:]...)
		slot.Store(&ready)
	}
	return b
}

func (z Zone) encodeFields(b []byte) []byte {
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

// appendMilli appends thousandths as a decimal number without idle zeros.
func appendMilli(b []byte, v int32) []byte {
	b = strconv.AppendInt(b, int64(v/1000), 10)
	f := v % 1000
	if f == 0 {
		return b
	}
	b = append(b, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// appendMicro appends micro-degrees as degrees, always with six decimals, as the
// source has them.
func appendMicro(b []byte, v int32) []byte {
	var w [wordRoom]byte
	return append(b, w[:putMicro(w[:], v)]...)
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendOdd(append(b, s[:i]...), s[i:])
		}
	}
	return append(append(b, s...), '"')
}

// appendOdd appends the rest of a JSON string that has something to escape.
func appendOdd(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ':
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// vertices is space for one ring while it is written.
var vertices = sync.Pool{New: func() any { return new([]geo.Point) }}

// eachRing visits the rings of one polygon, the outer one first.
func (z Zone) eachRing(polygon int, g Geometry, visit func(i int, ring []geo.Point)) {
	space := vertices.Get().(*[]geo.Point)
	first, n := z.ix.polygonRings(z.field(zonePolygons) + uint32(polygon))
	for i := range n {
		*space = z.ix.ring(first + i).AppendPoints((*space)[:0])
		ring := *space
		if g == SimplifiedGeometry {
			ring = geo.Simplify(ring, simplifiedTo)
		}
		visit(int(i), ring)
	}
	vertices.Put(space)
}

// appendPolygons appends the perimeter as a list of {exterior, holes}.
func (z Zone) appendPolygons(b []byte, g Geometry) []byte {
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

// appendLatLng appends a ring. It makes room once and fills it by whole words: this
// loop writes most of the bytes the service sends.
func appendLatLng(b []byte, ring []geo.Point) []byte {
	const most = len(`},{"lat":-123.456789,"lng":-123.456789`)
	b = slices.Grow(append(b, '['), most*len(ring)+wordRoom)
	n, w := len(b), b[:cap(b)]
	lat, lng := axis{name: `},{"lat":`, from: nowhere}, axis{name: `,"lng":`, from: nowhere}
	for i, p := range ring {
		y, x := uint32(p.Y-lat.from), uint32(p.X-lng.from)
		if i == 0 || y >= geo.Micro || x >= geo.Micro {
			lead := lat.name
			if i == 0 {
				lead = lead[2:]
			}
			n += copy(w[n:], lead)
			n += putMicro(w[n:], p.Y)
			n += copy(w[n:], lng.name)
			n += putMicro(w[n:], p.X)
			lat.enter(p.Y)
			lng.enter(p.X)
			continue
		}
		v := w[n : n+vertexRoom]
		le.PutUint64(v, lat.lead[0])
		le.PutUint64(v[8:], lat.lead[1])
		le.PutUint64(v[lat.n&15:], uint64(thousands[y/1000])|uint64(thousands[y%1000])<<24)
		v = v[lat.n&15+6:]
		le.PutUint64(v, lng.lead[0])
		le.PutUint64(v[8:], lng.lead[1])
		le.PutUint64(v[lng.n&15:], uint64(thousands[x/1000])|uint64(thousands[x%1000])<<24)
		n += lat.n + lng.n + 2*6
	}
	return append(w[:n], `}]`...)
}

// axis is one of the numbers of a vertex, with what stands before it. Neighbours mostly
// lie in the same degree, so that all up to the point is in words made once (6 ns
// of processor for a vertex, not 16).
type axis struct {
	name string
	from int32     // micro-degrees of the degree; nowhere: each number is written by itself
	lead [2]uint64 // the name, the degree and the point
	n    int       // bytes of lead
}

// nowhere is far from all numbers.
const nowhere = math.MinInt32

// enter goes over to the degree of a number.
func (a *axis) enter(v int32) {
	if a.from = nowhere; v < 0 {
		return
	}
	whole := v / geo.Micro
	var lead [16]byte
	a.n = len(append(strconv.AppendInt(append(lead[:0], a.name...), int64(whole), 10), '.'))
	a.lead = [2]uint64{le.Uint64(lead[:]), le.Uint64(lead[8:])}
	a.from = whole * geo.Micro
}

// vertexRoom is what a vertex may write: twice a lead of at most 13 bytes and six
// digits, the last of them in a word.
const vertexRoom = 2*(13+6) + 2

// wordRoom is what words may write beyond the end.
const wordRoom = 16

// thousands are the three digits of 0 to 999, in a word.
var thousands = func() (t [1000]uint32) {
	for i := range t {
		t[i] = le.Uint32([]byte{byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10), 0})
	}
	return t
}()

// putMicro writes micro-degrees, less than a thousand degrees of them, into a space
// that has wordRoom, and tells how many bytes they took.
func putMicro(w []byte, v int32) int {
	n := 0
	if v < 0 {
		w[0], n, v = '-', 1, -v
	}
	whole, f := uint32(v)/geo.Micro, uint32(v)%geo.Micro
	digits := 1
	if whole >= 100 {
		digits = 3
	} else if whole >= 10 {
		digits = 2
	}
	w = w[n : n+wordRoom-4]
	le.PutUint32(w, thousands[whole]>>(24-8*digits))
	w[digits] = '.'
	le.PutUint32(w[digits+1:], thousands[f/1000])
	le.PutUint32(w[digits+4:], thousands[f%1000])
	return n + digits + 7
}
