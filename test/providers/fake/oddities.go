package fake

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// Oddity is something that can be switched on: a way to write that is allowed, a
// refusal, or a fault.
type Oddity struct {
	Name  string
	Kind  string // of the service; "": both
	At    string // operations whose calls it is about
	From  int    // the call of those from which on it is; 0 and 1: the first
	Times int    // how many calls; 0: all
	// Want is what the contract lets a signature end as: DONE, or the code of the
	// record; words where it leaves open which.
	Want string
	Docs int  // documents of the request; 0: one
	OTP  bool // with a code
	Take bool // it is on while the key is taken into use, too; "refused" then

	style  style
	before func(*Service, http.ResponseWriter, *http.Request, *call) bool
	after  func(*Service, *call, *answer) *answer
}

// Of are the oddities of a kind of service.
func Of(kind string) (all []Oddity) {
	for _, o := range oddities() {
		if o.Kind == "" || o.Kind == kind {
			all = append(all, o)
		}
	}
	return all
}

// Switch switches one on.
func (s *Service) Switch(o Oddity) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.odd, s.seen = &o, 0
}

const (
	every = "listCert signhash opensession closesession getCertificate signPkcs1 signPkcs1List getOTPList openSession closeSession"
	signs = "signhash signPkcs1 signPkcs1List"
	reads = "listCert getCertificate"
	opens = "opensession openSession"
)

func refuse(a *answer) func(*Service, *call, *answer) *answer {
	return func(*Service, *call, *answer) *answer { return a }
}

// raw answers with a status and a body before anything is signed.
func raw(status int, media, body string, header ...string) func(*Service, http.ResponseWriter, *http.Request, *call) bool {
	return func(_ *Service, w http.ResponseWriter, _ *http.Request, _ *call) bool {
		w.Header().Set("Content-Type", media)
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return true
	}
}

// signed lets the service sign, and then something become of the answer.
func signed(then func(http.ResponseWriter, *http.Request, []byte)) func(*Service, http.ResponseWriter, *http.Request, *call) bool {
	return func(s *Service, w http.ResponseWriter, r *http.Request, c *call) bool {
		s.mu.Lock()
		a := s.answer(c)
		s.mu.Unlock()
		rec := httptest.NewRecorder()
		s.write(rec, r, c, a, style{})
		then(w, r, rec.Body.Bytes())
		return true
	}
}

// values changes the values of an answer.
func values(change func(s *Service, c *call, v [][]byte) [][]byte) func(*Service, *call, *answer) *answer {
	return func(s *Service, c *call, a *answer) *answer {
		if a.fault != nil || len(a.fields) == 0 {
			return a
		}
		if s.Kind == SWS {
			var v [][]byte
			for _, f := range a.fields {
				v = append(v, f.binary)
			}
			out := &answer{}
			for _, one := range change(s, c, v) {
				out.fields = append(out.fields, field{name: "return", binary: one})
			}
			return out
		}
		var kids []field
		for _, f := range a.fields[0].kids {
			if f.name != "signature" {
				kids = append(kids, f)
				continue
			}
			for _, one := range change(s, c, [][]byte{f.binary}) {
				kids = append(kids, field{name: "signature", binary: one})
			}
		}
		return returns(kids...)
	}
}

// unreadable puts a text where binary values were.
func unreadable(words string) func(*Service, *call, *answer) *answer {
	var all func([]field) []field
	all = func(list []field) (out []field) {
		for _, f := range list {
			if f.binary != nil {
				f = field{name: f.name, text: words}
			}
			f.kids = all(f.kids)
			out = append(out, f)
		}
		return out
	}
	return func(_ *Service, _ *call, a *answer) *answer {
		a.fields = all(a.fields)
		return a
	}
}

func whole(change func(string) string) style {
	return style{whole: func(b []byte) []byte { return []byte(change(string(b))) }}
}

func dtd(decl string) style {
	return whole(func(s string) string { return "<!DOCTYPE Envelope [" + decl + "]>" + s })
}

