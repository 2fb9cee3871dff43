package console_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/pdfmerge"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// named is a file of a form.
type named struct {
	name string
	data []byte
}

// formOf is a form with files.
func formOf(t *testing.T, fields map[string]string, files ...named) (body []byte, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for k, v := range fields {
		_ = w.WriteField(k, v)
	}
	for _, f := range files {
		part, err := w.CreateFormFile("inputDocuments", f.name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write(f.data)
	}
	w.Close()
	return b.Bytes(), w.FormDataContentType()
}

// fields are those of the form that signs, with a fresh key.
func filledWith(v *visitor, more map[string]string) map[string]string {
	v.T.Helper()
	c := v.Box.Certificates["automatic"]
	f := map[string]string{"certificateUsername": c.Username, "certificatePassword": c.Password, "level": "B"}
	for k, value := range more {
		f[k] = value
	}
	if _, ok := f["key"]; !ok {
		f["key"] = keyOf(v.Get("/console/sign").Text)
	}
	return f
}

var keyField = regexp.MustCompile(`name="key" value="([^"]+)"`)

func keyOf(page string) string {
	if m := keyField.FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return ""
}

func submit(v *visitor, fields map[string]string, files ...named) *shownPage {
	v.T.Helper()
	b, kind := formOf(v.T, fields, files...)
	return v.Send(v.Request(http.MethodPost, "/console/sign", bytes.NewReader(b), "Content-Type", kind))
}

var signedRef = regexp.MustCompile(`<a id="signed"[^>]*href="([^"]+)"`)

func recordCount(v *visitor) int {
	v.T.Helper()
	return strings.Count(v.Get("/console/records").Text, "<tr data-id=")
}

// A person signs in the pages, once however often the form is sent, and the
// signed document is valid.
func TestConsoleSigns(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		v := s.LoggedIn(s.Box.Token)
		f := filledWith(v, map[string]string{"visible": "true", "page": "1", "x": "100", "y": "150,5", "level": "T"})
		b, kind := formOf(t, f, named{"contract.pdf", sitetest.SamplePDF})
		var wg sync.WaitGroup
		pages := make([]*shownPage, 4)
		for i := range pages {
			wg.Go(func() {
				pages[i] = v.Send(v.Request(http.MethodPost, "/console/sign", bytes.NewReader(b), "Content-Type", kind))
			})
		}
		wg.Wait()
		for _, p := range pages {
			if p.Status != 200 || p.Path != pages[0].Path || !strings.HasPrefix(p.Path, "/console/sign/") {
				t.Errorf("%d at %s: %s", p.Status, p.Path, alertOf(p.Text))
			}
		}
		if n := recordCount(v); n != 1 {
			t.Fatalf("sent four times at once: %d records", n)
		}
		ref := signedRef.FindStringSubmatch(pages[0].Text)
		if ref == nil {
			t.Fatal(pages[0].Text)
		}
		signed := v.Get(ref[1])
		if got := s.Indication([]byte(signed.Text)); got != "TOTAL-PASSED" {
			t.Errorf("the signed document is %s", got)
		}
		if d := signed.Header.Get("Content-Disposition"); d != `attachment; filename=contract-signed.pdf` {
			t.Errorf("it comes as %s", d)
		}
		// The same form with other files signs nothing more, and says so.
		p := submit(v, f, named{"other.pdf", sitetest.SamplePDF})
		if p.Status != 422 || !strings.Contains(alertOf(p.Text), "sent before") || recordCount(v) != 1 {
			t.Errorf("%d %s", p.Status, alertOf(p.Text))
		}
		if next := keyOf(p.Text); next == "" || next == f["key"] {
			t.Error("the form shown again has the old key")
		}
		// What the API shows of it is what a call would have made.
		id := strings.TrimPrefix(pages[0].Path, "/console/sign/")
		r := s.Record(s.Do("GET", "/signatures/"+id, nil))
		if r.State != "DONE" || r.SignatureType == nil || *r.SignatureType != "pades" || r.Options["achievedLevel"] != "T" || r.Options["x"] != 100.0 || r.Options["y"] != 150.5 {
			t.Errorf("%+v", r.Options)
		}
		page := v.Get("/console/records/" + id)
		for _, want := range []string{"contract.pdf", "Downloaded", "Asked for", "127.0.0.1"} {
			if !strings.Contains(page.Text, want) {
				t.Errorf("the record does not show %q", want)
			}
		}
	})
}

