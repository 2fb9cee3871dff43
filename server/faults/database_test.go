package faults_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// outage takes a database away from everybody, as a restart or a failover does,
// until the function is called.
func outage(t *testing.T, database string) (over func()) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	run := func(statement string) {
		if _, err := conn.Exec(ctx, statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	run(`alter database ` + name + ` allow_connections false`)
	run(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '` + name + `'`)
	return func() {
		run(`alter database ` + name + ` allow_connections true`)
		_ = conn.Close(ctx)
	}
}

// The database goes away under load and comes back: calls in between are told
// so (503, 105) or can be repeated under their key, the process recovers by
// itself within seconds, and each key has one record, signed once.
func TestDatabaseGoesAway(t *testing.T) {
	t.Parallel()
	await.All(t)
	outages := 2
	if soaking() {
		outages = 20
	}
	database := storetest.Postgres(t)
	p := newProgram(t, database)
	p.Start()
	var mu sync.Mutex
	keys, waited, refused := map[string]string{}, map[string]bool{}, 0
	stop := load(6, func(i int) bool {
		key, status := store.NewID(), 0
		for range await.Within(40 * time.Second) {
			var id string
			status, id = tryPost(p, m{"asyncSignature": i%3 == 0, "asyncDocumentsValidation": i%3 == 1}, key)
			if status == 200 {
				mu.Lock()
				keys[key] = id
				waited[id] = i%3 == 2 // its caller waited for the end
				mu.Unlock()
				return true
			}
			mu.Lock()
			refused++
			mu.Unlock()
			if status != 503 && status != 409 {
				break
			}
		}
		t.Errorf("%d while the database is away", status)
		return false
	})
	more := func(count func() int) func() bool {
		locked := func() int {
			mu.Lock()
			defer mu.Unlock()
			return count()
		}
		before := locked()
		return func() bool { return locked() > before+2 }
	}
	for range outages {
		await.Until(t, "more is signed", more(func() int { return len(keys) }))
		over := outage(t, database)
		await.Until(t, "clients are refused", more(func() int { return refused }))
		if status, _ := answerTo(p, "GET", "/healthz", nil); status != 200 {
			t.Errorf("healthz: %d", status)
		}
		over()
		back := time.Now()
		await.Until(t, "it works again", func() bool {
			status, _ := tryPost(p, m{}, store.NewID()+"x")
			return status == 200
		})
		if took := time.Since(back); took > time.Minute {
			t.Fatalf("not working again a minute after the database: %v", took)
		}
	}
	probes := outages
	stop()
	if t.Failed() {
		t.Logf("the server said: %.6000s", p.Err.String())
	}
	if refused == 0 {
		t.Error("nobody noticed: nothing was tested")
	}
	var ids []string
	seen := map[string]bool{}
	for _, id := range keys {
		if seen[id] {
			t.Errorf("two keys, one record: %s", id)
		}
		seen[id] = true
		ids = append(ids, id)
	}
	// A call that waits may be told that it failed, and its price comes back; a record without a
	// waiting call is finished in the end.
	failed := 0
	for _, id := range ids {
		if r := p.RecordOf(id); waited[id] && r != nil && r.State == "ERROR" && r.Number() == 119 {
			failed++
			continue
		}
		p.Finish([]string{id})
	}
	p.Kill()
	_, signatures := p.Account(database)
	t.Logf("%d outages, %d calls refused or cut, %d keys, %d of them failed, %d signatures", outages, refused, len(ids), failed, signatures)
	if signatures < len(ids)-failed+probes || failed > 6*outages {
		t.Errorf("%d signatures for %d keys", signatures, len(ids)+probes)
	}
}

// A clock that jumps back a day neither brings one-time passwords back to life,
// nor revokes the order of the audit log, nor makes a certificate usable before
// its time.
func TestClockJumps(t *testing.T) {
	await.All(t)
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := standing(t, database)
		srv, ctx := s.OpenServer(), context.Background()

		// One-time passwords are counted in steps that only go up.
		c := s.Box.Certificates["otp"]
		at := func(d time.Duration) *keys.Store {
			return keys.NewStore(srv.Parts().DB, keys.NewVault(srv.Parts().Master, keys.VaultConfig{}), srv.Parts().Master, keys.Config{Now: after(d), Log: srv.Parts().Audit})
		}
		account := sandboxAccount(srv, t)
		use := func(d time.Duration) error {
			store := at(d)
			cred, err := store.Authenticate(ctx, account, c.Username, c.Password)
			if err != nil {
				t.Fatal(err)
			}
			code, err := keys.Code(c.TOTPSecret, time.Now().Add(d))
			if err != nil {
				t.Fatal(err)
			}
			return store.VerifyOTP(ctx, cred, code)
		}
		if err := use(0); err != nil {
			t.Fatalf("now: %v", err)
		}
		for _, d := range []time.Duration{0, -10 * time.Minute, -24 * time.Hour} {
			if use(d) == nil {
				t.Errorf("a code is good with the clock at %v, after one was used now", d)
			}
		}

		// A certificate is not good before its time, whatever the clock was.
		early := signingWith(srv, signing.Config{Now: after(-48 * time.Hour)})
		r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"asyncSignature": true}))
		if err := work(srv, early, job.Config{Now: after(-48 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		if r = s.Record(s.Do("GET", "/signatures/"+r.ID, nil)); r.State != "ERROR" || r.Number() != 112 {
			t.Errorf("two days before it was issued: %s %d", r.State, r.Number())
		}

		// The log goes by its sequence: a record begun tomorrow and ended today.
		r = s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"asyncDocumentsValidation": true, "asyncSignature": true}))
		late := signingWith(srv, signing.Config{Now: after(24 * time.Hour), Hook: func(point, _ string) {
			if point == "before-sign" {
				panic("cut")
			}
		}})
		if err := work(srv, late, job.Config{Now: after(24 * time.Hour)}); err != nil {
			t.Fatal(err)
		}
		// The lease runs out a day from now by that clock; a process with a right clock must not
		// wait for it.
		now := signingWith(srv, signing.Config{})
		if err := work(srv, now, job.Config{}); err != nil {
			t.Fatal(err)
		}
		if err := now.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := work(srv, now, job.Config{}); err != nil {
			t.Fatal(err)
		}
		if r = s.Record(s.Do("GET", "/signatures/"+r.ID, nil)); r.State != "DONE" {
			t.Errorf("after a clock that was a day ahead: %s", r.State)
		}
		res, err := srv.VerifyAudit(ctx)
		if err != nil || res.Bad != nil {
			t.Errorf("audit: %v %v", err, res)
		}
	})
}