// hijack writes bytes to the connection and ends it.
func hijack(w http.ResponseWriter, head string, body []byte) {
	c, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = buf.WriteString(head)
	_, _ = buf.Write(body)
	_ = buf.Flush()
	c.Close()
}

// arssCode is a refusal of ARSS in signhash.
func arssCode(number, words, want string) Oddity {
	return Oddity{Name: "code-" + number, Kind: ARSS, At: signs, Want: want, after: refuse(code(number, words))}
}

func swsError(number int, words, want string) Oddity {
	return Oddity{Name: fmt.Sprintf("error-%d", number), Kind: SWS, At: signs, Want: want, after: refuse(no(number, words))}
}

func oddities() []Oddity {
	otherKey, _ := rsa.GenerateKey(rand.Reader, 2048)
	deep := strings.Repeat("<a>", 5000) + strings.Repeat("</a>", 5000)
	all := []Oddity{
		// Ways to write that are all the same.
		{Name: "prefix-S", At: every, Want: "DONE", style: style{soap: "S", op: "ns1"}},
		{Name: "prefix-soapenv", At: every, Want: "DONE", style: style{soap: "soapenv", op: "q0"}},
		{Name: "prefixes-crossed", At: every, Want: "DONE", style: style{soap: "ns2", op: "soap"}},
		{Name: "no-prefixes", At: every, Want: "DONE", style: style{bare: true}},
		{Name: "base64-lines", At: every, Want: "DONE", style: style{lines: "\n"}},
		{Name: "base64-lines-entities", At: every, Want: "DONE", style: style{lines: "&#13;\r\n"}},
		{Name: "base64-indented", At: every, Want: "DONE", style: style{lines: "\n\t   "}},
		{Name: "mtom", At: every, Want: "DONE", style: style{mtom: "xop"}},
		{Name: "mtom-escaped", At: every, Want: "DONE", style: style{mtom: "escaped"}},
		{Name: "mtom-inline", At: every, Want: "DONE", style: style{mtom: "inline"}},
		{Name: "mtom-root-last", At: every, Want: "DONE", style: style{mtom: "last"}},
		{Name: "other-order", Kind: ARSS, At: every, Want: "DONE", style: style{reversed: true}},
		{Name: "other-order", Kind: SWS, At: "getOTPList", Want: "DONE", OTP: true, style: style{reversed: true}},
		{Name: "soap-header", At: every, Want: "DONE", style: style{header: true}},
		{Name: "comments", At: every, Want: "DONE", style: style{comments: true}},
		{Name: "more-elements", At: every, Want: "DONE", style: style{extra: true}},
		{Name: "attributes", At: every, Want: "DONE", style: style{attributes: true}},
		{Name: "cdata", At: every, Want: "DONE", style: style{cdata: true}},
		{Name: "declaration", At: every, Want: "DONE", style: style{encoding: "UTF-8"}},
		{Name: "byte-order-mark", At: every, Want: "DONE 121", style: style{bom: true}},
		{Name: "indented", At: every, Want: "DONE", style: style{indent: true}},
		{Name: "chunked", At: every, Want: "DONE", style: style{chunked: true}},
		{Name: "closing", At: every, Want: "DONE", style: style{closing: true}},
		{Name: "plain-media-type", At: every, Want: "DONE 121", style: style{mediaType: "application/octet-stream"}},
		{Name: "latin-1", At: signs, Want: "DONE 121", style: style{encoding: "ISO-8859-1"}},
		{Name: "pem-inside", At: reads, Want: "DONE", Take: true, after: func(_ *Service, _ *call, a *answer) *answer {
			return mapBinary(a, func(b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b}) })
		}},
		{Name: "bare-digests", At: "nothing", Want: "DONE 121"},

		// Refusals.
		{Name: "fault-client", At: signs, Want: "121", after: refuse(fault("Client", "Unmarshalling Error: unexpected element", 0, ""))},
		{Name: "fault-client-200", At: signs, Want: "121", after: refuse(&answer{fault: &faultOf{code: "Client", words: "no"}, status: 200})},
		{Name: "fault-server", At: signs, Want: "122 121", after: refuse(fault("Server", "Could not send Message.", 0, ""))},
		{Name: "fault-server-200", At: signs, Want: "122 121", after: refuse(&answer{fault: &faultOf{code: "Server", words: "no"}, status: 200})},
		{Name: "repeats-secrets", At: signs, Want: "121", after: repeats("Client")},
		{Name: "repeats-secrets-otp", At: signs, OTP: true, Want: "121", after: repeats("Client")},
		{Name: "repeats-secrets-session", Kind: ARSS, At: signs, Docs: 2, OTP: true, Want: "121", after: repeats("Client")},
		{Name: "repeats-secrets-server", At: signs, Want: "122 121", after: repeats("Server")},
		{Name: "repeats-secrets-in-reading", At: reads, Want: "121", after: repeats("Server")},
		{Name: "fault-in-reading", At: reads, Want: "121", after: refuse(fault("Server", "Could not send Message.", 0, ""))},
		{Name: "404", At: signs, Want: "121 122", before: raw(404, "text/html", "<html>not here</html>")},
		{Name: "403", At: signs, Want: "121 122", before: raw(403, "text/html", "<html>no</html>")},
		{Name: "redirect", At: signs, Want: "121 122", before: raw(302, "text/html", "", "Location", "/elsewhere")},
		{Name: "redirect-307", At: signs, Want: "121 122", before: raw(307, "text/html", "", "Location", "/elsewhere")},

		// Whether it was signed is unknown.
		{Name: "break-before", At: signs, Want: "122", before: func(_ *Service, w http.ResponseWriter, _ *http.Request, _ *call) bool { cut(w); return true }},
		{Name: "break-after", At: signs, Want: "122", before: signed(func(w http.ResponseWriter, _ *http.Request, _ []byte) { cut(w) })},
		{Name: "time-out", At: signs, Want: "122", before: signed(func(_ http.ResponseWriter, r *http.Request, _ []byte) { wait(r.Context()) })},
		{Name: "cut-body", At: signs, Want: "122", before: signed(func(w http.ResponseWriter, _ *http.Request, b []byte) {
			hijack(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n", len(b)), b[:len(b)/2])
		})},
		{Name: "cut-body-unframed", At: signs, Want: "122", before: signed(func(w http.ResponseWriter, _ *http.Request, b []byte) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nConnection: close\r\n\r\n", b[:len(b)/2])
		})},
		{Name: "cut-chunks", At: signs, Want: "122", before: signed(func(w http.ResponseWriter, _ *http.Request, b []byte) {
			hijack(w, "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n", fmt.Appendf(nil, "%x\r\n%s", len(b), b[:len(b)/2]))
		})},
		{Name: "cut-fault", At: signs, Want: "122", before: signed(func(w http.ResponseWriter, _ *http.Request, b []byte) {
			hijack(w, fmt.Sprintf("HTTP/1.1 500 Internal Server Error\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n", len(b)), b[:len(b)/2])
		})},
		{Name: "drip", At: signs, Want: "122", before: signed(func(w http.ResponseWriter, r *http.Request, b []byte) {
			w.Header().Set("Content-Type", "text/xml")
			for i := range b {
				if _, err := w.Write(b[i : i+1]); err != nil || http.NewResponseController(w).Flush() != nil {
					return
				}
				select {
				case <-r.Context().Done():
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		})},
		{Name: "500-empty", At: signs, Want: "122", before: raw(500, "text/xml", "")},
		{Name: "500-page", At: signs, Want: "122", before: raw(500, "text/html", "<html><body>Internal error</body></html>")},
		{Name: "500-answer", At: signs, Want: "122 121", after: func(_ *Service, _ *call, a *answer) *answer { a.status = 500; return a }},
		{Name: "502", At: signs, Want: "122", before: raw(502, "text/html", "<html>bad gateway</html>")},
		{Name: "503", At: signs, Want: "122", before: raw(503, "text/plain", "busy")},
		{Name: "503-retry-after", At: signs, Want: "122 121", before: raw(503, "text/plain", "busy", "Retry-After", "1")},

		// Values.
		{Name: "no-value", At: signs, Want: "121 122", after: values(func(*Service, *call, [][]byte) [][]byte { return nil })},
		{Name: "empty-value", At: signs, Want: "121 122", after: unreadable("")},
		{Name: "unreadable-value", At: signs, Want: "121 122", after: unreadable("not base64 at all!")},
		{Name: "short-value", At: signs, Want: "121 122", after: values(func(_ *Service, _ *call, v [][]byte) [][]byte { v[0] = v[0][:100]; return v })},
		{Name: "wrong-value", At: signs, Want: "121 122", after: values(func(_ *Service, _ *call, v [][]byte) [][]byte { v[0] = bytes.Clone(v[0]); v[0][9] ^= 1; return v })},
		{Name: "other-keys-value", At: signs, Want: "121 122", after: values(func(s *Service, c *call, v [][]byte) [][]byte {
			v[0], _ = rsa.SignPKCS1v15(nil, otherKey, crypto.SHA256, s.digests(c)[0])
			return v
		})},
		{Name: "other-digests-value", At: signs, Want: "121 122", after: values(func(s *Service, c *call, v [][]byte) [][]byte {
			sum := sha256.Sum256(v[0])
			s.mu.Lock()
			defer s.mu.Unlock()
			for _, d := range s.devices {
				if key, ok := d.Actor.Key.(*rsa.PrivateKey); ok && rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, s.digests(c)[0], v[0]) == nil {
					v[0], _ = rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
					break
				}
			}
			return v
		})},
		{Name: "value-twice", At: signs, Want: "121 122", after: values(func(_ *Service, _ *call, v [][]byte) [][]byte { return append(v, v...) })},
		{Name: "too-few", Kind: SWS, At: signs, Docs: 3, Want: "121 122", after: values(func(_ *Service, _ *call, v [][]byte) [][]byte { return v[1:] })},
		{Name: "swapped", Kind: SWS, At: signs, Docs: 2, Want: "121 DONE", after: values(func(_ *Service, _ *call, v [][]byte) [][]byte {
			if len(v) > 1 {
				v[0], v[1] = v[1], v[0]
			}
			return v
		})},

		// What no XML of ours may have.
		{Name: "dtd", At: signs, Want: "121 122", style: dtd("")},
		{Name: "dtd-in-reading", At: reads, Want: "121", style: dtd("")},
		{Name: "external-entity", At: signs, Want: "121 122", style: dtd(`<!ENTITY x SYSTEM "file:///etc/hostname">`)},
		{Name: "entities", At: signs, Want: "121 122", style: dtd(`<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">`)},
		{Name: "unknown-entity", At: signs, Want: "121 122", style: whole(func(s string) string { return strings.Replace(s, "</", "&nbsp;</", 1) })},
		{Name: "depth", At: signs, Want: "121 122", style: whole(func(s string) string { return strings.Replace(s, "</", deep+"</", 1) })},
		{Name: "size", At: signs, Want: "121 122", style: whole(func(s string) string { return s + strings.Repeat(" ", 20<<20) })},
		{Name: "not-xml", At: signs, Want: "121 122", before: raw(200, "text/xml", "what is this?")},
		{Name: "json", At: signs, Want: "121 122", before: raw(200, "application/json", `{"signature":"AAAA"}`)},
		{Name: "page", At: signs, Want: "121 122", before: raw(200, "text/html", "<html><body><p>Maintenance</p></body></html>")},
		{Name: "empty", At: signs, Want: "121 122", before: raw(200, "text/xml", "")},
		{Name: "other-operation", At: signs, Want: "121 122", style: whole(func(s string) string {
			return strings.NewReplacer("signhashResponse", "pingResponse", "signPkcs1Response", "pingResponse", "signPkcs1ListResponse", "pingResponse").Replace(s)
		})},
		{Name: "other-namespace", At: signs, Want: "121 122", style: whole(func(s string) string {
			return strings.NewReplacer("http://arubasignservice.arubapec.it/", "http://example.org/", "http://service.ws.nam/", "http://example.org/").Replace(s)
		})},
		{Name: "two-answers", At: signs, Want: "121 122", style: whole(func(s string) string { return s + s })},
		{Name: "mtom-part-missing", At: signs, Want: "121 122", style: style{mtom: "xop", whole: func(b []byte) []byte {
			return bytes.ReplaceAll(b, []byte("Content-ID: <0-ab"), []byte("Content-ID: <9-ab"))
		}}},
		{Name: "mtom-boundary-missing", At: signs, Want: "121 122", style: style{mtom: "xop", mediaType: `multipart/related; type="application/xop+xml"`}},
		{Name: "mtom-cut", At: signs, Want: "121 122", style: style{mtom: "xop", whole: func(b []byte) []byte { return b[:len(b)-60] }}},

		// Before anything is signed.
		{Name: "reading-breaks", At: reads, Want: "121", before: func(_ *Service, w http.ResponseWriter, _ *http.Request, _ *call) bool { cut(w); return true }},
		{Name: "reading-times-out", At: reads, Want: "121", before: func(_ *Service, _ http.ResponseWriter, r *http.Request, _ *call) bool { wait(r.Context()); return true }},
		{Name: "reading-500", At: reads, Want: "121", before: raw(500, "text/html", "no")},
		{Name: "opening-breaks", Kind: ARSS, At: opens, Docs: 3, OTP: true, Want: "121", before: func(_ *Service, w http.ResponseWriter, _ *http.Request, _ *call) bool { cut(w); return true }},
		{Name: "no-certificate", At: reads, Want: "121 112", after: unreadable("")},
		{Name: "garbage-certificate", At: reads, Want: "121 112", after: unreadable(base64.StdEncoding.EncodeToString([]byte("no certificate")))},
	}
	all = append(all, oddCodes()...)
	return all
}

