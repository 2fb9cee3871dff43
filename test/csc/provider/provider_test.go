package provider

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// asker is a client that does what it is told, right or wrong.
type asker struct {
	t     *testing.T
	p     *Provider
	token string
}

func (a *asker) post(version int, endpoint string, body map[string]any) (int, map[string]any) {
	a.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, a.p.URL(version)+"/"+endpoint, bytes.NewReader(b))
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	client := *a.p.Browser()
	client.Timeout = 20 * time.Second
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil
	}
	out := map[string]any{}
	_ = json.Unmarshal(text, &out)
	return resp.StatusCode, out
}

// sign goes the whole way for hashes, in the words of a version.
func (a *asker) sign(version int, id string, digests ...[]byte) (int, map[string]any) {
	a.t.Helper()
	cred := a.p.Credential(id)
	hash := make([]string, len(digests))
	for i, d := range digests {
		hash[i] = base64.StdEncoding.EncodeToString(d)
	}
	algorithm := oidRSASHA256
	if !cred.rsa() {
		algorithm = oidECSHA256
	}
	authorize := map[string]any{"credentialID": id, "numSignatures": len(hash)}
	sign := map[string]any{"credentialID": id, "signAlgo": algorithm}
	if version == 1 {
		authorize["hash"], authorize["PIN"] = hash, cred.PIN
		if cred.OTP != "" {
			authorize["OTP"] = a.p.Code(id)
		}
		sign["hash"] = hash
	} else {
		data := []any{map[string]any{"id": "PIN", "value": cred.PIN}}
		if cred.OTP != "" {
			data = append(data, map[string]any{"id": "OTP", "value": a.p.Code(id)})
		}
		authorize["hashes"], authorize["hashAlgorithmOID"], authorize["authData"] = hash, oidSHA256, data
		sign["hashes"], sign["hashAlgorithmOID"] = hash, oidSHA256
	}
	status, out := a.post(version, "credentials/authorize", authorize)
	if status != http.StatusOK {
		return status, out
	}
	sign["SAD"] = out["SAD"]
	return a.post(version, "signatures/signHash", sign)
}

func start(t *testing.T) *asker {
	t.Helper()
	p, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return &asker{t, p, p.FixedToken}
}

func digest(s string) []byte {
	d := sha256.Sum256([]byte(s))
	return d[:]
}

func TestSigns(t *testing.T) {
	a := start(t)
	for _, version := range []int{1, 2} {
		for _, id := range []string{"rsa", "rsa3072", "p256", "seal", "plain", "rsa-otp", "p256-otp"} {
			one, two := digest(id+"1"+a.p.URL(version)), digest(id+"2"+a.p.URL(version))
			status, out := a.sign(version, id, one, two)
			list, _ := out["signatures"].([]any)
			if status != http.StatusOK || len(list) != 2 {
				t.Fatalf("v%d %s: %d %v", version, id, status, out)
			}
			for i, d := range [][]byte{one, two} {
				value, err := base64.StdEncoding.DecodeString(list[i].(string))
				if err != nil {
					t.Fatal(err)
				}
				switch pub := a.p.Credential(id).Actor.Certificate.PublicKey.(type) {
				case *rsa.PublicKey:
					err = rsa.VerifyPKCS1v15(pub, crypto.SHA256, d, value)
				case *ecdsa.PublicKey:
					if !ecdsa.VerifyASN1(pub, d, value) {
						t.Errorf("v%d %s: value %d is wrong", version, id, i)
					}
				}
				if err != nil {
					t.Errorf("v%d %s: value %d: %v", version, id, i, err)
				}
			}
		}
	}
	for _, c := range a.p.Complaints() {
		t.Error(c)
	}
	if r := a.p.Repeated(); len(r) > 0 || a.p.Signed() != 28 {
		t.Errorf("%d values, repeated %v", a.p.Signed(), r)
	}
}

