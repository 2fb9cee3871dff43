package blackbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

// signature is a record as a client reads it.
type signature struct {
	ID           string `json:"id"`
	State        string `json:"state"`
	ErrorNumber  *int   `json:"errorNumber"`
	ErrorMessage string `json:"errorMessage"`
	Document     struct {
		SignedDocument *struct {
			ID, SHA256 string
		} `json:"signedDocument"`
	} `json:"document"`
}

// price of one signature, in euro.
const price = 0.05

// cluster is one deployment of one or more nodes that sign.
type cluster struct {
	t            *testing.T
	nodes        []*node
	token        string
	Certificates map[string]struct{ Username, Password string }
	client       *http.Client
	receiver     *receiver
}

// receiver counts the callbacks of each record's states.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string][]string // record → states
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{got: map[string][]string{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var body struct{ Data signature }
		b, _ := io.ReadAll(req.Body)
		if err := json.Unmarshal(b, &body); err != nil {
			t.Errorf("callback %q: %v", b, err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got[body.Data.ID] = append(r.got[body.Data.ID], body.Data.State)
	}))
	t.Cleanup(r.Close)
	return r
}

func newCluster(t *testing.T, nodes ...*node) *cluster {
	t.Helper()
	h := &cluster{t: t, nodes: nodes, receiver: newReceiver(t), client: &http.Client{Timeout: 60 * time.Second}}
	data := nodes[0].args[1]
	for i, n := range nodes {
		n.env = append(n.env, "ROGITO_NETWORK_ALLOW_PRIVATE="+strings.TrimPrefix(h.receiver.URL, "http://"))
		if i > 0 {
			copyFile(t, filepath.Join(data, "master.key"), filepath.Join(n.args[1], "master.key"))
		}
		n.start()
	}
	h.client.Transport = newWatch(t, &http.Transport{MaxIdleConnsPerHost: 16}, nodes[0].url())
	h.token = sandbox(t, data).Token
	text, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(text, h)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// call sends a request with the cluster's token; the answer is held to the
// document.
func (h *cluster) call(method, url string, body any, header ...string) (*answer, error) {
	return callIn(during(context.Background(), h.t), h.client, method, url, body, append([]string{"Authorization", bearer(h.token)}, header...)...)
}

// twoNodes share one PostgreSQL and one bucket.
func twoNodes(t *testing.T) *cluster {
	cfg := storage{Bucket: storetest.S3(t)}
	cfg.Data, cfg.Database = t.TempDir(), storetest.Postgres(t)
	second := cfg
	second.Data = t.TempDir()
	return newCluster(t, newNode(t, cfg), newNode(t, second))
}

// post asks a node for a signature; nil where it did not answer.
func (h *cluster) post(n *node, doc string, options map[string]any, header ...string) *signature {
	c := h.Certificates["automatic"]
	body := map[string]any{
		"inputDocuments": doc, "certificateUsername": c.Username, "certificatePassword": c.Password, "options": options,
		"callback": map[string]any{"url": h.receiver.URL, "method": "JSON"},
	}
	a, err := h.call("POST", n.url()+"/EU-QES_automatic", body, header...)
	if err != nil || a.Status == http.StatusServiceUnavailable || a.Status == http.StatusConflict {
		return nil
	}
	if a.Status != http.StatusOK {
		h.t.Errorf("%d: %s", a.Status, tail(string(a.Body)))
		return nil
	}
	s := &signature{}
	a.into(h.t, s)
	return s
}

func (h *cluster) get(n *node, path string, into any) *answer {
	h.t.Helper()
	a, err := h.call("GET", n.url()+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	if a.Status == http.StatusOK {
		a.into(h.t, into)
	}
	return a
}

// settle waits for the end of a record, at most a minute.
func (h *cluster) settle(n *node, id string) *signature {
	h.t.Helper()
	var s *signature
	for range await.Within(time.Minute) {
		s = &signature{}
		if a := h.get(n, "/signatures/"+id, s); a.Status != http.StatusOK {
			h.t.Fatalf("%s: %d %s", id, a.Status, a.Body)
		}
		if s.State == "DONE" || s.State == "ERROR" {
			return s
		}
	}
	h.t.Fatalf("%s is still %s", id, s.State)
	return nil
}

// download fetches a signed document and holds it to the record's digest.
func (h *cluster) download(n *node, s *signature) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(during(context.Background(), h.t), "GET", n.url()+"/signatures/"+s.ID+"/signedDocument", nil)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", bearer(h.token))
	resp, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	sum := sha256.Sum256(b)
	if err != nil || resp.StatusCode != http.StatusOK || s.Document.SignedDocument == nil || hex.EncodeToString(sum[:]) != s.Document.SignedDocument.SHA256 {
		h.t.Errorf("%s: %d, %d bytes, %v", s.ID, resp.StatusCode, len(b), err)
	}
}

func (h *cluster) credit(n *node) float64 {
	h.t.Helper()
	var w struct{ Credit float64 }
	h.get(n, "/wallet", &w)
	return w.Credit
}

// paid checks that what was taken is the price of so many signatures.
func (h *cluster) paid(n *node, before float64, signatures int) {
	h.t.Helper()
	if got := before - h.credit(n); math.Abs(got-price*float64(signatures)) > 1e-9 {
		h.t.Errorf("%d signatures cost %v", signatures, got)
	}
}

// told checks that each record's end was told at least once, and nothing else
// as its end.
func (h *cluster) told(ends map[string]string) {
	h.t.Helper()
	missing := 0
	for range await.Within(await.Limit) {
		missing = 0
		h.receiver.mu.Lock()
		for id, state := range ends {
			states := h.receiver.got[id]
			if len(states) == 0 || states[len(states)-1] != state {
				missing++
			}
		}
		h.receiver.mu.Unlock()
		if missing == 0 {
			return
		}
	}
	h.t.Errorf("%d of %d callbacks are missing", missing, len(ends))
}

// What is asked of one process is done by either, read from both, paid once
// and told; a token that one takes back is no good at the other.
func TestSigningOnTwoNodes(t *testing.T) {
	h := twoNodes(t)
	a, b := h.nodes[0], h.nodes[1]
	before, ends := h.credit(a), map[string]string{}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range 24 {
		wg.Go(func() {
			from, to := h.nodes[i%2], h.nodes[1-i%2]
			o := []map[string]any{{}, {"asyncSignature": true}, {"asyncDocumentsValidation": true, "level": "T"}}[i%3]
			s := h.post(from, document(2000+4*i), o)
			if s == nil {
				t.Error("no answer")
				return
			}
			if s = h.settle(to, s.ID); s.State != "DONE" {
				t.Errorf("%+v", s)
			}
			h.download(to, s)
			h.download(from, s)
			mu.Lock()
			defer mu.Unlock()
			ends[s.ID] = s.State
		})
	}
	wg.Wait()
	bad := h.post(a, "JVBERi0xLjcgYnJva2Vu", map[string]any{"asyncDocumentsValidation": true}) // %PDF-1.7 broken
	if bad == nil {
		t.Fatal("no answer")
	}
	if bad = h.settle(b, bad.ID); bad.State != "ERROR" {
		t.Errorf("%+v", bad)
	}
	ends[bad.ID] = bad.State
	h.paid(b, before, 24)
	h.told(ends)

	var tok tokenData
	made, err := h.call("POST", a.url()+"/tokens", map[string]any{"scopes": []string{"POST:*/EU-QES_automatic"}})
	if err != nil {
		t.Fatal(err)
	}
	made.into(t, &tok)
	other := *h
	other.token = tok.Token
	if s := other.post(b, document(1000), nil); s == nil || s.State != "DONE" {
		t.Fatalf("%+v", s)
	}
	if gone, err := h.call("DELETE", a.url()+"/tokens/"+tok.ID, nil); err != nil || gone.Status != 200 {
		t.Fatal(gone, err)
	}
	c := h.Certificates["automatic"]
	await.Until(t, "the other server refuses the token", func() bool {
		no, err := h.call("POST", b.url()+"/EU-QES_automatic", map[string]any{"inputDocuments": document(1000), "certificateUsername": c.Username, "certificatePassword": c.Password},
			"Authorization", bearer(tok.Token))
		return err == nil && no.code() == 125
	})
	if out := b.run("audit", "verify"); out == "" {
		t.Error("audit verify says nothing")
	}
}

// A process that dies (-9) in the midst of its jobs has them finished by the
// other: all of them, each once, within a minute.
func TestOtherNodeFinishes(t *testing.T) {
	await.All(t)
	h := twoNodes(t)
	a, b := h.nodes[0], h.nodes[1]
	before := h.credit(b)
	var mu sync.Mutex
	var ids []string
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 10 {
				s := h.post(a, document(1000), map[string]any{"asyncSignature": true, "asyncDocumentsValidation": (i+j)%2 == 0, "level": "T"})
				if s == nil {
					return // it is dead
				}
				mu.Lock()
				ids = append(ids, s.ID)
				mu.Unlock()
			}
		})
	}
	until := 1 + rand.N(70)
	await.Until(t, "enough is acknowledged", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(ids) >= until
	})
	a.kill()
	wg.Wait()
	ends := map[string]string{}
	for _, id := range ids {
		s := h.settle(b, id)
		if s.State != "DONE" {
			t.Errorf("%+v", s)
			continue
		}
		h.download(b, s)
		ends[id] = s.State
	}
	h.books(b, before)
	h.told(ends)
	b.run("audit", "verify")
	t.Logf("%d acknowledged by the one, all finished by the other", len(ids))
}

