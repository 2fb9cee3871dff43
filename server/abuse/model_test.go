package abuse_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// The model says of everybody whether they may do everything, and names tests
// that there are.
func TestSecurityModel(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(b, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	who := []string{"The holder", "The buyer's token", "An administrator", "An operator with the database", "An operator with the master key", "A stranger"}
	what := []string{"buy", "reveal", "sign", "replace factor", "revoke", "read", "erase"}
	named := regexp.MustCompile("`(Test\\w+)`")
	sections := strings.Split(string(text), "\n## ")
	var found []string
	for _, section := range sections[1:] {
		title, body, _ := strings.Cut(section, "\n")
		if !slices.Contains(who, title) {
			continue
		}
		found = append(found, title)
		var acts []string
		for line := range strings.Lines(body) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			if len(cells) != 3 || strings.HasPrefix(line, "|---") || strings.TrimSpace(cells[0]) == "what" {
				continue
			}
			act, verdict, names := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), named.FindAllStringSubmatch(cells[2], -1)
			acts = append(acts, act)
			if !strings.HasPrefix(verdict, "Yes") && !strings.HasPrefix(verdict, "No") {
				t.Errorf("%s, %s: neither yes nor no: %q", title, act, verdict)
			}
			if len(names) == 0 {
				t.Errorf("%s, %s: no test holds it", title, act)
			}
			for _, n := range names {
				if !tests[n[1]] {
					t.Errorf("%s, %s: there is no %s", title, act, n[1])
				}
			}
		}
		if !slices.Equal(acts, what) {
			t.Errorf("%s: %v, want %v", title, acts, what)
		}
	}
	if !slices.Equal(found, who) {
		t.Errorf("the model is about %v", found)
	}
}

// withoutToken calls without a token.
func withoutToken(s *site, method, path string, body any) int {
	s.T.Helper()
	resp, _ := s.RawAs("", method, path, body)
	return resp.StatusCode
}

// The holder has a link, a browser, a password and a device, and no token.
func TestModelHolder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.Issued("otp", nil)
	if c.Pass == "" || c.Secret == "" {
		t.Fatal("reveal: the holder is not shown the credentials")
	}
	r := s.Record(s.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": c.User, "certificatePassword": c.Pass, "certificateOtp": codeOf(t, c.Secret, 0)}))
	for act, call := range map[string][2]string{
		"buy": {"POST", "/certificates/namirial-otp"}, "sign": {"POST", "/EU-QES_otp"}, "revoke": {"POST", "/certificates/" + c.ID + "/revoke"},
		"read": {"GET", "/signatures/" + r.ID + "/signedDocument"}, "erase": {"DELETE", "/signatures/" + r.ID},
	} {
		if code := withoutToken(s, call[0], call[1], m{}); code != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", act, code)
		}
	}
	for _, action := range []string{"revoke", "suspend", "resume", "cancel", "delete", "review", "approve", "signature", "video"} {
		s.Page(c.CertificateLink, url.Values{"action": {action}})
		if state := s.CertificateState(c.ID); state != "DONE" {
			t.Fatalf("the page did %s: %s", action, state)
		}
	}
	if page := s.Page(c.CertificateLink, nil); strings.Contains(page, r.ID) || strings.Contains(page, c.User) || strings.Contains(page, c.Pass) {
		t.Error("read: the page shows records or credentials")
	}
}

// The buyer's token may do everything in its account, and has neither the
// holder's browser nor the password.
func TestModelBuyer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.Ready("otp", nil)
	s.Holder = nil // the buyer's browser
	if page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") != "" {
		t.Error("reveal: the buyer sees the credentials")
	}
	h := s.Issued("otp", nil)
	for name, body := range map[string]m{
		"no password": {"certificateUsername": h.User, "certificateOtp": codeOf(t, h.Secret, 0)},
		"a guess":     {"certificateUsername": h.User, "certificatePassword": "password", "certificateOtp": codeOf(t, h.Secret, 0)},
		"no code":     {"certificateUsername": h.User, "certificatePassword": h.Pass, "certificateOtp": "000000"},
	} {
		body["inputDocuments"] = b64(sitetest.SampleTXT)
		a := s.Do("POST", "/EU-QES_otp", body)
		if a.Status == 200 && s.Record(a).State != "ERROR" {
			t.Errorf("sign with %s: %s", name, a.Data)
		}
	}
	var again bought
	if a := s.Do("POST", "/certificates/"+h.ID+"/enrol", nil); json.Unmarshal(a.Data, &again) != nil || again.CertificateLink == "" {
		t.Fatal(a.Message)
	}
	s.Holder = nil
	if page := s.Page(again.CertificateLink, url.Values{"action": {"device"}, "password": {h.Pass}}); element(page, "otp-secret") != "" {
		t.Error("replace factor: the buyer, with the password that calls carry, enrols a device")
	}
	if a := s.Do("POST", "/certificates/"+h.ID+"/password", m{"old": "a guess", "new": "another password"}); a.Code() != 310 {
		t.Errorf("replace factor: a password without the old one: %d/%d", a.Status, a.Code())
	}
	if a := s.Do("POST", "/certificates/"+h.ID+"/revoke", nil); a.Status != 200 {
		t.Errorf("revoke: %d", a.Status)
	}
	if a := s.Do("DELETE", "/certificates/"+h.ID, nil); a.Status < 400 {
		t.Errorf("erase: a certificate can be deleted: %d", a.Status)
	}
}

