package api

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
)

func openStore(t testing.TB) (*store.DB, *idempotency.Keys) {
	t.Helper()
	cfg := store.Config{Data: t.TempDir(), Reserve: -1}
	db, err := store.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	m, err := master.Open(t.Context(), db, master.Config{Data: cfg.Data})
	if err != nil {
		t.Fatal(err)
	}
	return db, idempotency.New(db, m)
}

// maker makes things and counts them.
type maker struct {
	db    *store.DB
	made  atomic.Int64
	state string
	hold  chan struct{}

	entered chan struct{}
}

func (m *maker) create(ctx context.Context, in *makeInput) (Reply[thing], error) {
	if in.Body.Name == "bad" {
		return Reply[thing]{}, fault.New(fault.BadField, "name is bad")
	}
	if m.hold != nil {
		close(m.entered)
		<-m.hold
	}
	id := store.NewID()
	err := m.db.Write(ctx, func(tx *store.Tx) error {
		return idempotency.ClaimFrom(ctx).Record(ctx, tx, id, 0)
	})
	if err != nil {
		return Reply[thing]{}, err
	}
	m.made.Add(1)
	return Created(thing{ID: id}), nil
}

func (m *maker) show(_ context.Context, r idempotency.Replay) (Reply[thing], error) {
	return Reply[thing]{Data: thing{ID: r.RecordID}, Message: m.state}, nil
}

func makerAPI(t *testing.T, m *maker) http.Handler {
	db, idem := openStore(t)
	m.db = db
	a := New(Options{Gate: gate{}, Idempotency: idem})
	RegisterReplayable(a, Op{Method: "POST", Path: "/records", ID: "makeRecord", Idempotent: true}, m.create, m.show)
	Register(a, Op{Method: "POST", Path: "/secrets", ID: "makeSecret", Idempotent: true, NoEnvelope: true},
		func(ctx context.Context, in *makeInput) (Reply[thing], error) {
			m.made.Add(1)
			return Created(thing{ID: store.NewID()}), nil
		})
	return a.Handler()
}

func TestIdempotentReplayShowsTheRecordAsItIs(t *testing.T) {
	m := &maker{}
	h := makerAPI(t, m)
	first, e1 := ask(t, h, "POST", "/records", `{"name":"x"}`, "Idempotency-Key", "k")
	m.state = "later"
	second, e2 := ask(t, h, "POST", "/records", `{"name":"x"}`, "Idempotency-Key", "k")
	if string(e1.Data) != string(e2.Data) || e2.Message != "later" || m.made.Load() != 1 {
		t.Errorf("%s then %s, %d made", first.Body, second.Body, m.made.Load())
	}
	if first.Header().Get("Idempotent-Replayed") != "" || second.Header().Get("Idempotent-Replayed") != "true" {
		t.Error("Idempotent-Replayed is wrong")
	}
}

func TestIdempotencyKeyWithAnotherBody(t *testing.T) {
	h := makerAPI(t, &maker{})
	ask(t, h, "POST", "/records", `{"name":"x"}`, "Idempotency-Key", "k")
	w, e := ask(t, h, "POST", "/records", `{"name":"y"}`, "Idempotency-Key", "k")
	if w.Code != 422 || *e.Error != 151 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestFailureLeavesTheKeyFree(t *testing.T) {
	h := makerAPI(t, &maker{})
	if w, _ := ask(t, h, "POST", "/records", `{"name":"bad"}`, "Idempotency-Key", "k"); w.Code != 422 {
		t.Fatal(w.Body)
	}
	if w, _ := ask(t, h, "POST", "/records", `{"name":"good"}`, "Idempotency-Key", "k"); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestStillRunning(t *testing.T) {
	m := &maker{hold: make(chan struct{}), entered: make(chan struct{})}
	h := makerAPI(t, m)
	var wg sync.WaitGroup
	wg.Go(func() { ask(t, h, "POST", "/records", `{"name":"x"}`, "Idempotency-Key", "k") })
	<-m.entered
	w, e := ask(t, h, "POST", "/records", `{"name":"x"}`, "Idempotency-Key", "k")
	if w.Code != 409 || *e.Error != 150 || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	close(m.hold)
	wg.Wait()
	if m.made.Load() != 1 {
		t.Errorf("%d made, want 1", m.made.Load())
	}
}

func TestSecretIsReplayedWhole(t *testing.T) {
	m := &maker{}
	h := makerAPI(t, m)
	first, _ := ask(t, h, "POST", "/secrets", `{"name":"x"}`, "Idempotency-Key", "k")
	second, _ := ask(t, h, "POST", "/secrets", `{"name":"x"}`, "Idempotency-Key", "k")
	if first.Body.String() != second.Body.String() || m.made.Load() != 1 {
		t.Errorf("%s then %s", first.Body, second.Body)
	}
}
