package rogito_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/report"
)

// A time-stamp alone is no signature, and is judged all the same.
func TestTimestampAlone(t *testing.T) {
	s := newStage(t)
	digest := sha256.Sum256([]byte("content"))
	token, err := s.pki.Unit.Stamp(context.Background(), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	for name, doc := range map[string][]byte{"token": token, "base64": []byte(base64.StdEncoding.EncodeToString(token))} {
		for content, want := range map[string]report.Indication{"content": report.Passed, "another": report.Failed, "": report.Indeterminate} {
			o := rogito.VerifyOptions{}
			if content != "" {
				o.Detached = []ades.File{{Source: bytes.NewReader([]byte(content))}}
			}
			r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(doc), o)
			if err != nil {
				t.Fatal(err)
			}
			v, err := r.View(true, "en")
			if err != nil {
				t.Fatal(err)
			}
			if v.NrOfSignatures != 0 || v.OverallVerified || v.SignatureFormat != "TST" || len(v.Timestamps) != 1 || v.Timestamps[0].Indication != want {
				t.Errorf("%s over %q: %d signatures, %s, %+v", name, content, v.NrOfSignatures, v.SignatureFormat, v.Timestamps)
			}
		}
	}
}

// Layers: a signed PDF inside a CMS, seen from outside and opened.
func TestRecursion(t *testing.T) {
	s := newStage(t)
	inner := s.sign("pades", "p256", ades.LevelB, 0)
	a := s.pki.Actor(t, "second")
	doc := s.signContent("cades", a, a.Signing(s.now), ades.LevelB, inner)
	for recursive, want := range map[bool]int{false: 1, true: 2} {
		r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{Recursive: recursive})
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.View(true, "en")
		if err != nil {
			t.Fatal(err)
		}
		if v.NrOfSignatures != want || !v.OverallVerified || v.SignatureFormat != "CAdES" || v.PlainDocument == nil || v.PlainDocument.Base64 == nil {
			t.Errorf("recursive %v: %d signatures, verified %v, %s", recursive, v.NrOfSignatures, v.OverallVerified, v.SignatureFormat)
		}
		if recursive && v.Signatures[1].Level != 1 {
			t.Errorf("nesting %d", v.Signatures[1].Level)
		}
	}
	// A broken inner layer spoils the whole.
	bad := bytes.Replace(inner, []byte("[0 0 200 200]"), []byte("[0 0 100 100]"), 1)
	doc = s.signContent("cades", a, a.Signing(s.now), ades.LevelB, bad)
	r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{Recursive: true})
	if err != nil || r.Valid() {
		t.Errorf("broken inside: valid %v, %v", r.Valid(), err)
	}
}

// Nobody signed, so the verdict is that of the time-stamps: it is about the document as it is shown,
// and no better than the weakest digest on the way to it.
func TestTimestampedDocuments(t *testing.T) {
	s := newStage(t)
	stamp := func(b []byte) []byte {
		digest := sha256.Sum256(b)
		token, err := s.pki.Unit.Stamp(t.Context(), crypto.SHA256, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	const sha2, sha1, md5 = "http://www.w3.org/2001/04/xmlenc#sha256", "http://www.w3.org/2000/09/xmldsig#sha1", "http://www.w3.org/2001/04/xmldsig-more#md5"
	hashes := map[string]crypto.Hash{sha2: crypto.SHA256, sha1: crypto.SHA1, md5: crypto.MD5}
	// container has the files, and a time-stamped manifest of those that are listed.
	container := func(method string, files map[string]string, listed ...string) []byte {
		m := `<ASiCManifest xmlns="http://uri.etsi.org/02918/v1.2.1#" xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><SigReference URI="META-INF/timestamp.tst"/>`
		for _, name := range listed {
			m += fmt.Sprintf(`<DataObjectReference URI="%s"><ds:DigestMethod Algorithm="%s"/><ds:DigestValue>%s</ds:DigestValue></DataObjectReference>`,
				name, method, base64.StdEncoding.EncodeToString(oid.Sum(hashes[method], []byte("of "+name))))
		}
		m += `</ASiCManifest>`
		all := []string{"mimetype", "application/vnd.etsi.asic-e+zip", "META-INF/ASiCManifest.xml", m, "META-INF/timestamp.tst", string(stamp([]byte(m)))}
		for name, content := range files {
			all = append(all, name, content)
		}
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for i := 0; i < len(all); i += 2 {
			f, err := w.CreateHeader(&zip.FileHeader{Name: all[i]})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = f.Write([]byte(all[i+1]))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	one, two := map[string]string{"a": "of a"}, map[string]string{"a": "of a", "b": "of b"}

	stamped := func(doc []byte) []byte {
		var out bytes.Buffer
		if err := pades.Timestamp(t.Context(), bytes.NewReader(doc), &out, ades.AugmentOptions{Stamper: s.pki.Unit}); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	doc := stamped(samplePDF())

	for name, tt := range map[string]struct {
		doc  []byte
		want report.Indication
		sub  report.SubIndication
	}{
		"a PDF":                          {doc, report.Passed, ""},
		"a PDF, twice":                   {stamped(doc), report.Passed, ""},
		"a PDF with another page":        {withOtherPage(t, doc), report.Failed, report.FormatFailure},
		"a container":                    {container(sha2, two, "a", "b"), report.Passed, ""},
		"a container with a second file": {container(sha2, two, "a"), report.Indeterminate, report.SigConstraintsFailure},
		"a container that lacks a file":  {container(sha2, one, "a", "b"), report.Indeterminate, report.SigConstraintsFailure},
		"a container with another file":  {container(sha2, map[string]string{"a": "of b"}, "a"), report.Failed, report.HashFailure},
		"a file beside the metadata":     {container(sha2, map[string]string{"a": "of a", "META-INF/b.txt": "of b"}, "a"), report.Indeterminate, report.SigConstraintsFailure},
		"a manifest with SHA-1":          {container(sha1, one, "a"), report.Indeterminate, report.CryptoConstraintsFailureNoPOE},
		"a manifest with MD5":            {container(md5, one, "a"), report.Indeterminate, report.CryptoConstraintsFailureNoPOE},
	} {
		r, err := s.verifier(true).Verify(t.Context(), bytes.NewReader(tt.doc), rogito.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c := r.Conclusions
		if len(c.Timestamps) == 0 || c.Timestamps[0].Indication != tt.want || c.Timestamps[0].SubIndication != tt.sub || c.TimestampsVerified != (tt.want == report.Passed) {
			t.Errorf("%s: verified %v, %+v", name, c.TimestampsVerified, c.Timestamps)
		}
	}
}

// withOtherPage appends another content of the first page.
func withOtherPage(t *testing.T, doc []byte) []byte {
	t.Helper()
	d, err := pdf.Open(bytes.NewReader(doc), pdf.Options{Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Page(0)
	if err != nil {
		t.Fatal(err)
	}
	u := d.Update()
	page, err := u.Edit(p.Ref)
	if err != nil {
		t.Fatal(err)
	}
	page.Set("Contents", u.New(&pdf.Stream{Dict: &pdf.Dict{}, Data: []byte("0 0 100 100 re f")}))
	tail, err := u.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return append(bytes.Clone(doc), tail...)
}
