package signing_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// Files go after thirty days, records after a year, and not a day before; the
// audit log still verifies.
func TestRetention(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		blobs := func() (n int) {
			if err := srv.Parts().Blobs.List(ctx, time.Now().Add(day), func(string) error { n++; return nil }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		before := blobs()
		r := s.Sign(b64(sitetest.SamplePDF))
		retain := func(d time.Duration) {
			t.Helper()
			if err := signingAt(srv, after(d)).Retain(ctx); err != nil {
				t.Fatal(err)
			}
		}
		status := func(path string) (int, int) { a := s.Do("GET", path, nil); return a.Status, a.Code() }
		retain(29 * day)
		if len(s.Download(r.ID, "signedDocument")) == 0 {
			t.Error("gone after 29 days")
		}
		retain(31 * day)
		for _, which := range []string{"signedDocument", "validatedDocument"} {
			if st, code := status("/signatures/" + r.ID + "/" + which); st != http.StatusGone || code != 144 {
				t.Errorf("%s after 31 days: %d/%d", which, st, code)
			}
		}
		if got := blobs(); got != before {
			t.Errorf("%d blobs are left behind", got-before)
		}
		if st, _ := status("/signatures/" + r.ID); st != 200 {
			t.Errorf("the record after 31 days: %d", st)
		}
		retain(364 * day)
		if st, _ := status("/signatures/" + r.ID); st != 200 {
			t.Errorf("the record after 364 days: %d", st)
		}
		retain(367 * day)
		if st, code := status("/signatures/" + r.ID); st != 404 || code != 140 {
			t.Errorf("the record after a year: %d/%d", st, code)
		}
		s.VerifyAudit()
	})
}

// A certificate past its end is EXPIRED, and signs no more.
func TestExpiry(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		list, err := srv.Certificates(ctx, s.Box.Email, "DONE")
		if err != nil || len(list) == 0 {
			t.Fatal(list, err)
		}
		for _, c := range []struct {
			at   time.Duration
			want string
		}{{day, "DONE"}, {20 * 365 * day, "EXPIRED"}} {
			if err := enrollAt(srv, after(c.at)).Expire(ctx); err != nil {
				t.Fatal(err)
			}
			if got := s.CertificateState(list[0].ID); got != c.want {
				t.Errorf("after %v: %s", c.at, got)
			}
		}
		if r := s.Sign(b64(sitetest.SamplePDF)); r.State != "ERROR" || r.Number() != 112 {
			t.Errorf("%s %d", r.State, r.Number())
		}
	})
}

// A key pair from a PKCS#12 file signs; what its authority does not publish
// makes a level that needs it error 115, and the price comes back.
func TestImportedKeyPair(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		file, _ := pfx(t, "RSA2048", "file-secret")
		if _, err := srv.ImportCertificate(ctx, s.Box.Email, "automatic", file, "wrong", "ida", ""); err == nil {
			t.Error("a wrong password opens the file")
		}
		c, err := srv.ImportCertificate(ctx, s.Box.Email, "automatic", file, "file-secret", "ida", "own-secret")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := srv.ImportCertificate(ctx, s.Box.Email, "eseal", file, "file-secret", "ida2", ""); err == nil {
			t.Error("one key pair serves two kinds")
		}
		if s.CertificateState(c.ID) != "DONE" {
			t.Errorf("%+v", c)
		}
		ida := m{"certificateUsername": "ida", "certificatePassword": "own-secret"}
		before := s.Credit()
		r := s.Sign(b64(sitetest.SamplePDF), ida)
		if r.State != "DONE" {
			t.Fatalf("%d %s", r.Number(), deref(r.ErrorMessage))
		}
		paid := before - s.Credit()
		for _, o := range []m{{"level": "LT"}, {"level": "LT", "asyncSignature": true}} {
			r = s.Sign(b64(sitetest.SamplePDF), ida, optionsOf(o))
			if r = s.Wait(r.ID, "DONE", "ERROR"); r.Number() != 115 {
				t.Errorf("%v: %s %d %s", o, r.State, r.Number(), deref(r.ErrorMessage))
			}
		}
		if paid <= 0 || before-s.Credit() != paid {
			t.Errorf("one signature cost %v, with two errors %v", paid, before-s.Credit())
		}
		s.VerifyAudit()
	})
}