// Several files are one record; with together they become one document.
func TestConsoleSignsSeveral(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.LoggedIn(s.Box.Token)
	p := submit(v, filledWith(v, nil), named{"a.pdf", sitetest.SamplePDF}, named{"b.txt", sitetest.SampleTXT}, named{"32.bin", bytes.Repeat([]byte("x"), 32)})
	ref := signedRef.FindStringSubmatch(p.Text)
	if ref == nil {
		t.Fatalf("%d %s", p.Status, alertOf(p.Text))
	}
	files := unzip(t, []byte(v.Get(ref[1]).Text))
	if len(files) != 4 || files["0000_a.pdf"] == nil || files["0001_b.txt.p7m"] == nil || files["0002_32.bin.p7m"] == nil {
		t.Errorf("%d files in the zip", len(files))
	}
	if one := v.Get(ref[1] + "/1"); one.Text != string(files["0001_b.txt.p7m"]) || !strings.Contains(one.Header.Get("Content-Disposition"), "b.txt.p7m") {
		t.Errorf("one of them: %d %v", one.Status, one.Header)
	}
	for _, n := range []string{"/3", "/4", "/-1", "/x"} { // the report, and what there is not
		if one := v.Get(ref[1] + n); one.Status != 404 {
			t.Errorf("%s: %d", n, one.Status)
		}
	}
	if n := recordCount(v); n != 1 {
		t.Errorf("%d records", n)
	}
	p = submit(v, filledWith(v, map[string]string{"together": "true"}), named{"a.pdf", sitetest.SamplePDF}, named{"b.pdf", sitetest.SamplePDF})
	if ref = signedRef.FindStringSubmatch(p.Text); ref == nil || !strings.HasPrefix(v.Get(ref[1]).Text, "%PDF-") {
		t.Errorf("together: %d %s", p.Status, alertOf(p.Text))
	}
	var many []named
	for i := range 12 {
		many = append(many, named{fmt.Sprintf("%d.txt", i), sitetest.SampleTXT})
	}
	p = submit(v, filledWith(v, nil), many...)
	for range await.Within(await.Limit) {
		if signedRef.FindString(p.Text) != "" {
			break
		}
		if p.Header.Get("Refresh") == "" {
			t.Fatalf("it waits and does not look again: %d %s", p.Status, alertOf(p.Text))
		}
		p = v.Get(p.Path)
	}
	if signedRef.FindString(p.Text) == "" {
		t.Errorf("twelve files: %s", p.Text)
	}
}

// Of four files one fails, and everybody is told: the page, the list, the table. The
// rest is tried again with the password that it wanted, and alone.
func TestConsoleSignsSome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.LoggedIn(s.Box.Token)
	var locked bytes.Buffer
	if err := pdfmerge.Encrypt(t.Context(), &locked, bytes.NewReader(sitetest.SamplePDF), "segreto"); err != nil {
		t.Fatal(err)
	}
	p := submit(v, filledWith(v, nil), named{"lease.pdf", sitetest.SamplePDF}, named{"fattura.xml", sitetest.SampleXML}, named{"=a.txt", sitetest.SampleTXT}, named{"enc.pdf", locked.Bytes()})
	if !strings.Contains(p.Text, `undetermined" id="partly"><h1 class="word">3 of 4 signed</h1>`) || !strings.Contains(p.Text, "enc.pdf was not signed, because the PDF is protected by a password.") {
		t.Fatalf("%d %s", p.Status, p.Text)
	}
	for _, name := range []string{"lease-signed.pdf", "fattura-signed.xml", "=a.txt.p7m", "lease-signed.zip"} {
		if !strings.Contains(p.Text, `download="`+name+`"`) {
			t.Errorf("%s is not offered", name)
		}
	}
	again := "/console/sign/" + strings.TrimPrefix(p.Path, "/console/sign/") + "/retry"
	fields := url.Values{"as": {""}, "key": {"1"}, "certificatePassword": {s.Box.Certificates["automatic"].Password}, "pdfPassword": {"wrong"}}
	if p := v.Post(again, fields); p.Status != 422 || alertOf(p.Text) != "<p>The password does not open the PDF.</p>" || !strings.Contains(p.Text, `id="retry"`) {
		t.Errorf("with a wrong password: %d %s", p.Status, alertOf(p.Text))
	}
	fields.Set("pdfPassword", "segreto")
	fields.Set("key", "2")
	rest := v.Post(again, fields)
	if !strings.Contains(rest.Text, `download="enc-signed.pdf"`) || strings.Contains(rest.Text, `id="retry"`) {
		t.Fatalf("again: %d %s", rest.Status, alertOf(rest.Text))
	}
	if twice := v.Post(again, fields); twice.Path != rest.Path {
		t.Errorf("sent twice: %s, %s", rest.Path, twice.Path)
	}
	holder := regexp.MustCompile(`<option value="([0-9a-f]{24})">[^<]*automatic`).FindStringSubmatch(v.Get("/console/records").Text)
	if p := v.Get("/console/records?state=PARTLY&signer=" + holder[1] + "&from=2020-01-01&until=2099-12-31"); strings.Count(p.Text, "<tr data-id=") != 1 || !strings.Contains(p.Text, "3 of 4 signed") {
		t.Errorf("the list: %s", p.Text)
	}
	for _, q := range []string{"?until=2020-01-01", "?signer=people", "?state=WAIT_SIGN", "?signer=" + store.NewID(), "?q=nothing+is+called+so"} {
		if p := v.Get("/console/records" + q); strings.Contains(p.Text, "<tr data-id=") {
			t.Errorf("%s finds something", q)
		}
	}
	for _, q := range []string{"?from=today", "?state=X", "?signer=x", "?after=x"} {
		if p := v.Get("/console/records" + q); p.Status != 422 {
			t.Errorf("%s: %d", q, p.Status)
		}
	}
	table, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(v.Get("/console/records.csv?q=enc").Text, "\ufeff"))).ReadAll()
	if err != nil || len(table) != 4 || table[1][1] != "enc.pdf" || table[1][2] != "Signed" || table[1][3] == "" || table[3][2] != "3 of 4 signed" || table[2][9] != "113" {
		t.Errorf("%v %q", err, table)
	}
	submit(v, filledWith(v, map[string]string{"title": "=1+1"}), named{"x.txt", sitetest.SampleTXT})
	if got := v.Get("/console/records.csv").Text; !strings.Contains(got, `"'=1+1"`) {
		t.Errorf("a formula: %s", got)
	}
}