// books checks that the wallet paid for the records that are DONE and for no
// other, once all are at their end.
func (h *cluster) books(n *node, before float64) {
	h.t.Helper()
	done := 0
	for skip := 0; ; skip += 100 {
		var list []signature
		h.get(n, fmt.Sprintf("/signatures?limit=100&skip=%d", skip), &list)
		for _, s := range list {
			if h.settle(n, s.ID).State == "DONE" {
				done++
			}
		}
		if len(list) < 100 {
			break
		}
	}
	h.paid(n, before, done)
}

// TestKillSigning kills the server (-9) again and again while it signs, with
// and without waiting: nothing acknowledged is lost, what was cut off can be
// asked again under its key and is one record, the wallet paid for exactly what
// is DONE, and the audit log verifies.
func TestKillSigning(t *testing.T) {
	await.All(t)
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			killSigning(t, newCluster(t, newNode(t, onEngine(t, e))))
		})
	}
}

func killSigning(t *testing.T, h *cluster) {
	n, total := h.nodes[0], 3
	if os.Getenv("ROGITO_TEST_SOAK") != "" {
		total = 50
	}
	before := h.credit(n)
	var mu sync.Mutex
	known, open := map[string]string{}, map[string]map[string]any{}
	ask := func(key string, o map[string]any) bool {
		mu.Lock()
		open[key] = o
		mu.Unlock()
		s := h.post(n, document(1000), o, "Idempotency-Key", key)
		if s == nil {
			return false
		}
		mu.Lock()
		defer mu.Unlock()
		if id := known[key]; id != "" && id != s.ID {
			t.Errorf("key %s: %s, then %s", key, id, s.ID)
		}
		known[key] = s.ID
		delete(open, key)
		return true
	}
	for round := range total {
		var load sync.WaitGroup
		until := len(known) + len(open) + 1 + rand.N(120)
		for i := range 6 {
			load.Go(func() {
				for j := 0; j < 20 && ask(store.NewID(), map[string]any{"asyncSignature": (i+j)%3 == 0, "asyncDocumentsValidation": (i+j)%3 == 1}); j++ {
				}
			})
		}
		await.Until(t, "enough is asked for", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(known)+len(open) >= until
		})
		n.kill()
		load.Wait()
		n.start()
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	cut := len(open)
	for range await.Within(time.Minute) {
		if len(open) <= 0 {
			break
		}
		for key, o := range open {
			ask(key, o)
		}
	}
	if len(open) > 0 {
		t.Fatalf("%d calls have no answer", len(open))
	}
	for _, id := range known {
		if s := h.settle(n, id); s.State != "DONE" {
			t.Errorf("%+v", s)
		}
	}
	var list []signature
	records := 0
	for skip := 0; skip == 0 || len(list) == 100; skip += 100 {
		list = nil
		h.get(n, fmt.Sprintf("/signatures?limit=100&skip=%d", skip), &list)
		records += len(list)
	}
	if records != len(known) {
		t.Errorf("%d records for %d keys", records, len(known))
	}
	h.books(n, before)
	n.run("audit", "verify")
	t.Logf("%d rounds: %d records, %d of them asked for again after a cut", total, len(known), cut)
}

