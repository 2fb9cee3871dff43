package quotations

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/omi"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/publication"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// omiGate knows a user and an administrator.
type omiGate struct{}

func (omiGate) Authenticate(_ context.Context, r *http.Request, _ bool) (*account.Caller, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer user":
		return &account.Caller{AccountID: "u"}, nil
	case "Bearer admin":
		return &account.Caller{AccountID: "a", Admin: true}, nil
	}
	return nil, fault.New(fault.WrongToken, "wrong token")
}

func (omiGate) Allows(_ *account.Caller, _, _, segment string) bool { return segment == "IT-omi" }

// omiMeter is a meter with so many lookups in it.
type omiMeter struct{ left atomic.Int64 }

func (p *omiMeter) SpendLookups(_ context.Context, _ *account.Caller, n int) (int64, error) {
	left := p.left.Add(int64(-n))
	if left < 0 {
		p.left.Add(int64(n))
		return 0, fault.New(fault.NoCredit, "insufficient credit in wallet")
	}
	return left, nil
}

type omiServer struct {
	*httptest.Server
	meter  *omiMeter
	folder string // of the publications
	keeper *publication.Service
}

func newOMIServer(t testing.TB) *omiServer {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "omi")
	k, err := publication.Open(publication.Config{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	db, m := storetest.Open(t, store.Config{Data: t.TempDir(), Reserve: -1})
	a := api.New(api.Options{Gate: omiGate{}, Idempotency: idempotency.New(db, m)})
	s := &omiServer{meter: &omiMeter{}, folder: folder, keeper: k}
	s.meter.left.Store(1440)
	RegisterOMI(a, &OMI{Publications: k, Meter: s.meter})
	s.Server = httptest.NewServer(a.Handler())
	t.Cleanup(s.Close)
	return s
}

// omiAnswer is an answer taken apart.
type omiAnswer struct {
	status  int
	header  http.Header
	body    []byte
	Data    json.RawMessage `json:"data"`
	Success bool            `json:"success"`
	Message string          `json:"message"`
	Error   *int            `json:"error"`
}

func (s *omiServer) do(t testing.TB, r *http.Request) omiAnswer {
	t.Helper()
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer user")
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	a := omiAnswer{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	if res.Header.Get("Content-Type") == "application/json" && res.Header.Get("Content-Encoding") == "" {
		if err := json.Unmarshal(a.body, &a); err != nil {
			t.Fatalf("%s: %v", a.body, err)
		}
	}
	return a
}

func (s *omiServer) get(t testing.TB, path string, header ...string) omiAnswer {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return s.do(t, r)
}

const centre = "/IT-omi?latitude=38.6&longitude=17.6"

func TestOMILookup(t *testing.T) {
	s := newOMIServer(t)
	a := s.get(t, centre)
	if a.status != 200 || !a.Success || a.Message != "" || a.Error != nil {
		t.Fatalf("%d %+v", a.status, a)
	}
	var q Quotation
	dec := json.NewDecoder(bytes.NewReader(a.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		t.Fatal(err)
	}
	if q.Year != 2026 || q.Semester != 1 || q.OMIZone != "B1" || q.Location.Lat != 38.6 || len(q.Values) != 4 || len(q.Geometry) != 1 || q.Zone.Band != "B" {
		t.Errorf("%+v", q)
	}
	ring := q.Geometry[0].Exterior
	if ring[0] != ring[len(ring)-1] {
		t.Error("the ring is not closed")
	}
	if a.header.Get("X-Data-Source") != omi.Attribution || a.header.Get("X-Quota-Remaining") != "1439" || a.header.Get("Etag") == "" {
		t.Errorf("%v", a.header)
	}
	if !strings.HasPrefix(string(a.body), `{"data":{"year":2026,"semester":1,`) || !strings.HasSuffix(string(a.body), `,"success":true,"message":"","error":null}`) {
		t.Errorf("%s", a.body)
	}
}

func TestOMILookupOutside(t *testing.T) {
	s := newOMIServer(t)
	a := s.get(t, "/IT-omi?lat=41.9&lng=12.5")
	if a.status != 200 || !a.Success || string(a.Data) != "{}" || !strings.Contains(a.Message, "41.9") || !strings.Contains(a.Message, "12.5") {
		t.Fatalf("%s", a.body)
	}
	if s.meter.left.Load() != 1439 {
		t.Error("an answer costs one lookup, this one too")
	}
	a = s.get(t, "/IT-omi?lat=38.6&lng=17.5&nearest=1000&geometry=none")
	if string(a.Data) != "{}" {
		t.Errorf("%s", a.body)
	}
	a = s.get(t, "/IT-omi?lat=38.66&lng=17.6&nearest=1000&geometry=none")
	var q Quotation
	if err := json.Unmarshal(a.Data, &q); err != nil || q.OMIZone != "R1" && string(a.Data) != "{}" {
		t.Errorf("%v %s", err, a.body)
	}
}

func TestOMINearest(t *testing.T) {
	s := newOMIServer(t)
	a := s.get(t, "/IT-omi?latitude=38.6&longitude=17.6785&nearest=1000&geometry=none")
	var q Quotation
	if err := json.Unmarshal(a.Data, &q); err != nil {
		t.Fatal(err)
	}
	if q.OMIZone != "R1" || q.Distance <= 0 || q.Distance > 1000 || q.Location.Lng != 17.6785 {
		t.Errorf("%s", a.body)
	}
	if a = s.get(t, "/IT-omi?latitude=38.6&longitude=17.6785&geometry=none"); string(a.Data) != "{}" {
		t.Errorf("%s", a.body)
	}
}

func TestOMIRefusals(t *testing.T) {
	s := newOMIServer(t)
	for query, want := range map[string]struct {
		code int
		says string
	}{
		"latitude=91&longitude=9":                   {281, "between -90 and 90"},
		"latitude=-90.0000001&longitude=9":          {281, "latitude"},
		"latitude=1e999&longitude=9":                {281, "latitude"},
		"latitude=45&longitude=181":                 {282, "between -180 and 180"},
		"latitude=abc&longitude=9":                  {283, "latitude"},
		"latitude=NaN&longitude=9":                  {283, "latitude"},
		"latitude=Inf&longitude=9":                  {283, "latitude"},
		"latitude=0x1p3&longitude=9":                {283, "latitude"},
		"latitude=45,4&longitude=9":                 {283, "latitude"},
		"longitude=9":                               {283, "latitude"},
		"latitude=45":                               {283, "longitude"},
		"latitude=&longitude=9":                     {283, "latitude"},
		"":                                          {283, "latitude"},
		"latitude=45&longitude=9&semester=1999/1":   {284, "1999/1"},
		"latitude=45&longitude=9&semester=last":     {284, "semester"},
		"latitude=45&longitude=9&geometry=some":     {286, "geometry"},
		"latitude=45&longitude=9&format=xml":        {286, "format"},
		"latitude=45&longitude=9&nearest=1001":      {286, "nearest"},
		"latitude=45&longitude=9&nearest=-1":        {286, "nearest"},
		"latitude=45&longitude=9&nearest=far":       {286, "nearest"},
		"latitude=45&latitude=46&longitude=9":       {160, "latitude"},
		"latitude=%zz&longitude=9":                  {160, "latitude"},
		"latitude=45&longitude=9&geometry=":         {286, "geometry"},
		"latitude=45&longitude=9&semester=2026%2F1": {0, ""},
	} {
		a := s.get(t, "/IT-omi?"+query)
		if want.code == 0 {
			if a.status != 200 {
				t.Errorf("%s: %s", query, a.body)
			}
			continue
		}
		if a.status != 422 || a.Success || string(a.Data) != "null" || a.Error == nil || *a.Error != want.code || !strings.Contains(a.Message, want.says) {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
		if a.header.Get("X-Data-Source") == "" {
			t.Errorf("%s: no attribution", query)
		}
	}
	if left := s.meter.left.Load(); left != 1439 {
		t.Errorf("errors cost: %d left of 1440, one was good", left)
	}
	if a := s.get(t, "/IT-omi/municipalities?limit=0"); a.status != 422 || a.header.Get("X-Data-Source") == "" {
		t.Errorf("refused before it is looked at: %d %v", a.status, a.header)
	}
}

func TestOMIQuota(t *testing.T) {
	s := newOMIServer(t)
	s.meter.left.Store(1)
	if a := s.get(t, centre); a.status != 200 || a.header.Get("X-Quota-Remaining") != "0" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	if a := s.get(t, centre); a.status != 402 || *a.Error != 611 {
		t.Fatalf("%d %s", a.status, a.body)
	}
}

func TestOMIETag(t *testing.T) {
	s := newOMIServer(t)
	tag := s.get(t, centre).header.Get("Etag")
	left := s.meter.left.Load()
	a := s.get(t, centre, "If-None-Match", tag)
	if a.status != 304 || len(a.body) != 0 || s.meter.left.Load() != left {
		t.Fatalf("%d, %d bytes, %d left", a.status, len(a.body), s.meter.left.Load())
	}
	for _, other := range []string{"&geometry=none", "&format=geojson", "&nearest=5", "0001"} {
		if a := s.get(t, centre+other, "If-None-Match", tag); a.status != 200 {
			t.Errorf("%s: %d", other, a.status)
		}
	}
	s.importArchive(t, tinyPublication("2018/2", "F205"), 200)
	if a := s.get(t, centre, "If-None-Match", tag); a.status != 200 {
		t.Errorf("another publication: %d", a.status)
	}
}

func TestOMIGzip(t *testing.T) {
	s := newOMIServer(t)
	a := s.get(t, centre, "Accept-Encoding", "gzip")
	if a.header.Get("Content-Encoding") != "gzip" || !strings.Contains(a.header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("%v", a.header)
	}
	z, err := gzip.NewReader(bytes.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(z); err != nil || !json.Valid(b) {
		t.Fatal(err)
	}
}

func TestOMIGeoJSON(t *testing.T) {
	s := newOMIServer(t)
	a := s.get(t, centre+"&format=geojson")
	var f struct {
		Type     string
		Geometry struct {
			Type        string
			Coordinates [][][2]float64
		}
		Properties Quotation
	}
	if err := json.Unmarshal(a.body, &f); err != nil || a.header.Get("Content-Type") != geoJSON {
		t.Fatalf("%v %v", err, a.header)
	}
	if f.Type != "Feature" || f.Geometry.Type != "Polygon" || f.Geometry.Coordinates[0][0][0] < 17 || f.Properties.OMIZone != "B1" {
		t.Errorf("%s", a.body)
	}
	a = s.get(t, "/IT-omi/zones?bbox=17.4,38.5,17.7,38.7")
	var c struct {
		Type     string
		Features []json.RawMessage
	}
	if err := json.Unmarshal(a.body, &c); err != nil || c.Type != "FeatureCollection" || len(c.Features) != 5 || a.header.Get("Content-Type") != geoJSON {
		t.Fatalf("%v %d %v", err, len(c.Features), a.header)
	}
	for _, bad := range []string{"", "1,2,3", "17,38,17.5", "a,b,c,d", "18,38,17,39", "9,45,10.1,46", "0,0,1,91"} {
		if a := s.get(t, "/IT-omi/zones?bbox="+bad); a.status != 422 || *a.Error != 286 {
			t.Errorf("%s: %s", bad, a.body)
		}
	}
}

func (s *omiServer) post(t testing.TB, path, body string) omiAnswer {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return s.do(t, r)
}

func TestOMIBatch(t *testing.T) {
	s := newOMIServer(t)
	a := s.post(t, "/IT-omi/batch", `{"points":[{"id":"a","latitude":38.6,"longitude":17.6},{"id":7,"latitude":41.9,"longitude":12.5},
		{"latitude":91,"longitude":1},{"id":"d","latitude":"x","longitude":1},{"id":"e","longitude":1},3,{"id":"g","latitude":"38.6","longitude":"17.614"}],"geometry":"none"}`)
	var got []struct {
		ID      any
		Found   bool
		Result  Quotation
		Error   *int
		Message string
	}
	if err := json.Unmarshal(a.Data, &got); err != nil {
		t.Fatalf("%v %s", err, a.body)
	}
	line := ""
	for _, g := range got {
		code := 0
		if g.Error != nil {
			code = *g.Error
		}
		line += fmt.Sprintf("%v %v %s %d; ", g.ID, g.Found, g.Result.OMIZone, code)
	}
	if want := "a true B1 0; 7 false  0; <nil> false  281; d false  283; e false  283; <nil> false  286; g true C1 0; "; line != want {
		t.Errorf("got  %s\nwant %s", line, want)
	}
	if s.meter.left.Load() != 1437 || a.header.Get("X-Quota-Remaining") != "1437" {
		t.Errorf("%d left: each answered point costs one", s.meter.left.Load())
	}
	for body, code := range map[string]int{
		`{}`: 286, `{"points":3}`: 286, `{"points":[],"semester":"1999/1"}`: 284, `{"points":[],"geometry":"x"}`: 286,
		`{"points":[],"semester":5}`: 284, `{"points":[` + strings.Repeat("{},", 1000) + `{}]}`: 286,
		`[]`: 100, `{`: 100, `{"points":[],"points":[]}`: 100,
	} {
		if a := s.post(t, "/IT-omi/batch", body); a.Error == nil || *a.Error != code {
			t.Errorf("%.40s: %s", body, a.body)
		}
	}
	if a := s.post(t, "/IT-omi/batch", `{"points":[]}`); a.status != 200 || string(a.Data) != "[]" {
		t.Errorf("%s", a.body)
	}
	s.meter.left.Store(1)
	if a := s.post(t, "/IT-omi/batch", `{"points":[{"latitude":38.6,"longitude":17.6},{"latitude":38.6,"longitude":17.6}]}`); a.status != 402 || s.meter.left.Load() != 1 {
		t.Errorf("%s", a.body)
	}
}

func TestOMILists(t *testing.T) {
	s := newOMIServer(t)
	var list []municipality
	if a := s.get(t, "/IT-omi/municipalities?province=xx&q=d'esempio"); json.Unmarshal(a.Data, &list) != nil || len(list) != 1 || list[0].ZoneCount != 5 {
		t.Errorf("%s", a.body)
	}
	if a := s.get(t, "/IT-omi/municipalities?q=nowhere"); string(a.Data) != "[]" {
		t.Errorf("%s", a.body)
	}
	for _, bad := range []string{"limit=0", "limit=1001", "limit=x", "skip=-1"} {
		if a := s.get(t, "/IT-omi/municipalities?"+bad); a.status != 422 || *a.Error != 160 {
			t.Errorf("%s: %s", bad, a.body)
		}
	}
	a := s.get(t, "/IT-omi/municipalities/z999")
	var m struct {
		CadastralCode string `json:"cadastral_code"`
		Zones         []zoneSummary
	}
	if err := json.Unmarshal(a.Data, &m); err != nil || m.CadastralCode != "Z999" || len(m.Zones) != 5 || m.Zones[0].OMIZone != "B1" || !m.Zones[0].HasGeometry {
		t.Errorf("%v %s", err, a.body)
	}
	if a := s.get(t, "/IT-omi/municipalities/A001"); a.status != 404 || *a.Error != 140 {
		t.Errorf("%s", a.body)
	}
	a = s.get(t, "/IT-omi/zones/Z999/R1?geometry=simplified")
	var q Quotation
	if err := json.Unmarshal(a.Data, &q); err != nil || q.OMIZone != "R1" || q.Location != nil || len(q.Geometry) != 1 || len(q.Geometry[0].Holes) != 3 || !strings.Contains(string(a.Data), `"values":[]`) {
		t.Errorf("%v %s", err, a.body)
	}
	if a := s.get(t, "/IT-omi/zones/Z999/X1"); a.status != 404 || *a.Error != 140 {
		t.Errorf("%s", a.body)
	}
	if left := s.meter.left.Load(); left != 1440 {
		t.Errorf("lists cost: %d left", left)
	}
}

// tinyPublication is an archive in the official forms with one zone around Milan.
func tinyPublication(semester, cadastral string) map[string]string {
	const common = "NORD-OVEST;LOMBARDIA;MI;3015146;F2AA; ;%s;PROVA;B;"
	head := "Area_territoriale;Regione;Prov;Comune_ISTAT;Comune_cat;Sez;Comune_amm;Comune_descrizione;Fascia;"
	return map[string]string{
		"v.csv": "Quotazioni Immobiliari : Valori di Mercato - Semestre " + semester + " - elaborazione del 27-APR-19\n" + head +
			"Zona;LinkZona;Cod_Tip;Descr_Tipologia;Stato;Stato_prev;Compr_min;Compr_max;Sup_NL_compr;Loc_min;Loc_max;Sup_NL_loc;\n" +
			fmt.Sprintf(common, cadastral) + "B1;MI1;20;Abitazioni civili;NORMALE;P;810;1000;L;4;5,1;L;\n",
		"z.csv": "Quotazioni Immobiliari : Informazioni di Zona OMI - Semestre " + semester + " - elaborazione del 27-APR-19\n" + head +
			"Zona_Descr;Zona;LinkZona;Cod_tip_prev;Descr_tip_prev;Stato_prev;Microzona;\n" +
			fmt.Sprintf(common, cadastral) + "'CENTRO';B1;MI1;20;Abitazioni civili;N;0;\n",
		"k.kml": `<kml><Document><name>PROVA (MI) Anno/Semestre ` + semester + ` generato il 04/03/2019 17:41</name><Placemark><ExtendedData>` +
			`<Data name="CODCOM"><value>` + cadastral + `</value></Data><Data name="CODZONA"><value>B1</value></Data></ExtendedData><Polygon><outerBoundaryIs><LinearRing>` +
			`<coordinates>9,45,0 10,45,0 10,46,0 9,46,0 9,45,0</coordinates></LinearRing></outerBoundaryIs></Polygon></Placemark></Document></kml>`,
	}
}

func (s *omiServer) upload(t testing.TB, token string, files ...[]byte) omiAnswer {
	t.Helper()
	return s.uploadOnce(t, token, "", files...)
}

// partial, among the files of an upload, is the field that allows it.
var partial = []byte("partial")

// uploadOnce uploads under an idempotency key.
func (s *omiServer) uploadOnce(t testing.TB, token, key string, files ...[]byte) omiAnswer {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for _, f := range files {
		if bytes.Equal(f, partial) {
			_ = form.WriteField("allowPartial", "true")
			continue
		}
		w, err := form.CreateFormFile("file", "QIP1_RSSMRA80A01H501U.zip")
		if err != nil {
			t.Fatal(err)
		}
		w.Write(f)
	}
	form.Close()
	r, err := http.NewRequest(http.MethodPost, s.URL+"/IT-omi/publications", &b)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Authorization", "Bearer "+token)
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	return s.do(t, r)
}

func archive(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, content)
	}
	z.Close()
	return b.Bytes()
}

func (s *omiServer) importArchive(t testing.TB, files map[string]string, status int) omiAnswer {
	t.Helper()
	a := s.upload(t, "admin", archive(t, files))
	if a.status != status {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return a
}

func TestOMIPublications(t *testing.T) {
	s := newOMIServer(t)
	var list []publicationWire
	if a := s.get(t, "/IT-omi/publications"); json.Unmarshal(a.Data, &list) != nil || len(list) != 1 || !list[0].Sample || !list[0].Active {
		t.Fatalf("%s", a.body)
	}
	if a := s.upload(t, "user", archive(t, tinyPublication("2018/2", "F205"))); a.status != 403 || *a.Error != 131 {
		t.Fatalf("%s", a.body)
	}
	a := s.importArchive(t, tinyPublication("2018/2", "F205"), 200)
	var p publicationWire
	if err := json.Unmarshal(a.Data, &p); err != nil || a.Message != "Created" || p.Semester != "2018/2" || !p.Active || p.Zones != 1 || p.ProcessedAt == nil || *p.ProcessedAt != "2019-04-27" {
		t.Fatalf("%v %s", err, a.body)
	}
	// the parts of a publication may come as several files
	loose := tinyPublication("2018/1", "A001")
	if a := s.upload(t, "admin", []byte(loose["v.csv"]), []byte(loose["z.csv"]), archive(t, map[string]string{"k.kml": loose["k.kml"]})); a.status != 200 {
		t.Fatalf("%s", a.body)
	}
	mixed := tinyPublication("2019/1", "A001")
	mixed["k.kml"] = loose["k.kml"]
	for name, bad := range map[string][]byte{
		"mixed": archive(t, mixed), "cut": archive(t, mixed)[:300], "empty": nil, "nothing": []byte("hello"),
	} {
		if a := s.upload(t, "admin", bad); a.status != 422 || *a.Error != 287 || strings.Contains(a.Message, "RSSMRA") {
			t.Errorf("%s: %s", name, a.body)
		}
	}
	if a := s.upload(t, "admin"); a.status != 422 || *a.Error != 287 {
		t.Errorf("no file: %s", a.body)
	}
	if a := s.get(t, "/IT-omi/publications"); json.Unmarshal(a.Data, &list) != nil || len(list) != 2 || list[0].Semester != "2018/2" || !list[0].Active || list[1].Active {
		t.Errorf("%s", a.body)
	}
	if a := s.get(t, "/IT-omi?latitude=45.5&longitude=9.5&semester=2018/1"); !strings.Contains(string(a.Data), `"A001"`) {
		t.Errorf("%s", a.body)
	}
	if a := s.get(t, centre); string(a.Data) != "{}" {
		t.Errorf("the sample still answers: %s", a.body)
	}
	var h quotationHistory
	a = s.get(t, "/IT-omi/history?latitude=45.5&longitude=9.5")
	if err := json.Unmarshal(a.Data, &h); err != nil || len(h.History) != 2 || h.History[0].Semester != 2 || h.History[1].CadastralCode != "A001" || len(h.History[0].Values) != 1 {
		t.Errorf("%v %s", err, a.body)
	}
	// a semester without perimeters, by the name of its zone
	bare := tinyPublication("2017/2", "A001")
	delete(bare, "k.kml")
	if a := s.importArchive(t, bare, 422); *a.Error != 287 || !strings.Contains(a.Message, "no zone has a perimeter") || !strings.Contains(a.Message, "allowPartial=true") {
		t.Errorf("%s", a.body)
	}
	if a := s.upload(t, "admin", archive(t, bare), partial); a.status != 200 {
		t.Errorf("%s", a.body)
	}
	var past struct {
		History []struct {
			Year, Semester int
			Matched        string `json:"matched_by"`
			Values         []json.RawMessage
		}
	}
	a = s.get(t, "/IT-omi/history?latitude=45.5&longitude=9.5&geometry=full")
	if err := json.Unmarshal(a.Data, &past); err != nil || len(past.History) != 3 || past.History[1].Matched != "perimeter" || past.History[2].Matched != "zone" ||
		past.History[2].Year != 2017 || len(past.History[2].Values) != 1 {
		t.Errorf("%v %s", err, a.body)
	}
	if a := s.get(t, "/IT-omi/history?latitude=1&longitude=1"); a.status != 200 || !strings.Contains(string(a.Data), `"history":[]`) || a.Message == "" {
		t.Errorf("%s", a.body)
	}
}

// An upload is known again by its parts: each time it is sent, the boundary
// between them is another.
func TestOMIPublicationOnce(t *testing.T) {
	s := newOMIServer(t)
	first := archive(t, tinyPublication("2018/2", "F205"))
	a := s.uploadOnce(t, "admin", "k", first)
	if a.status != 200 || a.header.Get("Idempotent-Replayed") != "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	again := s.uploadOnce(t, "admin", "k", first)
	if again.header.Get("Idempotent-Replayed") != "true" || string(again.body) != string(a.body) {
		t.Errorf("%d %v: %s, at first %s", again.status, again.header, again.body, a.body)
	}
	for name, files := range map[string][][]byte{
		"another file": {archive(t, tinyPublication("2018/1", "F205"))},
		"one more":     {first, first},
		"none":         nil,
	} {
		if a := s.uploadOnce(t, "admin", "k", files...); a.status != 422 || *a.Error != 151 {
			t.Errorf("%s under the same key: %d %s", name, a.status, a.body)
		}
	}
	// The record is shown as it is now: a newer one is active, then it is gone.
	s.importArchive(t, tinyPublication("2019/1", "F205"), 200)
	var p publicationWire
	if a := s.uploadOnce(t, "admin", "k", first); json.Unmarshal(a.Data, &p) != nil || p.Semester != "2018/2" || p.Active {
		t.Errorf("%s", a.body)
	}
	// The command line removes it from the same folder; the service sees that
	// at its next look, which Run does at least once.
	library, err := omi.OpenLibrary(s.folder)
	if err == nil {
		err = library.Remove(omi.Semester{Year: 2018, Half: 2})
	}
	if err != nil {
		t.Fatal(err)
	}
	once, cancel := context.WithCancel(t.Context())
	cancel()
	s.keeper.Run(once)
	if a := s.uploadOnce(t, "admin", "k", first); a.status != 404 || *a.Error != 140 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestOMIWireTypes holds the description of an answer to what the encoder writes:
// no member of one is missing in the other.
func TestOMIWireTypes(t *testing.T) {
	s := newOMIServer(t)
	var got map[string]any
	if err := json.Unmarshal(s.get(t, "/IT-omi?latitude=38.6&longitude=17.6785&nearest=1000").Data, &got); err != nil {
		t.Fatal(err)
	}
	typ := reflect.TypeFor[Quotation]()
	if typ.NumField() != len(got) {
		t.Errorf("%d members described, %d written", typ.NumField(), len(got))
	}
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if _, ok := got[name]; !ok {
			t.Errorf("%s is described, not written", name)
		}
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
			}
		}
	}
	if err := json.Unmarshal(s.get(t, "/openapi.json").body, &doc); err != nil {
		t.Fatal(err)
	}
	var past struct{ History []map[string]any }
	if err := json.Unmarshal(s.get(t, "/IT-omi/history?latitude=38.6&longitude=17.6&geometry=full").Data, &past); err != nil || len(past.History) != 1 {
		t.Fatal(err)
	}
	for name := range past.History[0] {
		if _, ok := doc.Components.Schemas["PastQuotation"].Properties[name]; !ok {
			t.Errorf("%s of a history is written, not described", name)
		}
	}
}

func BenchmarkOMILookup(b *testing.B) {
	k, err := publication.Open(publication.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	a := api.New(api.Options{Gate: omiGate{}})
	RegisterOMI(a, &OMI{Publications: k})
	h := a.Handler()
	for _, g := range []string{"none", "full"} {
		b.Run(g, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, centre+"&geometry="+g, nil)
			r.Header.Set("Authorization", "Bearer user")
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(&nowhere{header: http.Header{}}, r)
			}
		})
	}
}

type nowhere struct{ header http.Header }

func (d *nowhere) Header() http.Header         { return d.header }
func (d *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (d *nowhere) WriteHeader(int)             {}
