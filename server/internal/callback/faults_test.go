package callback

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// sender is a sender that may reach the servers of a test.
func sender(t *testing.T, db *store.DB, m *master.Key, servers ...*httptest.Server) *Sender {
	t.Helper()
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, strings.TrimPrefix(s.URL, "http://"))
	}
	g, err := fetch.New(fetch.Config{AllowPrivate: hosts})
	if err != nil {
		t.Fatal(err)
	}
	s := New(db, m, g)
	s.Record = itsName
	return s
}

// itsName stands for a record.
func itsName(_ context.Context, d *Delivery) (any, error) { return d.Record, nil }

func (s *Sender) queueOne(t *testing.T, account, record, url string, retry int) {
	t.Helper()
	ctx := context.Background()
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		return s.Queue(ctx, tx, Message{Account: account, Record: record, Target: &Target{URL: url, Method: "JSON", Field: "data", Retry: retry}})
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *Sender) newest(t *testing.T, account string) *Delivery {
	t.Helper()
	list, err := s.List(context.Background(), account, "", 0, 1)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	return list[0]
}

// A crowd of deliveries to receivers that answer a byte a second does not delay
// those to another.
func TestSlowReceiversDelayNobodyElse(t *testing.T) {
	gone := make(chan struct{})
	var crowd atomic.Int32
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		crowd.Add(1)
		defer crowd.Add(-1)
		for {
			select {
			case <-gone:
				return
			case <-r.Context().Done():
				return
			case <-time.After(time.Second):
				_, _ = w.Write([]byte("."))
				_ = http.NewResponseController(w).Flush()
			}
		}
	}))
	defer slow.Close()
	defer close(gone)
	var mu sync.Mutex
	told := map[string]time.Time{}
	good := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var b struct{ Data string }
		_ = json.NewDecoder(r.Body).Decode(&b)
		mu.Lock()
		told[b.Data] = time.Now()
		mu.Unlock()
	}))
	defer good.Close()
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		s := sender(t, db, m, slow, good)
		q := job.New(db, job.Config{})
		s.Jobs = q
		q.Add(s.Source())
		for i := range 150 {
			s.queueOne(t, "a", fmt.Sprintf("slow%d", i), slow.URL, 0)
		}
		if err := q.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
			defer cancel()
			_ = q.Stop(ctx) // what is slow is cut off
		}()
		await.Until(t, "the crowd has all that it may have", func() bool { return crowd.Load() == perHost })
		const others = 30
		var begun [others]time.Time
		pace := time.NewTicker(20 * time.Millisecond)
		defer pace.Stop()
		for i := range begun {
			<-pace.C
			begun[i] = time.Now()
			s.queueOne(t, "b", fmt.Sprintf("%s-%d", t.Name(), i), good.URL, 0)
		}
		var waits []time.Duration
		for range await.Within(await.Limit) {
			if len(waits) >= others {
				break
			}
			waits = waits[:0]
			mu.Lock()
			for i, at := range begun {
				if when, ok := told[fmt.Sprintf("%s-%d", t.Name(), i)]; ok {
					waits = append(waits, when.Sub(at))
				}
			}
			mu.Unlock()
		}
		if len(waits) < others {
			t.Fatalf("%d of %d were told", len(waits), others)
		}
		slices.Sort(waits)
		t.Logf("told after %v (median), %v (p99)", waits[len(waits)/2], waits[len(waits)-1])
		limit := 5 * time.Second // without the crowd's limits it is half a minute
		if os.Getenv("ROGITO_TEST_SOAK") != "" {
			limit = 2 * time.Second // the promise, on a machine that does nothing else
		}
		if p := waits[len(waits)-1]; p > limit {
			t.Errorf("p99 of the others is %v", p)
		}
	})
}

// An account with many slow receivers does not have all workers either, and
// those who stand aside do so for longer when there are many.
func TestCrowd(t *testing.T) {
	var c limiter
	var leave []func()
	for i := range perAccount {
		l, aside := c.enter(&Delivery{Account: "a", URL: fmt.Sprintf("http://h%d.example/", i)})
		if aside > 0 {
			t.Fatal(aside)
		}
		leave = append(leave, l)
	}
	if _, aside := c.enter(&Delivery{Account: "a", URL: "http://another.example/"}); aside == 0 {
		t.Error("an account fills the queue")
	}
	if l, aside := c.enter(&Delivery{Account: "b", URL: "http://h1.example/"}); aside > 0 {
		t.Error("another account waits")
	} else {
		l()
	}
	first, last := c.full("account:a", perAccount), time.Duration(0)
	for range 100_000 {
		last = c.full("account:a", perAccount)
	}
	if first < time.Second || first > 2*time.Second || last != time.Minute {
		t.Errorf("aside for %v, then %v", first, last)
	}
	for _, l := range leave {
		l()
	}
	if len(c.waiting) != 0 {
		t.Errorf("%v are left", c.waiting)
	}
}

