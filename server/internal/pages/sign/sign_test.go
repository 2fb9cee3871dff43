package sign

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/internal/draw/drawtest"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
)

// script is what the page is told, and what it asked for: what a page shows in each
// state is tried here, the whole way in the server's tests and in a browser.
type script struct {
	people.Page
	visit people.Visit
	now   people.Now
	pdf   []byte
	err   error

	asked []string
	act   people.Act
}

const record, secret = "0123456789abcdef01234567", "sesame"

func (s *script) note(format string, args ...any) error {
	s.asked = append(s.asked, fmt.Sprintf(format, args...))
	return s.err
}

func (s *script) Find(_ context.Context, r, given string) (*people.Visit, error) {
	if r != record || given != secret {
		return nil, fault.New(fault.NotFound, "there is no such page")
	}
	v := s.visit
	return &v, nil
}

func (s *script) Now(context.Context, *people.Visit, people.Browsers) (*people.Now, error) {
	n := s.now
	return &n, nil
}

func (s *script) Documents(*people.Visit) []people.Document {
	return []people.Document{{Name: "lease.pdf", SHA256: fmt.Sprintf("%x", sha256.Sum256(s.pdf)), Size: int64(len(s.pdf))}}
}

func (s *script) Open(context.Context, *people.Visit, int) (ades.Source, io.Closer, error) {
	return bytes.NewReader(s.pdf), nil, nil
}

func (s *script) Viewed(context.Context, *people.Visit, []people.Document) error {
	s.asked = append(s.asked, "viewed")
	return nil
}

func (s *script) Read(_ context.Context, _ *people.Visit, index int) error {
	return s.note("read %d", index)
}

func (s *script) Edit(_ context.Context, _ *people.Visit, name, email, mobile string) error {
	return s.note("edit %s %s %s", name, email, mobile)
}

func (s *script) SendCode(_ context.Context, _ *people.Visit, channel string, _ people.Browsers) error {
	return s.note("send %s", channel)
}

func (s *script) CheckCode(_ context.Context, _ *people.Visit, code string, _ people.Browsers, fresh people.Browser) error {
	if fresh == "" {
		return s.note("no browser")
	}
	return s.note("code %s", code)
}

func (s *script) Providers(_ context.Context, method string) []identify.Provider {
	return []identify.Provider{{ID: "https://idp.example/" + method, Name: "Poste"}}
}

func (s *script) Begin(_ context.Context, _ *people.Visit, method, provider string, _ people.Browser) (*identify.Departure, error) {
	return &identify.Departure{URL: "https://idp.example/sso", Form: map[string]string{"SAMLRequest": "x"}}, s.note("begin %s %s", method, provider)
}

func (s *script) Sign(_ context.Context, v *people.Visit, act people.Act, _ people.Browsers) error {
	s.act = act
	if s.err == nil {
		v.Person.State = ledger.PersonSigned
	}
	return s.note("sign")
}

func (s *script) Decline(_ context.Context, _ *people.Visit, reason string) error {
	return s.note("decline %s", reason)
}

func sheetOf(lines ...string) []byte {
	var text strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&text, "BT /F 12 Tf 72 %d Td (%s) Tj ET\n", 760-18*i, line)
	}
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R 5 0 R] /Count 2 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 6 0 R >> >> /Contents 4 0 R >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", text.Len(), text.String()),
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 6 0 R >> >> /Contents 4 0 R >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman >>",
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, a := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", a)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

