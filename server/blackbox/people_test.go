package blackbox

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
)

// person was asked to sign, with a browser of their own.
type person struct {
	g      *guest
	link   string
	client *http.Client
}

type signerView struct {
	ID, URL, State string
	SignedAt       *string
	Signatures     []struct{ Page, X, Y, Width, Height int }
	WebValidation  map[string]*string
	Trail          []struct{ What string }
}

type askedView struct {
	ID, State, CertificateType, SignatureType string
	ErrorNumber                               *int
	ErrorMessage                              *string
	Options                                   map[string]any
	Signers                                   []signerView
	Document                                  struct{ SignedDocument *struct{ Extension string } }
}

func (g *guest) person(link string) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		g.Fatal(err)
	}
	g.w.secret(link[strings.LastIndex(link, "/")+1:])
	return &person{g, link, &http.Client{Transport: g.w.lines.transport(), Jar: jar, Timeout: 2 * time.Minute}}
}

var (
	stateOf   = regexp.MustCompile(`data-state="(\w+)"`)
	problemOf = regexp.MustCompile(`id="problem"[^>]*data-code="(\d+)"`)
	sixDigits = regexp.MustCompile(`\b\d{6}\b`)
)

// goes to the page, or posts a form there, on the next node.
func (p *person) goes(path string, form url.Values) (status int, state, problem string) {
	p.g.Helper()
	address := p.g.node().url() + p.link[strings.Index(p.link, "/sign/"):] + path
	req, err := http.NewRequestWithContext(p.g.Context(), http.MethodGet, address, nil)
	if form != nil {
		req, err = http.NewRequestWithContext(p.g.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if err != nil {
		p.g.Fatal(err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		p.g.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.g.Fatal(err)
	}
	if s := stateOf.FindSubmatch(b); s != nil {
		state = string(s[1])
	}
	if s := problemOf.FindSubmatch(b); s != nil {
		problem = string(s[1])
	}
	return resp.StatusCode, state, problem
}

// code is what was sent to a person last.
func (p *person) code(signer string) (code string) {
	p.g.Helper()
	var at time.Time
	for _, n := range p.g.w.nodes {
		files, _ := filepath.Glob(filepath.Join(n.args[1], "outbox", "*"+signer+"-code*"))
		for _, f := range files {
			i, err := os.Stat(f)
			b, err2 := os.ReadFile(f)
			if err != nil || err2 != nil || i.ModTime().Before(at) {
				continue
			}
			text := string(b)
			if _, body, cut := strings.Cut(text, "\r\n\r\n"); cut {
				text = body
			}
			at, code = i.ModTime(), sixDigits.FindString(text)
		}
	}
	return code
}

func (p *person) proves(signer string) {
	p.g.Helper()
	for _, step := range []func() (int, string, string){
		func() (int, string, string) { return p.goes("", nil) },
		func() (int, string, string) { return p.goes("/send-code", url.Values{"x": {""}}) },
		func() (int, string, string) { return p.goes("/code", url.Values{"code": {p.code(signer)}}) },
	} {
		if status, state, problem := step(); status != http.StatusOK {
			p.g.Fatalf("%d %s %s", status, state, problem)
		}
	}
}

func (g *guest) becomes(id string, states ...string) (r *askedView) {
	g.Helper()
	await.Until(g.T, "record "+id+" comes to "+strings.Join(states, " or "), func() bool {
		r = &askedView{}
		g.ok(r, "GET", "/signatures/"+id, nil)
		for _, s := range states {
			if r.State == s {
				return true
			}
		}
		return false
	})
	return r
}

func someone(more ...m) m {
	return with(m{"name": "Ada", "surname": "Rossi <b>", "email": "ada@example.org", "authentication": []string{"email"}, "signatures": []any{}}, more...)
}

// testPeople asks people to sign, and has them.
func testPeople(t *testing.T, w *world) {
	g := w.tenant(t)
	before := g.credit()
	everything := m{
		"title": "Lease", "description": "of a flat", "inputDocuments": []any{b64(samplePDF)},
		"signers": []any{
			someone(m{
				"mobile": "+393331234567", "authentication": []string{"email", "sms"}, "message": "Code {OTP}", "language": "it", "order": 1, "role": "signer", "reference": "r1",
				"signatures": []any{m{"page": 1, "x": "20.4", "y": "30", "width": "150", "height": "40"}},
			}),
			someone(m{"language": "en", "order": 2, "role": "approver"}),
			someone(m{"language": "browser", "order": 2, "role": "viewer"}),
			someone(m{"order": 3, "signatures": []any{m{"page": 1, "x": 200, "y": 100, "width": 150, "height": 40}}}),
		},
		"options": m{
			"ui": m{
				"sidebarBackgroundColor": "#112233", "sidebarTitleColor": "#112233", "sidebarTextColor": "#112233", "footerBackgroundColor": "#112233", "headerBackgroundColor": "#112233",
				"headerTitleColor": "#112233", "headerSubtitleColor": "#112233", "buttonTextColor": "#112233", "buttonTextColorHover": "#112233", "buttonBackgroundColor": "#112233",
				"buttonBackgroundColorHover": "#112233", "signButtonTextColor": "#112233", "signButtonTextColorHover": "#112233", "signButtonBackgroundColor": "#112233",
				"signButtonBackgroundColorHover": "#112233", "sidebarLogo": "https://example.org/logo.png", "hideSidebar": true, "hideHeader": true, "hideDownloadValidated": true,
				"hideDownloadSigned": false, "iframeAncestors": []string{"https://example.org"}, "completeUrl": "https://example.org/done", "cancelUrl": "https://example.org/no",
			},
			"signatureMode": []string{"typed", "drawn"}, "userEditableData": m{"name": true, "mobile": false, "email": true}, "timezone": "Europe/Rome", "signerMustRead": false,
			"level": "LTA", "hashAlgorithm": "SHA384", "expiresAt": time.Now().Add(time.Hour).UTC().Format("2006-01-02 15:04:05.000+00:00"), "reminders": m{"every": 3, "at": 8},
			"decline": true, "merge": false, "asyncDocumentsValidation": true, "asyncSignature": false,
		},
		"callback": m{"url": w.web.URL + "/people", "method": "JSON", "field": "data", "headers": m{"X-A": "b"}, "custom": m{"a": 1}, "retry": 0},
	}
	r := &askedView{}
	g.ok(r, "POST", "/EU-SES", everything, "Idempotency-Key", "people 1")
	again := &askedView{}
	if a := g.ok(again, "POST", "/EU-SES", everything, "Idempotency-Key", "people 1"); again.ID != r.ID || a.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("%s is not %s", again.ID, r.ID)
	}
	g.do("POST", "/EU-SES", with(everything, m{"title": "other"}), "Idempotency-Key", "people 1").refused(t, "another body", 422, 151)
	if r.State != "WAIT_VALIDATION" || r.CertificateType != "EU-SES" || r.SignatureType != "pades" || r.Signers[0].State != "NEW" || r.Signers[0].URL == "" || r.Signers[0].Signatures[0].X != 20 {
		t.Errorf("%+v", r)
	}
	r = g.becomes(r.ID, "WAIT_SIGNERS", "ERROR")
	if r.State != "WAIT_SIGNERS" {
		t.Fatalf("%s", deref(r.ErrorMessage))
	}
	if cost := before - g.credit(); cost < 0.0899 || cost > 0.0901 {
		t.Errorf("it cost %v", cost)
	}
	await.Until(t, "the first is told", func() bool { g.ok(r, "GET", "/signatures/"+r.ID, nil); return r.Signers[0].State == "NOTIFIED" })
	if r.Signers[1].State != "NEW" || r.Signers[3].State != "NEW" {
		t.Errorf("%+v", r.Signers)
	}
	g.testSigners(r)
	done := g.becomes(r.ID, "DONE", "ERROR")
	if done.State != "DONE" || done.Options["achievedLevel"] != "LTA" || done.Document.SignedDocument.Extension != "pdf" {
		t.Fatalf("%s %+v", deref(done.ErrorMessage), done)
	}
	var trail struct{ SignatureData askedView }
	g.ok(&trail, "GET", "/signatures/"+r.ID+"/audit", nil)
	if one := trail.SignatureData.Signers[0]; one.URL != "" || one.WebValidation["otpIp"] == nil || len(one.Trail) < 5 {
		t.Errorf("%+v", one)
	}
	var list []struct{ ID string }
	for _, filter := range []string{"certificateType=EU-SES&state=DONE", "certificateType=EU-SES"} {
		if g.ok(&list, "GET", "/signatures?"+filter, nil); len(list) != 1 || list[0].ID != r.ID {
			t.Errorf("%s: %v", filter, list)
		}
	}
	for _, filter := range []string{"state=WAIT_SIGNER", "state=WAIT_SIGNERS", "certificateType=EU-AES"} {
		if g.ok(&list, "GET", "/signatures?"+filter, nil); len(list) != 0 {
			t.Errorf("%s: %v", filter, list)
		}
	}
	g.testPeopleEnds()
	g.testPeopleRefusals()
	g.testTemplates()
}

// testSigners has everybody sign, in order.
func (g *guest) testSigners(r *askedView) {
	early := g.person(r.Signers[3].URL)
	if status, state, _ := early.goes("", nil); status != 200 || state != "NEW" {
		g.Errorf("before their turn: %d %s", status, state)
	}
	is := func(state string) {
		g.Helper()
		now := &askedView{}
		if g.ok(now, "GET", "/signatures/"+r.ID, nil); now.Signers[0].State != state {
			g.Errorf("%s, want %s", now.Signers[0].State, state)
		}
	}
	first := g.person(r.Signers[0].URL)
	first.proves(r.Signers[0].ID) // by mail
	is("VIEWED")
	first.proves(r.Signers[0].ID) // by SMS
	is("AUTHENTICATED")
	if status, state, problem := g.person(r.Signers[0].URL).goes("/sign", url.Values{"agree": {"on"}}); status != 409 || state != "AUTHENTICATED" {
		g.Errorf("the link alone: %d %s %s", status, state, problem)
	}
	if status, state, problem := first.goes("/sign", url.Values{"agree": {"on"}, "typed": {"Ada R."}}); status != 200 || state != "SIGNED" {
		g.Fatalf("%d %s %s", status, state, problem)
	}
	for _, i := range []int{1, 3} {
		p := g.person(r.Signers[i].URL)
		p.proves(r.Signers[i].ID)
		if status, state, problem := p.goes("/sign", url.Values{"agree": {"on"}}); status != 200 || state != "SIGNED" {
			g.Fatalf("%d: %d %s %s", i, status, state, problem)
		}
	}
	guess, last := r.Signers[0].URL, "2"
	if strings.HasSuffix(guess, last) {
		last = "3"
	}
	if status, _, _ := g.person(guess[:len(guess)-1]+last).goes("", nil); status != 404 {
		g.Errorf("a guessed link: %d", status)
	}
}

// testPeopleEnds ends requests in the other ways.
func (g *guest) testPeopleEnds() {
	ask := func(more ...m) *askedView {
		g.Helper()
		r := &askedView{}
		g.ok(r, "POST", "/EU-SES", with(m{"inputDocuments": b64(samplePDF), "signers": []any{someone(), someone(m{"email": "b@example.org"})}}, more...))
		return g.becomes(r.ID, "WAIT_SIGNERS", "ERROR")
	}
	before := g.credit()
	r := ask()
	p := g.person(r.Signers[0].URL)
	if status, state, problem := p.goes("/decline", url.Values{"reason": {"no"}}); status != 200 || state != "DECLINED" {
		g.Errorf("%d %s %s", status, state, problem)
	}
	if r = g.becomes(r.ID, "ERROR"); deref(r.ErrorNumber) != 314 || !strings.Contains(deref(r.ErrorMessage), "no") {
		g.Errorf("%d %s", deref(r.ErrorNumber), deref(r.ErrorMessage))
	}
	r = ask()
	path := "/signatures/" + r.ID + "/signers/" + r.Signers[0].ID
	g.ok(nil, "POST", path+"/remind", nil)
	other := &askedView{}
	g.ok(other, "POST", path+"/replace", m{"name": "Bruno", "surname": "Bianchi", "email": "bruno@example.org", "mobile": "+393331234567"})
	if other.Signers[0].URL == r.Signers[0].URL {
		g.Error("the link is the same")
	}
	if status, _, _ := g.person(r.Signers[0].URL).goes("", nil); status != 404 {
		g.Errorf("the old link: %d", status)
	}
	path = "/signatures/" + r.ID + "/signers/" + other.Signers[0].ID
	g.no(422, 610, "POST", path+"/replace", m{"name": "Bruno", "surname": "Bianchi", "email": "x"}, "email")
	g.no(404, 140, "POST", "/signatures/"+r.ID+"/signers/none/remind", nil)
	g.no(404, 140, "POST", "/signatures/"+r.ID+"/signers/none/replace", m{"name": "B", "surname": "B", "email": "b@example.org"})
	for _, verb := range []string{"remind", "replace"} {
		g.no(400, 141, "POST", "/signatures/x/signers/y/"+verb, m{"name": "B", "surname": "B", "email": "b@example.org"})
	}
	g.ok(nil, "DELETE", "/signatures/"+r.ID, nil)
	if r = g.becomes(r.ID, "ERROR"); deref(r.ErrorNumber) != 316 {
		g.Errorf("%d", deref(r.ErrorNumber))
	}
	g.no(409, 145, "POST", path+"/remind", nil)
	g.no(409, 145, "POST", path+"/replace", m{"name": "B", "surname": "B", "email": "b@example.org"})
	g.ok(nil, "DELETE", "/signatures/"+r.ID, nil)
	g.no(404, 140, "GET", "/signatures/"+r.ID, nil)
	if status, _, _ := g.person(other.Signers[0].URL).goes("", nil); status != 404 {
		g.Errorf("after the end: %d", status)
	}
	r = ask(options(m{"expiresAt": time.Now().Add(4 * time.Second).UTC().Format(time.RFC3339Nano)}))
	if r = g.becomes(r.ID, "ERROR"); deref(r.ErrorNumber) != 315 || r.Signers[0].State != "EXPIRED" {
		g.Errorf("%d %s", deref(r.ErrorNumber), r.Signers[0].State)
	}
	if r = ask(m{"inputDocuments": b64([]byte("no PDF"))}); deref(r.ErrorNumber) != 113 {
		g.Errorf("%d", deref(r.ErrorNumber))
	}
	for _, place := range []m{{"anchor": "nowhere"}, {"name": "no field"}} {
		if r = ask(m{"signers": []any{someone(m{"signatures": []any{place}})}}); deref(r.ErrorNumber) != 113 {
			g.Errorf("%d", deref(r.ErrorNumber))
		}
	}
	for _, o := range []m{{"level": "T", "hashAlgorithm": "SHA256"}, {"level": "LT", "hashAlgorithm": "SHA512"}} {
		one := ask(options(o), m{"inputDocuments": m{"payload": b64(samplePDF), "name": "a.pdf"}})
		g.ok(nil, "DELETE", "/signatures/"+one.ID, nil)
	}
	if g.credit() != before {
		g.Errorf("what nobody signed cost %v", before-g.credit())
	}
	// A certificate of their own.
	g.ok(r, "POST", "/EU-AES", m{"inputDocuments": b64(samplePDF), "signers": []any{someone(m{"certificateUsername": g.cert.Username})}})
	r = g.becomes(r.ID, "WAIT_SIGNERS")
	p = g.person(r.Signers[0].URL)
	p.proves(r.Signers[0].ID)
	if status, _, problem := p.goes("/sign", url.Values{"agree": {"on"}, "password": {"wrong"}}); status != 422 || problem != "110" {
		g.Errorf("%d %s", status, problem)
	}
	if status, state, problem := p.goes("/sign", url.Values{"agree": {"on"}, "password": {g.cert.Password}}); status != 200 || state != "SIGNED" {
		g.Errorf("%d %s %s", status, state, problem)
	}
	g.becomes(r.ID, "DONE")
}

// testPeopleRefusals are requests that are refused at once.
func (g *guest) testPeopleRefusals() {
	good := m{"inputDocuments": b64(samplePDF), "signers": []any{someone()}}
	for _, c := range []struct {
		code int
		more m
		word string
	}{
		{685, m{"signers": nil}, "signers"},
		{610, m{"signers": []any{}}, "empty"},
		{610, m{"signers": []any{someone(), someone(m{"email": ""})}}, "signers[1]"},
		{610, m{"signers": []any{someone(m{"role": "king"})}}, "role"},
		{610, m{"signers": []any{someone(m{"identification": []string{"video"}})}}, "video"},
		{615, m{"inputDocuments": nil}, "inputDocuments"},
		{625, options(m{"ui": m{"buttonTextColor": "red"}}), "buttonTextColor"},
		{625, options(m{"expiresAt": "2001-01-01 00:00:00.000+00:00"}), "past"},
		{625, options(m{"timezone": "Mars"}), "timezone"},
		{704, m{"callback": m{}}, "callback.url"},
		{706, m{"callback": m{"url": "ftp://example.org"}}, "callback.url"},
		{708, m{"callback": m{"url": w0(g), "headers": 1}}, "headers"},
		{709, m{"callback": m{"url": w0(g), "headers": m{strings.Repeat("a", 300): "b"}}}, "headers"},
		{710, m{"callback": m{"url": w0(g), "headers": m{"a": 1}}}, "headers"},
		{711, m{"callback": m{"url": w0(g), "headers": m{"a": strings.Repeat("b", 3000)}}}, "headers"},
		{730, m{"callback": m{"url": w0(g), "custom": strings.Repeat("b", 600)}}, "custom"},
		{740, m{"callback": m{"url": w0(g), "retry": 9}}, "retry"},
	} {
		g.no(422, c.code, "POST", "/EU-SES", with(good, c.more), c.word)
	}
	g.no(404, 140, "POST", "/EU-SES", with(good, m{"template": "0123456789abcdef01234567"}))
	g.no(422, 610, "POST", "/EU-AES", good, "identification")
	g.do("POST", "/EU-SES", good, "Idempotency-Key", strings.Repeat("k", 300)).refused(g.T, "a key that is too long", 422, 160)
	poor := g.w.guest(g.T, g.w.account(g.T))
	poor.no(402, 611, "POST", "/EU-SES", good)
}

func w0(g *guest) string { return g.w.web.URL + "/people" }

// testTemplates keeps one and asks by it.
func (g *guest) testTemplates() {
	var t struct{ ID string }
	template := m{
		"name": "Lease", "inputDocuments": m{"payload": b64(samplePDF), "name": "lease.pdf"}, "options": m{"level": "B"}, "signers": []any{
			m{"place": "landlord", "order": 1, "role": "signer", "signatures": []any{m{"page": 1, "x": 10, "y": 10}}}, m{"place": "tenant", "order": 2, "role": "approver"},
		},
	}
	g.ok(&t, "POST", "/templates", template, "Idempotency-Key", "template 1")
	g.ok(nil, "POST", "/templates", template, "Idempotency-Key", "template 1")
	g.do("POST", "/templates", with(template, m{"name": "x"}), "Idempotency-Key", "template 1").refused(g.T, "another body", 422, 151)
	for code, more := range map[int]m{310: {"name": ""}, 610: {"signers": []any{m{}}}, 615: {"inputDocuments": nil}, 625: options(m{"level": "Z"}), 685: {"signers": nil}} {
		g.no(422, code, "POST", "/templates", with(template, more))
	}
	for _, document := range []any{b64(samplePDF), []any{b64(samplePDF)}} {
		other := struct{ ID string }{}
		g.ok(&other, "POST", "/templates", with(template, m{"inputDocuments": document, "signers": []any{m{"place": "x"}, m{"place": "y", "role": "viewer"}}}))
		g.ok(nil, "DELETE", "/templates/"+other.ID, nil)
	}
	var list []json.RawMessage
	if g.ok(&list, "GET", "/templates?limit=1&skip=0", nil); len(list) != 1 {
		g.Errorf("%d templates", len(list))
	}
	g.ok(&list, "GET", "/templates?after="+t.ID, nil)
	g.no(422, 160, "GET", "/templates?limit=0", nil)
	g.ok(nil, "GET", "/templates/"+t.ID, nil)
	ask := func(places ...string) m {
		var signers []any
		for _, place := range places {
			signers = append(signers, someone(m{"place": place}))
		}
		return m{"template": t.ID, "signers": signers}
	}
	g.no(422, 610, "POST", "/EU-SES", ask("landlord"), "tenant")
	g.no(422, 610, "POST", "/EU-SES", ask("landlord", "guest"), "guest")
	r := &askedView{}
	g.ok(r, "POST", "/EU-SES", ask("landlord", "tenant"))
	if r = g.becomes(r.ID, "WAIT_SIGNERS"); r.Signers[0].Signatures[0].X != 10 {
		g.Errorf("%+v", r.Signers)
	}
	g.ok(nil, "DELETE", "/templates/"+t.ID, nil)
	for _, verb := range []string{"GET", "DELETE"} {
		g.no(404, 140, verb, "/templates/"+t.ID, nil)
		g.no(400, 141, verb, "/templates/x", nil)
	}
}
