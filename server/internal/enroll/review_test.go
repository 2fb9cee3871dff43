package enroll_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pdfmerge"
	"rogito.dev/rogito/server/servertest/sitetest"
	"rogito.dev/rogito/xades"
)

// review is what an administrator is shown of an order that waits.
type review struct {
	CertificateLink *string
	LabelDiffers    bool
	Review          *struct {
		Method, CommonName, SubjectDN, Digest, Problem string
		Files, LeftOut                                 []string
		Attributes                                     map[string]string
	}
}

// The reviewer sees every attribute that an approval certifies, beside the evidence, in the API and
// on the command line, whatever the label says.
func TestReviewerSeesWhatIsCertified(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv, admin := s.OpenServer(), s.Reviewer()
		seal := map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo(), "organization": []byte("extract")}
		for name, c := range map[string]struct {
			kind    string
			files   map[string][]byte
			owner   string
			subject m
			differs bool
			want    []string // in the name that is certified
		}{
			"another person":        {"automatic", sitetest.EvidenceFiles, "Eve Attacker", m{"givenName": "Sergio", "surname": "Bianchi", "fiscalCode": "BNCSRG41L23G273U"}, true, []string{"CN=SANDBOX Sergio Bianchi", "TINIT-BNCSRG41L23G273U"}},
			"another organisation":  {"eseal", seal, "Eve srl", m{"organization": "Banca di Prova", "organizationIdentifier": "VATIT-12345678901"}, true, []string{"O=Banca di Prova", "VATIT-12345678901"}},
			"another surname":       {"automatic", sitetest.EvidenceFiles, "Elsa Prova", m{"givenName": "Elsa", "surname": "Rossi"}, true, []string{"CN=SANDBOX Elsa Rossi"}},
			"a code alone":          {"otp", sitetest.EvidenceFiles, "Elsa Prova", m{"fiscalCode": "PRVLSE80A41H501X"}, false, []string{"CN=SANDBOX Elsa Prova", "PRVLSE80A41H501X"}},
			"the label is the name": {"automatic", sitetest.EvidenceFiles, "prova ELSA", m{"givenName": "Elsa", "surname": "Prova", "country": "FR"}, false, []string{"CN=SANDBOX Elsa Prova", "C=FR"}},
			"an address":            {"automatic", sitetest.EvidenceFiles, "Elsa Prova", m{"email": "elsa@bank.example"}, false, []string{"CN=SANDBOX Elsa Prova"}},
			"nothing but a label":   {"automatic", sitetest.EvidenceFiles, "Elsa Prova", m{}, false, []string{"CN=SANDBOX Elsa Prova"}},
		} {
			o := s.Buy(c.kind, m{"certificateOwner": c.owner, "subject": c.subject})
			if a := s.Do("GET", "/certificates/"+o.ID, nil, admin...); a.Status != 404 {
				t.Errorf("%s: an order that waits for nobody: %d", name, a.Status)
			}
			if page := s.Page(o.CertificateLink, nil); strings.Contains(page, `id="label-differs"`) != c.differs || c.differs && c.kind == "eseal" && !strings.Contains(page, "<strong>Banca di Prova</strong>") {
				t.Errorf("%s: the page: %s", name, page)
			}
			if code, page := s.Upload(o.CertificateLink, "video", c.files); code != 200 {
				t.Fatalf("%s: %d %s", name, code, page)
			}
			a := s.Do("GET", "/certificates/"+o.ID, nil, admin...)
			var seen review
			if a.Status != 200 || json.Unmarshal(a.Data, &seen) != nil || seen.Review == nil || seen.CertificateLink != nil || strings.Contains(string(a.Data), "/enrol/") {
				t.Fatalf("%s: %d %s", name, a.Status, a.Data)
			}
			shown, err := srv.WaitingCertificate(context.Background(), o.ID)
			if err != nil || shown.SubjectDN != seen.Review.SubjectDN || shown.Digest != seen.Review.Digest || shown.Link != "" || len(shown.Files) != len(c.files) {
				t.Errorf("%s: the command: %+v %v", name, shown, err)
			}
			if seen.LabelDiffers != c.differs || shown.LabelDiffers != c.differs || len(seen.Review.Files) != len(c.files) || seen.Review.Method != "video" {
				t.Errorf("%s: %s", name, a.Data)
			}
			for _, want := range c.want {
				if !strings.Contains(seen.Review.SubjectDN, want) {
					t.Errorf("%s: %s is not in %s", name, want, seen.Review.SubjectDN)
				}
			}
			if c.subject["email"] != nil && (len(seen.Review.LeftOut) != 1 || seen.Review.Attributes["email"] != "") {
				t.Errorf("%s: %s", name, a.Data)
			}
			if a := s.Do("POST", "/certificates/"+o.ID+"/review", m{"approve": true, "digest": seen.Review.Digest}, admin...); a.Status != 200 {
				t.Fatalf("%s: %d %s", name, a.Status, a.Message)
			}
			var d struct{ SubjectDN string }
			if err := json.Unmarshal(s.Do("GET", "/certificates/"+o.ID, nil).Data, &d); err != nil || d.SubjectDN != seen.Review.SubjectDN {
				t.Errorf("%s: certified %s, shown %s", name, d.SubjectDN, seen.Review.SubjectDN)
			}
			kept, err := srv.Evidence(context.Background(), o.ID)
			if err != nil || kept.Approved == nil || kept.Approved.CommonName != seen.Review.CommonName {
				t.Errorf("%s: evidence of what was approved: %+v %v", name, kept, err)
			}
			if a := s.Do("GET", "/certificates/"+o.ID, nil, admin...); a.Status != 404 {
				t.Errorf("%s: after the decision: %d", name, a.Status)
			}
		}
		if a := s.Do("GET", "/certificates/"+s.BuyWaiting(nil).ID, nil, "Authorization", "Bearer "+s.Stranger()); a.Status != 404 {
			t.Errorf("a stranger who is no administrator: %d", a.Status)
		}
		s.VerifyAudit()
	})
}