// pageOf serves the page of a script.
func pageOf(t testing.TB, s *script) *httptest.Server {
	t.Helper()
	if s.pdf == nil {
		s.pdf = sheetOf("Contract of lease", "Between the parties <one> & \"two\" it is agreed:", "The tenant pays on the first day of the month.")
	}
	if s.visit.Record == nil {
		s.visit.Record = &ledger.Record{ID: record, CertificateType: "EU-SES", Title: "Lease of via Torino 10", CreatedAt: time.Now()}
		s.visit.Record.Options.People = &request.PeopleOptions{ExpiresAt: time.Date(2027, 1, 2, 10, 0, 0, 0, time.UTC)}
	}
	if s.visit.Person == nil {
		s.visit.Person = &ledger.Person{ID: "1", Secret: secret, Name: "Ada", Surname: "<b>Prova</b>", Email: "ada@example.org", Mobile: "+393331234567", State: ledger.PersonViewed, Role: ledger.RoleSigner, Language: "browser"}
	}
	if s.now.State == "" {
		s.now.State = s.visit.Person.State
	}
	cache, err := drawtest.Cache()
	if err != nil {
		t.Log(err) // compiled anew
	}
	d := &draw.Drawer{Cache: cache}
	guard, err := fetch.New(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	site := look.NewSite(look.Options{Operator: look.Operator{Name: "Studio Rossi", Privacy: "https://rossi.example/privacy", Terms: "https://rossi.example/terms"}, Sections: []look.Section{{Path: "/console/", Name: look.Same("Console")}}})
	p := New(site, Options{People: s, Drawer: d, Guard: guard, Log: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	mux.Handle("/sign/", p)
	mux.HandleFunc("/pages/", site.Static)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { srv.Close(); _ = d.Close() })
	return srv
}

func get(t testing.TB, address, lang string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Language", lang)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(b)
}

const path = "/sign/" + record + "/" + secret

// What each state shows, and what it does not: forms only where they can be used.
func TestStates(t *testing.T) {
	t.Parallel()
	all := []string{`id="document"`, `id="code"`, `id="send-code"`, `id="sign"`, `id="decline"`, `id="data"`, `id="signed"`, `id="identify"`, `name="typed"`, `name="drawn"`, `name="password"`}
	for name, c := range map[string]struct {
		now   people.Now
		state ledger.PersonState
		shows []int // of all
	}{
		"code":         {people.Now{Turn: true, Codes: []string{"email"}, EditEmail: true, MayDecline: true}, ledger.PersonViewed, []int{0, 1, 2, 4, 5}},
		"code sent":    {people.Now{Turn: true, Codes: []string{"sms"}, Sent: []string{"sms"}}, ledger.PersonViewed, []int{0, 1, 2}},
		"identify":     {people.Now{Turn: true, Identify: []string{"spid", "cie", "cns"}}, ledger.PersonViewed, []int{0, 7}},
		"sign":         {people.Now{Turn: true, MaySign: true, Typed: true, MayDecline: true}, ledger.PersonAuthenticated, []int{0, 3, 4, 8}},
		"drawn":        {people.Now{Turn: true, MaySign: true, Typed: true, Drawn: true}, ledger.PersonAuthenticated, []int{0, 3, 8, 9}},
		"certificate":  {people.Now{Turn: true, MaySign: true, Typed: true, Certificate: "ABC", OTP: true}, ledger.PersonAuthenticated, []int{0, 3, 8, 10}},
		"not the turn": {people.Now{Before: 2}, ledger.PersonNew, nil},
		"locked":       {people.Now{Turn: true, Codes: []string{"email"}, Locked: time.Now()}, ledger.PersonViewed, []int{0}},
		"pending":      {people.Now{Turn: true, Pending: true}, ledger.PersonAuthenticated, []int{0}},
		"done":         {people.Now{Over: true, Signed: true}, ledger.PersonSigned, []int{6}},
		"declined":     {people.Now{Over: true}, ledger.PersonDeclined, nil},
		"expired":      {people.Now{Over: true}, ledger.PersonExpired, nil},
	} {
		s := &script{now: c.now}
		s.now.State = c.state
		srv := pageOf(t, s)
		s.visit.Person.State = c.state
		for _, lang := range []string{"en", "it"} {
			resp, body := get(t, srv.URL+path, lang)
			if resp.StatusCode != http.StatusOK || !strings.Contains(body, `id="state" data-state="`+string(c.state)+`"`) || !strings.Contains(body, `lang="`+lang+`"`) {
				t.Errorf("%s: %d %.3000s", name, resp.StatusCode, body)
			}
			for i, handle := range all {
				want := false
				for _, k := range c.shows {
					want = want || k == i
				}
				if strings.Contains(body, handle) != want {
					t.Errorf("%s, %s: %s is there: %v", name, lang, handle, !want)
				}
			}
			if strings.Contains(body, "<b>Prova") || strings.Contains(body, "<one>") || strings.Contains(body, "Console") || strings.Contains(body, "/docs") {
				t.Errorf("%s: markup of a name, or a section", name)
			}
			if !strings.Contains(body, "Studio Rossi") || !strings.Contains(body, "https://rossi.example/privacy") {
				t.Errorf("%s: no operator", name)
			}
		}
	}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	s := &script{now: people.Now{Turn: true, Codes: []string{"email"}}}
	srv := pageOf(t, s)
	_, body := get(t, srv.URL+path, "en")
	if strings.Count(body, "data-page=") != 2 || !strings.Contains(body, "Between the parties &lt;one&gt;") {
		t.Errorf("%.3000s", body)
	}
	resp, picture := get(t, srv.URL+path+"/pages/1.png", "en")
	c, err := png.DecodeConfig(strings.NewReader(picture))
	if err != nil || c.Width != pictureWidth || resp.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%v %+v %v", resp.Status, c, err)
	}
	if strings.Contains(strings.Join(s.asked, ","), "read") {
		t.Error("the last page was not asked for")
	}
	if resp, _ := get(t, srv.URL+path+"/pages/2.png", "en"); resp.StatusCode != http.StatusOK || s.asked[len(s.asked)-1] != "read 0" {
		t.Errorf("%s %v", resp.Status, s.asked)
	}
	for _, bad := range []string{"0.png", "3.png", "1.jpg", "x.png", "1.png.txt", "-1.png", "99999999999999999999.png"} {
		if resp, _ := get(t, srv.URL+path+"/pages/"+bad, "en"); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", bad, resp.Status)
		}
	}
	s.now = people.Now{Before: 1}
	if resp, _ := get(t, srv.URL+path+"/pages/1.png", "en"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("before one's turn: %s", resp.Status)
	}
	if resp, _ := get(t, srv.URL+"/sign/"+record+"/guess/pages/1.png", "en"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a guess: %s", resp.Status)
	}
}

