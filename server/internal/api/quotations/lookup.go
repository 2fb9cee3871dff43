package quotations

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
)

// lookup answers GET /IT-omi. Everything that can be wrong is found before the
// lookup is paid for.
func (o *OMI) lookup(ctx context.Context, r *http.Request) (none api.Reply[Quotation], _ error) {
	q, err := parseLookupQuery(r.URL.RawQuery)
	if err != nil {
		return none, err
	}
	lat, lng, err := q.place()
	if err != nil {
		return none, err
	}
	f, err := q.form(omi.FullGeometry)
	if err != nil {
		return none, err
	}
	metres, err := q.metres()
	if err != nil {
		return none, err
	}
	publications, err := q.publications(o)
	if err != nil {
		return none, err
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
	tag := etag(id, lat, lng, f, metres)
	if err := o.spendUnless(ctx, api.Has(r, tag)); err != nil {
		return none, err
	}
	return answer(ans, found, f, message, tag), nil
}

// etag names an answer: the publications it rests on, the point and the form. It is weak, since
// the same answer may be compressed.
func etag(id string, lat, lng float64, f form, metres float64) string {
	h := fnv.New128a()
	fmt.Fprint(h, lat, lng, metres, f)
	return `W/"` + id + "-" + hex.EncodeToString(h.Sum(nil)) + `"`
}

// answer is a zone, or that there is none, in the form asked for.
func answer(ans omi.Answer, found bool, f form, message, tag string) api.Reply[Quotation] {
	out := api.Reply[Quotation]{Message: message, ETag: tag}
	switch {
	case f.geojson && found:
		out.Type = geoJSON
		out.JSON = func(b []byte) []byte { return ans.AppendGeoJSON(b, f.geometry) }
	case f.geojson:
		out.Type, out.JSON = geoJSON, constant(`{"type":"Feature","geometry":null,"properties":{}}`)
	case found:
		out.JSON = func(b []byte) []byte { return ans.AppendJSON(b, f.geometry) }
	default:
		out.JSON = constant(`{}`)
	}
	return out
}

func constant[T string | []byte](text T) api.JSON {
	return func(b []byte) []byte { return append(b, text...) }
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

// spendUnless pays for one lookup, but where the client has the answer already.
func (o *OMI) spendUnless(ctx context.Context, known bool) error {
	if known {
		return nil
	}
	return o.spend(ctx, 1)
}

// history answers GET /IT-omi/history. One look at the set, so that no publication
// comes or goes in the middle of the answer; it costs one lookup.
func (o *OMI) history(ctx context.Context, r *http.Request) (none api.Reply[quotationHistory], _ error) {
	q, err := parseLookupQuery(r.URL.RawQuery)
	if err != nil {
		return none, err
	}
	lat, lng, err := q.place()
	if err != nil {
		return none, err
	}
	f, err := q.form(omi.NoGeometry)
	if err != nil {
		return none, err
	}
	if f.geojson {
		return none, fault.New(fault.BadLookup, "format of a history must be json")
	}
	set := o.Publications.Current()
	if set.Active() == nil {
		return none, fault.New(fault.NoPublication, "no publication is loaded")
	}
	ids := ""
	for _, ix := range set.All() {
		ids += ix.ID()
	}
	tag := etag(digestOf(ids), lat, lng, f, -1)
	if err := o.spendUnless(ctx, api.Has(r, tag)); err != nil {
		return none, err
	}
	past := set.History(lat, lng)
	if len(past) == 0 {
		none.Message = noZone(lat, lng)
	}
	none.ETag = tag
	none.JSON = func(b []byte) []byte { return appendHistory(b, lat, lng, past, f) }
	return none, nil
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

func appendHistory(b []byte, lat, lng float64, past []omi.Past, f form) []byte {
	b = strconv.AppendFloat(append(b, `{"location":{"lat":`...), lat, 'f', -1, 64)
	b = strconv.AppendFloat(append(b, `,"lng":`...), lng, 'f', -1, 64)
	b = append(b, `},"history":[`...)
	for i, p := range past {
		if i > 0 {
			b = append(b, ',')
		}
		b = omi.Answer{Zone: p.Zone}.AppendJSON(b, f.geometry)
		how := matchedByPerimeter
		if p.Named {
			how = matchedByZone
		}
		b = append(b[:len(b)-1], `,"matched_by":"`+how+`"}`...)
	}
	return append(b, `]}`...)
}
