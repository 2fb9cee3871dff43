package blackbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"rogito.dev/rogito/server/internal/store/storetest"
)

// servers are processes on one store that share the cores of this machine.
type servers struct {
	t            *testing.T
	nodes        []*node
	db           *pgx.Conn // nil on SQLite
	token        string
	Certificates map[string]struct{ Username, Password string }
	client       *http.Client
	share        int // they have one of so many parts of the clients; 0: all
}

// startServers gives each of n processes its share of the cores: all of them, one,
// or half of one.
func startServers(t *testing.T, cfg storage, n int, env ...string) *servers {
	t.Helper()
	return startSome(t, cfg, 0, n, n, env...)
}

// startSome starts those from to below of n processes, on one store.
func startSome(t *testing.T, cfg storage, from, below, n int, env ...string) *servers {
	t.Helper()
	s := &servers{t: t, share: n / (below - from)}
	cores := coresOf(t)
	for i := from; i < below; i++ {
		cfg.Data = t.TempDir()
		one := newNode(t, cfg)
		one.env = append(one.env, env...)
		if i > from {
			copyFile(t, filepath.Join(s.nodes[0].args[1], "master.key"), filepath.Join(cfg.Data, "master.key"))
		}
		mine := cores
		if n > 1 {
			mine = cores[i%len(cores) : i%len(cores)+1]
		}
		pinned(t, mine, one.start)
		s.nodes = append(s.nodes, one)
	}
	s.open(cfg.Database)
	return s
}

// open gets what a client of the servers, and who counts for them, has to know.
func (s *servers) open(database string) {
	s.t.Helper()
	data := s.nodes[0].args[1]
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}
	s.token = sandbox(s.t, data).Token
	text, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err == nil && database != "" {
		s.db, err = pgx.Connect(s.t.Context(), database)
	}
	if err == nil && database != "" {
		_, err = s.db.Exec(s.t.Context(), `create extension if not exists pg_stat_statements`)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if s.db != nil {
			_ = s.db.Close(context.Background())
		}
	})
}

// coresOf are the cores that this process may run on.
func coresOf(t *testing.T) (all []int) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	for i := 0; len(all) < set.Count(); i++ {
		if set.IsSet(i) {
			all = append(all, i)
		}
	}
	return all
}

// pinned has what start starts run on these cores: a process begins where the
// thread was that started it.
func pinned(t *testing.T, cores []int, start func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	err := unix.SchedGetaffinity(0, &before)
	if err == nil {
		err = unix.SchedSetaffinity(0, &set)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }() // it was so before
	start()
}

// request is the body of a request to sign.
func (s *servers) request(kind string, docs any, options map[string]any) []byte {
	c := s.Certificates[kind]
	body, err := json.Marshal(map[string]any{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password, "options": options})
	if err != nil {
		s.t.Fatal(err)
	}
	return body
}

// send sends a request so many times by their clients, each to a server of its own.
func (s *servers) send(kind string, body []byte, want string, times int) {
	s.t.Helper()
	s.sendEach(kind, [][]byte{body}, want, times)
}

