// Package quotations has the operations on real-estate quotations (/IT-omi).
package quotations

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
)

// LookupMeter counts quotations against an account's free ones and its money.
type LookupMeter interface {
	// SpendLookups pays for n quotations, all or none, and says how many free ones
	// are left today (-1: there is no end to them). Without credit: fault 611.
	SpendLookups(ctx context.Context, c *account.Caller, n int) (left int64, err error)
}

// Publications are those that are loaded, and take in new ones.
type Publications interface {
	Current() *omi.Set
	Import(ctx context.Context, inputs []omi.Input, o omi.ImportOptions) (omi.Report, error)
}

// OMI answers real-estate quotations.
type OMI struct {
	Publications Publications
	Meter        LookupMeter // nil: nothing is counted

	log *slog.Logger // the API's
}

const omiTag = "Quotations"

// RegisterOMI adds the operations on real-estate quotations.
func RegisterOMI(a *api.API, o *OMI) {
	o.log = a.Log()
	a.Tag(omiTag, "Italian real-estate quotations by coordinates. Source of the data: "+omi.Attribution+".")
	o.registerLookup(a)
	o.registerLists(a)
	o.registerPublications(a)
}

func (o *OMI) registerLookup(a *api.API) {
	api.RegisterRaw[omiQuery](a, api.Op{
		Method: http.MethodGet, Path: "/IT-omi", ID: "lookupQuotation", Tag: omiTag, Source: dataSource, Gzip: true,
		Summary: "The OMI zone at a place, with its quotations and its perimeter",
		Text:    "Outside every zone `data` is an empty object and `message` says so. A side that is not quoted is `null`. Edges and vertices belong to a zone; of several zones the smallest is answered. Without `semester`, the newest publication from the active one backwards whose perimeters contain the place answers; `message` names the active one where it lacks the place. Source of the data: " + omi.Attribution + ".",
		Formats: map[string]any{geoJSON: Feature{}}, Errors: []fault.Code{fault.BadLatitude, fault.BadLongitude, fault.BadCoordinate, fault.UnknownSemester, fault.NoPublication, fault.BadLookup, fault.NoCredit}, Aliases: placeAliases,
	}, o.lookup)
	api.RegisterRaw[historyQuery](a, api.Op{
		Method: http.MethodGet, Path: "/IT-omi/history", ID: "quotationHistory", Tag: omiTag, Source: dataSource, Gzip: true,
		Summary: "The zone at a place in every loaded semester, the newest first",
		Text:    "`matched_by` says how the zone of an older semester was found: by its perimeter, or by its code where the semester has none.",
		Errors:  []fault.Code{fault.BadLatitude, fault.BadLongitude, fault.BadCoordinate, fault.NoPublication, fault.BadLookup, fault.NoCredit}, Aliases: placeAliases,
	}, o.history)
	api.RegisterRaw[estimateQuery](a, api.Op{
		Method: http.MethodGet, Path: "/IT-omi/estimate", ID: "estimateProperty", Tag: omiTag, Source: dataSource, Gzip: true,
		Summary: "What a property of a surface comes to by the quotations of its zone",
		Text: "The place by coordinates, or a zone by its code (`zone=H501/B12`). Without `property_type` and `condition` the prevalent ones of the zone count. " +
			"Outside every zone, and where the type is not quoted there, `data` is an empty object and `message` says what is. Costs one lookup. An estimate from the range of a whole zone, not an appraisal. Source of the data: " + omi.Attribution + ".",
		Errors: []fault.Code{fault.BadLatitude, fault.BadLongitude, fault.BadCoordinate, fault.UnknownSemester, fault.NoPublication, fault.BadLookup, fault.NoCredit}, Aliases: placeAliases,
	}, o.estimate)
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/IT-omi/batch", ID: "lookupQuotations", Tag: omiTag, Source: dataSource, Gzip: true,
		Summary: "The zones at up to a thousand places", MaxBody: 4 << 20, BadField: 286, Examples: batchExamples, Aliases: placeAliases,
		Text:   "Answers come in the order of the points; a bad point fails alone and costs nothing.",
		Errors: []fault.Code{fault.UnknownSemester, fault.NoPublication, fault.BadLookup, fault.NoCredit},
	}, o.batch)
}

