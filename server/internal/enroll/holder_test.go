package enroll_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/enrol"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// No answer, list, callback, replay or command shows a link behind which
// credentials wait, and nothing but the holder's browser gets them.
func TestLinkOfWaitingCredentials(t *testing.T) {
	hook := newReceiver(t, nil)
	s := newSite(t, allow(hook.URL))
	srv := s.OpenServer()
	body := m{"certificateOwner": "Elsa Prova", "callback": m{"url": hook.URL}}
	var c bought
	if a := s.Do("POST", "/certificates/namirial-otp", body, "Idempotency-Key", "once-and-again"); a.Status != 200 || json.Unmarshal(a.Data, &c) != nil {
		t.Fatalf("%d %s", a.Status, a.Message)
	}
	s.Upload(c.CertificateLink, "video", sitetest.EvidenceFiles)
	review := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true})
	secret := c.CertificateLink[strings.LastIndexByte(c.CertificateLink, '/')+1:]
	var narrow struct{ Token string }
	if a := s.Do("POST", "/tokens", m{"scopes": []string{"GET:*/certificates"}}); json.Unmarshal(a.Data, &narrow) != nil || narrow.Token == "" {
		t.Fatal(a.Message)
	}
	listed, err := srv.Certificates(context.Background(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	commands, _ := json.Marshal(listed)
	places := map[string]string{
		"the review":          string(review.Data),
		"the detail":          string(s.Do("GET", "/certificates/"+c.ID, nil).Data),
		"the list":            string(s.Do("GET", "/certificates", nil).Data),
		"a token for reading": string(s.Do("GET", "/certificates/"+c.ID, nil, "Authorization", "Bearer "+narrow.Token).Data),
		"the replay":          string(s.Do("POST", "/certificates/namirial-otp", body, "Idempotency-Key", "once-and-again").Data),
		"a new device":        string(s.Do("POST", "/certificates/"+c.ID+"/enrol", nil).Data),
		"suspending":          string(s.Do("POST", "/certificates/"+c.ID+"/suspend", nil).Data) + string(s.Do("POST", "/certificates/"+c.ID+"/resume", nil).Data),
		"the command":         string(commands),
		"the deliveries":      string(s.Do("GET", "/callbacks", nil).Data),
	}
	for _, d := range hook.Wait(t, 3) { // REGISTERING, WORKING, DONE
		if strings.Contains(string(d.Body), "DONE") || strings.Contains(string(d.Body), "WORKING") {
			places["a callback"] += string(d.Body)
		}
	}
	for name, text := range places {
		if strings.Contains(text, secret) || text == "" {
			t.Errorf("%s: %q", name, text)
		}
	}
	if a := s.Do("POST", "/certificates/"+c.ID+"/enrol", nil); a.Code() != 145 {
		t.Errorf("a new device before the first was seen: %d/%d", a.Status, a.Code())
	}
	page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}})
	if element(page, "certificate-password") == "" {
		t.Fatalf("the holder: %s", page)
	}
}

// What an operator looks at is what is decided on: evidence that comes later,
// from a request that was begun before, does not take its place.
func TestEvidenceIsNotReplaced(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.Buy("automatic", nil)
		pr, pw := io.Pipe()
		w := multipart.NewWriter(pw)
		late := make(chan int, 1)
		begun := make(chan struct{})
		go func() { // someone else with the link: begun before, ended after
			req, err := http.NewRequest("POST", c.CertificateLink, pr)
			if err != nil {
				late <- 0
				return
			}
			req.Header.Set("Content-Type", w.FormDataContentType())
			req.Header.Set("Expect", "100-continue") // the body goes once the page reads it
			asks := &http.Transport{ExpectContinueTimeout: await.Limit}
			defer asks.CloseIdleConnections()
			resp, err := asks.RoundTrip(req)
			if err != nil {
				late <- 0
				return
			}
			resp.Body.Close()
			late <- resp.StatusCode
		}()
		go func() {
			_ = w.WriteField("action", "video")
			f, _ := w.CreateFormFile("video", "v.mp4")
			_, _ = f.Write(filmtest.MP4("vide", 9000))
			close(begun)
		}()
		<-begun
		if code, page := s.Upload(c.CertificateLink, "video", sitetest.EvidenceFiles); code != 200 {
			t.Fatalf("%d %s", code, page)
		}
		f, err := w.CreateFormFile("photo", "p.png")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.Write(filmtest.Photo())
		w.Close()
		pw.Close()
		if code := <-late; code != 409 {
			t.Errorf("evidence while other evidence waits: %d", code)
		}
		if a := s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true}); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		if page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
			t.Errorf("the browser that was looked at: %s", page)
		}
	})
}

