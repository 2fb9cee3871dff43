package csc

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/test/csc/provider"
)

// TestFaults switches on every fault of the provider and signs. The record
// must end as the contract says, nothing broken may be DONE, nothing that
// failed may cost, and no hash may be sent again that may have been signed.
func TestFaults(t *testing.T) {
	asked(t)
	p := aProvider(t)
	p.Hang = 20 * time.Second
	c := newClient(t, p)
	holders := map[string]*holder{}
	for _, name := range []string{"oneclient", "twoclient"} {
		for _, key := range []string{"rsa", "p256"} {
			holders[name+key] = c.ready(name, "automatic", key)
		}
	}
	outcomes := map[string]int{}
	for i, f := range provider.Faults {
		names := []string{flows[i%2].name}
		switch {
		case f.Only != 0:
			names = []string{flows[f.Only-1].name}
		case all:
			names = []string{"oneclient", "twoclient"}
		}
		for _, name := range names {
			t.Run(f.Name+"/"+name, func(t *testing.T) {
				outer := c.t
				c.t = t
				defer func() { c.t = outer }()
				outcomes[c.suffer(f, name, holders)]++
				p.Forget()
			})
		}
	}
	for id, h := range holders {
		if r := c.sign(h, []string{b64(pdf("after all " + id))}, "pades", nil); r.State != "DONE" {
			t.Errorf("%s after all faults: %s %s", id, r.end(), r.says())
		}
	}
	t.Logf("%d faults: %v", len(provider.Faults), outcomes)
}

// suffer signs with one fault on, and returns how it ended.
func (c *client) suffer(f provider.Fault, name string, holders map[string]*holder) string {
	t, p := c.t, c.p
	key := f.Key
	if key == "" {
		key = "rsa"
	}
	want := strings.Fields(f.Want)
	p.Switch(f.Name)
	h := holders[name+key]
	if f.Enrol {
		var err error
		if h, err = c.command(name, "automatic", key); err != nil {
			if !slices.Contains(want, "refused") && !slices.Contains(want, "121") {
				t.Errorf("not taken into use: %v", err)
			}
			return "refused"
		}
	}
	before := c.credit()
	docs, options := batch(t.Name(), max(1, f.Docs)), m{}
	if f.Docs > 1 {
		options["batch"] = true
	}
	r := c.sign(h, docs, "pades", options)
	end := r.end()
	if !slices.Contains(want, end) {
		t.Errorf("%s: ended as %s (%s), want %s", f.About, end, r.says(), f.Want)
	}
	if f.Name == "400-words" && !strings.Contains(r.says(), "The key is on holiday") {
		t.Errorf("the provider's words are not in %q", r.says())
	}
	if end == "122" && len(p.Calls("signatures/signHash")) == 0 {
		t.Error("122 without a call to sign")
	}
	if r.State == "DONE" {
		files := c.batchOf(r)
		for name, b := range files {
			if len(files) < 5 || name[3] == '0' || name[3] == '9' {
				c.valid(b, nil)
			}
		}
		if f.Want == "DONE" && len(files) != max(1, f.Docs) {
			t.Errorf("%d files of %d", len(files), f.Docs)
		}
		if paid := before - c.credit(); fmt.Sprintf("%.3f", paid) != fmt.Sprintf("%.3f", price*float64(len(files))) {
			t.Errorf("paid %.3f for %d documents", paid, len(files))
		}
	} else {
		if now := c.credit(); now != before {
			t.Errorf("what failed cost %v", before-now)
		}
		if a, err := c.call("GET", "/signatures/"+r.ID+"/signedDocument", c.sandbox.Token, nil); err != nil || a.Status < 400 {
			t.Errorf("a signed document of a record in ERROR: %d %v", a.Status, err)
		}
	}
	for _, h := range p.Repeated() {
		t.Errorf("a hash was sent for signing again: %s", h)
	}
	for _, call := range p.Calls("") {
		if strings.HasPrefix(call.Endpoint, "elsewhere") {
			t.Errorf("a redirect was followed to %s", call.Endpoint)
		}
	}
	if !oddOfClient(f) {
		for _, complaint := range p.Complaints() {
			t.Errorf("the provider complains: %s", complaint)
		}
	}
	return end
}

// oddOfClient are the faults under which a client cannot but offend.
func oddOfClient(f provider.Fault) bool {
	return slices.Contains([]string{"multisign-odd", "multisign-missing", "multisign-zero", "bare-ec", "only-pss"}, f.Name)
}

// price is what a document costs without a subscription.
const price = 0.05

// kills is how often the server is killed: ROGITO_CSC_KILLS, else three times.
func kills() int {
	if n, err := strconv.Atoi(os.Getenv("ROGITO_CSC_KILLS")); err == nil {
		return n
	}
	return 3
}

