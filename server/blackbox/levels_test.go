package blackbox

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store"
)

// Each security level asks for what it says; a call that presents less is
// refused before anything happens, and costs nothing.
func testSecurityLevels(t *testing.T, w *world) {
	g := w.tenant(t)
	doc := b64(sampleTXT)
	try := func(g *guest, c certificate) *answer { return g.do("POST", "/EU-QES_"+c.Kind, c.body(doc)) }
	done := func(what string, a *answer) {
		t.Helper()
		var r record
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d with %d: %s", what, a.Status, a.code(), a.Message)
		} else if a.into(t, &r); r.State != "DONE" {
			t.Errorf("%s: %s", what, r.says())
		}
	}
	bound, elsewhere := g.newToken(m{"limits": m{"ip": []string{"127.0.0.1"}}}), g.newToken(m{"limits": m{"ip": []string{"192.0.2.7"}}})
	text, presenting := w.lines.client(t, "registered")
	_, stranger := w.lines.client(t, "a stranger")
	through := func(tr *http.Transport) *guest {
		x := g.as(g.me.Token)
		x.client = &http.Client{Transport: w.watch.through(tr), Timeout: time.Minute}
		return x
	}

	done("level 1", try(g, g.cert))
	for _, kind := range []string{"automatic", "eseal"} {
		before := g.credit()
		two, three := g.issue(kind, m{"securityLevel": 2}), g.issue(kind, m{"securityLevel": 3})
		paid := before - g.credit()
		try(g, two).refused(t, "level 2", 403, 129, "address")
		try(g.as(elsewhere.Token), two).refused(t, "level 2 from elsewhere", 403, 127, "127.0.0.1")
		try(g, three).refused(t, "level 3", 403, 129, "TLS")
		try(through(stranger), three).refused(t, "level 3 with a certificate that nobody registered", 403, 129, "registered")
		try(g, certificate{Kind: two.Kind, Username: two.Username, Password: "wrong"}).wrong(t, 110) // judged first
		if before-g.credit() != paid {
			t.Errorf("refused calls cost %v", before-g.credit()-paid)
		}
		done("level 2, bound", try(g.as(bound.Token), two))
		if kind == "automatic" {
			// What a token registers, or binds, for itself counts for nothing.
			g.ok(nil, "POST", "/client-certificates", m{"certificate": text})
			try(through(presenting), three).refused(t, "level 3, registered by the token", 403, 129, "registered")
			own := g.as(g.me.Token)
			try(g.as(own.newToken(m{"limits": m{"ip": []string{"127.0.0.1"}}}).Token), two).refused(t, "level 2, bound by the token", 403, 129, "address")
			self := g.as(g.newToken().Token)
			self.ok(nil, "PATCH", "/tokens/"+self.me.Token, m{"limits": m{"ip": []string{"127.0.0.1"}}})
			try(self, two).refused(t, "level 2, bound by itself", 403, 129, "address")
			self.ok(nil, "PATCH", "/tokens/"+self.me.Token, m{"limits": m{"ip": []string{"127.0.0.1", "127.0.0.2"}}}, g.byKey()...)
			var a *answer
			for range await.Within(10 * time.Second) { // another server knows within seconds
				if a = try(self, two); a.code() != 129 {
					break
				}
			}
			done("level 2, bound by the key afterwards", a)
			var all []struct{ ID string }
			g.ok(&all, "GET", "/client-certificates", nil)
			for _, c := range all {
				g.ok(nil, "DELETE", "/client-certificates/"+c.ID, nil)
			}
			g.clientCertificates(text)
		}
		done("level 3, registered", try(through(presenting), three))
		try(g, three).refused(t, "level 3 without", 403, 129)
	}
	done("level 4", try(g, g.issue("otp", m{"securityLevel": 4})))
	var list []record
	for _, path := range []string{"/signatures", "/tokens", "/wallet/transactions", "/subscriptions", "/errors", "/token"} {
		g.ok(nil, "GET", path+"?limit=1&after="+store.NewID(), nil)
	}
	g.ok(&list, "GET", "/signatures?state=DONE", nil)
	if len(list) != 7 {
		t.Errorf("%d records of 7 signatures", len(list))
	}
}

// wrong expects a record in ERROR.
func (a *answer) wrong(t testing.TB, number int) {
	t.Helper()
	var r record
	if a.Status != http.StatusOK {
		t.Errorf("%d with %d: %s", a.Status, a.code(), a.Message)
	} else if a.into(t, &r); r.State != "ERROR" || r.number() != number || deref(r.ErrorMessage) == "" || a.Message != deref(r.ErrorMessage) {
		t.Errorf("%s (%q), want %d", r.says(), a.Message, number)
	}
}