// repeats echoes everything that was sent, which must not be disclosed.
func repeats(code string) func(*Service, *call, *answer) *answer {
	return func(_ *Service, c *call, _ *answer) *answer { return fault(code, "no: "+c.body.texts(), 0, "") }
}

func (n *node) texts() string {
	all := n.text
	for _, k := range n.kids {
		all += " " + k.texts()
	}
	return all
}

// oddCodes are the refusals with a provider's code.
func oddCodes() []Oddity {
	return []Oddity{
		arssCode("0001", "Errore generico", "121"), arssCode("0002", "Parametri non validi", "121"), arssCode("0003", "Invalid User Credentials", "110"),
		arssCode("0004", "PIN errato", "110"), arssCode("0005", "Trasporto", "121"), arssCode("0008", "Certificato scaduto", "112"),
		arssCode("0009", "Delegato non valido", "110"), arssCode("0010", "Utente sospeso", "111"), arssCode("0099", "Chissà & <altro>", "121"),
		{Name: "code-0003-with-otp", Kind: ARSS, At: signs + " " + opens, OTP: true, Want: "116", after: func(_ *Service, c *call, _ *answer) *answer {
			if c.op == "opensession" {
				return text("KO-0003")
			}
			return code("0003", "Invalid User Credentials")
		}},
		{Name: "code-and-no-status", Kind: ARSS, At: signs, Want: "121", after: refuse(returns(field{name: "return_code", text: "0007"}))},
		{Name: "status-and-no-code", Kind: ARSS, At: signs, Want: "121", after: refuse(returns(field{name: "status", text: "KO"}, field{name: "description", text: "no"}))},
		{Name: "ok-with-a-bad-code", Kind: ARSS, At: signs, Want: "110", after: func(_ *Service, _ *call, a *answer) *answer {
			for i, f := range a.fields[0].kids {
				if f.name == "return_code" {
					a.fields[0].kids[i].text = "0004"
				}
			}
			return a
		}},
		{Name: "ok-without-code", Kind: ARSS, At: signs, Want: "DONE", after: func(_ *Service, _ *call, a *answer) *answer {
			a.fields[0].kids = withoutField(a.fields[0].kids, "return_code")
			return a
		}},
		{Name: "list-ko", Kind: ARSS, At: reads, Want: "121", after: refuse(returns(field{name: "description", text: "Servizio non disponibile"}, field{name: "status", text: "KO"}))},
		{Name: "list-ko-credentials", Kind: ARSS, At: reads, Want: "110", after: refuse(returns(field{name: "description", text: "Invalid User Credentials"}, field{name: "status", text: "KO"}))},
		{Name: "list-two", Kind: ARSS, At: reads, Want: "DONE", Take: true, after: func(s *Service, _ *call, a *answer) *answer {
			if other, err := s.authentication(); err == nil {
				login := field{name: "app1", kids: []field{{name: "id", text: "AA0"}, {name: "value", binary: other.Raw}}}
				a.fields[0].kids = append([]field{login}, a.fields[0].kids...)
			}
			return a
		}},
		{Name: "list-app2", Kind: ARSS, At: reads, Want: "DONE", Take: true, after: func(_ *Service, _ *call, a *answer) *answer {
			a.fields[0].kids[0].name = "app2"
			return a
		}},
		{Name: "session-refused", Kind: ARSS, At: opens, Docs: 3, Want: "121", after: refuse(text("KO-0001"))},
		{Name: "session-refused-credentials", Kind: ARSS, At: opens, Docs: 3, Want: "110", after: refuse(text("KO-0004"))},
		{Name: "session-refused-otp", Kind: ARSS, At: opens, Docs: 3, OTP: true, Want: "116", after: refuse(text("KO-0003"))},
		{Name: "session-empty", Kind: ARSS, At: opens, Docs: 3, Want: "121", after: refuse(text(""))},
		{Name: "closing-fails", Kind: ARSS, At: "closesession", Docs: 3, Want: "DONE", after: refuse(text("KO-0001"))},
		{Name: "third-of-five-refused", Kind: ARSS, At: signs, From: 3, Times: 1, Docs: 5, Want: "4 of 5", after: refuse(code("0001", "Errore generico"))},
		{Name: "third-of-five-silent", Kind: ARSS, At: signs, From: 3, Times: 1, Docs: 5, Want: "4 of 5", before: signed(func(w http.ResponseWriter, _ *http.Request, _ []byte) { cut(w) })},

		swsError(1, "Generic error", "121"), swsError(4, "Wrong username or password", "110"), swsError(69, "Session expired", "121"),
		swsError(777, "Dispositivo bloccato & <altro>", "121"),
		{Name: "error-4-in-reading", Kind: SWS, At: reads, Want: "110", after: refuse(no(4, "Wrong credentials"))},
		{Name: "error-44", Kind: SWS, At: signs + " " + opens, OTP: true, Want: "116", after: refuse(no(44, "Wrong OTP"))},
		{Name: "error-1001", Kind: SWS, At: signs + " " + opens, OTP: true, Want: "116", after: refuse(no(1001, "OTP device not found"))},
		{Name: "error-4-200", Kind: SWS, At: signs, Want: "110", after: func(*Service, *call, *answer) *answer { a := no(4, "Wrong credentials"); a.status = 200; return a }},
		{Name: "error-4-as-client", Kind: SWS, At: signs, Want: "110", after: func(*Service, *call, *answer) *answer {
			a := no(4, "Wrong credentials")
			a.fault.code = "Client"
			return a
		}},
		{Name: "error-no-number", Kind: SWS, At: signs, Want: "121 122", style: whole(func(s string) string { return strings.ReplaceAll(s, ">4<", ">four<") }), after: refuse(no(4, "Wrong"))},
	}
}

func withoutField(list []field, name string) (out []field) {
	for _, f := range list {
		if f.name != name {
			out = append(out, f)
		}
	}
	return out
}

// mapBinary changes every binary value of an answer.
func mapBinary(a *answer, change func([]byte) []byte) *answer {
	var all func([]field) []field
	all = func(list []field) (out []field) {
		for _, f := range list {
			if f.binary != nil {
				f.binary = change(f.binary)
			}
			f.kids = all(f.kids)
			out = append(out, f)
		}
		return out
	}
	a.fields = all(a.fields)
	return a
}
