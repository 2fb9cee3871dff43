package signing_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/servertest/sitetest"
)

func TestSignDownloadVerify(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.Sign([]string{b64(sitetest.SamplePDF)})
		if r.State != "DONE" || deref(r.SignatureType) != "pades" || r.Options["achievedLevel"] != "B" {
			t.Fatalf("%+v %v", r, deref(r.ErrorMessage))
		}
		in, val, out := r.Document.InputDocuments[0], r.Document.ValidatedDocument, r.Document.SignedDocument
		if in.SourceType != "base64" || in.Name != in.MD5+".pdf" || val.ID != in.ID || val.MD5 != in.MD5 || out.Name != r.ID+".pdf" {
			t.Errorf("%+v %+v %+v", in, val, out)
		}
		signed := s.Download(r.ID, "signedDocument")
		if int64(len(signed)) != out.Size || !bytes.HasPrefix(signed, sitetest.SamplePDF) {
			t.Error("the signed document is not an increment of the input")
		}
		if got := s.Download(r.ID, "validatedDocument"); !bytes.Equal(got, sitetest.SamplePDF) {
			t.Error("the validated document is not the input")
		}
	})
}

// Every format, from the strings and objects that clients send.
func TestFormats(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		digest := b64(bytes.Repeat([]byte{7}, 32))
		for _, c := range []struct {
			name string
			docs any
			more m
			typ  string
			ext  string
		}{
			{"PDF by content", b64(sitetest.SamplePDF), nil, "pades", "pdf"},
			{"XML by content", b64(sitetest.SampleXML), nil, "xades", "xml"},
			{"text by content", b64(sitetest.SampleTXT), nil, "cades", "txt.p7m"},
			{"PDF as cades", b64(sitetest.SamplePDF), m{"signatureType": "cades"}, "cades", "pdf.p7m"},
			{"detached", b64(sitetest.SampleTXT), optionsOf(m{"detached": true}), "cades", "p7s"},
			{"digest", digest, nil, "cades", "p7s"},
			{"digest as pkcs1", []any{m{"sourceType": "base64Hash", "payload": digest}}, m{"signatureType": "pkcs1"}, "pkcs1", "sig"},
			{"text as pkcs1", b64(sitetest.SampleTXT), m{"signatureType": "pkcs1"}, "pkcs1", "txt.sig"},
			{"text as xades", b64(sitetest.SampleTXT), m{"signatureType": "xades"}, "xades", "xml"},
			{"asic-s cades", b64(sitetest.SampleTXT), m{"signatureType": "cades", "options": m{"packaging": "asic-s"}}, "cades", "asics"},
			{"asic-e xades", b64(sitetest.SampleTXT), m{"signatureType": "xades", "options": m{"packaging": "asic-e"}}, "xades", "asice"},
			{"xades detached", b64(sitetest.SampleXML), m{"signatureType": "xades", "options": m{"packaging": "detached"}}, "xades", "xml"},
			{"xades internally detached", b64(sitetest.SampleXML), m{"options": m{"packaging": "internally-detached"}}, "xades", "xml"},
			{"xades element", b64(sitetest.SampleXML), optionsOf(m{"signElement": "a"}), "xades", "xml"},
			{"two PDFs", []string{b64(sitetest.SamplePDF), b64(sitetest.SamplePDF)}, nil, "pades", "pdf"},
			{"two texts", []any{m{"payload": b64(sitetest.SampleTXT), "name": "a.txt"}, b64([]byte("more than enough\n"))}, nil, "cades", "zip.p7m"},
			{"two XMLs", []string{b64(sitetest.SampleXML), b64(sitetest.SampleXML)}, nil, "xades", "asice"},
			{"two values", []string{b64(sitetest.SampleTXT), b64(sitetest.SamplePDF)}, m{"signatureType": "pkcs1"}, "pkcs1", "zip"},
			{"SHA-512", b64(sitetest.SamplePDF), optionsOf(m{"hashAlgorithm": "SHA512"}), "pades", "pdf"},
			{"visible", b64(sitetest.SamplePDF), optionsOf(m{"x": 100, "y": 50, "page": -1, "timezone": "Europe/Rome", "signerImage": m{"signerName": "A", "reason": "B"}}), "pades", "pdf"},
			{"named fields", b64(sitetest.SamplePDF), optionsOf(m{"signerImage": m{"fieldsNameList": []string{"One", "Two"}}}), "pades", "pdf"},
			{"encrypted", b64(sitetest.SamplePDF), optionsOf(m{"encryptInAnyCase": true, "encryptionPassword": "secret"}), "pades", "pdf"},
			{"URL-safe with spaces", " " + strings.TrimRight(base64.URLEncoding.EncodeToString(sitetest.SamplePDF), "=") + "\n", nil, "pades", "pdf"},
			{"the seed's spelling", nil, m{"inputDocument": []string{b64(sitetest.SamplePDF)}}, "pades", "pdf"},
		} {
			a := s.Do("POST", "/EU-QES_automatic", s.Body(c.docs, c.more))
			r := s.Record(a)
			if r.State != "DONE" || deref(r.SignatureType) != c.typ || r.Document.SignedDocument.Extension != c.ext {
				t.Errorf("%s: %s %s %+v: %s", c.name, r.State, deref(r.SignatureType), r.Document.SignedDocument, deref(r.ErrorMessage))
				continue
			}
			if want := any("B"); c.typ == "pkcs1" && r.Options["achievedLevel"] != nil || c.typ != "pkcs1" && r.Options["achievedLevel"] != want {
				t.Errorf("%s: achieved %v", c.name, r.Options["achievedLevel"])
			}
		}
	})
}

