package blackbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// weather is how hard a storm is.
type weather struct {
	later, inCall int           // signatures asked for, to be made later and in the call
	burst         int           // so many are asked for at once
	every         time.Duration // how often
	patience      time.Duration // of a client, who then asks another server
	lease         string        // of the servers' work
	workers       string        // that each of them has
	rest          time.Duration // between two faults

	killed, away, slow, latency, full, stopped time.Duration // how long the faults last
	down                                       time.Duration // PostgreSQL, at a restart
	settled                                    time.Duration // in which everything ends that is asked for, from the last fault on
	spare                                      int           // uses of a key beyond one in a hundred: of what was under way where it was killed or stopped
}

// breeze is what every run of the tests has, gale is make storm.
var (
	breeze = weather{
		later: 120, inCall: 40, burst: 10, every: 400 * time.Millisecond, patience: 10 * time.Second, lease: "3s", workers: "4", rest: 200 * time.Millisecond,
		killed: 300 * time.Millisecond, away: 1500 * time.Millisecond, slow: 2 * time.Second, latency: 300 * time.Millisecond, full: time.Second, stopped: 5 * time.Second,
		settled: 3 * time.Minute, spare: 40,
	}
	gale = weather{
		later: 3000, inCall: 1000, burst: 20, every: 1700 * time.Millisecond, patience: 20 * time.Second, lease: "15s", workers: "16", rest: 12 * time.Second,
		killed: 15 * time.Second, away: time.Minute, slow: time.Minute, latency: 3 * time.Second, full: 20 * time.Second, stopped: 40 * time.Second,
		down: 5 * time.Second, settled: time.Minute,
	}
)

// TestStorm is three servers on a PostgreSQL with its standby and on a bucket, while all of
// them fail in turn. Whatever was acknowledged ends once: DONE and paid for, or in ERROR with
// a reason and given back. Keys are used little more than once for each.
func TestStorm(t *testing.T) {
	w := breeze
	if os.Getenv("ROGITO_TEST_STORM") != "" {
		w = gale
	} else {
		await.All(t)
	}
	s := newStorm(t, w)
	loading := s.load()
	s.faults()
	calm := time.Now()
	loading()
	s.settle()
	s.account(calm)
}

// storm is the servers, what they stand on, and what their clients were told.
type storm struct {
	*cluster
	weather
	t        *testing.T
	pair     *storetest.Pair
	bucket   atomic.Int64 // what becomes of requests to it: 0 nothing, -1 they break, else they take so long
	small    string       // the disk of the third; empty: there is none
	told     *listener
	credit   float64
	mu       sync.Mutex
	ids      map[string]string // key → record
	asked    map[string]time.Time
	refusals map[int]int // by status; 0: without an answer
}

func newStorm(t *testing.T, w weather) *storm {
	t.Helper()
	s := &storm{weather: w, t: t, pair: storetest.NewPair(t), ids: map[string]string{}, asked: map[string]time.Time{}, refusals: map[int]int{}, told: &listener{t: t, got: map[string]map[string]map[string]int{}}}
	cfg := storage{Bucket: storetest.S3(t).Behind(t, s.front)}
	cfg.Database = s.pair.URL()
	var nodes []*node
	for i := range 3 {
		cfg.Data = t.TempDir()
		if i == 2 {
			if s.small = s.mount(cfg.Data); s.small == "" {
				t.Log("NOT TESTED: a full disk, for which there is no file system of our own")
			}
		}
		n := newNode(t, cfg)
		n.env = append(n.env, "ROGITO_JOBS_LEASE="+w.lease, "ROGITO_JOBS_WORKERS="+w.workers, "ROGITO_LIMITS_RESERVE=0", "ROGITO_DATABASE_CONNECTIONS=12")
		nodes = append(nodes, n)
	}
	s.cluster = newCluster(t, nodes...)
	s.receiver.Config.Handler = s.told
	s.credit = s.cluster.credit(nodes[0])
	return s
}

// mount makes a file system in memory that can be filled, where this process may.
func (s *storm) mount(dir string) string {
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", dir).CombinedOutput(); err != nil {
		s.t.Logf("mount: %v %s", err, out)
		return ""
	}
	s.t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	return dir
}

