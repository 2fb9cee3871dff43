package blackbox

import (
	"strconv"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store"
)

// Credentials are judged first, then the kind, the state, the security level.
func testJudgement(t *testing.T, w *world) {
	g := w.tenant(t)
	doc := b64(sampleTXT)
	seal := g.issue("eseal", m{"securityLevel": 2})
	wrong := func(c certificate) certificate { c.Password = "wrong"; return c }
	post := func(path string, body m) *answer { t.Helper(); return g.do("POST", path, body) }
	post("/EU-QES_automatic", wrong(seal).body(doc)).wrong(t, 110) // although the kind is wrong too
	post("/EU-QES_automatic", seal.body(doc)).wrong(t, 118)        // although the level asks for more
	post("/EU-QES_otp", g.cert.body(doc, m{"certificateOtp": "000000"})).wrong(t, 118)
	post("/EU-QES_eseal", g.cert.body(doc)).wrong(t, 118)
	g.ok(nil, "POST", "/certificates/"+seal.ID+"/suspend", nil)
	post("/EU-QES_automatic", seal.body(doc)).wrong(t, 118) // although it is suspended
	post("/EU-QES_eseal", seal.body(doc)).wrong(t, 112)     // although the level asks for more
	g.ok(nil, "POST", "/certificates/"+seal.ID+"/resume", nil)
	post("/EU-QES_eseal", seal.body(doc)).refused(t, "the level", 403, 129)
	g.ok(nil, "POST", "/certificates/"+seal.ID+"/revoke", nil)
	post("/EU-QES_eseal", seal.body(doc)).wrong(t, 112)
	stranger := w.guest(t, w.other)
	stranger.do("POST", "/EU-QES_automatic", g.cert.body(doc)).wrong(t, 110) // another account's are unknown
	// An unknown username takes as long: the quickest of four tells.
	known, unknown := time.Hour, time.Hour
	for range 4 {
		begin := time.Now()
		post("/EU-QES_automatic", wrong(g.cert).body(doc)).wrong(t, 110)
		known = min(known, time.Since(begin))
		begin = time.Now()
		post("/EU-QES_automatic", certificate{Username: "nobody", Password: "wrong"}.body(doc)).wrong(t, 110)
		unknown = min(unknown, time.Since(begin))
	}
	if unknown < known/5 || unknown > known*5 {
		t.Errorf("a wrong password takes %v, an unknown username %v", known, unknown)
	}
}

// One-time passwords: one step either way, each once, as RFC 6238 has them.
func testOneTimePasswords(t *testing.T, w *world) {
	g := w.tenant(t)
	sign := func(c certificate, code any) *answer {
		t.Helper()
		return g.do("POST", "/EU-QES_otp", c.body(b64(sampleTXT), m{"certificateOtp": code, "certificateIdOtp": -1}))
	}
	done := func(what string, a *answer) {
		t.Helper()
		var r record
		if a.into(t, &r); r.State != "DONE" {
			t.Errorf("%s: %s", what, r.says())
		}
	}
	c := g.issue("otp", m{})
	await.Until(t, "a step has begun, which does not end in between", func() bool { return time.Now().Unix()%30 < 15 })
	early, before, now, next, late := code(c.Secret, -2), code(c.Secret, -1), code(c.Secret, 0), code(c.Secret, 1), code(c.Secret, 2)
	sign(c, late).wrong(t, 116)
	sign(c, early).wrong(t, 116)
	done("the step before", sign(c, before))
	done("this step", sign(c, now))
	sign(c, now).wrong(t, 116)
	done("the next step, with a space", sign(c, next[:3]+" "+next[3:]))
	sign(c, before).wrong(t, 116)
	sign(c, "12345").wrong(t, 116)
	g.no(422, 645, "POST", "/EU-QES_otp", c.body(b64(sampleTXT), m{"certificateIdOtp": "first"}), "certificateIdOtp")
	own := w.sandboxed(t)
	r := &record{}
	if own.ok(r, "POST", "/EU-QES_otp", w.certificates["otp"].body(b64(sampleTXT))); r.State != "DONE" {
		t.Errorf("the sandbox's own: %s", r.says())
	}
}

// Five failures in a row lock a certificate, known or not, whatever they are of.
func testLocks(t *testing.T, w *world) {
	g := w.tenant(t)
	doc := b64(sampleTXT)
	unknown := certificate{Username: "nobody@example.org", Password: "x", Secret: "AAAAAAAA"}
	locked := func(what string, a *answer) {
		t.Helper()
		a.refused(t, what, 423, 111, "locked")
		if after, err := strconv.Atoi(a.Header.Get("Retry-After")); err != nil || after < 800 || after > 900 {
			t.Errorf("%s: Retry-After %q", what, a.Header.Get("Retry-After"))
		}
	}
	post := func(c certificate, more ...m) *answer { return g.do("POST", "/EU-QES_"+c.Kind, c.body(doc, more...)) }

	// Four failures and a success, and the count begins anew.
	for range 4 {
		post(g.cert, m{"certificatePassword": "wrong"}).wrong(t, 110)
	}
	var r record
	if post(g.cert).into(t, &r); r.State != "DONE" {
		t.Errorf("%s", r.says())
	}
	for range 5 {
		post(g.cert, m{"certificatePassword": "wrong"}).wrong(t, 110)
	}
	var before, after []record
	g.ok(&before, "GET", "/signatures", nil)
	locked("the right password", post(g.cert))
	locked("asynchronously", post(g.cert, options(m{"asyncSignature": true})))
	g.ok(&after, "GET", "/signatures", nil)
	if len(after) != len(before) {
		t.Error("a call on a locked certificate leaves a record")
	}
	w.nodes[0].run("cert", "unlock", g.cert.Username)
	if post(g.cert).into(t, &r); r.State != "DONE" {
		t.Errorf("unlocked: %s", r.says())
	}

	// Wrong and used one-time passwords count.
	c := g.issue("otp", m{"securityLevel": 5})
	used := m{"certificateOtp": code(c.Secret, 0)}
	waiting := r
	if post(c, used).into(t, &waiting); waiting.State != "WAIT_SIGN" {
		t.Errorf("%s", waiting.says())
	}
	for i := range 5 {
		switch i % 3 {
		case 0:
			post(c, used).wrong(t, 116)
		case 1:
			post(c, m{"certificateOtp": "000"}).wrong(t, 116)
		case 2:
			post(c, m{"certificatePassword": "wrong"}).wrong(t, 110)
		}
	}
	locked("otp", post(c, m{"certificateOtp": code(c.Secret, 1)}))
	// What waits finds the lock later, in a job.
	g.as(g.newToken().Token).ok(nil, "POST", "/approvals/"+waiting.ID, nil)
	if r := g.wait(waiting.ID); r.number() != 111 {
		t.Errorf("%s", r.says())
	}

	// An unknown username, on every endpoint.
	unknown.Kind = "eseal"
	for range 5 {
		post(unknown).wrong(t, 110)
	}
	for _, kind := range kinds {
		unknown.Kind = kind
		locked("unknown, "+kind, post(unknown))
	}
	var d detail
	if g.ok(&d, "GET", "/certificates/"+c.ID, nil); d.State != "DONE" {
		t.Errorf("locked is no state of a certificate: %s", d.State)
	}
	g.no(404, 140, "GET", "/certificates/"+store.NewID(), nil)
}