func TestLevels(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		for i, doc := range [][]byte{sitetest.SamplePDF, sitetest.SampleXML, sitetest.SampleTXT} {
			ltv := []string{"LTV", "LT", "LT"}[i] // there is LTV in PDF only
			for _, c := range []struct {
				o    m
				want string
			}{
				{m{"level": "T"}, "T"},
				{m{"withTimestamp": true}, "T"},
				{m{"level": "LT"}, "LT"},
				{m{"level": "LTA"}, "LTA"},
				{m{"level": "LTV"}, ltv},
				{m{"level": "T", "timestampUrl": s.URL + "/tsa"}, "T"},
			} {
				r := s.Sign(b64(doc), optionsOf(c.o))
				if r.State != "DONE" || r.Options["achievedLevel"] != c.want {
					t.Errorf("%.8q %v: %s %v: %s", doc, c.o, r.State, r.Options["achievedLevel"], deref(r.ErrorMessage))
				}
			}
		}
	})
}

func TestOTPAndSeal(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.Box.Certificates["otp"]
		body := m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": c.Username, "certificatePassword": c.Password, "certificateOtp": s.OTP(), "certificateIdOtp": -1}
		r := s.Record(s.Do("POST", "/EU-QES_otp", body))
		if r.State != "DONE" || r.CertificateType != "EU-QES_otp" {
			t.Fatalf("%+v: %s", r, deref(r.ErrorMessage))
		}
		if r := s.Record(s.Do("POST", "/EU-QES_otp", body)); r.State != "ERROR" || r.Number() != 116 {
			t.Errorf("a used code: %s %d", r.State, r.Number())
		}
		c = s.Box.Certificates["eseal"]
		r = s.Record(s.Do("POST", "/EU-QES_eseal", m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": c.Username, "certificatePassword": c.Password}))
		if r.State != "DONE" || r.CertificateType != "EU-QES_eseal" {
			t.Fatalf("%+v: %s", r, deref(r.ErrorMessage))
		}
	})
}

func TestAsynchronous(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"asyncDocumentsValidation": true}))
		if r.State != "WAIT_VALIDATION" || r.Document.Title != nil || r.Document.InputDocuments != nil || deref(r.SignatureType) != "" {
			t.Errorf("%+v", r)
		}
		if done := s.Wait(r.ID, "DONE", "ERROR"); done.State != "DONE" || done.Document.SignedDocument == nil {
			t.Errorf("%+v: %s", done, deref(done.ErrorMessage))
		}
		r = s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"asyncSignature": true}))
		if r.State != "WAIT_SIGN" || r.Document.ValidatedDocument == nil || deref(r.SignatureType) != "pades" {
			t.Errorf("%+v", r)
		}
		if done := s.Wait(r.ID, "DONE", "ERROR"); done.State != "DONE" {
			t.Errorf("%+v: %s", done, deref(done.ErrorMessage))
		}
		r = s.Sign(b64([]byte("%PDF-1.7 not really")), optionsOf(m{"asyncDocumentsValidation": true}))
		if done := s.Wait(r.ID, "DONE", "ERROR"); done.State != "ERROR" || done.Number() != 113 {
			t.Errorf("%+v", done)
		}
	})
}