// LTV in a PDF files the validation data under the signature as well.
func TestLTVFilesEvidence(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"level": "LTV"}))
	if r.State != "DONE" || r.Options["achievedLevel"] != "LTV" {
		t.Fatalf("%s %v", r.State, r.Options)
	}
	if !bytes.Contains(s.Download(r.ID, "signedDocument"), []byte("/VRI")) {
		t.Error("no VRI")
	}
	r = s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"level": "LT"}))
	if bytes.Contains(s.Download(r.ID, "signedDocument"), []byte("/VRI")) {
		t.Error("LT has VRI too")
	}
}

// A certificate of level 2 wants a token that is bound to addresses; bound to
// ours it signs, bound to others it is refused.
func TestBoundToken(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.Buy("automatic", m{"securityLevel": 2})
		page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
		body := m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")}
		token := func(ip ...string) string {
			t.Helper()
			var made struct{ Token string }
			a := s.Do("POST", "/tokens", m{"scopes": []string{"*:*/*"}, "limits": m{"ip": ip}}, "Authorization", s.ApiKey())
			if a.Status != 200 || json.Unmarshal(a.Data, &made) != nil {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			return made.Token
		}
		if a := s.Do("POST", "/EU-QES_automatic", body, "Authorization", "Bearer "+token("127.0.0.0/16", "2001:db8::/32")); a.Status != 200 || s.Record(a).State != "DONE" {
			t.Errorf("bound to this address: %d/%d %s", a.Status, a.Code(), a.Message)
		}
		if a := s.Do("POST", "/EU-QES_automatic", body, "Authorization", "Bearer "+token("192.0.2.7")); a.Status != 403 || a.Code() != 127 {
			t.Errorf("bound to another: %d/%d", a.Status, a.Code())
		}
		if a := s.Do("POST", "/EU-QES_automatic", body); a.Status != 403 || a.Code() != 129 {
			t.Errorf("bound to none: %d/%d", a.Status, a.Code())
		}
		for _, ip := range [][]string{{"0.0.0.0/0", "::/0"}, {"0.0.0.0/0"}, {"0.0.0.0/1", "128.0.0.0/1"}, {"127.0.0.1", "2000::/3", "0.0.0.0/4", "112.0.0.0/5"}, {"127.0.0.0/8"}, {"127.0.0.0/15"}, {"127.0.0.1", "2001:db8::/31"}} {
			want := 129
			if a := s.Do("POST", "/EU-QES_automatic", body, "Authorization", "Bearer "+token(ip...)); a.Code() != want {
				t.Errorf("bound to %v: %d/%d", ip, a.Status, a.Code())
			}
		}
	})
}

// A disk below its reserve takes nothing in, and goes on handing out.
func TestReserve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newSite(t, func(c *server.Config) { c.Data = dir })
	r := first.Sign(b64(sitetest.SamplePDF))
	first.Run.Stop()
	s := newSite(t, func(c *server.Config) { c.Data, c.Limits.Reserve = dir, 1<<60 })
	for _, o := range []m{nil, {"asyncSignature": true}} {
		a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF), optionsOf(o)))
		if a.Status != 503 || a.Code() != 105 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%v: %d/%d, Retry-After %q", o, a.Status, a.Code(), a.Header.Get("Retry-After"))
		}
	}
	if a := s.Do("GET", "/signatures/"+r.ID, nil); a.Status != 200 {
		t.Errorf("reading: %d", a.Status)
	}
	var list []record
	if a := s.Do("GET", "/signatures", nil); json.Unmarshal(a.Data, &list) != nil || len(list) != 1 {
		t.Errorf("a refused request left a record: %d", len(list))
	}
	resp, err := http.Get(s.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", resp.StatusCode)
	}
}

// A certificate that is locked while its record waits is found locked by the
// job: error 111, and the price comes back.
func TestLockedWhileWaiting(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.Write([]byte("remote"))
	}))
	t.Cleanup(host.Close)
	s := newSite(t, allow(host.URL))
	before := s.Credit()
	r := s.Sign(host.URL+"/x.txt", optionsOf(m{"asyncDocumentsValidation": true}))
	for range 5 {
		if bad := s.Sign(b64(sitetest.SampleTXT), m{"certificatePassword": "wrong"}); bad.Number() != 110 {
			t.Fatalf("%s %d", bad.State, bad.Number())
		}
	}
	close(release)
	if r = s.Wait(r.ID, "DONE", "ERROR"); r.Number() != 111 {
		t.Errorf("%s %d %s", r.State, r.Number(), deref(r.ErrorMessage))
	}
	if got := s.Credit(); got != before {
		t.Errorf("%v of credit, %v before", got, before)
	}
}

