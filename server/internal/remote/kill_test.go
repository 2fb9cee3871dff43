package remote_test

import (
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/servertest/sitetest"
	"rogito.dev/rogito/test/providers/fake"
)

// killRounds is how often the program is killed: ROGITO_TEST_PROVIDER_KILLS, else
// twice for each kind.
func killRounds() int {
	if n, err := strconv.Atoi(os.Getenv("ROGITO_TEST_PROVIDER_KILLS")); err == nil {
		return n
	}
	return 2
}

// A program that is killed while a provider has digests to sign leaves records that
// end: DONE, 122 where digests were sent, and of a key that was passed through 121
// where none were. The provider's book and ours agree, and no digest comes twice.
func TestAccountsKilled(t *testing.T) {
	await.All(t)
	t.Parallel()
	for _, kind := range bothKinds {
		t.Run(kind, func(t *testing.T) {
			p, err := fake.Start(kind)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			x := newProgram(t, "")
			dir := t.TempDir()
			write := func(name string, text []byte) string {
				path := filepath.Join(dir, name)
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
				return path
			}
			text := fmt.Sprintf("network: {allow_private: [127.0.0.1]}\nsigning:\n  providers:\n    far: {kind: %s, url: %q, ca: %q}\n    own: {kind: %s, url: %q, ca: %q, store_credentials: false}\n",
				kind, p.URL(), write("ca.pem", p.CA()), kind, p.URL(), filepath.Join(dir, "ca.pem"))
			if kind == fake.ARSS {
				text = strings.ReplaceAll(text, "kind: arss,", "kind: arss, domain: "+fake.Domain+",")
			}
			x.Args = append(x.Args, "--config", write("rogito.yaml", []byte(text)))
			x.Start()
			kept, err := p.Add("good", "automatic")
			if err != nil {
				t.Fatal(err)
			}
			passed, err := p.Add("good", "automatic")
			if err != nil {
				t.Fatal(err)
			}
			var c server.SandboxCredentials
			out, err := x.Command("cert", "remote", "far", kept.Name, "--password-file", write("password", []byte(kept.Password+"\n")), "--json")
			if err != nil || json.Unmarshal(out, &c) != nil || c.Username == "" {
				t.Fatalf("%v %s", err, out)
			}
			if out, err := x.Command("provider", "test", "far", "--username", kept.Name, "--password-file", filepath.Join(dir, "password"), "--json"); err != nil || !strings.Contains(string(out), "certificate") {
				t.Errorf("%v %s", err, out)
			}
			ends := map[string]int{}
			for round := range killRounds() {
				p.Delay = time.Duration(rand.IntN(60)) * time.Millisecond
				until := len(p.Sent()) + 1 + rand.IntN(4*8)
				done := make(chan struct{})
				names := []string{}
				for i, who := range []server.SandboxCredentials{c, {Username: passed.Name, Password: passed.Password}, c, {Username: passed.Name, Password: passed.Password}} {
					names = append(names, fmt.Sprintf("%s %d %d", kind, round, i))
					go func() {
						defer func() { done <- struct{}{} }()
						postBatch(x, who, 8, i >= 2, names[i])
					}()
				}
				await.Until(t, "enough digests are sent", func() bool { return len(p.Sent()) >= until })
				x.Kill()
				for range 4 {
					<-done
				}
				p.Delay = 0
				x.Start()
				clear(ends) // all records are looked at again
				for _, id := range ids(x) {
					r := finalOf(x, id)
					ends[fmt.Sprint(r.State, " ", r.Number())]++
					if r.State != "DONE" && r.Number() != 122 && r.Number() != 121 {
						t.Errorf("record %s: %s %d %s", id, r.State, r.Number(), deref(r.ErrorMessage))
					}
				}
			}
			x.Kill()
			x.Account("")
			sameBook(x, p)
			t.Logf("%d rounds, %d digests sent, %d values made, records: %v", killRounds(), len(p.Sent()), len(p.Made()), ends)
		})
	}
}

// postBatch asks for a batch; the answer may never come.
func postBatch(p *program, c server.SandboxCredentials, n int, async bool, name string) {
	docs := make([]string, n)
	for i := range docs {
		docs[i] = b64(fmt.Appendf(nil, "%s %d", name, i))
	}
	_, _ = apitest.Send(context.Background(), http.DefaultClient, "POST", "http://"+p.Addr+"/EU-QES_automatic",
		m{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password, "options": m{"batch": true, "asyncSignature": async}}, "Authorization", "Bearer "+p.Box().Token)
}

