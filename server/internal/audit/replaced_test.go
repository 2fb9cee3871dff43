package audit_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// The whole database is put back to an older state, in which the log is sound
// in itself: the checkpoints that lie beside it tell what is missing, and from
// where.
func TestWholeLogPutBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(n int) *site {
		s := newSite(t, func(c *server.Config) { c.Data = dir })
		for range n {
			s.Sign(b64(sitetest.SamplePDF))
		}
		s.Run.Stop()
		return s
	}
	first := run(2)
	size, bad := verifyClosed(t, first.Config)
	if bad != "" {
		t.Fatal(bad)
	}
	db := filepath.Join(dir, "rogito.db")
	old, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	second := run(2)
	if more, bad := verifyClosed(t, second.Config); bad != "" || more <= size {
		t.Fatalf("%d entries, %s", more, bad)
	}
	for _, f := range []string{db + "-wal", db + "-shm"} {
		_ = os.Remove(f)
	}
	if err := os.WriteFile(db, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, bad := verifyClosed(t, second.Config); n != size || !strings.Contains(bad, "missing") || !strings.Contains(bad, "witness file covers") {
		t.Errorf("%d entries, %q", n, bad)
	}
}

// verifyClosed verifies the log of an installation that does not run; its first
// bad entry is the one after the last.
func verifyClosed(t *testing.T, cfg server.Config) (entries int64, bad string) {
	t.Helper()
	res := verifyAll(t, cfg)
	if res.Bad != nil {
		bad = res.Bad.Error()
		if res.Bad.Seq != res.Entries {
			t.Errorf("the first bad entry is %d of %d", res.Bad.Seq, res.Entries)
		}
	}
	return res.Entries, bad
}

// An export that was replaced by that of another log is sound in itself; who
// knows the key is not taken in.
func TestExportReplaced(t *testing.T) {
	t.Parallel()
	one, two := newSite(t), newSite(t, sitetest.Fresh)
	var ours, theirs bytes.Buffer
	ctx := context.Background()
	room := one.OpenServer()
	if err := room.ExportAudit(ctx, &ours, 0); err != nil {
		t.Fatal(err)
	}
	if err := two.OpenServer().ExportAudit(ctx, &theirs, 0); err != nil {
		t.Fatal(err)
	}
	key := room.Parts().Authority.AuditKey()
	if res, err := server.VerifyExport(key, bytes.NewReader(ours.Bytes())); err != nil || res.Bad != nil || res.Stamped == 0 {
		t.Errorf("%+v %v", res, err)
	}
	if res, err := server.VerifyExport(key, bytes.NewReader(theirs.Bytes())); err == nil {
		t.Errorf("another log passes for ours: %+v", res)
	}
	lines := strings.SplitN(theirs.String(), "\n", 2)
	head, _, _ := strings.Cut(ours.String(), "\n")
	if res, err := server.VerifyExport(key, strings.NewReader(head+"\n"+lines[1])); err == nil && res.Bad == nil {
		t.Error("another log under our head passes")
	}
}

// While the audit cannot be written nothing new is signed, in no job either,
// and no key is used; verifying, reading and quotations go on. When it can be
// written again the record that waited is signed.
func TestAuditAway(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		_, _ = w.Write(sitetest.SampleTXT)
	}))
	t.Cleanup(host.Close)
	s := newSite(t, allow(host.URL))
	room, ctx := s.OpenServer(), context.Background()
	exec := func(query string) {
		t.Helper()
		err := room.Parts().DB.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, query)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	intents := func() (n int) {
		if err := room.Parts().DB.Read().QueryRow(ctx, `select count(*) from signing_intents`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	done := s.Sign(b64(sitetest.SamplePDF))
	signed := s.Download(done.ID, "signedDocument")
	waits := s.Sign(host.URL+"/x.txt", optionsOf(m{"asyncDocumentsValidation": true}))
	omi := outcome(s.Do("GET", "/IT-omi?latitude=45&longitude=9", nil))
	before := intents()
	exec(`alter table audit_events rename to audit_gone`)
	close(release)
	for _, o := range []m{nil, {"asyncSignature": true}, {"asyncDocumentsValidation": true}} {
		if got := outcome(s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF), optionsOf(o)))); got != "503/105" {
			t.Errorf("%v: %s", o, got)
		}
	}
	await.Never(t, 1500*time.Millisecond, "signed without the audit", func() bool {
		return s.Record(s.Do("GET", "/signatures/"+waits.ID, nil)).State == "DONE"
	})
	if got := intents(); got != before {
		t.Errorf("keys were used %d times", got-before)
	}
	// What was revoked stands in the log: without it the authority says to try later.
	if got := s.Indication(signed); got != "INDETERMINATE" {
		t.Errorf("verifying: %s", got)
	}
	if got := outcome(s.Do("GET", "/IT-omi?latitude=45&longitude=9", nil)); got != omi {
		t.Errorf("quotations: %s, %s before", got, omi)
	}
	if a := s.Do("GET", "/signatures", nil); a.Status != 200 {
		t.Errorf("reading: %d", a.Status)
	}
	exec(`alter table audit_gone rename to audit_events`)
	if r := waitFor(s, waits.ID, 90*time.Second); r.State != "DONE" {
		t.Errorf("afterwards: %s %d %s", r.State, r.Number(), deref(r.ErrorMessage))
	}
	s.VerifyAudit()
}

// waitFor waits for the end of a record, for work that is tried again.
func waitFor(s *site, id string, most time.Duration) (r *record) {
	s.T.Helper()
	for range await.Within(most) {
		if r = s.Record(s.Do("GET", "/signatures/"+id, nil)); r.State == "DONE" || r.State == "ERROR" {
			break
		}
	}
	return r
}
