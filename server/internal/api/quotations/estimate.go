package quotations

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
)

// estimate answers GET /IT-omi/estimate. Everything that can be wrong is found before
// the lookup is paid for.
func (o *OMI) estimate(ctx context.Context, r *http.Request) (none api.Reply[propertyEstimate], _ error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return none, fault.New(fault.BadQuery, "the query is malformed")
	}
	q, err := parseLookupQuery(r.URL.RawQuery)
	if err != nil {
		return none, err
	}
	surface, err := surfaceOf(values.Get("surface"))
	if err != nil {
		return none, err
	}
	kind, condition := values.Get("property_type"), strings.ToUpper(strings.TrimSpace(values.Get("condition")))
	switch {
	case len(kind) > 200:
		return none, fault.New(fault.BadLookup, "property_type is longer than 200 bytes")
	case condition != "" && !slices.Contains(omi.Conditions, condition):
		return none, fault.New(fault.BadLookup, "%s", hint.OneOf("condition", condition, omi.Conditions))
	}
	publications, err := q.publications(o)
	if err != nil {
		return none, err
	}
	z, message, found, err := q.zoneAsked(values.Get("zone"), publications)
	if err != nil {
		return none, err
	}
	var e omi.Estimate
	if found {
		var v omi.Value
		if v, found = z.Quoted(kind, condition); !found {
			message = notQuoted(z, kind, condition)
		} else if e = z.Estimate(v, surface); e.Mixed() {
			message = strings.TrimSpace(message + " The sale counts " + v.Sale.Surface.String() + " square metres, the rent " + v.Rent.Surface.String() + " ones.")
		}
	}
	ids := ""
	for _, ix := range publications {
		ids += ix.ID()
	}
	tag := etag(digestOf(ids+r.URL.RawQuery), 0, 0, form{}, surface)
	if err := o.spendUnless(ctx, api.Has(r, tag)); err != nil {
		return none, err
	}
	out := api.Reply[propertyEstimate]{JSON: constant(`{}`), Message: message, ETag: tag}
	if found {
		out.JSON = e.AppendJSON
	}
	return out, nil
}

// surfaceOf reads square metres.
func surfaceOf(s string) (float64, error) {
	if strings.TrimSpace(s) == "" {
		return 0, fault.New(fault.BadLookup, "surface is missing: square metres, such as surface=85")
	}
	v, err := coordinate("surface", s)
	if err != nil {
		return 0, fault.New(fault.BadLookup, "%s", err.Error())
	}
	if !(v >= 1 && v <= omi.MostSurface) {
		return 0, fault.New(fault.BadLookup, "surface must be a number of square metres from 1 to %d", omi.MostSurface)
	}
	return v, nil
}

// zoneAsked is the zone that a query is about, by its code or at a place.
func (q *lookupQuery) zoneAsked(code string, publications []*omi.Index) (z omi.Zone, message string, found bool, err error) {
	if code != "" {
		if q.latitude != "" || q.longitude != "" {
			return z, "", false, fault.New(fault.BadLookup, "zone stands in place of latitude and longitude: give one of them")
		}
		cadastral, name, ok := strings.Cut(code, "/")
		if !ok || cadastral == "" || name == "" || len(code) > 40 {
			return z, "", false, fault.New(fault.BadLookup, "zone must be a cadastral code and a zone code, such as H501/B12")
		}
		if z, found = omi.FindZone(publications, cadastral, name); !found {
			message = "No OMI zone " + strings.ToUpper(name) + " found in the municipality " + strings.ToUpper(cadastral)
		}
	} else {
		lat, lng, err := q.place()
		if err != nil {
			return z, "", false, err
		}
		if z, _, found = omi.Lookup(publications, lat, lng, 0); !found {
			message = noZone(lat, lng)
		}
	}
	if found && z.Index() != publications[0] {
		message = older(z.Index(), publications[0]) + "."
	}
	return z, message, found, nil
}

func notQuoted(z omi.Zone, kind, condition string) string {
	types := z.Types()
	if len(types) == 0 {
		return "No values are published for zone " + z.Code() + " of " + z.Municipality().Name
	}
	if kind == "" {
		kind = z.PrevalentType()
	}
	if condition != "" {
		kind += " in condition " + condition
	}
	return strings.TrimSpace(kind) + " is not quoted in zone " + z.Code() + " of " + z.Municipality().Name + ". Quoted there: " + strings.Join(types, ", ")
}
