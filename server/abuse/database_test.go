package abuse_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// Who can write to the database does not change what is signed: an approval is
// given for what was asked for, and a record that is something else now is
// neither approved nor signed.
func TestDatabaseDoesNotChangeWhatIsSigned(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv, other := s.OpenServer(), "Bearer "+s.OtherToken()
		options := func(set m) func(id string) {
			return func(id string) {
				o := m{"level": "B", "hashAlgorithm": "SHA256", "page": 1, "parallelSignature": true, "timestampHashAlgo": "SHA256", "timezone": "UTC"}
				if text := field(srv, t, `select options from signatures where id = $1`, id); text != "" { // else they are these
					o = m{}
					if err := json.Unmarshal([]byte(text), &o); err != nil {
						t.Fatal(err)
					}
				}
				for k, v := range set {
					o[k] = v
				}
				text, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				execute(srv, t, `update signatures set options = $1 where id = $2`, string(text), id)
			}
		}
		column := func(set string) func(id string) {
			return func(id string) { execute(srv, t, `update signatures set `+set+` where id = $1`, id) }
		}
		victim := s.Waiting()
		for name, change := range map[string]func(id string){
			"another picture":        options(m{"signerImage": m{"reason": "I agree", "imageVisible": true, "width": 100, "height": 40}}),
			"another level":          options(m{"level": "LTA"}),
			"another format":         options(m{"askedType": "cades"}),
			"another hash":           options(m{"hashAlgorithm": "SHA512"}),
			"another place":          options(m{"page": 2, "x": 10}),
			"another authority":      options(m{"timestampUrl": "https://tsa.example", "withTimestamp": true}),
			"another title":          column(`title = 'another'`),
			"another asker":          column(`token_id = 'another'`),
			"more time for it":       column(`approval_until = approval_until + 86400000`),
			"the secrets of another": column(`secret = (select secret from signatures where id = '` + victim + `')`),
			"another certificate": func(id string) {
				execute(srv, t, `update signatures set certificate_id = $1 where id = $2`, field(srv, t, `select certificate_id from signatures where id = $1`, victim), id)
			},
			"a picture": func(id string) {
				execute(srv, t, `insert into signature_files (id, signature_id, role, sha256, md5, blob, created_at)
					select id, signature_id, 'image', sha256, md5, blob, created_at from signature_files where signature_id = $1 and role = 'input'`, id)
			},
			"another document to sign": func(id string) {
				execute(srv, t, `update signature_files set blob = (select blob from signature_files where signature_id = $2 and role = 'input') where signature_id = $1 and role = 'input'`, id, victim)
			},
			"another name": func(id string) {
				execute(srv, t, `update signature_files set label = 'b.pdf' where signature_id = $1`, id)
			},
		} {
			id := s.Waiting()
			change(id)
			if a := s.Do("POST", "/approvals/"+id, nil, "Authorization", other); a.Status == 200 {
				t.Errorf("%s: it is approved", name)
			}
			// An approval that was given before the change does not help.
			execute(srv, t, `update signatures set approval = 'APPROVED', lease_until = 1, updated_at = 1 where id = $1`, id)
			if err := srv.Parts().Signing.Sweep(context.Background()); err != nil {
				t.Fatal(err)
			}
			if n := field(srv, t, `select cast(count(*) as text) from signing_intents where signature_id = $1`, id); n != "0" {
				t.Errorf("%s: a key was used", name)
			}
		}
		if a := s.Do("POST", "/approvals/"+victim, nil, "Authorization", other); a.Status != 200 {
			t.Fatalf("what nobody touched is not approved: %s", a.Message)
		}
		if r := s.Wait(victim, "DONE", "ERROR"); r.State != "DONE" {
			t.Errorf("%s %s", r.State, deref(r.ErrorMessage))
		}
	})
}