// A thousand documents in one request, and PDFs of 10 MB at once (a hundred in a
// soak), stay within the memory that is promised.
func TestMemoryOfSigning(t *testing.T) {
	await.All(t)
	cfg := storage{Data: t.TempDir()}
	h := newCluster(t, newNode(t, cfg))
	n := h.nodes[0]
	parallel := 24
	if os.Getenv("ROGITO_TEST_SOAK") != "" {
		parallel = 100
	}
	many := make([]string, 1000)
	for i := range many {
		many[i] = document(50_000)
	}
	c := h.Certificates["automatic"]
	a, err := h.call("POST", n.url()+"/EU-QES_automatic", map[string]any{
		"inputDocuments": many, "certificateUsername": c.Username, "certificatePassword": c.Password, "options": map[string]any{"batch": true},
	})
	if err != nil || !strings.Contains(string(a.Body), `"DONE"`) {
		t.Fatalf("%v: %.300s", err, a.Body)
	}
	t.Logf("peak %.0f MB with 1,000 documents in one request", (&signer{n: n}).peak(t))
	large := document(10_000_000)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			if s := h.post(n, large, nil); s == nil || s.State != "DONE" {
				t.Errorf("%+v", s)
			}
		})
	}
	wg.Wait()
	s := &signer{n: n}
	peak := s.peak(t)
	t.Logf("peak %.0f MB with %d PDFs of 10 MB at once", peak, parallel)
	if peak > 512 {
		t.Errorf("peak %.0f MB", peak)
	}
}
