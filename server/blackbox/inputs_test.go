package blackbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// Every form of inputDocuments, what becomes of it, and under which name.
func testInputs(t *testing.T, w *world) {
	g := w.sandboxed(t)
	digest := sha256.Sum256(sampleTXT)
	unpadded := strings.TrimRight(base64.URLEncoding.EncodeToString(samplePDF), "=")
	spaced := " " + b64(samplePDF)[:40] + "\r\n\t " + b64(samplePDF)[40:] + "\n"
	remote := m{"sourceType": "remote", "url": w.web.URL + "/locked", "method": "post", "postData": "a=b&c=d", "headers": []string{"X-Key: open sesame"}}
	for _, c := range []struct {
		name   string
		docs   any
		from   []string // sourceType of each input
		data   [][]byte
		format string
		signed string // extension
	}{
		{"base64", b64(samplePDF), []string{"base64"}, [][]byte{samplePDF}, "pades", "pdf"},
		{"base64 in a list", []any{b64(samplePDF)}, []string{"base64"}, [][]byte{samplePDF}, "pades", "pdf"},
		{"unpadded, URL-safe base64", unpadded, []string{"base64"}, [][]byte{samplePDF}, "pades", "pdf"},
		{"base64 with white space", spaced, []string{"base64"}, [][]byte{samplePDF}, "pades", "pdf"},
		{"an address", w.web.URL + "/doc.pdf", []string{"remote"}, [][]byte{samplePDF}, "pades", "pdf"},
		{"a digest", b64(digest[:]), []string{"base64Hash"}, [][]byte{digest[:]}, "cades", "p7s"},
		{"object, base64", m{"sourceType": "base64", "payload": b64(sampleXML)}, []string{"base64"}, [][]byte{sampleXML}, "xades", "xml"},
		{"object, 32 bytes that are no digest", m{"sourceType": "base64", "payload": b64(digest[:])}, []string{"base64"}, [][]byte{digest[:]}, "cades", "bin.p7m"},
		{"object, digest", m{"sourceType": "base64Hash", "payload": b64(digest[:])}, []string{"base64Hash"}, [][]byte{digest[:]}, "cades", "p7s"},
		{"object without a type, payload", m{"payload": b64(sampleTXT), "name": "a.csv"}, []string{"base64"}, [][]byte{sampleTXT}, "cades", "csv.p7m"},
		{"object without a type, url", m{"url": w.web.URL + "/doc.xml"}, []string{"remote"}, [][]byte{sampleXML}, "xades", "xml"},
		{"object with nulls", m{"sourceType": nil, "url": nil, "headers": nil, "method": nil, "postData": nil, "payload": b64(sampleTXT), "name": nil}, []string{"base64"}, [][]byte{sampleTXT}, "cades", "txt.p7m"},
		{"remote, get", m{"sourceType": "remote", "url": w.web.URL + "/header", "method": "get", "headers": []string{"X-Key: open sesame"}}, []string{"remote"}, [][]byte{sampleTXT}, "cades", "txt.p7m"},
		{"remote, post", remote, []string{"remote"}, [][]byte{sampleXML}, "xades", "xml"},
		{"a mixture", []any{b64(samplePDF), w.web.URL + "/doc.txt", m{"payload": b64(sampleXML), "name": "in.xml"}}, []string{"base64", "remote", "base64"}, [][]byte{samplePDF, sampleTXT, sampleXML}, "cades", "zip.p7m"},
	} {
		r, signed := g.signed(c.docs)
		if deref(r.SignatureType) != c.format || len(r.Document.InputDocuments) != len(c.data) || r.Document.SignedDocument.Extension != c.signed {
			t.Errorf("%s: %s %+v", c.name, r.says(), r.Document)
			continue
		}
		for i, in := range r.Document.InputDocuments {
			if in.SourceType != c.from[i] || !in.Of(c.data[i]) || in.Name != in.MD5+"."+in.Extension || !idForm.MatchString(in.ID) || moment(t, in.CreatedAt).IsZero() {
				t.Errorf("%s: input %d: %+v", c.name, i, in)
			}
		}
		out := r.Document.SignedDocument
		if out.Name != r.ID+"."+c.signed || out.SourceType != "" || out.Mimetype == "" || out.ID == r.Document.InputDocuments[0].ID {
			t.Errorf("%s: %+v", c.name, out)
		}
		if v := r.Document.ValidatedDocument; len(c.data) == 1 && (v == nil || v.ID != r.Document.InputDocuments[0].ID || !v.Of(c.data[0]) || !bytes.Equal(g.download(r, "validatedDocument"), c.data[0])) {
			t.Errorf("%s: validated %+v", c.name, v)
		}
		more := m{}
		if c.signed == "p7s" {
			more["detachedContent"] = b64(sampleTXT)
		}
		if v := g.verify(signed, more); !v.OverallVerified || v.NrOfSignatures != 1 {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
	seed := with(g.body(nil), m{"inputDocument": []any{m{"sourceType": "base64", "payload": b64(samplePDF)}}})
	if r := g.submit(seed); r.State != "DONE" {
		t.Errorf("the seed's spelling: %s", r.says())
	}
	if r := g.submit(with(g.body(b64(sampleTXT)), m{"signers": []any{}, "nonsense": 1, "options": nil, "callback": nil, "title": nil, "signatureType": nil})); r.State != "DONE" {
		t.Errorf("unknown members and nulls: %s", r.says())
	}
}

// A PDF whose cross-reference table is damaged is repaired; with a signature in
// it that cannot be.
func testDamagedPDF(t *testing.T, w *world) {
	g := w.sandboxed(t)
	r, signed := g.signed(b64(damaged(samplePDF)))
	if v := g.verify(signed); !v.OverallVerified || deref(r.SignatureType) != "pades" {
		t.Errorf("%s: %+v", r.says(), v)
	}
	r, signed = g.signed([]string{b64(damaged(samplePDF)), b64(samplePDF)})
	if v := g.verify(signed); !v.OverallVerified {
		t.Errorf("merged: %s: %+v", r.says(), v)
	}
	_, signed = g.signed(b64(samplePDF))
	g.do("POST", "/EU-QES_automatic", g.body(b64(damaged(signed)))).wrong(t, 113)
	g.do("POST", "/EU-QES_automatic", g.body([]string{b64(signed), b64(samplePDF)})).wrong(t, 113) // merging would break it
}

// What is wrong with a request is said before anything happens, on each
// endpoint, with the field and no record.
func testRequestRefusals(t *testing.T, w *world) {
	g := w.tenant(t)
	doc := b64(sampleTXT)
	certs := map[string]certificate{"automatic": g.cert, "otp": g.issue("otp", m{}), "eseal": g.issue("eseal", m{})}
	remote := func(more m) m { return with(m{"sourceType": "remote", "url": "https://documents.example/x"}, more) }
	many := make([]string, 1001)
	for i := range many {
		many[i] = "aGk="
	}
	for _, kind := range kinds {
		c := certs[kind]
		path := "/EU-QES_" + kind
		without := func(name string) m { b := c.body(doc); delete(b, name); return b }
		for _, x := range []struct {
			name string
			body any
			code int
			word string
		}{
			{"no documents", without("inputDocuments"), 615, "inputDocuments"},
			{"null documents", c.body(nil), 615, "inputDocuments"},
			{"an empty list", c.body([]string{}), 615, "inputDocuments"},
			{"an empty string", c.body(""), 615, "inputDocuments[0]"},
			{"a number", c.body(7), 615, "inputDocuments[0]"},
			{"a list in a list", c.body([]any{doc, []string{doc}}), 615, "inputDocuments[1]"},
			{"null in a list", c.body([]any{doc, nil}), 615, "inputDocuments[1]"},
			{"not base64", c.body("!!!"), 615, "inputDocuments[0]"},
			{"the second is not base64", c.body([]any{doc, "%%%"}), 615, "inputDocuments[1]"},
			{"one of a batch is not base64", c.body([]any{doc, "%%%"}, options(m{"batch": true})), 615, "inputDocuments[1]"},
			{"an unknown sourceType", c.body(m{"sourceType": "pigeon", "payload": doc}), 615, "sourceType"},
			{"sourceType no string", c.body(m{"sourceType": 1, "payload": doc}), 615, "inputDocuments[0]"},
			{"no payload", c.body(m{"sourceType": "base64"}), 615, "payload"},
			{"an empty payload", c.body(m{"payload": ""}), 615, "inputDocuments[0]"},
			{"payload not base64", c.body(m{"payload": "***"}), 615, "base64"},
			{"a long name", c.body(m{"payload": doc, "name": strings.Repeat("n", 256)}), 615, "name"},
			{"remote without url", c.body(m{"sourceType": "remote"}), 615, "url"},
			{"method", c.body(remote(m{"method": "put"})), 615, "method"},
			{"headers no list", c.body(remote(m{"headers": "X-Key: v"})), 615, "inputDocuments[0]"},
			{"a header without a colon", c.body(remote(m{"headers": []string{"X-Key"}})), 615, "inputDocuments[0]"},
			{"a header that is ours", c.body(remote(m{"headers": []string{"Host: x"}})), 615, "inputDocuments[0]"},
			{"a digest of a wrong size", c.body(m{"sourceType": "base64Hash", "payload": doc}), 615, "digest"},
			{"a digest of another hash", c.body(b64(make([]byte, 32)), options(m{"hashAlgorithm": "SHA512"})), 615, "SHA512"},
			{"a digest as pades", c.body(b64(make([]byte, 32)), m{"signatureType": "pades"}), 622, "pades"},
			{"a digest as xades", c.body(b64(make([]byte, 32)), m{"signatureType": "xades"}), 622, "xades"},
			{"signatureType", c.body(doc, m{"signatureType": "cosign"}), 622, "signatureType"},
			{"signatureType no string", c.body(doc, m{"signatureType": 1}), 622, "signatureType"},
			{"no username", without("certificateUsername"), 635, "certificateUsername"},
			{"an empty username", c.body(doc, m{"certificateUsername": ""}), 635, "certificateUsername"},
			{"username no string", c.body(doc, m{"certificateUsername": 1}), 635, "certificateUsername"},
			{"no password", without("certificatePassword"), 640, "certificatePassword"},
			{"an empty password", c.body(doc, m{"certificatePassword": ""}), 640, "certificatePassword"},
			{"options no object", c.body(doc, m{"options": "x"}), 625, "options"},
			{"an unknown option", c.body(doc, options(m{"colour": "red"})), 625, "colour"},
			{"documents over the limit", c.body(many), 101, "1000"},
		} {
			status := 422
			if x.code == 101 {
				status = 413
			}
			g.do("POST", path, x.body).refused(t, kind+", "+x.name, status, x.code, x.word)
		}
		if kind == "otp" {
			for _, b := range []m{without("certificateOtp"), c.body(doc, m{"certificateOtp": nil}), c.body(doc, m{"certificateOtp": 123456}), c.body(doc, m{"certificateOtp": ""})} {
				g.do("POST", path, b).refused(t, "no code", 422, 645, "certificateOtp")
			}
		}
		for _, x := range callbackRefusals(w.web.URL) {
			g.do("POST", path, c.body(doc, m{"callback": x.callback})).refused(t, kind+", "+x.name, 422, x.code, x.word)
		}
		for _, text := range []string{`{"a":1,"a":2}`, `{"title":"` + "\xff" + `"}`, `{"inputDocuments":`, `[]`, `"x"`, ``} {
			g.do("POST", path, text).refused(t, text, 400, 100)
		}
		g.do("POST", path, c.body(doc, m{"title": 7})).refused(t, "title", 400, 100, "title")
		g.do("POST", path, c.body(doc, m{"description": m{}})).refused(t, "description", 400, 100, "description")
		for _, mediaType := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "multipart/form-data", "junk"} {
			g.do("POST", path, `{}`, "Content-Type", mediaType).refused(t, mediaType, 415, 103)
		}
		g.do("POST", path, `{}`, "Content-Type", "multipart/form-data; boundary=x").refused(t, "no form", 400, 100)
		text := func(fields m) map[string][]byte {
			all := map[string][]byte{"certificateUsername": []byte("u"), "certificatePassword": []byte("p"), "certificateOtp": []byte("123456")}
			for name, value := range fields {
				all[name] = []byte(value.(string))
			}
			return all
		}
		for _, x := range []struct {
			name   string
			fields m
			status int
			code   int
		}{
			{"no file", m{}, 422, 615},
			{"a text for a file", m{"inputDocuments": "https://example.org/x.pdf"}, 422, 615},
			{"options", m{"options": "{"}, 422, 625},
			{"an unknown option", m{"options": `{"page":"x"}`}, 422, 625},
			{"callback", m{"callback": "x"}, 422, 704},
			{"type", m{"signatureType": "x"}, 422, 622},
			{"no UTF-8", m{"title": "\xff"}, 400, 100},
		} {
			files := map[string][]byte{"inputDocuments": []byte("a")}
			if x.code == 615 {
				files = nil
			}
			contentType, body := multipartOf(text(x.fields), files)
			g.do("POST", path, body.String(), "Content-Type", contentType).refused(t, kind+", form, "+x.name, x.status, x.code)
		}
		g.do("POST", path, `{}`, "Content-Encoding", "gzip").refused(t, "gzip", 415, 103)
		g.do("POST", path, c.body(doc), "Authorization", "").refused(t, "no token", 401, 125)
	}
	if a := g.ok(nil, "GET", "/signatures", nil); string(a.Data) != "[]" {
		t.Errorf("refused requests left records: %s", a.Data)
	}
}

// Addresses that are never reached: what can be seen without a look-up is
// refused at once, a name by the address that is dialled.
func testGuardedAddresses(t *testing.T, w *world) {
	g := w.sandboxed(t)
	hosts := []string{
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "localhost", "LOCALHOST.", "a.localhost", "0.0.0.0", "0", "10.0.0.1", "172.16.0.1",
		"192.168.0.1", "169.254.169.254", "100.64.0.1", "192.0.2.1", "224.0.0.1", "255.255.255.255",
		"[::1]", "[::]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fc00::1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "127.0.0.1.",
	}
	for _, h := range hosts {
		url := "http://" + h + ":9/x"
		g.no(422, 706, "POST", "/EU-QES_automatic", g.body(b64(sampleTXT), m{"callback": m{"url": url}}), "callback.url")
		g.no(422, 625, "POST", "/EU-QES_automatic", g.body(b64(sampleTXT), options(m{"timestampUrl": url})), "timestampUrl")
		g.no(422, 625, "POST", "/EU-QES_automatic", g.body(b64(sampleTXT), options(m{"signerImage": m{"imageUrl": url}})), "imageUrl")
	}
	refused := append([]string{"ftp://documents.example/x", "file:///etc/passwd", "gopher://documents.example/"}, "http://"+hosts[0]+":9/x", "http://"+hosts[18]+"/x")
	for _, url := range refused {
		g.do("POST", "/EU-QES_automatic", g.body(m{"sourceType": "remote", "url": url})).wrong(t, 117)
	}
	// Names are judged by what is dialled.
	nowhere := "https://nowhere.invalid/x"
	g.do("POST", "/EU-QES_automatic", g.body(nowhere)).wrong(t, 117)
	g.do("POST", "/EU-QES_automatic", g.body(b64(sampleTXT), options(m{"level": "T", "timestampUrl": nowhere}))).wrong(t, 114)
	g.do("POST", "/EU-QES_automatic", g.body(b64(samplePDF), options(m{"signerImage": m{"imageUrl": nowhere}}))).wrong(t, 117)
	// Redirects are not followed; what is no document is none.
	for _, path := range []string{"/moved", "/broken", "/empty", "/nothing", "/locked", "/header"} {
		g.do("POST", "/EU-QES_automatic", g.body(w.web.URL+path)).wrong(t, 117)
	}
	if len(w.web.visits("/moved")) == 0 || len(w.web.visits("/moved/target.pdf")) != 0 {
		t.Error("a redirect was followed")
	}
	// The server's own authority is answered in process, under any node.
	for _, level := range []string{"T", "LT"} {
		if r := g.sign(b64(sampleTXT), options(m{"level": level, "timestampUrl": w.public + "/tsa"})); r.State != "DONE" {
			t.Errorf("its own authority: %s", r.says())
		}
	}
	var report struct{ Message string }
	a := g.do("POST", "/EU-QES_automatic", g.body(w.web.URL+"/broken"))
	if err := json.Unmarshal(a.Body, &report); err != nil || !strings.Contains(report.Message, "inputDocuments[0]") {
		t.Errorf("the message names no document: %s", a.Body)
	}
}