// TestKill kills the server (-9) while it signs with keys at the provider.
// Afterwards every record is final: DONE and valid, or an error that says that
// the outcome is not known; nothing was sent for signing twice, and only what
// is DONE was paid.
func TestKill(t *testing.T) {
	asked(t)
	p := aProvider(t)
	c := newClient(t, p)
	var one, two *holder
	credit := c.credit()
	known, documents := map[string]bool{}, 0
	ends := map[string]int{}
	for round := range kills() {
		if round%10 == 0 {
			one, two = c.ready("oneclient", "automatic", "rsa"), c.ready("twoclient", "automatic", "p256")
		}
		before := len(p.Calls("signatures/signHash"))
		p.Delay = time.Duration(rand.IntN(120)) * time.Millisecond
		var load sync.WaitGroup
		for i := range 4 {
			h := []*holder{one, two}[i%2]
			load.Go(func() {
				for j := range 30 {
					options := m{"asyncSignature": j%2 == 0, "batch": true}
					a, err := c.call("POST", "/EU-QES_automatic", c.sandbox.Token, h.body(batch(fmt.Sprintf("kill %d %d %d", round, i, j), 1+j%4), "pades", options))
					if err != nil {
						return
					}
					if a.Status != http.StatusOK {
						t.Errorf("round %d: %d %.300s", round, a.Status, a.Body)
						return
					}
				}
			})
		}
		until := before + 1 + rand.IntN(20)
		await.Until(t, "the provider is asked often enough", func() bool { return len(p.Calls("signatures/signHash")) >= until })
		c.kill()
		load.Wait()
		c.start()
		for _, id := range c.records() {
			if known[id] {
				continue
			}
			known[id] = true
			r := c.finally(id)
			ends[r.end()]++
			switch r.end() {
			case "DONE":
				for _, b := range c.batchOf(r) {
					c.valid(b, nil)
					documents++
				}
			case "122":
			default:
				t.Errorf("round %d: record %s ended as %s: %s", round, id, r.end(), r.says())
			}
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	if paid, want := credit-c.credit(), price*float64(documents); fmt.Sprintf("%.3f", paid) != fmt.Sprintf("%.3f", want) {
		t.Errorf("paid %.3f for %d documents that are signed, want %.3f", paid, documents, want)
	}
	if p.Signed() < kills() || ends["DONE"] == 0 {
		t.Errorf("%d values in %d rounds", p.Signed(), kills())
	}
	t.Logf("%d rounds, %d values made, records: %v", kills(), p.Signed(), ends)
}

// records are the ids of all there are.
func (c *client) records() []string {
	c.t.Helper()
	var out []string
	for skip := 0; ; skip += 100 {
		var page []struct{ ID string }
		c.must(&page, "GET", fmt.Sprintf("/signatures?limit=100&skip=%d", skip), nil)
		for _, r := range page {
			out = append(out, r.ID)
		}
		if len(page) < 100 {
			return out
		}
	}
}

// batchOf are the documents of a record: a zip, or the one.
func (c *client) batchOf(r *record) map[string][]byte {
	c.t.Helper()
	b := c.signed(r)
	if strings.HasPrefix(string(b), "%PDF") {
		return map[string][]byte{"one": b}
	}
	return unzipped(c.t, b)
}

// BenchmarkThousand signs 1,000 small PDFs in one request with a key at the
// provider (multisign 100) and with a local key of the same kind, in turns, and
// prints the ratio.
func BenchmarkThousand(b *testing.B) {
	asked(b)
	p := aProvider(b)
	c := newClient(b, p)
	p.Change("rsa", func(c *provider.Credential) { c.Multisign = 100 })
	defer p.Change("rsa", func(c *provider.Credential) { c.Multisign = 10 })
	remote := c.ready("twoclient", "automatic", "rsa") // as many at once as its like
	box := c.sandbox.Certificates["automatic"]
	local := &holder{kind: "automatic", username: box.Username, password: box.Password}
	var spent [2]time.Duration
	b.ResetTimer()
	for n := range b.N {
		for i, h := range []*holder{local, remote} {
			docs := batch(fmt.Sprintf("bench %d %d %d", n, i, time.Now().UnixNano()), 1000)
			begin := time.Now()
			r := c.sign(h, docs, "pades", m{"batch": true})
			spent[i] += time.Since(begin)
			if files := unzipped(b, c.signed(r)); len(files) != 1000 {
				b.Fatalf("%d files", len(files))
			}
		}
	}
	calls := len(p.Calls("signatures/signHash"))
	b.ReportMetric(float64(1000*b.N)/spent[0].Seconds(), "local/s")
	b.ReportMetric(float64(1000*b.N)/spent[1].Seconds(), "remote/s")
	b.ReportMetric(spent[0].Seconds()/spent[1].Seconds(), "ratio")
	b.ReportMetric(float64(calls)/float64(b.N), "calls")
}
