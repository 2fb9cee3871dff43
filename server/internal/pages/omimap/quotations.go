// Package omimap is the page of real-estate quotations, /map: the zones of the
// Osservatorio del Mercato Immobiliare on a map and as a list, with their values
// over the semesters. Everything is in the page as the server writes it; the script
// makes the map one that can be moved.
//
// The page is open to anybody and costs no lookups: it shows published data, a
// place at a time. For many there is the API, with an account.
package omimap

import (
	"compress/gzip"
	"context"
	"embed"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

//go:embed page
var files embed.FS

// Publications are those that are loaded.
type Publications interface{ Current() *omi.Set }

// Pages serves the map.
type Pages struct {
	site         *look.Site
	set          *look.Set
	publications Publications
	finder       Finder
	limit        api.PerMinute
	perMinute    int
}

// Finder finds addresses.
type Finder interface {
	// Addresses finds a street and a number in a municipality.
	Addresses(cadastral, sought string) ([]omi.Address, error)
	HasAddresses() bool
	// Locate asks a geocoder, where there is one.
	Locate(ctx context.Context, sought string) ([]Located, error)
	Locates() bool
}

// Located is a place that a geocoder knows.
type Located struct {
	Name     string
	Lat, Lng float64
}

// New returns the handler of /map and what is below it. An address may ask for so
// many pages and tiles a minute; 0: no limit.
func New(site *look.Site, publications Publications, finder Finder, perMinute int) http.Handler {
	p := &Pages{site: site, set: site.Set(files), publications: publications, finder: finder, perMinute: perMinute}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /map", p.limited(compressed(p.show)))
	mux.HandleFunc("GET /map/areas", p.limited(compressed(p.tile)))
	mux.HandleFunc("GET /map/values.csv", p.limited(compressed(p.csv)))
	mux.HandleFunc("/", site.NotFound)
	return mux
}

// limited keeps one address from having the map drawn without end: a page of a
// province takes some ten milliseconds of a processor.
func (p *Pages) limited(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if wait := p.limit.Take(r.RemoteAddr, p.perMinute, time.Now()); wait > 0 {
			f := look.Refusal(fault.LimitReached, look.T("Your address asked for too much of the map in the last minute. Wait a moment and try again.", "Dal tuo indirizzo è stata chiesta troppa mappa nell'ultimo minuto. Aspetta un momento e riprova."))
			f.RetryAfter = wait
			p.site.FailTo(w, r, f, look.Link{Path: "/map", Name: look.T("Back to the map", "Torna alla mappa")})
			return
		}
		h(w, r)
	}
}

// compressed lets a handler answer in gzip to those who take it. Nothing on these pages is secret,
// so its length reveals nothing.
func compressed(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if r.Method == http.MethodHead || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h(w, r)
			return
		}
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is one of its own
		defer z.Close()
		h(&zipped{w, z}, r)
	}
}

// zipped writes a body through gzip. A redirect has one too: a line of HTML.
type zipped struct {
	http.ResponseWriter
	to io.Writer
}

func (z *zipped) WriteHeader(status int) {
	z.Header().Set("Content-Encoding", "gzip")
	z.ResponseWriter.WriteHeader(status)
}

func (z *zipped) Write(b []byte) (int, error) {
	if z.Header().Get("Content-Encoding") == "" {
		z.WriteHeader(http.StatusOK)
	}
	return z.to.Write(b)
}

// layers are the publications that answer: that of a semester, or all from the
// active one backwards.
func layersOf(set *omi.Set, semester string) (layers, error) {
	if set.Active() == nil {
		return nil, fault.New(fault.NoPublication, "no publication is loaded")
	}
	if semester == "" {
		return set.Since(), nil
	}
	s, err := omi.ParseSemester(semester)
	if ix, ok := set.Semester(s); err == nil && ok {
		return layers{ix}, nil
	}
	return nil, look.Refusal(fault.UnknownSemester, look.T("This server has no publication of that semester. Choose one from the list.", "Questo server non ha la pubblicazione di quel semestre. Scegline uno dall'elenco."))
}

// page is what the template shows.
type page struct {
	look.Head
	Q         string
	Semester  string // that was asked for
	Semesters []look.Option
	Keep      []field // what forms send along
	Tiles     string  // the version of what the script loads
	Sample    bool
	Source    string
	Legend    []key
	Path      []line // from Italy to what is shown
	Map       *figure
	Heading   string
	Note      look.Text // under the heading
	Hint      *line     // what was perhaps meant
	Regions   []group
	Found     []line // search, or the municipalities of a province
	More      int    // of them that are not shown
	Zones     []zoneLine
	Zone      *zoneView
	Scale     string   // the semester that colours are of
	Others    []string // those of hatched areas
	Table     string   // where the values are as CSV
	Sorted    bool     // zones by price
	SortLink  string
	Compare   []comparedLine
	Surface   string // as it was asked for
	Addressed bool   // addresses are found too
	Address   string // that led to the place: a printed estimate names it
}

type field struct{ Name, Value string }