// A decision is about what was shown: what was changed since, in the order or in
// what was handed in, is not decided on; nor is an order that is not the one that
// was bought, wherever it is looked at.
func TestApprovalIsOfWhatWasShown(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		admin := s.Reviewer()
		eve := m{"certificateOwner": "Eve Prova", "subject": m{"givenName": "Eve", "surname": "Prova"}}
		for name, sql := range map[string]string{
			"subject":        `update certificates set subject = '{"givenName":"Sergio","surname":"Bianchi"}' where id = $1`,
			"owner":          `update certificates set owner = 'Sergio Bianchi', subject = '{}' where id = $1`,
			"kind":           `update certificates set kind = 'eseal' where id = $1`,
			"level":          `update certificates set security_level = 3 where id = $1`,
			"method":         `update certificates set identification = 'signature' where id = $1`,
			"algorithm":      `update certificates set key_algorithm = 'RSA2048', validity_years = 3 where id = $1`,
			"account":        `update certificates set account_id = 'another' where id = $1`,
			"binding":        `update certificates set bound = null where id = $1`,
			"another's":      `update certificates set bound = (select bound from certificates where id <> $1 limit 1) where id = $1`,
			"years":          `update certificates set validity_years = 1 where id = $1`,
			"evidence moved": `update identifications set detail = (select detail from identifications where certificate_id <> $1 limit 1) where certificate_id = $1`,
			"browser moved":  `update identifications set browser = (select browser from identifications where certificate_id <> $1 limit 1) where certificate_id = $1`,
		} {
			s.BuyWaiting(nil) // another's
			o := s.BuyWaiting(eve)
			shown, err := srv.WaitingCertificate(ctx, o.ID)
			if err != nil {
				t.Fatal(err)
			}
			execute(srv, t, sql, o.ID)
			for digest, headers := range map[string][]string{shown.Digest: admin, "": admin} {
				a := s.Do("POST", "/certificates/"+o.ID+"/review", m{"approve": true, "digest": digest}, headers...)
				if a.Status < 400 {
					t.Errorf("%s: approved: %s", name, a.Data)
				}
			}
			if _, err := srv.ReviewCertificate(ctx, o.ID, true, "", shown.Digest); err == nil {
				t.Errorf("%s: approved by command", name)
			}
			// Nor does another way lead on from there.
			s.Page(o.CertificateLink, url.Values{"action": {"approve"}})
			execute(srv, t, `update certificates set state = 'WORKING' where id = $1`, o.ID)
			if c, err := srv.Parts().Enroll.Issue(ctx, o.ID); err == nil && c.State == enroll.Done {
				t.Errorf("%s: issued as %s", name, c.SubjectDN)
			}
			execute(srv, t, `delete from identifications where certificate_id = $1`, o.ID)
			execute(srv, t, `delete from certificates where id = $1`, o.ID)
		}
		o := s.BuyWaiting(eve)
		if a := s.Do("POST", "/certificates/"+o.ID+"/review", m{"approve": true, "digest": strings.Repeat("0", 64)}, admin...); a.Status != 409 || a.Code() != 145 {
			t.Errorf("another digest: %d/%d", a.Status, a.Code())
		}
		first, err := srv.WaitingCertificate(ctx, o.ID)
		if err != nil {
			t.Fatal(err)
		}
		// The evidence goes, and other evidence comes.
		if err := srv.EraseEvidence(ctx, o.ID); err != nil {
			t.Fatal(err)
		}
		s.Upload(o.CertificateLink, "video", sitetest.EvidenceFiles)
		if a := s.Do("POST", "/certificates/"+o.ID+"/review", m{"approve": true, "digest": first.Digest}, admin...); a.Code() != 145 {
			t.Errorf("other evidence than was looked at: %d/%d", a.Status, a.Code())
		}
	})
}