// A receiver that never ends its answer is cut off, and that is a failure; the
// limit is half a minute.
func TestEndlessAnswerIsCut(t *testing.T) {
	if attemptLimit != 30*time.Second {
		t.Errorf("an attempt may take %v", attemptLimit)
	}
	var sent atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/silent":
			<-r.Context().Done()
		case "/flood": // ten gigabytes, if anybody took them
			for block := make([]byte, 1<<20); sent.Load() < 10<<30; {
				n, err := w.Write(block)
				sent.Add(int64(n))
				if err != nil {
					return
				}
			}
		}
	}))
	defer srv.Close()
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		s := sender(t, db, m, srv)
		s.client.Timeout = 700 * time.Millisecond // the same, sooner
		for path, problem := range map[string]string{"/silent": "the receiver took too long", "/flood": ""} {
			sent.Store(0)
			s.queueOne(t, "a", "r"+path, srv.URL+path, 1)
			d := s.newest(t, "a")
			begin := time.Now()
			s.try(t, d.ID)
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("%s took %v", path, took)
			}
			if d = s.newest(t, "a"); d.Problem != problem || d.Attempts != 1 {
				t.Errorf("%s: %+v", path, d)
			}
		}
		s.client.CloseIdleConnections()
		if n := sent.Load(); n > 32<<20 { // 64 KiB are read; the rest lies in the system's buffers
			t.Errorf("%d bytes of an endless answer were taken", n)
		}
	})
}

// 429 and 503 are retried no sooner than the receiver asks, within a day; 410 and
// a record that is erased end a delivery at once. A delivery is one row, however
// often it is tried.
func TestWhatReceiversAskFor(t *testing.T) {
	var status int
	var after string
	var hits atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
	}))
	defer srv.Close()
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		s := sender(t, db, m, srv)
		ctx := context.Background()
		for i, c := range []struct {
			status   int
			after    string
			min, max time.Duration // of the pause; 0: none follows
		}{
			{429, "120", 119 * time.Second, 121 * time.Second},
			{503, "3600", 3599 * time.Second, 3601 * time.Second},
			{503, "999999", 24*time.Hour - time.Second, 24*time.Hour + time.Second},
			{503, "", 4 * time.Second, 6 * time.Second},
			{500, "3600", 4 * time.Second, 6 * time.Second}, // not asked to wait by a status that asks
			{410, "120", 0, 0},
			{200, "", 0, 0},
		} {
			status, after = c.status, c.after
			s.queueOne(t, "a", fmt.Sprint("r", i), srv.URL, 3)
			d := s.newest(t, "a")
			s.try(t, d.ID)
			pause := nextIn(t, db, d.ID)
			if pause < c.min || pause > c.max {
				t.Errorf("%d with Retry-After %q: next in %v, want %v to %v", c.status, c.after, pause, c.min, c.max)
			}
			if d = s.newest(t, "a"); d.Active != (c.max > 0) {
				t.Errorf("%d: active %v", c.status, d.Active)
			}
		}

		status, after = 500, ""
		s.queueOne(t, "a", "erased", srv.URL, 5)
		d := s.newest(t, "a")
		for range 3 {
			s.try(t, d.ID)
		}
		var rows int
		if err := db.Read().QueryRow(ctx, `select count(*) from callbacks where record_id = 'erased'`).Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d rows after three attempts, %v", rows, err)
		}
		if err := db.Write(ctx, func(tx *store.Tx) error { return s.EraseRecord(ctx, tx, "erased") }); err != nil {
			t.Fatal(err)
		}
		before := hits.Load()
		s.Record = func(context.Context, *Delivery) (any, error) { return nil, fault.New(fault.NotFound, "erased") }
		if _, err := s.attempt(ctx, job.Claim{Table: table, ID: d.ID, Lease: "test", Row: d}); err != nil || hits.Load() != before {
			t.Errorf("an erased record is told: %v", err)
		}
	})
}

// nextIn is how far off the next attempt of a delivery is; 0 when there is none.
func nextIn(t *testing.T, db *store.DB, id string) time.Duration {
	t.Helper()
	var active, until int64
	if err := db.Read().QueryRow(context.Background(), `select active, lease_until from callbacks where id = $1`, id).Scan(&active, &until); err != nil {
		t.Fatal(err)
	}
	if active == 0 {
		return 0
	}
	return time.Until(store.Time(until))
}

// try makes an attempt, as a worker that has claimed the delivery does, if it is to be
// made.
func (s *Sender) try(t *testing.T, id string) {
	t.Helper()
	ctx := context.Background()
	storetest.Exec(t, s.db, `update callbacks set lease_until = 0 where id = $1`, id)
	claims, err := job.New(s.db, job.Config{}).Claim(ctx, s.Source(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		if err := s.Source().Work(ctx, c); err != nil {
			t.Fatal(err)
		}
	}
}

// A receiver that is not there is a failure that says so.
func TestNobodyListens(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + ln.Addr().String()
	ln.Close()
	db, m := storetest.Open(t, store.Config{Data: t.TempDir()})
	g, err := fetch.New(fetch.Config{AllowPrivate: []string{strings.TrimPrefix(url, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	s := New(db, m, g)
	s.Record = itsName
	s.queueOne(t, "a", "r", url, 1)
	s.try(t, s.newest(t, "a").ID)
	if d := s.newest(t, "a"); d.Problem != "the receiver could not be reached" || !d.Active || d.Status != 0 {
		t.Errorf("%+v", d)
	}
}
