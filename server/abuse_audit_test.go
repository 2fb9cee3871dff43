package server

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
	"rogito.dev/rogito/server/internal/store"
)

// The whole database is put back to an older state, in which the log is sound
// in itself: the checkpoints that lie beside it tell what is missing, and from
// where.
func TestWholeLogPutBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(n int) *site {
		s := newSite(t, func(c *Config) { c.Data = dir })
		for range n {
			s.sign(b64(samplePDF))
		}
		s.run.stop()
		return s
	}
	first := run(2)
	size, bad := verifyClosed(t, first.cfg)
	if bad != "" {
		t.Fatal(bad)
	}
	db := filepath.Join(dir, "rogito.db")
	old, err := os.ReadFile(db)
	if err != nil {
		t.Fatal(err)
	}
	second := run(2)
	if more, bad := verifyClosed(t, second.cfg); bad != "" || more <= size {
		t.Fatalf("%d entries, %s", more, bad)
	}
	for _, f := range []string{db + "-wal", db + "-shm"} {
		_ = os.Remove(f)
	}
	if err := os.WriteFile(db, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if n, bad := verifyClosed(t, second.cfg); n != size || !strings.Contains(bad, "missing") || !strings.Contains(bad, "witness file covers") {
		t.Errorf("%d entries, %q", n, bad)
	}
}

// verifyClosed verifies the log of an installation that does not run; its first
// bad entry is the one after the last.
func verifyClosed(t *testing.T, cfg Config) (entries int64, bad string) {
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
	one, two := newSite(t), newSite(t)
	var ours, theirs bytes.Buffer
	ctx := context.Background()
	room := one.rooms()
	if err := room.ExportAudit(ctx, &ours, 0); err != nil {
		t.Fatal(err)
	}
	if err := two.rooms().ExportAudit(ctx, &theirs, 0); err != nil {
		t.Fatal(err)
	}
	key := room.sig.authority.AuditKey()
	if res, err := VerifyExport(key, bytes.NewReader(ours.Bytes())); err != nil || res.Bad != nil || res.Stamped == 0 {
		t.Errorf("%+v %v", res, err)
	}
	if res, err := VerifyExport(key, bytes.NewReader(theirs.Bytes())); err == nil {
		t.Errorf("another log passes for ours: %+v", res)
	}
	lines := strings.SplitN(theirs.String(), "\n", 2)
	head, _, _ := strings.Cut(ours.String(), "\n")
	if res, err := VerifyExport(key, strings.NewReader(head+"\n"+lines[1])); err == nil && res.Bad == nil {
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
		_, _ = w.Write(sampleTXT)
	}))
	t.Cleanup(host.Close)
	s := newSite(t, allow(host.URL))
	room, ctx := s.rooms(), context.Background()
	exec := func(query string) {
		t.Helper()
		err := room.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, query)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	intents := func() (n int) {
		if err := room.db.Read().QueryRow(ctx, `select count(*) from signing_intents`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	done := s.sign(b64(samplePDF))
	signed := s.download(done.ID, "signedDocument")
	waits := s.sign(host.URL+"/x.txt", optionsOf(m{"asyncDocumentsValidation": true}))
	omi := outcome(s.do("GET", "/IT-omi?latitude=45&longitude=9", nil))
	before := intents()
	exec(`alter table audit_events rename to audit_gone`)
	close(release)
	for _, o := range []m{nil, {"asyncSignature": true}, {"asyncDocumentsValidation": true}} {
		if got := outcome(s.do("POST", "/EU-QES_automatic", s.body(b64(samplePDF), optionsOf(o)))); got != "503/105" {
			t.Errorf("%v: %s", o, got)
		}
	}
	await.Never(t, 1500*time.Millisecond, "signed without the audit", func() bool {
		return s.record(s.do("GET", "/signatures/"+waits.ID, nil)).State == "DONE"
	})
	if got := intents(); got != before {
		t.Errorf("keys were used %d times", got-before)
	}
	// What was revoked stands in the log: without it the authority says to try later.
	if got := s.indication(signed); got != "INDETERMINATE" {
		t.Errorf("verifying: %s", got)
	}
	if got := outcome(s.do("GET", "/IT-omi?latitude=45&longitude=9", nil)); got != omi {
		t.Errorf("quotations: %s, %s before", got, omi)
	}
	if a := s.do("GET", "/signatures", nil); a.Status != 200 {
		t.Errorf("reading: %d", a.Status)
	}
	exec(`alter table audit_gone rename to audit_events`)
	if r := s.waitFor(waits.ID, 90*time.Second); r.State != "DONE" {
		t.Errorf("afterwards: %s %d %s", r.State, r.number(), deref(r.ErrorMessage))
	}
	s.verifyAudit()
}

// waitFor waits for the end of a record, for work that is tried again.
func (s *site) waitFor(id string, most time.Duration) (r *record) {
	s.t.Helper()
	for range await.Within(most) {
		if r = s.record(s.do("GET", "/signatures/"+id, nil)); r.State == "DONE" || r.State == "ERROR" {
			break
		}
	}
	return r
}
