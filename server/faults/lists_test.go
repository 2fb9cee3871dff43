package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/tsl"
)

type listState struct {
	Territory  string
	FetchedAt  string
	AgeSeconds *int64
	Usable     bool
	Failed     bool `json:"lastRefreshFailed"`
}

// lists are what readiness shows.
func lists(s *site) map[string]listState {
	s.T.Helper()
	_, body := get(s.T, s.URL+"/readyz")
	var ready struct{ TrustedLists []listState }
	if err := json.Unmarshal([]byte(body), &ready); err != nil {
		s.T.Fatal(err)
	}
	out := map[string]listState{}
	for _, l := range ready.TrustedLists {
		out[l.Territory] = l
	}
	return out
}

func waitForLists(s *site, good func(map[string]listState) bool) map[string]listState {
	s.T.Helper()
	var last map[string]listState
	for range await.Within(await.Limit) {
		if last = lists(s); good(last) {
			return last
		}
	}
	s.T.Fatalf("the lists are %+v", last)
	return nil
}

// The list of lists cannot be reached when the server starts: it is up at once
// all the same, with the last good lists and their age; with none, or with old
// ones, nothing is valid by them.
func TestListsUnreachableAtStart(t *testing.T) {
	t.Parallel()
	e := newEurope(t, "IT")
	doc, dir := e.Signed(), t.TempDir()
	first := newSite(t, e.Configure(dir))
	waitForLists(first, func(l map[string]listState) bool { return l["IT"].Usable })
	if got := first.Indication(doc); got != "TOTAL-PASSED" {
		t.Fatalf("with the lists: %s", got)
	}
	first.Run.Stop()
	e.Mu.Lock()
	e.Files = nil // the publisher is broken from here on
	e.Mu.Unlock()

	begin := time.Now()
	again := newSite(t, e.Configure(dir))
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("the start took %v", took)
	}
	l := waitForLists(again, func(l map[string]listState) bool { return l["IT"].Usable })
	if l["IT"].FetchedAt == "" {
		t.Errorf("no age: %+v", l)
	}
	if got := again.Indication(doc); got != "TOTAL-PASSED" {
		t.Errorf("with the lists of the last start: %s", got)
	}
	again.Run.Stop()

	none := newSite(t, e.Configure(t.TempDir()))
	if got := none.Indication(doc); got != "INDETERMINATE" {
		t.Errorf("without any list: %s", got)
	}
	if code, _ := get(t, none.URL+"/readyz"); code != 200 {
		t.Errorf("not ready: %d", code)
	}
}

// A server that may not fetch uses the lists of its data folder, also those
// that another process puts there while it runs; the metric is declared before
// there are any.
func TestListsWithoutFetching(t *testing.T) {
	t.Parallel()
	e := newEurope(t, "IT")
	doc, dir := e.Signed(), t.TempDir()
	with := e.Configure(dir)
	s := newSite(t, func(c *server.Config) {
		with(c)
		c.Trust.Lists = false
	})
	_, metrics := get(t, s.URL+"/metrics")
	if !strings.Contains(metrics, "# TYPE rogito_trust_list_age_seconds gauge\n") || strings.Contains(metrics, "rogito_trust_list_age_seconds{") {
		t.Error("the age of the lists is not declared, or has values already")
	}
	if got := s.Indication(doc); got != "INDETERMINATE" {
		t.Errorf("without lists: %s", got)
	}
	cfg := s.Config
	set, err := tsl.NewSet(tsl.Config{LOTL: cfg.Trust.LOTL, Anchors: [][]byte{e.PKI.Actor(t, "good").Certificate.Raw}, Dir: filepath.Join(dir, "trust", "lists"), Client: e.Client()})
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitForLists(s, func(l map[string]listState) bool { return l["IT"].Usable })
	if got := s.Indication(doc); got != "TOTAL-PASSED" {
		t.Errorf("with the lists of another process: %s", got)
	}
	_, metrics = get(t, s.URL+"/metrics")
	if strings.Count(metrics, "# TYPE rogito_trust_list_age_seconds gauge\n") != 1 || !strings.Contains(metrics, `rogito_trust_list_age_seconds{territory="IT"}`) {
		t.Error("the age of the lists is not shown")
	}
}

// Lists past their next update are not believed, and the server says so.
func TestStaleListsAreNotBelieved(t *testing.T) {
	t.Parallel()
	e := newEurope(t, "IT")
	e.Country("IT", "IT", time.Now().AddDate(0, 0, -1))
	s := newSite(t, e.Configure(t.TempDir()))
	l := waitForLists(s, func(l map[string]listState) bool { return l["EU"].Usable && l["IT"].FetchedAt != "" })
	if l["IT"].Usable {
		t.Errorf("%+v", l)
	}
	if got := s.Indication(e.Signed()); got != "INDETERMINATE" {
		t.Errorf("by a stale list: %s", got)
	}
}

// One broken list does not take the others with it: an altered one, a stale one, one that is not
// there, one of another country, one signed by an unknown key. Each shows in the metrics. Greece is
// EL there and GR elsewhere.
func TestBrokenListsFailAlone(t *testing.T) {
	t.Parallel()
	countries := []string{"AT", "BE", "DE", "EL", "ES", "FR", "IT", "PL"}
	e := newEurope(t, countries...)
	e.Country("DE", "DE", time.Now().AddDate(0, 0, -1))
	e.Mu.Lock()
	e.Files["/FR"] = bytes.Replace(e.Files["/FR"], []byte("granted"), []byte("withdrawn"), 1)
	delete(e.Files, "/ES")
	e.Files["/PL"] = []byte("<html>sorry</html>")
	e.Mu.Unlock()
	e.Country("BE", "NL", time.Now().AddDate(0, 5, 0))
	s := newSite(t, e.Configure(t.TempDir()))
	waitForLists(s, func(l map[string]listState) bool { return l["IT"].Usable && l["AT"].Usable && l["EL"].Usable })
	_, metrics := get(t, s.URL+"/metrics")
	for _, c := range countries {
		bad := strings.Contains("BE DE ES FR PL", c)
		usable, failed := lists(s)[c].Usable, lists(s)[c].Failed
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
	if got := s.Indication(e.Signed()); got != "TOTAL-PASSED" {
		t.Errorf("by the good ones: %s", got)
	}
}
