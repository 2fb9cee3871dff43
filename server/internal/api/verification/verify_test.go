package verification

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/api/apitest"
	"rogito.dev/rogito/trust"
)

// anyGate lets everybody in.
type anyGate struct{}

func (anyGate) Authenticate(context.Context, *http.Request, bool) (*account.Caller, error) {
	return &account.Caller{AccountID: "u"}, nil
}
func (anyGate) Allows(*account.Caller, string, string, string) bool { return true }

type verifyServer struct {
	*httptest.Server
	t   *testing.T
	pki *adestest.PKI
}

func newVerifyServer(t *testing.T) *verifyServer {
	pki := adestest.Must(t, time.Now)
	store := &trust.Store{Client: pki.HTTP()}
	if err := store.AddAnchor(pki.Root.Raw); err != nil {
		t.Fatal(err)
	}
	a := api.New(api.Options{Gate: anyGate{}})
	RegisterVerify(a, &Verify{Verifier: &rogito.Verifier{Trust: store}, MaxDocument: 10 << 20})
	s := &verifyServer{Server: httptest.NewServer(a.Handler()), t: t, pki: pki}
	t.Cleanup(s.Close)
	return s
}

func (s *verifyServer) sign(detached bool) []byte {
	a := s.pki.Actor(s.t, "p256")
	signing := a.Signing(s.pki.Now())
	d, err := cades.Prepare(context.Background(), strings.NewReader("hello"), signing, cades.Options{Detached: detached})
	if err != nil {
		s.t.Fatal(err)
	}
	value, err := d.Value(a.Key)
	if err != nil {
		s.t.Fatal(err)
	}
	var out bytes.Buffer
	if err := d.Finish(&out, value); err != nil {
		s.t.Fatal(err)
	}
	return out.Bytes()
}

type verifyAnswer struct {
	Data    *report.View
	Success bool
	Message string
	Error   *int
}

func (s *verifyServer) post(contentType, accept string, body io.Reader) (*http.Response, []byte) {
	req, err := http.NewRequest(http.MethodPost, s.URL+"/verify", body)
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	res, err := s.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, b
}

// ask sends a JSON body and answers the bytes that come back.
func (s *verifyServer) ask(body any) (*http.Response, []byte) {
	b, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.post("application/json", "", bytes.NewReader(b))
}

func (s *verifyServer) json(body any) (int, verifyAnswer) {
	res, out := s.ask(body)
	var a verifyAnswer
	if err := json.Unmarshal(out, &a); err != nil {
		s.t.Fatalf("%s: %v", out, err)
	}
	return res.StatusCode, a
}

