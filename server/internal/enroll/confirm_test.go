package enroll_test

import (
	"context"
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/identify/cns/demo"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// What identification fills in is shown, and nothing is issued before the holder
// has confirmed it: not by a reload, another server, another browser or a form of
// something else.
func TestFilledInIsConfirmed(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		w := newTwins(t, s, pretend{Until: time.Minute})
		c := s.Buy("automatic", m{"certificateOwner": "Order 12", "subject": m{"surname": "Prova"}})
		holder := aBrowser(t)
		identified := func() string {
			status, page := w.Visit(holder, w.URLs[1]+"/spid/acs", w.Answers(w.Begin(holder, 0, c)))
			if status != 200 || !strings.Contains(page, `id="confirm"`) || strings.Contains(page, `id="reveal"`) {
				t.Fatalf("%d %s", status, page)
			}
			return page
		}
		page := identified()
		for _, want := range []string{"<dd data-filled>PRVLSE80A41H501X", "<dd data-filled>Elsa", "<dd>Prova</dd>"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %s: %s", want, page)
			}
		}
		if _, italian := w.Visit(holder, w.At(0, c.CertificateLink), nil, "Accept-Language", "it"); !strings.Contains(italian, "Conferma ed emetti") || !strings.Contains(italian, "dalla tua identificazione") {
			t.Errorf("in Italian: %s", italian)
		}
		own := []string{"Origin", w.URLs[0], "Sec-Fetch-Site", "same-origin"}
		old := confirming(page)
		for name, try := range map[string]struct {
			browser *http.Client
			form    url.Values
		}{
			"reveal":         {holder, url_("action", "reveal")},
			"another digest": {holder, url.Values{"action": {"confirm"}, "shown": {strings.Repeat("0", 64)}}},
			"no digest":      {holder, url_("action", "confirm")},
			"other browser":  {aBrowser(t), old},
		} {
			if _, page := w.Visit(try.browser, w.At(0, c.CertificateLink), try.form, own...); element(page, "certificate-password") != "" || s.CertificateState(c.ID) != "REGISTERING" {
				t.Errorf("%s: %s %s", name, s.CertificateState(c.ID), page)
			}
		}
		// The job that finishes what a crash left does not issue it, a reload asks again.
		if done, err := w.Srv.Parts().Enroll.Issue(context.Background(), c.ID); err != nil || done.State != enroll.Registering {
			t.Fatalf("issued unconfirmed: %v %v", done, err)
		}
		if page := s.PageOf(holder, w.At(1, c.CertificateLink), nil); !strings.Contains(page, `id="confirm"`) {
			t.Errorf("after a reload: %s", page)
		}
		if page := s.PageOf(aBrowser(t), w.At(1, c.CertificateLink), nil); strings.Contains(page, "PRVLSE80A41H501X") {
			t.Error("another browser sees what identification brought")
		}
		// Who is identified anew confirms that: it is held against the order, not the first answer.
		page = identified()
		status, page := w.Visit(holder, w.At(0, c.CertificateLink), confirming(page), own...)
		if status != 200 || element(page, "certificate-password") == "" || s.CertificateState(c.ID) != "DONE" {
			t.Fatalf("confirmed: %d %s %s", status, s.CertificateState(c.ID), page)
		}
		if status, _ := w.Visit(holder, w.At(0, c.CertificateLink), old, own...); status == 200 {
			t.Error("it is confirmed twice")
		}
		s.VerifyAudit()

		// Nothing beyond the order: no step. Cancelled while it waits: none either.
		named := s.Buy("automatic", sitetest.Elsa)
		if _, page := w.Visit(holder, w.URLs[1]+"/spid/acs", w.Answers(w.Begin(holder, 0, named))); !strings.Contains(page, `id="reveal"`) {
			t.Errorf("an order that names all: %s", page)
		}
		c = s.Buy("automatic", m{"certificateOwner": "Elsa Prova"})
		page = identified()
		if a := s.Do("POST", "/certificates/"+c.ID+"/cancel", nil); a.Status != 200 {
			t.Fatalf("cancel: %d %s", a.Status, a.Data)
		}
		if status, _ := w.Visit(holder, w.At(0, c.CertificateLink), confirming(page), own...); status == 200 || s.CertificateState(c.ID) != "CANCELLED" {
			t.Errorf("confirmed after it was cancelled: %d %s", status, s.CertificateState(c.ID))
		}
		s.VerifyAudit()
	})
}

// A card without names proves the fiscal code: an operator compares the names of the order, and the
// page says so before the card is shown.
func TestCardWithoutNames(t *testing.T) {
	t.Parallel()
	s, authority := cardSite(t)
	card, err := authority.Issue(demo.Card{Code: "PRVLSE80A41H501X"})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := pkix.ParseCertificate(card.Certificate[0]); err != nil || p.Subject.Get(pkix.OIDSurname) != "" || p.Subject.Get(pkix.OIDGivenName) != "" {
		t.Fatalf("the card has names: %v", err)
	}
	other, err := authority.Issue(demo.Card{Code: "BNCGRG80A41H501X", Change: func(*x509.Certificate) {}})
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []m{{"subject": sitetest.Elsa["subject"]}, {"certificateOwner": "Elsa Prova"}} {
		order["identification"] = "cns"
		c := s.Buy("automatic", order)
		browser := reader(t, card)
		if _, page := s.Read(browser, c.CertificateLink+"/cns"); !strings.Contains(page, "proves your fiscal code only") {
			t.Errorf("the page does not say it: %s", page)
		}
		link := s.CardLink(browser, c)
		if order["subject"] != nil {
			if status, page := s.Read(reader(t, other), link); status != 422 || !strings.Contains(page, `data-code="312"`) {
				t.Errorf("the card of another: %d %s", status, page)
			}
		}
		status, page := s.Read(browser, link)
		if status != 200 || strings.Contains(page, `id="reveal"`) || strings.Contains(page, `id="confirm"`) || s.CertificateState(c.ID) != "REGISTERING" {
			t.Fatalf("%d %s %s", status, s.CertificateState(c.ID), page)
		}
		if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}); a.Status != 200 {
			t.Fatalf("review: %d %s", a.Status, a.Data)
		}
		_, page = s.Read(browser, c.CertificateLink)
		if order["subject"] == nil { // the fiscal code was not ordered
			if !strings.Contains(page, "<dd data-filled>PRVLSE80A41H501X") || s.CertificateState(c.ID) != "REGISTERING" {
				t.Fatalf("the fiscal code is not confirmed: %s %s", s.CertificateState(c.ID), page)
			}
			page = s.PageOf(browser, c.CertificateLink, confirming(page))
		} else {
			page = s.PageOf(browser, c.CertificateLink, url_("action", "reveal"))
		}
		if element(page, "certificate-password") == "" {
			t.Errorf("no credentials: %s", page)
		}
	}
	s.VerifyAudit()
}
