package identify_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// An identification is begun at one server and ended at another; what comes a
// second time is refused everywhere.
func TestIdentifiedAcrossServers(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		w := newTwins(t, s, pretend{Until: time.Minute})
		c := s.Buy("otp", sitetest.Elsa)
		holder := aBrowser(t)
		status, page := w.Visit(holder, w.At(0, c.CertificateLink), nil)
		if status != 200 || !strings.Contains(page, "SPID: Pretender") || !strings.Contains(page, `id="approve"`) || !strings.Contains(page, `/choose"`) {
			t.Fatalf("%d %s", status, page)
		}
		request := w.Begin(holder, 0, c)
		if s.CertificateState(c.ID) != "REGISTERING" {
			t.Errorf("it is %s", s.CertificateState(c.ID))
		}
		answer := w.Answers(request)
		status, page = w.Visit(holder, w.URLs[1]+"/spid/acs", answer)
		if status != 200 || !strings.Contains(page, `id="reveal"`) || s.CertificateState(c.ID) != "DONE" {
			t.Fatalf("%d %s %s", status, s.CertificateState(c.ID), page)
		}
		for i, url := range w.URLs {
			if status, page := w.Visit(holder, url+"/spid/acs", answer); status != 422 || !strings.Contains(page, `data-code="313"`) {
				t.Errorf("replayed at %d: %d %s", i, status, page)
			}
			if status, _ := w.Visit(aBrowser(t), w.At(i, c.CertificateLink), url_("action", "reveal")); status == 200 {
				t.Errorf("another browser at %d sees something", i)
			}
		}
		// The assertion of one order does not serve another.
		other := s.Buy("automatic", sitetest.Elsa)
		again := w.Begin(holder, 0, other)
		reused := w.Answers(again, "id", answer.Get("id"))
		if status, page := w.Visit(holder, w.URLs[1]+"/spid/acs", reused); status != 422 || !strings.Contains(page, "received already") {
			t.Errorf("an assertion taken twice: %d %s", status, page)
		}
		kept, err := w.Srv.Evidence(context.Background(), c.ID)
		if err != nil || kept.Method != "spid" || kept.Issuer != "https://idp.example/a?b=c" || kept.Level != "https://www.spid.gov.it/SpidL2" || kept.Request != request ||
			len(kept.Files) != 1 || kept.Files[0].Name != "response.xml" || string(kept.Files[0].Content) != "<signed/>" {
			t.Errorf("%+v %v", kept, err)
		}
		if page := s.PageOf(holder, w.At(1, c.CertificateLink), url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
			t.Errorf("no credentials: %s", page)
		}
		s.VerifyAudit()
	})
}

// An answer counts only in the browser that began: a victim who is lured to a provider by an
// attacker's request is not identified by it.
func TestAnswerInAnotherBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{Until: time.Minute})
	c := s.Buy("automatic", sitetest.Elsa)
	attacker, victim := aBrowser(t), aBrowser(t)
	answer := w.Answers(w.Begin(attacker, 0, c))
	status, page := w.Visit(victim, w.URLs[0]+"/spid/acs", answer)
	if status != 422 || !strings.Contains(page, `data-code="313"`) || !strings.Contains(page, "another browser") {
		t.Errorf("%d %s", status, page)
	}
	for name, browser := range map[string]*http.Client{"victim": victim, "attacker": attacker} {
		if page := s.PageOf(browser, w.At(1, c.CertificateLink), url_("action", "reveal")); s.CertificateState(c.ID) != "REGISTERING" || element(page, "certificate-password") != "" {
			t.Errorf("%s: %s %s", name, s.CertificateState(c.ID), page)
		}
	}
	// Nor does the way back, taken from where it was, serve the one who began.
	stay := aBrowser(t)
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.PostForm(w.URLs[0]+"/spid/acs", w.Answers(w.Begin(attacker, 0, c)))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	back := resp.Header.Get("Location")
	if resp.StatusCode != 303 || strings.Contains(back, c.CertificateLink[strings.LastIndexByte(c.CertificateLink, '/')+1:]) {
		t.Errorf("%d %s tells the secret of the order", resp.StatusCode, back)
	}
	if status, _ := w.Visit(victim, w.URLs[1]+back, nil); status != 422 {
		t.Errorf("the victim's way back: %d", status)
	}
	if status, _ := w.Visit(attacker, w.URLs[1]+back, nil); status != 422 || s.CertificateState(c.ID) != "REGISTERING" {
		t.Errorf("a way back that was used: %d %s", status, s.CertificateState(c.ID))
	}
}

