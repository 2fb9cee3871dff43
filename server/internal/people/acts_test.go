package people_test

import (
	"bytes"
	"compress/zlib"
	"crypto"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/pages/console"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// What a signing call holds (a token, a username and a password) is no evidence
// of who its holder is: no way leads from there to a new device or to another
// certificate.
func TestSigningCallsProveNobody(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		person := m{"givenName": "Mario", "surname": "Rossi", "fiscalCode": "RSSMRA80A01H501U"}
		automatic := s.Issued("automatic", m{"certificateOwner": "Mario Rossi", "subject": person})
		order := func() bought {
			return s.Buy("otp", m{"certificateOwner": "Mario Rossi", "subject": person, "identification": "signature"})
		}
		// The document, by every call that could sign it.
		o := order()
		st := s.Statement(o.CertificateLink)
		if again, err := identify.IsStatement(t.Context(), bytes.NewReader(st)); err != nil || !again {
			t.Fatalf("it does not know its own statement: %v", err)
		}
		stranger := s.Outside.Person("Somebody", "Else", "")
		d256, d384, d512 := sha256.Sum256(st), sha512.Sum384(st), sha512.Sum512(st)
		digest := func(sum []byte) any {
			return m{"sourceType": "base64Hash", "payload": base64.StdEncoding.EncodeToString(sum)}
		}
		for name, c := range map[string]struct {
			docs any
			more m
		}{
			"as it is":                    {b64(st), nil},
			"as p7m":                      {b64(st), m{"signatureType": "cades"}},
			"detached":                    {b64(st), m{"signatureType": "cades", "options": m{"packaging": "detached"}}},
			"as XML":                      {b64(st), m{"signatureType": "xades"}},
			"in a container":              {b64(st), m{"signatureType": "xades", "options": m{"packaging": "asic-e"}}},
			"as a value":                  {b64(st), m{"signatureType": "pkcs1"}},
			"later":                       {b64(st), m{"options": m{"asyncSignature": true, "asyncDocumentsValidation": true}}},
			"encrypted":                   {b64(st), m{"options": m{"encryptInAnyCase": true, "encryptionPassword": "x"}}},
			"among others":                {[]any{b64(sitetest.SamplePDF), b64(st)}, nil},
			"merged":                      {[]any{b64(st), b64(sitetest.SamplePDF)}, m{"signatureType": "pades"}},
			"zipped":                      {[]any{b64(sitetest.SampleTXT), b64(st)}, m{"signatureType": "cades"}},
			"its digest":                  {base64.StdEncoding.EncodeToString(d256[:]), nil},
			"the value of its digest":     {digest(d256[:]), m{"signatureType": "pkcs1"}},
			"its digest of 48 bytes":      {digest(d384[:]), m{"options": m{"hashAlgorithm": "SHA384"}}},
			"its digest of 64 bytes":      {digest(d512[:]), m{"options": m{"hashAlgorithm": "SHA512"}}},
			"signed by somebody, as PDF":  {b64(stranger.PDF(st)), nil},
			"signed by somebody, as p7m":  {b64(stranger.P7M(st)), nil},
			"signed by somebody, as XML":  {b64(stranger.Enveloping(st)), nil},
			"a new layer around a p7m":    {b64(stranger.P7M(st)), m{"options": m{"parallelSignature": false}}},
			"a p7m in pieces":             {b64(inPieces(t, stranger.P7M(st), st)), nil},
			"a p7m in base64":             {b64([]byte(base64.StdEncoding.EncodeToString(stranger.P7M(st)))), m{"signatureType": "cades"}},
			"written anew and compressed": {b64(squeezed(t, st)), nil},
			"under another text":          {b64(covered(t, st)), nil},
			"behind other bytes":          {b64(append([]byte("%PDF-1.4 \n"), st...)), m{"signatureType": "cades"}},
		} {
			body := m{"inputDocuments": c.docs, "certificateUsername": automatic.User, "certificatePassword": automatic.Pass}
			for k, v := range c.more {
				body[k] = v
			}
			a := s.Do("POST", "/EU-QES_automatic", body)
			if a.Status == 422 && (a.Code() == 615 || a.Code() == 625 || a.Code() == 622) {
				continue // no such call
			}
			r := s.Record(a)
			if opts, _ := c.more["options"].(m); opts["asyncSignature"] == true {
				r = s.Wait(r.ID, "DONE", "ERROR")
			}
			if r.State != "ERROR" || r.Number() != 113 {
				t.Errorf("%s: %s %d %s", name, r.State, r.Number(), deref(r.ErrorMessage))
			}
		}
		a := s.Do("POST", "/EU-QES_automatic", m{"inputDocuments": []any{b64(sitetest.SampleTXT), b64(st)}, "certificateUsername": automatic.User, "certificatePassword": automatic.Pass, "options": m{"batch": true}})
		if r := s.Record(a); r.State != "DONE" || !strings.Contains(string(unzip(t, s.Download(r.ID, "signedDocument"))["report.json"]), "113") {
			t.Errorf("in a batch: %s %s", r.State, a.Data)
		}
		// A key that is used here is no identification, whatever made the signature.
		srv := s.OpenServer()
		for _, kind := range []string{"automatic", "otp"} {
			held := s.Outside.Person("Mario", "Rossi", "RSSMRA80A01H501U")
			der := publicDER(t, held.Key.Public())
			mine := s.Issued(kind, m{"certificateOwner": "Mario Rossi"})
			execute(srv, t, `update credentials set public_key = $1 where id = $2`, der, mine.ID)
			for name, sign := range map[string]func([]byte) []byte{"PDF": held.PDF, "p7m": held.P7M, "XML": held.Enveloping} {
				o := order()
				code, page := s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": sign(s.Statement(o.CertificateLink))})
				if code != 422 || s.CertificateState(o.ID) != "NEW" || !strings.Contains(page, `data-code="310"`) {
					t.Errorf("a %s by an %s key of this server: %d %s", name, kind, code, s.CertificateState(o.ID))
				}
			}
			s.Do("POST", "/certificates/"+mine.ID+"/revoke", nil)
			o := order()
			if s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": held.PDF(s.Statement(o.CertificateLink))}); s.CertificateState(o.ID) == "DONE" {
				t.Errorf("a key that was used until a moment ago identifies (%s)", kind)
			}
		}
		// A person's own key is.
		own := s.Outside.Person("Mario", "Rossi", "RSSMRA80A01H501U")
		o = order()
		if code, page := s.Upload(o.CertificateLink, "signature", map[string][]byte{"document": own.PDF(s.Statement(o.CertificateLink))}); code != 200 || element(page, "otp-secret") == "" {
			t.Errorf("an own key: %d %s", code, page)
		}
	})
}