// What one column has sealed opens in no other, and in no other row.
func TestSealedForOneColumn(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		victim := s.Ready("automatic", nil) // credentials wait in the holder's browser
		s.Holder = nil
		s.Upload(victim.CertificateLink, "video", sitetest.EvidenceFiles) // the attacker's, not reviewed yet
		var browser []byte
		if err := srv.Parts().DB.Read().QueryRow(context.Background(), `select browser from certificates where id = $1`, victim.ID).Scan(&browser); err != nil {
			t.Fatal(err)
		}
		for name, column := range map[string]string{
			"that of evidence that waits": `(select browser from identifications where certificate_id = $1 and state = 'PENDING')`,
			"the detail of evidence":      `(select detail from identifications where certificate_id = $1 and state = 'PENDING')`,
			"the link":                    `link`, "what was proven": `certified`, "the credentials": `credentials_once`,
		} {
			execute(srv, t, `update certificates set browser = `+column+` where id = $1`, victim.ID)
			for _, form := range []url.Values{nil, {"action": {"reveal"}}} {
				if page := s.Page(victim.CertificateLink, form); element(page, "certificate-password") != "" || strings.Contains(page, `id="reveal"`) {
					t.Errorf("%s as browser: %s", name, page)
				}
			}
			execute(srv, t, `update certificates set browser = $1 where id = $2`, browser, victim.ID)
		}
	})
}