// A certificate is ordered in a form, once however often it is sent; its link is shown,
// mailed to an address, and no longer handed on when the order has ended.
func TestConsoleOrders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.LoggedIn(s.Box.Token)
	fields := url.Values{"key": {"once"}, "kind": {"otp"}, "givenName": {"Elsa"}, "surname": {"Prova"}, "email": {"elsa@example.org"}}
	p := v.Post("/console/certificates/new", fields)
	link := regexp.MustCompile(`id="holder-link" class="mono" value="([^"]+)"`).FindStringSubmatch(p.Text)
	if p.Status != 200 || link == nil || !strings.Contains(p.Text, "data:image/png;base64,") || !strings.Contains(p.Text, "Elsa Prova") {
		t.Fatalf("%d %s", p.Status, alertOf(p.Text))
	}
	if again := v.Post("/console/certificates/new", fields); again.Path != p.Path {
		t.Errorf("sent twice: %s, %s", p.Path, again.Path)
	}
	if page := s.Page(link[1], nil); !strings.Contains(page, `id="approve"`) {
		t.Errorf("the link leads to %s", page)
	}
	sent := v.Post(p.Path, url.Values{"to": {"elsa@example.org"}, "language": {"it"}})
	if sent.Status != 200 || !strings.Contains(sent.Text, "Il tuo certificato: manca un passo") || strings.Count(sent.Text, link[1]) != 3 {
		t.Errorf("mailed: %d %s", sent.Status, sent.Text)
	}
	for _, to := range []string{"", "nobody", "Elsa <elsa@example.org>", "a@example.org, b@example.org"} {
		if no := v.Post(p.Path, url.Values{"to": {to}}); no.Status != 422 || alertOf(no.Text) == "" {
			t.Errorf("to %q: %d", to, no.Status)
		}
	}
	for _, f := range []url.Values{{"kind": {"otp"}}, {"kind": {"x"}, "givenName": {"Elsa"}}, {"kind": {"eseal"}, "givenName": {"Elsa"}, "fiscalCode": {"!"}}} {
		if no := v.Post("/console/certificates/new", f); no.Status < 400 || no.Status >= 500 || alertOf(no.Text) == "" {
			t.Errorf("%v: %d", f, no.Status)
		}
	}
	id := strings.Split(p.Path, "/")[3]
	s.Do("POST", "/certificates/"+id+"/cancel", nil)
	if no := v.Get(p.Path); no.Status != 409 || strings.Contains(no.Text, link[1]) {
		t.Errorf("after its end: %d", no.Status)
	}
}

// What is refused is said in words, in the form, in both languages; the
// certificate's lock holds as for calls.
func TestConsoleRefusals(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.LoggedIn(s.Box.Token)
	good := named{"a.pdf", sitetest.SamplePDF}
	for name, c := range map[string]struct {
		fields  map[string]string
		files   []named
		status  int
		english string
		italian string
	}{
		"no file":        {nil, nil, 422, "Choose at least one file", "Scegli almeno un file"},
		"empty file":     {nil, []named{{"a.pdf", nil}}, 422, "empty", "non si può leggere"},
		"no password":    {map[string]string{"certificatePassword": ""}, []named{good}, 422, "Enter the password", "Inserisci la password"},
		"no certificate": {map[string]string{"certificateUsername": ""}, []named{good}, 422, "Choose the certificate", "Scegli il certificato"},
		"wrong type":     {map[string]string{"signatureType": "x"}, []named{good}, 422, "SignatureType must be", "tipo di firma"},
		"wrong level":    {map[string]string{"level": "X"}, []named{good}, 422, "level must be one of", "opzione"},
		"wrong place":    {map[string]string{"visible": "true", "x": "left"}, []named{good}, 422, "place x must be a number", "posizione x deve essere un numero"},
		"wrong page":     {map[string]string{"visible": "true", "page": "two"}, []named{good}, 422, "page must be a number", "pagina deve essere"},
		"no such page":   {map[string]string{"visible": "true", "page": "9"}, []named{good}, 422, "page", "non si può firmare"},
		"no PDF":         {map[string]string{"signatureType": "pades"}, []named{{"a.txt", sitetest.SampleTXT}}, 422, "PDF", "non si può firmare"},
		"wrong password": {map[string]string{"certificatePassword": "wrong"}, []named{good}, 422, "password of the certificate is wrong. Tries left before the certificate is locked for 15 minutes: ", "password del certificato è errata. Tentativi rimasti prima che il certificato si blocchi per 15 minuti: "},
		"other account":  {map[string]string{"as": store.NewID()}, []named{good}, 409, "another account", "altro conto"},
	} {
		for lang, want := range map[string]string{"en": c.english, "it": c.italian} {
			b, kind := formOf(t, filledWith(v, c.fields), c.files...)
			p := v.Send(v.Request(http.MethodPost, "/console/sign", bytes.NewReader(b), "Content-Type", kind, "Accept-Language", lang))
			if p.Status != c.status || !strings.Contains(alertOf(p.Text), want) || !strings.Contains(p.Text, `id="sign"`) || strings.Contains(p.Text, v.Box.Certificates["automatic"].Password) {
				t.Errorf("%s in %s: %d %s", name, lang, p.Status, alertOf(p.Text))
			}
		}
	}
	p := submit(v, filledWith(v, nil), good) // the failures in a row end here
	if signedRef.FindString(p.Text) == "" {
		t.Fatalf("%d %s", p.Status, alertOf(p.Text))
	}
	before := v.Get("/console/records.csv").Text
	for range 5 {
		submit(v, filledWith(v, map[string]string{"certificatePassword": "wrong"}), good)
	}
	if after := v.Get("/console/records.csv").Text; after != before {
		t.Errorf("wrong passwords are among the records: %s", after)
	}
	if p = submit(v, filledWith(v, nil), good); p.Status != 423 || !strings.Contains(alertOf(p.Text), "locked") {
		t.Errorf("after five failures: %d %s", p.Status, alertOf(p.Text))
	}
}