// A new device is not to be had for less than the certificate was.
func TestWeakerMethodReplacesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	own := s.Outside.Person("Elsa", "Prova", "")
	c := s.Ready("otp", nil) // by video
	if page := s.Page(c.CertificateLink, url.Values{"action": {"reveal"}}); element(page, "otp-secret") == "" {
		t.Fatal("no credentials")
	}
	var d struct{ CertificateLink string }
	if a := s.Do("POST", "/certificates/"+c.ID+"/enrol", nil); a.Status != 200 || json.Unmarshal(a.Data, &d) != nil {
		t.Fatalf("%d %s", a.Status, a.Message)
	}
	s.Holder = aBrowser(t)
	if page := s.Page(d.CertificateLink+"/choose", nil); strings.Contains(page, `id="way-signature"`) || !strings.Contains(page, `id="way-video"`) {
		t.Error("the page offers a weaker way than the first, or not the first")
	}
	resp, err := s.Browser().Get(d.CertificateLink + "/statement.pdf")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 409 {
		t.Errorf("a statement is made: %d", resp.StatusCode)
	}
	if code, _ := s.Upload(d.CertificateLink, "signature", map[string][]byte{"document": own.PDF(sitetest.SamplePDF)}); code != 409 {
		t.Errorf("a statement is taken: %d", code)
	}
	for _, c := range []struct {
		method, first string
		good          bool
	}{
		{"signature", "signature", true},
		{"video", "signature", true},
		{"spid", "signature", true},
		{"signature", "video", false},
		{"signature", "spid", false},
		{"video", "spid", false},
		{"spid", "cie", false},
		{"cns", "cie", true},
		{"video", "sandbox", true},
		{"signature", "", true},
	} {
		if identify.AsGood(c.method, c.first) != c.good {
			t.Errorf("%s for %s: %v", c.method, c.first, !c.good)
		}
	}
}