func post(t testing.TB, address string, form url.Values) (*http.Response, string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp, string(b)
}

func TestForms(t *testing.T) {
	t.Parallel()
	s := &script{now: people.Now{Turn: true, MaySign: true, Typed: true}}
	srv := pageOf(t, s)
	for _, c := range []struct {
		form   string
		values url.Values
		asked  string
	}{
		{"send-code", url.Values{"channel": {"sms"}}, "send sms"},
		{"code", url.Values{"code": {"123 456"}}, "code 123456"},
		{"data", url.Values{"name": {"Ada Prova"}, "email": {"a@b.c"}}, "edit Ada Prova a@b.c "},
		{"decline", url.Values{"reason": {"no"}}, "decline no"},
		{"sign", url.Values{"agree": {"true"}, "typed": {" Ada "}, "drawn": {"data:x"}}, "sign"},
	} {
		resp, body := post(t, srv.URL+path+"/"+c.form, c.values)
		if resp.StatusCode != http.StatusSeeOther || s.asked[len(s.asked)-1] != c.asked || !strings.HasPrefix(resp.Header.Get("Location"), path) {
			t.Errorf("%s: %s %s %v %.500s", c.form, resp.Status, resp.Header.Get("Location"), s.asked, body)
		}
	}
	if want := (people.Act{Agree: true, Typed: "Ada", Drawn: "data:x"}); s.act != want {
		t.Errorf("%+v", s.act)
	}
	s.visit.Person.State, s.err = ledger.PersonAuthenticated, fault.New(fault.WrongOTP, "the code is wrong")
	resp, body := post(t, srv.URL+path+"/code", url.Values{"code": {"000000"}})
	if resp.StatusCode < 400 || !strings.Contains(body, `id="problem" data-code="116"`) || !strings.Contains(body, `id="state"`) {
		t.Errorf("%s %.2000s", resp.Status, body)
	}
	if resp, _ := post(t, srv.URL+path+"/sign", url.Values{"drawn": {strings.Repeat("x", maxForm)}}); resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a form that is too large: %s", resp.Status)
	}
	foreign, _ := http.NewRequest(http.MethodPost, srv.URL+path+"/sign", strings.NewReader("agree=true"))
	foreign.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	foreign.Header.Set("Origin", "https://evil.example")
	before := len(s.asked)
	if resp, err := http.DefaultClient.Do(foreign); err != nil || resp.StatusCode != http.StatusForbidden || len(s.asked) != before {
		t.Errorf("another site's form: %v %v", resp.Status, err)
	}
}

