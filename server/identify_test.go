package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
)

// pretend is a method whose answers say who the person is, as they like: what
// stands around it is what is tested here.
type pretend struct{ until time.Duration }

func (pretend) Name() string { return "spid" }
func (pretend) Providers(context.Context) []identify.Provider {
	return []identify.Provider{{ID: "https://idp.example/a?b=c", Name: "Pretender"}}
}

func (p pretend) Start(_ context.Context, _ identify.Order, provider string) (*identify.Departure, error) {
	if provider != "https://idp.example/a?b=c" {
		return nil, &identify.Refusal{Reason: "provider", English: "There is no such provider.", Italian: "Questo gestore non esiste."}
	}
	id := "_" + rand.Text()
	return &identify.Departure{Request: id, URL: "https://idp.example/sso", Form: map[string]string{"SAMLRequest": id, "RelayState": "x"}, State: []byte("state of " + id), Until: time.Now().Add(p.until)}, nil
}

func (pretend) Request(answer url.Values) (string, error) {
	if answer.Get("InResponseTo") == "" {
		return "", &identify.Refusal{Reason: "empty", English: "There is no answer here.", Italian: "Qui non c'è nessuna risposta."}
	}
	return answer.Get("InResponseTo"), nil
}

func (pretend) Finish(_ context.Context, state []byte, answer url.Values) (*identify.Answer, error) {
	switch {
	case string(state) != "state of "+answer.Get("InResponseTo"):
		return nil, errors.New("another's state")
	case answer.Get("say") == "no":
		return nil, &identify.Refusal{Reason: "nr25", English: "You cancelled the identification.", Italian: "Hai annullato l'identificazione."}
	case answer.Get("say") == "broken":
		return nil, errors.New("the provider is on fire")
	}
	return &identify.Answer{
		Proof: &identify.Proof{
			Issuer: "https://idp.example/a?b=c", Level: "https://www.spid.gov.it/SpidL2", At: time.Now(),
			Proven: identify.Attributes{GivenName: answer.Get("name"), Surname: "Prova", FiscalCode: answer.Get("code")},
		},
		ID: "idp " + answer.Get("id"), Until: time.Now().Add(time.Hour), Files: []identify.File{{Name: "response.xml", Content: []byte("<signed/>")}},
	}, nil
}

func (pretend) Check(context.Context) []identify.Finding { return nil }

// twins are two servers on one database that offer the method.
type twins struct {
	*site
	room *Server
	urls [2]string
	log  bytes.Buffer
}

func newTwins(t *testing.T, s *site, method identify.Method) *twins {
	w := &twins{site: s}
	for i := range w.urls {
		w.room = s.rooms()
		w.room.LogTo(slog.New(slog.NewTextHandler(&w.log, nil)))
		w.room.sig.identify.Elsewhere = append(w.room.sig.identify.Elsewhere, method)
		srv := httptest.NewServer(w.room.Handler())
		t.Cleanup(srv.Close)
		w.urls[i] = srv.URL
	}
	return w
}

// at is an address at one of the two.
func (w *twins) at(i int, link string) string { return w.urls[i] + strings.TrimPrefix(link, w.url) }

func (w *twins) visit(browser *http.Client, address string, form url.Values, header ...string) (int, string) {
	w.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, address, body)
	if err != nil {
		w.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "null") // as after a form of another site
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := browser.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

