package signing_test

import (
	"bytes"
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// Where one signature is over several documents, what it is over can be had;
// where each is signed on its own, there is no such document.
func TestValidatedDocumentOfSeveral(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	text := m{"payload": b64(sitetest.SampleTXT), "name": "a.txt"}
	for name, c := range map[string]struct {
		docs  []any
		more  m
		files []string // in the zip; nil: there is none
	}{
		"cades":       {[]any{text, b64(sitetest.SampleXML)}, m{"signatureType": "cades"}, []string{"0000_a.txt", "0001_document.xml"}},
		"xades":       {[]any{text, b64(sitetest.SampleXML)}, m{"signatureType": "xades"}, []string{"0000_a.txt", "0001_document.xml"}},
		"cades in it": {[]any{text, b64(sitetest.SampleXML)}, m{"signatureType": "cades", "options": m{"packaging": "asic-e"}}, []string{"0000_a.txt", "0001_document.xml"}},
		"later":       {[]any{text, b64(sitetest.SampleXML)}, m{"signatureType": "xades", "options": m{"asyncSignature": true}}, []string{"0000_a.txt", "0001_document.xml"}},
		"pkcs1":       {[]any{text, b64(sitetest.SampleXML)}, m{"signatureType": "pkcs1"}, nil},
		"batch":       {[]any{text, b64(sitetest.SampleXML)}, optionsOf(m{"batch": true}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := s.Sign(c.docs, c.more)
			if name == "later" {
				r = s.Wait(r.ID, "DONE", "ERROR")
			}
			if r.State != "DONE" {
				t.Fatalf("%s %s", r.State, deref(r.ErrorMessage))
			}
			v := r.Document.ValidatedDocument
			if c.files == nil {
				a := s.Do("GET", "/signatures/"+r.ID+"/validatedDocument", nil)
				if v != nil || a.Status != 409 || *a.Error != 143 {
					t.Errorf("%+v: %d %s", v, a.Status, a.Message)
				}
				return
			}
			if v == nil || v.Extension != "zip" || v.SHA256 == "" || v.Size == 0 {
				t.Fatalf("%+v", v)
			}
			files := unzip(t, s.Download(r.ID, "validatedDocument"))
			if len(files) != len(c.files) || !bytes.Equal(files[c.files[0]], sitetest.SampleTXT) || !bytes.Equal(files[c.files[1]], sitetest.SampleXML) {
				t.Errorf("%d files in it", len(files))
			}
		})
	}
	s.VerifyAudit()
}