func (o *OMI) registerLists(a *api.API) {
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/IT-omi/municipalities", ID: "listMunicipalities", Tag: omiTag, Source: dataSource, Gzip: true,
		Summary: "Municipalities of a publication", Text: "In the order of the source, filtered by province, name or code.", Errors: []fault.Code{fault.UnknownSemester, fault.NoPublication},
	}, o.municipalities)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/IT-omi/municipalities/{cadastral_code}", ID: "getMunicipality", Tag: omiTag, Source: dataSource, Gzip: true,
		Summary: "A municipality and its zones", Text: "By its cadastral (Belfiore) code: F205 is Milano, H501 Roma.", Errors: []fault.Code{fault.NotFound, fault.UnknownSemester, fault.NoPublication},
	}, o.municipality)
	api.RegisterRaw[zoneQuery](a, api.Op{
		Method: http.MethodGet, Path: "/IT-omi/zones/{cadastral_code}/{omi_zone}", ID: "getZone", Tag: omiTag, Source: dataSource, Gzip: true,
		Summary: "A zone by its code, with its quotations and its perimeter", Formats: map[string]any{geoJSON: Feature{}},
		Text:   "As a lookup answers, without coordinates. With `format=geojson` a bare Feature.",
		Errors: []fault.Code{fault.NotFound, fault.UnknownSemester, fault.NoPublication, fault.BadLookup},
	}, o.zone)
	api.RegisterRaw[zonesQuery](a, api.Op{
		Method: http.MethodGet, Path: "/IT-omi/zones", ID: "listZones", Tag: omiTag, Source: dataSource, Gzip: true,
		Summary: "The zones in a rectangle, as a GeoJSON FeatureCollection", Produces: []string{geoJSON},
		Text:   "At most one square degree.",
		Errors: []fault.Code{fault.UnknownSemester, fault.NoPublication, fault.BadLookup},
	}, o.zones)
}

func (o *OMI) registerPublications(a *api.API) {
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/IT-omi/publications", ID: "listPublications", Tag: omiTag, Source: dataSource,
		Summary: "The publications that are loaded, the newest first",
		Text:    "Which semesters can be asked for, which one answers by default, and what each import found.",
	}, o.publications)
	api.RegisterReplayable(a, api.Op{
		Method: http.MethodPost, Path: "/IT-omi/publications", ID: "importPublication", Tag: omiTag, Source: dataSource,
		Summary: "Import a publication of the Agenzia delle Entrate",
		Text:    "Multipart, field `file`, repeatable: the official archives, or the files in them. All files together are one publication. It is swapped in whole, or refused whole with the reason; one in which less than half of the zones have a perimeter, or with tables or perimeters that their names hide, only with `allowPartial`.",
		Admin:   true, Idempotent: true, FormOnly: true, MaxBody: 1 << 30, Timeout: 10 * time.Minute,
		Errors: []fault.Code{fault.NotFound, fault.PublicationRefused},
	}, o.importPublication, o.importedPublication)
}

// placeAliases are as good as latitude and longitude.
var placeAliases = []string{"lat", "lng"}

// geoJSON is the media type of RFC 7946.
const geoJSON = "application/geo+json"

// dataSource is the attribution every answer carries.
var dataSource = []string{omi.Attribution}

// publicationsFor are those that may answer for a place: of a semester, the active
// one alone, or all from that backwards.
func (o *OMI) publicationsFor(semester string, strict bool) ([]*omi.Index, error) {
	if semester == "" && !strict {
		if all := o.Publications.Current().Since(); len(all) > 0 {
			return all, nil
		}
	}
	ix, err := o.index(semester)
	return []*omi.Index{ix}, err
}

// index is the publication that is asked for: of a semester, or the active one.
func (o *OMI) index(semester string) (*omi.Index, error) {
	set := o.Publications.Current()
	if set.Active() == nil {
		return nil, fault.New(fault.NoPublication, "no publication is loaded")
	}
	if semester == "" {
		return set.Active(), nil
	}
	s, err := omi.ParseSemester(semester)
	if err != nil {
		return nil, fault.New(fault.UnknownSemester, "semester must be a loaded one, written like 2018/2")
	}
	ix, ok := set.Semester(s)
	if !ok {
		return nil, fault.New(fault.UnknownSemester, "semester %s is not loaded", s)
	}
	return ix, nil
}