func aBrowser(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

const provider = "/spid?idp=https%3A%2F%2Fidp.example%2Fa%3Fb%3Dc"

// begin starts an identification and returns the id of the request.
func (w *twins) begin(browser *http.Client, i int, c bought) string {
	w.t.Helper()
	status, page := w.visit(browser, w.at(i, c.CertificateLink)+provider, nil)
	_, rest, _ := strings.Cut(page, `name="SAMLRequest" value="`)
	id, _, found := strings.Cut(rest, `"`)
	if status != 200 || !found {
		w.t.Fatalf("%d %s", status, page)
	}
	return id
}

func (w *twins) answers(request string, more ...string) url.Values {
	v := url.Values{"InResponseTo": {request}, "id": {rand.Text()}, "name": {"Elsa"}, "code": {"PRVLSE80A41H501X"}}
	for i := 0; i+1 < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v
}

var elsa = m{"subject": m{"givenName": "Elsa", "surname": "Prova", "fiscalCode": "PRVLSE80A41H501X"}}

// An identification is begun at one server and ended at another; what comes a
// second time is refused everywhere.
func TestIdentifiedAcrossServers(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		w := newTwins(t, s, pretend{until: time.Minute})
		c := s.buy("otp", elsa)
		holder := aBrowser(t)
		status, page := w.visit(holder, w.at(0, c.CertificateLink), nil)
		if status != 200 || !strings.Contains(page, "SPID: Pretender") || !strings.Contains(page, `id="approve"`) || !strings.Contains(page, `/choose"`) {
			t.Fatalf("%d %s", status, page)
		}
		request := w.begin(holder, 0, c)
		if s.certificateState(c.ID) != "REGISTERING" {
			t.Errorf("it is %s", s.certificateState(c.ID))
		}
		answer := w.answers(request)
		status, page = w.visit(holder, w.urls[1]+"/spid/acs", answer)
		if status != 200 || !strings.Contains(page, `id="reveal"`) || s.certificateState(c.ID) != "DONE" {
			t.Fatalf("%d %s %s", status, s.certificateState(c.ID), page)
		}
		for i, url := range w.urls {
			if status, page := w.visit(holder, url+"/spid/acs", answer); status != 422 || !strings.Contains(page, `data-code="313"`) {
				t.Errorf("replayed at %d: %d %s", i, status, page)
			}
			if status, _ := w.visit(aBrowser(t), w.at(i, c.CertificateLink), url_("action", "reveal")); status == 200 {
				t.Errorf("another browser at %d sees something", i)
			}
		}
		// The assertion of one order does not serve another.
		other := s.buy("automatic", elsa)
		again := w.begin(holder, 0, other)
		reused := w.answers(again, "id", answer.Get("id"))
		if status, page := w.visit(holder, w.urls[1]+"/spid/acs", reused); status != 422 || !strings.Contains(page, "received already") {
			t.Errorf("an assertion taken twice: %d %s", status, page)
		}
		kept, err := w.room.Evidence(context.Background(), c.ID)
		if err != nil || kept.Method != "spid" || kept.Issuer != "https://idp.example/a?b=c" || kept.Level != "https://www.spid.gov.it/SpidL2" || kept.Request != request ||
			len(kept.Files) != 1 || kept.Files[0].Name != "response.xml" || string(kept.Files[0].Content) != "<signed/>" {
			t.Errorf("%+v %v", kept, err)
		}
		if page := s.pageOf(holder, w.at(1, c.CertificateLink), url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
			t.Errorf("no credentials: %s", page)
		}
		s.verifyAudit()
	})
}

func url_(k, v string) url.Values { return url.Values{k: {v}} }

func (s *site) pageOf(browser *http.Client, link string, form url.Values) string {
	s.holder = browser
	return s.page(link, form)
}

