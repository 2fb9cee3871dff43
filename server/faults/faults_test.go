package faults_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// load has n goroutines work again and again, each until its work says that it
// is over, and all until stop, which waits for them.
func load(n int, work func(i int) bool) (stop func()) {
	var ended atomic.Bool
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			for !ended.Load() && work(i) {
			}
		})
	}
	return func() {
		ended.Store(true)
		wg.Wait()
	}
}

// A worker loses its record at every point of its work to another that takes it
// for dead, with a clock that is right, minutes or a day ahead: never two
// results.
func TestTwoWorkersOneResult(t *testing.T) {
	await.All(t)
	t.Parallel()
	trials := 24
	if soaking() {
		trials = 1000
	}
	engines(t, func(t *testing.T, database string) {
		s := standing(t, database)
		srv := s.OpenServer()
		clocks := []time.Duration{0, 10 * time.Minute, 24 * time.Hour} // of the other
		points := []string{"before-sign", "intended", "signed", "stored"}
		const lease = 2 * time.Millisecond
		for i := range trials {
			id := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"asyncSignature": true})).ID
			now := after(clocks[i%len(clocks)])
			other := signingWith(srv, signing.Config{Lease: lease, Now: now})
			met := false
			first := signingWith(srv, signing.Config{Lease: lease, Hook: func(point, record string) {
				if point != points[i%len(points)] || met {
					return
				}
				met = true
				await.Until(t, "the lease is over", func() bool { // it is not renewed
					return countRows(srv, t, fmt.Sprintf(`select count(*) from signatures where id = '%s' and lease_until < %d`, record, time.Now().UnixMilli())) == 1
				})
				if err := errors.Join(other.Sweep(context.Background()), work(srv, other, job.Config{Lease: lease, Now: now})); err != nil || record != id {
					t.Errorf("the other worker: %v", err)
				}
			}})
			if err := work(srv, first, job.Config{Lease: lease}); err != nil || !met {
				t.Errorf("the first worker: %v, met %v", err, met)
			}
		}
		if n := countRows(srv, t, `select count(*) from signatures where state = 'DONE'`); n != trials {
			t.Errorf("%d of %d are DONE", n, trials)
		}
		if n := countRows(srv, t, `select count(*) from signature_files where role = 'signed'`); n != trials {
			t.Errorf("%d signed documents of %d records", n, trials)
		}
		if n := countRows(srv, t, `select count(*) from audit_events where `+holding("signed")); n != trials {
			t.Errorf("%d ends in the audit log of %d records", n, trials)
		}
		if n := countRows(srv, t, `select count(*) from signatures where starts = 2`); n != trials {
			t.Errorf("%d of %d records were taken over once", n, trials)
		}
		// Who was too late used the key for nothing, and the log says which use counted.
		if n := countRows(srv, t, `select count(*) from signing_intents where outcome = 'SIGNED'`); n != trials {
			t.Errorf("%d uses of the key led to %d documents", n, trials)
		}
		if n := countRows(srv, t, `select count(*) from signing_intents where outcome = 'UNKNOWN'`); n == 0 {
			t.Error("no use of the key was for nothing")
		}
		res, err := srv.VerifyAudit(context.Background())
		if err != nil || res.Bad != nil {
			t.Errorf("audit: %v %v", err, res)
		}
		execute(srv, t, `update signing_intents set outcome = case outcome when 'SIGNED' then 'UNKNOWN' else 'SIGNED' end where outcome in ('SIGNED', 'UNKNOWN')
			and signature_id = (select signature_id from signing_intents where outcome = 'UNKNOWN' limit 1)`)
		if res, err := srv.VerifyAudit(context.Background()); err != nil || res.Bad == nil {
			t.Errorf("the uses of a key were exchanged, and nobody noticed: %v", err)
		}
	})
}

// A record whose work panics ends in ERROR after three tries; the process lives
// and the queue moves on.
func TestPoison(t *testing.T) {
	t.Parallel()
	await.All(t)
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		p.Start("ROGITO_TEST_PANIC_AT=before-sign")
		bad := post(p, m{"asyncSignature": true}, "")
		if bad == nil {
			t.Fatal("not accepted")
		}
		failures := func() int { return strings.Count(p.Err.String(), "work on a signature failed") }
		for range await.Within(time.Minute) { // then it was the first
			if failures() != 0 {
				break
			}
		}
		var ids []string
		for range 10 {
			ids = append(ids, post(p, m{"asyncSignature": true}, "").ID)
		}
		p.Finish(ids)
		for range await.Within(40 * time.Second) {
			if r := p.RecordOf(bad.ID); r != nil {
				bad = r
			}
			if bad.State == "ERROR" {
				break
			}
		}
		if bad.State != "ERROR" || bad.Number() != 119 || strings.Contains(deref(bad.ErrorMessage), "test") {
			t.Errorf("%s %d %s", bad.State, bad.Number(), deref(bad.ErrorMessage))
		}
		for range await.Within(await.Limit) { // it comes through a pipe, in no order with the answers
			if failures() >= 3 {
				break
			}
		}
		if n := failures(); n != 3 {
			t.Errorf("%d failures in the log, want 3", n)
		}
		p.Kill()
		p.Account(database)
	})
}

