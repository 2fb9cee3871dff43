package server

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
		r.mu.Lock()
		r.got = nil
		r.mu.Unlock()
		room := s.rooms()
		target := m{"url": r.URL + "/hook", "custom": m{"a": 1}}

		deaf.Store(true)
		rec := s.sign(b64(samplePDF), m{"callback": target, "title": "canary-title", "options": m{"asyncDocumentsValidation": true}})
		done := s.wait(rec.ID, "DONE")
		r.wait(t, 1)
		deaf.Store(false)
		room.execute(t, `update callbacks set lease_until = 0 where active = 1 and lease_by = ''`)
		states := func() (list []string, last string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, g := range r.got {
				var body struct {
					Data   json.RawMessage
					Custom m
				}
				if err := json.Unmarshal(g.body, &body); err != nil || body.Custom["a"] != 1.0 {
					t.Fatalf("%s: %v", g.body, err)
				}
				var told record
				if err := json.Unmarshal(body.Data, &told); err != nil || told.ID != rec.ID || deref(told.Document.Title) != "canary-title" {
					t.Fatalf("%s: %v", g.body, err)
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
			if list, last = states(); len(list) > 2 && room.countRows(t, `select count(*) from callbacks where active = 1`) == 0 {
				break
			}
		}
		if list[0] != "WAIT_SIGN" || !slices.Contains(list[1:], "WAIT_SIGN") || !slices.Contains(list, "DONE") {
			t.Fatalf("%v", list)
		}
		_, now := s.raw("GET", "/signatures/"+rec.ID, nil)
		if !strings.Contains(string(now), last) {
			t.Errorf("%s was told, and %s is asked", last, now)
		}
		// Of the record nothing stands in the row.
		for _, column := range []string{"url", "method", "field", "custom", "scope", "state", "problem"} {
			if text := room.field(t, fmt.Sprintf(`select %s from callbacks where record_id = $1 limit 1`, column), rec.ID); strings.Contains(text, "canary") {
				t.Errorf("%s: %s", column, text)
			}
		}
		for state, want := range map[string]int{"ERROR": 500, "WAIT_SIGN": 500} { // nor does somebody else say what it tells of
			id := room.field(t, `select max(id) from callbacks where record_id = $1 and state = 'DONE'`, rec.ID)
			room.execute(t, `update callbacks set state = $2 where id = $1`, id, state)
			if a := s.do("POST", "/callbacks/"+id+"/resend", nil); a.Status != want {
				t.Errorf("a delivery that tells of %s is sent again: %d", state, a.Status)
			}
			room.execute(t, `update callbacks set state = 'DONE' where id = $1`, id)
		}
		s.do("DELETE", "/signatures/"+rec.ID, nil)
		if n := room.countRows(t, fmt.Sprintf(`select count(*) from callbacks where record_id = '%s'`, rec.ID)); n != 0 {
			t.Errorf("%d deliveries of a record that is gone", n)
		}

		// A certificate whose first state is told when its credentials wait.
		r.mu.Lock()
		r.got = nil
		r.mu.Unlock()
		deaf.Store(true)
		s.holder = aBrowser(t)
		c := s.buyWaiting(m{"callback": target})
		r.wait(t, 1)
		if a := s.do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}, s.reviewer()...); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		deaf.Store(false)
		room.execute(t, `update callbacks set lease_until = 0 where active = 1 and lease_by = ''`)
		for range await.Within(60 * time.Second) {
			if s.certificateState(c.ID) == "DONE" && room.countRows(t, `select count(*) from callbacks where active = 1`) == 0 {
				break
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		late := false
		for _, g := range r.got[1:] {
			late = late || strings.Contains(string(g.body), `"REGISTERING"`)
			if strings.Contains(string(g.body), "/enrol/") {
				t.Errorf("the link of waiting credentials is told: %s", g.body)
			}
		}
		if !late {
			t.Error("no late state was told")
		}
		s.holder = nil
	}, allow(r.URL))
}