// An answer counts in the browser that began and in no other: whoever is lured
// to a provider by somebody else's request identifies nobody.
func TestAnswerInAnotherBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{until: time.Minute})
	c := s.buy("automatic", elsa)
	attacker, victim := aBrowser(t), aBrowser(t)
	answer := w.answers(w.begin(attacker, 0, c))
	status, page := w.visit(victim, w.urls[0]+"/spid/acs", answer)
	if status != 422 || !strings.Contains(page, `data-code="313"`) || !strings.Contains(page, "another browser") {
		t.Errorf("%d %s", status, page)
	}
	for name, browser := range map[string]*http.Client{"victim": victim, "attacker": attacker} {
		if page := s.pageOf(browser, w.at(1, c.CertificateLink), url_("action", "reveal")); s.certificateState(c.ID) != "REGISTERING" || element(page, "certificate-password") != "" {
			t.Errorf("%s: %s %s", name, s.certificateState(c.ID), page)
		}
	}
	// Nor does the way back, taken from where it was, serve the one who began.
	stay := aBrowser(t)
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.PostForm(w.urls[0]+"/spid/acs", w.answers(w.begin(attacker, 0, c)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back := resp.Header.Get("Location")
	if resp.StatusCode != 303 || strings.Contains(back, c.CertificateLink[strings.LastIndexByte(c.CertificateLink, '/')+1:]) {
		t.Errorf("%d %s tells the secret of the order", resp.StatusCode, back)
	}
	if status, _ := w.visit(victim, w.urls[1]+back, nil); status != 422 {
		t.Errorf("the victim's way back: %d", status)
	}
	if status, _ := w.visit(attacker, w.urls[1]+back, nil); status != 422 || s.certificateState(c.ID) != "REGISTERING" {
		t.Errorf("a way back that was used: %d %s", status, s.certificateState(c.ID))
	}
}

// Each failure is a sentence in the language of the person, with its code and a
// way on; five end the order, and the money comes back. Neither log nor audit
// has anything of the person.
func TestRefusedIdentifications(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{until: time.Minute})
	browser := aBrowser(t)
	credit := s.credit()
	c := s.buy("automatic", elsa)
	for i, one := range []struct {
		more   []string
		lang   string
		code   string
		text   string
		status int
	}{
		{[]string{"say", "no"}, "it", "313", "Hai annullato l&#39;identificazione.", 422},
		{[]string{"say", "broken"}, "it", "105", "riprova tra poco", 503}, // no try
		{[]string{"say", "broken"}, "en", "105", "try again in a moment", 503},
		{[]string{"code", "BNCGRG80A41H501X"}, "it", "312", "Non corrisponde: Codice fiscale.", 422},
		{[]string{"name", "Giorgia"}, "en", "312", "What differs: Given name.", 422},
		{[]string{"code", ""}, "en", "310", "does not prove something that the order names: Fiscal code.", 422},
		{[]string{"say", "no"}, "en", "313", "the order is cancelled", 422},
	} {
		status, page := w.visit(browser, w.urls[i%2]+"/spid/acs", w.answers(w.begin(browser, i%2, c), one.more...), "Accept-Language", one.lang)
		if status != one.status || !strings.Contains(page, `id="problem" data-code="`+one.code+`"`) || !strings.Contains(page, one.text) {
			t.Errorf("%d: %d %s", i, status, page)
		}
		if i < 6 && (s.certificateState(c.ID) != "REGISTERING" || !strings.Contains(page, `id="back" href="`+c.CertificateLink)) {
			t.Errorf("%d: %s, and the way on is not there: %s", i, s.certificateState(c.ID), page)
		}
		for _, secret := range []string{"BNCGRG80A41H501X", "Giorgia"} {
			if strings.Contains(page, secret) {
				t.Errorf("%d: the page shows %s", i, secret)
			}
		}
	}
	if s.certificateState(c.ID) != "CANCELLED" || s.credit() != credit {
		t.Errorf("%s, %v instead of %v", s.certificateState(c.ID), s.credit(), credit)
	}
	for form, text := range map[string]string{"": "There is no answer here.", "_unheard": "that was begun here"} {
		if status, page := w.visit(browser, w.urls[0]+"/spid/acs", w.answers(form)); status != 422 || !strings.Contains(page, text) {
			t.Errorf("%q: %d %s", form, status, page)
		}
	}
	if status, page := w.visit(browser, w.at(0, s.buy("automatic", nil).CertificateLink)+"/spid?idp=nobody", nil); status != 422 || !strings.Contains(page, `data-code="313"`) {
		t.Errorf("%d %s", status, page)
	}
	if n := w.room.countRows(t, `select count(*) from audit_events where kind = 'certificate-refused' and record_id = '`+c.ID+`'`); n != 5 {
		t.Errorf("%d refusals in the audit log", n)
	}
	var trail []byte
	rows, err := w.room.db.Read().Query(context.Background(), `select payload from audit_events`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			t.Fatal(err)
		}
		trail = append(trail, b...)
	}
	for name, text := range map[string]string{"log": w.log.String(), "audit": string(trail)} {
		for _, secret := range []string{"BNCGRG80A41H501X", "PRVLSE80A41H501X", "Giorgia", "Elsa"} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s has %s", name, secret)
			}
		}
	}
	s.verifyAudit()
}

