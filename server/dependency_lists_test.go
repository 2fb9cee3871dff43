package server

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/tsl"
)

// europe publishes a list of trusted lists with countries, on loopback.
type europe struct {
	*httptest.Server
	t     *testing.T
	pki   *adestest.PKI
	mu    sync.Mutex
	files map[string][]byte
}

func newEurope(t *testing.T, countries ...string) *europe {
	t.Helper()
	e := &europe{t: t, pki: adestest.Start(t, time.Now), files: map[string][]byte{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		b, ok := e.files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(b)
	}))
	t.Cleanup(e.Close)
	operator, national := e.pki.Actor(t, "good"), e.pki.Actor(t, "second")
	lotl := adestest.List{Territory: "EU", LOTL: true, Sequence: 1, Issued: time.Now().AddDate(0, -1, 0), Next: time.Now().AddDate(0, 5, 0)}
	lotl.Pointers = append(lotl.Pointers, adestest.ListPointer{URL: e.URL + "/EU", Territory: "EU", LOTL: true, Signers: []*x509.Certificate{operator.Certificate}})
	for _, c := range countries {
		lotl.Pointers = append(lotl.Pointers, adestest.ListPointer{URL: e.URL + "/" + c, Territory: c, Signers: []*x509.Certificate{national.Certificate}})
		e.country(c, c, time.Now().AddDate(0, 5, 0))
	}
	e.put("/EU", lotl, operator)
	return e
}

// country publishes a list with the PKI's issuing authority on it.
func (e *europe) country(path, territory string, next time.Time) {
	e.t.Helper()
	e.put("/"+path, adestest.List{
		Territory: territory, Sequence: 3, Issued: time.Now().AddDate(0, -2, 0), Next: next,
		Services: []adestest.ListService{{Type: "CA/QC", Name: "CA", Identity: e.pki.Issuing, Statuses: []adestest.ListStatus{
			{Status: "granted", From: time.Now().AddDate(-5, 0, 0), Uses: []string{"ForeSignatures"}},
		}}},
	}, e.pki.Actor(e.t, "second"))
}

