package trust_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/trust"
)

// What goes into a document was said when it was signed, not some minutes before: a
// responder that promises no next answer is asked again. Where it is away then, the
// older answer is better than none.
func TestGathererAsksAgain(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	b := newBoth(t)
	asked, away, behind := 0, false, time.Duration(0)
	b.ocsp = func(w http.ResponseWriter, r *http.Request) bool {
		if r.PathValue("by") != "issuing" {
			return false
		}
		if asked++; away {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		body, _ := io.ReadAll(r.Body)
		req, err := ca.ParseOCSPRequest(body)
		if err != nil {
			t.Error(err)
			return true
		}
		out, err := b.issuing.Answer(req, ca.OCSP{ThisUpdate: now.Add(-behind), ProducedAt: now}, func(ca.CertID) ca.Status { return ca.Status{} })
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(out)
		return true
	}
	g := &trust.Gatherer{Store: b.store(t), Now: func() time.Time { return now }}
	said := func() time.Time {
		t.Helper()
		got, err := g.Gather(context.Background(), [][]byte{b.leaf.Raw}, ades.Bundle{})
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range got.OCSPs {
			o, err := pkix.ParseOCSPResponse(raw)
			if err != nil {
				t.Fatal(err)
			}
			if r := o.Responses[0]; r.SerialNumber.Cmp(b.leaf.SerialNumber) == 0 {
				return r.ThisUpdate
			}
		}
		t.Fatal("no answer about the leaf")
		return time.Time{}
	}
	first := now
	for _, at := range []struct {
		later time.Duration
		away  bool
		said  time.Duration
		asked int
	}{
		{0, false, 0, 1},
		{900 * time.Millisecond, false, 0, 1}, // answers have whole seconds
		{2 * time.Second, false, 2 * time.Second, 2},
		{time.Minute, true, 2 * time.Second, 3},
		{2 * time.Minute, false, 2 * time.Minute, 4},
	} {
		now, away = first.Add(at.later), at.away
		if got := said(); !got.Equal(first.Add(at.said)) || asked != at.asked {
			t.Errorf("after %s: said after %s, asked %d times", at.later, got.Sub(first), asked)
		}
	}
	// One whose clock is behind, or that answers from a store, is asked once a second.
	now, behind, asked = first.Add(3*time.Minute), 20*time.Second, 0
	for range 3 {
		said()
	}
	if asked != 1 {
		t.Errorf("a responder that is behind was asked %d times in a second", asked)
	}
}