// blobPath is the file of a record's signed document; "" where it lies in a
// pack.
func blobPath(s *site, id string) string {
	s.T.Helper()
	var blob string
	if err := s.OpenServer().Parts().DB.Read().QueryRow(context.Background(), `select blob from signature_files where signature_id = $1 and role = 'signed'`, id).Scan(&blob); err != nil {
		s.T.Fatal(err)
	}
	if strings.Contains(blob, ".") {
		return ""
	}
	found, err := filepath.Glob(filepath.Join(s.Config.Data, "blobs", "*", blob))
	if err != nil || len(found) != 1 {
		s.T.Fatalf("blob %s: %v %v", blob, found, err)
	}
	return found[0]
}

// A document that was changed on disk, or cannot be read, is not handed out, not
// even in part; others are, the figures show it, and the audit has the digest
// that it should have.
func TestDamagedDocuments(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	large := bytes.Repeat([]byte("more of it\n"), 300_000)
	flipped, unreadable, good, packed := s.Sign(b64(large)), s.Sign(b64(large)), s.Sign(b64(large)), s.Sign(b64(sitetest.SamplePDF))
	size := flipped.Document.SignedDocument.Size
	for _, at := range []int64{0, 100, size / 2, size - 1} {
		path := blobPath(s, flipped.ID)
		stored, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := bytes.Clone(stored)
		bad[at] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if status, code := tryDownload(s, flipped.ID); status != 503 || code != 105 {
			t.Errorf("a bit flipped at %d: %d/%d", at, status, code)
		}
		if err := os.WriteFile(path, stored, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := blobPath(s, unreadable.ID)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // every read of it is an error
		t.Fatal(err)
	}
	if status, code := tryDownload(s, unreadable.ID); status < 500 || code != 104 && code != 105 {
		t.Errorf("an error of the disk: %d/%d", status, code)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if status, code := tryDownload(s, unreadable.ID); status != 503 || code != 105 {
		t.Errorf("a document that is missing: %d/%d, want 503 with 105", status, code)
	}
	packs, err := filepath.Glob(filepath.Join(s.Config.Data, "blobs", "packs", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatal(packs, err)
	}
	last := packs[len(packs)-1]
	content, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	end := len(bytes.TrimRight(content, "\x00"))
	content[end-10] ^= 1
	if err := os.WriteFile(last, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if status, code := tryDownload(s, packed.ID); status != 503 || code != 105 {
		t.Errorf("a bit flipped in a pack: %d/%d", status, code)
	}
	for _, r := range []*record{flipped, good} { // mended, and never touched
		if sum := sha256.Sum256(s.Download(r.ID, "signedDocument")); hex.EncodeToString(sum[:]) != r.Document.SignedDocument.SHA256 {
			t.Error("another document than was signed")
		}
	}
	if _, body := get(t, s.URL+"/metrics"); !strings.Contains(body, `rogito_http_errors_total{code="105"} `) {
		t.Error("the figures do not show it")
	}
	if a := s.Do("GET", "/signatures/"+unreadable.ID+"/audit", nil); !strings.Contains(string(a.Data), unreadable.Document.SignedDocument.SHA256) {
		t.Error("the audit does not have the digest")
	}
}

// tryDownload is the status and code of a download; the body must not be part of
// a document.
func tryDownload(s *site, id string) (status, code int) {
	s.T.Helper()
	req, _ := http.NewRequest("GET", s.URL+"/signatures/"+id+"/signedDocument", nil)
	req.Header.Set("Authorization", "Bearer "+s.Box.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, 0
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	var a struct{ Error *int }
	if bytes.Contains(b, []byte("%PDF")) || json.Unmarshal(b, &a) != nil || a.Error == nil {
		s.T.Errorf("%d with %.60q", resp.StatusCode, b)
		return resp.StatusCode, 0
	}
	return resp.StatusCode, *a.Error
}

// One key, a hundred calls at once: one record, one signature, and everybody is
// shown it or told to wait. Another body is refused, another account is apart.
func TestOneKeyHundredCalls(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		other, srv := s.Tenant(), s.OpenServer()
		body := s.Body(b64(sitetest.SamplePDF))
		var mu sync.Mutex
		ids, waits := map[string]int{}, 0
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				a := s.Do("POST", "/EU-QES_automatic", body, "Idempotency-Key", "hundred")
				mu.Lock()
				defer mu.Unlock()
				switch {
				case a.Status == 200:
					ids[s.Record(a).ID]++
				case a.Status == 409 && a.Code() == 150 && a.Header.Get("Retry-After") != "":
					waits++
				default:
					t.Errorf("%d/%d %s", a.Status, a.Code(), a.Message)
				}
			})
		}
		wg.Wait()
		if len(ids) != 1 || countRows(srv, t, `select count(*) from signatures`) != 1 || countRows(srv, t, `select count(*) from signing_intents`) != 1 {
			t.Errorf("%d records from one key (%d were told to wait), %d intents", len(ids), waits, countRows(srv, t, `select count(*) from signing_intents`))
		}
		if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT)), "Idempotency-Key", "hundred"); a.Status != 422 || a.Code() != 151 {
			t.Errorf("another body: %d/%d", a.Status, a.Code())
		}
		r := other.Record(other.Do("POST", "/EU-QES_automatic", other.Body(b64(sitetest.SamplePDF)), "Idempotency-Key", "hundred"))
		if ids[r.ID] != 0 || r.State != "DONE" {
			t.Errorf("another account's key: %+v", r)
		}
	})
}