// Trouble of our own that does not pass ends a record in error 119, which says
// nothing but the request's id; the price comes back.
func TestOwnTrouble(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		before := s.Credit()
		c := s.Buy("otp", m{"securityLevel": 5})
		bought := before - s.Credit()
		page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
		code, _ := keys.Code(element(page, "otp-secret"), time.Now())
		r := s.Record(s.Do("POST", "/EU-QES_otp", m{
			"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": element(page, "certificate-username"),
			"certificatePassword": element(page, "certificate-password"), "certificateOtp": code,
		}))
		var blob string
		if err := srv.Parts().DB.Read().QueryRow(ctx, `select blob from signature_files where signature_id = $1 and role = 'input'`, r.ID).Scan(&blob); err != nil {
			t.Fatal(err)
		}
		if err := srv.Parts().Blobs.Delete(ctx, blob); err != nil {
			t.Fatal(err)
		}
		if a := s.Do("POST", "/approvals/"+r.ID, nil, "Authorization", "Bearer "+s.OtherToken()); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		for range await.Within(time.Minute) { // the third failure is the end
			if r.State == "ERROR" {
				break
			}
			r = s.Record(s.Do("GET", "/signatures/"+r.ID, nil))
		}
		if text := deref(r.ErrorMessage); r.Number() != 119 || bytes.Contains([]byte(text), []byte("blob")) {
			t.Errorf("%s %d %s", r.State, r.Number(), text)
		}
		if got := s.Credit(); got != before-bought {
			t.Errorf("%v of credit, %v before", got, before-bought)
		}
	}, func(c *server.Config) { c.Jobs.Lease = 1500 * time.Millisecond })
}

// A folder for temporary files that takes nothing, as on a full disk, ends no
// record, whatever it is needed for: what was fetched, what several are joined to,
// what is signed. With it there again they are signed.
func TestSpoolAway(t *testing.T) {
	t.Parallel()
	content := make([]byte, 2<<20)
	rand.Read(content) // a zip of it is not shorter
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Path[1:])
		w.Write(content[:size])
	}))
	t.Cleanup(host.Close)
	const short, long = "/900000", "/1500000" // the one is kept in memory, the other is not
	eachEngine(t, func(t *testing.T, s *site) {
		srv, spool := s.OpenServer(), server.Spool(s.Config.Data)
		if err := os.Rename(spool, spool+".away"); err != nil {
			t.Fatal(err)
		}
		later := func(o m) m {
			o["asyncDocumentsValidation"] = true
			return optionsOf(o)
		}
		all := map[string]*record{
			"one":     s.Sign(host.URL+long, later(m{})),
			"several": s.Sign([]string{host.URL + short, host.URL + short}, later(m{})),
			"a batch": s.Sign([]string{host.URL + short, host.URL + long}, later(m{"batch": true})),
			"zipped":  s.Sign([]string{host.URL + short, host.URL + short}, later(m{"batch": true})),
		}
		s.Becomes(http.StatusServiceUnavailable, "spool")
		for what, r := range all {
			if r = s.Record(s.Do("GET", "/signatures/"+r.ID, nil)); !strings.HasPrefix(r.State, "WAIT_") {
				t.Fatalf("%s: %s %d %s", what, r.State, r.Number(), deref(r.ErrorMessage))
			}
		}
		if n := storetest.Count(t, srv.Parts().DB, `select max(starts) from signatures`); n > 1 {
			t.Errorf("work that nothing can be written for was begun %d times", n)
		}
		if err := os.Rename(spool+".away", spool); err != nil {
			t.Fatal(err)
		}
		s.Becomes(http.StatusOK, "")
		for what, r := range all {
			if r = s.Wait(r.ID, "DONE", "ERROR"); r.State != "DONE" {
				t.Errorf("%s: %d %s", what, r.Number(), deref(r.ErrorMessage))
			}
		}
	}, allow(host.URL), func(c *server.Config) { c.Jobs.Lease = 4 * time.Second })
}