// An administrator of another account looks at evidence, and gets nothing of what it is about; and
// no one decides on an order of their own.
func TestModelAdministrator(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, srv := context.Background(), s.OpenServer()
	made, err := srv.CreateAccount(ctx, "admin@example.org", true)
	if err != nil {
		t.Fatal(err)
	}
	admin := []string{"Authorization", "Bearer " + made.Token}
	h := s.Issued("automatic", nil)
	r := s.Sign(b64(sitetest.SampleTXT), m{"certificateUsername": h.User, "certificatePassword": h.Pass})
	c := s.Buy("automatic", nil)
	s.Upload(c.CertificateLink, "video", sitetest.EvidenceFiles)
	a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}, admin...)
	if a.Status != 200 || strings.Contains(string(a.Data), "/enrol/") {
		t.Errorf("reveal: %d %s", a.Status, a.Data)
	}
	for act, call := range map[string][2]string{
		"revoke": {"POST", "/certificates/" + h.ID + "/revoke"}, "suspend": {"POST", "/certificates/" + h.ID + "/suspend"},
		"replace factor": {"POST", "/certificates/" + h.ID + "/enrol"}, "read a certificate": {"GET", "/certificates/" + h.ID},
		"read": {"GET", "/signatures/" + r.ID + "/signedDocument"}, "erase": {"DELETE", "/signatures/" + r.ID},
	} {
		if a := s.Do(call[0], call[1], nil, admin...); a.Status != 404 {
			t.Errorf("%s of another account: %d", act, a.Status)
		}
	}
	a = s.Do("POST", "/EU-QES_automatic", m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": h.User, "certificatePassword": h.Pass}, admin...)
	if a.Status == 200 && s.Record(a).Number() != 110 {
		t.Errorf("sign with another account's certificate: %s", a.Data)
	}
	own := enrollAt(srv, nil)
	real := enroll.New(enroll.Parts{
		DB: srv.Parts().DB, Master: srv.Parts().Master, Blobs: srv.Parts().Blobs, Keys: srv.Parts().Keys, Authority: srv.Parts().Authority, Audit: srv.Parts().Audit, Callbacks: srv.Parts().Callbacks, Biller: srv.Parts().Billing,
	}, enroll.Config{}) // not a sandbox
	c = s.Buy("automatic", nil)
	s.Upload(c.CertificateLink, "video", sitetest.EvidenceFiles)
	buyer, err := own.ByID(ctx, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := real.Review(ctx, c.ID, enroll.Reviewer{Account: buyer.AccountID}, enroll.Verdict{Approve: true}); !errors.Is(err, fault.AdminOnly) {
		t.Errorf("buy: an administrator decides on an order of the own account: %v", err)
	}
}

// Who can write to the database, without the master key, can do harm and be
// found out; signing is not among it.
func TestModelDatabase(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		victim, own := s.Issued("otp", nil), s.Issued("otp", nil)
		sign := func(h issued, code string) int {
			t.Helper()
			a := s.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": h.User, "certificatePassword": h.Pass, "certificateOtp": code})
			if a.Status != 200 {
				return a.Status
			}
			return s.Record(a).Number()
		}
		row := func(column, id string) (b []byte) {
			t.Helper()
			if err := srv.Parts().DB.Read().QueryRow(ctx, `select `+column+` from credentials where id = $1`, id).Scan(&b); err != nil {
				t.Fatal(err)
			}
			return b
		}
		// The key of another in a row whose password is known.
		kept := row("sealed", own.ID)
		execute(srv, t, `update credentials set sealed = $1 where id = $2`, row("sealed", victim.ID), own.ID)
		if n := sign(own, codeOf(t, own.Secret, 0)); n == 0 {
			t.Errorf("sign: another's key in the own row: %d", n)
		}
		execute(srv, t, `update credentials set sealed = $1 where id = $2`, kept, own.ID)
		// The own device in the row of another.
		device := row("totp", victim.ID)
		execute(srv, t, `update credentials set totp = $1, totp_step = 0 where id = $2`, row("totp", own.ID), victim.ID)
		if n := sign(victim, codeOf(t, own.Secret, 1)); n == 0 {
			t.Error("replace factor: a device of one's own in another's row signs")
		}
		execute(srv, t, `update credentials set totp = $1, totp_step = 0 where id = $2`, device, victim.ID)
		// A lower level, a word of approval.
		execute(srv, t, `update certificates set security_level = 1 where id = $1`, victim.ID)
		if n := sign(victim, codeOf(t, victim.Secret, 0)); n != 112 {
			t.Errorf("sign: with a level that was lowered: %d", n)
		}
		id := s.Waiting()
		execute(srv, t, `update signatures set approval = 'APPROVED', approved_by = token_id where id = $1`, id)
		execute(srv, t, `update signatures set lease_until = 1, updated_at = 1 where id = $1`, id) // so that the sweep finds it
		if err := srv.Parts().Signing.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r := s.Wait(id, "DONE", "ERROR"); r.State != "ERROR" || r.Number() != 120 {
			t.Errorf("sign: with an approval that nobody gave: %s %d", r.State, r.Number())
		}
		// Revoking and erasing can be done, and a revocation cannot be undone.
		if a := s.Do("POST", "/certificates/"+own.ID+"/revoke", nil); a.Status != 200 {
			t.Fatal(a.Message)
		}
		execute(srv, t, `update certificates set state = 'DONE' where id = $1`, own.ID)
		if n := sign(own, codeOf(t, own.Secret, 1)); n == 0 {
			t.Error("revoke: a revoked certificate signs again")
		}
	})
}

