package omimap

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/pages/look"
)

// area is a zone of a made-up publication: a rectangle, and the range of its homes.
type area struct {
	code, town, province, zone string
	box                        [4]float64 // none: no perimeter
	low, high                  int
}

// publish imports a made-up publication in the official forms.
func publish(t *testing.T, lib *omi.Library, semester string, areas ...area) {
	t.Helper()
	var values, zones strings.Builder
	kml := map[string]string{}
	fmt.Fprintf(&values, "Quotazioni Immobiliari : Valori di Mercato - Semestre %s - elaborazione del 27-APR-19\nArea_territoriale;Regione;Prov;Comune_ISTAT;Comune_cat;Sez;Comune_amm;Comune_descrizione;Fascia;Zona;LinkZona;Cod_Tip;Descr_Tipologia;Stato;Stato_prev;Compr_min;Compr_max;Sup_NL_compr;Loc_min;Loc_max;Sup_NL_loc;\n", semester)
	fmt.Fprintf(&zones, "Quotazioni Immobiliari : Informazioni di Zona OMI - Semestre %s - elaborazione del 27-APR-19\nArea_territoriale;Regione;Prov;Comune_ISTAT;Comune_cat;Sez;Comune_amm;Comune_descrizione;Fascia;Zona_Descr;Zona;LinkZona;Cod_tip_prev;Descr_tip_prev;Stato_prev;Microzona;\n", semester)
	for _, a := range areas {
		head := fmt.Sprintf("NORD-OVEST;LOMBARDIA;%s;3015146;F2AA; ;%s;%s;%s;", a.province, a.code, a.town, a.zone[:1])
		fmt.Fprintf(&zones, "%s'ZONA %s';%s;MI00000001;20;Abitazioni civili;N;7;\n", head, a.zone, a.zone)
		if a.low > 0 {
			fmt.Fprintf(&values, "%s%s;MI00000001;20;Abitazioni civili;NORMALE;P;%d;%d;L;4;5,1;L;\n", head, a.zone, a.low, a.high)
			fmt.Fprintf(&values, "%s%s;MI00000001;13;Box;NORMALE;P;%d;%d;L;0;0; ;\n", head, a.zone, a.low, a.high)
		}
		if b := a.box; b != ([4]float64{}) {
			kml[a.code] += fmt.Sprintf(`<Placemark><name>X - Zona OMI %s</name><ExtendedData><Data name="CODCOM"><value>%s</value></Data><Data name="CODZONA"><value>%s</value></Data></ExtendedData><Polygon><outerBoundaryIs><LinearRing><coordinates>%f,%f,0 %f,%f,0 %f,%f,0 %f,%f,0 %f,%f,0</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark>`,
				a.zone, a.code, a.zone, b[0], b[1], b[2], b[1], b[2], b[3], b[0], b[3], b[0], b[1])
		}
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("VALORI.csv", values.String())
	write("ZONE.csv", zones.String())
	for code, marks := range kml {
		write(code+".kml", `<?xml version="1.0" encoding="UTF-8"?><kml><Document><name>X (MI) Anno/Semestre `+semester+` generato il 15/10/2019 12:00</name>`+marks+`</Document></kml>`)
	}
	if _, err := lib.Import(t.Context(), []string{dir}, omi.ImportOptions{AllowPartial: true}); err != nil {
		t.Fatal(err)
	}
}

// country is two semesters with perimeters, one of a single town, and one without.
func country(t *testing.T) (*omi.Library, http.Handler) {
	t.Helper()
	lib, err := omi.OpenLibrary(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ground := []area{
		{"F205", "MILANO", "MI", "B1", [4]float64{9.1, 45.4, 9.2, 45.5}, 2000, 3000},
		{"F205", "MILANO", "MI", "C1", [4]float64{9.2, 45.4, 9.3, 45.5}, 1000, 1400},
		{"F205", "MILANO", "MI", "R1", [4]float64{}, 0, 0},
		{"A001", "SAMONE", "TO", "B1", [4]float64{7.1, 45.4, 7.2, 45.5}, 500, 600},
		{"A002", "SAMONE", "TN", "B1", [4]float64{11.1, 45.4, 11.2, 45.5}, 500, 600},
		{"A003", "FORLI`", "FO", "B1", [4]float64{12.1, 44.4, 12.2, 44.5}, 700, 900},
		{"A004", "<SCRIPT>ALERT(1)</SCRIPT>\" ONX=`1", "MI", "B1", [4]float64{9.4, 45.4, 9.5, 45.5}, 700, 900},
	}
	publish(t, lib, "2018/2", ground...)
	for i := range ground {
		ground[i].box, ground[i].low, ground[i].high = [4]float64{}, ground[i].low*9/10, ground[i].high*9/10
	}
	publish(t, lib, "2017/1", ground...)
	publish(t, lib, "2025/2", area{"F205", "MILANO", "MI", "B1", [4]float64{9.1, 45.4, 9.2, 45.5}, 4000, 5000})
	return lib, New(look.NewSite(look.Options{}), keeper{lib}, nowhere{lib}, 0)
}

type keeper struct{ *omi.Library }

func ask(h http.Handler, path string, header ...string) (*http.Response, string) {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Accept-Language", "it")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), strings.ReplaceAll(w.Body.String(), "&#43;", "+")
}

var (
	zoneMark  = regexp.MustCompile(`id="zone" data-code="([^"]*)" data-municipality="([^"]*)"`)
	valueRows = regexp.MustCompile(`(?s)<tbody id="values">(.*?)</tbody>`)
	chosen    = regexp.MustCompile(`<option value="([^"]*)" selected>`)
	alert     = regexp.MustCompile(`(?s)role="alert"[^>]*>(.*?)</div>`)
	words     = regexp.MustCompile(`<[^>]*>`)
)

func TestZoneAtAPlace(t *testing.T) {
	_, h := country(t)
	for _, c := range []struct{ path, zone, semester, sale string }{
		{"/map?lat=45.45&lng=9.15", "B1 F205", "2025/2", "4.000–5.000"},
		{"/map?lat=45,45&lng=9,15", "B1 F205", "2025/2", "4.000–5.000"},
		{"/map?lat=45.45&lng=9.15&semester=2018/2", "B1 F205", "2018/2", "2.000–3.000"},
		{"/map?lat=45.45&lng=9.15&semester=2018%2F2", "B1 F205", "2018/2", "2.000–3.000"},
		{"/map?lat=45.45&lng=9.15&semester=2017/1", "B1 F205", "2017/1", "1.800–2.700"}, // by its name
		{"/map?lat=45.45&lng=9.25", "C1 F205", "2018/2", "1.000–1.400"},                 // the newest has it not
		{"/map?municipality=F205&zone=C1&semester=2018/2", "C1 F205", "2018/2", "1.000–1.400"},
		{"/map?municipality=f205&zone=b1", "B1 F205", "2025/2", "4.000–5.000"},
	} {
		resp, body := ask(h, c.path)
		m := zoneMark.FindStringSubmatch(body)
		if resp.StatusCode != 200 || m == nil || m[1]+" "+m[2] != c.zone {
			t.Fatalf("%s: %d %v", c.path, resp.StatusCode, m)
		}
		if s := chosen.FindStringSubmatch(body); s == nil || s[1] != c.semester {
			t.Errorf("%s: semester %v, want %s", c.path, s, c.semester)
		}
		rows := valueRows.FindStringSubmatch(body)
		if rows == nil || strings.Count(rows[1], "<tr>") != 2 || !strings.Contains(rows[1], c.sale) {
			t.Errorf("%s: values %v, want %s", c.path, rows, c.sale)
		}
		if resp.Header.Get("X-Data-Source") != omi.Attribution || !strings.Contains(body, omi.Attribution) {
			t.Errorf("%s: the source is not named", c.path)
		}
		if strings.Contains(c.path, "lat") && !strings.Contains(body, "&amp;semester="+c.semester+`"`) {
			t.Errorf("%s: no permanent link", c.path)
		}
	}
}

func TestSemestersSideBySide(t *testing.T) {
	_, h := country(t)
	_, body := ask(h, "/map?lat=45.45&lng=9.15&semester=2018/2")
	if !strings.Contains(body, "Vendita 2017/1") || !strings.Contains(body, "+11,1 %") || !strings.Contains(body, `class="history"`) {
		t.Error("the semester before is not beside it")
	}
	_, body = ask(h, "/map?lat=45.45&lng=9.15&semester=2018/2&vs=2025/2")
	if !strings.Contains(body, "Vendita 2025/2") || !strings.Contains(body, "−44,4 %") {
		t.Error("the semester asked for is not beside it")
	}
	_, body = ask(h, "/map?lat=45.45&lng=9.15&semester=2018/2&vs=none")
	if strings.Contains(body, "Variazione") {
		t.Error("a semester is beside it that was not asked for")
	}
}

func TestSearchLeads(t *testing.T) {
	lib, h := country(t)
	table := filepath.Join(t.TempDir(), "INDIR.csv")
	if err := os.WriteFile(table, []byte("CODICE_COMUNE;ODONIMO;CIVICO;ESPONENTE;COORD_X_COMUNE;COORD_Y_COMUNE\nF205;VIA TORINO;10;;9,18;45,46\nF205;VIA TORINO;12;;9,181;45,461\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lib.ImportAddresses(t.Context(), []string{table}, nil); err != nil {
		t.Fatal(err)
	}
	for q, want := range map[string]string{
		"milano": "/map?municipality=F205", "FORLÌ": "/map?municipality=A003", "forli'": "/map?municipality=A003", "mila": "/map?municipality=F205", "samone tn": "/map?municipality=A002", "f205": "/map?municipality=F205",
		"milano c1": "/map?lat=45.412503&lng=9.249985", "zona B1, Milano": "/map?lat=45.487502&lng=9.150094", "59100": "/map?lat=43.88&lng=11.1&address=59100+Prato", "via torino 10, milano": "/map?lat=45.46&lng=9.18&address=Via+Torino+10%2C+Milano",
		"45.45,9.15": "/map?lat=45.45&lng=9.15", "45,45; 9,15": "/map?lat=45.45&lng=9.15", "45.45 9.15": "/map?lat=45.45&lng=9.15", "9.15,45.45": "/map?lat=9.15&lng=45.45",
	} {
		resp, _ := ask(h, "/map?q="+strings.NewReplacer(" ", "+", ";", "%3B", ",", "%2C", "Ì", "%C3%8C").Replace(q))
		if got := resp.Header.Get("Location"); resp.StatusCode != http.StatusSeeOther || got != want {
			t.Errorf("%q: %d %q, want %q", q, resp.StatusCode, got, want)
		}
	}
	resp, _ := ask(h, "/map?q=milano&semester=2018/2")
	if got := resp.Header.Get("Location"); got != "/map?municipality=F205&semester=2018/2" {
		t.Errorf("the semester is lost: %q", got)
	}
	resp, body := ask(h, "/map?q=samone")
	if resp.StatusCode != 200 || strings.Count(body, ">Samone</a>") != 2 || !strings.Contains(body, "Torino") || !strings.Contains(body, "Trento") {
		t.Errorf("two of one name: %d", resp.StatusCode)
	}
	for q, say := range map[string]string{"nowhere": "nessun comune", "%3Cscript%3Ealert(2)%3C/script%3E": "nessun comune", "milano+zz9": "nessuna zona", "99.5,200": "non esistono"} {
		_, body := ask(h, "/map?q="+q)
		if m := alert.FindStringSubmatch(body); m == nil || !strings.Contains(m[1], say) {
			t.Errorf("%s: %v", q, m)
		}
		if strings.Contains(strings.ToLower(body), "<script>alert") {
			t.Errorf("%s comes back as markup", q)
		}
	}
}

func TestRefusalsAreSaid(t *testing.T) {
	_, h := country(t)
	for path, want := range map[string]struct {
		status int
		say    string
	}{
		"/map?lat=abc&lng=9":                      {422, "coordinate"},
		"/map?lat=45":                             {422, "coordinate"},
		"/map?lat=NaN&lng=9":                      {422, "coordinate"},
		"/map?lat=95&lng=9":                       {422, "coordinate"},
		"/map?semester=1999/1":                    {422, "semestre"},
		"/map?semester=x":                         {422, "semestre"},
		"/map?municipality=Z999":                  {422, "comune"},
		"/map?municipality=F205&zone=Z9":          {422, "zona"},
		"/map?province=ZZ":                        {422, "provincia"},
		"/map?lat=40&lng=5":                       {200, "Nessuna zona OMI"},
		"/map?lat=9.15&lng=45.45":                 {200, "scambiate"},
		"/map?lat=45.45&lng=9.0995":               {200, "Nessuna zona OMI"},
		"/map?lat=45.45&lng=9.25&semester=2025/2": {200, "in altri semestri"},
	} {
		resp, body := ask(h, path)
		m := alert.FindStringSubmatch(body)
		if resp.StatusCode != want.status || m == nil || !strings.Contains(m[1], want.say) {
			t.Errorf("%s: %d %v", path, resp.StatusCode, m)
		}
	}
	_, body := ask(h, "/map?lat=9.15&lng=45.45")
	if !strings.Contains(body, `href="/map?lat=45.45&amp;lng=9.15"`) {
		t.Error("swapped coordinates are not put right")
	}
	if _, body = ask(h, "/map?lat=45.45&lng=9.0995"); !strings.Contains(body, "La più vicina è B1 di Milano, a 39 metri") {
		t.Error("the nearest zone is not named")
	}
	if resp, _ := ask(h, "/map/nothing"); resp.StatusCode != 404 {
		t.Errorf("an address below the map: %d", resp.StatusCode)
	}
}

// Everything on the map is in the list too, and leads to where the drawing leads.
func TestListsAndDrawingsAgree(t *testing.T) {
	_, h := country(t)
	inMap := regexp.MustCompile(`<a href="([^"]*)" tabindex="-1">`)
	for path, want := range map[string]int{"/map": 4, "/map?province=MI": 2, "/map?municipality=F205&semester=2018/2": 2, "/map?lat=45.45&lng=9.25": 1} {
		_, body := ask(h, path)
		links := inMap.FindAllStringSubmatch(body, -1)
		if len(links) != want {
			t.Errorf("%s: %d areas are drawn, want %d", path, len(links), want)
		}
		_, panel := ask(h, path, part, "panel")
		for _, l := range links {
			if !strings.Contains(panel, `href="`+l[1]+`"`) {
				t.Errorf("%s: %s is on the map only", path, l[1])
			}
			if resp, _ := ask(h, html.UnescapeString(l[1])); resp.StatusCode != 200 {
				t.Errorf("%s leads to %d", l[1], resp.StatusCode)
			}
		}
		if strings.Contains(panel, "<html") || !strings.Contains(panel, `id="view"`) {
			t.Errorf("%s: the panel is not a part", path)
		}
	}
	_, body := ask(h, "/map?municipality=F205&semester=2018/2")
	for _, code := range []string{"B1", "C1", "R1"} {
		if !strings.Contains(body, `data-code="`+code+`"`) {
			t.Errorf("zone %s is not listed", code)
		}
	}
	if !strings.Contains(body, `href="/map?municipality=F205&amp;zone=R1&amp;semester=2018/2"`) {
		t.Error("a zone without ground has no address")
	}
}

// A semester without perimeters is drawn on the ground of one that has them, in its
// own colours.
func TestSemesterWithoutPerimetersIsDrawn(t *testing.T) {
	_, h := country(t)
	for _, path := range []string{"/map?semester=2017/1", "/map?province=TO&semester=2017/1", "/map?municipality=A001&semester=2017/1", "/map?lat=45.45&lng=7.15&semester=2017/1"} {
		_, body := ask(h, path)
		if !strings.Contains(body, `<path class="c1`) { // 495 euro
			t.Errorf("%s is not drawn", path)
		}
	}
	_, body := ask(h, "/map/areas?level=zones&x=28&y=181&semester=2017/1")
	if !strings.Contains(body, `["B1",495,`) {
		t.Errorf("the zone is not loaded: %.200s", body)
	}
}

func TestNamesAreNoMarkup(t *testing.T) {
	_, h := country(t)
	for _, path := range []string{"/map?municipality=A004", "/map?province=MI", "/map?lat=45.45&lng=9.45"} {
		_, body := ask(h, path)
		if strings.Contains(strings.ToLower(body), "<script>alert") || strings.Contains(body, `" Onx=`) {
			t.Errorf("%s: a name is markup", path)
		}
	}
	_, body := ask(h, "/map/areas?level=zones&x=37&y=181")
	if !json.Valid([]byte(body)) {
		t.Error("a tile is not JSON")
	}
}

func TestTiles(t *testing.T) {
	_, h := country(t)
	_, page := ask(h, "/map")
	version := regexp.MustCompile(`data-tiles="([^"]*)"`).FindStringSubmatch(page)[1]
	read := func(query string) (towns, shapes int) {
		resp, body := ask(h, "/map/areas?"+query+"&v="+version)
		var tile struct{ Areas [][]any }
		if err := json.Unmarshal([]byte(body), &tile); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		if !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") || resp.Header.Get("X-Data-Source") == "" {
			t.Errorf("%s: %v", query, resp.Header)
		}
		for _, a := range tile.Areas {
			shapes += len(a) - 6
		}
		return len(tile.Areas), shapes
	}
	for query, want := range map[string][2]int{
		"level=provinces": {4, 4}, "level=municipalities&x=9&y=45": {2, 2}, "level=municipalities&x=30&y=45": {0, 0},
		"level=zones&x=36&y=181": {1, 1}, "level=detail&x=91&y=454": {1, 1}, // of Milano the newest publication decides
	} {
		if towns, shapes := read(query); towns != want[0] || shapes != want[1] {
			t.Errorf("%s: %d areas, %d shapes, want %v", query, towns, shapes, want)
		}
	}
	for _, bad := range []string{"", "level=x&x=1&y=1", "level=zones&x=a&y=1", "level=zones&x=99999999&y=1", "level=municipalities&x=1000&y=1", "level=provinces&semester=x"} {
		if resp, _ := ask(h, "/map/areas?"+bad); resp.StatusCode < 400 || resp.StatusCode > 499 {
			t.Errorf("%q: %d", bad, resp.StatusCode)
		}
	}
	if resp, _ := ask(h, "/map/areas?level=provinces&v=old"); strings.Contains(resp.Header.Get("Cache-Control"), "immutable") {
		t.Error("another version may be kept")
	}
}

func TestCompressed(t *testing.T) {
	_, h := country(t)
	for _, path := range []string{"/map", "/map/areas?level=provinces", "/map?q=milano", "/map?lat=x&lng=y"} {
		resp, body := ask(h, path, "Accept-Encoding", "gzip")
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil || resp.Header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("%s: %v %v", path, err, resp.Header)
		}
		if b, err := io.ReadAll(z); err != nil || len(b) == 0 {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
}

func TestSampleIsShown(t *testing.T) {
	lib, err := omi.OpenLibrary(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := New(look.NewSite(look.Options{Sandbox: true}), keeper{lib}, nowhere{lib}, 0)
	_, body := ask(h, "/map")
	if !strings.Contains(body, "isola inventata") || !strings.Contains(body, "<path") {
		t.Error("the sample is not shown, or not told")
	}
	_, body = ask(h, "/map?lat=38.6&lng=17.6", "Accept-Language", "en")
	if m := zoneMark.FindStringSubmatch(body); m == nil || m[1] != "B1" {
		t.Errorf("zone %v", m)
	}
	if !strings.Contains(body, "Ordinary homes") || !strings.Contains(words.ReplaceAllString(body, ""), "2,100–2,900") {
		t.Error("the English page is not in English")
	}
}

func TestNothingIsLoaded(t *testing.T) {
	h := New(look.NewSite(look.Options{}), none{}, nowhere{}, 0)
	for _, path := range []string{"/map", "/map/areas?level=provinces"} {
		if resp, body := ask(h, path); resp.StatusCode != 503 || !alert.MatchString(body) {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
}

type none struct{}

func (none) Current() *omi.Set { return &omi.Set{} }

// Whatever is in the address, the page answers, and without a failure of its own.
func FuzzAddress(f *testing.F) {
	lib, err := omi.OpenLibrary(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	h := New(look.NewSite(look.Options{}), keeper{lib}, nowhere{lib}, 0)
	for _, q := range []string{"lat=38.6&lng=17.6&vs=2018/2", "q=isola", "municipality=Z999&zone=B1", "province=XX", "semester=2026/1", "lat=-90&lng=180", "q=1e5,3"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		r := httptest.NewRequest(http.MethodGet, "/map", nil)
		r.URL.RawQuery = q
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code >= 500 {
			t.Errorf("%q: %d", q, w.Code)
		}
	})
}

// An address that asks without end is asked to wait, with a page; others are not.
func TestMapIsLimited(t *testing.T) {
	lib, _ := country(t)
	h := New(look.NewSite(look.Options{}), keeper{lib}, nowhere{lib}, 2)
	ask := func(from, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"/map", "/map/areas?level=provinces"} {
		if w := ask("192.0.2.1:1", path); w.Code != http.StatusOK {
			t.Fatalf("%s: %d", path, w.Code)
		}
	}
	if w := ask("192.0.2.1:2", "/map"); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `role="alert"`) {
		t.Errorf("a third time: %d %v", w.Code, w.Header())
	}
	if w := ask("192.0.2.2:1", "/map"); w.Code != http.StatusOK {
		t.Errorf("somebody else: %d", w.Code)
	}
}

// nowhere has the addresses of a library, and no geocoder but one that knows Prato.
type nowhere struct{ *omi.Library }

func (n nowhere) HasAddresses() bool { return n.Library != nil && n.Library.HasAddresses() }

func (nowhere) Locates() bool { return true }

func (nowhere) Locate(_ context.Context, sought string) ([]Located, error) {
	if sought == "59100" {
		return []Located{{"59100 Prato", 43.88, 11.1}}, nil
	}
	return nil, nil
}

// Colours are of one semester: what is published for another is hatched, in the
// drawing and in lists, and the text above the map says so.
func TestOneSemesterAScale(t *testing.T) {
	_, h := country(t)
	for path, want := range map[string]struct {
		scale, others string
		hatched       int
	}{
		"/map":                                   {"2018/2", "2025/2", 0}, // provinces are of the broadest
		"/map?province=MI":                       {"2025/2", "2018/2", 1},
		"/map?municipality=F205":                 {"2025/2", "2018/2", 0},
		"/map?municipality=A003":                 {"2018/2", "2025/2", 0},
		"/map?lat=45.45&lng=9.15":                {"2025/2", "2018/2", 0},
		"/map?province=MI&semester=2018/2":       {"2018/2", "", 0},
		"/map?municipality=F205&semester=2017/1": {"2017/1", "", 0},
	} {
		_, body := ask(h, path)
		if !strings.Contains(body, `data-scale="`+want.scale+`"`) || !strings.Contains(body, "Colori: semestre "+want.scale+".") {
			t.Errorf("%s: %s", path, regexp.MustCompile(`data-scale="[^"]*"`).FindString(body))
		}
		if has := strings.Contains(body, "pubblicate per un altro semestre ("+want.others+")"); has != (want.others != "") {
			t.Errorf("%s: the other semesters are not as they should: %q", path, want.others)
		}
		if n := strings.Count(body, `fill="url(#hatch)"`); n != want.hatched {
			t.Errorf("%s: %d hatched areas, want %d", path, n, want.hatched)
		}
		if has := strings.Contains(body, `id="other-key" hidden`); has == (want.others != "") {
			t.Errorf("%s: the legend does not fit", path)
		}
	}
	_, tile := ask(h, "/map/areas?level=municipalities&x=9&y=45")
	if !strings.Contains(tile, `"F205",4500,"2025/2",2`) || !strings.Contains(tile, `"A004",800,"2018/2",2`) {
		t.Errorf("the semesters are not in the tile: %.300s", tile)
	}
}

func TestEstimateOnThePage(t *testing.T) {
	_, h := country(t)
	_, body := ask(h, "/map?lat=45.45&lng=9.15&surface=85")
	for _, want := range []string{`id="sale">340.000–425.000 €<`, `id="rent">340–434 €<`, "non è una perizia", "1,0–1,5 %"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not there", want)
		}
	}
	for _, bad := range []string{"x", "0", "-3", "1e9", "NaN"} {
		if _, body := ask(h, "/map?lat=45.45&lng=9.15&surface="+bad); !strings.Contains(body, "Scrivi una superficie") {
			t.Errorf("%s is taken", bad)
		}
	}
	if _, body := ask(h, "/map?lat=45.45&lng=9.15&surface=85&type=Box&condition=OTTIMO"); !strings.Contains(body, "non è quotata") {
		t.Error("what is not quoted is estimated")
	}
	_, body = ask(h, "/map?municipality=F205&semester=2018/2&compare=F205/B1&compare=F205/C1&compare=F205/X9&compare=x")
	if !strings.Contains(body, `id="compare"`) || strings.Count(body[strings.Index(body, `id="compare"`):strings.Index(body, `class="listed"`)], "<tr>") != 3 {
		t.Error("two zones are not beside one another")
	}
	resp, table := ask(h, "/map/values.csv?municipality=F205&semester=2018/2")
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/csv") || strings.Count(table, "\n") != 5 || !strings.Contains(table, "Agenzia Entrate - OMI") {
		t.Errorf("%d %s", resp.StatusCode, table)
	}
	if resp, table := ask(h, "/map/values.csv?municipality=F205&zone=C1&semester=2018/2"); resp.StatusCode != 200 || strings.Count(table, "\n") != 3 {
		t.Errorf("%d %s", resp.StatusCode, table)
	}
	if resp, _ := ask(h, "/map/values.csv?municipality=Z000"); resp.StatusCode != 404 {
		t.Errorf("%d for a town that there is not", resp.StatusCode)
	}
}
