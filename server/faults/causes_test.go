package faults_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/doctor"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// TestMissingBucketIsNamed: who operates the server is told what is missing, and
// the doctor does not blame the database for it.
func TestMissingBucketIsNamed(t *testing.T) {
	t.Parallel()
	bucket := storetest.S3(t)
	cfg := testDefaults()
	cfg.Listen, cfg.Data, cfg.Limits.Reserve, cfg.Log.Level = "127.0.0.1:0", t.TempDir(), -1, "error"
	cfg.Blobs = regexp.MustCompile(`s3://[^/]+`).ReplaceAllString(bucket.URL, "s3://not-made-yet")
	cfg.S3.AccessKey, cfg.S3.SecretKey = bucket.AccessKey, bucket.SecretKey
	err := server.Run(t.Context(), cfg, server.Streams{Out: io.Discard, Err: io.Discard})
	if err == nil || !strings.Contains(server.Explain(err), "bucket not-made-yet does not exist") {
		t.Fatalf("the bucket is not named: %v", err)
	}
	found := server.Doctor(t.Context(), cfg, server.DoctorOptions{})
	last := found[len(found)-1]
	if last.Part != "blobs" || last.State != doctor.FindingBad || !strings.Contains(last.Text.String(), "not-made-yet") || !strings.Contains(last.Advice.String(), "bucket") {
		t.Errorf("the doctor says %+v", last)
	}
	for _, f := range found {
		if f.Part == "database" && f.State == doctor.FindingBad {
			t.Errorf("the doctor blames the database: %s", f.Text)
		}
	}
}

// TestDatabaseThatIsAwayIsNamed, and its password is not.
func TestDatabaseThatIsAwayIsNamed(t *testing.T) {
	t.Parallel()
	cfg := testDefaults()
	cfg.Data, cfg.Log.Level, cfg.Database = t.TempDir(), "error", "postgres://me:canary@127.0.0.1:9/rogito?connect_timeout=1"
	_, err := server.Open(t.Context(), cfg)
	if err == nil || !strings.Contains(server.Explain(err), "127.0.0.1") || strings.Contains(server.Explain(err), "canary") {
		t.Errorf("said: %v", err)
	}
}