// Faults of the request, each with its status and code.
func TestRequestFaults(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		doc := b64(sitetest.SamplePDF)
		cb := func(c any) m { return s.Body(doc, m{"callback": c}) }
		good := "https://receiver.example/hook"
		for _, c := range []struct {
			name string
			path string
			body any
			code int
		}{
			{"no documents", "", m{"certificateUsername": "a", "certificatePassword": "b"}, 615},
			{"empty documents", "", s.Body([]string{}), 615},
			{"both spellings", "", s.Body(doc, m{"inputDocument": b64(sitetest.SampleTXT)}), 615},
			{"both spellings, one document", "", s.Body(doc, m{"inputDocument": doc}), 615},
			{"not base64", "", s.Body("!!!"), 615},
			{"a number", "", s.Body(7), 615},
			{"second is bad", "", s.Body([]any{doc, "%%%"}), 615},
			{"bad sourceType", "", s.Body(m{"sourceType": "carrier pigeon", "payload": doc}), 615},
			{"empty payload", "", s.Body(m{"payload": ""}), 615},
			{"remote without url", "", s.Body(m{"sourceType": "remote"}), 615},
			{"bad header", "", s.Body(m{"sourceType": "remote", "url": "https://a.example/", "headers": []string{"Host: x"}}), 615},
			{"digest of a wrong size", "", s.Body(m{"sourceType": "base64Hash", "payload": b64([]byte("short"))}), 615},
			{"digest as pades", "", s.Body(b64(make([]byte, 32)), m{"signatureType": "pades"}), 622},
			{"signatureType", "", s.Body(doc, m{"signatureType": "cosign"}), 622},
			{"no username", "", m{"inputDocuments": doc, "certificatePassword": "b"}, 635},
			{"no password", "", m{"inputDocuments": doc, "certificateUsername": "b"}, 640},
			{"no OTP", "/EU-QES_otp", m{"inputDocuments": doc, "certificateUsername": "a", "certificatePassword": "b"}, 645},
			{"unknown option", "", s.Body(doc, optionsOf(m{"colour": "red"})), 625},
			{"options no object", "", s.Body(doc, m{"options": "x"}), 625},
			{"level", "", s.Body(doc, optionsOf(m{"level": "X"})), 625},
			{"SHA1", "", s.Body(doc, optionsOf(m{"hashAlgorithm": "SHA1"})), 625},
			{"page", "", s.Body(doc, optionsOf(m{"page": 0})), 625},
			{"ill-typed", "", s.Body(doc, optionsOf(m{"batch": "yes"})), 625},
			{"timezone", "", s.Body(doc, optionsOf(m{"timezone": "Mars/Base"})), 625},
			{"encrypt without password", "", s.Body(doc, optionsOf(m{"encryptInAnyCase": true})), 625},
			{"private TSA", "", s.Body(doc, optionsOf(m{"timestampUrl": "http://10.0.0.1/"})), 625},
			{"private image", "", s.Body(doc, optionsOf(m{"signerImage": m{"imageUrl": "http://[::1]/x.png"}})), 625},
			{"signerImage member", "", s.Body(doc, optionsOf(m{"signerImage": m{"font": "x"}})), 625},
			{"image not base64", "", s.Body(doc, optionsOf(m{"signerImage": m{"image": "***"}})), 625},
			{"callback without url", "", cb(m{}), 704},
			{"callback malformed", "", cb(m{"url": "::"}), 704},
			{"callback scheme", "", cb(m{"url": "ftp://a.example/"}), 706},
			{"callback private", "", cb(m{"url": "http://127.0.0.1:1/"}), 706},
			{"callback headers", "", cb(m{"url": good, "headers": "x"}), 708},
			{"callback header key", "", cb(m{"url": good, "headers": m{strings.Repeat("k", 257): "v"}}), 709},
			{"callback header value", "", cb(m{"url": good, "headers": m{"k": 1}}), 710},
			{"callback headers large", "", cb(m{"url": good, "headers": m{"k": strings.Repeat("v", 2100)}}), 711},
			{"callback custom", "", cb(m{"url": good, "custom": strings.Repeat("v", 600)}), 730},
			{"callback retry", "", cb(m{"url": good, "retry": 6}), 740},
		} {
			path := c.path
			if path == "" {
				path = "/EU-QES_automatic"
			}
			a := s.Do("POST", path, c.body)
			if a.Status != 422 || a.Code() != c.code || string(a.Data) != "null" {
				t.Errorf("%s: %d/%d %s, want 422/%d", c.name, a.Status, a.Code(), a.Message, c.code)
			}
		}
		if a := s.Do("POST", "/EU-QES_automatic", `{"a":1,"a":2}`); a.Status != 400 || a.Code() != 100 {
			t.Errorf("duplicate keys: %d/%d", a.Status, a.Code())
		}
		if a := s.Do("GET", "/signatures", nil); string(a.Data) != "[]" {
			t.Errorf("refused requests left records: %s", a.Data)
		}
	})
}