// ids are those of all records.
func ids(p *program) (all []string) {
	p.T.Helper()
	a, err := apitest.Send(context.Background(), http.DefaultClient, "GET", "http://"+p.Addr+"/signatures?limit=100", nil, "Authorization", "Bearer "+p.Box().Token)
	if err != nil || a.Open() != nil {
		p.T.Fatal(err)
	}
	var list []struct{ ID string }
	if err := json.Unmarshal(a.Data, &list); err != nil {
		p.T.Fatal(err)
	}
	for _, r := range list {
		all = append(all, r.ID)
	}
	return all
}

// finalOf waits for the end of a record.
func finalOf(p *program, id string) *record {
	p.T.Helper()
	r := &record{}
	for range await.Within(await.Limit) {
		a, err := apitest.Send(context.Background(), http.DefaultClient, "GET", "http://"+p.Addr+"/signatures/"+id, nil, "Authorization", "Bearer "+p.Box().Token)
		if err == nil && a.Open() == nil && json.Unmarshal(a.Data, r) == nil && (r.State == "DONE" || r.State == "ERROR") {
			return r
		}
	}
	p.T.Fatalf("record %s has not ended: %+v", id, r)
	return nil
}

// sameBook holds the provider's book against ours: what was sent has an intent, what
// we call signed was made, and nothing was sent twice.
func sameBook(p *program, at *fake.Service) {
	p.T.Helper()
	cfg := testDefaults()
	cfg.Data, cfg.Limits.Reserve, cfg.Log.Level = p.Data, -1, "error"
	srv, err := server.Open(p.T.Context(), cfg)
	if err != nil {
		p.T.Fatal(err)
	}
	defer srv.Close()
	rows, err := srv.Parts().DB.Read().Query(p.T.Context(), `select digest, outcome from signing_intents`)
	if err != nil {
		p.T.Fatal(err)
	}
	defer rows.Close()
	ours := map[string]string{}
	for rows.Next() {
		var digest []byte
		var outcome string
		if err := rows.Scan(&digest, &outcome); err != nil {
			p.T.Fatal(err)
		}
		ours[hex.EncodeToString(digest)] = outcome
	}
	made := at.Made()
	for _, d := range at.Sent() {
		if _, ok := ours[d]; !ok {
			p.T.Errorf("the provider was sent %s, and our book does not know it", d)
		}
	}
	for d, outcome := range ours {
		if outcome == intent.Signed && !slices.Contains(made, d) {
			p.T.Errorf("our book says that %s was signed, and the provider's does not", d)
		}
	}
	if again := at.Repeated(); len(again) > 0 {
		p.T.Errorf("sent twice: %v", again)
	}
	if err := rows.Err(); err != nil {
		p.T.Fatal(err)
	}
}

// With a certificate of a listed provider the signature is qualified.
func TestAccountsQualified(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		e := newEurope(t, "IT")
		p := fake.StartOf(kind, e.PKI, nil)
		t.Cleanup(p.Close)
		s := newSite(t, func(c *server.Config) { e.Configure(c.Data)(c) }, atFar(t, p, passes), func(c *server.Config) { c.Trust.Anchors = nil })
		f := &far{s, p}
		var v struct {
			Signatures []struct{ Qualification string } `json:"signatureReportList"`
		}
		await.Until(t, "the lists are loaded", func() bool {
			a := s.Do("POST", "/verify", m{"inputDocument": b64(e.Signed())})
			return json.Unmarshal(a.Data, &v) == nil && len(v.Signatures) == 1 && v.Signatures[0].Qualification == "QESig"
		})
		d := f.device("good", "automatic")
		r := signFar(s, "automatic", server.SandboxCredentials{Username: d.Name, Password: d.Password}, b64(sitetest.SamplePDF), m{"options": m{"level": "LT"}})
		if r.State != "DONE" {
			t.Fatalf("%s: %d %s", kind, r.Number(), deref(r.ErrorMessage))
		}
		a := s.Do("POST", "/verify", m{"inputDocument": b64(s.Download(r.ID, "signedDocument"))})
		if err := json.Unmarshal(a.Data, &v); err != nil || len(v.Signatures) != 1 || v.Signatures[0].Qualification != "QESig" {
			t.Errorf("%s: %v %s", kind, err, a.Data)
		}
	}
}

