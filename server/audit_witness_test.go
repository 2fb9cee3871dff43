package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/store/storetest"
)

// The whole data folder is put back, the witness file with it: the bucket with
// object lock still knows, with the time-stamps of an outside authority.
func TestAuditBucketWitness(t *testing.T) {
	t.Parallel()
	bucket := storetest.LockedS3(t)
	dir := t.TempDir()
	set := func(c *Config) {
		c.Data, c.Audit.Bucket, c.S3.AccessKey, c.S3.SecretKey = dir, bucket.URL, bucket.AccessKey, bucket.SecretKey
	}
	first := newSite(t, set)
	first.sign(b64(samplePDF))
	first.run.stop()
	outside := newSite(t).url + "/tsa" // another installation's authority
	size, bad := verifyClosed(t, first.cfg)
	if bad != "" {
		t.Fatal(bad)
	}
	old := map[string][]byte{}
	for _, name := range []string{"rogito.db", "audit/witness"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		old[name] = b
	}
	second := newSite(t, set, func(c *Config) { c.Audit.TimestampURL = outside }, allow(outside))
	second.sign(b64(samplePDF))
	second.run.stop()
	res := verifyAll(t, second.cfg)
	w := res.Witnesses[1]
	if res.Bad != nil || w.Size != res.Entries || w.Stamped == 0 || res.Witnesses[0].Stamped == 0 || w.Checkpoints < 2 || res.Entries <= size {
		t.Errorf("%v: %d entries; bucket to %d with %d checkpoints and %d time-stamps; %v", res.Bad, res.Entries, w.Size, w.Checkpoints, w.Stamped, res.Unproved)
	}
	for name, b := range old {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rogito.db-wal", "rogito.db-shm"} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	if res := verifyAll(t, second.cfg); res.Bad == nil || !strings.Contains(res.Bad.What, "witness in a bucket covers") {
		t.Errorf("put back: %v", res.Bad)
	}
	gone := second.cfg
	gone.Audit.Bucket = ""
	if res := verifyAll(t, gone); res.Bad != nil || !strings.Contains(strings.Join(res.Unproved, "\n"), "witness in a bucket: not configured") {
		t.Errorf("without the bucket: %v %v", res.Bad, res.Unproved)
	}
	gone.Audit.Bucket = "s3://nobody?endpoint=http://127.0.0.1:1"
	if res := verifyAll(t, gone); res.Bad != nil || !strings.Contains(strings.Join(res.Unproved, "\n"), "cannot be asked") {
		t.Errorf("with a bucket that is away: %v %v", res.Bad, res.Unproved)
	}
}

// verifyAll verifies the log of an installation that does not run.
func verifyAll(t *testing.T, cfg Config) *AuditResult {
	t.Helper()
	cfg.Log.Level = "error"
	room, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	res, err := room.VerifyAudit(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// What is no tampering raises no alarm: a new master key, a new node with a
// witness of its own, retention, a start after a kill.
func TestAuditControls(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		set := func(c *Config) { c.Database = database }
		s := newSite(t, set)
		s.sign(b64(samplePDF))
		deleted := s.sign(b64(samplePDF))
		s.do("DELETE", "/signatures/"+deleted.ID, nil)
		good := func(after string, cfg Config) *AuditResult {
			t.Helper()
			res := verifyAll(t, cfg)
			if res.Bad != nil {
				t.Errorf("%s: %v", after, res.Bad)
			}
			return res
		}
		good("while it runs", s.cfg)
		s.run.stop()
		if res := good("at rest", s.cfg); res.Witnesses[0].Size != res.Entries || res.Pending != 0 {
			t.Errorf("not all is witnessed at rest: %d of %d, %d wait", res.Witnesses[0].Size, res.Entries, res.Pending)
		}
		room := s.rooms()
		if _, err := room.RotateMasterKey(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		room.Close()
		good("after a new master key", s.cfg)
		again := newSite(t, set, func(c *Config) { c.Data = s.cfg.Data })
		again.box = s.box
		again.sign(b64(samplePDF))
		if database != "" { // a second node, with a data folder of its own
			key, err := os.ReadFile(filepath.Join(s.cfg.Data, "master.key"))
			if err != nil {
				t.Fatal(err)
			}
			cfg := again.cfg
			cfg.Data, cfg.MasterKey = t.TempDir(), strings.TrimSpace(string(key))
			node := start(t, func(c *Config) { c.Database, c.Data, c.MasterKey = database, cfg.Data, cfg.MasterKey })
			second := *again
			second.url, second.run = node.url, node
			for range 3 {
				second.sign(b64(samplePDF))
				again.sign(b64(samplePDF))
			}
			node.stop()
			if res := good("on the second node", cfg); res.Witnesses[0].Checkpoints == 0 {
				t.Error("the second node has witnessed nothing")
			}
		}
		again.run.stop()
		if err := signingAt(again.rooms(), after(400*day)).Retain(context.Background()); err != nil {
			t.Fatal(err)
		}
		if res := good("after retention", again.cfg); res.Erased == 0 {
			t.Error("nothing was erased")
		}
	})
}
