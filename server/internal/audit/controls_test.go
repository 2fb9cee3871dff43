package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// The whole data folder is put back, the witness file with it: the bucket with
// object lock still knows, with the time-stamps of an outside authority.
func TestAuditBucketWitness(t *testing.T) {
	t.Parallel()
	bucket := storetest.LockedS3(t)
	dir := t.TempDir()
	set := func(c *server.Config) {
		c.Data, c.Audit.Bucket, c.S3.AccessKey, c.S3.SecretKey = dir, bucket.URL, bucket.AccessKey, bucket.SecretKey
	}
	first := newSite(t, set)
	first.Sign(b64(sitetest.SamplePDF))
	first.Run.Stop()
	outside := newSite(t, sitetest.Fresh).URL + "/tsa" // another installation's authority
	size, bad := verifyClosed(t, first.Config)
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
	second := newSite(t, set, func(c *server.Config) { c.Audit.TimestampURL = outside }, allow(outside))
	second.Sign(b64(sitetest.SamplePDF))
	second.Run.Stop()
	res := verifyAll(t, second.Config)
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
	if res := verifyAll(t, second.Config); res.Bad == nil || !strings.Contains(res.Bad.What, "witness in a bucket covers") {
		t.Errorf("put back: %v", res.Bad)
	}
	gone := second.Config
	gone.Audit.Bucket = ""
	if res := verifyAll(t, gone); res.Bad != nil || !strings.Contains(fmt.Sprint(res.Unproved), "witness in a bucket: not configured") {
		t.Errorf("without the bucket: %v %v", res.Bad, res.Unproved)
	}
	gone.Audit.Bucket = "s3://nobody?endpoint=http://127.0.0.1:1"
	if res := verifyAll(t, gone); res.Bad != nil || !strings.Contains(fmt.Sprint(res.Unproved), "cannot be asked") {
		t.Errorf("with a bucket that is away: %v %v", res.Bad, res.Unproved)
	}
}

// verifyAll verifies the log of an installation that does not run.
func verifyAll(t *testing.T, cfg server.Config) *server.AuditResult {
	t.Helper()
	cfg.Log.Level = "error"
	room, err := server.Open(context.Background(), cfg)
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
		set := func(c *server.Config) { c.Database = database }
		s := newSite(t, set)
		s.Sign(b64(sitetest.SamplePDF))
		deleted := s.Sign(b64(sitetest.SamplePDF))
		s.Do("DELETE", "/signatures/"+deleted.ID, nil)
		good := func(after string, cfg server.Config) *server.AuditResult {
			t.Helper()
			res := verifyAll(t, cfg)
			if res.Bad != nil {
				t.Errorf("%s: %v", after, res.Bad)
			}
			return res
		}
		good("while it runs", s.Config)
		s.Run.Stop()
		if res := good("at rest", s.Config); res.Witnesses[0].Size != res.Entries || res.Pending != 0 {
			t.Errorf("not all is witnessed at rest: %d of %d, %d wait", res.Witnesses[0].Size, res.Entries, res.Pending)
		}
		room := s.OpenServer()
		if _, err := room.RotateMasterKey(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		room.Close()
		good("after a new master key", s.Config)
		again := newSite(t, set, func(c *server.Config) { c.Data = s.Config.Data })
		again.Box = s.Box
		again.Sign(b64(sitetest.SamplePDF))
		if database != "" { // a second node, with a data folder of its own
			key, err := os.ReadFile(filepath.Join(s.Config.Data, "master.key"))
			if err != nil {
				t.Fatal(err)
			}
			cfg := again.Config
			cfg.Data, cfg.MasterKey = t.TempDir(), strings.TrimSpace(string(key))
			node := start(t, func(c *server.Config) { c.Database, c.Data, c.MasterKey = database, cfg.Data, cfg.MasterKey })
			second := *again
			second.URL, second.Run = node.URL, node
			for range 3 {
				second.Sign(b64(sitetest.SamplePDF))
				again.Sign(b64(sitetest.SamplePDF))
			}
			node.Stop()
			if res := good("on the second node", cfg); res.Witnesses[0].Checkpoints == 0 {
				t.Error("the second node has witnessed nothing")
			}
		}
		again.Run.Stop()
		if err := signingAt(again.OpenServer(), after(400*day)).Retain(context.Background()); err != nil {
			t.Fatal(err)
		}
		if res := good("after retention", again.Config); res.Erased == 0 {
			t.Error("nothing was erased")
		}
	})
}