// A secret that an attacker put into the holder's browser is tied to nothing: each step that ties
// one makes a new one.
func TestFixedBrowserRevealsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	w := newTwins(t, s, pretend{Until: 1 << 40})
	planted := strings.Repeat("ATTACKER", 8)[:52]
	reveal := func(link string) string {
		r, err := http.NewRequest(http.MethodPost, link, strings.NewReader("action=reveal"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", "rogito-holder="+planted)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		page, _ := io.ReadAll(resp.Body)
		return string(page)
	}
	person := m{"givenName": "Elsa", "surname": "Prova", "country": "IT"} // all that the signature proves
	signer := s.Outside.Person("Elsa", "Prova", "")
	for name, c := range map[string]struct {
		more     m
		identify func(o bought)
	}{
		"video": {nil, func(o bought) {
			s.Upload(o.CertificateLink, "video", sitetest.EvidenceFiles)
			if a := s.Do("POST", "/certificates/"+o.ID+"/review", m{"approve": true}); a.Status != 200 {
				t.Fatal(a.Message)
			}
		}},
		"signature": {m{"subject": person}, func(o bought) {
			part := signer.PDF(s.Statement(o.CertificateLink))
			s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": part})
		}},
		"elsewhere": {sitetest.Elsa, func(o bought) { w.Visit(s.Browser(), w.URLs[0]+"/spid/acs", w.Answers(w.Begin(s.Browser(), 0, o))) }},
		"elsewhere, begun in two windows": {sitetest.Elsa, func(o bought) {
			first := w.Begin(s.Browser(), 0, o)
			w.Begin(s.Browser(), 0, o)
			w.Visit(s.Browser(), w.URLs[1]+"/spid/acs", w.Answers(first))
		}},
		"video, then something else begun": {sitetest.Elsa, func(o bought) {
			s.Upload(w.At(0, o.CertificateLink), "video", sitetest.EvidenceFiles)
			w.Begin(s.Browser(), 0, o)
			if a := s.Do("POST", "/certificates/"+o.ID+"/review", m{"approve": true}); a.Status != 200 {
				t.Fatal(a.Message)
			}
		}},
	} {
		s.Holder = aBrowser(t)
		o := s.Buy("automatic", c.more)
		for _, at := range []string{s.URL, w.URLs[0], w.URLs[1]} {
			u, err := url.Parse(at)
			if err != nil {
				t.Fatal(err)
			}
			s.Holder.Jar.SetCookies(u, []*http.Cookie{
				{Name: "rogito-holder", Value: planted, Path: "/enrol/" + o.ID},
				{Name: "rogito-holder", Value: planted, Path: strings.TrimPrefix(o.CertificateLink, s.URL)},
				{Name: "rogito-holder", Value: planted, Path: "/"},
			})
		}
		c.identify(o)
		switch state := s.CertificateState(o.ID); {
		case state != "DONE":
			t.Errorf("%s: %s", name, state)
		case name == "signature": // shown at once
		default:
			if page := reveal(o.CertificateLink); element(page, "certificate-password") != "" {
				t.Errorf("%s: the secret that was planted reveals", name)
			}
			if page := s.Page(w.At(0, o.CertificateLink), url.Values{"action": {"reveal"}}); element(page, "certificate-password") == "" {
				t.Errorf("%s: the holder does not see the credentials: %s", name, page)
			}
		}
	}
}

// The statement counts by itself: not among other documents, not in a container,
// and not where the signature carries only its digest.
func TestStatementAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	person := m{"givenName": "Mario", "surname": "Rossi", "fiscalCode": "RSSMRA80A01H501U"}
	signer := s.Outside.Person("Mario", "Rossi", "RSSMRA80A01H501U")
	container := func(inner ades.Format, simple bool, docs ...[]byte) []byte {
		kind := ades.ASiCE
		if simple {
			kind = ades.ASiCS
		}
		return signer.Sign(kind, func(o *rogito.Options) { o.ASiC.CAdES, o.ASiC.Simple = inner == ades.CAdES, simple }, docs...)
	}
	detached := func(o *rogito.Options) {
		if o.Format == ades.XAdES {
			o.XAdES.Packaging = xades.Detached
		} else {
			o.CAdES.Detached = true
		}
	}
	pair := func(docs ...[]byte) []byte {
		var all []ades.Source
		for _, d := range docs {
			all = append(all, bytes.NewReader(d))
		}
		var b bytes.Buffer
		if err := pdfmerge.Merge(context.Background(), &b, "", all...); err != nil {
			t.Fatal(err)
		}
		return signer.PDF(b.Bytes())
	}
	zipped := func(docs ...[]byte) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i, d := range docs {
			w, err := z.Create(fmt.Sprintf("%d.bin", i))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = w.Write(d)
		}
		z.Close()
		return signer.P7M(b.Bytes())
	}
	for name, c := range map[string]struct {
		sign func(statement []byte) []byte
		good bool
	}{
		"ASiC-E with a contract before it": {func(st []byte) []byte { return container(ades.XAdES, false, sitetest.SampleTXT, st) }, false},
		"ASiC-E with a contract behind it": {func(st []byte) []byte { return container(ades.XAdES, false, st, sitetest.SampleTXT) }, false},
		"ASiC-E with CAdES and a contract": {func(st []byte) []byte { return container(ades.CAdES, false, sitetest.SampleTXT, st) }, false},
		"ASiC-E by itself":                 {func(st []byte) []byte { return container(ades.XAdES, false, st) }, false},
		"ASiC-S by itself":                 {func(st []byte) []byte { return container(ades.CAdES, true, st) }, false},
		"detached, over the digest":        {func(st []byte) []byte { return signer.Sign(ades.CAdES, detached, st) }, false},
		"detached XML, over the digest":    {func(st []byte) []byte { return signer.Sign(ades.XAdES, detached, st) }, false},
		"merged with a contract":           {func(st []byte) []byte { return pair(sitetest.SamplePDF, st) }, false},
		"merged in front of a contract":    {func(st []byte) []byte { return pair(st, sitetest.SamplePDF) }, false},
		"zipped with a contract":           {func(st []byte) []byte { return zipped(st, sitetest.SampleTXT) }, false},
		"a .p7m signed twice": {func(st []byte) []byte {
			return signer.Sign(ades.CAdES, func(o *rogito.Options) { o.Parallel = true }, signer.P7M(st))
		}, true},
		"attached":   {func(st []byte) []byte { return signer.P7M(st) }, true},
		"enveloping": {func(st []byte) []byte { return signer.Enveloping(st) }, true},
		"in the PDF": {func(st []byte) []byte { return signer.PDF(st) }, true},
	} {
		o := s.Buy("automatic", m{"identification": "signature", "certificateOwner": "Mario Rossi", "subject": person})
		code, page := s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": c.sign(s.Statement(o.CertificateLink))})
		if got := s.CertificateState(o.ID) == "DONE"; got != c.good {
			t.Errorf("%s: %d %v %s", name, code, got, element(page, "problem"))
		}
	}
}