// Who can write to the database, and has no master key, does not get the
// credentials of others: link, browser, proof and credentials are sealed for
// their row.
func TestDatabaseDoesNotReveal(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		victim := s.Ready("automatic", nil)
		s.Holder = nil
		own := s.Ready("automatic", nil) // seen by the attacker's browser
		link := strings.Replace(own.CertificateLink, own.ID, victim.ID, 1)
		ctx := context.Background()
		read := func(column, id string) (b []byte) {
			t.Helper()
			if err := srv.Parts().DB.Read().QueryRow(ctx, `select `+column+` from certificates where id = $1`, id).Scan(&b); err != nil {
				t.Fatal(err)
			}
			return b
		}
		for _, columns := range [][]string{{"link"}, {"browser"}, {"link", "browser"}} {
			for _, column := range columns {
				execute(srv, t, `update certificates set `+column+` = $1 where id = $2`, read(column, own.ID), victim.ID)
			}
			for _, at := range []string{link, victim.CertificateLink} {
				for _, form := range []url.Values{nil, {"action": {"reveal"}}} {
					if page := s.Page(at, form); element(page, "certificate-password") != "" {
						t.Errorf("%v moved: the credentials show", columns)
					}
				}
			}
		}
		execute(srv, t, `update certificates set credentials_once = $1 where id = $2`, read("credentials_once", victim.ID), own.ID)
		if page := s.Page(own.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "certificate-password") != "" {
			t.Error("the credentials of another order show")
		}
	})
}

// Nor does one get a certificate in a name that was not proven: what was proven is sealed for its
// order.
func TestDatabaseDoesNotProve(t *testing.T) {
	s := newSite(t)
	srv := s.OpenServer()
	other := s.Buy("automatic", m{"certificateOwner": "Mario Rossi"})
	s.Page(other.CertificateLink, url.Values{"action": {"approve"}})
	own := s.Buy("automatic", nil)
	var proven []byte
	if err := srv.Parts().DB.Read().QueryRow(context.Background(), `select certified from certificates where id = $1`, other.ID).Scan(&proven); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string][]byte{"moved": proven, "written": []byte(`{"commonName":"Mario Rossi"}`), "none": nil} {
		execute(srv, t, `update certificates set certified = $1, state = 'WORKING' where id = $2`, v, own.ID)
		if _, err := srv.Parts().Enroll.Issue(context.Background(), own.ID); err == nil {
			t.Errorf("%s: a certificate is issued", name)
		}
	}
	execute(srv, t, `update certificates set certified = null, state = 'NEW' where id = $1`, own.ID)
}

// A kind that was rewritten in the database asks for no one-time password, and
// opens no key.
func TestDatabaseDoesNotChangeTheKind(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		c := s.Buy("otp", nil)
		page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
		who := m{"certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")}
		execute(srv, t, `update credentials set kind = 'automatic', totp = null where id = $1`, c.ID)
		execute(srv, t, `update certificates set kind = 'automatic', security_level = 1 where id = $1`, c.ID)
		if r := s.Sign(b64(sitetest.SamplePDF), who); r.State != "ERROR" || r.Number() != 110 {
			t.Errorf("%s %d", r.State, r.Number())
		}
	})
}

// The link says when and to which address the credentials were shown, the audit
// log says it too, and neither shows them again.
func TestRevealingIsAnnounced(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		c := s.Ready("automatic", nil)
		if page := s.Page(c.CertificateLink, nil); strings.Contains(page, `id="shown-before"`) {
			t.Error("announced before it happened")
		}
		page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}})
		pass := element(page, "certificate-password")
		if pass == "" || strings.Contains(page, `id="shown-before"`) {
			t.Fatalf("%s", page)
		}
		for name, holder := range map[string]*http.Client{"the same browser": s.Holder, "another": nil} {
			s.Holder = holder
			for _, form := range []url.Values{nil, {"action": {"reveal"}}, {"action": {"approve"}}, {"action": {"device"}, "password": {pass}}} {
				page := s.Page(c.CertificateLink, form)
				if element(page, "certificate-password") != "" || strings.Contains(page, pass) {
					t.Errorf("%s sees the credentials again after %v", name, form)
				}
				if form == nil && (element(page, "shown-to") != "127.0.0.1" || element(page, "shown-at") == "") {
					t.Errorf("%s is not told: %s", name, page)
				}
			}
		}
		if n := countRows(srv, t, `select count(*) from audit_events where kind = 'certificate-shown' and record_id = '`+c.ID+`'`); n != 1 {
			t.Errorf("%d events", n)
		}
		s.VerifyAudit()
	})
}