func (e *europe) put(path string, l adestest.List, signer *adestest.Actor) {
	e.t.Helper()
	b, err := l.XML(signer)
	if err != nil {
		e.t.Fatal(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.files[path] = b
}

// configure makes a server use these lists.
func (e *europe) configure(dir string) func(*Config) {
	anchors := writeFile(e.t, "oj.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: e.pki.Actor(e.t, "good").Certificate.Raw}))
	pki := strings.TrimPrefix(e.pki.URL(""), "http://")
	return func(c *Config) {
		c.Data = dir
		c.Trust.Lists, c.Trust.LOTL, c.Trust.LOTLAnchors = true, e.URL+"/EU", anchors
		c.Network.AllowPrivate = append(c.Network.AllowPrivate, strings.TrimPrefix(e.URL, "http://"), pki)
	}
}

// signed is a document by somebody whose authority is on the lists.
func (e *europe) signed() []byte {
	e.t.Helper()
	a := e.pki.Actor(e.t, "p256")
	var out bytes.Buffer
	_, err := rogito.Sign(context.Background(), rogito.File("a.txt", bytes.NewReader(sampleTXT)), &out, a.Key, rogito.Options{Format: ades.CAdES, SignParams: a.Signing(time.Now())})
	if err != nil {
		e.t.Fatal(err)
	}
	return out.Bytes()
}

type listState struct {
	Territory  string
	FetchedAt  string
	AgeSeconds *int64
	Usable     bool
	Failed     bool `json:"lastRefreshFailed"`
}

// lists are what readiness shows.
func (s *site) lists() map[string]listState {
	s.t.Helper()
	_, body := get(s.t, s.url+"/readyz")
	var ready struct{ TrustedLists []listState }
	if err := json.Unmarshal([]byte(body), &ready); err != nil {
		s.t.Fatal(err)
	}
	out := map[string]listState{}
	for _, l := range ready.TrustedLists {
		out[l.Territory] = l
	}
	return out
}

func (s *site) waitForLists(good func(map[string]listState) bool) map[string]listState {
	s.t.Helper()
	var last map[string]listState
	for range await.Within(await.Limit) {
		if last = s.lists(); good(last) {
			return last
		}
	}
	s.t.Fatalf("the lists are %+v", last)
	return nil
}

// indication of the only signature.
func (s *site) indication(doc []byte) string {
	s.t.Helper()
	var v struct {
		OverallVerified bool
		Indication      string
	}
	a := s.do("POST", "/verify", m{"inputDocument": b64(doc)})
	if err := json.Unmarshal(a.Data, &v); err != nil || v.OverallVerified != (v.Indication == "TOTAL-PASSED") {
		s.t.Fatalf("%d %s: %s", a.Status, a.Message, a.Data)
	}
	return v.Indication
}

// The list of lists cannot be reached when the server starts: it is up at once
// all the same, with the last good lists and their age; with none, or with old
// ones, nothing is valid by them.
func TestListsUnreachableAtStart(t *testing.T) {
	t.Parallel()
	e := newEurope(t, "IT")
	doc, dir := e.signed(), t.TempDir()
	first := newSite(t, e.configure(dir))
	first.waitForLists(func(l map[string]listState) bool { return l["IT"].Usable })
	if got := first.indication(doc); got != "TOTAL-PASSED" {
		t.Fatalf("with the lists: %s", got)
	}
	first.run.stop()
	e.mu.Lock()
	e.files = nil // the publisher is broken from here on
	e.mu.Unlock()

	begin := time.Now()
	again := newSite(t, e.configure(dir))
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("the start took %v", took)
	}
	l := again.waitForLists(func(l map[string]listState) bool { return l["IT"].Usable })
	if l["IT"].FetchedAt == "" {
		t.Errorf("no age: %+v", l)
	}
	if got := again.indication(doc); got != "TOTAL-PASSED" {
		t.Errorf("with the lists of the last start: %s", got)
	}
	again.run.stop()

	none := newSite(t, e.configure(t.TempDir()))
	if got := none.indication(doc); got != "INDETERMINATE" {
		t.Errorf("without any list: %s", got)
	}
	if code, _ := get(t, none.url+"/readyz"); code != 200 {
		t.Errorf("not ready: %d", code)
	}
}

// A server that may not fetch uses the lists of its data folder, also those
// that another process puts there while it runs; the metric is declared before
// there are any.
func TestListsWithoutFetching(t *testing.T) {
	t.Parallel()
	e := newEurope(t, "IT")
	doc, dir := e.signed(), t.TempDir()
	with := e.configure(dir)
	s := newSite(t, func(c *Config) {
		with(c)
		c.Trust.Lists = false
	})
	_, metrics := get(t, s.url+"/metrics")
	if !strings.Contains(metrics, "# TYPE rogito_trust_list_age_seconds gauge\n") || strings.Contains(metrics, "rogito_trust_list_age_seconds{") {
		t.Error("the age of the lists is not declared, or has values already")
	}
	if got := s.indication(doc); got != "INDETERMINATE" {
		t.Errorf("without lists: %s", got)
	}
	cfg := s.cfg
	set, err := tsl.NewSet(tsl.Config{LOTL: cfg.Trust.LOTL, Anchors: [][]byte{e.pki.Actor(t, "good").Certificate.Raw}, Dir: filepath.Join(dir, "trust", "lists"), Client: e.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.waitForLists(func(l map[string]listState) bool { return l["IT"].Usable })
	if got := s.indication(doc); got != "TOTAL-PASSED" {
		t.Errorf("with the lists of another process: %s", got)
	}
	_, metrics = get(t, s.url+"/metrics")
	if strings.Count(metrics, "# TYPE rogito_trust_list_age_seconds gauge\n") != 1 || !strings.Contains(metrics, `rogito_trust_list_age_seconds{territory="IT"}`) {
		t.Error("the age of the lists is not shown")
	}
}

// Lists past their next update are not believed, and the server says so.
func TestStaleListsAreNotBelieved(t *testing.T) {
	t.Parallel()
	e := newEurope(t, "IT")
	e.country("IT", "IT", time.Now().AddDate(0, 0, -1))
	s := newSite(t, e.configure(t.TempDir()))
	l := s.waitForLists(func(l map[string]listState) bool { return l["EU"].Usable && l["IT"].FetchedAt != "" })
	if l["IT"].Usable {
		t.Errorf("%+v", l)
	}
	if got := s.indication(e.signed()); got != "INDETERMINATE" {
		t.Errorf("by a stale list: %s", got)
	}
}

// One broken list does not take the others with it: an altered one, a stale
// one, one that is not there, one of another country, one of a stranger. Each
// shows in the metrics. Greece is EL there and GR elsewhere.
func TestBrokenListsFailAlone(t *testing.T) {
	t.Parallel()
	countries := []string{"AT", "BE", "DE", "EL", "ES", "FR", "IT", "PL"}
	e := newEurope(t, countries...)
	e.country("DE", "DE", time.Now().AddDate(0, 0, -1))
	e.mu.Lock()
	e.files["/FR"] = bytes.Replace(e.files["/FR"], []byte("granted"), []byte("withdrawn"), 1)
	delete(e.files, "/ES")
	e.files["/PL"] = []byte("<html>sorry</html>")
	e.mu.Unlock()
	e.country("BE", "NL", time.Now().AddDate(0, 5, 0))
	s := newSite(t, e.configure(t.TempDir()))
	s.waitForLists(func(l map[string]listState) bool { return l["IT"].Usable && l["AT"].Usable && l["EL"].Usable })
	_, metrics := get(t, s.url+"/metrics")
	for _, c := range countries {
		bad := strings.Contains("BE DE ES FR PL", c)
		usable, failed := s.lists()[c].Usable, s.lists()[c].Failed
		if usable == bad {
			t.Errorf("%s: usable %v, failed %v", c, usable, failed)
		}
		want := fmt.Sprintf(`rogito_trust_list_usable{territory="%s"} %d`, c, map[bool]int{true: 0, false: 1}[bad])
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
		alarm := fmt.Sprintf(`rogito_trust_list_failed{territory="%s"} 1`, c)
		if c != "DE" && strings.Contains(metrics, alarm) != bad {
			t.Errorf("%s: alarm is not %v", c, bad)
		}
	}
	if got := s.indication(e.signed()); got != "TOTAL-PASSED" {
		t.Errorf("by the good ones: %s", got)
	}
}
