package account_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// tally counts answers by status and number.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[key]++
}

// Guesses at full rate from many addresses: five are judged, the rest are told
// that the certificate is locked; the lock is in the audit log, once.
func TestPasswordGuessing(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		var got tally
		var wg sync.WaitGroup
		for i := range 60 {
			wg.Go(func() {
				a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT), m{"certificatePassword": fmt.Sprint("guess ", i)}),
					"X-Forwarded-For", fmt.Sprintf("198.51.100.%d", i))
				got.add(outcome(a))
			})
		}
		wg.Wait()
		if got.n["ERROR 110"] != 5 || got.n["423/111"] != 55 {
			t.Errorf("%v", got.n)
		}
		if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT))); outcome(a) != "423/111" {
			t.Errorf("the right password passes the lock: %s", outcome(a))
		}
		var log bytes.Buffer
		if err := s.OpenServer().ExportAudit(context.Background(), &log, 0); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(log.String(), `"certificate-locked"`); n != 1 {
			t.Errorf("the lock is %d times in the audit log", n)
		}
		s.VerifyAudit()
	}, func(c *server.Config) { c.TrustedProxies = []string{"127.0.0.0/8"} })
}

// A wrong password and an unknown username cannot be told apart by the answer.
func TestUnknownUserLooksLikeWrongPassword(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	one := s.Sign(b64(sitetest.SampleTXT), m{"certificatePassword": "wrong"})
	two := s.Sign(b64(sitetest.SampleTXT), m{"certificateUsername": "AHI0000000000000", "certificatePassword": "wrong"})
	plain := func(r *record) string {
		r.ID, r.CreatedAt, r.UpdatedAt = "", "", ""
		for i := range r.Document.InputDocuments {
			r.Document.InputDocuments[i].ID, r.Document.InputDocuments[i].CreatedAt = "", ""
		}
		b, _ := json.Marshal(r)
		return string(b)
	}
	if a, b := plain(one), plain(two); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

// Callers who have no token of the account cannot lock its certificates: other accounts, callers
// without a token, and tokens that are void or lack the scope.
func TestStrangersLockNobodyOut(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		stranger := "Bearer " + s.Stranger()
		void := s.OtherToken()
		s.Do("DELETE", "/tokens/"+void, nil)
		var narrow struct{ Token string }
		if a := s.Do("POST", "/tokens", m{"scopes": []string{"GET:*/signatures"}}); json.Unmarshal(a.Data, &narrow) != nil {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		bad := s.Body(b64(sitetest.SampleTXT), m{"certificatePassword": "wrong"})
		for range 12 {
			for auth, want := range map[string]string{stranger: "", "Bearer " + void: "401/125", "Bearer nothing": "401/125", "Bearer " + narrow.Token: "403/126"} {
				a := s.Do("POST", "/EU-QES_automatic", bad, "Authorization", auth)
				if want != "" && outcome(a) != want {
					t.Fatalf("%s, want %s", outcome(a), want)
				}
			}
		}
		if r := s.Sign(b64(sitetest.SampleTXT)); r.State != "DONE" {
			t.Errorf("the owner is locked out: %s %d", r.State, r.Number())
		}
	})
}

// A hundred uses of one code at once: one signature, or none where the lock
// that the others bring about comes before its key is used.
func TestOneCodeOneSignature(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		code := s.OTP()
		var got tally
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				got.add(outcome(s.Do("POST", "/EU-QES_otp", s.OTPBody(b64(fmt.Appendf(nil, "document %d", i)), code))))
			})
		}
		wg.Wait()
		if first := got.n["DONE 0"] + got.n["ERROR 111"]; first != 1 || first+got.n["ERROR 116"]+got.n["423/111"] != 100 {
			t.Errorf("%v", got.n)
		}
	})
}

// Five wrong codes void the chance: the sixth is not looked at, not even the
// right one.
func TestCodeGuessing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 5 {
		code := "000000"
		if code == s.OTP() {
			code = "000001"
		}
		if got := outcome(s.Do("POST", "/EU-QES_otp", s.OTPBody(b64(sitetest.SampleTXT), code))); got != "ERROR 116" {
			t.Fatalf("guess %d: %s", i+1, got)
		}
	}
	if got := outcome(s.Do("POST", "/EU-QES_otp", s.OTPBody(b64(sitetest.SampleTXT), s.OTP()))); got != "423/111" {
		t.Errorf("after five guesses: %s", got)
	}
}

// A code that was given for one document is good for no other: not in another call, not in a larger
// batch, not under the key of the first call, and not after a change of the database while the
// record waits.
func TestCodeIsForItsDocuments(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		code := s.OTP()
		first := s.OTPBody(b64([]byte("A")), code)
		if got := outcome(s.Do("POST", "/EU-QES_otp", first, "Idempotency-Key", "k")); got != "DONE 0" {
			t.Fatal(got)
		}
		for name, body := range map[string]m{
			"another document": s.OTPBody(b64([]byte("B")), code),
			"a larger batch":   s.OTPBody([]string{b64([]byte("A")), b64([]byte("B"))}, code, optionsOf(m{"batch": true})),
		} {
			if got := outcome(s.Do("POST", "/EU-QES_otp", body)); got != "ERROR 116" {
				t.Errorf("%s: %s", name, got)
			}
			if a := s.Do("POST", "/EU-QES_otp", body, "Idempotency-Key", "k"); a.Code() != 151 {
				t.Errorf("%s under the same key: %d/%d", name, a.Status, a.Code())
			}
		}
		srv, other := s.OpenServer(), "Bearer "+s.OtherToken()
		exec := func(query string, args ...any) {
			t.Helper()
			err := srv.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
				_, err := tx.Exec(context.Background(), query, args...)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var blob string
		var digest []byte
		b := s.Sign(b64([]byte("B")))
		row := srv.Parts().DB.Read().QueryRow(context.Background(), `select blob, sha256 from signature_files where signature_id = $1 and role = 'input'`, b.ID)
		if err := row.Scan(&blob, &digest); err != nil {
			t.Fatal(err)
		}
		for name, change := range map[string]func(id string){
			"another blob": func(id string) {
				exec(`update signature_files set blob = $1 where signature_id = $2 and role = 'input'`, blob, id)
			},
			"another blob and its digest": func(id string) {
				exec(`update signature_files set blob = $1, sha256 = $2 where signature_id = $3 and role = 'input'`, blob, digest, id)
			},
			"one more": func(id string) {
				exec(`update signature_files set signature_id = $1, position = 1 where signature_id = $2 and role = 'input'`, id, b.ID)
			},
		} {
			id := s.Waiting()
			change(id)
			if a := s.Do("POST", "/approvals/"+id, nil, "Authorization", other); a.Code() != 145 {
				t.Errorf("%s: %d %s", name, a.Status, a.Message)
			}
		}
	})
}

// A key pair of one kind serves no other: every certificate at every endpoint.
func TestKindsDoNotMix(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for kind, c := range s.Box.Certificates {
		for _, at := range []string{"automatic", "otp", "eseal"} {
			body := m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": c.Username, "certificatePassword": c.Password}
			if at == "otp" {
				body["certificateOtp"] = s.OTP()
			}
			want := "ERROR 118"
			if at == kind {
				want = "DONE 0"
			}
			if got := outcome(s.Do("POST", "/EU-QES_"+at, body)); got != want {
				t.Errorf("%s at %s: %s", kind, at, got)
			}
		}
	}
}