// inPieces writes the content of a CMS file as a constructed string of pieces,
// which split every word in it.
func inPieces(t *testing.T, cms, content []byte) []byte {
	t.Helper()
	whole := octets(content)
	at := bytes.Index(cms, whole)
	if at < 0 {
		t.Fatal("no content")
	}
	var inner []byte
	for piece := range slices.Chunk(content, 7) {
		inner = append(inner, octets(piece)...)
	}
	// The lengths around it change: all of them become indefinite.
	head := cms[:at]
	out := []byte{0x30, 0x80}
	out = append(out, head[4:4+11]...) // signedData
	out = append(out, 0xa0, 0x80, 0x30, 0x80)
	rest := head[4+11:]
	rest = rest[4+4:] // [0] and SEQUENCE, with long lengths
	version := bytes.Index(rest, []byte{0x02, 0x01})
	info := bytes.Index(rest, []byte{0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01})
	sequence := bytes.LastIndexByte(rest[:info], 0x30)
	out = append(out, rest[version:sequence]...)
	out = append(out, 0x30, 0x80)
	out = append(out, rest[info:info+11]...)
	out = append(out, 0xa0, 0x80, 0x24, 0x80)
	out = append(out, inner...)
	out = append(out, 0, 0, 0, 0, 0, 0)
	out = append(out, cms[at+len(whole):]...)
	return append(out, 0, 0, 0, 0, 0, 0)
}

func octets(b []byte) []byte {
	switch n := len(b); {
	case n < 128:
		return append([]byte{4, byte(n)}, b...)
	case n < 256:
		return append([]byte{4, 0x81, byte(n)}, b...)
	default:
		return append([]byte{4, 0x82, byte(n >> 8), byte(n)}, b...)
	}
}

