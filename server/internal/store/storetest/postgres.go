package storetest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rogito.dev/rogito/server/internal/store"
)

// Postgres returns the URL of a new database without a row of ours, dropped after the
// test. The server is the one ROGITO_TEST_POSTGRES names, or one started for the time
// that tests of this process need it: there the schema is in the database already, as
// a copy of one that was raised, which takes a third of the time.
func Postgres(t testing.TB) string {
	t.Helper()
	if base := os.Getenv("ROGITO_TEST_POSTGRES"); base != "" {
		return newDatabase(t, base, "template1")
	}
	c := cluster.acquire(t)
	return newDatabase(t, c.url, c.template(t, "with_schema", withSchema))
}

func withSchema(t testing.TB, url string) {
	t.Helper()
	db, err := store.Open(context.Background(), store.Config{Data: t.TempDir(), Database: url, Reserve: -1})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
}

// FilledPostgres is Postgres for tests that begin with the same rows: a copy of the database of
// that name, which fill filled when it was first asked for. Where ROGITO_TEST_POSTGRES names a
// server, nothing of the tests stays there: the address is then empty.
func FilledPostgres(t testing.TB, name string, fill func(t testing.TB, url string)) string {
	t.Helper()
	if os.Getenv("ROGITO_TEST_POSTGRES") != "" {
		return ""
	}
	c := cluster.acquire(t)
	return newDatabase(t, c.url, c.template(t, name, fill))
}

// EmptyPostgres is Postgres for tests of how a database comes to be: it has no schema.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	base := os.Getenv("ROGITO_TEST_POSTGRES")
	if base == "" {
		base = cluster.acquire(t).url
	}
	return newDatabase(t, base, "template1")
}

func newDatabase(t testing.TB, base, template string) string {
	t.Helper()
	name := "t" + store.NewID()
	admin(t, base, "create database "+name+" template "+template)
	t.Cleanup(func() { admin(t, base, "drop database if exists "+name+" with (force)") })
	return inDatabase(t, base, name)
}

func inDatabase(t testing.TB, base, name string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func admin(t testing.TB, base, statement string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, base)
	if err != nil {
		t.Fatalf("connect to PostgreSQL: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

// Main runs a package's tests and keeps the PostgreSQL server between them; a
// package with many tests on it calls it from TestMain. What is named is done at
// the end.
func Main(m *testing.M, atEnd ...func()) {
	cluster.mu.Lock()
	cluster.users++
	cluster.mu.Unlock()
	code := m.Run()
	cluster.release()
	for _, f := range atEnd {
		f()
	}
	os.Exit(code)
}

// cluster is the one server of this process; it goes with its last user.
var cluster shared

type shared struct {
	mu      sync.Mutex
	users   int
	url     string
	dir     string
	filled  map[string]bool // databases that others are copies of
	process *os.Process
	gone    chan struct{}
}

// template is the name of a database that others are copies of, filled when it is first asked for.
func (s *shared) template(t testing.TB, name string, fill func(t testing.TB, url string)) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.filled[name] {
		admin(t, s.url, "drop database if exists "+name+" with (force)") // of a try that failed
		admin(t, s.url, "create database "+name)
		fill(t, inDatabase(t, s.url, name))
		s.filled[name] = true
	}
	return name
}

func (s *shared) acquire(t testing.TB) *shared {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		s.start(t)
	}
	s.users++
	t.Cleanup(s.release)
	return s
}

func (s *shared) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 || s.process == nil {
		return
	}
	_ = s.process.Signal(os.Interrupt) // a fast shutdown
	select {
	case <-s.gone:
	case <-time.After(10 * time.Second):
		_ = s.process.Kill()
		<-s.gone
	}
	s.process = nil
	_ = os.RemoveAll(s.dir)
}

func (s *shared) start(t testing.TB) {
	t.Helper()
	bin, err := postgresBin()
	if err != nil {
		missing(t, "PostgreSQL: %v", err)
	}
	dir, err := os.MkdirTemp("", "rogpg")
	if err != nil {
		t.Fatal(err)
	}
	user, err := giveAway(dir)
	if err != nil {
		missing(t, "PostgreSQL refuses root, and no other user could be taken: %v", err)
	}
	data := filepath.Join(dir, "data")
	init := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "rogito", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	user(init)
	if out, err := init.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		missing(t, "initdb: %v: %s", err, out)
	}
	server := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-c", "listen_addresses=",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300", "-c", "shared_buffers=64MB")
	if real, err := filepath.EvalSymlinks(server.Path); err == nil { // for tests that count statements
		if _, err := os.Stat(filepath.Join(filepath.Dir(real), "../lib/pg_stat_statements.so")); err == nil {
			server.Args = append(server.Args, "-c", "shared_preload_libraries=pg_stat_statements")
		}
	}
	user(server)
	log := &strings.Builder{}
	server.Stderr = log
	gone := make(chan struct{})
	if err := startTied(server, gone); err != nil {
		missing(t, "start PostgreSQL: %v", err)
	}
	s.dir, s.process, s.gone, s.filled = dir, server.Process, gone, map[string]bool{}
	s.url = "postgres://rogito@/postgres?" + url.Values{"host": {dir}}.Encode()
	if err := s.wait(); err != nil {
		_ = server.Process.Kill()
		<-gone
		_ = os.RemoveAll(dir)
		missing(t, "PostgreSQL did not start: %v: %s", err, log)
	}
}

func (s *shared) wait() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.gone:
			return fmt.Errorf("it ended at once")
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// postgresBin is the folder of initdb and postgres, the newest there is.
func postgresBin() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path), nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("initdb is neither in the path nor in /usr/lib/postgresql: install it or set ROGITO_TEST_POSTGRES")
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}
