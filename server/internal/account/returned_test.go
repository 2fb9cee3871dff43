package account_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// copyRows keeps rows of a table, to be put back as they were.
func copyRows(s *server.Server, t *testing.T, table, where string, args ...any) (back func()) {
	t.Helper()
	kept := "kept_" + table + "_" + store.NewID()
	execute(s, t, `create table `+kept+` as select * from `+table+` where 1 = 0`)
	execute(s, t, `insert into `+kept+` select * from `+table+` where `+where, args...)
	return func() { execute(s, t, `insert into `+table+` select * from `+kept) }
}

// The waiting records of a deleted token are not signed, even if someone who can write to the
// database puts its row back meanwhile, or writes that the token was replaced by another one; nor
// does its family grow by that.
func TestReturnedTokensPermitNothing(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		token := func(auth string) (id, secret string) {
			t.Helper()
			var made struct{ ID, Token string }
			if a := s.Do("POST", "/tokens", m{"scopes": []string{"*:*/*"}}, "Authorization", auth); a.Status != 200 || json.Unmarshal(a.Data, &made) != nil {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			return made.ID, made.Token
		}
		// asks has a record wait for an approval that a token has asked for.
		asks := func(secret string) string {
			t.Helper()
			c := s.Issued("otp", m{"securityLevel": 5})
			r := s.Record(s.Do("POST", "/EU-QES_otp", m{
				"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": c.User, "certificatePassword": c.Pass, "certificateOtp": codeOf(t, c.Secret, 0),
			}, "Authorization", "Bearer "+secret))
			if r.State != "WAIT_SIGN" {
				t.Fatalf("%s %s", r.State, deref(r.ErrorMessage))
			}
			return r.ID
		}
		other, otherSecret := token(s.ApiKey())
		line := field(srv, t, `select line_id from tokens where id = $1`, other)
		becomes := func(id, line string) (undo func()) { // which only the server may write
			hash := []byte(id)
			execute(srv, t, `insert into spent_tokens (refresh_hash, token_id, account_id, line_id, spent_at, mac)
				select $1, $2, account_id, $3, created_at, mac from tokens where id = $4`, hash, id, line, other)
			return func() { execute(srv, t, `delete from spent_tokens where refresh_hash = $1`, hash) }
		}
		deleted := func(id string) {
			t.Helper()
			if a := s.Do("DELETE", "/tokens/"+id, nil, "Authorization", s.ApiKey()); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
		}
		unsigned := func(what, record string) {
			t.Helper()
			if r := s.Wait(record, "DONE", "ERROR"); r.State != "ERROR" || field(srv, t, `select cast(count(*) as text) from signing_intents where signature_id = $1`, record) != "0" {
				t.Errorf("%s: %s %s", what, r.State, deref(r.ErrorMessage))
			}
		}
		approve := func(record, secret string) *answer {
			return s.Do("POST", "/approvals/"+record, nil, "Authorization", "Bearer "+secret)
		}

		// Its own child approves, once the row says that the asker was replaced by another token.
		id, secret := token(s.ApiKey())
		_, child := token("Bearer " + secret)
		record := asks(secret)
		undo := becomes(id, line)
		if a := approve(record, child); a.Status != 403 || a.Code() != 129 {
			t.Errorf("a child approves: %d/%d", a.Status, a.Code())
		}
		undo()
		if a := approve(record, otherSecret); a.Status != 200 {
			t.Fatalf("%d/%d %s", a.Status, a.Code(), a.Message)
		}
		if r := s.Wait(record, "DONE", "ERROR"); r.State != "DONE" {
			t.Errorf("%s %s", r.State, deref(r.ErrorMessage))
		}

		// The asker is deleted, and its row put back.
		id, secret = token(s.ApiKey())
		record = asks(secret)
		back := copyRows(srv, t, "tokens", `id = $1`, id)
		deleted(id)
		back()
		if a := approve(record, otherSecret); a.Status == 200 {
			unsigned("the asker was put back", record)
		}
		execute(srv, t, `delete from tokens where id = $1`, id)

		// The asker is deleted, and said to have become another.
		id, secret = token(s.ApiKey())
		record = asks(secret)
		if a := approve(record, otherSecret); a.Status != 200 { // approved, and not signed yet or signed by now
			t.Fatalf("%d/%d %s", a.Status, a.Code(), a.Message)
		}
		s.Wait(record, "DONE", "ERROR")
		record = asks(secret)
		deleted(id)
		undo = becomes(id, line)
		third, thirdSecret := token(s.ApiKey())
		if a := approve(record, thirdSecret); a.Status == 200 {
			unsigned("the asker is said to be another", record)
		}
		undo()

		// The approver is deleted before the record is signed.
		_, secret = token(s.ApiKey())
		record = asks(secret)
		s.Run.Stop() // it is not worked on until the test says so
		h := s.OpenServer()
		front := httptest.NewServer(h.Handler())
		defer front.Close()
		s.URL = front.URL
		if a := approve(record, thirdSecret); a.Status != 200 {
			t.Fatalf("%d/%d %s", a.Status, a.Code(), a.Message)
		}
		back = copyRows(srv, t, "tokens", `id = $1`, third)
		deleted(third)
		back()
		if err := work(h, h.Parts().Signing, job.Config{}); err != nil {
			t.Fatal(err)
		}
		unsigned("the approver was put back", record)
		execute(srv, t, `delete from tokens where id = $1`, third)
		s.VerifyAudit()
	})
}

// A client certificate that was taken off the list does not count again because its row
// is there again.
func TestReturnedClientCertificates(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		file, _ := selfSigned(t, t.TempDir())
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		var made struct{ ID string }
		if a := s.Do("POST", "/client-certificates", m{"name": "mine", "certificate": string(text)}, "Authorization", s.ApiKey()); a.Status != 200 || json.Unmarshal(a.Data, &made) != nil {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		account := field(srv, t, `select account_id from client_certificates where id = $1`, made.ID)
		knows := func() bool {
			t.Helper()
			yes, err := srv.Parts().Enroll.KnowsClient(t.Context(), account, block.Bytes)
			if err != nil {
				t.Fatal(err)
			}
			return yes
		}
		if !knows() {
			t.Fatal("it is not known")
		}
		back := copyRows(srv, t, "client_certificates", `id = $1`, made.ID)
		if a := s.Do("DELETE", "/client-certificates/"+made.ID, nil, "Authorization", s.ApiKey()); a.Status != 200 {
			t.Fatal(a.Message)
		}
		back()
		if knows() {
			t.Error("it was put back, and counts")
		}
		// Nor one that was written to the database, with the keyed digest of another.
		other, _ := selfSigned(t, t.TempDir())
		if text, err = os.ReadFile(other); err != nil {
			t.Fatal(err)
		}
		block, _ = pem.Decode(text)
		execute(srv, t, `update client_certificates set fingerprint = $1 where id = $2`, enroll.Fingerprint(block.Bytes), made.ID)
		if knows() {
			t.Error("one that nobody registered counts")
		}
		if _, list := s.Raw("GET", "/client-certificates", nil); strings.Contains(string(list), made.ID) {
			t.Errorf("it is listed: %s", list)
		}
	})
}