// An attacker who has the master key too can read, and open the credentials that were not shown
// yet. After that only the holder has the password.
func TestModelMasterKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, srv := context.Background(), s.OpenServer()
	once := func(id string) []byte {
		t.Helper()
		var sealed []byte
		if err := srv.Parts().DB.Read().QueryRow(ctx, `select credentials_once from certificates where id = $1`, id).Scan(&sealed); err != nil {
			t.Fatal(err)
		}
		b, _ := srv.Parts().Master.UnsealFor("certificate-credentials", id, sealed)
		return b
	}
	c := s.Ready("automatic", nil)
	if !strings.Contains(string(once(c.ID)), `"password"`) {
		t.Error("the model says that credentials nobody has seen can be read with the master key")
	}
	page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}})
	if element(page, "certificate-password") == "" || len(once(c.ID)) > 0 {
		t.Error("reveal: the credentials are kept after they were shown")
	}
	cred, err := srv.Parts().Keys.ByID(ctx, c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := srv.Parts().Keys.Open(ctx, cred, "a guess"); !errors.Is(err, keys.ErrPassword) {
		t.Errorf("sign: without the password: %v", err)
	}
	r := s.Sign(b64(sitetest.SampleTXT))
	var id, account string
	err = srv.Parts().DB.Read().QueryRow(ctx, `select f.blob, r.account_id from signature_files f join signatures r on r.id = f.signature_id where r.id = $1 and f.role = 'signed'`, r.ID).Scan(&id, &account)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := srv.Parts().Blobs.For("signature "+account+" "+r.ID).Open(ctx, id); err != nil || b.Size() == 0 {
		t.Errorf("the model says that documents can be read with the master key: %v", err)
	}
	if a := s.Do("DELETE", "/signatures/"+r.ID, nil); a.Status != 200 {
		t.Error(a.Message)
	}
	s.VerifyAudit()
}

// An outsider, with or without another account, gets nowhere.
func TestModelStranger(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	h := s.Issued("automatic", nil)
	c := s.Buy("automatic", nil)
	r := s.Sign(b64(sitetest.SampleTXT), m{"certificateUsername": h.User, "certificatePassword": h.Pass})
	calls := map[string][2]string{
		"buy": {"POST", "/certificates/namirial-otp"}, "sign": {"POST", "/EU-QES_automatic"}, "revoke": {"POST", "/certificates/" + h.ID + "/revoke"},
		"replace factor": {"POST", "/certificates/" + h.ID + "/enrol"}, "read": {"GET", "/signatures/" + r.ID}, "erase": {"DELETE", "/signatures/" + r.ID},
	}
	for act, call := range calls {
		if code := withoutToken(s, call[0], call[1], m{}); code != http.StatusUnauthorized {
			t.Errorf("%s without a token: %d", act, code)
		}
	}
	other := s.Stranger()
	for _, act := range []string{"revoke", "replace factor", "read", "erase"} {
		if a := s.Do(calls[act][0], calls[act][1], nil, "Authorization", "Bearer "+other); a.Status != 404 {
			t.Errorf("%s with another account's token: %d", act, a.Status)
		}
	}
	a := s.Do("POST", "/EU-QES_automatic", m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": h.User, "certificatePassword": h.Pass}, "Authorization", "Bearer "+other)
	if a.Status == 200 && s.Record(a).Number() != 110 {
		t.Errorf("sign with another account's token and the holder's password: %s", a.Data)
	}
	for _, link := range []string{c.CertificateLink + "x", strings.TrimSuffix(c.CertificateLink, c.CertificateLink[len(c.CertificateLink)-1:]), s.URL + "/enrol/" + c.ID + "/", strings.Replace(c.CertificateLink, c.ID, h.ID, 1)} {
		resp, err := http.Get(link)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 404 {
			t.Errorf("reveal: a guessed link: %d", resp.StatusCode)
		}
	}
}