// Every page and action asks the token for the scope of the operation, and an
// account sees nothing of another.
func TestConsoleScopesAndTenants(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	own := s.LoggedIn(s.Box.Token)
	p := submit(own, filledWith(own, nil), named{"mine.pdf", sitetest.SamplePDF})
	id := strings.TrimPrefix(p.Path, "/console/sign/")
	cert := s.Buy("automatic", nil).ID
	token := func(scopes ...string) string {
		var made struct{ Token string }
		if err := json.Unmarshal(s.Do("POST", "/tokens", m{"scopes": scopes}).Data, &made); err != nil {
			t.Fatal(err)
		}
		return made.Token
	}
	pages := map[string]string{ // page → scope that opens it
		"/console/sign": "POST:*/EU-QES_automatic", "/console/records": "GET:*/signatures", "/console/records/" + id: "GET:*/signatures",
		"/console/records/" + id + "/signed": "GET:*/signatures", "/console/sign/" + id: "GET:*/signatures", "/console/certificates": "GET:*/certificates", "/console/account": "GET:*/wallet",
		"/console/records.csv": "GET:*/signatures", "/console/certificates/new": "POST:*/certificates", "/console/certificates/" + cert + "/link": "GET:*/certificates",
	}
	for path, scope := range pages {
		with, without := s.LoggedIn(token(scope)), s.LoggedIn(token("GET:*/IT-omi"))
		if p := with.Get(path); p.Status != 200 {
			t.Errorf("%s with %s: %d %s", path, scope, p.Status, alertOf(p.Text))
		}
		if p := without.Get(path); p.Status != 403 || alertOf(p.Text) == "" {
			t.Errorf("%s without %s: %d", path, scope, p.Status)
		}
	}
	actions := []string{
		"/console/certificates/new", "/console/certificates/" + cert + "/link", "/console/sign/" + id + "/retry",
		"/console/certificates/" + cert + "/cancel", "/console/certificates/" + cert + "/review", "/console/records/" + id + "/approve", "/console/records/" + id + "/refuse",
		"/console/records/" + id + "/callbacks/" + store.NewID() + "/resend", "/console/account/tokens/" + store.NewID() + "/revoke",
	}
	reader := s.LoggedIn(token("GET:*/*"))
	for _, path := range actions {
		if p := reader.Post(path, nil); p.Status != 403 || alertOf(p.Text) == "" {
			t.Errorf("%s by who may only read: %d", path, p.Status)
		}
	}
	if p := submit(reader, map[string]string{"certificateUsername": s.Box.Certificates["automatic"].Username, "certificatePassword": s.Box.Certificates["automatic"].Password}, named{"a.pdf", sitetest.SamplePDF}); p.Status != 403 {
		t.Errorf("signing by who may only read: %d", p.Status)
	}
	seal := s.LoggedIn(token("POST:*/EU-QES_eseal", "GET:*/certificates"))
	if p := submit(seal, map[string]string{"certificateUsername": s.Box.Certificates["automatic"].Username, "certificatePassword": s.Box.Certificates["automatic"].Password}, named{"a.pdf", sitetest.SamplePDF}); p.Status != 403 {
		t.Errorf("an automatic signature by who may only seal: %d", p.Status)
	}
	if page := seal.Get("/console/sign").Text; !strings.Contains(page, "your token may not use it") {
		t.Error("a certificate that the token may not use can be chosen")
	}
	blind := s.LoggedIn(token("POST:*/EU-QES_automatic"))
	if p := submit(blind, filledWith(blind, nil), named{"a.pdf", sitetest.SamplePDF}); p.Status != 200 || signedRef.FindString(p.Text) != "" || !strings.Contains(p.Text, "but not download") {
		t.Errorf("signing by who may only sign: %d %s", p.Status, alertOf(p.Text))
	}
	unlisted := s.LoggedIn(token("POST:*/EU-QES_automatic", "GET:*/signatures"))
	if page := unlisted.Get("/console/sign").Text; strings.Contains(page, s.Box.Certificates["automatic"].Username) {
		t.Error("usernames are shown to a token that may not read certificates")
	}

	other := s.LoggedIn(s.Stranger())
	for path := range pages {
		if !strings.Contains(path, id) && !strings.Contains(path, cert) {
			continue
		}
		if p := other.Get(path); p.Status != 404 || strings.Contains(p.Text, "mine.pdf") {
			t.Errorf("%s by another account: %d", path, p.Status)
		}
	}
	for _, path := range []string{"/console/records", "/console/records.csv", "/console/certificates", "/console/sign", "/console/account"} {
		if page := other.Get(path).Text; strings.Contains(page, "mine.pdf") || strings.Contains(page, s.Box.Certificates["automatic"].Username) || strings.Contains(page, cert) {
			t.Errorf("%s shows something of another account", path)
		}
	}
	if p := other.Post("/console/sign/"+id+"/retry", nil); p.Status != 404 {
		t.Errorf("another account tries again: %d", p.Status)
	}
	for _, what := range []string{"suspend", "resume", "revoke", "cancel", "link"} {
		if p := other.Post("/console/certificates/"+cert+"/"+what, nil); p.Status != 404 {
			t.Errorf("%s by another account: %d", what, p.Status)
		}
	}
	if p := other.Get("/console/health"); p.Status != 403 || alertOf(p.Text) == "" {
		t.Errorf("health for who is no administrator: %d", p.Status)
	}
	if p := s.LoggedIn(token("GET:*/IT-omi")).Get("/console/health"); p.Status != 403 {
		t.Errorf("health for a narrow token: %d", p.Status)
	}
	if p := own.Get("/console/health"); p.Status != 200 || !strings.Contains(p.Text, `data-part="disk space"`) || !strings.Contains(p.Text, `data-part="trusted lists"`) || !strings.Contains(p.Text, `data-part="database"`) {
		t.Errorf("health: %d", p.Status)
	}
}