// What was handed in for an order that its buyer gives up is erased with it; what
// was refused after a time; and the log counts both.
func TestEvidenceOfEndedOrdersIsErased(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		kept := func(id string) (rows, files int) {
			t.Helper()
			rows = countRows(srv, t, `select count(*) from identifications where detail is not null and certificate_id = '`+id+`'`)
			_ = srv.Parts().Blobs.List(ctx, after(day)(), func(string) error { files++; return nil })
			return rows, files
		}
		_, before := kept("")
		given := s.BuyWaiting(nil)
		if rows, files := kept(given.ID); rows != 1 || files != before+2 {
			t.Fatalf("%d rows, %d files", rows, files-before)
		}
		if a := s.Do("POST", "/certificates/"+given.ID+"/cancel", nil); a.Status != 200 {
			t.Fatal(a.Message)
		}
		if rows, files := kept(given.ID); rows != 0 || files != before {
			t.Errorf("after it was cancelled by its buyer: %d rows, %d files", rows, files-before)
		}
		refused := s.BuyWaiting(nil)
		s.Do("POST", "/certificates/"+refused.ID+"/review", m{"approve": false})
		cancelled := s.BuyWaiting(nil)
		if _, err := srv.ChangeCertificate(ctx, cancelled.ID, "cancel"); err != nil {
			t.Fatal(err)
		}
		// Refused for a certificate that goes on: its first evidence stays.
		done := s.Ready("automatic", nil)
		s.Holder = nil
		s.Upload(done.CertificateLink, "video", sitetest.EvidenceFiles)
		s.Do("POST", "/certificates/"+done.ID+"/review", m{"approve": false, "reason": "another face"})
		waiting := s.BuyWaiting(nil)
		if err := enrollAt(srv, after(29*day)).Tidy(ctx); err != nil {
			t.Fatal(err)
		}
		if rows, _ := kept(refused.ID); rows != 1 {
			t.Errorf("refused, before its time: %d", rows)
		}
		if err := enrollAt(srv, after(31*day)).Tidy(ctx); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]int{refused.ID: 0, cancelled.ID: 0, done.ID: 1, waiting.ID: 1} {
			if rows, _ := kept(id); rows != want {
				t.Errorf("%d rows instead of %d", rows, want)
			}
		}
		if n := countRows(srv, t, `select count(*) from audit_events where kind = 'certificate-evidence-erased'`); n != 4 {
			t.Errorf("%d erasures in the log", n)
		}
		s.VerifyAudit()
	})
}