// TestStrict: what the specification demands of a client is refused or noted.
func TestStrict(t *testing.T) {
	a := start(t)
	pin := a.p.Credential("rsa").PIN
	h := []string{base64.StdEncoding.EncodeToString(digest("x"))}
	sad := func() string {
		_, out := a.post(1, "credentials/authorize", map[string]any{"credentialID": "rsa", "numSignatures": 1, "hash": h, "PIN": pin})
		return out["SAD"].(string)
	}
	used := sad()
	a.post(1, "signatures/signHash", map[string]any{"credentialID": "rsa", "SAD": used, "hash": h, "signAlgo": oidRSASHA256})
	for name, c := range map[string]struct {
		version  int
		endpoint string
		body     map[string]any
	}{
		"no numSignatures":      {1, "credentials/authorize", map[string]any{"credentialID": "rsa", "hash": h, "PIN": pin}},
		"too many":              {1, "credentials/authorize", map[string]any{"credentialID": "rsa", "numSignatures": 11, "hash": h, "PIN": pin}},
		"no hashes":             {1, "credentials/authorize", map[string]any{"credentialID": "rsa", "numSignatures": 1, "PIN": pin}},
		"no PIN":                {1, "credentials/authorize", map[string]any{"credentialID": "rsa", "numSignatures": 1, "hash": h}},
		"names of version 1":    {2, "credentials/authorize", map[string]any{"credentialID": "rsa", "numSignatures": 1, "hash": h, "PIN": pin}},
		"no hashAlgorithmOID":   {2, "credentials/authorize", map[string]any{"credentialID": "rsa", "numSignatures": 1, "hashes": h, "authData": []any{map[string]any{"id": "PIN", "value": pin}}}},
		"hash that is short":    {1, "credentials/authorize", map[string]any{"credentialID": "rsa", "numSignatures": 1, "hash": []string{"AAAA"}, "PIN": pin}},
		"SAD used":              {1, "signatures/signHash", map[string]any{"credentialID": "rsa", "SAD": used, "hash": h, "signAlgo": oidRSASHA256}},
		"algorithm of a curve":  {1, "signatures/signHash", map[string]any{"credentialID": "rsa", "SAD": sad(), "hash": h, "signAlgo": oidECSHA256}},
		"hash not authorised":   {1, "signatures/signHash", map[string]any{"credentialID": "rsa", "SAD": sad(), "hash": []string{base64.StdEncoding.EncodeToString(digest("y"))}, "signAlgo": oidRSASHA256}},
		"hash of another size":  {1, "signatures/signHash", map[string]any{"credentialID": "rsa", "SAD": sad(), "hash": h, "signAlgo": oidRSASHA512}},
		"no such method":        {1, "signatures/signAll", map[string]any{}},
		"credential is missing": {2, "credentials/info", map[string]any{}},
	} {
		before := len(a.p.Complaints())
		if status, out := a.post(c.version, c.endpoint, c.body); status < 400 || status >= 500 || out["error"] == nil || len(a.p.Complaints()) == before {
			t.Errorf("%s: %d %v, %d complaints", name, status, out, len(a.p.Complaints())-before)
		}
	}
	if r := a.p.Repeated(); len(r) != 3 { // "SAD used", and twice with a new SAD
		t.Errorf("%d hashes repeated, want 3", len(r))
	}
	// Of another user: neither seen nor used.
	a.p.mu.Lock()
	a.p.bearers["of-p256"] = &bearer{user: "p256", until: time.Now().Add(time.Hour)}
	a.p.mu.Unlock()
	b := &asker{t, a.p, "of-p256"}
	if _, out := b.post(1, "credentials/list", map[string]any{}); len(out["credentialIDs"].([]any)) != 1 {
		t.Errorf("a user sees %v", out)
	}
	if status, _ := b.post(1, "credentials/info", map[string]any{"credentialID": "rsa"}); status != http.StatusBadRequest {
		t.Errorf("a credential of somebody else: %d", status)
	}
	if status, _ := (&asker{t, a.p, "nothing"}).post(1, "credentials/list", map[string]any{}); status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", status)
	}
}