// An answer that comes too late is refused, and what nobody can use any more is
// forgotten.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{until: -time.Second})
	c := s.buy("automatic", elsa)
	browser := aBrowser(t)
	if status, page := w.visit(browser, w.urls[0]+"/spid/acs", w.answers(w.begin(browser, 0, c))); status != 422 || !strings.Contains(page, "too late") {
		t.Errorf("%d %s", status, page)
	}
	if err := enrollAt(w.room, after(2*time.Hour)).Tidy(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := w.room.countRows(t, `select count(*) from identification_requests`); n != 0 {
		t.Errorf("%d requests are still there", n)
	}
}

// The page that sends a person away works without scripts, and may send a form
// to the provider; that is the only page that may.
func TestDeparture(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{until: time.Minute})
	c := s.buy("automatic", nil)
	resp, err := aBrowser(t).Get(w.at(0, c.CertificateLink) + provider)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, _ := io.ReadAll(resp.Body)
	policy := resp.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "form-action https://idp.example https:") || !strings.Contains(policy, "script-src 'self'") || !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("%s", policy)
	}
	for _, want := range []string{`action="https://idp.example/sso"`, `name="RelayState" value="x"`, `<button type="submit"`, `/depart.js"></script>`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
	if resp, err := http.Get(w.urls[0] + "/pages/depart.js"); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("%v %v", resp, err)
	}
	if resp, err := http.Get(s.url + "/spid/acs"); err != nil || resp.StatusCode != 404 {
		t.Errorf("a server without SPID has its addresses: %v %v", resp, err)
	}
	if a := s.do("POST", "/certificates/namirial-automatic", m{"certificateOwner": "x", "identification": "spid"}); a.code() != 311 {
		t.Errorf("%d", a.code())
	}
	if a := s.do("GET", "/certificates/identifications", nil); string(a.Data) != `["video","signature"]` {
		t.Errorf("%s", a.Data)
	}
}

// stays is a browser that is not sent on; it returns where to.
func (w *twins) stays(browser *http.Client, answer url.Values) string {
	w.t.Helper()
	stay := *browser
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.PostForm(w.urls[0]+"/spid/acs", answer)
	if err != nil {
		w.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 303 {
		w.t.Fatalf("%d", resp.StatusCode)
	}
	return resp.Header.Get("Location")
}

// Who can write to the database, and has no master key, cannot take another's
// answer for an order of their own.
func TestDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		w := newTwins(t, s, pretend{until: time.Minute})
		victims, attackers := s.buy("automatic", elsa), s.buy("automatic", elsa)
		victim, attacker := aBrowser(t), aBrowser(t)
		back := w.stays(victim, w.answers(w.begin(victim, 0, victims)))
		own := w.stays(attacker, w.answers(w.begin(attacker, 0, attackers)))
		where := `certificate_id = '` + victims.ID + `'`
		ofAttacker := `certificate_id = '` + attackers.ID + `'`
		var token string
		if err := w.room.db.Read().QueryRow(context.Background(), `select token from identification_requests where `+ofAttacker).Scan(&token); err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"answer", "sealed", "token"} {
			w.room.execute(t, `update identification_requests set token = '' where `+ofAttacker)
			if column == "token" {
				w.room.execute(t, `update identification_requests set token = $1 where `+where, token)
			} else {
				w.room.execute(t, `update identification_requests set token = $1, `+column+` = (select `+column+` from identification_requests where `+where+`) where `+ofAttacker, token)
			}
			for _, path := range []string{own, strings.Replace(own, attackers.ID, victims.ID, 1), strings.Replace(back, victims.ID, attackers.ID, 1)} {
				w.visit(attacker, w.urls[1]+path, nil)
			}
			if a, v := s.certificateState(attackers.ID), s.certificateState(victims.ID); a == "DONE" || v == "DONE" {
				t.Errorf("%s moved: %s, %s", column, a, v)
			}
		}
	})
}