// line is a link, with a price in euro per square metre.
type line struct {
	Link, Name, More, Price string
	Class                   int
	Current                 bool
	Other                   string // the semester, where it is another than that of the colours
}

// group is a region and its provinces.
type group struct {
	Name  string
	Lines []line
}

// request is one request on its way.
type request struct {
	*page
	set   *omi.Set
	shown layers  // the publications that answer
	drawn drawing // those that are drawn
	lang  paper.Lang
	draws bool // the answer has a drawing

	finder    Finder
	addresses bool
	ctx       context.Context
	compare   []string
	ask       asked
}

// part is the header by which the script asks for what is beside the map only.
const part = "X-Part"

func (p *Pages) show(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	set := p.publications.Current()
	if set.Active() == nil {
		p.site.Fail(w, r, fault.New(fault.NoPublication, "no publication is loaded"))
		return
	}
	v := &request{page: &page{Q: q.Get("q"), Source: omi.Attribution, Semester: q.Get("semester"), Address: q.Get("address")}, set: set, lang: look.Language(r), draws: r.Header.Get(part) == ""}
	v.Head = look.Head{Title: look.T("Property values on the map", "Quotazioni immobiliari sulla mappa"), Section: "/map", Scripts: []string{"map.js"}, Styles: []string{"map.css"}, Wide: true}
	v.Legend = legend(v.lang)
	v.ctx, v.finder, v.addresses = r.Context(), p.finder, p.finder.HasAddresses() || p.finder.Locates()
	v.Addressed, v.Sorted, v.compare = v.addresses, q.Get("sort") == "price", q["compare"][:min(len(q["compare"]), mostCompared)]
	v.ask = asked{surface: q.Get("surface"), kind: q.Get("type"), condition: q.Get("condition")}
	v.Surface, v.SortLink = v.ask.surface, sortLink(q)
	status := http.StatusOK
	var err error
	if v.shown, err = layersOf(set, v.Semester); err == nil {
		v.drawn = drawingOf(set, v.shown)
		v.comparison()
		var to string
		if to, err = v.answer(q); to != "" {
			http.Redirect(w, r, to, http.StatusSeeOther)
			return
		}
	}
	if err != nil {
		status = http.StatusUnprocessableEntity
		v.Alert, v.Semester, v.shown = look.Sentence(err), "", set.Since()
		v.drawn = drawingOf(set, v.shown)
		v.Regions, v.Found, v.Zones, v.Zone, v.Path, v.Map, v.Compare = nil, nil, nil, nil, nil, nil, nil
		v.overview()
	}
	v.Sample, v.Tiles = v.shown[0].Report().Sample, v.drawn.version()
	v.semesters()
	w.Header().Set("X-Data-Source", omi.Attribution)
	name := "map"
	if !v.draws {
		name = "map-panel"
	}
	p.set.Render(w, r, status, name, v.page)
}

// answer fills in the page, or says where it is.
func (v *request) answer(q url.Values) (to string, err error) {
	switch {
	case strings.TrimSpace(v.Q) != "":
		return v.search()
	case q.Has("lat") || q.Has("lng"):
		lat, ok1 := parseDegrees(q.Get("lat"))
		lng, ok2 := parseDegrees(q.Get("lng"))
		at := point{lat, lng}
		if !ok1 || !ok2 || !at.onEarth() {
			return "", look.Refusal(fault.BadCoordinate, look.T("These are no coordinates. Write a latitude and a longitude in degrees, such as 45.4642, 9.19.", "Queste non sono coordinate. Scrivi latitudine e longitudine in gradi, per esempio 45.4642, 9.19."))
		}
		v.at(at, q.Get("vs"))
	case q.Get("municipality") != "":
		return "", v.municipality(strings.ToUpper(q.Get("municipality")), strings.ToUpper(q.Get("zone")), q.Get("vs"))
	case q.Get("province") != "":
		return "", v.province(strings.ToUpper(q.Get("province")))
	default:
		v.overview()
	}
	return "", nil
}

// link is an address of the page, in the semester that was asked for.
func (v *request) link(pairs ...string) string {
	var b strings.Builder
	b.WriteString("/map")
	mark := byte('?')
	if v.Semester != "" {
		pairs = append(pairs, "semester", v.Semester)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		b.WriteByte(mark)
		b.WriteString(pairs[i] + "=" + strings.ReplaceAll(url.QueryEscape(pairs[i+1]), "%2F", "/"))
		mark = '&'
	}
	return b.String()
}

// semesters are those to choose from; the one that answered is chosen.
func (v *request) semesters() {
	now := v.Semester
	if v.Zone != nil {
		now = v.Zone.Semester
	}
	for _, ix := range v.set.All() {
		s := ix.Semester().String()
		v.Semesters = append(v.Semesters, look.Option{Value: s, Name: s, Selected: s == now})
	}
}

// price writes the middle of a range in whole euro.
func (v *request) price(milli int32) string {
	if milli <= 0 {
		return "–"
	}
	return look.Number(v.lang, milli/1000)
}