// Someone who can write to the database can change nothing about a certificate, its evidence or the
// authority's table without a verification finding it.
func TestCertificateManipulations(t *testing.T) {
	await.All(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		shown, revoked, held := s.Issued("otp", nil), s.Issued("automatic", nil), s.Issued("automatic", nil)
		approved, waiting := s.Ready("automatic", nil), s.BuyWaiting(nil)
		refused := s.BuyWaiting(nil)
		s.Do("POST", "/certificates/"+refused.ID+"/review", m{"approve": false, "reason": "another face"})
		tables := []string{"certificates", "identifications", "authority_issued"}
		keep := func(as string) {
			for _, table := range tables {
				execute(srv, t, `create table `+as+`_`+table+` as select * from `+table)
			}
		}
		reset := func(as string) {
			t.Helper()
			for _, table := range tables {
				execute(srv, t, `delete from `+table)
				execute(srv, t, `insert into `+table+` select * from `+as+`_`+table)
			}
		}
		keep("old")
		s.Do("POST", "/certificates/"+revoked.ID+"/revoke", nil)
		s.Do("POST", "/certificates/"+held.ID+"/suspend", nil)
		s.VerifyAudit()
		keep("new")
		back := `update authority_issued set revoked_at = 0, reason = 0, mac = (select mac from old_authority_issued o where o.serial = authority_issued.serial) where certificate_id = $1`
		type edit struct{ id, sql string }
		edits := map[string][]edit{
			"a revoked one is DONE":              {{revoked.ID, `update certificates set state = 'DONE' where id = $1`}},
			"and good at the authority":          {{revoked.ID, `update certificates set state = 'DONE' where id = $1`}, {revoked.ID, back}},
			"revoked, and good at the authority": {{revoked.ID, back}},
			"suspended, and good there":          {{held.ID, back}},
			"a hold for good":                    {{held.ID, `update authority_issued set reason = 0 where certificate_id = $1`}},
			"another date of revocation":         {{revoked.ID, `update authority_issued set revoked_at = revoked_at + 1 where certificate_id = $1`}},
			"not issued":                         {{shown.ID, `delete from authority_issued where certificate_id = $1`}},
			"revoked by nobody":                  {{shown.ID, `update authority_issued set revoked_at = 1 where certificate_id = $1`}},
			"of no certificate":                  {{shown.ID, `update authority_issued set mac = null where certificate_id = $1`}},
			"a suspended one is DONE":            {{held.ID, `update certificates set state = 'DONE' where id = $1`}},
			"shown later":                        {{shown.ID, `update certificates set shown_at = shown_at + 1 where id = $1`}},
			"shown to another":                   {{shown.ID, `update certificates set shown_to = '10.0.0.1' where id = $1`}},
			"not shown":                          {{shown.ID, `update certificates set shown_to = '', shown_at = 0 where id = $1`}},
			"shown by nobody":                    {{approved.ID, `update certificates set shown_to = '10.0.0.1', shown_at = 1 where id = $1`}},
			"another's certificate":              {{shown.ID, `update certificates set certificate = (select certificate from certificates where id <> $1 and certificate is not null limit 1) where id = $1`}},
			"another number":                     {{shown.ID, `update certificates set serial = serial || '1' where id = $1`}},
			"another name":                       {{shown.ID, `update certificates set subject_dn = 'CN=Another' where id = $1`}},
			"another issuer":                     {{shown.ID, `update certificates set issuer_dn = 'CN=Another' where id = $1`}},
			"a longer life":                      {{shown.ID, `update certificates set not_after = not_after + 1 where id = $1`}},
			"an earlier begin":                   {{shown.ID, `update certificates set not_before = not_before - 1 where id = $1`}},
			"another end":                        {{shown.ID, `update certificates set expire_at = expire_at + 1 where id = $1`}},
			"no chain":                           {{shown.ID, `update certificates set chain = null where id = $1`}},
			"issued before it was":               {{waiting.ID, `update certificates set serial = '1' where id = $1`}},
			"another subject":                    {{waiting.ID, `update certificates set subject = '{"surname":"Rossi"}' where id = $1`}},
			"another label":                      {{shown.ID, `update certificates set owner = 'Another' where id = $1`}},
			"a lower level":                      {{shown.ID, `update certificates set security_level = 1 where id = $1`}},
			"another reference":                  {{shown.ID, `update certificates set custom_reference = 'x' where id = $1`}},
			"paid by another charge":             {{shown.ID, `update certificates set charge_id = 'x' where id = $1`}},
			"what was proven of another":         {{shown.ID, `update certificates set certified = (select certified from certificates where id <> $1 and certified is not null limit 1) where id = $1`}},
			"what was proven is gone":            {{shown.ID, `update certificates set certified = null where id = $1`}},
			"decided by another":                 {{approved.ID, `update identifications set decided_by = 'somebody' where certificate_id = $1`}},
			"decided at another time":            {{approved.ID, `update identifications set decided_at = decided_at + 1 where certificate_id = $1`}},
			"for another reason":                 {{refused.ID, `update identifications set reason = 'the same face' where certificate_id = $1`}},
			"a refusal that approved":            {{refused.ID, `update identifications set state = 'APPROVED' where certificate_id = $1`}},
			"evidence is deleted":                {{approved.ID, `delete from identifications where certificate_id = $1`}},
			"evidence that waits is deleted":     {{waiting.ID, `delete from identifications where certificate_id = $1`}},
			"evidence is erased":                 {{approved.ID, `update identifications set detail = null, browser = null, blobs = '[]' where certificate_id = $1`}},
			"evidence has other files":           {{approved.ID, `update identifications set blobs = '["x"]' where certificate_id = $1`}},
			"evidence is another's":              {{approved.ID, `update identifications set certificate_id = '` + shown.ID + `' where certificate_id = $1`}},
			"evidence is copied":                 {{approved.ID, `insert into identifications (id, certificate_id, method, state, detail, created_at) select 'forged', certificate_id, method, state, detail, created_at from identifications where certificate_id = $1`}},
			"by another method":                  {{approved.ID, `update identifications set method = 'spid' where certificate_id = $1`}},
			"handed in at another time":          {{waiting.ID, `update identifications set created_at = created_at - 1 where certificate_id = $1`}},
			"handed in by another browser":       {{waiting.ID, `update identifications set browser = null where certificate_id = $1`}},
			"a certificate belongs to another":   {{shown.ID, `update certificates set account_id = 'somebody' where id = $1`}},
			"bought at another time":             {{shown.ID, `update certificates set created_at = created_at - 1 where id = $1`}},
		}
		for name, list := range edits {
			for _, e := range list {
				execute(srv, t, e.sql, e.id)
			}
			if r, err := srv.VerifyAudit(ctx); err != nil || r.Bad == nil {
				t.Errorf("%s: not found (%v)", name, err)
			}
			reset("new")
		}
		s.VerifyAudit()
		t.Logf("%d kinds", len(edits))
		// What the log says was revoked is served so, with an old row that was good once.
		for id, want := range map[string]int{revoked.ID: 0, held.ID: authority.ReasonHold} {
			execute(srv, t, back, id)
			execute(srv, t, `update authority_crl set next_update = 0`)
			if got, listed := s.Revocation(srv, id); got == nil || *got != want || !listed {
				t.Errorf("served as %v, on the list %v", got, listed)
			}
		}
		// An old list is not served for a new one.
		reset("new")
		var list []byte
		if err := srv.Parts().DB.Read().QueryRow(ctx, `select crl from authority_crl where name = 'ca'`).Scan(&list); err != nil {
			t.Fatal(err)
		}
		s.Do("POST", "/certificates/"+shown.ID+"/revoke", nil)
		s.Revocation(srv, shown.ID)
		execute(srv, t, `update authority_crl set crl = $1 where name = 'ca'`, list)
		if got, listed := s.Revocation(srv, shown.ID); got == nil || !listed {
			t.Errorf("with an old list: %v %v", got, listed)
		}
		reset("new")
	})
}

