package signing_test

import (
	"context"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// Whatever may forbid the use of a key is judged in the transaction that stores
// the intent, for every document of a batch: what changes after the second
// document is signed stops the third, and no intent is written for it.
func TestJudgedAtEveryUse(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := standing(t, database)
		srv := s.OpenServer()
		for _, c := range []struct {
			name, set, read string
			value           any
			number          int
		}{
			{"suspended", `update certificates set state = $1 where id = $2`, `select state from certificates where id = $1`, "SUSPENDED", 112},
			{"expired", `update certificates set not_after = $1 where id = $2`, `select not_after from certificates where id = $1`, int64(1000), 112},
			{"a higher security level", `update certificates set security_level = $1 where id = $2`, `select security_level from certificates where id = $1`, int64(2), 112},
			{"another password", `update credentials set sealed = $1 where id = $2`, `select sealed from credentials where id = $1`, []byte("sealed anew"), 110},
			{"locked", `update credential_locks set locked_until = $1 where id <> $2`, `select 0`, store.Millis(time.Now().Add(time.Hour)), 111},
			{"token deleted", `delete from tokens where id <> $1 and id = (select token_id from signatures where certificate_id = $2 order by id desc limit 1)`, `select 0`, "", 112},
		} {
			bearer := "Bearer " + s.OtherToken()
			wrong := s.Body(b64(sitetest.SamplePDF))
			wrong["certificatePassword"] = "wrong"
			s.Do("POST", "/EU-QES_automatic", wrong) // so that there is a row to lock
			r := s.Record(s.Do("POST", "/EU-QES_automatic", s.Body([]string{b64(sitetest.SamplePDF), b64(sitetest.SamplePDF), b64(sitetest.SamplePDF)}, optionsOf(m{"asyncSignature": true, "batch": true})), "Authorization", bearer))
			var certificate string
			if err := srv.Parts().DB.Read().QueryRow(context.Background(), `select certificate_id from signatures where id = $1`, r.ID).Scan(&certificate); err != nil {
				t.Fatal(err)
			}
			write := func(query string, args ...any) {
				err := srv.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
					_, err := tx.Exec(context.Background(), query, args...)
					return err
				})
				if err != nil {
					t.Fatal(c.name, err)
				}
			}
			old := c.value // as it was
			switch c.value.(type) {
			case string:
				old = new(string)
			case int64:
				old = new(int64)
			case []byte:
				old = new([]byte)
			}
			arg := []any{certificate}
			if c.read == `select 0` {
				old = int64(0)
			} else if err := srv.Parts().DB.Read().QueryRow(context.Background(), c.read, arg...).Scan(old); err != nil {
				t.Fatal(c.name, err)
			}
			uses := 0
			worker := signingWith(srv, signing.Config{Hook: func(point, _ string) {
				if point == "intended" {
					if uses++; uses == 2 {
						write(c.set, c.value, certificate)
					}
				}
			}})
			if err := work(srv, worker, job.Config{}); err != nil {
				t.Fatal(c.name, err)
			}
			if got := s.Record(s.Do("GET", "/signatures/"+r.ID, nil)); got.State != "ERROR" || got.Number() != c.number {
				t.Errorf("%s: %s %d", c.name, got.State, got.Number())
			}
			if n := countRows(srv, t, `select count(*) from signing_intents where outcome = 'FAILED' and signature_id = '`+r.ID+`'`); n != 2 || uses != 2 {
				t.Errorf("%s: %d intents of %d uses", c.name, n, uses)
			}
			if c.name != "token deleted" {
				write(c.set, old, certificate)
			}
		}
	})
}