// Who can write to the database reads no documents and no secrets of others by
// putting them into rows of an account of their own, nor by moving that account's
// tokens and keys.
func TestDatabaseDoesNotRead(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		made, err := srv.CreateAccount(context.Background(), "other@example.org", false)
		if err != nil {
			t.Fatal(err)
		}
		own := []string{"Authorization", "Bearer " + made.Token}
		token := func() string {
			t.Helper()
			var n struct{ Token string }
			a := s.Do("POST", "/tokens", m{"scopes": []string{"GET:*/wallet"}, "limits": m{"ip": []string{"192.0.2.1"}}}, own...)
			if a.Status != 200 || json.Unmarshal(a.Data, &n) != nil {
				t.Fatal(a.Message)
			}
			return n.Token
		}
		secret := "a contract that nobody else may read"
		r := s.Sign(b64([]byte(secret)), m{"callback": m{"url": "https://a.example/hook", "headers": m{"Authorization": "Bearer canary"}}})
		victim := field(srv, t, `select account_id from signatures where id = $1`, r.ID)
		me := field(srv, t, `select id from accounts where email = 'other@example.org'`)
		if a := s.Do("GET", "/callbacks/secret", nil); a.Status != 200 {
			t.Fatal(a.Message)
		}
		sees := func(name, path string, header ...string) {
			t.Helper()
			a, b := s.Raw("GET", path, nil, header...)
			if a.Status == 200 && (strings.Contains(string(b), secret) || strings.Contains(string(b), s.Box.WebhookSecret) || strings.Contains(string(b), r.ID)) {
				t.Errorf("%s: %d %s", name, a.Status, b)
			}
		}
		// A record of one's own: its rows are those of a refused call.
		a := s.Do("POST", "/EU-QES_automatic", m{"inputDocuments": b64([]byte("mine")), "certificateUsername": "nobody", "certificatePassword": "nothing"}, own...)
		mine := s.Record(a).ID
		for _, role := range []string{"input", "signed"} {
			execute(srv, t, `insert into signature_files (id, signature_id, role, md5, sha256, size, extension, name, blob, created_at)
				select id, $1, 'signed', md5, sha256, size, extension, name, blob, created_at from signature_files where signature_id = $2 and role = $3`, mine, r.ID, role)
			execute(srv, t, `update signatures set state = 'DONE' where id = $1`, mine)
			sees("the blob of the "+role+" document", "/signatures/"+mine+"/signedDocument", own...)
			execute(srv, t, `delete from signature_files where signature_id = $1`, mine)
		}
		execute(srv, t, `update signatures set account_id = $1 where id = $2`, me, r.ID)
		sees("the record in another account", "/signatures/"+r.ID+"/signedDocument", own...)
		execute(srv, t, `update signatures set account_id = $1 where id = $2`, victim, r.ID)

		execute(srv, t, `insert into callback_secrets (id, account_id, secret, created_at) select 'z' || id, $1, secret, created_at from callback_secrets where account_id = $2`, me, victim)
		sees("the secret of callbacks", "/callbacks/secret", own...)
		execute(srv, t, `insert into callbacks (id, account_id, scope, record_id, url, method, field, headers, state, reached_at, retry, webhook_id, created_at)
			select 'aaaaaaaaaaaaaaaaaaaaaaaa', $1, scope, record_id, url, method, field, headers, state, reached_at, retry, webhook_id, created_at from callbacks where account_id = $2 limit 1`, me, victim)
		sees("a body of callbacks", "/callbacks/aaaaaaaaaaaaaaaaaaaaaaaa", own...)
		d := field(srv, t, `select id from callbacks where account_id = $1 limit 1`, victim)
		execute(srv, t, `update callbacks set url = 'https://b.example/hook' where id = $1`, d)
		if a := s.Do("POST", "/callbacks/"+d+"/resend", nil); a.Status == 200 {
			t.Error("a delivery is sent to another address, with its headers")
		}

		// Tokens: what they are and may do is theirs.
		id := func(token string) string {
			t.Helper()
			return field(srv, t, `select id from tokens where last_four = $1 and account_id = $2`, token[len(token)-4:], me)
		}
		for name, set := range map[string]string{
			"another account":        `account_id = '` + victim + `'`,
			"another parent":         `parent_id = null`,
			"more scopes":            `scopes = '*:*/*'`,
			"any address":            `addresses = ''`,
			"a longer life":          `expire_at = expire_at + 1000`,
			"a limit":                `total_limit = 1000000`,
			"another line":           `line_id = 'another'`,
			"a longer line":          `line_until = line_until + 1000`,
			"all of another":         `mac = (select mac from tokens where account_id = '` + victim + `' limit 1)`,
			"without a keyed digest": `mac = ''`,
		} {
			n := token()
			execute(srv, t, `update tokens set `+set+` where id = $1`, id(n))
			if a := s.Do("GET", "/wallet", nil, "Authorization", "Bearer "+n); a.Status != 401 {
				t.Errorf("a token with %s: %d %s", name, a.Status, a.Data)
			}
		}
		n := token()
		hash := rawField(srv, t, `select hash from tokens where id = $1`, id(n))
		execute(srv, t, `delete from tokens where id = $1`, id(n))
		execute(srv, t, `update tokens set hash = $1 where id = (select max(id) from tokens where account_id = $2)`, hash, victim)
		if a := s.Do("GET", "/wallet", nil, "Authorization", "Bearer "+n); a.Status != 401 {
			t.Errorf("the own secret in another's token: %d %s", a.Status, a.Data)
		}
		execute(srv, t, `update accounts set key_hash = $1 where id = $2`, rawField(srv, t, `select key_hash from accounts where id = $1`, me), victim)
		basic := base64.StdEncoding.EncodeToString([]byte(s.Box.Email + ":" + made.APIKey))
		if a := s.Do("GET", "/wallet", nil, "Authorization", "Basic "+basic); a.Status != 401 {
			t.Errorf("the own key in another's account: %d %s", a.Status, a.Data)
		}
	})
}