func b64(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func TestVerifyJSON(t *testing.T) {
	s := newVerifyServer(t)
	signed := s.sign(false)
	code, a := s.json(map[string]any{"inputDocument": b64(signed)})
	if code != 200 || !a.Success || a.Error != nil || !a.Data.OverallVerified || a.Data.SignatureFormat != "CAdES" || a.Data.NrOfSignatures != 1 {
		t.Fatalf("%d %+v", code, a)
	}
	sig := a.Data.Signatures[0]
	if !sig.Integrity || *sig.SerialNumber == "" || !strings.HasPrefix(*sig.SubjectDN, "C=IT,") || *sig.SignerStatus != "VALID" || *sig.IssuerStatus != "VALID" ||
		sig.IssuerTrustedList || sig.Qualification != "N/A" || *sig.SignatureLevel != "CAdES-BASELINE-B" || *sig.KeySize != 256 {
		t.Errorf("signature report %+v", sig)
	}
	if a.Data.PlainDocument == nil || *a.Data.PlainDocument.Base64 != b64([]byte("hello")) || a.Message == "" {
		t.Errorf("plain document %v, message %q", a.Data.PlainDocument, a.Message)
	}
	for want, plain := range map[string]any{`"plainDocument":"aGVsbG8="`: nil, "": false} {
		_, b := s.ask(map[string]any{"inputDocument": b64(signed), "withPlainDocument": plain})
		body := string(b)
		if has := strings.Contains(body, `"plainDocument"`); has != (want != "") || !strings.Contains(body, want) {
			t.Errorf("withPlainDocument %v: %s", plain, body)
		}
	}
	if _, b := s.ask(map[string]any{"inputDocument": b64([]byte("no signature"))}); !bytes.Contains(b, []byte(`"plainDocument":null`)) {
		t.Errorf("of a document that is not signed: %s", b)
	}
	_, a = s.json(map[string]any{"inputDocument": b64(signed), "verifyOnDate": "2001-01-01"})
	if a.Data.OverallVerified || !strings.HasPrefix(*a.Data.CheckDate, "2001-01-01 23:59:59.999") {
		t.Errorf("in 2001: %v at %s", a.Data.OverallVerified, *a.Data.CheckDate)
	}
	code, a = s.json(map[string]any{"inputDocument": b64([]byte("just text"))})
	if code != 200 || !a.Success || a.Data.NrOfSignatures != 0 || a.Data.OverallVerified || a.Data.SignatureFormat != "" || a.Message == "" {
		t.Errorf("unsigned: %d %+v", code, a)
	}
	code, a = s.json(map[string]any{"inputDocument": b64(signed[:len(signed)-20])})
	if code != 200 || a.Data.OverallVerified || a.Data.Indication != report.TotalFailed || len(a.Data.Notes) == 0 || !strings.Contains(a.Message, "broken") {
		t.Errorf("broken: %d %+v", code, a.Data)
	}
}

func TestVerifyDetached(t *testing.T) {
	s := newVerifyServer(t)
	signed := s.sign(true)
	for name, content := range map[string]any{
		"string": b64([]byte("hello")), "array": []string{b64([]byte("hello"))},
		"objects": []map[string]string{{"name": "a.txt", "payload": b64([]byte("hello"))}},
	} {
		if _, a := s.json(map[string]any{"inputDocument": b64(signed), "detachedContent": content}); !a.Data.OverallVerified {
			t.Errorf("%s: %+v", name, a.Data.Signatures)
		}
	}
	// Every content that is given counts, and every thing that is expected.
	_, a := s.json(map[string]any{"inputDocument": b64(signed), "detachedContent": []string{b64([]byte("other")), b64([]byte("hello"))}})
	if a.Data.OverallVerified || a.Data.Indication != report.Indeterminate || a.Data.Signatures[0].CoversWhole {
		t.Errorf("beside another content: %+v", a.Data)
	}
	for _, name := range []string{"expectFile", "expectElement"} {
		_, a = s.json(map[string]any{"inputDocument": b64(s.sign(false)), name: "elsewhere"})
		if a.Data.OverallVerified || a.Data.Indication != report.Indeterminate {
			t.Errorf("%s: %+v", name, a.Data)
		}
	}
	_, a = s.json(map[string]any{"inputDocument": b64(signed)})
	if sub := a.Data.Signatures[0].SubIndication; sub == nil || *sub != "SIGNED_DATA_NOT_FOUND" || a.Data.Signatures[0].Integrity {
		t.Errorf("without content: %+v", a.Data.Signatures[0])
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for field, content := range map[string][]byte{"inputDocument": signed, "detachedContent": []byte("hello")} {
		p, err := w.CreateFormFile(field, field+".bin")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	res, out := s.post(w.FormDataContentType(), "", &body)
	var form verifyAnswer
	if err := json.Unmarshal(out, &form); err != nil || res.StatusCode != 200 || !form.Data.OverallVerified {
		t.Errorf("multipart: %d %s", res.StatusCode, out)
	}
}

// Of a form's yes and no only the words count, once; what is absent in JSON may
// be null.
func TestVerifyYesAndNo(t *testing.T) {
	s := newVerifyServer(t)
	form := func(fields ...string) (int, string) {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		p, err := w.CreateFormFile("inputDocument", "x.txt")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = p.Write([]byte("hello"))
		for i := 0; i < len(fields); i += 2 {
			if err := w.WriteField(fields[i], fields[i+1]); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		res, out := s.post(w.FormDataContentType(), "", &body)
		return res.StatusCode, string(out)
	}
	for _, name := range []string{"withPlainDocument", "recursive"} {
		for _, word := range []string{"true", "false", "True", "FALSE"} {
			if code, out := form(name, word); code != 200 {
				t.Errorf("%s=%s: %d %s", name, word, code, out)
			}
		}
		for _, word := range []string{"", "0", "1", "t", "null", "[]", "perhaps"} {
			if code, out := form(name, word); code != 400 || !strings.Contains(out, name+" must be true or false") {
				t.Errorf("%s=%q: %d %s", name, word, code, out)
			}
		}
		if code, out := form(name, "true", name, "false"); code != 400 || !strings.Contains(out, "more than once") {
			t.Errorf("%s twice: %d %s", name, code, out)
		}
	}
	code, a := s.json(map[string]any{
		"inputDocument": b64([]byte("hello")), "detachedContent": nil, "pdfEncryptionPassword": nil, "recursive": nil, "expectElement": nil,
		"expectFile": nil, "verifyOnDate": nil, "withPlainDocument": nil, "language": nil,
	})
	if code != 200 {
		t.Errorf("null in place of what may be absent: %d %+v", code, a)
	}
}

func TestVerifyRefusals(t *testing.T) {
	s := newVerifyServer(t)
	for _, row := range []struct {
		body any
		code int
	}{
		{map[string]any{}, 650},
		{map[string]any{"inputDocument": "§§"}, 650},
		{map[string]any{"inputDocument": 7}, 650},
		{map[string]any{"inputDocument": "aGk=", "verifyOnDate": "tomorrow"}, 651},
		{map[string]any{"inputDocument": "aGk=", "verifyOnDate": 20260101}, 651},
		{map[string]any{"inputDocument": "aGk=", "language": "fr"}, 100},
		{map[string]any{"inputDocument": "aGk=", "pdfEncryptionPassword": 7}, 652},
		{map[string]any{"inputDocument": "aGk=", "detachedContent": "§"}, 653},
		{map[string]any{"inputDocument": "aGk=", "detachedContent": 3}, 653},
		{map[string]any{"inputDocument": "aGk=", "recursive": "yes"}, 100},
	} {
		if status, a := s.json(row.body); a.Error == nil || *a.Error != row.code || a.Success || a.Data != nil {
			t.Errorf("%v: %d %+v", row.body, status, a)
		}
	}
}

func TestVerifyForms(t *testing.T) {
	s := newVerifyServer(t)
	body, _ := json.Marshal(map[string]any{"inputDocument": b64(s.sign(false)), "language": "it"})
	for accept, want := range map[string]string{
		"application/xml": "total-passed", "text/html": "Valida", "application/pdf": "%PDF-",
	} {
		res, out := s.post("application/json", accept, bytes.NewReader(body))
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), accept) || !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s: %d %s %.80s", accept, res.StatusCode, res.Header.Get("Content-Type"), out)
		}
	}
}

// The answer is the one that the published document describes.
func TestVerifyContract(t *testing.T) {
	s := newVerifyServer(t)
	c := apitest.Fetch(t, s.URL)
	body, _ := json.Marshal(map[string]any{"inputDocument": b64(s.sign(false))})
	req, _ := http.NewRequest(http.MethodPost, s.URL+"/verify", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, _ := io.ReadAll(res.Body)
	c.Check(t, req, res.StatusCode, res.Header, out)
}

// TestVerifyWords: the message answers who, intact, trusted and why; the report
// says by which lists; a page keeps the name and digest of an uploaded file.
func TestVerifyWords(t *testing.T) {
	s := newVerifyServer(t)
	signed := s.sign(false)
	_, a := s.json(map[string]any{"inputDocument": b64(signed)})
	for _, want := range []string{"The signature is valid.", "The content is intact.", "Signed by Tester p256 (fiscal code ", "a certificate of your own", "not known to be qualified"} {
		if !strings.Contains(a.Message, want) {
			t.Errorf("%q is not in %q", want, a.Message)
		}
	}
	if got := a.Data.Trust; got.Lists != "none" || got.Issued != nil || got.Anchors != 1 {
		t.Errorf("trust %+v", got)
	}
	_, a = s.json(map[string]any{"inputDocument": b64(signed), "language": "it"})
	if !strings.HasPrefix(a.Message, "La firma è valida. Il contenuto è integro. Firmato da Tester p256 (codice fiscale ") {
		t.Errorf("message %q", a.Message)
	}
	_, a = s.json(map[string]any{"inputDocument": b64([]byte("just text"))})
	if !strings.HasPrefix(a.Message, "This document is not signed. Nobody signed this document.") {
		t.Errorf("message %q", a.Message)
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	f, err := w.CreateFormFile("inputDocument", "atto di vendita.p7m")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.Write(signed)
	w.Close()
	_, page := s.post(w.FormDataContentType(), "text/html", &body)
	sum := sha256.Sum256(signed)
	for _, want := range []string{"<title>Verification report: atto di vendita.p7m</title>", hex.EncodeToString(sum[:]), ">Valid</h1>", "The content is intact.", "CAdES, 1 signature"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("%q is not in the page", want)
		}
	}
}

// Content that is encoded while it is sent is answered as any other is, byte by
// byte.
func TestAnswerWith(t *testing.T) {
	t.Parallel()
	src := bytes.NewReader(bytes.Repeat([]byte("pla\xffn"), 20_001))
	for _, size := range []int64{0, 1, 2, 3, 24<<10 - 1, 24 << 10, 24<<10 + 1, 100_000, src.Size()} {
		section := io.NewSectionReader(src, 0, size)
		plain, err := io.ReadAll(section)
		if err != nil {
			t.Fatal(err)
		}
		text := b64(plain)
		var want bytes.Buffer
		if err := api.Encode(&want, &api.Op{}, &api.Answer{Data: &report.View{PlainDocument: &report.Plain{Base64: &text}}, Message: "good"}); err != nil {
			t.Fatal(err)
		}
		content, err := answerWith(&report.View{}, section, "good")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(content.Reader)
		if err != nil || !bytes.Equal(got, want.Bytes()) || content.Size != int64(len(got)) {
			t.Errorf("%d bytes: %v, an answer of %d bytes, said to be %d, not %d", size, err, len(got), content.Size, want.Len())
		}
	}
}

func TestVerifyForm(t *testing.T) {
	for header, want := range map[string]string{
		"":                      "",
		"*/*":                   "",
		"application/pdf":       "application/pdf",
		"text/xml":              "application/xml",
		"application/jose+json": "application/jose+json",
		"image/png":             "",
		"application/xml;q=0.5, application/json": "",
		"application/json;q=0.5, application/xml": "application/xml",
	} {
		if got := verifyForm([]string{header}); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// What is remembered of one document changes nothing in the answer about another.
func TestAnswersDoNotMix(t *testing.T) {
	t.Parallel()
	s := newVerifyServer(t)
	signed := func(actor, content string) []byte {
		a := s.pki.Actor(t, actor)
		var out bytes.Buffer
		o := rogito.Options{SignParams: a.Signing(s.pki.Now()), Format: ades.CAdES}
		if _, err := rogito.Sign(t.Context(), rogito.File("a", strings.NewReader(content)), &out, a.Key, o); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	one, other := signed("p256", strings.Repeat("one ", 20_000)), signed("good", strings.Repeat("two ", 20_000))
	broken := bytes.Replace(one, []byte("one one"), []byte("one two"), 1)
	first := map[string]string{}
	for range 3 {
		for name, doc := range map[string][]byte{"one": one, "other": other, "broken": broken} {
			_, b := s.ask(map[string]any{"inputDocument": b64(doc)})
			text := madeAt.ReplaceAllString(string(b), "")
			if first[name] == "" {
				first[name] = text
			}
			if text != first[name] || strings.Contains(text, `"TOTAL-PASSED"`) != (name != "broken") {
				t.Errorf("%s: %.400s", name, text)
			}
		}
	}
}

// madeAt are the times that another answer to the same has.
var madeAt = regexp.MustCompile(`"\d{4}-\d\d-\d\d [^"]*"`)

// Names in a container that are no UTF-8 are decoded or escaped, in every form of
// the answer.
func TestVerifyNamesOfNoUnicode(t *testing.T) {
	s := newVerifyServer(t)
	for name, row := range map[string]struct {
		bytes  string
		marked bool
		shown  string
	}{
		"code page 852":           {"umowa_\xa5\x88.txt", false, "umowa_Ñê.txt"}, // as the standard has it: 437
		"code page 437":           {"M\x81ller.txt", false, "Müller.txt"},
		"no characters":           {"\xff\xfe\x80.txt", false, "\u00a0■Ç.txt"},
		"cut short":               {"a\xc4.txt", false, "a─.txt"},
		"marked as UTF-8, not it": {"umowa_\xa5.txt", true, `umowa_\xa5.txt`},
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, f := range []struct{ name, data string }{
			{"mimetype", "application/vnd.etsi.asic-s+zip"}, {row.bytes, "hello"}, {"META-INF/signature.p7s", string(s.sign(true))},
		} {
			h := &zip.FileHeader{Name: f.name, Method: zip.Store, NonUTF8: !row.marked}
			if row.marked {
				h.Flags = 0x800
			}
			w, err := z.CreateHeader(h)
			if err == nil {
				_, err = io.WriteString(w, f.data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		code, a := s.json(map[string]any{"inputDocument": b64(b.Bytes())})
		if code != 200 || !a.Data.OverallVerified || len(a.Data.SignedFiles) != 1 || a.Data.SignedFiles[0] != row.shown {
			t.Errorf("%s: %d, %+v", name, code, a.Data)
		}
		for _, accept := range []string{"application/json", "application/xml", "text/html", "application/pdf"} {
			body, err := json.Marshal(map[string]any{"inputDocument": b64(b.Bytes()), "recursive": true})
			if err != nil {
				t.Fatal(err)
			}
			res, out := s.post("application/json", accept, bytes.NewReader(body))
			if res.StatusCode != 200 || accept != "application/pdf" && !utf8.Valid(out) {
				t.Errorf("%s, %s: %d", name, accept, res.StatusCode)
			}
		}
	}
}
