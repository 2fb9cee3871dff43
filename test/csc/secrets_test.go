package csc

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/test/csc/provider"
)

// TestSecrets: what opens a key at the provider lies nowhere in clear, and the
// audit has the digests of what was sent, also where nothing came back.
func TestSecrets(t *testing.T) {
	asked(t)
	p := aProvider(t)
	p.Hang = 20 * time.Second
	c := newClient(t, p)
	var secrets []string
	for _, name := range []string{"oneclient", "twotoken", "twocode"} {
		h, err := c.take(name, "automatic", "rsa")
		if err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, p.Credential(h.credential).PIN, h.password)
		if r := c.sign(h, []string{b64(pdf(name))}, "pades", nil); r.State != "DONE" {
			t.Fatalf("%s: %s %s", name, r.end(), r.says())
		}
		c.audited(name, c.records()[0])
		p.Switch("cut-before")
		r := c.sign(h, []string{b64(pdf("cut " + name))}, "pades", nil)
		if r.end() != "122" {
			t.Errorf("%s: %s", name, r.end())
		}
		c.audited("cut "+name, r.ID)
		p.Forget()
	}
	secrets = append(secrets, p.FixedToken, p.Client.Secret)
	secrets = append(secrets, p.Secrets()...)
	if len(secrets) < 12 {
		t.Errorf("only %d secrets to look for", len(secrets))
	}
	c.kill() // what is in memory is written, or lost
	err := filepath.WalkDir(c.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, s := range secrets {
			for _, form := range []string{s, b64([]byte(s)), hex.EncodeToString([]byte(s))} {
				if bytes.Contains(b, []byte(form)) {
					t.Errorf("a secret (%.6s…) is in %s", s, filepath.Base(path))
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets {
		if strings.Contains(c.log.whole(), s) {
			t.Errorf("a secret (%.6s…) is in the log", s)
		}
	}
}

// audited looks for the digest of the last call to sign in a record's audit.
func (c *client) audited(what, id string) {
	c.t.Helper()
	calls := c.p.Calls("signatures/signHash")
	h := calls[len(calls)-1].Hashes()[0]
	digest, _ := base64.StdEncoding.DecodeString(h)
	text := string(c.must(nil, "GET", "/signatures/"+id+"/audit", nil).Body)
	if !strings.Contains(text, h) && !strings.Contains(text, hex.EncodeToString(digest)) {
		c.t.Errorf("%s: the digest that went out is not in the audit: %.3000s", what, text)
	}
}

// TestTokens: refresh tokens that are good once, used by many at the same time,
// across restarts and kill -9.
func TestTokens(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	for _, name := range []string{"onecode", "twoclient"} {
		h := c.ready(name, "automatic", "p256")
		for round := range 3 {
			p.Expire()
			ends := make([]string, 8)
			var all sync.WaitGroup
			for i := range ends {
				all.Go(func() {
					var r record
					a, err := c.call("POST", "/EU-QES_automatic", c.sandbox.Token, h.body([]string{b64(pdf(fmt.Sprint(name, round, i)))}, "pades", nil))
					if err == nil {
						err = jsonInto(a.Data, &r)
					}
					if err != nil {
						ends[i] = err.Error()
						return
					}
					ends[i] = r.end() + " " + r.says()
				})
			}
			all.Wait()
			for i, end := range ends {
				if strings.TrimSpace(end) != "DONE" {
					t.Errorf("%s: round %d, call %d after the token ended: %s", name, round, i, end)
				}
			}
			if round == 0 {
				continue
			}
			c.kill()
			c.start()
			p.Expire()
			if r := c.sign(h, []string{b64(pdf(fmt.Sprint(name, round)))}, "pades", nil); r.State != "DONE" {
				t.Errorf("%s: after kill -9: %s %s", name, r.end(), r.says())
			}
		}
	}
}

// TestDoubtful: credentials that must not be taken into use, or never sign.
func TestDoubtful(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	for name, change := range map[string]func(*provider.Credential){
		"expired":   func(cr *provider.Credential) {},
		"suspended": func(cr *provider.Credential) { cr.Status = "suspended" },
		"revoked":   func(cr *provider.Credential) { cr.Status = "revoked" },
		"disabled":  func(cr *provider.Credential) { cr.KeyStatus = "disabled" },
	} {
		t.Run(name, func(t *testing.T) {
			outer := c.t
			c.t = t
			defer func() { c.t = outer }()
			actor := "third"
			if name == "expired" {
				actor = "expired"
			}
			id := "doubtful-" + name
			if err := p.Add(id, actor+"#"+name, change); err != nil {
				t.Fatal(err)
			}
			pin := c.outside("pin", p.Credential(id).PIN+"\n")
			out, err := c.run("cert", "remote", "twoclient", id, "--kind", "automatic", "--account", c.sandbox.Email, "--pin-file", pin, "--json")
			if err != nil {
				t.Logf("not taken: %v", err)
				return
			}
			var got struct{ Username, Password string }
			if err := jsonInto([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			h := c.holder("automatic", id, "", got.Username, got.Password)
			if r := c.sign(h, []string{b64(pdf(t.Name()))}, "pades", nil); r.end() != "112" && r.end() != "121" {
				t.Errorf("it signs: %s %s", r.end(), r.says())
			}
		})
	}
	if n := p.Signed(); n != 0 {
		t.Errorf("%d values", n)
	}
}
