package omimap

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

// scale says which semester the colours are of. Areas of others are hatched, and the
// text above the map names them.
func (v *request) scale(semester string) {
	v.Scale, v.Others = semester, nil
	for _, s := range v.drawn.semesters() {
		if s != semester {
			v.Others = append(v.Others, s)
		}
	}
}

// OthersNamed are the semesters of hatched areas.
func (p *page) OthersNamed() string { return strings.Join(p.Others, ", ") }

// sortLink is the address of the same page with zones in the other order.
func sortLink(q url.Values) string {
	q = maps.Clone(q)
	if q.Get("sort") == "price" {
		q.Del("sort")
	} else {
		q.Set("sort", "price")
	}
	return "/map?" + strings.ReplaceAll(q.Encode(), "%2F", "/")
}

// otherOf is the semester of a municipality, where it is not that of the colours.
func (v *request) otherOf(cadastral string) string {
	if len(v.Others) == 0 {
		return ""
	}
	if _, ix, ok := v.drawn.find(cadastral); ok && v.drawn.semesterOf(ix) != v.Scale {
		return v.drawn.semesterOf(ix)
	}
	return ""
}

// common is the semester that most of some municipalities have.
func (d drawing) common(towns []omi.Area) string {
	count := map[string]int{}
	best := d.semesterOf(d.broadest())
	for _, a := range towns {
		if _, ix, ok := d.find(a.CadastralCode); ok {
			count[d.semesterOf(ix)]++
		}
	}
	for s, n := range count {
		if n > count[best] || n == count[best] && s > best {
			best = s
		}
	}
	return best
}

// beyond looks for what is no municipality: a zone by its code, an address, a zone by
// words of its description, and last whatever a geocoder knows.
func (v *request) beyond() (to string, ok bool) {
	var lines []line
	for _, ix := range v.shown {
		for _, w := range ix.Whereabouts(v.Q) {
			zones := ix.Described(w.Area.CadastralCode, w.Rest)
			if len(zones) == 1 && strings.HasSuffix(omi.Plain(w.Rest), zones[0].Code()) {
				return v.zoneLink(zones[0]), true
			}
			streets, err := v.finder.Addresses(w.Area.CadastralCode, w.Rest)
			if err != nil {
				v.Note = look.T("Addresses cannot be searched just now.", "Al momento non si possono cercare indirizzi.")
			}
			for i, a := range streets {
				name := strings.TrimSpace(properName(a.Street)+" "+a.Number) + ", " + properName(w.Area.Name)
				at := v.link("lat", degrees(a.Lat), "lng", degrees(a.Lng), "address", name)
				if a.Exact && (len(streets) == 1 || a.Number != "" && i == 0 && !streets[1].Exact) {
					return at, true
				}
				l := line{Link: at, Name: name}
				if !a.Exact {
					l.More = look.T("the nearest number", "il civico più vicino").In(v.lang)
				}
				lines = append(lines, l)
			}
			if len(streets) > 0 {
				continue
			}
			for _, z := range zones {
				lines = append(lines, line{
					Link: v.zoneLink(z), Name: z.Code() + " " + sentence(z.Description()), More: properName(w.Area.Name) + ", " + z.Index().Semester().String(), Price: v.price(z.Homes()), Class: colour(z.Homes()),
				})
			}
		}
		if len(lines) > 0 {
			break // older publications have the same
		}
	}
	if len(lines) == 0 && v.finder.Locates() {
		places, err := v.finder.Locate(v.ctx, v.Q)
		if err != nil {
			v.Note = look.T("The service that finds addresses does not answer just now.", "Il servizio che trova gli indirizzi al momento non risponde.")
		}
		for _, p := range places {
			lines = append(lines, line{Link: v.link("lat", degrees(p.Lat), "lng", degrees(p.Lng), "address", p.Name), Name: p.Name})
		}
	}
	switch len(lines) {
	case 0:
		return "", false
	case 1:
		return lines[0].Link, true
	}
	v.overview()
	v.Regions = nil
	v.Heading = look.T("%d places fit “%s”", "%d luoghi corrispondono a “%s”").With(len(lines), v.Q).In(v.lang)
	v.Found = lines[:min(len(lines), mostFound)]
	v.More = len(lines) - len(v.Found)
	return "", true
}

// zoneLink is the address of a zone: a place in it, else its code.
func (v *request) zoneLink(z omi.Zone) string {
	if p, ok := inside(z); ok {
		return v.link("lat", degrees(p.Lat), "lng", degrees(p.Lng))
	}
	return v.link("municipality", z.Municipality().CadastralCode, "zone", z.Code())
}

// mostCompared is how many zones are compared at once.
const mostCompared = 8

// comparedLine is one zone beside others.
type comparedLine struct {
	Link, Code, Name, Town, Semester  string
	Kind, Sale, Rent, Yield, Estimate string
	Class                             int
}

// comparison sets zones beside one another that are named as H501/B12.
func (v *request) comparison() {
	surface, _ := parseDegrees(v.ask.surface)
	for _, name := range v.compare {
		cadastral, code, _ := strings.Cut(name, "/")
		z, ok := omi.FindZone(v.shown, cadastral, code)
		if !ok {
			continue
		}
		l := comparedLine{
			Link: v.zoneLink(z), Code: z.Code(), Name: cmp.Or(sentence(z.Description()), z.Code()), Town: properName(z.Municipality().Name), Semester: z.Index().Semester().String(), Class: colour(z.Homes()),
			Sale: "–", Rent: "–", Yield: "–",
		}
		if val, ok := z.Quoted(v.ask.kind, v.ask.condition); ok {
			e := z.Estimate(val, max(surface, 1))
			l.Kind = typeName(val.Type).In(v.lang) + ", " + strings.ToLower(cmp.Or(conditions[val.Condition].In(v.lang), val.Condition))
			l.Sale, l.Rent = v.money(val.Sale, val.SaleQuoted), v.money(val.Rent, val.RentQuoted)
			l.Yield = v.span(e.Yield, 2, " %")
			if surface >= 1 && surface <= omi.MostSurface {
				l.Estimate = v.span(e.Sale, 0, " €")
			}
		}
		v.Compare = append(v.Compare, l)
	}
}

// table is the address of a municipality's values as CSV.
func (v *request) table(cadastral string) string {
	return strings.Replace(v.link("municipality", cadastral), "/map?", "/map/values.csv?", 1)
}

// csv answers GET /map/values.csv: the values of a municipality, or of one of its
// zones, as a table.
func (p *Pages) csv(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	shown, err := layersOf(p.publications.Current(), q.Get("semester"))
	if err != nil {
		p.site.Fail(w, r, err)
		return
	}
	cadastral, code := strings.ToUpper(q.Get("municipality")), strings.ToUpper(q.Get("zone"))
	_, ix, ok := shown.find(cadastral)
	var zones []omi.Zone
	if ok {
		zones, _ = ix.ZonesOf(cadastral)
		zones = slices.DeleteFunc(zones, func(z omi.Zone) bool { return code != "" && z.Code() != code })
	}
	if len(zones) == 0 {
		p.site.Fail(w, r, look.Refusal(fault.NotFound, look.T("No municipality or zone has this code here.", "Qui nessun comune e nessuna zona ha questo codice.")))
		return
	}
	look.Headers(w)
	h := w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="omi-`+cadastral+`-`+strings.ReplaceAll(zones[0].Index().Semester().String(), "/", "-")+`.csv"`)
	h.Set("X-Data-Source", omi.Attribution)
	_ = omi.WriteCSV(w, zones) // the client may be gone
}
