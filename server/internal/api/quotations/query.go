package quotations

import (
	"math"
	"net/url"
	"strconv"
	"strings"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
)

// lookupQuery is what a lookup asks, read from the query string without a map: this
// is the busiest path of the service.
type lookupQuery struct {
	latitude, longitude string
	semester            string
	geometry, format    string
	nearest             string
	bbox                string
	strict              string
}

// parseLookupQuery takes the parameters it knows and ignores the others.
func parseLookupQuery(query string) (q lookupQuery, err error) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		key, value, _ := strings.Cut(pair, "=")
		dst := q.field(key)
		if dst == nil {
			continue
		}
		if strings.ContainsAny(value, "%+") {
			if value, err = url.QueryUnescape(value); err != nil {
				return q, fault.New(fault.BadQuery, "%s is malformed", key)
			}
		}
		if *dst != "" {
			return q, fault.New(fault.BadQuery, "%s is given more than once", key)
		}
		if value == "" && wordless(key) {
			return q, fault.New(fault.BadLookup, "%s is empty", key)
		}
		*dst = value
	}
	return q, nil
}

// wordless says whether a parameter cannot be empty: one of a few words, or a
// number. An empty semester is none, and a missing coordinate has its own code.
func wordless(key string) bool {
	return key == "geometry" || key == "format" || key == "nearest" || key == "strict"
}

func (q *lookupQuery) field(key string) *string {
	switch key {
	case "latitude", "lat":
		return &q.latitude
	case "longitude", "lng":
		return &q.longitude
	case "semester":
		return &q.semester
	case "geometry":
		return &q.geometry
	case "format":
		return &q.format
	case "nearest":
		return &q.nearest
	case "bbox":
		return &q.bbox
	case "strict":
		return &q.strict
	}
	return nil
}

// place reads latitude and longitude.
func (q *lookupQuery) place() (lat, lng float64, err error) {
	if lat, err = coordinate("latitude", q.latitude); err != nil {
		return 0, 0, err
	}
	if err = inRange(lat, latitudeRange); err != nil {
		return 0, 0, err
	}
	if lng, err = coordinate("longitude", q.longitude); err != nil {
		return 0, 0, err
	}
	return lat, lng, inRange(lng, longitudeRange)
}

// span is what a coordinate may be, and the code for what is beyond.
type span struct {
	name string
	most float64
	code fault.Code
}

var (
	latitudeRange  = span{"latitude", 90, fault.BadLatitude}
	longitudeRange = span{"longitude", 180, fault.BadLongitude}
)

func inRange(v float64, s span) error {
	if math.Abs(v) <= s.most {
		return nil
	}
	return fault.New(s.code, "%s must be between -%g and %g", s.name, s.most, s.most)
}

// coordinate reads a decimal number; what is beyond all numbers is out of range,
// not wrong.
func coordinate(name, s string) (float64, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, fault.New(fault.BadCoordinate, "%s is missing", name)
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			if point, ok := omi.DecimalPoint(s); ok {
				return 0, fault.New(fault.BadCoordinate, "%s is not a number: decimals come after a point, %s", name, point)
			}
			return 0, fault.New(fault.BadCoordinate, "%s is not a number", name)
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, fault.New(fault.BadCoordinate, "%s is not a number", name)
	}
	return v, nil
}

// form is how an answer is to look.
type form struct {
	geometry omi.Geometry
	geojson  bool
}

func (q *lookupQuery) form(byDefault omi.Geometry) (f form, err error) {
	if f.geometry, err = geometryOf(q.geometry, byDefault); err != nil {
		return f, err
	}
	switch q.format {
	case "", "json":
	case "geojson":
		f.geojson = true
	default:
		return f, fault.New(fault.BadLookup, "%s", hint.OneOf("format", q.format, []string{"json", "geojson"}))
	}
	return f, nil
}

func geometryOf(s string, byDefault omi.Geometry) (omi.Geometry, error) {
	switch s {
	case "":
		return byDefault, nil
	case "full":
		return omi.FullGeometry, nil
	case "simplified":
		return omi.SimplifiedGeometry, nil
	case "none":
		return omi.NoGeometry, nil
	}
	return 0, fault.New(fault.BadLookup, "%s", hint.OneOf("geometry", s, []string{"full", "simplified", "none"}))
}

// publications are those that the query is about.
func (q *lookupQuery) publications(o *OMI) ([]*omi.Index, error) {
	switch q.strict {
	case "", "false", "true":
		return o.publicationsFor(q.semester, q.strict == "true")
	}
	return nil, fault.New(fault.BadLookup, "strict must be true or false")
}

// mostMetres is how far the nearest zone may be looked for.
const mostMetres = 1000

func (q *lookupQuery) metres() (float64, error) {
	if q.nearest == "" {
		return 0, nil
	}
	v, err := coordinate("nearest", q.nearest)
	if err != nil || !(v >= 0 && v <= mostMetres) {
		return 0, fault.New(fault.BadLookup, "nearest must be a number of metres from 0 to %d", mostMetres)
	}
	return v, nil
}

// box reads a rectangle: west, south, east, north.
func (q *lookupQuery) box() (b [4]float64, err error) {
	parts := strings.Split(q.bbox, ",")
	if len(parts) != 4 {
		return b, fault.New(fault.BadLookup, "bbox must be minLng,minLat,maxLng,maxLat")
	}
	for i, p := range parts {
		most := longitudeRange.most
		if i%2 == 1 {
			most = latitudeRange.most
		}
		if b[i], err = coordinate("bbox", p); err != nil || !(math.Abs(b[i]) <= most) {
			return b, fault.New(fault.BadLookup, "bbox must be minLng,minLat,maxLng,maxLat in degrees")
		}
	}
	switch {
	case b[0] > b[2] || b[1] > b[3]:
		return b, fault.New(fault.BadLookup, "bbox must have its minimum before its maximum")
	case (b[2]-b[0])*(b[3]-b[1]) > 1+1e-9:
		return b, fault.New(fault.BadLookup, "bbox must not be larger than one square degree")
	}
	return b, nil
}