// What was taken back stays taken back: a row of before, whole and with good
// seals, is refused where it is used, since the log says otherwise.
func TestDatabaseDoesNotBringBack(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		call := func(method, path string, body any) {
			t.Helper()
			if a := s.Do(method, path, body); a.Status != 200 {
				t.Fatalf("%s: %d %s", path, a.Status, a.Message)
			}
		}
		keep := func(h issued) func() {
			sealed, totp := rawField(srv, t, `select sealed from credentials where id = $1`, h.ID), rawField(srv, t, `select totp from credentials where id = $1`, h.ID)
			return func() {
				execute(srv, t, `update credentials set sealed = $1, totp = $2, totp_step = 0 where id = $3`, sealed, totp, h.ID)
				execute(srv, t, `update certificates set state = 'DONE' where id = $1`, h.ID)
				execute(srv, t, `update authority_issued set revoked_at = 0, reason = 0 where certificate_id = $1`, h.ID)
			}
		}
		sign := func(h issued, kind, code string) int {
			t.Helper()
			a := s.Do("POST", "/EU-QES_"+kind, m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": h.User, "certificatePassword": h.Pass, "certificateOtp": code})
			if a.Status != 200 {
				return a.Status
			}
			return s.Record(a).Number()
		}
		for name, change := range map[string]func(h issued){
			"revoked":   func(h issued) { call("POST", "/certificates/"+h.ID+"/revoke", nil) },
			"suspended": func(h issued) { call("POST", "/certificates/"+h.ID+"/suspend", nil) },
			"suspended, then revoked": func(h issued) {
				call("POST", "/certificates/"+h.ID+"/suspend", nil)
				call("POST", "/certificates/"+h.ID+"/revoke", nil)
			},
			"a new password": func(h issued) {
				call("POST", "/certificates/"+h.ID+"/password", m{"old": h.Pass, "new": "another password"})
			},
			"suspended, a new password": func(h issued) {
				call("POST", "/certificates/"+h.ID+"/suspend", nil)
				call("POST", "/certificates/"+h.ID+"/password", m{"old": h.Pass, "new": "another password"})
			},
		} {
			h := s.Issued("automatic", nil)
			back := keep(h)
			if n := sign(h, "automatic", ""); n != 0 {
				t.Fatalf("%s: before: %d", name, n)
			}
			change(h)
			back()
			if n := sign(h, "automatic", ""); n != 112 {
				t.Errorf("%s, and put back: %d", name, n)
			}
		}
		// A device that was replaced, and a code that was used.
		h := s.Issued("otp", nil)
		back := keep(h)
		code := codeOf(t, h.Secret, 0)
		if n := sign(h, "otp", code); n != 0 {
			t.Fatal(n)
		}
		back()
		if n := sign(h, "otp", code); n != 116 {
			t.Errorf("a used code: %d", n)
		}
		err := srv.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
			return srv.Parts().Keys.Enrol(context.Background(), tx, h.ID, keys.NewTOTPSecret())
		})
		if err != nil {
			t.Fatal(err)
		}
		back()
		if n := sign(h, "otp", codeOf(t, h.Secret, 1)); n != 112 {
			t.Errorf("an old device: %d", n)
		}
		if a := s.Do("POST", "/certificates/"+h.ID+"/password", m{"old": h.Pass, "new": "another password"}); a.Status == 200 {
			t.Error("the password of a row that was put back is changed")
		}
		// What was on hold and is not any more signs.
		h = s.Issued("automatic", nil)
		call("POST", "/certificates/"+h.ID+"/suspend", nil)
		call("POST", "/certificates/"+h.ID+"/resume", nil)
		if n := sign(h, "automatic", ""); n != 0 {
			t.Errorf("resumed: %d", n)
		}
	})
}
