package blackbox

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// rounds is how often the server is killed: 5 times, in a soak 30.
func rounds() int {
	if os.Getenv("ROGITO_TEST_SOAK") != "" {
		return 30
	}
	return 5
}

// TestKill kills the server (-9) again and again under a load of creating
// POSTs. Afterwards every acknowledged id is there, each exactly once, every
// call that was cut off can be repeated with its key and makes one record in
// all, and the books agree.
func TestKill(t *testing.T) {
	await.All(t)
	t.Run("sqlite", func(t *testing.T) { killing(t, newNode(t, sandboxed(t))) })
	t.Run("postgres", func(t *testing.T) {
		killing(t, newNode(t, storage{Data: t.TempDir(), Database: storetest.Postgres(t)}))
	})
}

func killing(t *testing.T, n *node) {
	n.start()
	k := &killer{
		t: t, n: n, me: sandbox(t, n.args[1]), acknowledged: map[string]string{}, open: map[string]bool{},
		client: &http.Client{Timeout: 20 * time.Second, Transport: newWatch(t, &http.Transport{MaxIdleConnsPerHost: 16}, n.url())},
	}
	for round := range rounds() {
		stop, until := make(chan struct{}), len(k.acknowledged)+len(k.open)+1+rand.N(500)
		var load sync.WaitGroup
		for range 16 {
			load.Go(func() { k.post(stop) })
		}
		await.Until(t, "enough is asked for", func() bool {
			k.mu.Lock()
			defer k.mu.Unlock()
			return len(k.acknowledged)+len(k.open) >= until
		})
		n.kill()
		close(stop)
		load.Wait()
		n.start()
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	cut := k.repeat()
	k.check()
	t.Logf("%d rounds: %d acknowledged, %d of them repeated after a cut", rounds(), len(k.acknowledged), cut)
}

type killer struct {
	t      *testing.T
	n      *node
	me     credentials
	client *http.Client

	mu           sync.Mutex
	acknowledged map[string]string // key → id
	open         map[string]bool   // keys without an answer
}

// post creates tokens until it is told to stop.
func (k *killer) post(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		key := store.NewID()
		k.mu.Lock()
		k.open[key] = true
		k.mu.Unlock()
		k.send(key)
	}
}

// send makes one call; without an answer its key stays open.
func (k *killer) send(key string) {
	a, err := callIn(during(context.Background(), k.t), k.client, "POST", k.n.url()+"/tokens", map[string]any{"scopes": []string{"*:*/*"}, "name": key},
		"Authorization", bearer(k.me.Token), "Idempotency-Key", key)
	if err != nil || a.Status == http.StatusServiceUnavailable || a.Status == http.StatusConflict {
		return
	}
	if a.Status != http.StatusOK {
		k.t.Errorf("%d %s", a.Status, a.Body)
		return
	}
	var d tokenData
	a.into(k.t, &d)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.acknowledged[key] = d.ID
	delete(k.open, key)
}

// repeat sends what was cut off again, with the same keys, twice: the second
// time must show the same record.
func (k *killer) repeat() int {
	cut := maps.Clone(k.open)
	for key := range cut {
		k.send(key)
		first := k.acknowledged[key]
		k.send(key)
		if first == "" || k.acknowledged[key] != first {
			k.t.Errorf("key %s: %q, then %q", key, first, k.acknowledged[key])
		}
	}
	return len(cut)
}

// check reads everything back.
func (k *killer) check() {
	found := map[string]int{} // name (which is the key) → tokens
	ids := map[string]string{}
	for skip := 0; ; skip += 100 {
		a, err := callIn(during(context.Background(), k.t), k.client, "GET", fmt.Sprintf("%s/tokens?limit=100&skip=%d", k.n.url(), skip), nil, "Authorization", bearer(k.me.Token))
		if err != nil {
			k.t.Fatal(err)
		}
		var list []struct{ ID, Name string }
		a.into(k.t, &list)
		for _, one := range list {
			found[one.Name]++
			ids[one.Name] = one.ID
		}
		if len(list) < 100 {
			break
		}
	}
	delete(found, "first") // the account's own
	for key, id := range k.acknowledged {
		if found[key] != 1 || ids[key] != id {
			k.t.Errorf("key %s: acknowledged as %s, %d there (%s)", key, id, found[key], ids[key])
		}
	}
	if len(found) != len(k.acknowledged) {
		k.t.Errorf("%d records for %d acknowledged calls", len(found), len(k.acknowledged))
	}
	k.balance()
}

// balance checks that the movements of the wallet add up to its credit.
func (k *killer) balance() {
	var wallet struct{ Credit float64 }
	var moves []struct{ Amount float64 }
	for path, into := range map[string]any{"/wallet": &wallet, "/wallet/transactions": &moves} {
		a, err := callIn(during(context.Background(), k.t), k.client, "GET", k.n.url()+path, nil, "Authorization", bearer(k.me.Token))
		if err != nil {
			k.t.Fatal(err)
		}
		a.into(k.t, into)
	}
	var sum float64
	for _, m := range moves {
		sum += m.Amount
	}
	if sum != wallet.Credit {
		k.t.Errorf("the movements add up to %v, the wallet holds %v", sum, wallet.Credit)
	}
}

// BenchmarkDurableCreates is POST /tokens with an Idempotency-Key, over HTTP,
// on both engines.
func BenchmarkDurableCreates(b *testing.B) {
	for _, e := range storetest.Engines() {
		b.Run(e.Name, func(b *testing.B) {
			n := newNode(b, onEngine(b, e))
			n.start()
			me := sandbox(b, n.args[1])
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
			b.SetParallelism(16)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					a, err := call(client, "POST", n.url()+"/tokens", map[string]any{"scopes": []string{"*:*/*"}},
						"Authorization", bearer(me.Token), "Idempotency-Key", store.NewID())
					if err != nil || a.Status != http.StatusOK {
						b.Error(err, a)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "creates/s")
		})
	}
}