// SIGTERM under load: not ready at once, calls under way are answered, the
// process ends well within its time and says nothing of errors, and what was
// acknowledged is done by the next.
func TestTermUnderLoad(t *testing.T) {
	t.Parallel()
	await.All(t)
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		p.Start()
		var mu sync.Mutex
		var ids []string
		var cut int
		client := &http.Client{Timeout: 40 * time.Second}
		stop := load(8, func(i int) bool {
			j, _ := json.Marshal(signBody(p, sitetest.SamplePDF, []m{{}, {"asyncSignature": true}, {"asyncDocumentsValidation": true, "level": "T"}}[i%3]))
			req, _ := http.NewRequest("POST", "http://"+p.Addr+"/EU-QES_automatic", bytes.NewReader(j))
			req.Header.Set("Authorization", "Bearer "+p.Box().Token)
			resp, err := client.Do(req)
			if err != nil {
				return false // refused: it takes no more connections
			}
			var a struct{ Data record }
			err = json.NewDecoder(resp.Body).Decode(&a)
			resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				cut++
			case resp.StatusCode == 200:
				ids = append(ids, a.Data.ID)
			case resp.StatusCode != 503:
				t.Errorf("%d while it is told to end", resp.StatusCode)
			}
			return true
		})
		await.Until(t, "it signs for many", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(ids) >= 10
		})
		begin := time.Now()
		if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		err := p.Cmd.Wait()
		took := time.Since(begin)
		p.Cmd = nil
		stop()
		if err != nil || took > time.Minute {
			t.Errorf("it ended after %v: %v", took, err)
		}
		if cut > 0 {
			t.Errorf("%d answers were cut", cut)
		}
		for _, line := range strings.Split(p.Err.String(), "\n") {
			if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, "level=ERROR") {
				t.Errorf("a clean stop says: %s", line)
			}
		}
		if len(ids) == 0 {
			t.Fatal("nothing was acknowledged")
		}
		p.Start()
		p.Finish(ids)
		p.Kill()
		p.Account(database)
	})
}

// A backup taken under load, restored elsewhere: whatever was acknowledged
// before it began is there, every document has its digest, the audit verifies.
func TestBackupOfSignatures(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var before []string
	for range 5 {
		before = append(before, s.Sign(b64(sitetest.SamplePDF)).ID)
	}
	stop := load(4, func(i int) bool {
		s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"asyncSignature": i%2 == 0}))
		return true
	})
	srv := s.OpenServer()
	await.Until(t, "there are records", func() bool { return countRows(srv, t, `select count(*) from signatures`) >= 12 })
	ctx := context.Background()
	var archive bytes.Buffer
	err := server.Backup(ctx, s.Config, &archive)
	stop()
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.Config
	cfg.Data = filepath.Join(t.TempDir(), "elsewhere")
	_, keyPath, err := server.Restore(ctx, cfg, &archive)
	if err != nil {
		t.Fatal(err)
	}
	key, err := os.ReadFile(filepath.Join(s.Config.Data, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyPath, key, 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, func(c *server.Config) { c.Data = cfg.Data })
	again := *s
	again.URL, again.Run, again.Config = r.URL, r, cfg
	again.Config.PublicURL = r.URL
	for _, id := range before {
		if got := again.Record(again.Do("GET", "/signatures/"+id, nil)); got.State != "DONE" {
			t.Errorf("%s is %s", id, got.State)
		}
	}
	var list []record
	if err := json.Unmarshal(again.Do("GET", "/signatures?limit=100", nil).Data, &list); err != nil || len(list) < len(before) {
		t.Fatalf("%d records: %v", len(list), err)
	}
	for _, one := range list {
		one := again.Wait(one.ID, "DONE")
		if sum := sha256.Sum256(again.Download(one.ID, "signedDocument")); hex.EncodeToString(sum[:]) != one.Document.SignedDocument.SHA256 {
			t.Errorf("%s: another digest", one.ID)
		}
	}
	again.VerifyAudit()
	t.Logf("%d records restored, %d of them from before", len(list), len(before))
}