// Errors that stand in a record.
func TestRecordErrors(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		doc := b64(sitetest.SamplePDF)
		otp := s.Box.Certificates["otp"]
		for _, c := range []struct {
			name   string
			body   m
			number int
		}{
			{"wrong password", s.Body(doc, m{"certificatePassword": "wrong"}), 110},
			{"unknown username", s.Body(doc, m{"certificateUsername": "nobody"}), 110},
			{"kind", s.Body(doc, m{"certificateUsername": otp.Username, "certificatePassword": otp.Password}), 118},
			{"text as pades", s.Body(b64(sitetest.SampleTXT), m{"signatureType": "pades"}), 113},
			{"broken PDF", s.Body(b64([]byte("%PDF-1.4\nnothing\n"))), 113},
			{"private remote", s.Body("http://127.0.0.1:9/x.pdf"), 117},
			{"remote scheme", s.Body(m{"sourceType": "remote", "url": "file:///etc/passwd"}), 117},
			{"remote nowhere", s.Body("https://nowhere.invalid/x.pdf"), 117},
			{"TSA nowhere", s.Body(doc, optionsOf(m{"level": "T", "timestampUrl": "https://nowhere.invalid/"})), 114},
		} {
			r := s.Record(s.Do("POST", "/EU-QES_automatic", c.body))
			if r.State != "ERROR" || r.Number() != c.number || deref(r.ErrorMessage) == "" {
				t.Errorf("%s: %s %d %s, want %d", c.name, r.State, r.Number(), deref(r.ErrorMessage), c.number)
			}
			if a := s.Do("GET", "/signatures/"+r.ID+"/signedDocument", nil); a.Status != 409 || a.Code() != 143 {
				t.Errorf("%s: its signed document: %d/%d", c.name, a.Status, a.Code())
			}
		}
	})
}

func TestLockedCertificate(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		for i := range 5 {
			if r := s.Sign(b64(sitetest.SamplePDF), m{"certificatePassword": "wrong"}); r.Number() != 110 {
				t.Fatalf("failure %d: %d", i, r.Number())
			}
		}
		a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF)))
		if a.Status != 423 || a.Code() != 111 || a.Header.Get("Retry-After") == "" {
			t.Errorf("%d/%d %s", a.Status, a.Code(), a.Message)
		}
	})
}

func TestRecordsAndDeletion(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		one := s.Sign(b64(sitetest.SamplePDF))
		two := s.Sign(b64(sitetest.SampleTXT))
		var list []m
		if err := json.Unmarshal(s.Do("GET", "/signatures?limit=10", nil).Data, &list); err != nil {
			t.Fatal(err)
		}
		if len(list) != 2 || list[0]["id"] != two.ID || list[1]["id"] != one.ID || list[1]["documentTitle"] != "a test" {
			t.Errorf("%v", list)
		}
		if err := json.Unmarshal(s.Do("GET", "/signatures?signatureType=pades&state=DONE&certificateType=EU-QES_automatic", nil).Data, &list); err != nil || len(list) != 1 {
			t.Errorf("%v %v", list, err)
		}
		for _, q := range []string{"limit=0", "limit=101", "skip=-1", "state=X", "signatureType=x", "certificateType=x", "limit=a"} {
			if a := s.Do("GET", "/signatures?"+q, nil); a.Status != 422 || a.Code() != 160 {
				t.Errorf("%s: %d/%d", q, a.Status, a.Code())
			}
		}
		if a := s.Do("GET", "/signatures/xyz", nil); a.Status != 400 || a.Code() != 141 {
			t.Errorf("malformed id: %d/%d", a.Status, a.Code())
		}
		if a := s.Do("GET", "/signatures/"+strings.Repeat("0", 24), nil); a.Status != 404 || a.Code() != 140 {
			t.Errorf("unknown id: %d/%d", a.Status, a.Code())
		}
		if a := s.Do("GET", "/signatures/"+one.ID+"/nonsense", nil); a.Status != 404 || a.Code() != 142 {
			t.Errorf("unknown action: %d/%d", a.Status, a.Code())
		}
		if a := s.Do("DELETE", "/signatures/"+one.ID, nil); a.Status != 200 {
			t.Errorf("delete: %d", a.Status)
		}
		for _, p := range []string{"", "/detail", "/signedDocument", "/audit"} {
			if a := s.Do("GET", "/signatures/"+one.ID+p, nil); a.Status != 404 || a.Code() != 140 {
				t.Errorf("after delete %s: %d/%d", p, a.Status, a.Code())
			}
		}
		if a := s.Do("DELETE", "/signatures/"+one.ID, nil); a.Status != 404 {
			t.Errorf("second delete: %d", a.Status)
		}
		s.VerifyAudit()
	})
}

