package quotations

import (
	"context"
	"errors"
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
func (o *OMI) batch(ctx context.Context, in *batchInput) (none api.Reply[[]batchResult], _ error) {
	points, q, err := readBatch(in)
	if err != nil {
		return none, err
	}
	f, err := q.form(omi.FullGeometry)
	if err != nil {
		return none, err
	}
	publications, err := q.publications(o)
	if err != nil {
		return none, err
	}
	results := make([]pointResult, len(points))
	paid := 0
	for i, p := range points {
		if results[i].read(p); results[i].err == nil {
			paid++
		}
	}
	if err := o.spend(ctx, paid); err != nil {
		return none, err
	}
	answers := make([]pointAnswer, len(results))
	for i := range results {
		answers[i] = results[i].answer(publications, f.geometry)
	}
	data, err := json.Marshal(answers)
	return api.Reply[[]batchResult]{JSON: constant(data)}, err
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

// pointAnswer is a batchResult whose zone is JSON already.
type pointAnswer struct {
	ID      jsontext.Value `json:"id"`
	Found   bool           `json:"found"`
	Result  jsontext.Value `json:"result"`
	Error   *fault.Code    `json:"error"`
	Message string         `json:"message"`
}

func (p *pointResult) answer(publications []*omi.Index, g omi.Geometry) pointAnswer {
	out := pointAnswer{ID: p.id, Result: jsontext.Value(`{}`)}
	if p.err != nil {
		f := fault.New(fault.Internal, "internal error")
		errors.As(p.err, &f)
		out.Error, out.Message = &f.Code, f.Text
		return out
	}
	z, _, found := omi.Lookup(publications, p.lat, p.lng, 0)
	if !found {
		out.Message = noZone(p.lat, p.lng)
		return out
	}
	out.Found, out.Result = true, omi.Answer{Zone: z, Lat: p.lat, Lng: p.lng, Placed: true}.AppendJSON(nil, g)
	if z.Index() != publications[0] {
		out.Message = older(z.Index(), publications[0])
	}
	return out
}
