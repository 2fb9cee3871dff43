package quotations

import (
	"context"
	"encoding/hex"
	"hash/fnv"
	"math"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
)

// lookup answers GET /IT-omi. Everything that can be wrong is found before the
// lookup is paid for.
func (o *OMI) lookup(ctx context.Context, r *http.Request, out *api.Encoded) error {
	q, err := parseLookupQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	lat, lng, err := q.place()
	if err != nil {
		return err
	}
	f, err := q.form(omi.FullGeometry)
	if err != nil {
		return err
	}
	metres, err := q.metres()
	if err != nil {
		return err
	}
	publications, err := q.publications(o)
	if err != nil {
		return err
	}
	ans := omi.Answer{Lat: lat, Lng: lng, Placed: true}
	found := false
	if ans.Zone, ans.Distance, found = omi.Lookup(publications, lat, lng, metres); found {
		ans.Near = ans.Distance > 0
	}
	id, newest, message := publications[0].ID(), publications[0], ""
	switch {
	case !found:
		message = noZone(lat, lng)
	case ans.Zone.Index() != newest:
		id += ans.Zone.Index().ID()
		message = older(ans.Zone.Index(), newest)
	}
	if out.NotModified(etag(id, lat, lng, f, metres)) {
		return nil
	}
	if err := o.spend(ctx, 1); err != nil {
		return err
	}
	o.writeAnswer(out, ans, found, f, message)
	return nil
}

// etag names an answer: the publications it rests on, the point and the form. It is weak, since
// the same answer may be compressed.
func etag(id string, lat, lng float64, f form, metres float64) string {
	var b [25]byte
	for i, v := range [...]float64{lat, lng, metres} {
		bits := math.Float64bits(v)
		for k := range 8 {
			b[8*i+k] = byte(bits >> (8 * k))
		}
	}
	b[24] = byte(f.geometry) << 1
	if f.geojson {
		b[24] |= 1
	}
	h := fnv.New128a()
	h.Write(b[:])
	tag := append(make([]byte, 0, 64), `W/"`...)
	tag = append(append(tag, id...), '-')
	var sum [16]byte
	tag = hex.AppendEncode(tag, h.Sum(sum[:0]))
	return string(append(tag, '"'))
}

// writeAnswer writes a zone, or that there is none, in the form asked for.
func (o *OMI) writeAnswer(out *api.Encoded, ans omi.Answer, found bool, f form, message string) {
	switch {
	case f.geojson && found:
		out.Type, out.Buf = geoJSON, ans.AppendGeoJSON(out.Buf, f.geometry)
	case f.geojson:
		out.Type = geoJSON
		out.Buf = append(out.Buf, `{"type":"Feature","geometry":null,"properties":{}}`...)
	case found:
		out.Buf = append(out.Buf, api.EnvelopeData...)
		out.Buf = ans.AppendJSON(out.Buf, f.geometry)
		out.Buf, _ = jsontext.AppendQuote(append(out.Buf, api.EnvelopeMessage...), message)
		out.Buf = append(out.Buf, api.EnvelopeEnd...)
	default:
		out.Buf = api.AppendEnvelope(out.Buf, []byte(`{}`), message)
	}
}

func noZone(lat, lng float64) string {
	y, x := strconv.FormatFloat(lat, 'f', -1, 64), strconv.FormatFloat(lng, 'f', -1, 64)
	text := "No OMI zone found for latitude " + y + " and longitude " + x
	if omi.Swapped(lat, lng) {
		text += ". They look swapped: latitude " + x + " and longitude " + y + " is in Italy"
	}
	return text
}

// older says that the active publication has nothing at the place.
func older(answered, active *omi.Index) string {
	return "Publication " + active.Semester().String() + " does not cover this place: the answer is from " + answered.Semester().String()
}

// spend pays for lookups and says what is left of the free ones.
func (o *OMI) spend(ctx context.Context, n int) error {
	if o.Meter == nil || n == 0 {
		return nil
	}
	left, err := o.Meter.SpendLookups(ctx, account.CallerFrom(ctx), n)
	if err != nil {
		return err
	}
	if left >= 0 {
		api.SetHeader(ctx, "X-Quota-Remaining", strconv.FormatInt(left, 10))
	}
	return nil
}

// history answers GET /IT-omi/history. One look at the set, so that no publication
// comes or goes in the middle of the answer; it costs one lookup.
func (o *OMI) history(ctx context.Context, r *http.Request, out *api.Encoded) error {
	q, err := parseLookupQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	lat, lng, err := q.place()
	if err != nil {
		return err
	}
	f, err := q.form(omi.NoGeometry)
	if err != nil {
		return err
	}
	if f.geojson {
		return fault.New(fault.BadLookup, "format of a history must be json")
	}
	set := o.Publications.Current()
	if set.Active() == nil {
		return fault.New(fault.NoPublication, "no publication is loaded")
	}
	ids := ""
	for _, ix := range set.All() {
		ids += ix.ID()
	}
	if out.NotModified(etag(digestOf(ids), lat, lng, f, -1)) {
		return nil
	}
	if err := o.spend(ctx, 1); err != nil {
		return err
	}
	writeHistory(out, set, omi.Answer{Lat: lat, Lng: lng, Placed: true}, f)
	return nil
}

func digestOf(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return hex.EncodeToString(h.Sum(nil))
}

// How a semester of a history was found.
const (
	matchedByPerimeter = "perimeter"
	matchedByZone      = "zone"
)

func writeHistory(out *api.Encoded, set *omi.Set, ans omi.Answer, f form) {
	out.Buf = append(out.Buf, api.EnvelopeData+`{"location":{"lat":`...)
	out.Buf = strconv.AppendFloat(out.Buf, ans.Lat, 'f', -1, 64)
	out.Buf = append(out.Buf, `,"lng":`...)
	out.Buf = strconv.AppendFloat(out.Buf, ans.Lng, 'f', -1, 64)
	out.Buf = append(out.Buf, `},"history":[`...)
	past := set.History(ans.Lat, ans.Lng)
	for i, p := range past {
		if i > 0 {
			out.Buf = append(out.Buf, ',')
		}
		out.Buf = omi.Answer{Zone: p.Zone}.AppendJSON(out.Buf, f.geometry)
		how := matchedByPerimeter
		if p.Named {
			how = matchedByZone
		}
		out.Buf = append(out.Buf[:len(out.Buf)-1], `,"matched_by":"`+how+`"}`...)
	}
	out.Buf = append(out.Buf, `]}`+api.EnvelopeMessage...)
	message := ""
	if len(past) == 0 {
		message = noZone(ans.Lat, ans.Lng)
	}
	out.Buf, _ = jsontext.AppendQuote(out.Buf, message)
	out.Buf = append(out.Buf, api.EnvelopeEnd...)
}
