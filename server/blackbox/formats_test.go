package blackbox

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/api/apitest"
)

// Every signature that can be asked for, by content and by name, of one
// document and of several; the verifier finds in it what was asked.
func testFormats(t *testing.T, w *world) {
	g := w.sandboxed(t)
	digest := sha256.Sum256(sampleTXT)
	given := m{"sourceType": "base64Hash", "payload": b64(digest[:])}
	pdf, xml, txt := b64(samplePDF), b64(sampleXML), b64(sampleTXT)
	txtDetached, xmlDetached := m{"detachedContent": txt}, m{"detachedContent": []m{{"name": "0000_document.xml", "payload": xml}}}
	for _, c := range []struct {
		name   string
		docs   any
		more   m
		format string
		ext    string
		verify string // what the verifier calls it; empty: it cannot read it
		given  m      // to the verifier
	}{
		{"PDF", pdf, nil, "pades", "pdf", "PAdES", nil},
		{"XML", xml, nil, "xades", "xml", "XAdES", nil},
		{"XML without a declaration", b64([]byte(`<a><b>1</b></a>`)), nil, "xades", "xml", "XAdES", nil},
		{"text", txt, nil, "cades", "txt.p7m", "CAdES", nil},
		{"HTML", b64([]byte(`<!doctype html><html><body>x</body></html>`)), nil, "cades", "html.p7m", "CAdES", nil},
		{"an image", b64(samplePNG), nil, "cades", "png.p7m", "CAdES", nil},
		{"PDF as cades", pdf, m{"signatureType": "cades"}, "cades", "pdf.p7m", "CAdES", nil},
		{"PDF as xades", pdf, m{"signatureType": "xades"}, "xades", "xml", "XAdES", nil},
		{"PDF as pkcs1", pdf, m{"signatureType": "pkcs1"}, "pkcs1", "pdf.sig", "", nil},
		{"XML as cades", xml, m{"signatureType": "cades"}, "cades", "xml.p7m", "CAdES", nil},
		{"text as xades", txt, m{"signatureType": "xades"}, "xades", "xml", "XAdES", nil},
		{"text as pkcs1", txt, m{"signatureType": "pkcs1"}, "pkcs1", "txt.sig", "", nil},
		{"digest", given, nil, "cades", "p7s", "CAdES", txtDetached},
		{"digest as cades", given, m{"signatureType": "cades"}, "cades", "p7s", "CAdES", txtDetached},
		{"digest as pkcs1", given, m{"signatureType": "pkcs1"}, "pkcs1", "sig", "", nil},
		{"digest of SHA-384", digestOf(sha512.New384()), options(m{"hashAlgorithm": "SHA384"}), "cades", "p7s", "CAdES", txtDetached},
		{"digest of SHA-512", digestOf(sha512.New()), options(m{"hashAlgorithm": "SHA512"}), "cades", "p7s", "CAdES", txtDetached},
		{"cades, attached", txt, options(m{"packaging": "attached"}), "cades", "txt.p7m", "CAdES", nil},
		{"cades, detached", txt, options(m{"packaging": "detached"}), "cades", "p7s", "CAdES", txtDetached},
		{"cades, the option detached", txt, options(m{"detached": true}), "cades", "p7s", "CAdES", txtDetached},
		{"cades in ASiC-S", txt, options(m{"packaging": "asic-s"}), "cades", "asics", "ASiC-S", nil},
		{"cades in ASiC-E", txt, options(m{"packaging": "asic-e"}), "cades", "asice", "ASiC-E", nil},
		{"xades, enveloped", xml, options(m{"packaging": "enveloped"}), "xades", "xml", "XAdES", nil},
		{"xades, enveloping", xml, options(m{"packaging": "enveloping"}), "xades", "xml", "XAdES", nil},
		{"xades, detached", xml, options(m{"packaging": "detached"}), "xades", "xml", "XAdES", xmlDetached},
		{"xades, the option detached", xml, options(m{"detached": true}), "xades", "xml", "XAdES", xmlDetached},
		{"xades, internally detached", xml, options(m{"packaging": "internally-detached"}), "xades", "xml", "XAdES", nil},
		{"xades in ASiC-S", xml, options(m{"packaging": "asic-s"}), "xades", "asics", "ASiC-S", nil},
		{"xades in ASiC-E", xml, options(m{"packaging": "asic-e"}), "xades", "asice", "ASiC-E", nil},
		{"text as jades", txt, m{"signatureType": "jades"}, "jades", "json", "JAdES", nil},
		{"jades, flattened", txt, m{"signatureType": "jades", "options": m{"serialization": "flattened", "packaging": "attached"}}, "jades", "json", "JAdES", nil},
		{"jades, general", pdf, m{"signatureType": "jades", "options": m{"serialization": "general"}}, "jades", "json", "JAdES", nil},
		{"jades, compact", txt, m{"signatureType": "jades", "options": m{"serialization": "compact"}}, "jades", "jws", "JAdES", nil},
		{"jades, detached", txt, m{"signatureType": "jades", "options": m{"detached": true}}, "jades", "json", "JAdES", txtDetached},
		{"two texts as jades", []any{m{"payload": txt, "name": "a.txt"}, xml}, m{"signatureType": "jades", "options": m{"packaging": "detached"}}, "jades", "json", "JAdES", m{"detachedContent": []string{xml, txt}}},
		{"two PDFs", []string{pdf, b64(twoPages)}, nil, "pades", "pdf", "PAdES", nil},
		{"two XMLs", []string{xml, xml}, nil, "xades", "asice", "ASiC-E", nil},
		{"two texts", []any{m{"payload": txt, "name": "a.txt"}, txt}, nil, "cades", "zip.p7m", "CAdES", nil},
		{"PDF and XML", []string{pdf, xml}, nil, "cades", "zip.p7m", "CAdES", nil},
		{"two PDFs as cades", []string{pdf, pdf}, m{"signatureType": "cades"}, "cades", "zip.p7m", "CAdES", nil},
		{"two texts as xades", []string{txt, txt}, m{"signatureType": "xades"}, "xades", "asice", "ASiC-E", nil},
		{"several as pkcs1", []any{txt, pdf, given}, m{"signatureType": "pkcs1"}, "pkcs1", "zip", "", nil},
		{"two texts in ASiC-E", []string{txt, txt}, options(m{"packaging": "asic-e"}), "cades", "asice", "ASiC-E", nil},
	} {
		r := g.sign(c.docs, c.more)
		if r.State != "DONE" || deref(r.SignatureType) != c.format || r.Document.SignedDocument.Extension != c.ext || r.Document.SignedDocument.Name != r.ID+"."+c.ext {
			t.Errorf("%s: %s %+v, want %s", c.name, r.says(), r.Document.SignedDocument, c.ext)
			continue
		}
		var want any = "B"
		if c.format == "pkcs1" {
			want = nil
		}
		if r.Options["achievedLevel"] != want {
			t.Errorf("%s: achieved %v", c.name, r.Options["achievedLevel"])
		}
		a := g.raw("GET", "/signatures/"+r.ID+"/signedDocument", nil)
		mediaType := "application/octet-stream"
		if c.ext == "pdf" {
			mediaType = "application/pdf"
		}
		if a.Header.Get("Content-Type") != mediaType || !strings.Contains(a.Header.Get("Content-Disposition"), r.ID+"."+c.ext) || !r.Document.SignedDocument.Of(a.Body) {
			t.Errorf("%s: %v", c.name, a.Header)
		}
		if c.verify == "" {
			continue
		}
		v := g.verify(a.Body, c.given)
		if !v.OverallVerified || v.SignatureFormat != c.verify || v.NrOfSignatures != 1 || !strings.HasSuffix(v.Signatures[0].SignatureLevel, "-BASELINE-B") {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// What a signer says beyond signing stands in the report.
func testClaims(t *testing.T, w *world) {
	g := w.sandboxed(t)
	txt, pdf, xml := b64(sampleTXT), b64(samplePDF), b64(sampleXML)
	for _, c := range []struct {
		name, doc string
		more      m
		why       string
	}{
		{"cades", txt, m{"contentTimestamp": true, "commitment": "proof-of-approval"}, "proof-of-approval"},
		{"cades of a p7m", txt, m{"contentTimestamp": true, "commitment": "1.2.3.4", "packaging": "asic-e"}, "1.2.3.4"},
		{"pades", pdf, m{"contentTimestamp": true, "commitment": "proof-of-creation"}, "proof-of-creation"},
		{"pades, seen", pdf, m{"contentTimestamp": true, "signerImage": m{"reason": "Approval", "location": "Roma", "qr": true, "width": 220, "height": 60}}, "Approval"},
		{"xades", xml, m{"contentTimestamp": true, "commitment": "1.2.840.113549.1.9.16.6.1", "level": "T"}, "proof-of-origin"},
		{"xades, enveloping", xml, m{"contentTimestamp": true, "commitment": "1.2.3.4", "packaging": "enveloping"}, "urn:oid:1.2.3.4"},
		{"xades, internally detached", xml, m{"contentTimestamp": true, "commitment": "proof-of-sender", "packaging": "internally-detached"}, "proof-of-sender"},
		{"xades in ASiC-S", xml, m{"contentTimestamp": true, "commitment": "proof-of-receipt", "packaging": "asic-s"}, "proof-of-receipt"},
	} {
		r := g.sign(c.doc, m{"options": c.more})
		if r.State != "DONE" {
			t.Errorf("%s: %s", c.name, r.says())
			continue
		}
		v := g.verify(g.raw("GET", "/signatures/"+r.ID+"/signedDocument", nil).Body)
		if !v.OverallVerified || len(v.Signatures) != 1 {
			t.Errorf("%s: %+v", c.name, v)
			continue
		}
		s := v.Signatures[0]
		stamps := slices.ContainsFunc(s.Timestamps, func(x m) bool { return x["kind"] == "content" && x["integrity"] == true && x["qualification"] == "N/A" })
		if deref(s.Reason) != c.why || s.ClaimedTime == nil || !stamps || s.Policy != nil || c.why == "Approval" && deref(s.Location) != "Roma" {
			t.Errorf("%s: reason %q, %+v", c.name, deref(s.Reason), s.Timestamps)
		}
	}
	if r := g.sign(pdf, m{"options": m{"commitment": "proof-of-origin", "signerImage": m{"reason": "x"}}}); r.State != "ERROR" || r.ErrorNumber == nil || *r.ErrorNumber != 113 {
		t.Errorf("a reason and a commitment: %s", r.says())
	}
}

// digestOf is the text's digest, as an input.
func digestOf(h hash.Hash) m {
	_, _ = h.Write(sampleTXT)
	return m{"sourceType": "base64Hash", "payload": b64(h.Sum(nil))}
}

// What cannot be signed as was asked ends in error 113, and says why.
func testUnsignable(t *testing.T, w *world) {
	g := w.sandboxed(t)
	for _, c := range []struct {
		name string
		docs any
		more m
		word string
	}{
		{"text as pades", b64(sampleTXT), m{"signatureType": "pades"}, "PDF"},
		{"broken PDF", b64(brokenPDF), nil, "inputDocuments[0]"},
		{"one of two is no PDF", []string{b64(samplePDF), b64(sampleTXT)}, m{"signatureType": "pades"}, "inputDocuments[1]"},
		{"text, enveloped", b64(sampleTXT), m{"signatureType": "xades", "options": m{"packaging": "enveloped"}}, "XML"},
		{"broken XML", b64([]byte(`<?xml version="1.0"?><a><b></a>`)), m{"signatureType": "xades", "options": m{"packaging": "enveloped"}}, "inputDocuments[0]"},
		{"counter-signing a text", b64(sampleTXT), options(m{"counterSignature": true}), "p7m"},
		{"a digest at LTA", b64(make([]byte, 32)), options(m{"level": "LTA"}), "LTA"},
		{"XPath that selects nothing", b64(sampleXML), options(m{"XPathQuery": "//none"}), "inputDocuments[0]"},
		{"an element that is not there", b64(sampleXML), options(m{"signElement": "zz"}), "inputDocuments[0]"},
		{"an Id that is taken", b64(sampleXML), options(m{"signatureId": "a"}), "inputDocuments[0]"},
		{"an image that is none", b64(samplePDF), options(m{"signerImage": m{"image": b64([]byte("GIF89a"))}}), "image"},
		{"a page that is not there", b64(samplePDF), options(m{"page": 7, "signerImage": m{}}), "inputDocuments[0]"},
	} {
		for _, async := range []bool{false, true} {
			o, _ := c.more["options"].(m)
			r := g.sign(c.docs, with(c.more, options(with(o, m{"asyncDocumentsValidation": async}))))
			if async {
				if r.State != "WAIT_VALIDATION" {
					t.Errorf("%s: %s", c.name, r.says())
				}
				r = g.wait(r.ID)
			}
			if r.State != "ERROR" || r.number() != 113 || !strings.Contains(deref(r.ErrorMessage), c.word) {
				t.Errorf("%s: %s, want 113 with %q", c.name, r.says(), c.word)
			}
			g.no(409, 143, "GET", "/signatures/"+r.ID+"/signedDocument", nil, "113")
		}
	}
}

// A batch signs each document on its own; one that fails does not stop the
// rest, and is not paid.
func testBatch(t *testing.T, w *world) {
	g := w.tenant(t)
	digest := sha256.Sum256(sampleTXT)
	docs := []any{
		m{"payload": b64(samplePDF), "name": "one.pdf"},
		m{"payload": b64(brokenPDF), "name": "two.pdf"},
		b64(sampleXML), b64(digest[:]),
		w.web.URL + "/nothing", w.web.URL + "/doc.txt",
		m{"payload": b64(sampleTXT), "name": "../../evil/näme.csv"},
	}
	wantFiles := []string{"0000_one.pdf", "", "0002_document.xml", "0003_document.p7s", "", "0005_document.txt.p7m", "0006_näme.csv.p7m"}
	wantErrors := []int{0, 113, 0, 0, 117, 0, 0}
	for _, o := range []m{{}, {"asyncSignature": true}, {"asyncDocumentsValidation": true}, {"level": "T"}} {
		before := g.credit()
		r := g.sign(docs, options(with(o, m{"batch": true})))
		if r = g.wait(r.ID); r.State != "DONE" || r.Document.SignedDocument.Extension != "zip" || r.Options["batch"] != true || len(r.Document.InputDocuments) != 7 {
			t.Fatalf("%v: %s", o, r.says())
		}
		if paid := before - g.credit(); fmt.Sprintf("%.3f", paid) != "0.250" {
			t.Errorf("%v: five signatures cost %v", o, paid)
		}
		files, names := unzip(t, g.download(r, "signedDocument"))
		var rep []apitest.Result
		if err := json.Unmarshal(files["report.json"], &rep); err != nil || len(rep) != len(docs) {
			t.Fatalf("%v: %s", err, files["report.json"])
		}
		if !reflect.DeepEqual(r.Document.Results, rep) {
			t.Errorf("%v: the record lists %+v, the report %+v", o, r.Document.Results, rep)
		}
		if a := g.do("GET", "/signatures/"+r.ID, nil); a.Message != "5 of 7 signed" {
			t.Errorf("%v: the message is %q", o, a.Message)
		}
		var listed []string
		for i, e := range rep {
			if e.Index != i || deref(e.File) != wantFiles[i] || deref(e.ErrorNumber) != wantErrors[i] || (e.State == "DONE") != (wantErrors[i] == 0) || (e.ErrorMessage == nil) != (wantErrors[i] == 0) {
				t.Errorf("%v: %d: %+v %s", o, i, e, deref(e.File))
			}
			if e.File == nil {
				continue
			}
			listed = append(listed, *e.File)
			sum := sha256.Sum256(files[*e.File])
			if deref(e.SHA256) != hex.EncodeToString(sum[:]) {
				t.Errorf("%v: %s: %s", o, *e.File, deref(e.SHA256))
			}
			given := m{}
			if strings.HasSuffix(*e.File, ".p7s") {
				given["detachedContent"] = b64(sampleTXT)
			}
			if v := g.verify(files[*e.File], given); !v.OverallVerified {
				t.Errorf("%v: %s: %+v", o, *e.File, v)
			}
		}
		if !slices.Equal(names, append(listed, "report.json")) {
			t.Errorf("%v: %v", o, names)
		}
	}
	before := g.credit()
	for _, o := range []m{{"batch": true}, {"batch": true, "asyncDocumentsValidation": true}} {
		r := g.sign([]string{b64(brokenPDF), b64(brokenPDF)}, options(o))
		if r = g.wait(r.ID); r.number() != 113 {
			t.Errorf("a batch of nothing good: %s", r.says())
		}
	}
	if g.credit() != before {
		t.Errorf("it cost %v", before-g.credit())
	}
}

// Files in a zip, and in a container, have their index and name.
func testContainers(t *testing.T, w *world) {
	g := w.sandboxed(t)
	docs := []any{m{"payload": b64(sampleTXT), "name": "a.txt"}, m{"payload": b64(sampleXML)}, m{"payload": b64(samplePDF), "name": `c:\x\y.pdf`}}
	want := []string{"0000_a.txt", "0001_document.xml", "0002_y.pdf"}
	r, signed := g.signed(docs)
	v := g.verify(signed)
	_, names := unzip(t, g.download(r, "validatedDocument"))
	if !slices.Equal(names, want) || v.PlainDocument == nil || *v.PlainDocument != b64(g.download(r, "validatedDocument")) {
		t.Errorf("zip: %v", names)
	}
	_, signed = g.signed(docs, m{"signatureType": "xades"})
	files, names := unzip(t, signed)
	for _, name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("container: %v", names)
		}
	}
	if names[0] != "mimetype" || !bytes.Equal(files["0000_a.txt"], sampleTXT) {
		t.Errorf("container: %v", names)
	}
	_, signed = g.signed(docs, m{"signatureType": "pkcs1"})
	values, names := unzip(t, signed)
	if !slices.Equal(names, []string{"0000_a.txt.sig", "0001_document.xml.sig", "0002_y.pdf.sig"}) {
		t.Errorf("values: %v", names)
	}
	c, err := x509.ParseCertificate(v.Signatures[0].DerEncodedSignerCert)
	if err != nil {
		t.Fatal(err)
	}
	for i, doc := range [][]byte{sampleTXT, sampleXML, samplePDF} {
		if err := c.CheckSignature(x509.SHA256WithRSA, doc, values[names[i]]); err != nil {
			t.Errorf("%s: %v", names[i], err)
		}
	}
	_, value := g.signed(digestOf(sha512.New()), m{"signatureType": "pkcs1", "options": m{"hashAlgorithm": "SHA512"}})
	if err := c.CheckSignature(x509.SHA512WithRSA, sampleTXT, value); err != nil {
		t.Errorf("over a digest: %v", err)
	}
}