// The cookie that ties the credentials to a browser goes over https only
// wherever people use https, at a proxy too.
func TestHolderCookieIsSecure(t *testing.T) {
	s := newSite(t)
	srv := s.OpenServer()
	c := s.Buy("automatic", nil)
	path := strings.TrimPrefix(c.CertificateLink, s.URL)
	for public, want := range map[string]bool{"https://sign.example": true, "HTTPS://sign.example/base": true, "http://127.0.0.1:8080": false} {
		w := httptest.NewRecorder()
		enrol.New(look.NewSite(look.Options{}), srv.Parts().Enroll, public, true, t.TempDir(), quiet()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		cookies := w.Result().Cookies()
		name, at := "rogito-holder", "/enrol/"+c.ID
		if want {
			name, at = "__Host-rogito-holder", "/"
		}
		if len(cookies) != 1 || cookies[0].Secure != want || !cookies[0].HttpOnly || cookies[0].Path != at || cookies[0].Name != name {
			t.Errorf("%s: %v", public, cookies)
		}
	}
}

// A new device takes the old one, or identification again: nothing else will do.
func TestNewDeviceVariants(t *testing.T) {
	s := newSite(t)
	type holder struct {
		bought
		user, pass, secret, device string
	}
	get := func() (h holder) {
		h.bought = s.Buy("otp", nil)
		page := s.Page(h.CertificateLink, url.Values{"action": {"approve"}})
		h.user, h.pass, h.secret = element(page, "certificate-username"), element(page, "certificate-password"), element(page, "otp-secret")
		var again bought
		if a := s.Do("POST", "/certificates/"+h.ID+"/enrol", nil); a.Status != 200 || json.Unmarshal(a.Data, &again) != nil {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		h.device = again.CertificateLink
		return h
	}
	a, b := get(), get()
	used := codeOf(t, a.secret, 0)
	if r := s.Record(s.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": a.user, "certificatePassword": a.pass, "certificateOtp": used})); r.State != "DONE" {
		t.Fatal(deref(r.ErrorMessage))
	}
	form := func(pass, code string) url.Values {
		return url.Values{"action": {"device"}, "password": {pass}, "code": {code}}
	}
	s.Page(b.device, url.Values{"action": {"approve"}}) // this browser is b's holder, identified again
	for name, c := range map[string]struct {
		link string
		form url.Values
	}{
		"a code that was used":               {a.device, form(a.pass, used)},
		"a code of another's device":         {a.device, form(a.pass, codeOf(t, b.secret, 1))},
		"the password of another":            {a.device, form(b.pass, codeOf(t, a.secret, 1))},
		"no code, identified for another":    {a.device, form(a.pass, "")},
		"the link that showed credentials":   {a.CertificateLink, form(a.pass, codeOf(t, a.secret, 1))},
		"the secret of another's link":       {strings.Replace(b.device, b.ID, a.ID, 1), form(a.pass, codeOf(t, a.secret, 1))},
		"revealing what was shown already":   {a.device, url.Values{"action": {"reveal"}}},
		"the wrong password, identified":     {b.device, form("wrong password", "")},
		"another's password, and identified": {b.device, form(a.pass, "")},
	} {
		if page := s.Page(c.link, c.form); element(page, "otp-secret") != "" {
			t.Errorf("%s: a device is enrolled", name)
		}
	}
	s.Do("POST", "/certificates/"+a.ID+"/suspend", nil)
	if page := s.Page(a.device, form(a.pass, codeOf(t, a.secret, 1))); element(page, "otp-secret") != "" {
		t.Error("a suspended certificate gets a device")
	}
	s.Do("POST", "/certificates/"+a.ID+"/resume", nil)
	if page := s.Page(b.device, form(b.pass, "")); element(page, "otp-secret") == "" {
		t.Errorf("identified again: %s", page)
	}
	if page := s.Page(b.device, form(b.pass, "")); element(page, "otp-secret") != "" {
		t.Error("one link enrols two devices")
	}
}

// What was asked for with the old device or the old password is not signed
// after a new one: it was not the holder's any more.
func TestOldFactorWaits(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *site) {
		for name, change := range map[string]func(c bought, pass, secret string){
			"a new device": func(c bought, pass, secret string) {
				var again bought
				if a := s.Do("POST", "/certificates/"+c.ID+"/enrol", nil); json.Unmarshal(a.Data, &again) != nil || again.CertificateLink == "" {
					t.Fatal(a.Message)
				}
				page := s.Page(again.CertificateLink, url.Values{"action": {"device"}, "password": {pass}, "code": {codeOf(t, secret, 1)}})
				if element(page, "otp-secret") == "" {
					t.Fatal(page)
				}
			},
			"a new password": func(c bought, pass, _ string) {
				if a := s.Do("POST", "/certificates/"+c.ID+"/password", m{"old": pass, "new": "another password"}); a.Status != 200 {
					t.Fatal(a.Message)
				}
			},
			"a new password and back": func(c bought, pass, _ string) {
				for _, p := range [][2]string{{pass, "another password"}, {"another password", pass}} {
					if a := s.Do("POST", "/certificates/"+c.ID+"/password", m{"old": p[0], "new": p[1]}); a.Status != 200 {
						t.Fatal(a.Message)
					}
				}
			},
		} {
			c := s.Buy("otp", m{"securityLevel": 5})
			page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
			pass, secret := element(page, "certificate-password"), element(page, "otp-secret")
			r := s.Record(s.Do("POST", "/EU-QES_otp", m{
				"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": element(page, "certificate-username"), "certificatePassword": pass, "certificateOtp": codeOf(t, secret, 0),
			}))
			change(c, pass, secret)
			if a := s.Do("POST", "/approvals/"+r.ID, nil, "Authorization", "Bearer "+s.OtherToken()); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			if got := s.Wait(r.ID, "DONE", "ERROR"); got.State != "ERROR" || got.Number() != 110 {
				t.Errorf("%s: %s %d", name, got.State, got.Number())
			}
		}
	})
}

