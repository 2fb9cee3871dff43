package faults_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/servertest/sitetest"
)

func TestMain(m *testing.M) { sitetest.Main(m) }

// post signs; it returns nil when the connection broke.
func post(p *program, o m, key string) *record {
	return p.PostAs(p.Box().Certificates["automatic"], o, key)
}

// kill -9 at random points under asynchronous load: nothing acknowledged is
// lost, nothing gets two results, nothing stays stuck, and the audit verifies
// after each kill.
func TestKillNineUnderLoad(t *testing.T) {
	t.Parallel()
	await.All(t)
	rounds := soakRounds(3)
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		p.Start()
		var all, open []string // acknowledged; not known to be at their end
		begin := time.Now()
		for round := range rounds {
			open = append(open, loadUntilKilled(p)...)
			intents, signatures := p.Account(database)
			p.Start()
			// Every fifth round all must come to their end; in between they are
			// killed again and again.
			if round%5 == 4 || round == rounds-1 {
				p.Finish(open)
				all, open = append(all, open...), nil
			}
			if t.Failed() {
				t.Fatalf("in round %d", round+1)
			}
			if (round+1)%20 == 0 {
				t.Logf("%d rounds in %v: %d acknowledged, %d intents, %d signatures", round+1, time.Since(begin).Round(time.Second), len(all)+len(open), intents, signatures)
			}
		}
		p.Kill()
		intents, signatures := p.Account(database)
		t.Logf("%d rounds, %d acknowledged, %d signed, %d intents, audit verified %d times", rounds, len(all), signatures, intents, rounds+1)
		if intents < signatures || signatures < len(all) || len(all) < rounds {
			t.Errorf("%d intents, %d signatures, %d acknowledged", intents, signatures, len(all))
		}
	})
}

// loadUntilKilled asks for signatures until the server is killed, after a random
// number of them, and returns what was acknowledged.
func loadUntilKilled(p *program) (ids []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for {
				r := post(p, m{"asyncDocumentsValidation": i%2 == 0, "asyncSignature": true}, "")
				if r == nil {
					return // killed
				}
				mu.Lock()
				ids = append(ids, r.ID)
				mu.Unlock()
			}
		})
	}
	until := 1 + rand.N(60)
	await.Until(p.T, "enough is acknowledged", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(ids) >= until
	})
	p.Kill()
	wg.Wait()
	return ids
}

// longLease is for tests that count each attempt: a busy machine does not lose it.
const longLease = "ROGITO_JOBS_LEASE=10s"

// A process that dies between key use and storing leaves an intent behind, and
// the record is finished by the next.
func TestKilledBetweenSigningAndStoring(t *testing.T) {
	t.Parallel()
	await.All(t)
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		kills := 0
		for _, point := range []string{"intended", "signed", "stored"} {
			p.Start("ROGITO_TEST_CRASH_AT="+point, longLease)
			r := post(p, m{"asyncSignature": true}, "")
			if r == nil {
				t.Fatalf("%s: not accepted", point)
			}
			p.Ended()
			kills++
			p.Start(longLease)
			p.Finish([]string{r.ID})
			p.Kill()
			if intents, signatures := p.Account(database); intents-signatures != kills || signatures != kills {
				t.Errorf("%s: %d intents, %d signatures after %d kills", point, intents, signatures, kills)
			}
		}
	})
}

// A record that kills the process each time it is worked on does not do so for
// ever.
func TestPoisonThatKills(t *testing.T) {
	t.Parallel()
	if !soaking() {
		t.Skip("SKIPPED: long; run with ROGITO_TEST_SOAK=1")
	}
	p := newProgram(t, "")
	p.Start("ROGITO_TEST_CRASH_AT=before-sign")
	r := post(p, m{"asyncSignature": true}, "")
	if r == nil {
		t.Fatal("not accepted")
	}
	for range 40 {
		if p.Cmd != nil {
			p.Ended()
		}
		p.Start("ROGITO_TEST_CRASH_AT=before-sign")
		for range await.Within(6 * time.Second) {
			if got := p.RecordOf(r.ID); got == nil {
				break
			} else if got.State == "ERROR" {
				if got.Number() != 119 {
					t.Errorf("error %d", got.Number())
				}
				return
			}
		}
	}
	t.Error("it goes on for ever")
}

// A synchronous call whose server dies: the client's retry under the same key
// finds the same record, signed once.
func TestKilledDuringSynchronousCall(t *testing.T) {
	t.Parallel()
	await.All(t)
	engines(t, func(t *testing.T, database string) {
		p := newProgram(t, database)
		for i, point := range []string{"intended", "stored"} {
			p.Start("ROGITO_TEST_CRASH_AT="+point, longLease)
			if r := post(p, m{}, point); r != nil {
				t.Fatalf("%+v", r)
			}
			p.Ended()
			p.Start(longLease)
			var r *record
			for range await.Within(3 * time.Minute) {
				if r != nil && r.State == "DONE" {
					break
				}
				r = post(p, m{}, point)
			}
			if r == nil || r.State != "DONE" {
				t.Fatalf("%s: %+v", point, r)
			}
			if again := post(p, m{}, point); again == nil || again.ID != r.ID {
				t.Errorf("%s: asked again: %+v", point, again)
			}
			p.Kill()
			if intents, signatures := p.Account(database); intents != 2*(i+1) || signatures != i+1 {
				t.Errorf("%s: %d intents, %d signatures", point, intents, signatures)
			}
		}
	})
}