// A session is a cookie that scripts and other sites do not get, good as long as
// its token; who logs out, is idle or is revoked is told so and led back.
func TestConsoleSessions(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		v := s.Visitor()
		v.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		p := v.Get("/console/records?q=x")
		if p.Status != 303 || p.Header.Get("Location") != "/console/login?next=%2Fconsole%2Frecords%3Fq%3Dx" {
			t.Errorf("%d %s", p.Status, p.Header.Get("Location"))
		}
		p = v.Post("/console/login", url.Values{"token": {s.Box.Token}, "next": {"/console/records?q=x"}})
		cookie := p.Header.Get("Set-Cookie")
		if p.Header.Get("Location") != "/console/records?q=x" || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") || strings.Contains(cookie, "rgt_") || strings.Contains(cookie, "Expires") {
			t.Errorf("%d to %s with %s", p.Status, p.Header.Get("Location"), cookie)
		}
		for _, evil := range []string{
			"https://evil.example/", "//evil.example/console/", "/\\evil.example", "/console/../check", "javascript:alert(1)", "/console/\nhttps://evil.example", "/console/login", "http:/console/x",
			"/console//evil.example", "console/x", "/consolex", "",
		} {
			p := v.Post("/console/login", url.Values{"token": {s.Box.Token}, "next": {evil}})
			if to := p.Header.Get("Location"); to != "/console/" {
				t.Errorf("%q leads to %q", evil, to)
			}
		}
		for _, wrong := range []string{"", "x", "rgt_" + strings.Repeat("0", 49), s.Box.APIKey} {
			if p := v.Post("/console/login", url.Values{"token": {wrong}}); p.Status != 401 || alertOf(p.Text) == "" || strings.Contains(p.Text, wrong) && wrong != "" && wrong != "x" {
				t.Errorf("token %q: %d", wrong, p.Status)
			}
		}

		srv := s.OpenServer()
		write := func(query string) {
			err := srv.Parts().DB.Write(context.Background(), func(tx *store.Tx) error { _, err := tx.Exec(context.Background(), query); return err })
			if err != nil {
				t.Fatal(err)
			}
		}
		idle := s.LoggedIn(s.Box.Token)
		write(`update console_sessions set seen_at = seen_at - 1800000`)
		if p := idle.Get("/console/records"); !strings.HasPrefix(p.Path, "/console/login?ended=idle&next=%2Fconsole%2Frecords") || !strings.Contains(alertOf(p.Text), "nothing was done for a while") {
			t.Errorf("idle: %s %s", p.Path, alertOf(p.Text))
		}
		f := map[string]string{"certificateUsername": "AHI1", "certificatePassword": "secret word", "certificateOtp": "123456", "level": "LT", "x": "77", "signatureType": "cades"}
		p = submit(idle, f, named{"a.pdf", sitetest.SamplePDF})
		if p.Status != 401 || !strings.Contains(alertOf(p.Text), "Nothing was done yet") || !strings.Contains(p.Text, "level=LT") || !strings.Contains(p.Text, "x=77") || strings.Contains(p.Text, "secret word") || strings.Contains(p.Text, "123456") {
			t.Errorf("a form without a session: %d %s", p.Status, p.Text)
		}
		next := regexp.MustCompile(`name="next" value="([^"]*)"`).FindStringSubmatch(p.Text)[1]
		p = idle.Post("/console/login", url.Values{"token": {s.Box.Token}, "next": {strings.ReplaceAll(next, "&amp;", "&")}})
		if !strings.HasPrefix(p.Path, "/console/sign?") || !strings.Contains(p.Text, `<option value="LT" selected>`) || !strings.Contains(p.Text, `name="x" value="77"`) {
			t.Errorf("back in the form: %s", p.Path)
		}

		var made struct{ ID, Token string }
		if err := json.Unmarshal(s.Do("POST", "/tokens", m{"scopes": []string{"*:*/*"}}).Data, &made); err != nil {
			t.Fatal(err)
		}
		revoked := s.LoggedIn(made.Token)
		s.Do("DELETE", "/tokens/"+made.ID, nil)
		if p := revoked.Get("/console/account"); !strings.Contains(p.Path, "ended=token") || !strings.Contains(alertOf(p.Text), "revoked") {
			t.Errorf("revoked: %s", p.Path)
		}
		for _, path := range []string{"/console/certificates/" + store.NewID() + "/revoke", "/console/account/tokens/" + store.NewID() + "/revoke", "/console/page"} {
			if p := revoked.Post(path, nil); p.Status != 401 || !strings.Contains(alertOf(p.Text), "Nothing was done yet") {
				t.Errorf("%s without a session: %d %s", path, p.Status, alertOf(p.Text))
			}
		}
		left := s.LoggedIn(s.Box.Token)
		u, _ := url.Parse(s.URL + "/console/")
		before := left.Client.Jar.Cookies(u)
		if p := left.Post("/console/logout", nil); !strings.Contains(p.Text, "logged out") {
			t.Errorf("logged out: %s", p.Path)
		}
		left.Client.Jar.SetCookies(u, before) // an attacker kept a copy
		if p := left.Get("/console/records"); !strings.HasPrefix(p.Path, "/console/login?ended=left") {
			t.Errorf("after logging out: %s", p.Path)
		}
		if p := left.Get("/console/logout"); p.Status != 404 && p.Status != 405 {
			t.Errorf("a link logs out: %d", p.Status)
		}
	})
}