// An approval can be withdrawn until the record is signed, and falls with the
// token that gave it.
func TestApprovalWithdrawn(t *testing.T) {
	engines(t, func(t *testing.T, database string) {
		s := standing(t, database)
		srv := s.OpenServer()
		for name, c := range map[string]struct {
			change func(id, token string) *answer
			number int
		}{
			"withdrawn": {func(id, token string) *answer {
				return s.Do("DELETE", "/approvals/"+id, nil, "Authorization", "Bearer "+token)
			}, 120},
			"the token deleted": {func(_, token string) *answer { return s.Do("DELETE", "/tokens/"+token, nil) }, 112},
		} {
			h := s.Issued("otp", m{"securityLevel": 5})
			id, token := s.Record(s.Do("POST", "/EU-QES_otp", m{
				"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": h.User, "certificatePassword": h.Pass, "certificateOtp": codeOf(t, h.Secret, 0),
			})).ID, s.OtherToken()
			if a := s.Do("POST", "/approvals/"+id, nil, "Authorization", "Bearer "+token); a.Status != 200 {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			if a := c.change(id, token); a.Status != 200 {
				t.Fatalf("%s: %d %s", name, a.Status, a.Message)
			}
			if err := work(srv, srv.Parts().Signing, job.Config{}); err != nil {
				t.Fatal(err)
			}
			if r := s.Record(s.Do("GET", "/signatures/"+id, nil)); r.State != "ERROR" || r.Number() != c.number {
				t.Errorf("%s: %s %d", name, r.State, r.Number())
			}
		}
	})
}

// A key that was erased while its password was being changed stays erased.
func TestErasedKeyStaysErased(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		c := s.Buy("automatic", nil)
		page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
		cred, err := srv.Parts().Keys.ByID(ctx, c.ID) // as the change of the password found it
		if err != nil {
			t.Fatal(err)
		}
		if a := s.Do("POST", "/certificates/"+c.ID+"/revoke", nil); a.Status != 200 {
			t.Fatal(a.Message)
		}
		if err := srv.Parts().Keys.ChangePassword(ctx, cred, element(page, "certificate-password"), "another password"); !errors.Is(err, fault.WrongState) {
			t.Errorf("changing the password of an erased key: %v", err)
		}
		if cred, err = srv.Parts().Keys.ByID(ctx, c.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := srv.Parts().Keys.Open(ctx, cred, element(page, "certificate-password")); !errors.Is(err, keys.ErrErased) {
			t.Errorf("the key: %v", err)
		}
	})
}