// A server that runs while a newer one raises the schema goes on: with tables and
// columns that it does not know, a migration it has not heard of, and jobs of a kind
// that it cannot do. One that starts then is refused.
func TestNextSchema(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		set := func(c *server.Config) { c.Database = database }
		s := newSite(t, set)
		r := s.Sign(b64(sitetest.SamplePDF))
		srv := s.OpenServer()
		ctx := context.Background()
		for _, q := range []string{
			`create table of_the_next_release (id text primary key)`,
			`alter table signatures add column of_the_next_release text not null default 'x'`,
			`alter table callbacks add column of_the_next_release bigint not null default 7`,
			`alter table work add column of_the_next_release bigint not null default 7`,
			`insert into goose_db_version (version_id, is_applied) values (9001, ` + map[bool]string{true: "1", false: "true"}[database == ""] + `)`,
		} {
			if err := srv.Parts().DB.Write(ctx, func(tx *store.Tx) error { _, err := tx.Exec(ctx, q); return err }); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		err := srv.Parts().DB.Write(ctx, func(tx *store.Tx) error { return job.Put(ctx, tx, job.Item{Kind: "of-the-next-release"}) })
		if err != nil {
			t.Fatal(err)
		}
		work := func(s *site) {
			t.Helper()
			for _, o := range []m{{}, {"asyncSignature": true}} {
				s.Wait(s.Sign(b64(sitetest.SamplePDF), optionsOf(o)).ID, "DONE")
			}
			if len(s.Download(r.ID, "signedDocument")) == 0 {
				t.Error("nothing to download")
			}
		}
		work(s) // the one that runs while another migrates
		if other, err := store.Open(ctx, store.Config{Database: database, Data: s.Config.Data}); err == nil {
			other.Close()
			t.Error("a program opens a database that is newer than itself")
		}
		err = srv.Parts().DB.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `delete from goose_db_version where version_id = 9001`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		s.VerifyAudit()
	})
}

// Two processes on one database, restarted one after the other under load: no
// call fails but for its connection, and what was acknowledged is done.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	await.All(t)
	database := storetest.Postgres(t)
	a := newProgram(t, database)
	a.Start()
	b := newProgram(t, database)
	keepAt(b, a.Data) // one master key, one folder of blobs
	b.Start()
	nodes := []*program{a, b}
	var mu sync.Mutex
	var ids []string
	var calls atomic.Int64
	stop := load(6, func(i int) bool {
		key, turn, status := store.NewID(), int(calls.Add(1)), 0
		for range await.Within(time.Minute) { // as a client behind a balancer does
			var id string
			status, id = tryPost(nodes[turn%2], m{"asyncSignature": i%2 == 0}, key)
			turn++
			switch status {
			case 200:
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
				return true
			case 0, 409, 503:
				continue
			}
			break
		}
		t.Errorf("%d of two servers", status)
		return false
	})
	for _, p := range nodes {
		before := calls.Load()
		await.Until(t, "more is asked", func() bool { return calls.Load() > before+10 })
		if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := p.Cmd.Wait(); err != nil {
			t.Errorf("it ended with %v: %s", err, p.Err)
		}
		p.Start()
	}
	stop()
	a.Finish(ids)
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("two keys, one record: %s", id)
		}
		seen[id] = true
	}
	t.Logf("%d signatures over two restarts", len(ids))
	a.Kill()
	b.Kill()
	if intents, signatures := a.Account(database); signatures != len(ids) || intents < signatures {
		t.Errorf("%d acknowledged, %d signatures, %d intents", len(ids), signatures, intents)
	}
}

// tryPost is one call: its status, 0 without an answer, and the record's id.
func tryPost(p *program, o m, key string) (status int, id string) {
	j, _ := json.Marshal(signBody(p, sitetest.SamplePDF, o))
	req, _ := http.NewRequest("POST", "http://"+p.Addr+"/EU-QES_automatic", bytes.NewReader(j))
	req.Header.Set("Authorization", "Bearer "+p.Box().Token)
	req.Header.Set("Idempotency-Key", key)
	resp, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	var a struct{ Data record }
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return 0, ""
	}
	return resp.StatusCode, a.Data.ID
}