// An administrator reviews a video in the page: every attribute, the files, and a
// decision of exactly what was shown. Callbacks are sent again, approvals given.
func TestConsoleReviewsAndResends(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	admin := s.LoggedIn(strings.TrimPrefix(s.Reviewer()[1], "Bearer "))
	mp4 := filmtest.MP4("vide", 4200)
	c := s.Buy("automatic", m{"certificateOwner": "Elsa <b>Prova</b>", "subject": m{"givenName": "Elsa", "surname": "Rossi", "fiscalCode": "RSSLSE80A41H501Z"}})
	if status, page := s.Upload(c.CertificateLink, "video", map[string][]byte{"video": mp4, "photo": filmtest.Photo()}); status != 200 {
		t.Fatal(status, page)
	}
	if list := admin.Get("/console/certificates").Text; !strings.Contains(list, `data-review="`+c.ID+`"`) || strings.Contains(list, c.CertificateLink) {
		t.Error("what waits is not in the list, or with its link")
	}
	page := admin.Get("/console/certificates/" + c.ID + "/review")
	for _, want := range []string{"Elsa Rossi", "RSSLSE80A41H501Z", "<video controls", "<img src="} {
		if !strings.Contains(page.Text, want) {
			t.Errorf("the review does not show %q", want)
		}
	}
	harmlessPage(t, "review", &shownPage{Text: strings.ReplaceAll(page.Text, "<img src=", "")})
	watched(s, c.ID)
	src := regexp.MustCompile(`<video [^>]*src="([^"]+)"`).FindStringSubmatch(page.Text)[1]
	if f := admin.Get(src); f.Text != string(mp4) || f.Header.Get("Content-Type") != "video/mp4" || !strings.Contains(f.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("the video: %d %v", f.Status, f.Header)
	}
	if f := admin.Get(src, "Range", "bytes=4-7"); f.Status != 206 || f.Text != "ftyp" {
		t.Errorf("a part of the video: %d %q", f.Status, f.Text)
	}
	stranger := s.LoggedIn(s.Stranger())
	if f := stranger.Get(src); f.Status != 403 {
		t.Errorf("the video for another account: %d", f.Status)
	}
	if f := admin.Get(src[:len(src)-4] + "0000"); f.Status != 409 {
		t.Errorf("a file of another review: %d", f.Status)
	}
	digest := regexp.MustCompile(`name="digest" value="([0-9a-f]{64})"`).FindStringSubmatch(page.Text)[1]
	looked := []string{"face", "words", "alive", "document", "data"}
	for _, f := range []url.Values{
		{"approve": {"true"}},
		{"digest": {digest}},
		{"approve": {"true"}, "digest": {strings.Repeat("0", 64)}, "checked": looked},
		{"approve": {"true"}, "digest": {digest}, "checked": looked[1:]}, // not everything was looked at
		{"approve": {"false"}, "digest": {digest}, "reason": {"because"}},
	} {
		if p := admin.Post("/console/certificates/"+c.ID+"/review", f); p.Status < 400 || alertOf(p.Text) == "" {
			t.Errorf("%v: %d", f, p.Status)
		}
	}
	if p := stranger.Post("/console/certificates/"+c.ID+"/review", url.Values{"approve": {"true"}, "digest": {digest}}); p.Status != 403 {
		t.Errorf("a decision by who is no administrator: %d", p.Status)
	}
	if p := admin.Post("/console/certificates/"+c.ID+"/review", url.Values{"approve": {"true"}, "digest": {digest}, "checked": looked, "note": {"seen"}}); p.Status != 200 || !strings.Contains(p.Text, "decision is written down") {
		t.Errorf("%d %s", p.Status, alertOf(p.Text))
	}
	for range await.Within(await.Limit) {
		if s.CertificateState(c.ID) == "DONE" {
			break
		}
	}
	own := s.LoggedIn(s.Box.Token)
	for _, step := range [][2]string{{"suspend", "SUSPENDED"}, {"resume", "DONE"}} {
		if !strings.Contains(own.Get("/console/certificates").Text, `action="/console/certificates/`+c.ID+"/"+step[0]+`"`) {
			t.Errorf("%s is not offered", step[0])
		}
		if p := own.Post("/console/certificates/"+c.ID+"/"+step[0], nil); p.Status != 200 || s.CertificateState(c.ID) != step[1] {
			t.Errorf("%s: %d %s", step[0], p.Status, s.CertificateState(c.ID))
		}
	}
	if p := own.Post("/console/certificates/"+c.ID+"/resume", nil); p.Status != 409 || alertOf(p.Text) == "" {
		t.Errorf("resume what is not suspended: %d", p.Status)
	}

	id := s.Waiting()
	made := s.MustToken(m{"scopes": []string{"*:*/*"}}) // of another family
	if p := own.Post("/console/records/"+id+"/approve", nil); p.Status != 403 || alertOf(p.Text) == "" {
		t.Errorf("approved by the token that asked: %d", p.Status)
	}
	if p := s.LoggedIn(made.Token).Post("/console/records/"+id+"/approve", nil); p.Status != 200 || !strings.Contains(p.Text, "Approved") {
		t.Errorf("approved: %d %s", p.Status, alertOf(p.Text))
	}
	s.Wait(id, "DONE")
}