// clientCertificates registers one, after everything else that can be done with
// the list.
func (g *guest) clientCertificates(text string) {
	g.Helper()
	type client struct {
		ID, Name, Fingerprint, Subject, NotAfter, CreatedAt string
		Counts                                              bool
	}
	var list []client
	if a := g.ok(nil, "GET", "/client-certificates", nil); string(a.Data) != "[]" {
		g.Errorf("%s", a.Body)
	}
	for _, body := range []m{{}, {"certificate": "junk"}, {"certificate": strings.Replace(text, "MII", "XXX", 1)}, {"certificate": 7}, {"certificate": text, "name": strings.Repeat("x", 300)}} {
		g.no(422, 310, "POST", "/client-certificates", body)
	}
	g.no(400, 100, "POST", "/client-certificates", `{`)
	key := store.NewID()
	var one, again, other client
	byKey := append(g.byKey(), "Idempotency-Key", key)
	g.ok(&one, "POST", "/client-certificates", m{"name": "mine", "certificate": text}, byKey...)
	if g.ok(&again, "POST", "/client-certificates", m{"name": "mine", "certificate": text}, byKey...); again != one || !one.Counts {
		g.Errorf("%+v, then %+v", one, again)
	}
	g.do("POST", "/client-certificates", m{"certificate": text}, byKey...).refused(g.T, "another body", 422, 151)
	g.do("POST", "/client-certificates", m{"certificate": text}, "Idempotency-Key", strings.Repeat("k", 256)).refused(g.T, "a long key", 422, 160)
	g.no(422, 310, "POST", "/client-certificates", m{"certificate": text}, "already")
	if one.Name != "mine" || len(one.Fingerprint) != 64 || !strings.Contains(one.Subject, "registered") || !moment(g.T, one.NotAfter).After(moment(g.T, one.CreatedAt)) {
		g.Errorf("%+v", one)
	}
	second, _ := g.w.lines.client(g.T, "second")
	g.ok(&other, "POST", "/client-certificates", m{"certificate": second})
	for query, want := range map[string]int{"": 2, "?limit=1": 1, "?skip=1": 1, "?skip=2": 0} {
		if g.ok(&list, "GET", "/client-certificates"+query, nil); len(list) != want || query == "" && list[0] != other {
			g.Errorf("%s: %+v", query, list)
		}
	}
	if g.ok(&list, "GET", "/client-certificates?after="+other.ID, nil); len(list) != 1 || list[0] != one {
		g.Errorf("behind the newest: %+v", list)
	}
	g.no(422, 160, "GET", "/client-certificates?limit=0", nil, "limit")
	if g.ok(&again, "GET", "/client-certificates/"+one.ID, nil); again != one {
		g.Errorf("%+v", again)
	}
	stranger := g.w.guest(g.T, g.w.other)
	for _, method := range []string{"GET", "DELETE"} {
		g.no(400, 141, method, "/client-certificates/x", nil)
		g.no(404, 140, method, "/client-certificates/"+store.NewID(), nil)
		stranger.no(404, 140, method, "/client-certificates/"+one.ID, nil)
	}
	g.ok(nil, "DELETE", "/client-certificates/"+other.ID, nil)
	g.no(404, 140, "DELETE", "/client-certificates/"+other.ID, nil)
}