// The commands do what the calls do, beside a running server.
func TestCertificateCommands(t *testing.T) {
	t.Parallel()
	p := newProgram(t, "")
	p.Start()
	box := p.Box()
	run := func(into any, args ...string) {
		t.Helper()
		out, err := p.Command(append(args, "--json")...)
		if err == nil && into != nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil {
			t.Fatalf("rogito %v: %v: %s", args, err, out)
		}
	}
	file, _ := pfx(t, "P256", "file-secret")
	var imported struct{ ID, State, Username string }
	run(&imported, "cert", "import", box.Email, "automatic", writeFile(t, "key.p12", file), "--username", "ida", "--password-file", writeFile(t, "pw", []byte("file-secret\n")))
	if imported.Username != "ida" || imported.State != "DONE" {
		t.Errorf("%+v", imported)
	}
	ida := box.Certificates["automatic"]
	ida.Username, ida.Password = "ida", "file-secret"
	if r := p.PostAs(ida, nil, ""); r == nil || r.State != "DONE" {
		t.Errorf("%+v", r)
	}
	var order struct{ ID, State, CertificateLink string }
	run(&order, "cert", "buy", box.Email, "automatic", "Elsa Prova")
	if order.State != "NEW" {
		t.Errorf("%+v", order)
	}
	s := &site{T: t, URL: "http://" + p.Addr, Box: box, Contract: theContract(t, "http://"+p.Addr)}
	if out, err := p.Command("cert", "review", order.ID, "--approve"); err == nil {
		t.Errorf("a review before anything was handed in: %s", out)
	}
	if code, page := s.Upload(order.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}); code != 200 {
		t.Fatalf("%d %s", code, page)
	}
	saved := t.TempDir()
	run(nil, "cert", "review", order.ID, "--save", saved)
	if files, err := os.ReadDir(saved); err != nil || len(files) != 2 {
		t.Errorf("%d files, %v", len(files), err)
	}
	run(&order, "cert", "review", order.ID, "--approve", "--reason", "same face")
	if order.State != "DONE" {
		t.Errorf("%+v", order)
	}
	// The reviewer sees every attribute, and decides on that.
	c := s.Buy("automatic", m{"certificateOwner": "Eve Attacker", "subject": m{"givenName": "Sergio", "surname": "Bianchi", "fiscalCode": "BNCSRG41L23G273U"}})
	s.Upload(c.CertificateLink, "video", sitetest.EvidenceFiles)
	shown, err := p.Command("cert", "review", c.ID)
	for _, want := range []string{"Eve Attacker", "Sergio", "Bianchi", "BNCSRG41L23G273U", "CN=SANDBOX Sergio Bianchi", "video-", "photo-", "THE LABEL IS NOT THE NAME"} {
		if err != nil || !strings.Contains(string(shown), want) {
			t.Errorf("no %s: %v\n%s", want, err, shown)
		}
	}
	var waiting struct {
		Digest, CertificateLink string
		LabelDiffers            bool
		Attributes              map[string]string
	}
	run(&waiting, "cert", "review", c.ID)
	if waiting.Attributes["surname"] != "Bianchi" || !waiting.LabelDiffers || waiting.CertificateLink != "" {
		t.Errorf("%+v", waiting)
	}
	var list []struct {
		ID         string
		Attributes map[string]string
	}
	run(&list, "cert", "list", "--state", "REGISTERING")
	if len(list) != 1 || list[0].Attributes["fiscalCode"] != "BNCSRG41L23G273U" {
		t.Errorf("%+v", list)
	}
	if out, err := p.Command("cert", "review", c.ID, "--approve", "--digest", strings.Repeat("0", 64)); err == nil {
		t.Errorf("something else is approved: %s", out)
	}
	run(nil, "cert", "review", c.ID, "--refuse", "--digest", waiting.Digest)
	for _, c := range []struct{ verb, want string }{{"suspend", "SUSPENDED"}, {"resume", "DONE"}, {"revoke", "REVOKED"}} {
		run(&order, "cert", c.verb, order.ID)
		if order.State != c.want {
			t.Errorf("%s: %+v", c.verb, order)
		}
	}
}
