package faults_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// A database that answers and takes no writes: every server on it says that it is not ready, calls
// are told 105, and both end with it, though no connection was closed.
func TestReadyOnReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	s := newSite(t, func(c *server.Config) { c.Database = database })
	waits := s.Waiting() // for an approval
	srv := s.OpenServer()
	name := database[strings.LastIndex(strings.Split(database, "?")[0], "/")+1:]
	name = strings.Split(name, "?")[0]
	set := func(to string) {
		t.Helper()
		admin := strings.Replace(database, "/"+name, "/postgres", 1)
		for _, statement := range []string{
			`alter database ` + name + ` set default_transaction_read_only = ` + to,
			`select pg_terminate_backend(pid) from pg_stat_activity where datname = '` + name + `' and '` + to + `' = 'on'`,
		} {
			if out, err := exec.Command("psql", "-X", "-q", "-c", statement, admin).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	}
	set("on")
	s.Becomes(http.StatusServiceUnavailable, "database")
	for range 3 {
		if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF))); a.Status != 503 || a.Code() != 105 || a.Header.Get("Retry-After") == "" {
			t.Errorf("in the call: %d/%d, want 503 with 105", a.Status, a.Code())
		}
	}
	set("off")
	s.Becomes(http.StatusOK, "")
	if r := s.Sign(b64(sitetest.SamplePDF)); r.State != "DONE" {
		t.Errorf("%+v", r)
	}
	if n := storetest.Count(t, srv.Parts().DB, `select failures from signatures where id = $1`, waits); n != 0 {
		t.Errorf("a record that waited has %d failures", n)
	}
}

// smallDisk mounts a file system in memory that can be filled. It needs root.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", megabytes), "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: cannot mount: %v %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v %s", err, out)
		}
	})
	return dir
}

// The data folder of a server on PostgreSQL and a bucket is full: it says so, takes no
// work and uses no key, whether it keeps a reserve or not.
func TestReadyOnFullDataFolder(t *testing.T) {
	t.Parallel()
	for name, reserve := range map[string]int64{"reserve": 0, "no reserve": -1} {
		t.Run(name, func(t *testing.T) {
			b := storetest.S3(t)
			database := storetest.Postgres(t)
			data := smallDisk(t, 64)
			s := newSite(t, func(c *server.Config) {
				c.Data, c.Database, c.Limits.Reserve = data, database, reserve
				c.Blobs, c.S3.AccessKey, c.S3.SecretKey = b.URL, b.AccessKey, b.SecretKey
			})
			id, srv := s.Waiting(), s.OpenServer()
			s.Becomes(http.StatusOK, "")
			v := &volume{t: t, dir: data}
			v.fill()
			s.Becomes(http.StatusServiceUnavailable, "spool")
			before := storetest.Count(t, srv.Parts().DB, `select count(*) from signing_intents`)
			if a := s.Do("POST", "/approvals/"+id, nil, "Authorization", "Bearer "+s.OtherToken()); a.Status != 200 {
				t.Fatalf("%d/%d", a.Status, a.Code())
			}
			if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF))); a.Status != 503 || a.Code() != 105 {
				t.Errorf("in the call: %d/%d, want 503 with 105", a.Status, a.Code())
			}
			s.Becomes(http.StatusServiceUnavailable, "spool")
			if n := storetest.Count(t, srv.Parts().DB, `select starts from signatures where id = $1`, id); n != 0 {
				t.Errorf("begun %d times", n)
			}
			if n := storetest.Count(t, srv.Parts().DB, `select count(*) from signing_intents`); n != before {
				t.Errorf("a key was used %d times", n-before)
			}
			v.empty()
			s.Becomes(http.StatusOK, "")
			s.Wait(id, "DONE")
		})
	}
}

// A disk that takes bytes and cannot keep them, on SQLite: an ext4 in a file whose own disk
// is full. Nothing is acknowledged, and the server says so.
func TestReadyWhenNothingIsSynced(t *testing.T) {
	t.Parallel()
	await.All(t)
	below := smallDisk(t, 64)
	v := &volume{t: t, image: filepath.Join(below, "image")}
	f, err := os.Create(v.image)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(256<<20), f.Close()); err != nil { // more than there is
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-m", "0", "-O", "^has_journal", v.image).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED, NOT TESTED: no file system of our own: %v %s", err, out)
	}
	v.mount("loop")
	p := programOn(t, v, "")
	p.Start()
	if r := post(p, m{}, ""); r == nil || r.State != "DONE" {
		t.Fatalf("%+v", r)
	}
	(&volume{t: t, dir: below}).fill()
	becomes(t, "http://"+p.Addr, http.StatusServiceUnavailable, "")
	for range 3 {
		if status, code := answerTo(p, "POST", "/EU-QES_automatic", signBody(p, sitetest.SamplePDF, m{})); status == 200 || status != 0 && code != 105 {
			t.Errorf("%d/%d on a disk that keeps nothing", status, code)
		}
	}
	becomes(t, "http://"+p.Addr, http.StatusServiceUnavailable, "")
}