// watched opens the link of rogito cert review --watch: it leads only an administrator to the
// video.
func watched(s *site, order string) {
	s.T.Helper()
	link, err := s.OpenServer().ReviewLink(s.T.Context(), order, "reviewer@example.org")
	if err != nil {
		s.T.Fatal(err)
	}
	v := s.Visitor()
	page := v.Get(strings.TrimPrefix(link.URL, s.Box.BaseURL)).Text
	f := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]+)">`).FindAllStringSubmatch(page, -1) {
		f.Set(m[1], m[2])
	}
	if p := v.Post("/console/login", f); p.Path != "/console/certificates/"+order+"/review" || !strings.Contains(p.Text, "<video controls") {
		s.T.Errorf("the link led to %s: %d", p.Path, p.Status)
	}
	if _, err := s.OpenServer().ReviewLink(s.T.Context(), order, "other@example.org"); err == nil {
		s.T.Error("a link for who is no administrator")
	}
}

// A notice that was not delivered is sent again from the record's page.
func TestConsoleResends(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	var status atomic.Int32
	status.Store(500)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(int(status.Load()))
		got <- r.Header.Get("webhook-id")
	}))
	defer receiver.Close()
	s := newSite(t, func(c *server.Config) { c.Network.AllowPrivate = []string{strings.TrimPrefix(receiver.URL, "http://")} })
	r := s.Sign(b64(sitetest.SamplePDF), m{"callback": m{"url": receiver.URL + "/<b>", "retry": 0}})
	first := <-got
	v := s.LoggedIn(s.Box.Token)
	action := regexp.MustCompile(`action="(/console/records/` + r.ID + `/callbacks/[0-9a-f]{24}/resend)"`)
	var page *shownPage
	for range await.Within(await.Limit) {
		if page = v.Get("/console/records/" + r.ID); strings.Contains(page.Text, "Not delivered") {
			break
		}
	}
	form := action.FindStringSubmatch(page.Text)
	if form == nil || !strings.Contains(page.Text, "Not delivered") {
		t.Fatalf("no way to send it again: %s", page.Text)
	}
	harmlessPage(t, "record", page)
	other := s.LoggedIn(s.Stranger())
	if p := other.Post(form[1], nil); p.Status != 404 {
		t.Errorf("resent by another account: %d", p.Status)
	}
	status.Store(200)
	if p := v.Post(form[1], nil); p.Status != 200 || !strings.Contains(p.Text, "being sent again") {
		t.Errorf("%d %s", p.Status, alertOf(p.Text))
	}
	if again := <-got; again != first {
		t.Errorf("sent again as %s, before as %s", again, first)
	}
}

// Where /check is not for everybody, it is for who is logged in and may verify.
func TestConsoleOpensCheck(t *testing.T) {
	t.Parallel()
	no := false
	s := newSite(t, func(c *server.Config) { c.Console.PublicCheck = &no })
	if p := s.Visitor().Get("/check"); p.Status != 403 {
		t.Errorf("a stranger: %d", p.Status)
	}
	if p := s.LoggedIn(s.Box.Token).Get("/check"); p.Status != 200 {
		t.Errorf("logged in: %d", p.Status)
	}
	var made struct{ Token string }
	if err := json.Unmarshal(s.Do("POST", "/tokens", m{"scopes": []string{"GET:*/signatures"}}).Data, &made); err != nil {
		t.Fatal(err)
	}
	if p := s.LoggedIn(made.Token).Get("/check"); p.Status != 403 {
		t.Errorf("logged in without the scope: %d", p.Status)
	}
}

// Where people come by https the cookie is for https and this host only.
func TestConsoleSecureCookie(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	r := start(t, func(c *server.Config) { c.Data, c.Listen, c.PublicURL = dir, addr, "https://rogito.example" })
	s := &site{T: t, URL: "http://" + addr, Box: server.ReadSandbox(dir), Run: r}
	v := s.Visitor()
	v.Client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := v.Post("/console/login", url.Values{"token": {s.Box.Token}})
	if c := p.Header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-rogito-console=rgs_") || !strings.Contains(c, "Secure") || !strings.Contains(c, "Path=/;") || strings.Contains(c, "Domain") {
		t.Errorf("cookie %s", c)
	}
}

