package faults_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
	"rogito.dev/rogito/tsp"
)

// stampServer is a time-stamp authority that may change the request before it
// answers, or be another than it says.
func stampServer(t *testing.T, unit *tsp.Responder, change func(*tsp.Request)) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		b, _ := io.ReadAll(r.Body)
		req, err := tsp.ParseRequest(b)
		if err != nil {
			http.Error(w, "no request", http.StatusBadRequest)
			return
		}
		change(req)
		if b, err = req.Encode(); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/timestamp-reply")
		out, _ := unit.Respond(b)
		_, _ = w.Write(out)
	}))
	t.Cleanup(srv.Close)
	return srv.URL, asked
}

// An authority that answers wrongly: another nonce, none, another imprint, an
// expired certificate, a clock that is off either way. No such token is ever
// embedded: the record is in ERROR with 114 and has no signed document, and the
// price comes back.
func TestLyingTimestamps(t *testing.T) {
	t.Parallel()
	pki := adestest.Must(t, time.Now)
	unit := func(change func(*tsp.Responder)) *tsp.Responder {
		u := *pki.Unit
		change(&u)
		return &u
	}
	at := func(d time.Duration) *tsp.Responder {
		return unit(func(u *tsp.Responder) { u.Now = func() time.Time { return time.Now().Add(d) } })
	}
	old := adestest.Must(t, func() time.Time { return time.Now().AddDate(-25, 0, 0) }) // its certificates have ended
	expired := *old.Unit
	expired.Now = time.Now
	other := pki.Actor(t, "p256")
	plain := func(*tsp.Request) {}
	cases := map[string]struct {
		unit   *tsp.Responder
		change func(*tsp.Request)
	}{
		"another nonce":       {pki.Unit, func(r *tsp.Request) { r.Nonce = big.NewInt(1) }},
		"no nonce":            {pki.Unit, func(r *tsp.Request) { r.Nonce = nil }},
		"another imprint":     {pki.Unit, func(r *tsp.Request) { r.Digest = bytes.Clone(r.Digest); r.Digest[0] ^= 1 }},
		"expired certificate": {&expired, plain},
		"clock behind":        {at(-time.Hour), plain},
		"clock ahead":         {at(time.Hour), plain},
		"another's key":       {unit(func(u *tsp.Responder) { u.Key = other.Key }), plain},
		"no unit's":           {unit(func(u *tsp.Responder) { u.Key, u.Certificate = other.Key, other.Certificate }), plain},
	}
	urls := map[string]string{}
	var hosts []string
	for name, c := range cases {
		urls[name], _ = stampServer(t, c.unit, c.change)
		hosts = append(hosts, urls[name])
	}
	good, _ := stampServer(t, pki.Unit, plain)
	s := newSite(t, allow(append(hosts, good)...))
	before := s.Credit()
	for name, url := range urls {
		for _, doc := range [][]byte{sitetest.SamplePDF, sitetest.SampleXML, sitetest.SampleTXT} {
			r := s.Sign(b64(doc), optionsOf(m{"level": "T", "timestampUrl": url}))
			if r.State != "ERROR" || r.Number() != 114 || r.Document.SignedDocument != nil || r.Options["achievedLevel"] != nil {
				t.Errorf("%s: %s %d, achieved %v", name, r.State, r.Number(), r.Options["achievedLevel"])
			}
		}
	}
	if got := s.Credit(); got != before {
		t.Errorf("%v of credit, %v before", got, before)
	}
	if r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"level": "T", "timestampUrl": good})); r.State != "DONE" || r.Options["achievedLevel"] != "T" {
		t.Errorf("a good one: %s %d %s", r.State, r.Number(), deref(r.ErrorMessage))
	}
	s.VerifyAudit()
}

// Of the configured authorities the next is asked when one is down, broken,
// slow or lies: within fifteen seconds the document is stamped.
func TestTimestampFailover(t *testing.T) {
	t.Parallel()
	pki := adestest.Must(t, time.Now)
	plain := func(*tsp.Request) {}
	lying, _ := stampServer(t, pki.Unit, func(r *tsp.Request) { r.Nonce = big.NewInt(1) })
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	t.Cleanup(broken.Close)
	down := httptest.NewServer(nil)
	down.Close()
	for name, first := range map[string]string{"down": down.URL, "broken": broken.URL, "lying": lying, "slow": slow.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good, asked := stampServer(t, pki.Unit, plain)
			s := newSite(t, allow(first, good), func(c *server.Config) { c.Signing.TimestampURL = first + "," + good })
			begin := time.Now()
			r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"level": "T"}))
			if took := time.Since(begin); r.State != "DONE" || r.Options["achievedLevel"] != "T" || took > time.Minute {
				t.Errorf("%s %d %s after %v", r.State, r.Number(), deref(r.ErrorMessage), took)
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("the good one was asked %d times", n)
			}
		})
	}
}

// What the operator lists as private hosts works for documents, time-stamps
// and callbacks, sent anew or again; what is not listed works for none of them.
func TestAllowListIsOneForAll(t *testing.T) {
	t.Parallel()
	pki := adestest.Must(t, time.Now)
	host := func() (string, *atomic.Int64) {
		var n atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.Add(1)
			switch {
			case r.URL.Path == "/tsa":
				pki.Unit.ServeHTTP(w, r)
			case r.Method == http.MethodGet:
				_, _ = w.Write(sitetest.SampleTXT)
			}
		}))
		t.Cleanup(srv.Close)
		return srv.URL, &n
	}
	listed, seen := host()
	other, never := host()
	s := newSite(t, allow(listed))
	type try struct {
		name string
		call func(base string) string
		ok   string
		no   string
	}
	for _, c := range []try{
		{"document", func(base string) string { return outcome(s.Do("POST", "/EU-QES_automatic", s.Body(base+"/doc"))) }, "DONE 0", "ERROR 117"},
		{"time-stamp", func(base string) string {
			return outcome(s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT), optionsOf(m{"level": "T", "timestampUrl": base + "/tsa"}))))
		}, "DONE 0", "422/625"},
		{"callback", func(base string) string {
			return outcome(s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT), m{"callback": m{"url": base + "/hook"}})))
		}, "DONE 0", "422/706"},
	} {
		before := seen.Load()
		if got := c.call(listed); got != c.ok {
			t.Errorf("%s at the listed host: %s", c.name, got)
		}
		for range await.Within(await.Limit) {
			if seen.Load() != before {
				break
			}
		}
		if seen.Load() == before {
			t.Errorf("%s: the listed host was not reached", c.name)
		}
		if got := c.call(other); got != c.no {
			t.Errorf("%s at another: %s", c.name, got)
		}
		sameHost := strings.Replace(listed, "127.0.0.1", "localhost", 1) // the same place under another name is not listed
		if got := c.call(sameHost); got != c.no {
			t.Errorf("%s at another name of it: %s", c.name, got)
		}
	}
	var list []struct{ ID string }
	if err := json.Unmarshal(s.Do("GET", "/callbacks", nil).Data, &list); err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	before := seen.Load()
	if a := s.Do("POST", "/callbacks/"+list[0].ID+"/resend", nil); a.Status != 200 {
		t.Errorf("resend: %d %s", a.Status, a.Message)
	}
	for range await.Within(await.Limit) {
		if seen.Load() != before {
			break
		}
	}
	if seen.Load() == before {
		t.Error("sent again, it does not arrive")
	}
	if n := never.Load(); n != 0 {
		t.Errorf("the host that is not listed was reached %d times", n)
	}
}