// front is the bucket, slow or away.
func (s *storm) front(bucket http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch how := s.bucket.Load(); {
		case how < 0:
			panic(http.ErrAbortHandler)
		case how > 0:
			select {
			case <-time.After(time.Duration(how)):
			case <-s.t.Context().Done():
			}
		}
		bucket.ServeHTTP(w, r)
	})
}

// load asks for all signatures, and returns what waits until each is acknowledged.
func (s *storm) load() (wait func()) {
	var all sync.WaitGroup
	all.Go(func() {
		tick := time.NewTicker(s.every)
		defer tick.Stop()
		for i := range s.later + s.inCall {
			if i%s.burst == 0 {
				<-tick.C
			}
			all.Go(func() { s.ask(i) })
		}
	})
	return all.Wait
}

// ask asks one server after the other under one key, until one of them acknowledges.
func (s *storm) ask(i int) {
	c, key := s.Certificates["automatic"], fmt.Sprintf("storm-%d", i)
	later := i%((s.later+s.inCall)/s.inCall) != 0
	body := map[string]any{
		"inputDocuments": document(1000 + 4*(i%50)), "certificateUsername": c.Username, "certificatePassword": c.Password, "title": key,
		"options":  map[string]any{"asyncSignature": later, "asyncDocumentsValidation": later && i%2 == 0},
		"callback": map[string]any{"url": s.receiver.URL, "method": "JSON"},
	}
	s.mu.Lock()
	s.asked[key] = time.Now()
	s.mu.Unlock()
	for turn := i; s.t.Context().Err() == nil; turn++ {
		status, id := s.once(s.nodes[turn%len(s.nodes)], body, key)
		s.mu.Lock()
		if status == http.StatusOK {
			s.ids[key] = id
		} else {
			s.refusals[status]++
		}
		s.mu.Unlock()
		switch status {
		case http.StatusOK:
			return
		case 0, http.StatusServiceUnavailable, http.StatusConflict:
			time.Sleep(300 * time.Millisecond)
		default:
			return // it was reported
		}
	}
}

func (s *storm) once(n *node, body any, key string) (status int, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience)
	defer cancel()
	a, err := callIn(during(ctx, s.t), s.client, "POST", n.url()+"/EU-QES_automatic", body, "Authorization", bearer(s.token), "Idempotency-Key", key)
	if err != nil {
		return 0, ""
	}
	var r signature
	switch a.Status {
	case http.StatusOK:
		a.into(s.t, &r)
	case http.StatusServiceUnavailable, http.StatusConflict:
	default:
		s.t.Errorf("%s: %d %s", key, a.Status, tail(string(a.Body)))
	}
	return a.Status, r.ID
}

// faults come one after the other.
func (s *storm) faults() {
	first, second, third := s.nodes[0], s.nodes[1], s.nodes[2]
	stop := func(how os.Signal) func() { return func() { s.pair.Stop(how) } }
	front := func(how int64) func() { return func() { s.bucket.Store(how) } }
	for _, f := range []struct {
		what  string
		begin func()
		lasts time.Duration
		end   func()
	}{
		{"a server is killed", first.kill, s.killed, first.start},
		{"PostgreSQL restarts", stop(syscall.SIGINT), s.down, s.pair.Start},
		{"PostgreSQL crashes", stop(syscall.SIGQUIT), s.down, s.pair.Start},
		{"the bucket is away", front(-1), s.away, front(0)},
		{"the bucket is slow", front(int64(s.latency)), s.slow, front(0)},
		{"a disk is full", func() { s.fill(third) }, s.full, func() { s.empty(third) }},
		{"a server is stopped for longer than its lease lasts", func() { s.signal(second, syscall.SIGSTOP) }, s.stopped, func() { s.signal(second, syscall.SIGCONT) }},
		{"the standby takes over", func() { s.pair.Promote(syscall.SIGQUIT) }, 0, func() {}},
	} {
		time.Sleep(s.rest)
		begun := time.Now()
		f.begin()
		time.Sleep(f.lasts)
		f.end()
		s.t.Logf("%s: %v", f.what, time.Since(begun).Round(time.Millisecond))
	}
}

func (s *storm) ballast() string { return filepath.Join(s.small, "ballast") }

