package quotations

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
)

// mostPoints is how many points a batch may hold.
const mostPoints = 1000

// batchBody is the body of POST /IT-omi/batch.
type batchBody struct {
	Points   []batchPoint `json:"points" doc:"up to 1000 places"`
	Semester string       `json:"semester,omitempty" example:"2018/2" doc:"a loaded semester; by default, for each point, the newest, from the active one backwards, that has a zone there"`
	Strict   bool         `json:"strict,omitempty" doc:"look into the active publication only"`
	Geometry string       `json:"geometry,omitempty" enum:"full,simplified,none" doc:"how much of the perimeters; full by default"`
}

type batchPoint struct {
	ID        jsontext.Value `json:"id,omitempty" doc:"given back as it is"`
	Latitude  jsontext.Value `json:"latitude" doc:"degrees"`
	Longitude jsontext.Value `json:"longitude" doc:"degrees"`
}

// batchExamples are bodies that the sandbox takes: the places are on the sample's
// island, and off it.
var batchExamples = []api.Example{{
	Name: "places", Summary: "Two places, without perimeters",
	Value: map[string]any{"geometry": "none", "points": []any{
		map[string]any{"id": "island", "latitude": 38.6, "longitude": 17.6},
		map[string]any{"id": "open sea", "latitude": 38.0, "longitude": 17.0},
	}},
}}

type batchInput struct {
	Body api.Upload[batchBody]
}

// batch answers POST /IT-omi/batch.
func (o *OMI) batch(ctx context.Context, in *batchInput, out *api.Encoded) error {
	points, q, err := readBatch(in)
	if err != nil {
		return err
	}
	f, err := q.form(omi.FullGeometry)
	if err != nil {
		return err
	}
	publications, err := q.publications(o)
	if err != nil {
		return err
	}
	results := make([]pointResult, len(points))
	paid := 0
	for i, p := range points {
		if results[i].read(p); results[i].err == nil {
			paid++
		}
	}
	if err := o.spend(ctx, paid); err != nil {
		return err
	}
	out.Buf = append(out.Buf, api.EnvelopeData+`[`...)
	for i := range results {
		if i > 0 {
			out.Buf = append(out.Buf, ',')
		}
		out.Buf = results[i].append(out.Buf, publications, f.geometry)
	}
	out.Buf = append(out.Buf, `]`+api.EnvelopeMessage+`""`+api.EnvelopeEnd...)
	return nil
}

// readBatch takes the body apart; a point is judged on its own later.
func readBatch(in *batchInput) (points []jsontext.Value, q lookupQuery, err error) {
	body, err := in.Body.Object()
	if err != nil {
		return nil, q, err
	}
	if json.Unmarshal(body["points"], &points) != nil || points == nil {
		return nil, q, fault.New(fault.BadLookup, "points must be a list of {id, latitude, longitude}")
	}
	if len(points) > mostPoints {
		return nil, q, fault.New(fault.BadLookup, "points must not be more than %d", mostPoints)
	}
	if q.semester, err = optionalText(body["semester"]); err != nil {
		return nil, q, fault.New(fault.UnknownSemester, "semester must be a loaded one, written like 2018/2")
	}
	if q.geometry, err = optionalText(body["geometry"]); err != nil {
		return nil, q, fault.New(fault.BadLookup, "geometry must be full, simplified or none")
	}
	switch v := body["strict"]; {
	case len(v) == 0 || v.Kind() == 'n':
	case v.Kind() == 't' || v.Kind() == 'f':
		q.strict = string(v)
	default:
		return nil, q, fault.New(fault.BadLookup, "strict must be true or false")
	}
	return points, q, nil
}

func optionalText(v jsontext.Value) (s string, err error) {
	if len(v) == 0 || v.Kind() == 'n' {
		return "", nil
	}
	err = json.Unmarshal(v, &s)
	return s, err
}

// pointResult is one point of a batch and what became of it.
type pointResult struct {
	id       jsontext.Value
	lat, lng float64
	err      error
}

// read judges a point as the query of a single lookup is judged.
func (p *pointResult) read(v jsontext.Value) {
	var members map[string]jsontext.Value
	if json.Unmarshal(v, &members) != nil || members == nil {
		p.err = fault.New(fault.BadLookup, "a point must be {id, latitude, longitude}")
		return
	}
	p.id = members["id"]
	q := lookupQuery{
		latitude:  scalar(members["latitude"], members["lat"]),
		longitude: scalar(members["longitude"], members["lng"]),
	}
	p.lat, p.lng, p.err = q.place()
}

// scalar is the text of the number or string that is given.
func scalar(values ...jsontext.Value) string {
	for _, v := range values {
		switch v.Kind() {
		case '0':
			return strings.TrimSpace(string(v))
		case '"':
			var s string
			if json.Unmarshal(v, &s) == nil && s != "" {
				return s
			}
			return "not a number"
		case 'n', 0: // null, or not there
		default:
			return "not a number"
		}
	}
	return ""
}

// append writes the result of the point.
func (p *pointResult) append(b []byte, publications []*omi.Index, g omi.Geometry) []byte {
	b = append(b, `{"id":`...)
	if len(p.id) > 0 {
		b = append(b, p.id...)
	} else {
		b = append(b, "null"...)
	}
	if p.err != nil {
		return appendRefusal(append(b, `,"found":false,"result":{},"error":`...), p.err)
	}
	z, _, found := omi.Lookup(publications, p.lat, p.lng, 0)
	if !found {
		b = append(b, `,"found":false,"result":{},"error":null,"message":`...)
		b, _ = jsontext.AppendQuote(b, noZone(p.lat, p.lng))
		return append(b, '}')
	}
	b = append(b, `,"found":true,"result":`...)
	b = omi.Answer{Zone: z, Lat: p.lat, Lng: p.lng, Placed: true}.AppendJSON(b, g)
	message := ""
	if z.Index() != publications[0] {
		message = older(z.Index(), publications[0])
	}
	b, _ = jsontext.AppendQuote(append(b, `,"error":null,"message":`...), message)
	return append(b, '}')
}

func appendRefusal(b []byte, err error) []byte {
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.New(fault.Internal, "internal error")
	}
	b = strconv.AppendInt(b, int64(f.Code), 10)
	b, _ = jsontext.AppendQuote(append(b, `,"message":`...), f.Text)
	return append(b, '}')
}