// squeezed is a PDF with its page texts compressed, as programs write it anew.
func squeezed(t *testing.T, doc []byte) []byte {
	t.Helper()
	d, err := pdf.Open(bytes.NewReader(doc), pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := d.Page(0)
	if err != nil {
		t.Fatal(err)
	}
	o, err := d.Resolve(page.Dict.Get("Contents"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.Data(o.(*pdf.Stream))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(text)
	z.Close()
	out := pdf.Build([]string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Count 1 /Kids [4 0 R] >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Courier >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents 5 0 R >>",
		fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", b.Len(), b.String()),
	}, "")
	if bytes.Contains(out, []byte("rogito-statement")) {
		t.Fatal("not compressed")
	}
	return out
}

func publicDER(t *testing.T, public crypto.PublicKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// Someone who can write to the database cannot change what a holder consents to, nor where the
// answer goes, after the page has shown it.
func TestDatabaseDoesNotChangeTheConsent(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv, o, evil := s.OpenServer(), s.OAuth("https://app.example/back"), s.OAuth("https://evil.example/back")
		cert := field(srv, t, `select id from credentials where username = $1`, s.Box.Certificates["automatic"].Username)
		push := func(o *oauth, text string) url.Values {
			t.Helper()
			sum := sha256.Sum256([]byte(text))
			status, out := o.Form("pushed_authorize", o.Query(m{
				"client_id": nil, "scope": "credential", "credentialID": cert, "hashes": base64.RawURLEncoding.EncodeToString(sum[:]), "hashAlgorithmOID": "2.16.840.1.101.3.4.2.1",
			}))
			if status != 201 {
				t.Fatalf("%d %v", status, out)
			}
			return url.Values{"client_id": {o.ID}, "request_uri": {out["request_uri"].(string)}}
		}
		rows := func() (list []string) {
			t.Helper()
			q, err := srv.Parts().DB.Read().Query(t.Context(), `select hash from csc_requests where used_at = 0 order by expires_at, hash`)
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			for q.Next() {
				var h []byte
				if err := q.Scan(&h); err != nil {
					t.Fatal(err)
				}
				list = append(list, string(h))
			}
			return list
		}
		only := func(before []string) []byte {
			for _, h := range rows() {
				if !slices.Contains(before, h) {
					return []byte(h)
				}
			}
			t.Fatal("no row")
			return nil
		}
		for name, change := range map[string]func(mine, other []byte){
			"another request of the client": func(mine, other []byte) {
				execute(srv, t, `update csc_requests set sealed = (select sealed from csc_requests where hash = $2) where hash = $1`, mine, other)
			},
			"the two, exchanged": func(mine, other []byte) {
				execute(srv, t, `update csc_requests set hash = $2 where hash = $1`, other, []byte("aside"))
				execute(srv, t, `update csc_requests set hash = $2 where hash = $1`, mine, other)
				execute(srv, t, `update csc_requests set hash = $2 where hash = $1`, []byte("aside"), mine)
			},
			"for another client": func(mine, _ []byte) {
				execute(srv, t, `update csc_requests set client_id = $2 where hash = $1`, mine, evil.ID)
			},
			"something else": func(mine, _ []byte) {
				execute(srv, t, `update csc_requests set sealed = $2 where hash = $1`, mine, []byte("{}"))
			},
		} {
			before := rows()
			q := push(o, "what was shown")
			mine := only(before)
			before = rows()
			push(o, "what was not")
			other := only(before)
			if status, page, _ := o.Visit(q, nil); status != 200 || !strings.Contains(page, fmt.Sprintf("%x", sha256.Sum256([]byte("what was shown")))) {
				t.Fatalf("%s: %d", name, status)
			}
			change(mine, other)
			if status, _, to := o.Visit(q, s.Word("automatic", nil)); status != 400 || to.Get("code") != "" {
				t.Errorf("%s: %d %v", name, status, to)
			}
		}
		q := push(o, "what was shown")
		for _, shown := range []string{strings.Repeat("0", 64), ""} {
			if status, _, to := o.Visit(q, s.Word("automatic", m{"shown": shown})); status != 409 || to.Get("code") != "" {
				t.Errorf("a form for something else (%q): %d", shown, status)
			}
		}
		_, page, _ := o.Visit(q, nil)
		_, shown, _ := strings.Cut(page, `name="shown" value="`)
		if status, _, to := o.Visit(q, s.Word("automatic", m{"shown": shown[:64]})); status != 303 || to.Get("code") == "" {
			t.Errorf("what nobody changed: %d", status)
		}
		// A redirect URI that is none any more gets no code.
		q = push(o, "what was shown")
		if err := srv.RemoveCSCClient(t.Context(), o.ID); err != nil {
			t.Fatal(err)
		}
		if status, _, to := o.Visit(q, s.Word("automatic", nil)); status != 400 || to != nil {
			t.Errorf("a client that was removed: %d", status)
		}
	})
}

// A column does not make an administrator: a row that another program wrote is no account, and the
// log holds each decision against the administrators of its time.
func TestDatabaseMakesNoAdministrator(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		other, err := srv.CreateAccount(t.Context(), "other@example.org", false)
		if err != nil {
			t.Fatal(err)
		}
		admin, err := srv.CreateAccount(t.Context(), "admin@example.org", true)
		if err != nil {
			t.Fatal(err)
		}
		waiting := s.BuyWaiting(nil)
		s.VerifyAudit()
		basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("other@example.org:"+other.APIKey))
		if a := s.Do("POST", "/certificates/"+waiting.ID+"/review", m{"approve": true}, "Authorization", "Bearer "+other.Token); a.Status != 403 {
			t.Fatalf("no administrator: %d", a.Status)
		}
		for _, change := range []string{
			`admin = true`, `sandbox = true`, `quota = '{"signaturesPerDay":1000}'`, `created_at = created_at + 1`, `mac = (select mac from accounts where email = 'admin@example.org')`,
			`admin = true, mac = (select mac from accounts where email = 'admin@example.org')`,
		} {
			before := rawField(srv, t, `select mac from accounts where email = 'other@example.org'`)
			execute(srv, t, `update accounts set `+change+` where email = 'other@example.org'`)
			fresh := s.OpenServer() // one that does not know who called before
			for name, auth := range map[string]string{"the key": basic, "a token": "Bearer " + other.Token} {
				r := httptest.NewRequest("GET", "/wallet", nil)
				r.Header.Set("Authorization", auth)
				var f *fault.Error
				if c, err := fresh.Parts().Accounts.Authenticate(t.Context(), r, true); !errors.As(err, &f) || f.HTTP() != 401 {
					t.Errorf("%s: %s is taken: %+v %v", change, name, c, err)
				}
			}
			if s.AuditGood(fresh) {
				t.Errorf("%s: it is not found", change)
			}
			execute(srv, t, `update accounts set admin = false, sandbox = false, quota = '', mac = $1, created_at = created_at - $2 where email = 'other@example.org'`, before, btoi(strings.HasPrefix(change, "created")))
		}
		// Rows that are not in the log.
		execute(srv, t, `insert into accounts (id, email, key_hash, admin, sandbox, quota, created_at, mac)
			select 'zzzzzzzzzzzzzzzzzzzzzzzz', 'forged@example.org', key_hash, true, sandbox, quota, created_at, mac from accounts where email = 'admin@example.org'`)
		if s.AuditGood(srv) {
			t.Error("a copied account is not found")
		}
		execute(srv, t, `delete from accounts where id = 'zzzzzzzzzzzzzzzzzzzzzzzz'`)
		s.VerifyAudit()
		// A decision by a caller who was no administrator is always found.
		if a := s.Do("POST", "/certificates/"+waiting.ID+"/review", m{"approve": true}, "Authorization", "Bearer "+admin.Token); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Message)
		}
		s.VerifyAudit()
		second := s.BuyWaiting(nil)
		if _, err := srv.Parts().Enroll.Review(t.Context(), second.ID, enroll.Reviewer{Account: field(srv, t, `select id from accounts where email = $1`, "other@example.org"), Token: "x"}, enroll.Verdict{Approve: true}); err != nil {
			t.Fatal(err)
		}
		if s.AuditGood(srv) {
			t.Error("a decision by somebody who was no administrator is not found")
		}
	})
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Lists and OCSP answers are made from rows that this server wrote; rows that were added or removed
// otherwise are found.
func TestDatabaseRevokesNothing(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		c := s.Issued("automatic", nil)
		r := s.Sign(b64(sitetest.SampleTXT))
		s.VerifyAudit()
		list := func() []string {
			t.Helper()
			_, b := s.Raw("GET", "/pki/ca.crl", nil)
			l, err := x509.ParseRevocationList(b)
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, e := range l.RevokedCertificateEntries {
				all = append(all, e.SerialNumber.String())
			}
			return all
		}
		before := list()
		for name, x := range map[string]struct{ change, back string }{
			"the authority's own revoked": {
				`update authority_issued set revoked_at = 1700000000000, reason = 1 where certificate_id = ''`,
				`update authority_issued set revoked_at = 0, reason = 0 where certificate_id = ''`,
			},
			"a certificate revoked": {
				`update authority_issued set revoked_at = 1700000000000, reason = 1 where certificate_id = '` + c.ID + `'`,
				`update authority_issued set revoked_at = 0, reason = 0 where certificate_id = '` + c.ID + `'`,
			},
			"one that there is not": {
				`insert into authority_issued (serial, certificate_id, certificate, not_after, revoked_at, reason, created_at, mac)
					select '4711', certificate_id, certificate, not_after, 1700000000000, 1, created_at, mac from authority_issued where certificate_id = '` + c.ID + `'`,
				`delete from authority_issued where serial = '4711'`,
			},
			"documents to be erased": {
				`update signatures set files_until = 5 where id = '` + r.ID + `'`,
				`update signatures set files_until = (select u from kept) where id = '` + r.ID + `'`,
			},
		} {
			if name == "documents to be erased" {
				execute(srv, t, `create table kept (u bigint)`)
				execute(srv, t, `insert into kept select files_until from signatures where id = $1`, r.ID)
			}
			execute(srv, t, x.change)
			execute(srv, t, `update authority_crl set next_update = 0`)
			if now := list(); !slices.Equal(now, before) {
				t.Errorf("%s: the list has %v, and had %v", name, now, before)
			}
			if s.AuditGood(srv) {
				t.Errorf("%s: it is not found", name)
			}
			execute(srv, t, x.back)
			if !s.AuditGood(srv) {
				t.Errorf("%s: put back, and found", name)
			}
		}
		// A list that is none of ours is not handed out.
		good := rawField(srv, t, `select crl from authority_crl where name = 'ca'`)
		for name, bad := range map[string][]byte{"garbage": []byte("x"), "another's": rawField(srv, t, `select crl from authority_crl where name = 'root' union all select $1`, []byte("y"))} {
			execute(srv, t, `update authority_crl set crl = $1 where name = 'ca'`, bad)
			if now := list(); !slices.Equal(now, before) {
				t.Errorf("%s: %v", name, now)
			}
		}
		execute(srv, t, `update authority_crl set crl = $1 where name = 'ca'`, good)
		// Documents that were erased early, and the date put back.
		execute(srv, t, `update signatures set files_until = 5 where id = $1`, r.ID)
		if err := srv.Parts().Signing.Retain(t.Context()); err != nil {
			t.Fatal(err)
		}
		execute(srv, t, `update signatures set files_until = (select -u from kept) where id = $1`, r.ID)
		if s.AuditGood(srv) {
			t.Error("documents erased before their time are not found")
		}
	})
}

func TestCredentialsTakenAwayAreFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv, c := s.OpenServer(), s.Issued("automatic", nil)
	s.VerifyAudit()
	execute(srv, t, `delete from credentials where id = $1`, c.ID)
	if s.AuditGood(srv) {
		t.Error("it is not found")
	}
}

// Where people reach the server by https, the plain names of cookies, which any
// host of the domain can write, are not read.
func TestPlainCookiesBehindTLS(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	secret, err := srv.Parts().Accounts.LogIn(t.Context(), httptest.NewRequest("GET", "/", nil), s.Box.Token)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		secure bool
		name   string
		good   bool
	}{
		{true, "rogito-console", false},
		{true, "__Host-rogito-console", true},
		{false, "rogito-console", true},
		{false, "__Host-rogito-console", false},
	} {
		d := console.New(console.Parts{Site: look.NewSite(look.Options{Secure: c.secure}), Accounts: srv.Parts().Accounts, Members: srv.Parts().Members})
		r := httptest.NewRequest("GET", "http://sign.example/console/", nil)
		r.AddCookie(&http.Cookie{Name: c.name, Value: secret})
		if in := d.SignedIn(r); in != c.good {
			t.Errorf("%s, secure %v: %v", c.name, c.secure, in)
		}
	}
}

// The time-stamping unit signs for callers at their pace, and in production not at all until the
// operator says so.
func TestTimeStampsArePaced(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *server.Config) { c.Signing.TSAPerMinute = 3 })
	post := func(url string) int {
		resp, err := http.Post(url+"/tsa", "application/timestamp-query", bytes.NewReader(otherQuery()))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	var all []int
	for range 5 {
		all = append(all, post(s.URL))
	}
	if !slices.Equal(all, []int{200, 200, 200, 429, 429}) {
		t.Errorf("%v", all)
	}
	off := newSite(t, func(c *server.Config) { c.Signing.TSAPerMinute = -1 })
	if got := post(off.URL); got != 404 {
		t.Errorf("switched off: %d", got)
	}
}
