package server

import (
	"context"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var confirmed = url.Values{"confirmed": {"true"}}

// asked is the page that asks before an act; the act is not done by looking, nor by a
// form that is not that page's.
func (v *visitor) asked(path, name string) {
	v.t.Helper()
	for what, p := range map[string]*shownPage{"look": v.get(path), "look, Italian": v.get(path + "?lang=it"), "a form of another page": v.post(path+"?lang=en", nil)} {
		want := 200
		if strings.HasPrefix(what, "a form") {
			want = 422
		}
		if p.Status != want || !strings.Contains(p.Text, `<form id="confirm" method="post">`) || !strings.Contains(p.Text, name) {
			v.t.Errorf("%s of %s: %d %s", what, path, p.Status, alertOf(p.Text))
		}
	}
}

// What cannot be undone is asked about first, by a page that names it; a revocation
// wants a reason, which the log and the authority's list have.
func TestDeskAsksFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *Config) { c.Identify.Demo = true })
	own, room := s.loggedIn(s.box.Token), s.rooms()

	c := s.issued("automatic", nil)
	revoke := "/console/certificates/" + c.ID + "/revoke"
	own.asked(revoke, "Elsa Prova")
	for _, reason := range []string{"", "removeFromCRL", "6", "certificateHold", "<b>"} {
		if p := own.post(revoke, url.Values{"confirmed": {"true"}, "reason": {reason}}); p.Status != 422 || !strings.Contains(p.Text, "Choose why.") {
			t.Errorf("revoked for %q: %d", reason, p.Status)
		}
	}
	if p := own.post(revoke, url.Values{"reason": {"keyCompromise"}}); p.Status != 422 {
		t.Errorf("revoked unasked: %d", p.Status)
	}
	if got := s.certificateState(c.ID); got != "DONE" {
		t.Fatalf("it is %s before anybody confirmed", got)
	}
	if p := own.post(revoke, url.Values{"confirmed": {"true"}, "reason": {"keyCompromise"}}); p.Status != 200 || s.certificateState(c.ID) != "REVOKED" {
		t.Fatalf("revoke: %d %s", p.Status, alertOf(p.Text))
	}
	if reason, listed := s.revocation(room, c.ID); reason == nil || *reason != 1 || !listed {
		t.Errorf("the authority says %v, listed: %t", reason, listed)
	}
	entries, err := room.sig.audit.Told(context.Background(), room.db.Read(), c.ID, `kind = 'certificate-revoked'`)
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	if _, detail := entries[0].Text(); !strings.Contains(string(detail), `"reason":"keyCompromise"`) {
		t.Errorf("the log says %s", detail)
	}
	for _, p := range []*shownPage{own.get(revoke), own.post(revoke, url.Values{"confirmed": {"true"}, "reason": {"superseded"}})} {
		if p.Status != 409 {
			t.Errorf("revoked twice: %d", p.Status)
		}
	}

	order := s.buy("automatic", nil).ID
	cancel := "/console/certificates/" + order + "/cancel"
	own.asked(cancel, "Elsa Prova")
	if p := own.post(cancel, confirmed); p.Status != 200 || s.certificateState(order) != "CANCELLED" {
		t.Errorf("cancel: %d %s", p.Status, s.certificateState(order))
	}

	made := s.mustToken(m{"scopes": []string{"*:*/*"}, "name": "till"})
	token := "/console/account/tokens/" + made.ID + "/revoke"
	own.asked(token, "till")
	if p := s.loggedIn(made.Token).get("/console/account"); p.Status != 200 {
		t.Errorf("a token that was only asked about: %d", p.Status)
	}
	if p := own.post(token, confirmed); p.Status != 200 || !strings.Contains(p.Text, "The token is revoked.") {
		t.Errorf("revoke a token: %d", p.Status)
	}

	p := own.submit(own.filledWith(nil), named{"gone.pdf", samplePDF})
	id := strings.TrimPrefix(p.Path, "/console/sign/")
	remove := "/console/records/" + id + "/delete"
	own.asked(remove, "gone.pdf")
	if p := own.get("/console/records/" + id); p.Status != 200 || !strings.Contains(p.Text, `action="`+remove+`"`) {
		t.Errorf("a record that was only asked about: %d", p.Status)
	}
	if p := own.post(remove, confirmed); p.Status != 200 || p.Path != "/console/records?done=record" {
		t.Errorf("delete a record: %d at %s", p.Status, p.Path)
	}
	if p := own.get("/console/records/" + id); p.Status != 404 {
		t.Errorf("a deleted record: %d", p.Status)
	}

	own.healthIs()

	// Nobody acts on what is another's, or without the scope.
	reader, stranger := s.loggedIn(s.mustToken(m{"scopes": []string{"GET:*/*"}}).Token), s.loggedIn(s.stranger())
	order = s.buy("automatic", nil).ID
	for _, path := range []string{"/console/certificates/" + order + "/cancel", "/console/account/tokens/" + s.mustToken(m{"scopes": []string{"GET:*/*"}}).ID + "/revoke"} {
		for _, p := range []*shownPage{reader.get(path), reader.post(path, confirmed)} {
			if p.Status != 403 {
				t.Errorf("%s by a reader: %d", path, p.Status)
			}
		}
		for _, p := range []*shownPage{stranger.get(path), stranger.post(path, confirmed)} {
			if p.Status != 404 {
				t.Errorf("%s by another account: %d", path, p.Status)
			}
		}
	}
}

// healthIs holds the page of the server's health to what people can read: a server that
// can recognise no European signature is not in order, and no row is in another language.
func (v *visitor) healthIs() {
	v.t.Helper()
	p := v.get("/console/health?lang=it")
	row := regexp.MustCompile(`(?s)<tr data-part="([^"]*)" data-state="(\w+)">(.*?)</tr>`)
	states := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(p.Text, -1) {
		states[m[1]] = m[2]
		for _, english := range []string{" until ", "can be ", "no end", " valid ", " the ", " is ", " are ", " of "} {
			if strings.Contains(m[3], english) {
				v.t.Errorf("%s: %s", m[1], m[3])
			}
		}
	}
	if states["trusted lists"] != "warning" || states["cie federation key"] != "ok" || len(states) < 15 || strings.Contains(p.Text, `<span class="state valid">In ordine</span></div>`) {
		v.t.Errorf("%d: %v", p.Status, states)
	}
	v.get("/console/health?lang=en")
}