// sendEach is send for several requests, one after the other.
func (s *servers) sendEach(kind string, bodies [][]byte, want string, times int) {
	s.t.Helper()
	var left atomic.Int64
	left.Store(int64(times))
	var all sync.WaitGroup
	for i := range 32 / max(s.share, 1) {
		all.Go(func() {
			for n := left.Add(-1); n >= 0; n = left.Add(-1) {
				if _, err := s.post(s.nodes[i%len(s.nodes)], kind, bodies[n%int64(len(bodies))], want); err != nil {
					s.t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// post asks one of them for a signature, which must be in a state then.
func (s *servers) post(n *node, kind string, body []byte, state string) (id string, err error) {
	a, err := call(s.client, "POST", n.url()+"/EU-QES_"+kind, json.RawMessage(body), "Authorization", bearer(s.token))
	if err != nil {
		return "", err
	}
	var r signature
	if err := json.Unmarshal(a.Data, &r); err != nil || r.State != state {
		return "", fmt.Errorf("%d: %s", a.Status, tail(string(a.Body)))
	}
	return r.ID, nil
}

// effort is what was spent on a number of signatures.
type effort struct {
	signatures, statements  int64
	clock, server, database time.Duration
}

// spent is the effort so far. PostgreSQL's is that of the processes that serve this
// database; what writes for all of them in the background is not in it.
func (s *servers) spent() (e effort) {
	s.t.Helper()
	e.clock = time.Duration(time.Now().UnixNano())
	for _, n := range s.nodes {
		e.server += processorOf(s.t, n.cmd.Process.Pid)
	}
	if s.db == nil {
		return e
	}
	rows, _ := s.db.Query(s.t.Context(), `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err == nil {
		err = s.db.QueryRow(s.t.Context(), `select coalesce(sum(calls), 0) from pg_stat_statements where dbid = (select oid from pg_database where datname = current_database())`).Scan(&e.statements)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for _, pid := range pids {
		e.database += processorOf(s.t, pid)
	}
	return e
}

func (e *effort) add(signatures int, before, after effort) {
	e.signatures += int64(signatures)
	e.statements += after.statements - before.statements
	e.clock += after.clock - before.clock
	e.server += after.server - before.server
	e.database += after.database - before.database
}

// each is milliseconds of one signature.
func (e effort) each(d time.Duration) float64 { return d.Seconds() * 1000 / float64(e.signatures) }

// number is what a variable of the environment says, or else what is usual.
func number(variable string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return usual
}

// What a signature costs on one, two and four servers that share the cores, a
// PostgreSQL and a bucket; and on four that share nothing but the cores, each with a
// database of its own, which is what running more processes costs whatever they do
// together. They take turns, so that what disturbs one disturbs all.
// ROGITO_BENCH_SIGNATURES is how many are made in each of the eight cases.
func TestSeveralServers(t *testing.T) {
	if os.Getenv("ROGITO_BENCH") == "" {
		t.Skip("SKIPPED: set ROGITO_BENCH=1 to measure")
	}
	times := number("ROGITO_BENCH_SIGNATURES", 1600)
	bucket, doc := storetest.S3(t), document(100_000)
	store := func() storage { return storage{Bucket: bucket, Database: storetest.Postgres(t)} }
	type deployment struct {
		name string
		on   []*servers // each a store
	}
	all := make([]deployment, 0, 4)
	for _, n := range []int{1, 2, 4} {
		all = append(all, deployment{strconv.Itoa(n), []*servers{startServers(t, store(), n)}})
	}
	apart := deployment{name: "4, each with a database of its own"}
	for i := range 4 {
		apart.on = append(apart.on, startSome(t, store(), i, i+1, 4))
	}
	all = append(all, apart)
	send := func(d deployment, kind string, times int) {
		var sent sync.WaitGroup
		for _, s := range d.on {
			sent.Go(func() { s.send(kind, s.request(kind, doc, nil), "DONE", times/len(d.on)) })
		}
		sent.Wait()
	}
	spent := func(d deployment) (sum effort) {
		for _, s := range d.on {
			sum.add(0, effort{}, s.spent())
		}
		sum.clock /= time.Duration(len(d.on))
		return sum
	}
	fmt.Println("servers: | key | servers | a second, by the clock | server, ms of processor | of one | PostgreSQL, ms of processor | statements |")
	fmt.Println("servers: |---|---|---|---|---|---|---|")
	for _, key := range []struct{ name, kind string }{{"P-256", "eseal"}, {"RSA-2048", "automatic"}} {
		sums := make([]effort, len(all))
		const turns = 8
		for range turns {
			for i, d := range all {
				send(d, key.kind, 64) // the key is open everywhere
				before := spent(d)
				send(d, key.kind, times/turns)
				sums[i].add(times/turns, before, spent(d))
			}
		}
		for i, e := range sums {
			fmt.Printf("servers: | %s | %s | %.0f | %.2f | %.2f | %.2f | %.1f |\n", key.name, all[i].name, float64(e.signatures)/e.clock.Seconds(),
				e.each(e.server), e.each(e.server)/sums[0].each(sums[0].server), e.each(e.database), float64(e.statements)/float64(e.signatures))
		}
	}
}