// Level 5: another token of the account has the last word.
func testApprovals(t *testing.T, w *world) {
	g := w.tenant(t)
	other := g.as(g.newToken(m{"name": "second"}).Token)
	stranger := w.guest(t, w.other)
	h := w.web.hook("approvals", nil)
	submit := func(more ...m) *record {
		t.Helper()
		c := g.issue("otp", m{"securityLevel": 5})
		r := &record{}
		a := g.ok(r, "POST", "/EU-QES_otp", c.body(b64(samplePDF), append(more, m{"callback": m{"url": h.url}, "title": "approve me"})...))
		if a.Message != "Created" || r.State != "WAIT_SIGN" && r.State != "WAIT_VALIDATION" {
			t.Fatalf("%s", a.Body)
		}
		return r
	}
	if a := g.ok(nil, "GET", "/approvals", nil); string(a.Data) != "[]" {
		t.Errorf("%s", a.Body)
	}
	before := g.credit()
	one := submit()
	two := submit(options(m{"asyncSignature": true}))
	three := submit(options(m{"asyncDocumentsValidation": true}))
	paid := before - g.credit()
	var list []struct{ ID, State, Approval, WaitsUntil, DocumentTitle, CreatedAt, CertificateType string }
	a := g.ok(&list, "GET", "/approvals", nil)
	if len(list) != 3 || list[0].ID != three.ID || list[2].ID != one.ID || list[2].State != "WAIT_SIGN" || list[0].Approval != "WAITING" ||
		list[0].DocumentTitle != "approve me" || list[0].CertificateType != "EU-QES_otp" {
		t.Fatalf("%s", a.Body)
	}
	if waits := moment(t, list[0].WaitsUntil).Sub(moment(t, list[0].CreatedAt)); waits != 24*time.Hour {
		t.Errorf("it waits %v", waits)
	}
	if g.ok(&list, "GET", "/approvals?skip=1&limit=1", nil); len(list) != 1 || list[0].ID != two.ID {
		t.Errorf("%+v", list)
	}
	if g.ok(&list, "GET", "/approvals?limit=1&after="+list[0].ID, nil); len(list) == 1 && list[0].ID >= two.ID {
		g.Errorf("behind the second: %+v", list)
	}
	g.no(422, 160, "GET", "/approvals?skip=x", nil, "skip")
	g.no(422, 160, "GET", "/approvals?after=x", nil, "after")
	stranger.no(404, 140, "POST", "/approvals/"+one.ID, nil)
	if a := stranger.ok(nil, "GET", "/approvals", nil); string(a.Data) != "[]" {
		t.Errorf("a stranger sees %s", a.Data)
	}
	child := g.as(g.as(g.me.Token).newToken().Token)
	g.no(403, 129, "POST", "/approvals/"+one.ID, nil, "family")
	child.no(403, 129, "POST", "/approvals/"+one.ID, nil, "family")
	for _, method := range []string{"POST", "DELETE"} {
		g.no(400, 141, method, "/approvals/x", nil)
		g.no(404, 140, method, "/approvals/"+store.NewID(), nil)
		other.no(404, 140, method, "/approvals/"+g.sign(b64(sampleTXT)).ID, nil) // it asks for none
	}
	for _, r := range []*record{one, two, three} { // a busy machine validates later
		now := &record{}
		for range await.Within(await.Limit) {
			if now.State == "WAIT_SIGN" {
				break
			}
			g.ok(now, "GET", "/signatures/"+r.ID, nil)
		}
	}
	await.Never(t, 300*time.Millisecond, "signed before the approval", func() bool {
		now := &record{}
		g.ok(now, "GET", "/signatures/"+one.ID, nil)
		return now.State != "WAIT_SIGN"
	})
	for _, r := range []*record{one, two, three} {
		now := &record{}
		if g.ok(now, "GET", "/signatures/"+r.ID, nil); now.State != "WAIT_SIGN" {
			t.Errorf("before the approval: %s", now.says())
		}
		g.no(409, 143, "GET", "/signatures/"+r.ID+"/signedDocument", nil)
	}
	now := &record{}
	if other.ok(now, "POST", "/approvals/"+one.ID, nil); now.ID != one.ID {
		t.Errorf("%s", now.says())
	}
	if r := g.wait(one.ID); r.State != "DONE" || !g.verify(g.download(r, "signedDocument")).OverallVerified {
		t.Errorf("approved: %s", r.says())
	}
	other.ok(nil, "POST", "/approvals/"+three.ID, nil)
	if r := g.wait(three.ID); r.State != "DONE" {
		t.Errorf("approved: %s", r.says())
	}
	if other.ok(now, "DELETE", "/approvals/"+two.ID, nil); now.State != "ERROR" || now.number() != 120 {
		t.Errorf("refused: %s", now.says())
	}
	for _, method := range []string{"POST", "DELETE"} {
		for _, r := range []*record{one, two} {
			other.no(409, 145, method, "/approvals/"+r.ID, nil)
		}
	}
	if cost := before - g.credit() - paid; math.Abs(cost-price) > 1e-6 { // two texts were signed above, one refusal gave its price back
		t.Errorf("the rest cost %v", cost)
	}
	if a := g.ok(nil, "GET", "/approvals", nil); string(a.Data) != "[]" {
		t.Errorf("%s", a.Data)
	}
	h.wait(t, 4) // three ends, and the state between of the one that was validated later
}
