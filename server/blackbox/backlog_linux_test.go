package blackbox

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// another is an account of the same servers, with a certificate of its own.
func (s *servers) another() *servers {
	s.t.Helper()
	w := &world{t: s.t, nodes: s.nodes}
	c := w.account(s.t)
	s.nodes[0].run("wallet", "credit", c.Email, "1000")
	w.importPair(s.t, c.Email, "another", "another secret")
	other := *s
	other.token = c.Token
	other.Certificates = map[string]struct{ Username, Password string }{"automatic": {"another", "another secret"}}
	return &other
}

// waits are how long signatures take one after the other, the shortest first: from
// the request until it is seen to be DONE.
func (s *servers) waits(options map[string]any, times int) (all []time.Duration) {
	s.t.Helper()
	body := s.request("automatic", document(1000), options)
	state := "DONE"
	if len(options) > 0 {
		state = "WAIT_SIGN"
	}
	for range times {
		begun := time.Now()
		id, err := s.post(s.nodes[0], "automatic", body, state)
		if err != nil {
			s.t.Fatal(err)
		}
		r := signature{State: state}
		await.Until(s.t, "it is signed", func() bool {
			if r.State == "DONE" {
				return true
			}
			a, err := call(s.client, "GET", s.nodes[0].url()+"/signatures/"+id, nil, "Authorization", bearer(s.token))
			if err == nil {
				err = json.Unmarshal(a.Data, &r)
			}
			if err != nil || r.State == "ERROR" {
				s.t.Fatalf("%+v, %v", r, err)
			}
			return r.State == "DONE"
		})
		all = append(all, time.Since(begun))
	}
	slices.Sort(all)
	return all
}

// waiting is how many records of the account wait to be signed, up to 100.
func (s *servers) waiting() int {
	s.t.Helper()
	var page []signature
	a, err := call(s.client, "GET", s.nodes[0].url()+"/signatures?state=WAIT_SIGN&limit=100", nil, "Authorization", bearer(s.token))
	if err == nil {
		err = json.Unmarshal(a.Data, &page)
	}
	if err != nil || a.Status != http.StatusOK {
		s.t.Fatalf("%v %s", err, a.Body)
	}
	return len(page)
}

// How long an account waits for its signatures beside another's backlog, and with
// nothing else to do: those of a call that waits, and those that are made later.
// ROGITO_BENCH_BACKLOG is how many records the backlog has, of ten documents each:
// one of them is taken in sooner than signed.
func TestBesideABacklog(t *testing.T) {
	if os.Getenv("ROGITO_BENCH") == "" {
		t.Skip("SKIPPED: set ROGITO_BENCH=1 to measure")
	}
	records := number("ROGITO_BENCH_BACKLOG", 1000)
	const asked = 20
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			s := startServers(t, onEngine(t, e), 1)
			n, other := s.nodes[0], s.another()
			env := n.env
			tell := func(what string) {
				other.waits(nil, 3) // the key is open
				for how, options := range map[string]map[string]any{"in the call": nil, "later": {"asyncSignature": true}} {
					w := other.waits(options, asked)
					fmt.Printf("backlog: | %s, %s, %s | median %.0f ms, p95 %.0f ms |\n", how, what, e.Name, w[asked/2].Seconds()*1000, w[asked*95/100].Seconds()*1000)
				}
			}
			tell("nothing waiting")
			n.stop()
			n.env = append(env, "ROGITO_JOBS_WORKERS=1") // the backlog grows
			n.start()
			docs := slices.Repeat([]string{document(1000)}, 10)
			s.send("automatic", s.request("automatic", docs, map[string]any{"asyncSignature": true, "batch": true}), "WAIT_SIGN", records)
			n.stop()
			n.env = env
			n.start()
			tell(fmt.Sprintf("beside %d records of ten documents", records))
			left := s.waiting()
			if left < 100 {
				t.Error("the backlog was over before the end")
			}
		})
	}
}

