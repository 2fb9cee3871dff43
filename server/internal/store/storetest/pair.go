package storetest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store"
)

// Pair is a PostgreSQL server of a test's own, on a port of this machine, and its standby,
// to which every commit is copied before it is acknowledged.
type Pair struct {
	t        testing.TB
	bin, dir string
	user     func(*exec.Cmd)
	members  [2]*member // the primary, and the standby
	database string
}

// member is one of the two.
type member struct {
	data, port string
	process    *os.Process
	gone       chan struct{}
	log        string // file
}

// NewPair starts both, with an empty database.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	bin, err := postgresBin()
	if err != nil {
		missing(t, "PostgreSQL: %v", err)
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(bin, "initdb")); err == nil {
		bin = filepath.Dir(real) // where its other programs are
	}
	dir, err := os.MkdirTemp("", "rogpp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &Pair{t: t, bin: bin, dir: dir, database: "t" + store.NewID()}
	if p.user, err = giveAway(dir); err != nil {
		missing(t, "PostgreSQL refuses root, and no other user could be taken: %v", err)
	}
	for i := range p.members {
		_, port, err := net.SplitHostPort(freeAddress(t))
		if err != nil {
			t.Fatal(err)
		}
		p.members[i] = &member{data: filepath.Join(dir, fmt.Sprint("data", i)), port: port, log: filepath.Join(dir, fmt.Sprint("log", i))}
	}
	first, second := p.members[0], p.members[1]
	p.run("initdb", "-D", first.data, "-U", "rogito", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	p.start(first)
	t.Cleanup(func() {
		for _, m := range p.members {
			if m.process != nil {
				_ = m.process.Kill()
				<-m.gone
			}
		}
	})
	admin(t, p.address(first, "postgres"), "create database "+p.database)
	p.run("pg_basebackup", "-h", "127.0.0.1", "-p", first.port, "-U", "rogito", "-D", second.data, "-R", "-X", "stream", "-c", "fast", "-N")
	p.start(second)
	admin(t, p.address(first, "postgres"), "alter system set synchronous_standby_names = '*'")
	admin(t, p.address(first, "postgres"), "select pg_reload_conf()")
	return p
}

// URL names both: whoever connects finds the one that takes writes.
func (p *Pair) URL() string {
	return fmt.Sprintf("postgres://rogito@127.0.0.1:%s,127.0.0.1:%s/%s?sslmode=disable", p.members[0].port, p.members[1].port, p.database)
}

func (p *Pair) address(m *member, database string) string {
	return "postgres://rogito@127.0.0.1:" + m.port + "/" + database + "?sslmode=disable"
}

// run runs a program of PostgreSQL's.
func (p *Pair) run(program string, args ...string) {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.bin, program), args...)
	p.user(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(p.t, "%s: %v: %s", program, err, out)
	}
}

func (p *Pair) start(m *member) {
	p.t.Helper()
	cmd := exec.Command(filepath.Join(p.bin, "postgres"), "-D", m.data, "-k", "", "-p", m.port, "-c", "listen_addresses=127.0.0.1",
		"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200", "-c", "shared_buffers=64MB", "-c", "wal_keep_size=1GB")
	p.user(cmd)
	log, err := os.OpenFile(m.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer log.Close()
	cmd.Stderr, m.gone = log, make(chan struct{})
	if err := startTied(cmd, m.gone); err != nil {
		p.t.Fatalf("start PostgreSQL: %v", err)
	}
	m.process = cmd.Process
	for range await.Within(await.Limit) {
		var conn *pgx.Conn
		if conn, err = pgx.Connect(context.Background(), p.address(m, "postgres")); err == nil {
			_ = conn.Close(context.Background())
			return
		}
	}
	p.t.Fatalf("PostgreSQL does not answer: %v: %s", err, p.Log())
}

// end stops a server: SIGINT is fast, SIGQUIT immediate, as a crash.
func (p *Pair) end(m *member, how os.Signal) {
	p.t.Helper()
	if err := m.process.Signal(how); err != nil {
		p.t.Fatal(err)
	}
	select {
	case <-m.gone:
	case <-time.After(time.Minute):
		p.t.Fatalf("PostgreSQL does not end: %s", p.Log())
	}
	m.process = nil
}

// Log is what both have said.
func (p *Pair) Log() string {
	var all strings.Builder
	for _, m := range p.members {
		b, err := os.ReadFile(m.log)
		if err != nil {
			p.t.Logf("read the log of PostgreSQL: %v", err)
		}
		all.Write(b)
	}
	return all.String()
}

// Stop ends the primary, and Start starts it again.
func (p *Pair) Stop(how os.Signal) { p.t.Helper(); p.end(p.members[0], how) }

// Start is what ends a Stop.
func (p *Pair) Start() { p.t.Helper(); p.start(p.members[0]) }

// Promote ends the primary as a crash would, and has the standby take its place.
func (p *Pair) Promote(how os.Signal) {
	p.t.Helper()
	p.end(p.members[0], how)
	p.members[0], p.members[1] = p.members[1], p.members[0]
	first := p.members[0]
	p.run("pg_ctl", "promote", "-D", first.data, "-w")
	admin(p.t, p.address(first, "postgres"), "alter system set synchronous_standby_names = ''")
	admin(p.t, p.address(first, "postgres"), "select pg_reload_conf()")
}