// What an applicant hands in is sealed or gone, however the request ends:
// nothing of it lies anywhere in clear.
func TestEvidenceLeavesNothingInClear(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := newSite(t, sitetest.Alone(t))
	marker := []byte("a face that nobody else shall see ")
	large := bytes.Repeat(marker, 100_000)
	send := func(link string, cut bool, parts ...string) {
		t.Helper()
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		_ = w.WriteField("action", "video")
		for _, name := range parts {
			f, err := w.CreateFormFile(name, "f.bin")
			if err != nil {
				t.Fatal(err)
			}
			content := large
			switch name {
			case "video":
				content = filmtest.Holding(large)
			case "photo":
				content = append(filmtest.Photo(), large...)
			}
			_, _ = f.Write(content)
		}
		w.Close()
		body := b.Bytes()
		if cut {
			body = body[:len(body)/2]
		}
		req, err := http.NewRequest(http.MethodPost, link, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if cut {
			req.ContentLength = int64(b.Len())
		}
		req.Header.Set("Content-Type", w.FormDataContentType())
		if resp, err := s.Browser().Do(req); err == nil {
			resp.Body.Close()
		}
	}
	c := s.Buy("automatic", nil)
	send(c.CertificateLink, false, "video", "photo")
	send(c.CertificateLink, false, "video", "photo") // while the first waits
	send(s.Buy("automatic", nil).CertificateLink, false, "video")
	send(s.Buy("automatic", nil).CertificateLink, true, "video", "photo")
	send(s.Buy("automatic", nil).CertificateLink, false, "video", "photo", "more", "organization")
	send(s.Buy("automatic", nil).CertificateLink+"x", false, "video", "photo")
	send(s.Buy("eseal", nil).CertificateLink, false, "video", "photo")
	s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": false})
	for _, dir := range []string{temp, s.Config.Data} {
		files := 0
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			files++
			b, err := os.ReadFile(path)
			if bytes.Contains(b, marker) {
				t.Errorf("%s holds evidence in clear", filepath.Base(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if dir == temp && files > 0 {
			t.Errorf("%d files are left in the temporary folder", files)
		}
	}
}

// A seal names an organisation, and only the organisation's own seal, or an
// extract of its register, proves it.
func TestSealNeedsTheOrganisation(t *testing.T) {
	s := newSite(t)
	person := ca.Name{Country: "IT", GivenName: "Mario", Surname: "Rossi", CommonName: "Mario Rossi"}
	employed := person
	employed.Organization, employed.OrganizationIdentifier = "ACME S.r.l.", "VATIT-12345678901"
	seal := func(name, number string) ca.Name {
		return ca.Name{Country: "IT", Organization: name, OrganizationIdentifier: number, CommonName: name}
	}
	acme := m{"organization": "ACME S.r.l.", "organizationIdentifier": "VATIT-12345678901"}
	order := func(subject m) bought {
		return s.Buy("eseal", m{"certificateOwner": "ACME S.r.l.", "identification": "signature", "subject": subject})
	}
	for name, c := range map[string]struct {
		signer ca.Name
		order  m
		good   bool
	}{
		"a person of the organisation":             {employed, acme, false},
		"a person of no organisation":              {person, acme, false},
		"a person for a seal that names nothing":   {employed, m{}, false},
		"the seal of another organisation":         {seal("Bank S.p.A.", "VATIT-12345678901"), acme, false},
		"the seal of a namesake":                   {seal("ACME S.r.l.", "VATIT-99999999999"), acme, false},
		"a seal without the number that is wanted": {seal("ACME S.r.l.", ""), acme, false},
		"the organisation's own seal":              {seal("ACME S.r.l.", "VATIT-12345678901"), acme, true},
	} {
		o := order(c.order)
		code, page := s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": s.Outside.Signer(c.signer).PDF(s.Statement(o.CertificateLink))})
		if got := s.CertificateState(o.ID) == "DONE"; got != c.good {
			t.Errorf("%s: %d, %v: %s", name, code, got, element(page, "problem"))
		}
	}
	o := s.Buy("eseal", m{"certificateOwner": "ACME S.r.l.", "subject": acme})
	if code, _ := s.Upload(o.CertificateLink, "video", sitetest.EvidenceFiles); code != 422 || s.CertificateState(o.ID) != "NEW" {
		t.Errorf("a video without an extract of the register: %d", code)
	}
}
