package console_test

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
)

var confirmed = url.Values{"confirmed": {"true"}}

// asked is the page that asks before an act; the act is not done by looking, nor by a
// form that is not that page's.
func asked(v *visitor, path, name string) {
	v.T.Helper()
	for what, p := range map[string]*shownPage{"look": v.Get(path), "look, Italian": v.Get(path + "?lang=it"), "a form of another page": v.Post(path+"?lang=en", nil)} {
		want := 200
		if strings.HasPrefix(what, "a form") {
			want = 422
		}
		if p.Status != want || !strings.Contains(p.Text, `<form id="confirm" method="post">`) || !strings.Contains(p.Text, name) {
			v.T.Errorf("%s of %s: %d %s", what, path, p.Status, alertOf(p.Text))
		}
	}
}

// What cannot be undone is asked about first, by a page that names it; a revocation
// wants a reason, which the log and the authority's list have.
func TestConsoleAsksFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) { c.Identify.Demo = true })
	own, srv := s.LoggedIn(s.Box.Token), s.OpenServer()

	c := s.Issued("automatic", nil)
	revoke := "/console/certificates/" + c.ID + "/revoke"
	asked(own, revoke, "Elsa Prova")
	for _, reason := range []string{"", "removeFromCRL", "6", "certificateHold", "<b>"} {
		if p := own.Post(revoke, url.Values{"confirmed": {"true"}, "reason": {reason}}); p.Status != 422 || !strings.Contains(p.Text, "Choose why.") {
			t.Errorf("revoked for %q: %d", reason, p.Status)
		}
	}
	if p := own.Post(revoke, url.Values{"reason": {"keyCompromise"}}); p.Status != 422 {
		t.Errorf("revoked unasked: %d", p.Status)
	}
	if got := s.CertificateState(c.ID); got != "DONE" {
		t.Fatalf("it is %s before anybody confirmed", got)
	}
	if p := own.Post(revoke, url.Values{"confirmed": {"true"}, "reason": {"keyCompromise"}}); p.Status != 200 || s.CertificateState(c.ID) != "REVOKED" {
		t.Fatalf("revoke: %d %s", p.Status, alertOf(p.Text))
	}
	if reason, listed := s.Revocation(srv, c.ID); reason == nil || *reason != 1 || !listed {
		t.Errorf("the authority says %v, listed: %t", reason, listed)
	}
	entries, err := srv.Parts().Audit.Told(context.Background(), srv.Parts().DB.Read(), c.ID, `kind = 'certificate-revoked'`)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if _, detail := entries[0].Text(); !strings.Contains(string(detail), `"reason":"keyCompromise"`) {
		t.Errorf("the log says %s", detail)
	}
	for _, p := range []*shownPage{own.Get(revoke), own.Post(revoke, url.Values{"confirmed": {"true"}, "reason": {"superseded"}})} {
		if p.Status != 409 {
			t.Errorf("revoked twice: %d", p.Status)
		}
	}

	order := s.Buy("automatic", nil).ID
	cancel := "/console/certificates/" + order + "/cancel"
	asked(own, cancel, "Elsa Prova")
	if p := own.Post(cancel, confirmed); p.Status != 200 || s.CertificateState(order) != "CANCELLED" {
		t.Errorf("cancel: %d %s", p.Status, s.CertificateState(order))
	}

	made := s.MustToken(m{"scopes": []string{"*:*/*"}, "name": "till"})
	token := "/console/account/tokens/" + made.ID + "/revoke"
	asked(own, token, "till")
	if p := s.LoggedIn(made.Token).Get("/console/account"); p.Status != 200 {
		t.Errorf("a token that was only asked about: %d", p.Status)
	}
	if p := own.Post(token, confirmed); p.Status != 200 || !strings.Contains(p.Text, "The token is revoked.") {
		t.Errorf("revoke a token: %d", p.Status)
	}

	p := submit(own, filledWith(own, nil), named{"gone.pdf", sitetest.SamplePDF})
	id := strings.TrimPrefix(p.Path, "/console/sign/")
	remove := "/console/records/" + id + "/delete"
	asked(own, remove, "gone.pdf")
	if p := own.Get("/console/records/" + id); p.Status != 200 || !strings.Contains(p.Text, `action="`+remove+`"`) {
		t.Errorf("a record that was only asked about: %d", p.Status)
	}
	if p := own.Post(remove, confirmed); p.Status != 200 || p.Path != "/console/records?done=record" {
		t.Errorf("delete a record: %d at %s", p.Status, p.Path)
	}
	if p := own.Get("/console/records/" + id); p.Status != 404 {
		t.Errorf("a deleted record: %d", p.Status)
	}

	healthIs(own)

	// Acting on another account's certificates, or without the scope, is refused.
	reader, stranger := s.LoggedIn(s.MustToken(m{"scopes": []string{"GET:*/*"}}).Token), s.LoggedIn(s.Stranger())
	order = s.Buy("automatic", nil).ID
	for _, path := range []string{"/console/certificates/" + order + "/cancel", "/console/account/tokens/" + s.MustToken(m{"scopes": []string{"GET:*/*"}}).ID + "/revoke"} {
		for _, p := range []*shownPage{reader.Get(path), reader.Post(path, confirmed)} {
			if p.Status != 403 {
				t.Errorf("%s by a reader: %d", path, p.Status)
			}
		}
		for _, p := range []*shownPage{stranger.Get(path), stranger.Post(path, confirmed)} {
			if p.Status != 404 {
				t.Errorf("%s by another account: %d", path, p.Status)
			}
		}
	}
}

// healthIs holds the page of the server's health to what people can read: a server that
// can recognise no European signature is not in order, and no row is in another language.
func healthIs(v *visitor) {
	v.T.Helper()
	p := v.Get("/console/health?lang=it")
	row := regexp.MustCompile(`(?s)<tr data-part="([^"]*)" data-state="(\w+)">(.*?)</tr>`)
	states := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(p.Text, -1) {
		states[m[1]] = m[2]
		for _, english := range []string{" until ", "can be ", "no end", " valid ", " the ", " is ", " are ", " of "} {
			if strings.Contains(m[3], english) {
				v.T.Errorf("%s: %s", m[1], m[3])
			}
		}
	}
	if states["trusted lists"] != "warning" || states["cie federation key"] != "ok" || len(states) < 15 || strings.Contains(p.Text, `<span class="state valid">In ordine</span></div>`) {
		v.T.Errorf("%d: %v", p.Status, states)
	}
	v.Get("/console/health?lang=en")
}