// TestOAuth runs the code flow with PKCE, the renewal, and a replay of both.
func TestOAuth(t *testing.T) {
	a := start(t)
	a.p.Client.Redirects = []string{"http://127.0.0.1:1/back"}
	browser := *a.p.Browser()
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base := a.p.api.URL + "/as/oauth2/"
	challenge := sha256.Sum256([]byte("verifier-verifier-verifier-verifier-verifier"))
	q := url.Values{
		"response_type": {"code"}, "client_id": {a.p.Client.ID}, "redirect_uri": {"http://127.0.0.1:1/back"}, "scope": {"service"}, "state": {"12345678"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}
	post := func(address string, form url.Values) (*http.Response, map[string]any) {
		resp, err := browser.PostForm(address, form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		out := map[string]any{}
		_ = json.NewDecoder(resp.Body).Decode(&out)
		return resp, out
	}
	resp, _ := post(base+"authorize?"+q.Encode(), url.Values{"user": {"p256"}, "password": {"password"}})
	back, err := resp.Location()
	if err != nil || back.Query().Get("state") != "12345678" {
		t.Fatalf("%v %v", back, err)
	}
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {"http://127.0.0.1:1/back"},
		"code_verifier": {"verifier-verifier-verifier-verifier-verifier"}, "client_id": {a.p.Client.ID}, "client_secret": {a.p.Client.Secret},
	}
	_, out := post(base+"token", form)
	a.token, _ = out["access_token"].(string)
	if status, list := a.post(2, "credentials/list", map[string]any{}); status != http.StatusOK || len(list["credentialIDs"].([]any)) != 1 {
		t.Fatalf("%d %v", status, list)
	}
	if resp, _ := post(base+"token", form); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("the code again: %d", resp.StatusCode)
	}
	renew := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {out["refresh_token"].(string)}, "client_id": {a.p.Client.ID}, "client_secret": {a.p.Client.Secret}}
	if resp, out := post(base+"token", renew); resp.StatusCode != http.StatusOK || out["access_token"] == a.token {
		t.Errorf("renewal: %d %v", resp.StatusCode, out)
	}
	if resp, _ := post(base+"token", renew); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("the refresh token again: %d", resp.StatusCode)
	}
	for _, c := range a.p.Complaints() {
		t.Error(c)
	}
}

// TestFaults: every fault shows itself to a client, and ends with Forget.
func TestFaults(t *testing.T) {
	a := start(t)
	a.p.Hang = 100 * time.Millisecond
	good := map[string]bool{}
	for _, f := range Faults {
		if f.Want == "" || f.About == "" || good[f.Name] {
			t.Errorf("%s: no outcome, no description, or twice there", f.Name)
		}
		good[f.Name] = true
		version, key := 2, f.Key
		if key == "" {
			key = "rsa"
		}
		a.p.Switch(f.Name)
		if f.Skip > 0 {
			a.sign(version, key, digest("before "+f.Name))
		}
		a.post(version, "credentials/info", map[string]any{"credentialID": key, "certificates": "chain"})
		first, second := digest(f.Name), digest(f.Name+"2")
		status, out := a.sign(version, key, first, second)
		hit := f.At == "" || f.At == tokens
		for _, c := range a.p.Calls(f.At) {
			hit = hit || c.Fault == f.Name
		}
		if !hit {
			t.Errorf("%s changed nothing: %d %v", f.Name, status, out)
		}
		a.p.Forget()
		if f.set != nil {
			a.token = a.p.FixedToken
		}
	}
	if status, out := a.sign(1, "rsa", digest("last")); status != http.StatusOK {
		t.Errorf("after all faults: %d %v", status, out)
	}
	if n := len(Faults); n < 30 {
		t.Errorf("%d faults", n)
	}
	if !strings.HasPrefix(a.p.URL(1), "https://127.0.0.1:") {
		t.Error(a.p.URL(1))
	}
}