// Another site can neither act nor frame.
func TestConsoleOtherSitesCannotAct(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	v := s.LoggedIn(s.Box.Token)
	cert := s.Box.Certificates["automatic"]
	b, kind := formOf(t, filledWith(v, nil), named{"a.pdf", sitetest.SamplePDF})
	for name, header := range map[string][]string{
		"fetch metadata": {"Sec-Fetch-Site", "cross-site"}, "same site": {"Sec-Fetch-Site", "same-site"}, "origin": {"Origin", "https://evil.example"}, "opaque": {"Origin", "null"},
	} {
		for _, path := range []string{"/console/login", "/console/logout", "/console/page", "/console/certificates/" + store.NewID() + "/revoke"} {
			if p := v.Post(path, nil, header...); p.Status != 403 || alertOf(p.Text) == "" {
				t.Errorf("%s to %s: %d", name, path, p.Status)
			}
		}
		if p := v.Send(v.Request(http.MethodPost, "/console/sign", bytes.NewReader(b), append([]string{"Content-Type", kind}, header...)...)); p.Status != 403 {
			t.Errorf("%s signs: %d", name, p.Status)
		}
	}
	if n := recordCount(v); n != 0 {
		t.Errorf("%d records for %s", n, cert.Username)
	}
}

// Names of files, titles, holders, callbacks and what a PDF says of itself are
// shown, and run nowhere.
func TestConsoleMarkup(t *testing.T) {
	await.All(t)
	t.Parallel()
	s := newSite(t)
	v := s.LoggedIn(s.Box.Token)
	for _, text := range sitetest.HostileTexts {
		title := pdf.WinAnsi(text)
		doc := pdf.Build([]string{
			"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [5 0 R] >> >>", "<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
			"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 6 0 R >> >> /Contents 4 0 R /Annots [5 0 R] >>",
			fmt.Sprintf("<< /Length %d >>\nstream\nBT /F 12 Tf 60 700 Td (%s) Tj ET\nendstream", len("BT /F 12 Tf 60 700 Td () Tj ET")+len(title), title),
			fmt.Sprintf("<< /Type /Annot /Subtype /Widget /FT /Sig /F 4 /T (%s) /Rect [60 120 260 180] /P 3 0 R >>", strings.ReplaceAll(title, ".", " ")),
			"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>", fmt.Sprintf("<< /Title (%s) /Author (%s) >>", title, title),
		}, "/Info 7 0 R ")
		b, kind := formOf(t, map[string]string{"page": text, "x": text}, named{text + ".pdf", doc})
		p := v.Send(v.Request(http.MethodPost, "/console/page", bytes.NewReader(b), "Content-Type", kind))
		if p.Status != 200 || !strings.Contains(p.Text, `data:image/png;base64,`) {
			t.Errorf("page of %q: %d", text, p.Status)
		}
		harmlessPage(t, "page", p)
		p = submit(v, filledWith(v, map[string]string{"title": text}), named{text + ".pdf", doc})
		harmlessPage(t, "outcome", p)
		id := strings.TrimPrefix(p.Path, "/console/sign/")
		harmlessPage(t, "record", v.Get("/console/records/"+id))
		harmlessPage(t, "records", v.Get("/console/records?q="+url.QueryEscape(text)+"&lang="+url.QueryEscape(text)))
		harmlessPage(t, "sign", v.Get("/console/sign?"+url.Values{"x": {text}, "level": {text}, "certificateUsername": {text}}.Encode()))
		harmlessPage(t, "login", s.Visitor().Get("/console/login?"+url.Values{"next": {text}, "ended": {text}, "link": {text}}.Encode()))
		c := s.Buy("automatic", m{"certificateOwner": text, "customReference": text})
		harmlessPage(t, "link", v.Get("/console/certificates/"+c.ID+"/link"))
		harmlessPage(t, "order", v.Post("/console/certificates/new", url.Values{"kind": {text}, "givenName": {text}, "email": {text}}))
		harmlessPage(t, "certificates", v.Get("/console/certificates?done="+url.QueryEscape(text)))
		harmlessPage(t, "review", v.Get("/console/certificates/"+c.ID+"/review"))
		made, err := s.OpenServer().CreateToken(context.Background(), s.Box.Email, text, []string{"*:*/*"}, 0)
		if err != nil {
			t.Fatal(err)
		}
		harmlessPage(t, "account", v.Get("/console/account"))
		s.Do("DELETE", "/tokens/"+made.ID, nil)
	}
	if n := len(sitetest.HostileTexts); recordCount(v) != n {
		t.Errorf("%d records, want %d", recordCount(v), n)
	}
}

var ownScript = regexp.MustCompile(`<script type="module" src="/pages/[0-9a-f]+/[a-z]+\.js"></script>|<svg id="place"`)

var quoted = regexp.MustCompile(`="[^"]*"`) // what stands in quotation marks stays there

var address = regexp.MustCompile(`(?i)(href|src|action)="\s*javascript`)

func harmlessPage(t *testing.T, name string, p *shownPage) {
	t.Helper()
	if found := sitetest.Runs.FindString(quoted.ReplaceAllString(ownScript.ReplaceAllString(p.Text, ""), `=""`)) + address.FindString(p.Text); found != "" {
		t.Errorf("%s: %q would run", name, found)
	}
	if i := strings.Index(p.Text, "ZgotmplZ"); i >= 0 {
		t.Errorf("%s: a text stands where it cannot: %s", name, p.Text[max(0, i-120):i])
	}
}