// fill takes all room from a server, which must say so.
func (s *storm) fill(n *node) {
	if s.small == "" {
		return
	}
	f, err := os.Create(s.ballast())
	if err != nil {
		s.t.Fatal(err)
	}
	for block := make([]byte, 64<<10); err == nil; {
		_, err = f.Write(block)
	}
	_ = f.Close()
	s.ready(n, http.StatusServiceUnavailable)
}

// empty gives it back.
func (s *storm) empty(n *node) {
	if s.small == "" {
		return
	}
	if err := os.Remove(s.ballast()); err != nil {
		s.t.Fatal(err)
	}
	s.ready(n, http.StatusOK)
}

func (s *storm) signal(n *node, what os.Signal) {
	s.t.Helper()
	if err := n.cmd.Process.Signal(what); err != nil {
		s.t.Fatal(err)
	}
}

// ready waits until a server says that it is, or that it is not.
func (s *storm) ready(n *node, want int) {
	s.t.Helper()
	var last error
	for range await.Within(time.Minute) {
		resp, err := http.Get(n.url() + "/readyz")
		if last = err; err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == want {
				return
			}
		}
	}
	s.t.Fatalf("%s is not %d in a minute: %v", n.addr, want, last)
}

// database is a connection to the server that writes now.
func (s *storm) database() *pgx.Conn {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.pair.URL()+"&target_session_attrs=read-write")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func figure(t *testing.T, db *pgx.Conn, query string) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// settle waits until every record has ended and every end was told.
func (s *storm) settle() {
	s.t.Helper()
	db := s.database()
	for _, n := range s.nodes {
		s.ready(n, http.StatusOK)
	}
	var waiting, untold int
	for range await.Within(s.settled) {
		waiting = figure(s.t, db, `select count(*) from signatures where state in ('WAIT_VALIDATION', 'WAIT_SIGN')`)
		untold = s.told.missing(s.ids)
		if waiting == 0 && untold == 0 {
			return
		}
	}
	s.t.Fatalf("%v after the last was acknowledged %d records wait, and %d ends were not told", s.settled, waiting, untold)
}

// bare is 119 without a reason.
var bare = regexp.MustCompile(`^internal failure; request \S+$`)