func TestAuditTrail(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		r := s.Sign(b64(sitetest.SamplePDF), optionsOf(m{"level": "T"}))
		s.Download(r.ID, "signedDocument")
		var trail struct {
			SignatureData record
			AuditData     []struct {
				ID, CreatedAt, Log, Kind string
				Detail                   m
			}
		}
		if err := json.Unmarshal(s.Do("GET", "/signatures/"+r.ID+"/audit", nil, "Accept", "*/*").Data, &trail); err != nil {
			t.Fatal(err)
		}
		if trail.SignatureData.ID != r.ID {
			t.Errorf("%+v", trail.SignatureData)
		}
		var kinds []string
		for _, e := range trail.AuditData {
			kinds = append(kinds, e.Kind)
			if e.ID == "" || e.CreatedAt == "" || e.Log == "" {
				t.Errorf("%+v", e)
			}
		}
		if got := strings.Join(kinds, " "); got != "request input validation key-use signature timestamp signed download" {
			t.Errorf("events: %s", got)
		}
		for accept, want := range map[string]string{"text/plain": "SignatureAuditReport:", "text/html": "Signature Data", "application/pdf": "%PDF-1."} {
			resp, b := s.Raw("GET", "/signatures/"+r.ID+"/auditTrail", nil, "Accept", accept)
			if resp.Status != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), accept) || !bytes.Contains(b, []byte(want)) {
				t.Errorf("%s: %d %s %.60q", accept, resp.Status, resp.Header.Get("Content-Type"), b)
			}
		}
		s.VerifyAudit()
	})
}

func TestIdempotentSigning(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		body := s.Body(b64(sitetest.SamplePDF))
		one := s.Record(s.Do("POST", "/EU-QES_automatic", body, "Idempotency-Key", "k1"))
		a := s.Do("POST", "/EU-QES_automatic", body, "Idempotency-Key", "k1")
		if two := s.Record(a); two.ID != one.ID || a.Header.Get("Idempotent-Replayed") != "true" || two.State != "DONE" {
			t.Errorf("%s and %s, %v", one.ID, two.ID, a.Header)
		}
		if a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT)), "Idempotency-Key", "k1"); a.Status != 422 || a.Code() != 151 {
			t.Errorf("another body: %d/%d", a.Status, a.Code())
		}
	})
}

func TestBatch(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		docs := []any{
			m{"payload": b64(sitetest.SamplePDF), "name": "one.pdf"},
			m{"payload": b64([]byte("%PDF-1.4 broken")), "name": "two.pdf"},
			b64(sitetest.SampleXML), b64(make([]byte, 32)),
			b64(append(bytes.Clone(sitetest.SamplePDF), "junk behind the end: 1 0 obj\n"...)),
		}
		r := s.Sign(docs, optionsOf(m{"batch": true}))
		if r.State != "DONE" || r.Document.SignedDocument.Extension != "zip" {
			t.Fatalf("%+v %s", r, deref(r.ErrorMessage))
		}
		files := unzip(t, s.Download(r.ID, "signedDocument"))
		var rep []apitest.Result
		if err := json.Unmarshal(files["report.json"], &rep); err != nil {
			t.Fatal(err)
		}
		if len(rep) != 5 || len(rep[0].Findings) > 0 || len(rep[4].Findings) != 1 || rep[4].Findings[0].Code != "PDF_WRITTEN_ANEW" || rep[4].Findings[0].Severity != "warning" {
			t.Fatalf("%s", files["report.json"])
		}
		if again := s.Do("GET", "/signatures/"+r.ID, nil); again.Message != "4 of 5 signed" {
			t.Errorf("the message is %q", again.Message)
		}
		if !reflect.DeepEqual(r.Document.Results, rep) {
			t.Errorf("the record lists %+v, the report %+v", r.Document.Results, rep)
		}
		if rep[0].State != "DONE" || rep[1].State != "ERROR" || *rep[1].ErrorNumber != 113 || *rep[0].File != "0000_one.pdf" || *rep[3].File != "0003_document.p7s" {
			t.Errorf("%s", files["report.json"])
		}
		for _, e := range rep {
			if e.File != nil && len(files[*e.File]) == 0 {
				t.Errorf("%s is not in the zip", *e.File)
			}
		}
		if r := s.Sign([]string{b64([]byte("%PDF-1.4 broken"))}, optionsOf(m{"batch": true})); r.State != "ERROR" || r.Number() != 113 || len(r.Document.Results) != 1 || r.Document.Results[0].State != "ERROR" {
			t.Errorf("a batch of nothing good: %s %d %+v", r.State, r.Number(), r.Document.Results)
		}
	})
}