// Four processes on one PostgreSQL and one bucket take in records that are signed
// later, and sign each once, with none left behind: while any is, the line never
// stands still for so long that a sweep would have to find it.
// ROGITO_TEST_DRAIN=20 does it twenty times with 20,000 records;
// server/internal/job TestFourProcessesDrain does it with the line alone.
func TestServersDrain(t *testing.T) {
	await.All(t)
	runs, records := number("ROGITO_TEST_DRAIN", 0), 20_000
	if runs == 0 {
		runs, records = 1, 500
	}
	for run := range runs {
		t.Run(strconv.Itoa(run+1), func(t *testing.T) { drain(t, records) })
	}
}

func drain(t *testing.T, records int) {
	s := startServers(t, storage{Bucket: storetest.S3(t), Database: storetest.Postgres(t)}, 4)
	begun := time.Now()
	s.send("eseal", s.request("eseal", document(1000), map[string]any{"asyncSignature": true}), "WAIT_SIGN", records)
	taken := time.Since(begun)
	s.drained(records, 30*time.Second)
	t.Logf("%d records taken in in %s, signed after %s", records, taken.Round(time.Second), time.Since(begun).Round(time.Second))
	for what, n := range map[string]int{
		"records":                            s.count(`select count(*) from signatures`) - records,
		"uses of keys":                       s.count(`select count(*) from signing_intents`) - records,
		"waiting":                            s.count(`select count(*) from signatures where state in ('WAIT_VALIDATION', 'WAIT_SIGN')`),
		"records whose work was begun again": s.count(`select count(*) from signatures where starts <> 1 or failures <> 0`),
	} {
		if n != 0 {
			t.Errorf("%s: %d too many", what, n)
		}
	}
	s.nodes[0].run("audit", "verify")
}

// drained waits until records are signed. None may be for longer than patience
// while there are any.
func (s *servers) drained(records int, patience time.Duration) {
	s.t.Helper()
	if done := await.Count(records, patience, s.done); done < records {
		s.t.Fatalf("%d of %d records stay behind, %d of them waiting", records-done, records, s.count(`select count(*) from signatures where state in ('WAIT_VALIDATION', 'WAIT_SIGN')`))
	}
}

func (s *servers) done() int {
	s.t.Helper()
	return s.count(`select count(*) from signatures where state = 'DONE'`)
}

func (s *servers) count(query string) (n int) {
	s.t.Helper()
	if err := s.db.QueryRow(s.t.Context(), query).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// One of four is killed (-9) again and again while they drain: the others finish
// what it had begun, each record has one signature, and the audit verifies.
func TestOneOfFourIsKilled(t *testing.T) {
	await.All(t)
	kills, records := 3, 600
	if os.Getenv("ROGITO_TEST_SOAK") != "" {
		kills, records = 40, 8000
	}
	s := startServers(t, storage{Bucket: storetest.S3(t), Database: storetest.Postgres(t)}, 4)
	front, victim := *s, s.nodes[3]
	front.nodes = s.nodes[:3] // whose calls are answered
	var sent sync.WaitGroup
	sent.Go(func() {
		front.send("eseal", s.request("eseal", document(1000), map[string]any{"asyncSignature": true}), "WAIT_SIGN", records)
	})
	for i := range kills {
		until := (i*records + rand.N(records)) / kills
		await.Until(t, "enough is signed", func() bool { return s.done() >= until })
		victim.kill()
		victim.start()
	}
	sent.Wait()
	s.drained(records, time.Minute) // two leases, and what looks for them
	for what, n := range map[string]int{
		"records":                     s.count(`select count(*) from signatures`) - records,
		"uses that led to a document": s.count(`select count(*) from signing_intents where outcome = 'SIGNED'`) - records,
		"uses that are open":          s.count(`select count(*) from signing_intents where outcome not in ('SIGNED', 'FAILED', 'UNKNOWN')`),
		"waiting":                     s.count(`select count(*) from signatures where state in ('WAIT_VALIDATION', 'WAIT_SIGN')`),
	} {
		if n != 0 {
			t.Errorf("%s: %d too many", what, n)
		}
	}
	t.Logf("%d of %d records were begun again", s.count(`select count(*) from signatures where starts > 1`), records)
	s.nodes[0].run("audit", "verify")
}