// A provider that asks for a client certificate gets the one of the configuration;
// without it nothing leaves.
func TestAccountsMutualTLS(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		e := newEurope(t, "IT")
		us := e.PKI.Actor(t, "p256")
		clients := x509.NewCertPool()
		clients.AddCert(us.Chain[0])
		clients.AddCert(e.PKI.Root)
		p := fake.StartOf(kind, e.PKI, clients)
		t.Cleanup(p.Close)
		key, err := x509.MarshalPKCS8PrivateKey(us.Key)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		write := func(name, what string, der []byte) string {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: what, Bytes: der}), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		with := func(p *server.Provider) {
			p.ClientCert, p.ClientKey = write("us.pem", "CERTIFICATE", us.Certificate.Raw), write("us.key", "PRIVATE KEY", key)
		}
		for _, change := range []func(*server.Provider){with, func(*server.Provider) {}} {
			f := &far{newSite(t, atFar(t, p, change, passes)), p}
			d := f.device("good", "automatic")
			r := signFar(f.site, "automatic", server.SandboxCredentials{Username: d.Name, Password: d.Password}, b64(sitetest.SampleTXT))
			if want := map[bool]int{true: 0, false: 121}[f.Config.Signing.Providers["far"].ClientCert != ""]; r.Number() != want {
				t.Errorf("%s: %d %s, want %d", kind, r.Number(), deref(r.ErrorMessage), want)
			}
		}
	}
}

// A batch of 1,000 digests with a key at each kind of provider on loopback, whose
// values are prepared, beside one with a key of the same kind that is here: beyond-ms
// is what a document costs beyond the local one.
func BenchmarkAccountsBatch(b *testing.B) {
	digests, docs := make([][]byte, 1000), make([]m, 1000)
	for i := range digests {
		sum := sha256.Sum256(fmt.Appendf(nil, "document %d", i))
		digests[i], docs[i] = sum[:], m{"sourceType": "base64Hash", "payload": b64(sum[:])}
	}
	for _, kind := range bothKinds {
		p, err := fake.Start(kind)
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		d, err := p.Add("good", "automatic")
		if err != nil {
			b.Fatal(err)
		}
		if err := p.Values(d, crypto.SHA256, digests); err != nil {
			b.Fatal(err)
		}
		dir := b.TempDir()
		ca := filepath.Join(dir, "ca.pem")
		if err := os.WriteFile(ca, p.CA(), 0o600); err != nil {
			b.Fatal(err)
		}
		cfg := testDefaults()
		cfg.Listen, cfg.Data, cfg.Limits.Reserve, cfg.Log.Level = "127.0.0.1:0", b.TempDir(), -1, "error"
		one := server.Provider{Kind: kind, URL: p.URL(), CA: ca}
		if passes(&one); kind == fake.ARSS {
			one.Domain = fake.Domain
		}
		cfg.Signing.Providers = map[string]server.Provider{"far": one}
		ready, ended := make(chan string, 1), make(chan error, 1)
		ctx, stop := context.WithCancel(context.Background())
		go func() {
			ended <- server.Run(ctx, cfg, server.Streams{Out: io.Discard, Err: io.Discard, Ready: func(u string) { ready <- u }})
		}()
		var url string
		select {
		case url = <-ready:
		case err := <-ended:
			b.Fatal(err)
		}
		box := server.ReadSandbox(cfg.Data)
		sign := func(c server.SandboxCredentials) time.Duration {
			begin := time.Now()
			body := m{"inputDocuments": docs, "signatureType": "pkcs1", "certificateUsername": c.Username, "certificatePassword": c.Password, "options": m{"batch": true}}
			a, err := apitest.Send(ctx, http.DefaultClient, "POST", url+"/EU-QES_automatic", body, "Authorization", "Bearer "+box.Token)
			if err != nil || !strings.Contains(string(a.Body), `"state":"DONE"`) {
				b.Fatalf("%v %.600s", err, a.Body)
			}
			return time.Since(begin)
		}
		far := server.SandboxCredentials{Username: d.Name, Password: d.Password}
		local := server.SandboxCredentials{Username: box.Certificates["automatic"].Username, Password: box.Certificates["automatic"].Password}
		b.Run(kind, func(b *testing.B) {
			var here, there time.Duration
			for range b.N {
				here += sign(local)
				there += sign(far)
			}
			n := float64(b.N * len(docs))
			b.ReportMetric(here.Seconds()*1000/n, "local-ms")
			b.ReportMetric(there.Seconds()*1000/n, "remote-ms")
			b.ReportMetric((there-here).Seconds()*1000/n, "beyond-ms")
		})
		stop()
		<-ended
	}
}