// Every event of a certificate names who did it: a token, the holder, the operator.
func TestCertificateEventsNameTheActor(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, srv, admin := context.Background(), s.OpenServer(), s.Reviewer()
	o := s.BuyWaiting(nil)
	s.Do("POST", "/certificates/"+o.ID+"/review", m{"approve": true}, admin...)
	s.Page(o.CertificateLink, url.Values{"action": {"reveal"}})
	if _, err := srv.ChangeCertificate(ctx, o.ID, "suspend"); err != nil {
		t.Fatal(err)
	}
	events, err := srv.Parts().Audit.Of(ctx, o.ID)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"certificate-ordered": "token ", "certificate-evidence": "holder", "certificate-reviewed": "token ", "certificate-issued": "token ", "certificate-shown": "holder", "certificate-suspended": "operator"}
	actors := map[string]string{}
	for _, e := range events {
		if e.Kind == keys.KindKey { // beside the one of what was done
			continue
		}
		var d struct{ Actor string }
		_, text := e.Text()
		if json.Unmarshal(text, &d) != nil || d.Actor == "" {
			t.Errorf("%s names nobody: %s", e.Kind, text)
		}
		actors[e.Kind] = d.Actor
	}
	for kind, who := range want {
		if !strings.HasPrefix(actors[kind], who) {
			t.Errorf("%s by %q, want %q", kind, actors[kind], who)
		}
	}
	if actors["certificate-ordered"] == actors["certificate-reviewed"] {
		t.Error("who bought and who approved are not told apart")
	}
}