// The policy names only the sites that may frame the page; the cookie is one that a frame keeps.
func TestFramed(t *testing.T) {
	t.Parallel()
	s := &script{now: people.Now{Over: true, Signed: true, State: ledger.PersonSigned}}
	srv := pageOf(t, s)
	resp, body := get(t, srv.URL+path, "en")
	if resp.Header.Get("X-Frame-Options") != "DENY" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") || strings.Contains(body, "<script") {
		t.Errorf("%v", resp.Header)
	}
	ui := &s.visit.Record.Options.People.UI
	ui.IframeAncestors, ui.CompleteURL = []string{"https://shop.example"}, "https://shop.example/done"
	s.visit.Person.State = ledger.PersonSigned
	resp, body = get(t, srv.URL+path+"?ended", "en")
	csp := resp.Header.Get("Content-Security-Policy")
	if resp.Header.Get("X-Frame-Options") != "" || !strings.Contains(csp, "frame-ancestors https://shop.example") || strings.Contains(csp, "unsafe") {
		t.Errorf("%v", resp.Header)
	}
	if !strings.Contains(body, `data-told="completed"`) || !strings.Contains(body, "told.js") || resp.Header.Get("Refresh") != "3; url=https://shop.example/done" {
		t.Errorf("%v %.3000s", resp.Header, body)
	}
	if resp, _ := get(t, srv.URL+path, "en"); resp.Header.Get("Refresh") != "" {
		t.Error("who comes back later is sent away")
	}
	for secure, want := range map[bool]string{true: `__Host-rogito-signer=.*; Path=/; .*HttpOnly; Secure; SameSite=None; Partitioned`, false: `rogito-signer=.*; Path=/sign/` + record + `; .*HttpOnly; SameSite=Lax$`} {
		p := &Pages{Options: Options{Secure: secure}}
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.SetPathValue("record", record)
		w := httptest.NewRecorder()
		p.newBrowser(w, r, true)
		if got := w.Header().Get("Set-Cookie"); !regexp.MustCompile(want).MatchString(got) {
			t.Errorf("%v: %s", secure, got)
		}
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	s := &script{now: people.Now{Turn: true}}
	srv := pageOf(t, s)
	ui := &s.visit.Record.Options.People.UI
	ui.HeaderBackgroundColor, ui.SignButtonBackgroundColor, ui.ButtonTextColor = "#112233", "#ffee00", "#fff; } body { display: none"
	ui.HideHeader, ui.HideSidebar = true, true
	resp, css := get(t, srv.URL+path+"/style.css", "en")
	if !strings.Contains(css, "background: #112233") || !strings.Contains(css, "color: #000000") || strings.Contains(css, "display") || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/css") {
		t.Errorf("%s", css)
	}
	if _, body := get(t, srv.URL+path, "en"); strings.Contains(body, `class="bar"`) || strings.Contains(body, "card about") || strings.Contains(body, "style=") {
		t.Errorf("%.2000s", body)
	}
	dot := "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for address, status := range map[string]int{dot: 200, "data:text/html;base64,PGh0bWw+": 404, "http://127.0.0.1:1/x.png": 404} {
		ui.SidebarLogo = address
		if resp, _ := get(t, srv.URL+path+"/logo", "en"); resp.StatusCode != status {
			t.Errorf("%.40s: %s", address, resp.Status)
		}
	}
}

func TestIdentification(t *testing.T) {
	t.Parallel()
	s := &script{now: people.Now{Turn: true, Identify: []string{"spid", "cns"}}}
	srv := pageOf(t, s)
	if _, body := get(t, srv.URL+path, "it"); !strings.Contains(body, path+"/spid?idp=https%3A%2F%2Fidp.example%2Fspid") || !strings.Contains(body, path+"/cns") {
		t.Errorf("%.3000s", body)
	}
	resp, body := get(t, srv.URL+path+"/spid?idp=x", "it")
	if s.asked[len(s.asked)-1] != "begin spid x" || !strings.Contains(body, `action="https://idp.example/sso"`) || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "form-action https://idp.example https:") {
		t.Errorf("%v %.2000s", resp.Header, body)
	}
	s.err = fault.New(fault.NotTheApplicant, "another person").Because(&identify.Difference{Attribute: "fiscalCode"})
	if resp, body := get(t, srv.URL+path+"/spid?idp=x", "it"); resp.StatusCode < 400 || !strings.Contains(body, `id="problem" data-code="312"`) || !strings.Contains(body, "non è la persona") {
		t.Errorf("%s %.2000s", resp.Status, body)
	}
	if resp, _ := get(t, srv.URL+path+"/video", "it"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a method that there is not: %s", resp.Status)
	}
}

// BenchmarkPicture is what a page of 50 takes that was drawn before, and the page around
// all of them.
func BenchmarkPicture(b *testing.B) {
	var kids strings.Builder
	for range 50 {
		kids.WriteString("3 0 R ")
	}
	s := &script{now: people.Now{Turn: true, Codes: []string{"email"}}}
	s.pdf = bytes.Replace(sheetOf("Contract of lease", "between two parties"), []byte("/Kids [3 0 R 5 0 R] /Count 2"), []byte("/Kids ["+kids.String()+"] /Count 50"), 1)
	srv := pageOf(b, s)
	get(b, srv.URL+path, "en")
	for name, address := range map[string]string{"picture": path + "/pages/50.png", "page": path} {
		b.Run(name, func(b *testing.B) {
			get(b, srv.URL+address, "en")
			for b.Loop() {
				if resp, _ := get(b, srv.URL+address, "en"); resp.StatusCode != http.StatusOK {
					b.Fatal(resp.Status)
				}
			}
		})
	}
}
