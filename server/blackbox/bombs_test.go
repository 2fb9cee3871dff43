package blackbox

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	bin "encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
)

// deflated is n bytes of a pattern, after a head, in zlib's format.
func deflated(head, pattern string, n int) string {
	var z bytes.Buffer
	w, _ := zlib.NewWriterLevel(&z, zlib.BestSpeed)
	_, _ = w.Write([]byte(head))
	for block := []byte(strings.Repeat(pattern, 1+(64<<10)/max(1, len(pattern)))); n > 0; n -= len(block) {
		_, _ = w.Write(block)
	}
	w.Close()
	return z.String()
}

// pdfWith is a PDF of one page with more objects, from number 5 on, and a
// catalog with more in it. Its cross-references are a stream, whose rows after
// those of the objects are given.
func pdfWith(catalog string, more []string, rows string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	objects := append([]string{
		"<</Type/Catalog/Pages 2 0 R" + catalog + ">>", "<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R>>", "<</Length 3>>stream\nq Q\nendstream",
	}, more...)
	own := "\x00\x00\x00\x00\x00"
	row := func() { own += "\x01" + string(bin.BigEndian.AppendUint32(nil, uint32(b.Len())))[1:] + "\x00" }
	for i, o := range objects {
		row()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at, last := b.Len(), len(objects)+1
	row()
	data, index := deflated(own, "", 0), fmt.Sprintf("0 %d", last+1)
	if rows != "" {
		const many = 9_000_000
		data, index = deflated(own, rows, 5*many), index+fmt.Sprintf(" 1000 %d", many)
	}
	fmt.Fprintf(&b, "%d 0 obj\n<</Type/XRef/W[1 3 1]/Size 9100000/Index[%s]/Root 1 0 R/Filter/FlateDecode/Length %d>>stream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		last, index, len(data), data, at)
	return b.Bytes()
}

// documentBombs are small documents that want to become large, by the format in
// which they are signed.
func documentBombs() map[string]map[string][]byte {
	stream := func(dict, data string) string {
		return fmt.Sprintf("<<%s/Filter/FlateDecode/Length %d>>stream\n%s\nendstream", dict, len(data), data)
	}
	list := stream("", deflated("", "0\x23\x02\x12\x01", 60<<20))
	lists := make([]string, 40)
	refs := ""
	for i := range lists {
		lists[i] = list
		refs += fmt.Sprintf("%d 0 R ", 5+i)
	}
	blanks := deflated("85 0    ", " ", 60<<20)
	packed := make([]string, 6)
	for i := range packed {
		packed[i] = stream(fmt.Sprintf("/Type/ObjStm/N 1/First 8/Extends %d 0 R", 5+(i+1)%6), blanks)
	}
	return map[string]map[string][]byte{
		"pades": {
			"xref, free":       pdfWith("", nil, "\x00\x00\x00\x00\x00"),
			"xref, in use":     pdfWith("", nil, "\x01\x00\x00\x10\x00"),
			"object streams":   pdfWith("/AcroForm 5 0 R", packed, "\x02\x00\x00\x05\x00"),
			"revocation lists": pdfWith("/DSS<</CRLs["+refs+"]>>", lists, ""),
			"fields":           pdfWith("/AcroForm<</Fields["+strings.Repeat("<</FT/Sig/T(a)>>", 200_000)+"]>>", nil, ""),
		},
		"xades": {
			"nodes":      []byte("<a>" + strings.Repeat("<b  />", 1_500_000) + "</a>"),
			"attributes": []byte("<a>" + strings.Repeat(`<b f="" e="" d="" c=""/>`, 200_000) + "</a>"),
		},
		"cades": {
			"armour": []byte("-----BEGIN PKCS7-----\n" + strings.Repeat(strings.Repeat("M", 64)+"\n", 150_000) + "-----END PKCS7-----\n"),
		},
	}
}

// imageBomb is a PNG of 25 million pixels of 8 bytes each.
func imageBomb() []byte {
	var b bytes.Buffer
	b.WriteString("\x89PNG\r\n\x1a\n")
	chunk := func(kind, data string) {
		_ = bin.Write(&b, bin.BigEndian, uint32(len(data)))
		b.WriteString(kind + data)
		_ = bin.Write(&b, bin.BigEndian, crc32.ChecksumIEEE([]byte(kind+data)))
	}
	chunk("IHDR", "\x00\x00\x13\x88\x00\x00\x13\x88\x10\x06\x00\x00\x00")
	chunk("IDAT", deflated("", "\x00", 5000*(1+5000*8)))
	chunk("IEND", "")
	return b.Bytes()
}

// way is one by which a document comes in. It returns the status and what is
// to be known of the answer.
type way struct {
	format string // of the bombs that it is for; empty: all
	send   func(s *bombed, doc []byte) (int, string)
}

type bombed struct {
	*signer
	t    *testing.T
	web  *httptest.Server
	docs sync.Map
}

// signing is the way of a request to sign with these options.
func signing(format, kind string, options m, copies int) way {
	return way{format, func(s *bombed, doc []byte) (int, string) {
		docs := make([]string, copies)
		for i := range docs {
			docs[i] = b64(doc)
		}
		return s.submit(kind, format, docs, options)
	}}
}

func (s *bombed) submit(kind, format string, docs any, options m) (int, string) {
	c := s.Certificates[kind]
	return s.post("/EU-QES_"+kind, m{
		"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password, "signatureType": format, "options": options,
	})
}

func (s *bombed) post(path string, body m) (int, string) {
	a, err := call(s.client, "POST", s.n.url()+path, body, "Authorization", bearer(s.token))
	if err != nil {
		return 0, err.Error()
	}
	var r struct {
		State       string
		ErrorNumber int
	}
	_ = json.Unmarshal(a.Data, &r)
	return a.Status, fmt.Sprintf("%s %d %.200s", r.State, r.ErrorNumber, a.Message)
}

// ways is every way by which a document comes in.
var ways = map[string]way{
	"sign":                    signing("pades", "automatic", m{}, 1),
	"sign with a seal":        signing("pades", "eseal", m{}, 1),
	"sign, T":                 signing("pades", "automatic", m{"level": "T"}, 1),
	"sign, LTA":               signing("pades", "automatic", m{"level": "LTA"}, 1),
	"sign a batch":            signing("pades", "automatic", m{"batch": true}, 2),
	"sign later":              signing("pades", "automatic", m{"asyncSignature": true}, 1),
	"validate later":          signing("pades", "automatic", m{"asyncDocumentsValidation": true}, 1),
	"sign all fields":         signing("pades", "automatic", m{"signerImage": m{"signAllFields": true}}, 1),
	"sign into a field":       signing("pades", "automatic", m{"withSignatureField": true}, 1),
	"merge":                   signing("pades", "automatic", m{}, 3),
	"encrypt":                 signing("pades", "automatic", m{"encryptInAnyCase": true, "encryptionPassword": "secret"}, 1),
	"merge and encrypt":       signing("pades", "automatic", m{"encryptInAnyCase": true, "encryptionPassword": "secret"}, 2),
	"sign XML":                signing("xades", "automatic", m{"packaging": "enveloped"}, 1),
	"sign XML, LTA":           signing("xades", "automatic", m{"level": "LTA"}, 1),
	"sign XML, an element":    signing("xades", "automatic", m{"XPathQuery": "//b[1]"}, 1),
	"sign XML in a container": signing("xades", "automatic", m{"packaging": "asic-e"}, 2),
	"sign any document":       signing("cades", "automatic", m{"level": "LTA"}, 1),
	"counter-sign":            signing("cades", "automatic", m{"counterSignature": true}, 1),
	"sign a value": {"cades", func(s *bombed, doc []byte) (int, string) {
		return s.submit("automatic", "pkcs1", []string{b64(doc)}, m{})
	}},
	"sign by content": {"", func(s *bombed, doc []byte) (int, string) { return s.submit("automatic", "", []string{b64(doc)}, m{}) }},
	"sign what is elsewhere": {"pades", func(s *bombed, doc []byte) (int, string) {
		name := fmt.Sprintf("/%d", crc32.ChecksumIEEE(doc))
		s.docs.Store(name, doc)
		return s.submit("automatic", "pades", []m{{"sourceType": "remote", "url": s.web.URL + name}}, m{})
	}},
	"show a picture": {"image", func(s *bombed, doc []byte) (int, string) {
		return s.submit("automatic", "pades", []string{b64(samplePDF)}, m{"signerImage": m{"image": b64(doc)}})
	}},
	"verify": {"", func(s *bombed, doc []byte) (int, string) {
		return s.post("/verify", m{"inputDocument": b64(doc), "recursive": true})
	}},
	"verify against content": {"cades", func(s *bombed, doc []byte) (int, string) {
		return s.post("/verify", m{"inputDocument": b64(doc), "detachedContent": []string{b64(doc)}})
	}},
	"identify by signature": {"", func(s *bombed, doc []byte) (int, string) {
		contentType, body := multipartOf(map[string][]byte{"action": []byte("signature")}, map[string][]byte{"document": doc})
		resp, err := s.client.Post(s.order("signature"), contentType, body)
		if err != nil {
			return 0, err.Error()
		}
		resp.Body.Close()
		return resp.StatusCode, ""
	}},
}

// order buys a certificate and returns the holder's page, where a statement
// waits for a signature if that is the identification.
func (s *bombed) order(identification string) string {
	s.t.Helper()
	a, err := call(s.client, "POST", s.n.url()+"/certificates/provider-automatic", m{
		"certificateOwner": "Dora", "identification": identification,
	}, "Authorization", bearer(s.token))
	var d struct{ CertificateLink string }
	if err == nil {
		err = json.Unmarshal(a.Data, &d)
	}
	if err != nil || d.CertificateLink == "" {
		s.t.Fatalf("%v %s", err, a.Body)
	}
	resp, err := s.client.Get(d.CertificateLink + "/statement.pdf")
	if err != nil {
		s.t.Fatal(err)
	}
	resp.Body.Close()
	return d.CertificateLink
}

// TestBombsEverywhere sends documents that want to become large by every way
// that a document comes in, in parallel: none of them is our error, and the
// server keeps within its memory and answers others.
func TestBombsEverywhere(t *testing.T) {
	await.All(t)
	s := &bombed{t: t}
	s.signer = &signer{n: newNode(t, sandboxed(t)), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	s.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if doc, ok := s.docs.Load(r.URL.Path); ok {
			_, _ = w.Write(doc.([]byte))
		}
	}))
	defer s.web.Close()
	s.n.env = append(s.n.env, "ROGITO_NETWORK_ALLOW_PRIVATE="+strings.TrimPrefix(s.web.URL, "http://"))
	s.n.start()
	s.token = sandbox(t, s.n.args[1]).Token
	text, err := os.ReadFile(filepath.Join(s.n.args[1], "sandbox.json"))
	if err == nil {
		err = json.Unmarshal(text, s.signer)
	}
	if err != nil {
		t.Fatal(err)
	}
	soak, parallel := os.Getenv("ROGITO_TEST_SOAK") != "", 1
	if soak {
		parallel = 16
	}
	bombs := documentBombs()
	bombs["image"] = map[string][]byte{"picture": imageBomb()}
	places := make(chan struct{}, 16)
	var wg sync.WaitGroup
	begin := time.Now()
	sent, turn := 0, rand.IntN(6)
	for name, e := range ways {
		for format, all := range bombs {
			if e.format != format && (e.format != "" || format == "image") {
				continue
			}
			for kind, doc := range all {
				if turn++; !soak && turn%6 != 0 {
					continue // a sixth of them will do, another each time
				}
				for range parallel {
					sent++
					wg.Go(func() {
						places <- struct{}{}
						defer func() { <-places }()
						status, says := e.send(s, doc)
						if status == 0 || status >= 500 && status != http.StatusServiceUnavailable || strings.Contains(says, " 999 ") || strings.Contains(says, "internal") {
							t.Errorf("%s, %s (%d bytes): %d %s", name, kind, len(doc), status, says)
						}
					})
				}
			}
		}
	}
	wg.Wait()
	peak := s.n.peak(t)
	t.Logf("%d requests in %v, 16 at a time: peak %d MB", sent, time.Since(begin).Round(time.Second), peak>>20)
	if peak > memoryBudget {
		t.Errorf("the server took %d MB", peak>>20)
	}
	if _, err := s.sign("automatic", base64.StdEncoding.EncodeToString(samplePDF)); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	s.n.emptySpool(t, "afterwards")
}