func TestCertificateLifeOverHTTP(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		for _, kind := range []string{"automatic", "otp", "eseal"} {
			a := s.Do("POST", "/certificates/provider-"+kind, m{"certificateOwner": "Carla Prova", "customReference": "ref", "subject": m{"givenName": "Carla", "surname": "Prova", "fiscalCode": "PRVCRL80A41H501X"}})
			var c struct {
				ID, State, CertificateLink, CertificateType string
				CertificateOwner                            m
			}
			if a.Status != 200 || json.Unmarshal(a.Data, &c) != nil || c.State != "NEW" || c.CertificateType != "EU-QES_"+kind || c.CertificateOwner["owner"] != "Carla Prova" {
				t.Fatalf("%d %s %s", a.Status, a.Message, a.Data)
			}
			page := s.Page(c.CertificateLink, nil)
			if !strings.Contains(page, `id="approve"`) {
				t.Fatalf("no button: %s", page)
			}
			page = s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
			user, pass, secret := element(page, "certificate-username"), element(page, "certificate-password"), element(page, "otp-secret")
			prefix := map[string]string{"automatic": "AHI", "otp": "RHI", "eseal": "SHI"}[kind]
			if !strings.HasPrefix(user, prefix) || pass == "" || (secret != "") != (kind == "otp") {
				t.Fatalf("credentials %q: %s", user, page)
			}
			if again := s.Page(c.CertificateLink, nil); strings.Contains(again, pass) {
				t.Error("the credentials are shown twice")
			}
			body := m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": user, "certificatePassword": pass}
			if kind == "otp" {
				body["certificateOtp"], _ = keys.Code(secret, time.Now())
			}
			if r := s.Record(s.Do("POST", "/EU-QES_"+kind, body)); r.State != "DONE" {
				t.Fatalf("%s: %s", kind, deref(r.ErrorMessage))
			}
			suspendAndRevoke(s, c.ID, kind, body)
		}
	})
}

func suspendAndRevoke(s *site, id, kind string, body m) {
	s.T.Helper()
	state := func(a *answer) string {
		var d struct{ State, SerialNumber, SubjectDN string }
		if json.Unmarshal(a.Data, &d) != nil || a.Status == 200 && (d.SerialNumber == "" || !strings.HasPrefix(d.SubjectDN, "C=IT")) {
			s.T.Errorf("%s", a.Data)
		}
		return fmt.Sprintf("%d/%d %s", a.Status, a.Code(), d.State)
	}
	for _, step := range []struct{ verb, want string }{
		{"resume", "409/145 "}, {"suspend", "200/0 SUSPENDED"}, {"suspend", "409/145 "}, {"resume", "200/0 DONE"}, {"suspend", "200/0 SUSPENDED"},
	} {
		if got := state(s.Do("POST", "/certificates/"+id+"/"+step.verb, nil)); got != step.want {
			s.T.Errorf("%s: %s, want %s", step.verb, got, step.want)
		}
	}
	if r := s.Record(s.Do("POST", "/EU-QES_"+kind, body)); r.Number() != 112 {
		s.T.Errorf("suspended: %s %d", r.State, r.Number())
	}
	if got := state(s.Do("POST", "/certificates/"+id+"/revoke", nil)); got != "200/0 REVOKED" {
		s.T.Errorf("revoke: %s", got)
	}
	if got := state(s.Do("POST", "/certificates/"+id+"/resume", nil)); got != "409/145 " {
		s.T.Errorf("resume after revoke: %s", got)
	}
}
