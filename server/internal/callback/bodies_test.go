package callback_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// What a callback carries is made when it is sent: nothing of it is kept beside the
// record. However late it is sent, it tells of its own state, and a link that is the
// holder's alone by then is not in it.
func TestCallbackBodiesAreMadeAtDelivery(t *testing.T) {
	t.Parallel()
	var deaf atomic.Bool
	r := newReceiver(t, func(_ int, w http.ResponseWriter) {
		if deaf.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	eachEngine(t, func(t *testing.T, s *site) {
		r.Mu.Lock()
		r.Got = nil
		r.Mu.Unlock()
		srv := s.OpenServer()
		target := m{"url": r.URL + "/hook", "custom": m{"a": 1}}

		deaf.Store(true)
		rec := s.Sign(b64(sitetest.SamplePDF), m{"callback": target, "title": "canary-title", "options": m{"asyncDocumentsValidation": true}})
		done := s.Wait(rec.ID, "DONE")
		r.Wait(t, 1)
		deaf.Store(false)
		execute(srv, t, `update callbacks set lease_until = 0 where active = 1 and lease_by = ''`)
		states := func() (list []string, last string) {
			r.Mu.Lock()
			defer r.Mu.Unlock()
			for _, g := range r.Got {
				var body struct {
					Data   json.RawMessage
					Custom m
				}
				if err := json.Unmarshal(g.Body, &body); err != nil || body.Custom["a"] != 1.0 {
					t.Fatalf("%s: %v", g.Body, err)
				}
				var told record
				if err := json.Unmarshal(body.Data, &told); err != nil || told.ID != rec.ID || deref(told.Document.Title) != "canary-title" {
					t.Fatalf("%s: %v", g.Body, err)
				}
				if signed := told.Document.SignedDocument != nil; signed != (told.State == "DONE") || (told.State == "DONE") != (told.UpdatedAt == done.UpdatedAt) {
					t.Errorf("%s tells of a signed document %v, at %s", told.State, signed, told.UpdatedAt)
				}
				if list = append(list, told.State); told.State == "DONE" {
					last = string(body.Data)
				}
			}
			return list, last
		}
		var list []string
		var last string
		for range await.Within(60 * time.Second) {
			if list, last = states(); len(list) > 2 && countRows(srv, t, `select count(*) from callbacks where active = 1`) == 0 {
				break
			}
		}
		if list[0] != "WAIT_SIGN" || !slices.Contains(list[1:], "WAIT_SIGN") || !slices.Contains(list, "DONE") {
			t.Fatalf("%v", list)
		}
		_, now := s.Raw("GET", "/signatures/"+rec.ID, nil)
		if !strings.Contains(string(now), last) {
			t.Errorf("%s was told, and %s is asked", last, now)
		}
		// Of the record nothing stands in the row.
		for _, column := range []string{"url", "method", "field", "custom", "scope", "state", "problem"} {
			if text := field(srv, t, fmt.Sprintf(`select %s from callbacks where record_id = $1 limit 1`, column), rec.ID); strings.Contains(text, "canary") {
				t.Errorf("%s: %s", column, text)
			}
		}
		for state, want := range map[string]int{"ERROR": 500, "WAIT_SIGN": 500} { // nor is one sent again whose row names another state
			id := field(srv, t, `select max(id) from callbacks where record_id = $1 and state = 'DONE'`, rec.ID)
			execute(srv, t, `update callbacks set state = $2 where id = $1`, id, state)
			if a := s.Do("POST", "/callbacks/"+id+"/resend", nil); a.Status != want {
				t.Errorf("a delivery that tells of %s is sent again: %d", state, a.Status)
			}
			execute(srv, t, `update callbacks set state = 'DONE' where id = $1`, id)
		}
		s.Do("DELETE", "/signatures/"+rec.ID, nil)
		if n := countRows(srv, t, fmt.Sprintf(`select count(*) from callbacks where record_id = '%s'`, rec.ID)); n != 0 {
			t.Errorf("%d deliveries of a record that is gone", n)
		}

		// A certificate whose first state is told when its credentials wait.
		r.Mu.Lock()
		r.Got = nil
		r.Mu.Unlock()
		deaf.Store(true)
		s.Holder = aBrowser(t)
		c := s.BuyWaiting(m{"callback": target})
		r.Wait(t, 1)
		if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}, s.Reviewer()...); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		deaf.Store(false)
		execute(srv, t, `update callbacks set lease_until = 0 where active = 1 and lease_by = ''`)
		for range await.Within(60 * time.Second) {
			if s.CertificateState(c.ID) == "DONE" && countRows(srv, t, `select count(*) from callbacks where active = 1`) == 0 {
				break
			}
		}
		r.Mu.Lock()
		defer r.Mu.Unlock()
		late := false
		for _, g := range r.Got[1:] {
			late = late || strings.Contains(string(g.Body), `"REGISTERING"`)
			if strings.Contains(string(g.Body), "/enrol/") {
				t.Errorf("the link of waiting credentials is told: %s", g.Body)
			}
		}
		if !late {
			t.Error("no late state was told")
		}
		s.Holder = nil
	}, allow(r.URL))
}
