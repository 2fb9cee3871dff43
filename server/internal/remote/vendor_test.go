package remote_test

import (
	"bytes"
	"compress/gzip"
	"crypto"
	"crypto/rsa"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/server/internal/arss"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/soap"
	"rogito.dev/rogito/server/internal/sws"
)

// vendor is a service that writes its answers by hand: no part of it is shared with
// the one of test/providers. An answer is made of a value, and then written in some
// way.
type vendor struct {
	kind string
	who  *adestest.Actor
	way  way
}

// way is how a vendor answers a call that signs.
type way struct {
	name string
	want string
	kind string // arss, sws; empty: both
	// body is the text of the envelope, %s the value in base64; empty: that of the kind.
	body   string
	status int
	media  string
	text   func(string) []byte // of the whole envelope; nil: UTF-8
	whole  func(w http.ResponseWriter, envelope string, value []byte)
}

var (
	operation = regexp.MustCompile(`<s:(\w+) `)
	hashed    = regexp.MustCompile(`<hash>([^<]+)</hash>`)
)

const (
	arssSpace = "http://arubasignservice.arubapec.it/"
	swsSpace  = "http://service.ws.nam/"
	old       = "http://schemas.xmlsoap.org/soap/envelope/"
	newer     = "http://www.w3.org/2003/05/soap-envelope"
)

// in puts the answer of an operation into an envelope.
func (v *vendor) in(op, inner string) string {
	space := map[string]string{"arss": arssSpace, "sws": swsSpace}[v.kind]
	return `<env:Envelope xmlns:env="` + old + `"><env:Body><m:` + op + `Response xmlns:m="` + space + `">` + inner + `</m:` + op + `Response></env:Body></env:Envelope>`
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, _ := io.ReadAll(r.Body)
	op := string(operation.FindSubmatch(request)[1])
	certificate := base64.StdEncoding.EncodeToString(v.who.Certificate.Raw)
	switch op {
	case "listCert":
		fmt.Fprint(w, v.in(op, "<return><app1><id>AS0</id><value>"+certificate+"</value></app1><status>OK</status></return>"))
		return
	case "getCertificate":
		fmt.Fprint(w, v.in(op, "<return>"+certificate+"</return>"))
		return
	}
	digest, _ := base64.StdEncoding.DecodeString(string(hashed.FindSubmatch(request)[1]))
	value, _ := rsa.SignPKCS1v15(nil, v.who.Key.(*rsa.PrivateKey), crypto.SHA256, digest)
	shown := base64.StdEncoding.EncodeToString(value)
	text := v.way.body
	switch {
	case text != "":
	case v.kind == "arss":
		text = v.in(op, "<return><description>è fatta</description><return_code>0000</return_code><signature>VALUE</signature><status>OK</status></return>")
	default:
		text = v.in(op, "<return>VALUE</return>")
	}
	text = strings.NewReplacer("VALUE", shown, "OP", op, "SPACE", map[string]string{"arss": arssSpace, "sws": swsSpace}[v.kind]).Replace(text)
	w.Header().Set("Content-Type", "text/xml; charset=utf-8")
	if v.way.media != "" {
		w.Header().Set("Content-Type", v.way.media)
	}
	if v.way.whole != nil {
		v.way.whole(w, text, value)
		return
	}
	if v.way.status != 0 {
		w.WriteHeader(v.way.status)
	}
	if v.way.text != nil {
		_, _ = w.Write(v.way.text(text))
		return
	}
	_, _ = io.WriteString(w, text)
}