// account looks at what came of all that was acknowledged.
func (s *storm) account(calm time.Time) {
	s.t.Helper()
	db := s.database()
	records, keys := figure(s.t, db, `select count(*) from signatures`), s.later+s.inCall
	if records != keys || len(s.ids) != keys {
		s.t.Errorf("%d keys, %d acknowledged, %d records", keys, len(s.ids), records)
	}
	if n := figure(s.t, db, `select count(distinct title) from signatures`); n != keys {
		s.t.Errorf("%d of %d keys have a record", n, keys)
	}
	rows, err := db.Query(s.t.Context(), `select id, error_number, error_message from signatures where state = 'ERROR'`)
	if err != nil {
		s.t.Fatal(err)
	}
	failed := 0
	for rows.Next() {
		var id, text string
		var code int
		if err := rows.Scan(&id, &code, &text); err != nil {
			s.t.Fatal(err)
		}
		if failed++; text == "" || bare.MatchString(text) {
			s.t.Errorf("%s ended in %d without a reason: %q", id, code, text)
		}
		s.t.Logf("%s ended in %d: %s%s", id, code, text, s.said(id))
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	done := figure(s.t, db, `select count(*) from signatures where state = 'DONE'`)
	if done+failed != records {
		s.t.Errorf("%d DONE and %d in ERROR of %d", done, failed, records)
	}
	if n := figure(s.t, db, `select count(*) from (select signature_id from signature_files where role = 'signed' group by 1 having count(*) > 1) x`); n != 0 {
		s.t.Errorf("%d records have two signed documents", n)
	}
	s.paid(s.nodes[0], s.credit, done)
	uses := figure(s.t, db, `select count(*) from signing_intents`)
	if most := records + records/100 + s.spare; uses > most {
		s.t.Errorf("the key was used %d times for %d records", uses, records)
	}
	for _, outcome := range []string{"SIGNED", "FAILED", "UNKNOWN", "USED", ""} {
		s.t.Logf("uses that ended %q: %d", outcome, figure(s.t, db, `select count(*) from signing_intents where outcome = '`+outcome+`'`))
	}
	s.nodes[1].run("audit", "verify")
	doctor := exec.Command(s.nodes[0].bin, append([]string{"doctor", "--quick"}, s.nodes[0].args...)...)
	doctor.Env = s.nodes[0].env
	if out, err := doctor.CombinedOutput(); err != nil {
		s.t.Errorf("doctor: %v: %s", err, out)
	}
	s.quiet()
	longest, after := s.waits(db, calm)
	if after > s.settled {
		s.t.Errorf("somebody waited %v after the last fault", after)
	}
	size := func(table string) int {
		return figure(s.t, db, `select pg_total_relation_size('`+table+`')`) / max(records, 1)
	}
	s.t.Logf("bytes for a record: callbacks %d, idempotency %d, signatures %d", size("callbacks"), size("idempotency"), size("signatures"))
	s.t.Logf("%d acknowledged, %d DONE, %d in ERROR, key used %d times, refusals %v, longest wait %v, after the last fault %v, %d callbacks of which %d repeated",
		len(s.ids), done, failed, uses, s.refusals, longest, after, s.told.all.Load(), s.told.repeated())
}

// said is what the servers' logs have of a record that is more than a call.
func (s *storm) said(record string) (lines string) {
	for _, n := range s.nodes {
		for line := range strings.Lines(n.log.String()) {
			if strings.Contains(line, record) && !strings.Contains(line, `"level":"INFO"`) {
				lines += "\n" + strings.TrimSpace(line)
			}
		}
	}
	return lines
}

// waits are the longest time from asking to the end of a record, in all, and without what passed
// before the last fault was over.
func (s *storm) waits(db *pgx.Conn, calm time.Time) (longest, after time.Duration) {
	s.t.Helper()
	rows, err := db.Query(s.t.Context(), `select title, updated_at from signatures`)
	if err != nil {
		s.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		var ended int64
		if err := rows.Scan(&key, &ended); err != nil {
			s.t.Fatal(err)
		}
		asked := s.asked[key]
		longest = max(longest, time.UnixMilli(ended).Sub(asked))
		if asked.Before(calm) {
			asked = calm
		}
		after = max(after, time.UnixMilli(ended).Sub(asked))
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return longest.Round(time.Millisecond), after.Round(time.Millisecond)
}

// ours are the errors that PostgreSQL's log has of a statement that was ended from outside, and of
// a server that was taken for dead and tells of a record that another one has ended.
var ours = regexp.MustCompile(`ERROR:  (canceling|cannot execute|deadlock|could not serialize|terminating|.*"signature_files_pkey")`)

// quiet checks that the log of PostgreSQL has no errors that were made on purpose: they
// would alert its operator.
func (s *storm) quiet() {
	s.t.Helper()
	said := map[string]int{}
	for line := range strings.Lines(s.pair.Log()) {
		if i := strings.Index(line, "ERROR:  "); i >= 0 && !ours.MatchString(line) {
			said[strings.TrimSpace(line[i:])]++
		}
	}
	if len(said) > 0 {
		s.t.Errorf("PostgreSQL's log has %v", said)
	}
}

// listener takes callbacks, and knows what was told of whom under which id.
type listener struct {
	t   *testing.T
	all atomic.Int64
	mu  sync.Mutex
	got map[string]map[string]map[string]int // record → state → webhook-id → how often
}

func (l *listener) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body struct{ Data signature }
	b, _ := io.ReadAll(r.Body)
	if json.Unmarshal(b, &body) != nil {
		return // a server was killed in the midst of it
	}
	l.all.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	states := l.got[body.Data.ID]
	if states == nil {
		states = map[string]map[string]int{}
		l.got[body.Data.ID] = states
	}
	if states[body.Data.State] == nil {
		states[body.Data.State] = map[string]int{}
	}
	states[body.Data.State][r.Header.Get("webhook-id")]++
	if len(states[body.Data.State]) > 1 {
		l.t.Errorf("%s: %s was told under %d ids", body.Data.ID, body.Data.State, len(states[body.Data.State]))
	}
}

// missing is how many ends were not told.
func (l *listener) missing(ids map[string]string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		states := l.got[id]
		if ends := len(states["DONE"]) + len(states["ERROR"]); ends != 1 {
			n++
		}
	}
	return n
}

func (l *listener) repeated() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, states := range l.got {
		for _, times := range states {
			for _, k := range times {
				n += k - 1
			}
		}
	}
	return n
}
