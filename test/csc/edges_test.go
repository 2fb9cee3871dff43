package csc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"rogito.dev/rogito/test/csc/provider"
)

// TestHashes: longer hashes go out with the algorithm that names them.
func TestHashes(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	for i, key := range []string{"rsa", "p256"} {
		h := c.ready(flows[i].name, "automatic", key)
		for alg, size := range map[string]int{"SHA384": 64, "SHA512": 88} { // in base64
			for _, f := range []form{forms[0], forms[1], forms[5]} {
				doc := paper(f.name, alg+key)
				out := c.signed(c.sign(h, []m{{"sourceType": "base64", "payload": b64(doc), "name": f.name}}, f.kind, m{"hashAlgorithm": alg, "level": "T"}))
				c.valid(out, nil)
				dss.passed(t, out, f.file, f.dss+"-T", nil, c.anchors()...)
				calls := p.Calls("signatures/signHash")
				if got := len(calls[len(calls)-1].Hashes()[0]); got != size {
					t.Errorf("%s %s: a hash of %d characters went out", alg, f.dss, got)
				}
			}
		}
	}
}

// TestOnceAndForAll: a request that is repeated with its key, and a job that
// meets a break, never sign again.
func TestOnceAndForAll(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	h := c.ready("twoclient", "automatic", "p256")
	p.Switch("cut-before")
	body, err := json.Marshal(h.body([]string{b64(pdf("once"))}, "pades", nil))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range 3 {
		req, err := http.NewRequest("POST", c.url()+"/EU-QES_automatic", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+c.sandbox.Token)
		req.Header.Set("Idempotency-Key", "once-and-for-all")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var a struct{ Data record }
		if err == nil {
			err = jsonInto(text, &a)
		}
		if err != nil || a.Data.end() != "122" {
			t.Fatalf("%v %.300s", err, text)
		}
		ids = append(ids, a.Data.ID)
	}
	if ids[0] != ids[1] || ids[1] != ids[2] || len(p.Calls("signatures/signHash")) != 1 {
		t.Errorf("records %v, %d calls to sign", ids, len(p.Calls("signatures/signHash")))
	}
	for _, fault := range []string{"cut-body", "503-bare", "500"} {
		p.Forget()
		p.Switch(fault)
		before := c.credit()
		r := c.sign(h, []string{b64(pdf("job " + fault))}, "pades", m{"asyncSignature": true})
		if r = c.finally(r.ID); r.end() != "122" {
			t.Errorf("%s in a job: %s %s", fault, r.end(), r.says())
		}
		if c.credit() != before {
			t.Errorf("%s in a job cost %.3f", fault, before-c.credit())
		}
		if n := len(p.Calls("signatures/signHash")); n != 1 {
			t.Errorf("%s in a job: %d calls to sign", fault, n)
		}
	}
	p.Forget()
	p.Switch("503-retry")
	r := c.sign(h, []string{b64(pdf("job that waits"))}, "pades", m{"asyncSignature": true})
	if r = c.finally(r.ID); r.State != "DONE" {
		t.Errorf("a job that was told to wait: %s %s", r.end(), r.says())
	}
}

// TestProviderGone: the provider is not there. The server starts, says so, and
// signs with its own keys.
func TestProviderGone(t *testing.T) {
	asked(t)
	p, err := provider.Start()
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t, p)
	h := c.ready("oneclient", "automatic", "p256")
	p.Close()
	for _, when := range []string{"while it runs", "after a start"} {
		credit := c.credit()
		if r := c.sign(h, []string{b64(pdf(when))}, "pades", nil); r.end() != "121" {
			t.Errorf("%s: %s %s", when, r.end(), r.says())
		}
		if c.credit() != credit {
			t.Errorf("%s: it cost %.3f", when, credit-c.credit())
		}
		box := c.sandbox.Certificates["automatic"]
		if r := c.sign(&holder{kind: "automatic", username: box.Username, password: box.Password}, []string{b64(pdf("own " + when))}, "pades", nil); r.State != "DONE" {
			t.Errorf("%s: with a key of ours: %s", when, r.end())
		}
		c.kill()
		c.start()
	}
	if out, err := c.run("provider", "test", "oneclient"); err == nil {
		t.Errorf("rogito provider test finds nothing missing: %s", out)
	}
}

// TestOneCode: a one-time password opens one group, and twelve documents are
// two: whatever comes of the second, nothing is broken or paid for nothing.
func TestOneCode(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	for _, name := range []string{"onetoken", "twoclient"} {
		h := c.ready(name, "otp", "p256-otp")
		credit := c.credit()
		r := c.sign(h, batch(t.Name()+name, 12), "pades", m{"batch": true})
		switch r.end() {
		case "DONE":
			files := unzipped(t, c.signed(r))
			for _, b := range files {
				c.valid(b, nil)
			}
			if paid := credit - c.credit(); fmt.Sprintf("%.3f", paid) != fmt.Sprintf("%.3f", price*float64(len(files))) {
				t.Errorf("%s: paid %.3f for %d", name, paid, len(files))
			}
			if len(files) < 10 {
				t.Errorf("%s: %d files", name, len(files))
			}
			t.Logf("%s: %d of 12 with one code", name, len(files))
		case "121":
			t.Logf("%s: refused: %s", name, r.says())
		default:
			t.Errorf("%s: %s %s", name, r.end(), r.says())
		}
		if !strings.HasPrefix(h.username, "RHI") {
			t.Errorf("%s: username %s", name, h.username)
		}
	}
}
