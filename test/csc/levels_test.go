package csc

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
)

// bought is a certificate that was ordered here and came through its page.
type bought struct{ id, username, password, secret string }

// buy orders a certificate of a kind and security level.
func (r *remote) buy(kind string, level int) bought {
	r.t.Helper()
	var o struct{ ID, CertificateLink string }
	r.must(&o, "POST", "/certificates/provider-"+kind, m{"certificateOwner": "Test", "securityLevel": level, "subject": m{"givenName": "Test", "surname": "Person", "country": "IT", "organization": "Test", "organizationIdentifier": "VATIT-00000000000"}})
	b := newBrowser(r.t, r.http())
	u, p, err := b.enrol(o.CertificateLink, "", "", "")
	if err != nil {
		r.t.Fatal(err)
	}
	return bought{o.ID, u, p, b.byID("otp-secret")}
}

func (b bought) code(t testing.TB) string {
	t.Helper()
	code, err := totp.GenerateCode(b.secret, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// signed are the values in an answer.
func signatures(out m) int {
	list, _ := out["signatures"].([]any)
	return len(list)
}

// TestServerLevels: a security level holds through this interface too.
func TestServerLevels(t *testing.T) {
	asked(t)
	r := newRemote(t)
	token := r.token("POST:*/csc")
	try := func(version int, token string, b bought, otp string) (int, m) {
		h := hashOf(fmt.Sprint("level", version, b.id, time.Now().UnixNano()))
		status, out := r.post(version, "credentials/authorize", token, asks(version, b.id, b.password, otp, h))
		sad, _ := out["SAD"].(string)
		if status != http.StatusOK {
			return status, out
		}
		return r.post(version, "signatures/signHash", token, signs(version, b.id, sad, false, h))
	}
	for _, version := range []int{1, 2} {
		one := r.buy("automatic", 1)
		if status, out := try(version, token, one, ""); status != http.StatusOK || signatures(out) != 1 {
			t.Errorf("v%d: level 1: %d %v", version, status, out)
		}
		address := r.buy("automatic", 2)
		if status, out := try(version, token, address, ""); status == http.StatusOK || signatures(out) > 0 || out["error"] == nil {
			t.Errorf("v%d: level 2 with a token that is not bound to addresses: %d %v", version, status, out)
		}
		card := r.buy("automatic", 3)
		if status, out := try(version, token, card, ""); status == http.StatusOK || signatures(out) > 0 || out["error"] == nil {
			t.Errorf("v%d: level 3 without a client certificate: %d %v", version, status, out)
		}
		code := r.buy("otp", 4)
		if status, out := try(version, token, code, code.code(t)); status != http.StatusOK || signatures(out) != 1 {
			t.Errorf("v%d: level 4 with a code: %d %v", version, status, out)
		}
		approval := r.buy("otp", 5)
		if status, out := try(version, token, approval, approval.code(t)); signatures(out) > 0 || status == http.StatusOK && out["signatures"] != nil {
			t.Errorf("v%d: level 5 without an approval: %d %v", version, status, out)
		} else {
			t.Logf("v%d: level 5 without an approval: %d %v", version, status, out)
		}
	}
}

// TestServerLock: guessing through this interface locks the certificate, for
// this and for every other way to sign.
func TestServerLock(t *testing.T) {
	asked(t)
	r := newRemote(t)
	token := r.token("POST:*/csc")
	for _, version := range []int{1, 2} {
		b := r.buy("automatic", 1)
		for i := range 5 {
			if status, out := r.post(version, "credentials/authorize", token, asks(version, b.id, fmt.Sprint("wrong", i), "", hashOf("x"))); status != http.StatusBadRequest {
				t.Errorf("v%d: a wrong PIN: %d %v", version, status, out)
			}
		}
		if status, out := r.post(version, "credentials/authorize", token, asks(version, b.id, b.password, "", hashOf("x"))); status != http.StatusBadRequest || out["SAD"] != nil {
			t.Errorf("v%d: the right PIN of a locked certificate: %d %v", version, status, out)
		}
		a, err := r.call("POST", "/EU-QES_automatic", r.sandbox.Token, m{"inputDocuments": []string{b64(pdf("locked"))}, "certificateUsername": b.username, "certificatePassword": b.password})
		if err != nil || a.Status != http.StatusLocked {
			t.Errorf("v%d: the other way to sign, locked here: %d %v", version, a.Status, err)
		}
	}
	// A SAD that was given before the lock is no way around it.
	b := r.buy("automatic", 1)
	h := hashOf("before the lock")
	_, out := r.post(1, "credentials/authorize", token, asks(1, b.id, b.password, "", h))
	sad, _ := out["SAD"].(string)
	for i := range 5 {
		r.post(1, "credentials/authorize", token, asks(1, b.id, fmt.Sprint("wrong", i), "", h))
	}
	if status, out := r.post(1, "signatures/signHash", token, signs(1, b.id, sad, false, h)); status == http.StatusOK {
		t.Errorf("a SAD of a certificate that is locked meanwhile: %v", out)
	}
	// Nor is one that outlives the password it was given for.
	c := r.buy("automatic", 1)
	_, out = r.post(2, "credentials/authorize", token, asks(2, c.id, c.password, "", h))
	sad, _ = out["SAD"].(string)
	r.must(nil, "POST", "/certificates/"+c.id+"/password", m{"old": c.password, "new": "another-Password-1234"})
	if status, out := r.post(2, "signatures/signHash", token, signs(2, c.id, sad, false, h)); status == http.StatusOK {
		t.Errorf("a SAD after the password was changed: %v", out)
	}
	if status, out := r.post(2, "credentials/authorize", token, asks(2, c.id, "another-Password-1234", "", h)); status != http.StatusOK {
		t.Errorf("the new password: %d %v", status, out)
	}
}

// TestServerForm: bodies, methods and numbers at the edge.
func TestServerForm(t *testing.T) {
	asked(t)
	r := newRemote(t)
	token := r.token("POST:*/csc")
	id, _, pin := r.key("automatic")
	raw := func(method, path, contentType, body string) (int, string, string) {
		req, err := http.NewRequest(method, r.url()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", contentType)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b := make([]byte, 2000)
		n, _ := resp.Body.Read(b)
		return resp.StatusCode, string(b[:n]), resp.Header.Get("Cache-Control")
	}
	good := fmt.Sprintf(`{"credentialID":%q}`, id)
	for name, c := range map[string]struct {
		method, path, contentType, body string
		status                          []int
	}{
		"not JSON":            {"POST", "/csc/v1/credentials/info", "application/json", "{", []int{400}},
		"a list":              {"POST", "/csc/v1/credentials/info", "application/json", "[]", []int{400}},
		"a key twice":         {"POST", "/csc/v1/credentials/info", "application/json", fmt.Sprintf(`{"credentialID":"x","credentialID":%q}`, id), []int{400}},
		"a number for an id":  {"POST", "/csc/v2/credentials/info", "application/json", `{"credentialID":7}`, []int{400}},
		"a form":              {"POST", "/csc/v2/credentials/info", "application/x-www-form-urlencoded", "credentialID=" + id, []int{400, 415}},
		"GET":                 {"GET", "/csc/v1/credentials/list", "application/json", "", []int{400, 404, 405}},
		"unknown version":     {"POST", "/csc/v3/info", "application/json", "{}", []int{404}},
		"two values":          {"POST", "/csc/v1/credentials/info", "application/json", good + good, []int{400}},
		"certificates of all": {"POST", "/csc/v1/credentials/info", "application/json", fmt.Sprintf(`{"credentialID":%q,"certificates":"all"}`, id), []int{400}},
	} {
		status, text, _ := raw(c.method, c.path, c.contentType, c.body)
		if !slices.Contains(c.status, status) || !strings.Contains(text, `"error"`) {
			t.Errorf("%s: %d %.300s, want %v", name, status, text, c.status)
		}
	}
	// Explicit nulls and an empty body are what clients send.
	for name, body := range map[string]string{"nulls": fmt.Sprintf(`{"credentialID":%q,"lang":null,"clientData":null,"certificates":null}`, id), "with more": fmt.Sprintf(`{"credentialID":%q,"unheardOf":true}`, id)} {
		if status, text, _ := raw("POST", "/csc/v2/credentials/info", "application/json", body); status != http.StatusOK {
			t.Errorf("%s: %d %.300s", name, status, text)
		}
	}
	if status, text, _ := raw("POST", "/csc/v1/info", "application/json", ""); status != http.StatusOK {
		t.Errorf("info without a body: %d %.300s", status, text)
	}
	// A hundred at once, and answers with a SAD that must not be kept.
	var hashes []string
	for i := range 100 {
		hashes = append(hashes, hashOf(fmt.Sprint("hundred", i)))
	}
	body := asks(2, id, pin, "", hashes...)
	a, err := r.call("POST", "/csc/v2/credentials/authorize", token, body)
	if err != nil || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
		t.Errorf("an answer with a SAD may be kept: %q %v", a.Header.Get("Cache-Control"), err)
	}
	var out struct{ SAD string }
	if err := jsonInto(a.Body, &out); err != nil {
		t.Fatal(err)
	}
	before := r.credit()
	if status, out := r.post(2, "signatures/signHash", token, signs(2, id, out.SAD, true, hashes...)); status != http.StatusOK || signatures(out) != 100 {
		t.Errorf("a hundred: %d, %d values", status, signatures(out))
	}
	if paid := before - r.credit(); fmt.Sprintf("%.2f", paid) != "5.00" {
		t.Errorf("a hundred values cost %.3f", paid)
	}
	// Hashes of longer kinds.
	for _, c := range []struct {
		size      int
		hash, alg string
	}{{48, "2.16.840.1.101.3.4.2.2", "1.2.840.113549.1.1.12"}, {64, "2.16.840.1.101.3.4.2.3", "1.2.840.113549.1.1.13"}} {
		h := b64(make([]byte, c.size))
		body := asks(2, id, pin, "", h)
		body["hashAlgorithmOID"] = c.hash
		_, out := r.post(2, "credentials/authorize", token, body)
		sad, _ := out["SAD"].(string)
		sign := signs(2, id, sad, true, h)
		sign["hashAlgorithmOID"], sign["signAlgo"] = c.hash, c.alg
		if status, out := r.post(2, "signatures/signHash", token, sign); status != http.StatusOK || signatures(out) != 1 {
			t.Errorf("a hash of %d bytes: %d %v", c.size, status, out)
		}
	}
	// Two documents that are the same: two values where two were allowed, no third.
	same := hashOf("same")
	status, got := r.post(1, "credentials/authorize", token, asks(1, id, pin, "", same, same))
	if sad, _ := got["SAD"].(string); status == http.StatusOK {
		var all sync.WaitGroup
		var mu sync.Mutex
		values := 0
		for range 6 {
			all.Go(func() {
				_, out := r.post(1, "signatures/signHash", token, signs(1, id, sad, true, same))
				mu.Lock()
				values += signatures(out)
				mu.Unlock()
			})
		}
		all.Wait()
		if values > 2 {
			t.Errorf("%d values where two were allowed", values)
		}
	}
}
