package quotations

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
)

type municipalitiesInput struct {
	Semester string `query:"semester" doc:"a loaded semester; the active one by default" example:"2018/2"`
	Province string `query:"province" doc:"two letters of the cadastral province"`
	Q        string `query:"q" doc:"part of the name in any usual spelling, either name of a bilingual municipality, or a cadastral or ISTAT code"`
	Skip     int    `query:"skip" minimum:"0" default:"0" doc:"municipalities to leave out"`
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"municipalities at most"`
}

func (o *OMI) municipalities(ctx context.Context, in *municipalitiesInput) (api.Reply[[]municipality], error) {
	ix, err := o.index(in.Semester)
	if err != nil {
		return api.Reply[[]municipality]{}, err
	}
	list := []municipality{}
	skip := in.Skip
	var sought map[string]bool // by cadastral code
	if in.Q != "" {
		sought = map[string]bool{}
		found, _ := ix.Search(in.Q)
		for _, a := range found {
			sought[a.CadastralCode] = true
		}
	}
	for i := range ix.Municipalities() {
		m, zones := ix.Municipality(i)
		if in.Province != "" && !strings.EqualFold(in.Province, m.Province) || sought != nil && !sought[m.CadastralCode] {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if list = append(list, municipalityOf(m, zones)); len(list) == in.Limit {
			break
		}
	}
	return api.Found(list), nil
}

type municipalityInput struct {
	Code     string `path:"cadastral_code" doc:"cadastral (Belfiore) code" example:"F205"`
	Semester string `query:"semester" doc:"a loaded semester; the active one by default" example:"2018/2"`
}

func (o *OMI) municipality(ctx context.Context, in *municipalityInput) (api.Reply[municipalityZones], error) {
	ix, err := o.index(in.Semester)
	if err != nil {
		return api.Reply[municipalityZones]{}, err
	}
	code := strings.ToUpper(in.Code)
	zones, ok := ix.ZonesOf(code)
	m, known := ix.MunicipalityOf(code)
	if !ok || !known {
		return api.Reply[municipalityZones]{}, fault.New(fault.NotFound, "no municipality has this cadastral code in %s", ix.Semester())
	}
	data := municipalityZones{municipality: municipalityOf(m, len(zones)), Zones: []zoneSummary{}}
	for _, z := range zones {
		data.Zones = append(data.Zones, zoneSummaryOf(z))
	}
	return api.Found(data), nil
}

// zone answers GET /IT-omi/zones/{cadastral_code}/{omi_zone}.
func (o *OMI) zone(ctx context.Context, r *http.Request) (none api.Reply[Quotation], _ error) {
	q, err := parseLookupQuery(r.URL.RawQuery)
	if err != nil {
		return none, err
	}
	f, err := q.form(omi.FullGeometry)
	if err != nil {
		return none, err
	}
	ix, err := o.index(q.semester)
	if err != nil {
		return none, err
	}
	cadastral, code := strings.ToUpper(pathValue(r, "cadastral_code")), strings.ToUpper(pathValue(r, "omi_zone"))
	z, ok := ix.Zone(cadastral, code)
	if !ok {
		return none, fault.New(fault.NotFound, "there is no such zone in %s", ix.Semester())
	}
	return answer(omi.Answer{Zone: z}, true, f, "", etag(ix.ID()+cadastral+code, 0, 0, f, 0)), nil
}

func pathValue(r *http.Request, name string) string {
	v := chi.URLParam(r, name)
	if u, err := url.PathUnescape(v); err == nil {
		return u
	}
	return v
}

// zones answers GET /IT-omi/zones?bbox=….
func (o *OMI) zones(ctx context.Context, r *http.Request) (none api.Reply[api.None], _ error) {
	q, err := parseLookupQuery(r.URL.RawQuery)
	if err != nil {
		return none, err
	}
	box, err := q.box()
	if err != nil {
		return none, err
	}
	f, err := q.form(omi.FullGeometry)
	if err != nil {
		return none, err
	}
	ix, err := o.index(q.semester)
	if err != nil {
		return none, err
	}
	f.geojson = true
	return api.Reply[api.None]{
		Type: geoJSON, JSON: func(b []byte) []byte {
			return omi.AppendFeatureCollection(b, ix.Within(box[0], box[1], box[2], box[3]), f.geometry)
		},
		ETag: etag(ix.ID()+digestOf(q.bbox), box[0], box[1], f, box[2]+box[3]),
	}, nil
}