// Names are what people can read: whatever turns, hides, breaks or strikes
// through is refused, in every attribute and in the label.
func TestNamesThatNobodyCanRead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	bad := []string{"\u202e", "\u200b", "\u0336", "\u2028", "\u0085", "\u2029", "\u00ad", "\u2066", "\ufeff", "\u200d", "\ue000", "\u0378", "\u034f", "\ufe0f", "\u3164", "\u20dd", "\u0301\u0301\u0301\u0301", "\U000e0041"}
	for _, x := range bad {
		for name, body := range map[string]m{
			"certificateOwner": {"certificateOwner": "Elsa" + x + " Prova"},
			"givenName":        {"certificateOwner": "Elsa Prova", "subject": m{"givenName": "El" + x + "sa", "surname": "Prova"}},
			"surname":          {"certificateOwner": "Elsa Prova", "subject": m{"givenName": "Elsa", "surname": "Pr" + x + "ova"}},
			"organization":     {"certificateOwner": "Elsa Prova", "subject": m{"organization": "Pr" + x + "ova"}},
			"email":            {"certificateOwner": "Elsa Prova", "subject": m{"email": "el" + x + "sa@example.org"}},
		} {
			if a := s.Do("POST", "/certificates/namirial-automatic", body); a.Code() != 310 {
				t.Errorf("%U in %s: %d/%d", []rune(x), name, a.Status, a.Code())
			}
		}
	}
	for _, good := range []string{"D'Annunzio", "Òla Nìccolò", "Nguyễn Thị Minh Khai", "Dvořák", "Anne-Marie St. John", "O\u2019Brien", "Łukasz", "\u0633\u0639\u064a\u062f", "İpek", "e\u0301lan", "株式会社", "Società & Figli S.r.l. (2)"} {
		if a := s.Do("POST", "/certificates/namirial-automatic", m{"certificateOwner": good}); a.Status != 200 {
			t.Errorf("%s: %d %s", good, a.Status, a.Message)
		}
	}
}

// A page takes small forms: what is large is not read into memory.
func TestLargeFormsOnPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	o := s.Buy("automatic", nil)
	for name, form := range map[string]string{
		"one value":   "action=device&password=" + strings.Repeat("x", 1<<20),
		"many values": "action=device&" + strings.Repeat("a=b&", 1<<18),
	} {
		resp, err := http.Post(o.CertificateLink, "application/x-www-form-urlencoded", strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 422 {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for range 1000 {
		_ = w.WriteField("x", strings.Repeat("x", 4000))
	}
	w.Close()
	resp, err := http.Post(o.CertificateLink, w.FormDataContentType(), &b)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 422 {
		t.Errorf("many fields: %d", resp.StatusCode)
	}
}

// A code that was used to sign enrols no device; nor does one from before the
// link was made. Log and page tell of a device that was enrolled.
func TestCodesOfSigningCallsEnrolNothing(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		link := func(h issued) string {
			t.Helper()
			var again bought
			if a := s.Do("POST", "/certificates/"+h.ID+"/enrol", nil); a.Status != 200 || json.Unmarshal(a.Data, &again) != nil {
				t.Fatalf("%d %s", a.Status, a.Message)
			}
			return again.CertificateLink
		}
		enrol := func(h issued, at, code string) string {
			s.Holder = nil // no browser that was identified
			return s.Page(at, url.Values{"action": {"device"}, "password": {h.Pass}, "code": {code}})
		}
		h := s.Issued("otp", nil)
		at, code := link(h), codeOf(t, h.Secret, 0)
		s.Do("POST", "/EU-QES_otp", m{"inputDocuments": b64(sitetest.SampleTXT), "certificateUsername": h.User, "certificatePassword": h.Pass, "certificateOtp": code})
		if page := enrol(h, at, code); element(page, "otp-secret") != "" {
			t.Error("the code of a signature enrols a device")
		}
		if page := enrol(h, at, codeOf(t, h.Secret, 1)); element(page, "otp-secret") == "" {
			t.Errorf("the next code enrols none: %s", page)
		}
		if page := s.Page(at, nil); !strings.Contains(page, `id="device-before"`) || !strings.Contains(page, "127.0.0.1") || !strings.Contains(page, "a code of the old device") {
			t.Errorf("the page tells nothing: %s", page)
		}
		h = s.Issued("otp", nil)
		if page := enrol(h, link(h), codeOf(t, h.Secret, -1)); element(page, "otp-secret") != "" {
			t.Error("a code from before the link enrols a device")
		}
		s.VerifyAudit()
	})
}