// Evidence goes when its time is over or an operator says so, files and all, and
// the audit log still verifies.
func TestEvidenceIsErased(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{until: time.Minute})
	ctx := context.Background()
	identified := func() (bought, []string) {
		c, browser := s.buy("automatic", elsa), aBrowser(t)
		if status, page := w.visit(browser, w.urls[0]+"/spid/acs", w.answers(w.begin(browser, 0, c))); status != 200 {
			t.Fatalf("%d %s", status, page)
		}
		var list string
		if err := w.room.db.Read().QueryRow(ctx, `select blobs from identifications where certificate_id = $1`, c.ID).Scan(&list); err != nil {
			t.Fatal(err)
		}
		return c, strings.Split(strings.Trim(list, `[]"`), `","`)
	}
	gone := func(c bought, blobs []string) bool {
		_, err := w.room.Evidence(ctx, c.ID)
		for _, id := range blobs {
			if r, err := w.room.blobs.Open(ctx, id); err == nil {
				r.Close()
				t.Errorf("a file of %s is still there", c.ID)
			}
		}
		return errors.Is(err, fault.NotFound)
	}
	revoked, blobs := identified()
	good, _ := identified()
	s.do("POST", "/certificates/"+revoked.ID+"/revoke", nil)
	if err := enrollAt(w.room, after(19*365*day)).Tidy(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.room.Evidence(ctx, revoked.ID); err != nil {
		t.Errorf("after 19 years: %v", err)
	}
	if err := enrollAt(w.room, after(21*365*day)).Tidy(ctx); err != nil {
		t.Fatal(err)
	}
	if !gone(revoked, blobs) {
		t.Error("it is kept for ever")
	}
	if _, err := w.room.Evidence(ctx, good.ID); err != nil {
		t.Errorf("of a certificate that has only just ended: %v", err)
	}
	asked, blobs := identified()
	if err := w.room.EraseEvidence(ctx, asked.ID); err != nil || !gone(asked, blobs) {
		t.Errorf("erased: %v", err)
	}
	s.verifyAudit()
}

// What somebody handed in for an operator is void once the holder was identified
// otherwise: approving it would give the credentials to another browser.
func TestIdentifiedOtherwise(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{until: time.Minute})
	c := s.buy("automatic", elsa)
	attacker, holder := aBrowser(t), aBrowser(t)
	s.holder = attacker
	if status, page := s.upload(c.CertificateLink, "video", evidenceFiles); status != 200 {
		t.Fatalf("%d %s", status, page)
	}
	if status, page := w.visit(holder, w.urls[0]+"/spid/acs", w.answers(w.begin(holder, 0, c))); status != 200 || s.certificateState(c.ID) != "DONE" {
		t.Fatalf("%d %s", status, page)
	}
	if a := s.do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}); a.code() != 145 {
		t.Errorf("the video is approved: %d/%d", a.Status, a.code())
	}
	if page := s.pageOf(attacker, c.CertificateLink, url_("action", "reveal")); element(page, "certificate-password") != "" {
		t.Error("whoever sent the video sees the credentials")
	}
	if page := s.pageOf(holder, c.CertificateLink, url_("action", "reveal")); element(page, "certificate-password") == "" {
		t.Errorf("no credentials: %s", page)
	}
}

// Video and signature leave evidence of the same form.
func TestEvidenceOfEveryMethod(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	room := s.rooms()
	c := s.ready("automatic", nil)
	kept, err := room.Evidence(context.Background(), c.ID)
	if err != nil || kept.Method != "video" || kept.At.IsZero() || len(kept.Files) != 2 || !bytes.Equal(kept.Files[1].Content, filmtest.MP4("vide", 4200)) {
		t.Errorf("video: %+v %v", kept, err)
	}
	button := s.issued("automatic", nil)
	c = s.buy("automatic", m{"certificateOwner": "Elsa Prova", "identification": "signature"})
	signed := s.outside.Person("Elsa", "Prova", "").PDF(s.statement(c.CertificateLink))
	if status, page := s.upload(c.CertificateLink, "signature", map[string][]byte{"document": signed}); status != 200 {
		t.Fatalf("%d %s", status, page)
	}
	kept, err = room.Evidence(context.Background(), c.ID)
	if err != nil || kept.Method != "signature" || kept.Issuer == "" || kept.Request == "" || len(kept.Files) != 1 || !bytes.Equal(kept.Files[0].Content, signed) {
		t.Errorf("signature: %+v %v", kept, err)
	}
	if _, err := room.Evidence(context.Background(), button.ID); !errors.Is(err, fault.NotFound) {
		t.Errorf("the button of the sandbox proves nothing, and leaves nothing: %v", err)
	}
}