// Each failure is a sentence in the language of the person, with its code and a
// way on; five end the order, and the money comes back. Neither log nor audit
// has anything of the person.
func TestRefusedIdentifications(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{Until: time.Minute})
	browser := aBrowser(t)
	credit := s.Credit()
	c := s.Buy("automatic", sitetest.Elsa)
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
		status, page := w.Visit(browser, w.URLs[i%2]+"/spid/acs", w.Answers(w.Begin(browser, i%2, c), one.more...), "Accept-Language", one.lang)
		if status != one.status || !strings.Contains(page, `id="problem" data-code="`+one.code+`"`) || !strings.Contains(page, one.text) {
			t.Errorf("%d: %d %s", i, status, page)
		}
		if i < 6 && (s.CertificateState(c.ID) != "REGISTERING" || !strings.Contains(page, `id="back" href="`+c.CertificateLink)) {
			t.Errorf("%d: %s, and the way on is not there: %s", i, s.CertificateState(c.ID), page)
		}
		for _, secret := range []string{"BNCGRG80A41H501X", "Giorgia"} {
			if strings.Contains(page, secret) {
				t.Errorf("%d: the page shows %s", i, secret)
			}
		}
	}
	if s.CertificateState(c.ID) != "CANCELLED" || s.Credit() != credit {
		t.Errorf("%s, %v instead of %v", s.CertificateState(c.ID), s.Credit(), credit)
	}
	for form, text := range map[string]string{"": "There is no answer here.", "_unheard": "that was begun here"} {
		if status, page := w.Visit(browser, w.URLs[0]+"/spid/acs", w.Answers(form)); status != 422 || !strings.Contains(page, text) {
			t.Errorf("%q: %d %s", form, status, page)
		}
	}
	if status, page := w.Visit(browser, w.At(0, s.Buy("automatic", nil).CertificateLink)+"/spid?idp=nobody", nil); status != 422 || !strings.Contains(page, `data-code="313"`) {
		t.Errorf("%d %s", status, page)
	}
	if n := countRows(w.Srv, t, `select count(*) from audit_events where kind = 'certificate-refused' and record_id = '`+c.ID+`'`); n != 5 {
		t.Errorf("%d refusals in the audit log", n)
	}
	var trail []byte
	rows, err := w.Srv.Parts().DB.Read().Query(context.Background(), `select payload from audit_events`)
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
	for name, text := range map[string]string{"log": w.Log.String(), "audit": string(trail)} {
		for _, secret := range []string{"BNCGRG80A41H501X", "PRVLSE80A41H501X", "Giorgia", "Elsa"} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s has %s", name, secret)
			}
		}
	}
	s.VerifyAudit()
}

// An answer that comes too late is refused, and what can no longer be used is deleted.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{Until: -time.Second})
	c := s.Buy("automatic", sitetest.Elsa)
	browser := aBrowser(t)
	if status, page := w.Visit(browser, w.URLs[0]+"/spid/acs", w.Answers(w.Begin(browser, 0, c))); status != 422 || !strings.Contains(page, "too late") {
		t.Errorf("%d %s", status, page)
	}
	if err := enrollAt(w.Srv, after(2*time.Hour)).Tidy(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := countRows(w.Srv, t, `select count(*) from identification_requests`); n != 0 {
		t.Errorf("%d requests are still there", n)
	}
}

// The page that sends a person away works without scripts, and may send a form
// to the provider; that is the only page that may.
func TestDeparture(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{Until: time.Minute})
	c := s.Buy("automatic", nil)
	resp, err := aBrowser(t).Get(w.At(0, c.CertificateLink) + provider)
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
	if resp, err := http.Get(w.URLs[0] + "/pages/depart.js"); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("%v %v", resp, err)
	}
	if resp, err := http.Get(s.URL + "/spid/acs"); err != nil || resp.StatusCode != 404 {
		t.Errorf("a server without SPID has its addresses: %v %v", resp, err)
	}
	if a := s.Do("POST", "/certificates/namirial-automatic", m{"certificateOwner": "x", "identification": "spid"}); a.Code() != 311 {
		t.Errorf("%d", a.Code())
	}
	if a := s.Do("GET", "/certificates/identifications", nil); string(a.Data) != `["video","signature"]` {
		t.Errorf("%s", a.Data)
	}
}