func latin1(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

func wide(order binary.AppendByteOrder, mark bool) func(string) []byte {
	return func(s string) (b []byte) {
		if mark {
			b = order.AppendUint16(b, 0xfeff)
		}
		for _, u := range utf16.Encode([]rune(s)) {
			b = order.AppendUint16(b, u)
		}
		return b
	}
}

// parts writes an answer by MTOM, with a Content-ID and an address as they come.
func parts(media, boundary, id, href, transfer string) func(http.ResponseWriter, string, []byte) {
	return func(w http.ResponseWriter, envelope string, value []byte) {
		envelope = strings.Replace(envelope, base64.StdEncoding.EncodeToString(value), ` <x:Include href="`+href+`" xmlns:x="http://www.w3.org/2004/08/xop/include"> </x:Include> `, 1)
		if transfer == "base64" {
			value = []byte(base64.StdEncoding.EncodeToString(value) + "\r\n")
		}
		w.Header().Set("Content-Type", media)
		fmt.Fprintf(w, "--%s\r\nContent-Type: application/xop+xml; charset=utf-8; type=\"text/xml\"\r\nContent-ID:\r\n <root>\r\n\r\n%s\r\n", boundary, envelope)
		fmt.Fprintf(w, "--%s\r\ncontent-type: application/octet-stream\r\ncontent-transfer-encoding: %s\r\ncontent-id: %s\r\n\r\n%s\r\n--%s--\r\n", boundary, transfer, id, value, boundary)
	}
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.Bytes()
}

func fault12(code, detail string) string {
	return `<e:Envelope xmlns:e="` + newer + `"><e:Body><e:Fault><e:Code><e:Value>e:` + code + `</e:Value></e:Code><e:Reason><e:Text xml:lang="it">così no</e:Text></e:Reason>` + detail + `</e:Fault></e:Body></e:Envelope>`
}

func fault11(code, detail string) string {
	return `<e:Envelope xmlns:e="` + old + `"><e:Body><e:Fault><faultcode>e:` + code + `</faultcode><faultstring>così no</faultstring>` + detail + `</e:Fault></e:Body></e:Envelope>`
}

const (
	mtom     = `multipart/related; type="application/xop+xml"; boundary="b"; start="<root>"`
	codeKO   = `<E:Envelope xmlns:E='http://schemas.xmlsoap.org/soap/envelope/'><E:Body><OPResponse xmlns='SPACE'><return><description>Utente già bloccato</description><return_code> 0010 </return_code><status>ko</status></return></OPResponse></E:Body></E:Envelope>`
	wrongPIN = `<WSException xmlns="http://service.ws.nam/"><error> 4 </error><message>credenziali errate, perciò no</message></WSException>`
)

func ways() []way {
	return []way{
		{name: "plain", want: "DONE"},
		{name: "namespace declared elsewhere", want: "DONE", kind: "sws", body: `<a:Envelope xmlns:a='` + old + `' xmlns:b='SPACE'><a:Body><b:OPResponse><return>VALUE</return></b:OPResponse></a:Body></a:Envelope>`},
		{name: "all in the namespace", want: "DONE", kind: "sws", body: `<Envelope xmlns='` + old + `'><Body><OPResponse xmlns='SPACE'><return>VALUE</return></OPResponse></Body></Envelope>`},
		{name: "sections and space", want: "DONE", kind: "arss", body: "\n\n<?xml version='1.0'?>\n<E:Envelope xmlns:E='" + old + "'>\n<E:Header/>\n<E:Body>\n<n:OPResponse xmlns:n='SPACE'>\n<return>\n <signature>\n<![CDATA[VALUE]]>\n</signature>\n<status> <![CDATA[OK]]> </status>\n<return_code>\n0000\n</return_code>\n</return>\n</n:OPResponse>\n</E:Body>\n</E:Envelope>\n\n"},
		{name: "byte order mark", want: "DONE", text: func(s string) []byte { return []byte("\ufeff" + s) }},
		{name: "ISO-8859-1 by declaration", want: "DONE", media: "text/xml", text: func(s string) []byte { return latin1(`<?xml version="1.0" encoding="ISO-8859-1"?>` + s) }},
		{name: "ISO-8859-1 by header", want: "DONE", media: "text/xml;charset=ISO-8859-1", text: latin1},
		{name: "UTF-16, little end first", want: "DONE", media: "text/xml; charset=UTF-16", text: wide(binary.LittleEndian, true)},
		{name: "UTF-16, big end first", want: "DONE", media: "text/xml; charset=utf-16", text: wide(binary.BigEndian, true)},
		{name: "UTF-16 without a mark", want: "DONE", media: "text/xml", text: func(s string) []byte {
			return wide(binary.BigEndian, false)(`<?xml version="1.0" encoding="UTF-16"?>` + s)
		}},
		{name: "gzip", want: "DONE", whole: func(w http.ResponseWriter, envelope string, _ []byte) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(gzipped(envelope))
		}},
		{name: "gzip in pieces", want: "DONE", whole: func(w http.ResponseWriter, envelope string, _ []byte) {
			w.Header().Set("Content-Encoding", "gzip")
			for c := range slices.Chunk(gzipped(envelope), 50) {
				_, _ = w.Write(c)
				_ = http.NewResponseController(w).Flush()
			}
		}},
		{name: "gzip cut short", want: "122", whole: func(w http.ResponseWriter, envelope string, _ []byte) {
			w.Header().Set("Content-Encoding", "gzip")
			b := gzipped(envelope)
			_, _ = w.Write(b[:len(b)/2])
		}},
		{name: "gzip of too much", want: "121", whole: func(w http.ResponseWriter, envelope string, _ []byte) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(gzipped(envelope + strings.Repeat(" ", 64<<20)))
		}},
		{name: "no media type", want: "DONE", whole: func(w http.ResponseWriter, envelope string, _ []byte) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, envelope)
		}},
		{name: "an envelope of SOAP 1.2", want: "DONE", kind: "sws", media: "application/soap+xml", body: `<e:Envelope xmlns:e="` + newer + `"><e:Body><q:OPResponse xmlns:q="SPACE"><return>VALUE</return></q:OPResponse></e:Body></e:Envelope>`},

		{name: "parts", want: "DONE", whole: parts(mtom, "b", "<v@x>", "cid:v@x", "binary")},
		{name: "parts without brackets", want: "DONE", whole: parts(mtom, "b", "v@x", "cid:v@x", "binary")},
		{name: "parts with escapes on one side", want: "DONE", whole: parts(mtom, "b", "<urn:v+1@x y>", "cid:urn%3Av+1%40x%20y", "binary")},
		{name: "parts with escapes on both sides", want: "DONE", whole: parts(mtom, "b", "<v%40x>", "cid:v%40x", "binary")},
		{name: "parts with what is no escape", want: "DONE", whole: parts(mtom, "b", "<100%>", "cid:100%", "binary")},
		{name: "parts, capitals", want: "DONE", whole: parts("Multipart/Related; Boundary=b; TYPE=\"text/xml\"", "b", "<v>", "CID:v", "Binary")},
		{name: "parts in base64", want: "DONE", whole: parts(mtom, "b", "<v>", "cid:v", "base64")},
		{name: "parts, the boundary not quoted", want: "DONE", whole: parts("multipart/related; type=text/xml; boundary=----=_Part_1_2:3", "----=_Part_1_2:3", "<v>", "cid:v", "binary")},
		{name: "parts, no such part", want: "121", whole: parts(mtom, "b", "<v>", "cid:w", "binary")},
		{name: "parts, another address", want: "121", whole: parts(mtom, "b", "<v>", "http://127.0.0.1/v", "binary")},
		{name: "parts, no root", want: "121", whole: parts(strings.Replace(mtom, "<root>", "<tree>", 1), "b", "<v>", "cid:v", "binary")},

		{name: "a code, in ISO-8859-1", want: "111", kind: "arss", media: "text/xml; charset=iso-8859-1", body: codeKO, text: latin1},
		{name: "a code, accepted", want: "111", kind: "arss", status: 202, body: codeKO},
		{name: "a code, with an error", want: "122 111", kind: "arss", status: 500, body: codeKO},
		{name: "a number", want: "110", kind: "sws", status: 500, body: fault11("Server", "<detail>"+wrongPIN+"</detail>")},
		{name: "a number, in ISO-8859-1", want: "110", kind: "sws", status: 500, media: "text/xml; charset=ISO-8859-1", body: fault11("Server", "<detail>"+wrongPIN+"</detail>"), text: latin1},
		{name: "a number, no bad request", want: "110", kind: "sws", status: 400, body: fault11("Server", "<detail>"+wrongPIN+"</detail>")},
		{name: "a number in SOAP 1.2", want: "110", kind: "sws", status: 500, media: "application/soap+xml", body: fault12("Receiver", "<e:Detail>"+wrongPIN+"</e:Detail>")},
		{name: "Sender of SOAP 1.2", want: "121", status: 400, media: "application/soap+xml", body: fault12("Sender", "")},
		{name: "Receiver of SOAP 1.2", want: "122", status: 500, media: "application/soap+xml", body: fault12("Receiver", "")},
		{name: "Client with more", want: "121", status: 500, body: fault11("Client.Authentication", "<detail><x>1</x></detail>")},
		{name: "MustUnderstand", want: "121", status: 500, body: fault11("MustUnderstand", "")},
		{name: "VersionMismatch", want: "121", status: 500, body: fault11("VersionMismatch", "")},
		{name: "Server", want: "122", status: 500, body: fault11("Server", "<detail/>")},
		{name: "a fault that says nothing", want: "122", status: 500, body: `<e:Envelope xmlns:e="` + old + `"><e:Body><e:Fault/></e:Body></e:Envelope>`},

		{name: "500, a page", want: "122", status: 500, media: "text/html", body: "<!DOCTYPE html><html><body>Internal Server Error<br></body></html>"},
		{name: "500, a page that is XML", want: "122", status: 500, media: "application/xhtml+xml", body: `<html xmlns="http://www.w3.org/1999/xhtml"><body/></html>`},
		{name: "504", want: "122", status: 504, body: " "},
		{name: "202, nothing", want: "122", status: 202, body: " "},
		{name: "202, a page", want: "122", status: 202, media: "text/html", body: "<p>later"},
		{name: "200, nothing", want: "121", whole: func(w http.ResponseWriter, _ string, _ []byte) { w.Header().Set("Content-Length", "0") }},
		{name: "200, space", want: "121", body: "   \n "},
		{name: "200, an empty body", want: "121", body: `<e:Envelope xmlns:e="` + old + `"><e:Body/></e:Envelope>`},
		{name: "200, no body", want: "121", body: `<e:Envelope xmlns:e="` + old + `"/>`},
		{name: "204", want: "121", whole: func(w http.ResponseWriter, _ string, _ []byte) { w.WriteHeader(204) }},
		{name: "nil", want: "121", kind: "sws", body: `<e:Envelope xmlns:e="` + old + `"><e:Body><q:OPResponse xmlns:q="SPACE"><return xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/></q:OPResponse></e:Body></e:Envelope>`},
		{name: "429", want: "121", status: 429, media: "text/plain", body: "slow down"},
		{name: "301", want: "121", whole: func(w http.ResponseWriter, _ string, _ []byte) {
			w.Header().Set("Location", "https://example.org/")
			w.WriteHeader(301)
		}},
	}
}

// Answers of a vendor who writes differently are read for what they say.
func TestVendors(t *testing.T) {
	pki, err := adestest.New(nil, "http://127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"arss", "sws"} {
		v := &vendor{kind: kind, who: pki.Actor(t, "good")}
		s := httptest.NewTLSServer(v)
		t.Cleanup(s.Close)
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
		wire := soap.Config{Name: "far", Endpoint: remote.Endpoint{URL: s.URL + "/sign", CA: ca, Timeout: 10 * time.Second}}
		var p remote.Accounts
		if kind == "arss" {
			p, err = arss.New(arss.Config{Config: wire, Domain: "d"})
		} else {
			p, err = sws.New(wire)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range ways() {
			if w.kind != "" && w.kind != kind {
				continue
			}
			v.way = w
			if got := sign(t.Context(), p, remote.Login{ID: "AHI1", Password: "secret"}, digests(1)); !slices.Contains(strings.Fields(w.want), got[0]) {
				t.Errorf("%s, %s: %s, want %s", kind, w.name, got[0], w.want)
			}
		}
	}
}
