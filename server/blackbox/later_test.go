package blackbox

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// sql changes the database behind the servers' backs: time that passed, or
// harm that was done.
func (w *world) sql(t testing.TB, statements ...string) {
	t.Helper()
	ctx := context.Background()
	db, err := store.Open(ctx, store.Config{Data: w.store.Data, Database: w.store.Database, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Write(ctx, func(tx *store.Tx) error {
		for _, s := range statements {
			if _, err := tx.Exec(ctx, s); err != nil {
				return fmt.Errorf("%s: %w", s, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// restart starts every node again, with more in its environment.
func (w *world) restart(more ...string) {
	for _, n := range w.nodes {
		n.stop()
		n.env = append(n.env, more...)
	}
	w.start()
}

// Time passes: files go after thirty days, records after a year, certificates
// at their end, approvals after a day. The clock of what was stored is put back,
// and the servers are started again, which do what is overdue. Files have a second
// only: an end of theirs that is changed is found by audit verify.
func testTimePasses(t *testing.T, w *world) {
	g := w.tenant(t)
	w.restart("ROGITO_RETENTION_FILES=1s")
	files, _ := g.signed(b64(samplePDF))
	end := time.Now().Add(time.Second)
	w.restart("ROGITO_RETENTION_FILES=720h")
	old, _ := g.signed(b64(samplePDF))
	fresh, _ := g.signed(b64(samplePDF))
	expired := g.issue("automatic", m{})
	five := g.issue("otp", m{"securityLevel": 5})
	asks := &record{}
	g.ok(asks, "POST", "/EU-QES_otp", five.body(b64(sampleTXT)))
	before := g.credit()
	var kept []detail
	g.ok(&kept, "GET", "/certificates", nil)
	await.Until(t, "the files are past their time", func() bool { return time.Now().After(end) }) // when that is looked for
	ago := func(d time.Duration) int64 { return time.Now().Add(-d).UnixMilli() }
	w.sql(t,
		"create table kept_signatures as select id, created_at, approval_until from signatures",
		"create table kept_certificates as select id, not_after, expire_at from certificates",
		fmt.Sprintf("update signatures set created_at = %d where id = '%s'", ago(366*24*time.Hour), old.ID),
		fmt.Sprintf("update certificates set not_after = %d, expire_at = %d where id = '%s'", ago(time.Hour), ago(time.Hour), expired.ID),
		fmt.Sprintf("update signatures set approval_until = %d where id = '%s'", ago(time.Hour), asks.ID),
		"update work set lease_until = 0 where lease_by = '' and kind in ('retain-signatures', 'expire-certificates', 'sweep-signatures')", // so that they are due again
	)
	w.restart(
		// What the tests after this one want to find configured.
		"ROGITO_SIGNING_ALLOW_SHA1=true", "ROGITO_SIGNING_LOCK_FAILURES=2", "ROGITO_SIGNING_LOCK_TIME=1s", "ROGITO_LIMITS_DOCUMENTS=3", "ROGITO_LIMITS_DOCUMENT=100000",
		"ROGITO_SIGNING_LEVELS={1: [password, approval], 2: [password], 4: [password, otp, address]}", "ROGITO_MONEY_SIGNATURE=0.5",
	)
	if r := g.wait(asks.ID); r.number() != 120 || !strings.Contains(deref(r.ErrorMessage), "time") {
		t.Errorf("an approval that never came: %s", r.says())
	}
	for range await.Within(await.Limit) {
		if g.raw("GET", "/signatures/"+files.ID+"/signedDocument", nil).Status == http.StatusGone {
			break
		}
	}
	for _, which := range []string{"signedDocument", "validatedDocument"} {
		g.no(410, 144, "GET", "/signatures/"+files.ID+"/"+which, nil)
		g.download(fresh, which)
	}
	r := &record{}
	if g.ok(r, "GET", "/signatures/"+files.ID, nil); r.State != "DONE" || r.Document.SignedDocument == nil {
		t.Errorf("the record goes with its files: %s", r.says())
	}
	g.ok(nil, "GET", "/signatures/"+files.ID+"/audit", nil)
	for range await.Within(await.Limit) {
		if g.do("GET", "/signatures/"+old.ID, nil).code() == 140 {
			break
		}
	}
	g.no(404, 140, "GET", "/signatures/"+old.ID, nil)
	for range await.Within(await.Limit) {
		if g.state(expired.ID) == "EXPIRED" {
			break
		}
	}
	var list []detail
	if g.ok(&list, "GET", "/certificates?state=EXPIRED", nil); len(list) != 1 || list[0].ID != expired.ID {
		t.Errorf("%+v", list)
	}
	for _, verb := range []string{"suspend", "resume", "revoke", "cancel", "enrol"} {
		g.no(409, 145, "POST", "/certificates/"+expired.ID+"/"+verb, nil)
	}
	g.do("POST", "/EU-QES_automatic", expired.body(b64(sampleTXT))).wrong(t, 112)
	if paid := g.credit() - before; fmt.Sprintf("%.3f", paid) != "0.050" { // the approval's
		t.Errorf("%v came back", paid)
	}
	w.sql(t, // the times as the log has them
		"update signatures set created_at = (select k.created_at from kept_signatures k where k.id = signatures.id), approval_until = (select k.approval_until from kept_signatures k where k.id = signatures.id) where id in (select id from kept_signatures)",
		"update certificates set not_after = (select k.not_after from kept_certificates k where k.id = certificates.id), expire_at = (select k.expire_at from kept_certificates k where k.id = certificates.id) where id in (select id from kept_certificates)",
		"drop table kept_signatures", "drop table kept_certificates")
	w.nodes[0].run("audit", "verify")
}

// What an operator can set is set: SHA-1, the lock, the limits, the levels, the
// price. It was at the last start.
func testConfigured(t *testing.T, w *world) {
	g := w.guest(t, w.account(t))
	w.nodes[0].run("wallet", "credit", g.me.Email, "10000")
	g.cert = g.issue("automatic", m{"securityLevel": 2}) // only a password by now
	for _, format := range []string{"cades", "pades", "xades", "pkcs1"} {
		before := g.credit()
		r := g.sign(b64(sampleOf[format]), m{"signatureType": format, "options": m{"hashAlgorithm": "SHA1"}})
		if r.State != "DONE" || r.Options["hashAlgorithm"] != "SHA1" {
			t.Errorf("%s with SHA-1: %s", format, r.says())
		}
		if paid := before - g.credit(); fmt.Sprintf("%.2f", paid) != "0.50" {
			t.Errorf("it cost %v", paid)
		}
	}
	if r := g.sign(b64(sampleTXT), options(m{"withTimestamp": true, "timestampHashAlgo": "SHA1"})); r.number() != 114 {
		t.Errorf("our own authority stamps over SHA-1: %s", r.says())
	}
	// Levels: the default one asks for an approval now, that of otp for a token
	// that is bound.
	asking := g.issue("automatic", m{})
	r := g.submit(asking.body(b64(sampleTXT)))
	if r.State != "WAIT_SIGN" {
		t.Errorf("%s", r.says())
	}
	g.as(g.newToken().Token).ok(nil, "POST", "/approvals/"+r.ID, nil)
	if r = g.wait(r.ID); r.State != "DONE" {
		t.Errorf("%s", r.says())
	}
	otp := g.issue("otp", m{})
	g.do("POST", "/EU-QES_otp", otp.body(b64(sampleTXT))).refused(t, "otp, not bound", 403, 129, "address")
	bound := g.as(g.newToken(m{"limits": m{"ip": []string{"127.0.0.1"}}}).Token)
	if bound.ok(r, "POST", "/EU-QES_otp", otp.body(b64(sampleTXT))); r.State != "DONE" {
		t.Errorf("otp, bound: %s", r.says())
	}
	// Limits.
	g.no(413, 101, "POST", "/EU-QES_automatic", g.body([]string{"aGk=", "aGk=", "aGk=", "aGk="}), "3")
	g.no(413, 101, "POST", "/EU-QES_automatic", g.body(b64(make([]byte, 100_001))), "100000")
	// The lock: two failures, a second.
	for range 2 {
		g.do("POST", "/EU-QES_automatic", g.body("aGk=", m{"certificatePassword": "wrong"})).wrong(t, 110)
	}
	g.do("POST", "/EU-QES_automatic", g.body("aGk=")).refused(t, "locked", 423, 111)
	await.Until(t, "the lock is over", func() bool { return g.do("POST", "/EU-QES_automatic", g.body("aGk=")).Status != 423 })
	// Fifty failures in a day: until the operator unlocks it.
	w.sql(t, "update credential_locks set day_failures = 49, locked_until = 0, failures = 0")
	g.do("POST", "/EU-QES_automatic", g.body("aGk=", m{"certificatePassword": "wrong"})).wrong(t, 110)
	var a *answer
	await.Until(t, "no Retry-After", func() bool { // that of the short lock is over
		a = g.do("POST", "/EU-QES_automatic", g.body("aGk="))
		return a.Header.Get("Retry-After") == ""
	})
	a.refused(t, "fifty failures", 423, 111, "operator")
	w.nodes[0].run("cert", "unlock", g.cert.Username)
	if r := g.sign("aGk="); r.State != "DONE" {
		t.Errorf("unlocked: %s", r.says())
	}
	// The test pair of the operator's choice.
	own := w.sandboxed(t)
	if r := own.submit(certificate{Kind: "automatic", Username: "chosen@example.org", Password: "chosen secret"}.body("aGk=")); r.State != "WAIT_SIGN" {
		t.Errorf("the test pair: %s", r.says())
	}
}

// Harm: what is broken is answered for, and nothing else is.
func testHarm(t *testing.T, w *world) {
	g := w.guest(t, w.account(t))
	w.nodes[0].run("wallet", "credit", g.me.Email, "10000")
	certs := map[string]certificate{"automatic": g.issue("automatic", m{"securityLevel": 2}), "otp": g.issue("otp", m{"securityLevel": 4}), "eseal": g.issue("eseal", m{"securityLevel": 2})}
	g.cert = certs["automatic"]
	unused := g.issue("automatic", m{"securityLevel": 2}) // no server remembers it
	bound := g.as(g.newToken(m{"limits": m{"ip": []string{"127.0.0.1"}}}).Token)
	before := g.credit()
	unavailable := func(what string, a *answer) {
		t.Helper()
		if a.refused(t, what, 503, 105); a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", what)
		}
	}

	// An audit that cannot be written stops signing, and signing alone.
	w.sql(t, "alter table audit_events rename to audit_gone")
	for kind, c := range certs {
		unavailable("signing without audit, "+kind, bound.do("POST", "/EU-QES_"+kind, c.body(b64(sampleTXT))))
	}
	unavailable("signing later without audit", g.do("POST", "/EU-QES_automatic", g.body(b64(sampleTXT), options(m{"asyncSignature": true}))))
	g.verify(samplePDF)
	g.ok(nil, "GET", "/signatures", nil)
	w.sql(t, "alter table audit_gone rename to audit_events")

	w.nodes[0].run("audit", "verify")

	// A certificate that cannot be read is an accident of ours: a record says no
	// more than that, an answer neither.
	g.cert = unused
	w.sql(t, fmt.Sprintf("update certificates set certificate = null where id = '%s'", g.cert.ID))
	r := g.sign(b64(sampleTXT))
	if text := deref(r.ErrorMessage); r.number() != 119 || !strings.Contains(text, "request") || strings.Contains(text, "x509") || strings.Contains(text, "asn1") {
		t.Errorf("%s", r.says())
	}
	w.sql(t, fmt.Sprintf("update certificates set subject = 'no JSON' where id = '%s'", g.cert.ID))
	a := g.do("GET", "/certificates/"+g.cert.ID, nil)
	if a.refused(t, "a row that cannot be read", 500, 104, "internal error", a.Header.Get("X-Request-Id")); strings.Contains(a.Message, "JSON") {
		t.Errorf("%s", a.Message)
	}
	if g.credit() != before {
		t.Errorf("accidents cost %v", before-g.credit())
	}
	r = &record{}
	if g.ok(r, "POST", "/EU-QES_eseal", certs["eseal"].body(b64(sampleTXT))); r.State != "DONE" {
		t.Errorf("the others sign no more: %s", r.says())
	}
}

// Every code of the table was met, unless it cannot be met from outside: then a
// test elsewhere makes it, by name.
func testEveryCode(t *testing.T, w *world) {
	for _, r := range fault.Table {
		code := int(r.Code)
		if why, ok := unreachable[code]; ok {
			why.check(t, code)
			if w.watch.codes[code] > 0 {
				t.Errorf("%d can be met after all", code)
			}
			continue
		}
		if w.watch.codes[code] == 0 {
			t.Errorf("the code %d was never met", code)
		}
	}
}
