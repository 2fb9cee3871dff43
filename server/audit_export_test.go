package server_test

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/doctor"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// TestAuditIsExported: a server leaves its log where it can be verified without
// it, and goes on from there when there is something new.
func TestAuditIsExported(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "exports")
	s := newSite(t, func(c *server.Config) { c.Audit.Export = dir })
	srv := s.OpenServer()
	var first string
	for range await.Within(await.Limit) {
		if first != "" {
			break
		}
		if all, _ := srv.Exports(t.Context()); len(all) > 0 {
			first = slices.Sorted(maps.Keys(all))[0]
		}
	}
	if first == "" {
		t.Fatalf("nothing was exported\n%s", s.Run.Log)
	}
	for range 2 {
		s.Sign(b64(sitetest.SampleTXT))
		if err := srv.ExportNow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all, err := srv.Exports(t.Context())
	if err != nil || len(all) != 3 {
		t.Fatalf("%v %v", all, err)
	}
	newest := slices.Max(slices.Collect(maps.Keys(all)))
	if err := srv.ExportNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, _ := srv.Exports(t.Context()); len(again) != 3 || again[newest].IsZero() {
		t.Errorf("nothing happened, and something was written: %v", again)
	}
	var parts []io.Reader
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		assertMode(t, f.Name(), 0o600)
		parts = append(parts, f)
	}
	res, err := server.VerifyExport(srv.Parts().Checkpointer.Public, parts...)
	if err != nil || res.Bad != nil {
		t.Fatalf("%+v %v", res, err)
	}
	if size, err := srv.Parts().Audit.Size(t.Context()); err != nil || res.Entries != size {
		t.Errorf("%d of %d entries: %v", res.Entries, size, err)
	}
	if f := s.Examine(true)["audit export"]; f.State != doctor.FindingOK {
		t.Errorf("%+v", f)
	}
}

// In a bucket with object lock an export cannot be taken back; in one without, the operator is
// told.
func TestAuditIsExportedToABucket(t *testing.T) {
	t.Parallel()
	bucket := storetest.LockedS3(t)
	at := strings.Replace(bucket.URL, "/test?", "/exports?", 1)
	s := newSite(t, func(c *server.Config) {
		c.Audit.Export, c.S3.AccessKey, c.S3.SecretKey = at, bucket.AccessKey, bucket.SecretKey
	})
	srv := s.OpenServer()
	if err := srv.ExportNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, err := srv.Exports(t.Context()); err != nil || len(all) == 0 {
		t.Errorf("%v %v", all, err)
	}
	if f := s.Examine(true)["audit export"]; f.State != doctor.FindingOK {
		t.Errorf("%+v", f)
	}
	s.Config.Audit.Export = strings.Replace(at, "s3://", "s3://no-such-", 1)
	if f := s.Examine(true)["audit export"]; f.State != doctor.FindingBad || !strings.Contains(f.Text.String(), "no-such-") {
		t.Errorf("%+v", f)
	}
}