// Who can write to the database, and has no master key, cannot take another's
// answer for an order of their own.
func TestDatabaseDoesNotAnswer(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		w := newTwins(t, s, pretend{Until: time.Minute})
		victims, attackers := s.Buy("automatic", sitetest.Elsa), s.Buy("automatic", sitetest.Elsa)
		victim, attacker := aBrowser(t), aBrowser(t)
		back := w.Stays(victim, w.Answers(w.Begin(victim, 0, victims)))
		own := w.Stays(attacker, w.Answers(w.Begin(attacker, 0, attackers)))
		where := `certificate_id = '` + victims.ID + `'`
		ofAttacker := `certificate_id = '` + attackers.ID + `'`
		var token string
		if err := w.Srv.Parts().DB.Read().QueryRow(context.Background(), `select token from identification_requests where `+ofAttacker).Scan(&token); err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"answer", "sealed", "token"} {
			execute(w.Srv, t, `update identification_requests set token = '' where `+ofAttacker)
			if column == "token" {
				execute(w.Srv, t, `update identification_requests set token = $1 where `+where, token)
			} else {
				execute(w.Srv, t, `update identification_requests set token = $1, `+column+` = (select `+column+` from identification_requests where `+where+`) where `+ofAttacker, token)
			}
			for _, path := range []string{own, strings.Replace(own, attackers.ID, victims.ID, 1), strings.Replace(back, victims.ID, attackers.ID, 1)} {
				w.Visit(attacker, w.URLs[1]+path, nil)
			}
			if a, v := s.CertificateState(attackers.ID), s.CertificateState(victims.ID); a == "DONE" || v == "DONE" {
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
	w := newTwins(t, s, pretend{Until: time.Minute})
	ctx := context.Background()
	identified := func() (bought, []string) {
		c, browser := s.Buy("automatic", sitetest.Elsa), aBrowser(t)
		if status, page := w.Visit(browser, w.URLs[0]+"/spid/acs", w.Answers(w.Begin(browser, 0, c))); status != 200 {
			t.Fatalf("%d %s", status, page)
		}
		var list string
		if err := w.Srv.Parts().DB.Read().QueryRow(ctx, `select blobs from identifications where certificate_id = $1`, c.ID).Scan(&list); err != nil {
			t.Fatal(err)
		}
		return c, strings.Split(strings.Trim(list, `[]"`), `","`)
	}
	gone := func(c bought, blobs []string) bool {
		_, err := w.Srv.Evidence(ctx, c.ID)
		for _, id := range blobs {
			if r, err := w.Srv.Parts().Blobs.Open(ctx, id); err == nil {
				r.Close()
				t.Errorf("a file of %s is still there", c.ID)
			}
		}
		return errors.Is(err, fault.NotFound)
	}
	revoked, blobs := identified()
	good, _ := identified()
	s.Do("POST", "/certificates/"+revoked.ID+"/revoke", nil)
	if err := enrollAt(w.Srv, after(19*365*day)).Tidy(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Srv.Evidence(ctx, revoked.ID); err != nil {
		t.Errorf("after 19 years: %v", err)
	}
	if err := enrollAt(w.Srv, after(21*365*day)).Tidy(ctx); err != nil {
		t.Fatal(err)
	}
	if !gone(revoked, blobs) {
		t.Error("it is kept for ever")
	}
	if _, err := w.Srv.Evidence(ctx, good.ID); err != nil {
		t.Errorf("of a certificate that has only just ended: %v", err)
	}
	asked, blobs := identified()
	if err := w.Srv.EraseEvidence(ctx, asked.ID); err != nil || !gone(asked, blobs) {
		t.Errorf("erased: %v", err)
	}
	s.VerifyAudit()
}

// Evidence that waits for an operator is void once the holder was identified otherwise: approving
// it would give the credentials to another browser.
func TestIdentifiedOtherwise(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{Until: time.Minute})
	c := s.Buy("automatic", sitetest.Elsa)
	attacker, holder := aBrowser(t), aBrowser(t)
	s.Holder = attacker
	if status, page := s.Upload(c.CertificateLink, "video", sitetest.EvidenceFiles); status != 200 {
		t.Fatalf("%d %s", status, page)
	}
	if status, page := w.Visit(holder, w.URLs[0]+"/spid/acs", w.Answers(w.Begin(holder, 0, c))); status != 200 || s.CertificateState(c.ID) != "DONE" {
		t.Fatalf("%d %s", status, page)
	}
	if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}); a.Code() != 145 {
		t.Errorf("the video is approved: %d/%d", a.Status, a.Code())
	}
	if page := s.PageOf(attacker, c.CertificateLink, url_("action", "reveal")); element(page, "certificate-password") != "" {
		t.Error("whoever sent the video sees the credentials")
	}
	if page := s.PageOf(holder, c.CertificateLink, url_("action", "reveal")); element(page, "certificate-password") == "" {
		t.Errorf("no credentials: %s", page)
	}
}

// Video and signature leave evidence of the same form.
func TestEvidenceOfEveryMethod(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	c := s.Ready("automatic", nil)
	kept, err := srv.Evidence(context.Background(), c.ID)
	if err != nil || kept.Method != "video" || kept.At.IsZero() || len(kept.Files) != 2 || !bytes.Equal(kept.Files[1].Content, filmtest.MP4("vide", 4200)) {
		t.Errorf("video: %+v %v", kept, err)
	}
	button := s.Issued("automatic", nil)
	c = s.Buy("automatic", m{"certificateOwner": "Elsa Prova", "identification": "signature"})
	signed := s.Outside.Person("Elsa", "Prova", "").PDF(s.Statement(c.CertificateLink))
	if status, page := s.Upload(c.CertificateLink, "signature", map[string][]byte{"document": signed}); status != 200 {
		t.Fatalf("%d %s", status, page)
	}
	kept, err = srv.Evidence(context.Background(), c.ID)
	if err != nil || kept.Method != "signature" || kept.Issuer == "" || kept.Request == "" || len(kept.Files) != 1 || !bytes.Equal(kept.Files[0].Content, signed) {
		t.Errorf("signature: %+v %v", kept, err)
	}
	if _, err := srv.Evidence(context.Background(), button.ID); !errors.Is(err, fault.NotFound) {
		t.Errorf("the button of the sandbox proves nothing, and leaves nothing: %v", err)
	}
}
