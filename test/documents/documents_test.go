package documents

import (
	"bytes"
	"context"
	"crypto"
	_ "crypto/sha1" // of old documents
	"encoding/base64"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/server/servertest"
)

// Words of a verdict.
const (
	passed  = "TOTAL-PASSED"
	failed  = "TOTAL-FAILED"
	unknown = "INDETERMINATE"
)

// document is a file, and what is right for it.
type document struct {
	name   string
	data   []byte
	beside string // the file that it is over, where it lies beside it
	exit   int    // of rogito verify
	word   string // the indication over HTTP
	format string
	says   string // in the message
}

// documents are one of each kind.
func (m *maker) documents() []document {
	p7m := m.p7m("p256", []byte(text))
	b64 := base64.StdEncoding.EncodeToString(p7m)
	tampered := m.changed(p7m, "100,000", "900,000")
	signedPDF := m.sign("p256", nil, file("a.pdf", pdf()))
	xml := m.sign("p256", nil, file("a.xml", []byte(invoice)))
	jws := m.sign("p256", jwsOf(jades.Flattened), file("a.json", []byte(`{"price":100000}`)))
	pe := make([]byte, 600)
	copy(pe, "MZ")
	pe[0x3c] = 0x80
	copy(pe[0x80:], "PE\x00\x00")
	copy(pe[0x80+24:], "\x0b\x02")
	pe[0x80+24+112+32+4] = 1
	cadesOf := func(name string, b []byte) document {
		return document{name: name, data: b, word: passed, format: "CAdES"}
	}
	named := func(name string, b []byte, says string) document {
		return document{name: name, data: b, exit: 2, word: unknown, says: says}
	}
	list := []document{
		cadesOf("der.p7m", p7m),
		cadesOf("lines.p7m", []byte(wrapped(p7m, "\r\n"))),
		cadesOf("line.p7m", []byte(b64)),
		cadesOf("bom.p7m", []byte("\xef\xbb\xbf"+b64)),
		cadesOf("cms.pem", armoured("CMS", p7m)),
		cadesOf("pkcs7.pem", armoured("PKCS7", p7m)),
		cadesOf("odd.pem", armoured("SIGNED THING", p7m)),
		cadesOf("mime.p7m", []byte("MIME-Version: 1.0\r\nContent-Type: application/pkcs7-mime; smime-type=signed-data; name=a.p7m\r\nContent-Transfer-Encoding: base64\r\n\r\n"+wrapped(p7m, "\r\n"))),
		cadesOf("data.p7m", []byte("data:application/pkcs7-mime;base64,"+b64)),
		cadesOf("escaped.p7m", []byte("data:application/pkcs7-mime;name=a.p7m;base64,"+strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(b64))),
		cadesOf("url.p7m", []byte(base64.RawURLEncoding.EncodeToString(p7m))),
		cadesOf("twice.p7m", []byte(base64.StdEncoding.EncodeToString([]byte(wrapped(p7m, "\n"))))),
		cadesOf("pem-in-base64.p7m", []byte(base64.StdEncoding.EncodeToString(armoured("PKCS7", p7m)))),
		cadesOf("good-in-good.p7m", m.p7m("second", p7m)),
		{name: "bad-in-good.p7m", data: m.p7m("second", tampered), exit: 1, word: failed, format: "CAdES"},
		{name: "tampered.p7m", data: tampered, exit: 1, word: failed, format: "CAdES"},
		{name: "good.tsd", data: m.tsd(p7m, p7m), word: passed, format: "TST"},
		{name: "good.m7m", data: m.m7m(p7m), word: passed, format: "TST"},
		{name: "bad.tsd", data: m.tsd(tampered, tampered), exit: 1, word: failed, format: "TST"},
		{name: "bad.m7m", data: m.m7m(tampered), exit: 1, word: failed, format: "TST"},
		{name: "other.tsd", data: m.tsd(p7m, []byte("other")), exit: 1, word: failed, format: "TST"},
		{name: "signed.pdf", data: signedPDF, word: passed, format: "PAdES"},
		{name: "lta.pdf", data: m.sign("p256", func(o *rogito.Options) { o.Level = ades.LevelLTA }, file("a.pdf", pdf())), word: passed, format: "PAdES"},
		{name: "tampered.pdf", data: m.changed(signedPDF, "100 000", "900 000"), exit: 1, word: failed, format: "PAdES"},
		{name: "acrobat4.pdf", data: m.bare(crypto.SHA1), exit: 2, word: unknown, format: "PAdES", says: "SHA1"},
		{name: "acrobat8.pdf", data: m.bare(crypto.SHA256), word: passed, format: "PAdES"},
		{name: "invoice.xml", data: xml, word: passed, format: "XAdES"},
		{name: "tampered.xml", data: m.changed(xml, "122.00", "922.00"), exit: 1, word: failed, format: "XAdES"},
		{name: "part.xml", data: m.sign("p256", func(o *rogito.Options) { o.Format, o.XAdES.SignElement = ades.XAdES, "a" }, file("a.xml", []byte(`<r><p Id="a">signed</p><p>not signed</p></r>`))), exit: 2, word: unknown, format: "XAdES", says: "part"},
		{name: "enveloping.xml", data: m.sign("p256", enveloping, file("a.txt", []byte(text))), word: passed, format: "XAdES"},
		{name: "lta.xml", data: m.sign("p256", func(o *rogito.Options) { o.Level = ades.LevelLTA }, file("a.xml", []byte(invoice))), word: passed, format: "XAdES"},
		{name: "files.asice", data: m.sign("p256", container, file("a.txt", []byte(text)), file("b.txt", []byte("b"))), word: passed, format: "ASiC-E"},
		{name: "tampered.asice", data: tamperedZIP(m), exit: 1, word: failed, format: "ASiC-E"},
		{name: "one.asics", data: m.sign("p256", func(o *rogito.Options) { o.Format, o.ASiC.CAdES = ades.ASiCS, true }, file("a.txt", []byte(text))), word: passed, format: "ASiC-S"},
		{name: "plan.dwg.p7s", beside: "plan.dwg", data: m.p7s([]byte("a plan")), word: passed, format: "CAdES"},
		{name: "map.dwg.tst", beside: "map.dwg", data: m.token([]byte("a map")), word: unknown, format: "TST"},
		{name: "signed.docx", data: m.docx(true), word: passed, format: "OOXML"},
		{name: "tampered.docx", data: tamperedDOCX(m), exit: 1, word: failed, format: "OOXML"},
		{name: "unsigned.docx", data: m.docx(false), exit: 1, word: unknown},
		{name: "signed.odt", data: m.odt(), word: passed, format: "ODF"},
		{name: "book.epub", data: m.epub(), word: passed, format: "ASiC-E"},
		cadesOf("crlf.eml", m.smime("\r\n")),
		cadesOf("lf.eml", m.smime("\n")),
		cadesOf("opaque.eml", m.opaque()),
		{name: "pec.eml", data: m.pec(letter("contract.p7m", p7m)), word: passed, format: "CAdES"},
		{name: "pec-bad.eml", data: m.pec(letter("contract.p7m", tampered)), exit: 1, word: failed, format: "CAdES"},
		{name: "plain.eml", data: []byte(letter("contract.p7m", p7m)), exit: 2, word: unknown, format: "CAdES", says: "part"},
		{name: "signed.json", data: jws, word: passed, format: "JAdES"},
		{name: "signed.jws", data: m.sign("p256", jwsOf(jades.Compact), file("a.json", []byte(`{"price":100000}`))), word: passed, format: "JAdES"},
		{name: "lta.json", data: m.sign("p256", func(o *rogito.Options) { jwsOf(jades.General)(o); o.Level = ades.LevelLTA }, file("a.json", []byte(`{}`))), word: passed, format: "JAdES"},
		{name: "tampered.json", data: m.changed(jws, `"payload":"ey`, `"payload":"eX`), exit: 1, word: failed, format: "JAdES"},
		{name: "no-pointer.p7m", data: m.p7m("no-revocation", []byte(text)), exit: 2, word: unknown, format: "CAdES"},
		{name: "expired.p7m", data: m.p7m("expired", []byte(text)), exit: 2, word: unknown, format: "CAdES"},
		{name: "stranger.p7m", data: m.p7m("unknown-issuer", []byte(text)), exit: 2, word: unknown, format: "CAdES"},
		{name: "note.txt", data: []byte("nobody signed this"), exit: 1, word: unknown},
		named("clear.asc", []byte("-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nhi\n-----BEGIN PGP SIGNATURE-----\n\nxx\n-----END PGP SIGNATURE-----\n"), "PGP"),
		named("a.sig", append([]byte{0x89, 0x01, 0x33, 0x04, 0x00, 0x01, 0x08}, make([]byte, 20)...), "PGP"),
		named("a.jar", zipped(m.t, "META-INF/MANIFEST.MF", "", "META-INF/A.SF", "", "META-INF/A.RSA", p7m), "JAR"),
		named("a.apk", zipped(m.t, "META-INF/MANIFEST.MF", "", "META-INF/CERT.SF", "", "META-INF/CERT.RSA", p7m, "AndroidManifest.xml", ""), "APK"),
		named("a.exe", pe, "Authenticode"),
		named("a.cose", []byte{0xd2, 0x84, 0x43, 0xa1, 0x01, 0x26, 0xa0, 0x41, 1, 0x41, 2}, "COSE"),
		named("a.sdjwt", []byte("eyJhbGciOiJFUzI1NiJ9.e30.AAAA~WyJhIl0~"), "SD-JWT"),
		named("a.pkpass", zipped(m.t, "pass.json", "{}", "manifest.json", "{}", "signature", p7m), "pkpass"),
	}
	return list
}

func tamperedZIP(m *maker) []byte {
	return reZip(m, m.sign("p256", container, file("a.txt", []byte(text))), "a.txt")
}

func tamperedDOCX(m *maker) []byte { return reZip(m, m.docx(true), "word/document.xml") }

// answer is what is looked at of a report.
type answer struct {
	File       string
	Indication string
	Format     string `json:"signatureFormat"`
	Valid      bool   `json:"overallVerified"`
	Message    string
}

func TestDocuments(t *testing.T) {
	await.All(t)
	m := &maker{t: t, pki: adestest.Start(t, time.Now)}
	list := m.documents()
	dir := t.TempDir()
	root := filepath.Join(t.TempDir(), "root.pem")
	write(t, root, m.pki.RootPEM())
	contents := map[string][]byte{"plan.dwg": []byte("a plan"), "map.dwg": []byte("a map")}
	for name, b := range contents {
		write(t, filepath.Join(dir, name), b)
	}
	for _, d := range list {
		write(t, filepath.Join(dir, d.name), d.data)
	}
	binary := servertest.Binary(t)
	t.Cleanup(servertest.Clean)
	t.Run("command line", func(t *testing.T) { commandLine(t, binary, root, dir, list) })
	base := serve(t, binary, root)
	t.Run("HTTP", func(t *testing.T) { overHTTP(t, base, list, contents) })
	t.Run("check", func(t *testing.T) { atCheck(t, base, list, contents) })
}

// commandLine judges the whole folder in one run.
func commandLine(t *testing.T, binary, root, dir string, list []document) {
	run := func(args ...string) (int, string) {
		cmd := exec.Command(binary, append([]string{"verify", "--trust", root, "--no-lists", "--allow-private", "127.0.0.1"}, args...)...)
		cmd.Env = environment()
		out, err := cmd.Output()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	code, out := run("--json", "--no-plain", dir)
	if code != 1 {
		t.Errorf("the folder exits %d: %s", code, out)
	}
	found := map[string]answer{}
	for line := range strings.Lines(out) {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v: %.300s", err, line)
		}
		found[filepath.Base(a.File)] = a
	}
	for _, d := range list {
		a, ok := found[d.name]
		if !ok || a.Indication != d.word || a.Format != d.format {
			t.Errorf("%s: %+v, want %s %s", d.name, a, d.word, d.format)
		}
		if code, out := run(filepath.Join(dir, d.name)); code != d.exit || !says(out, d.says) {
			t.Errorf("%s alone: exit %d, want %d: %s", d.name, code, d.exit, out)
		}
	}
	if len(found) != len(list) { // what is covered by a file beside it has no verdict of its own
		t.Errorf("%d verdicts for %d documents", len(found), len(list))
	}
}

func overHTTP(t *testing.T, base string, list []document, contents map[string][]byte) {
	token := sandbox(t, base)
	for _, d := range list {
		body := map[string]any{"inputDocument": d.data, "recursive": true, "withPlainDocument": false}
		if d.beside != "" {
			body["detachedContent"] = contents[d.beside]
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/verify", bytes.NewReader(text))
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		status, answer := do(t, req)
		var r struct {
			Data    answerOf
			Message string
		}
		if err := json.Unmarshal(answer, &r); err != nil || status != http.StatusOK || r.Data.Indication != d.word || r.Data.Format != d.format || !says(r.Message, d.says) {
			t.Errorf("%s: %d, %s %q, want %s %q: %s", d.name, status, r.Data.Indication, r.Data.Format, d.word, d.format, r.Message)
		}
	}
}

type answerOf = answer

var indicated = regexp.MustCompile(`id="verdict"[^>]*data-indication="([^"]*)"|data-indication="([^"]*)"[^>]*id="verdict"`)

// atCheck posts every document to the page, as a browser does.
func atCheck(t *testing.T, base string, list []document, contents map[string][]byte) {
	pages := map[string]string{}
	for _, d := range list {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("inputDocument", d.name)
		if err == nil {
			_, err = part.Write(d.data)
		}
		if d.beside != "" && err == nil {
			if part, err = w.CreateFormFile("detachedContent", d.beside); err == nil {
				_, err = part.Write(contents[d.beside])
			}
		}
		if err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/check", &form)
		req.Header.Set("Content-Type", w.FormDataContentType())
		req.Header.Set("Accept", "text/html")
		req.Header.Set("Origin", base)
		status, page := do(t, req)
		found := indicated.FindSubmatch(page)
		if status != http.StatusOK || found == nil || string(found[1])+string(found[2]) != d.word {
			t.Errorf("%s: %d, %q, want %s", d.name, status, found, d.word)
		}
		pages[d.name] = string(page)
	}
	link := regexp.MustCompile(`download="([^"]*)" href="data:application/octet-stream;base64,([^"]*)"`)
	for name, want := range map[string][]string{
		"der.p7m": {text}, "good-in-good.p7m": {text}, "good.tsd": {text}, "files.asice": {text, "b"}, "enveloping.xml": {text},
		"tampered.p7m": nil, "tampered.pdf": nil, "bad.tsd": nil, "other.tsd": nil, "tampered.asice": nil, "bad-in-good.p7m": nil,
	} {
		var got []string
		for _, l := range link.FindAllStringSubmatch(pages[name], -1) {
			b, err := base64.StdEncoding.DecodeString(strings.NewReplacer("&#43;", "+", "&#61;", "=", "&#47;", "/").Replace(l[2]))
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(b))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s hands out %.100q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"invoice.xml": "122.00 EUR", "files.asice": "b.txt", "pec.eml": "postacert/contract.p7m"} {
		if !strings.Contains(pages[name], want) {
			t.Errorf("%s: no %q on the page", name, want)
		}
	}
	if strings.Contains(pages["tampered.xml"], `id="invoice"`) {
		t.Error("a tampered invoice is shown")
	}
}

func says(text, word string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(word))
}

func do(t *testing.T, req *http.Request) (int, []byte) {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// environment is without what would be taken for a setting.
func environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ROGITO_") })
	return append(env, "ROGITO_TRUST_LISTS=false", "ROGITO_CONSOLE_CHECK_PER_MINUTE=0", "ROGITO_LIMITS_RESERVE=-1")
}

var data string // the folder of the server

// serve starts the server in a sandbox, with the authority of the tests as an
// anchor.
func serve(t *testing.T, binary, root string) string {
	t.Helper()
	addr, err := servertest.Address()
	if err != nil {
		t.Fatal(err)
	}
	data = filepath.Join(t.TempDir(), "data")
	var log bytes.Buffer
	cmd := exec.Command(binary, "serve", "--listen", addr, "--data", data, "--trust", root, "--allow-private", "127.0.0.1")
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(), &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(func() {
		cancel()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if err := servertest.Ready(ctx, "http://"+addr); err != nil {
		t.Fatalf("%v: %s", err, log.String())
	}
	return "http://" + addr
}

func sandbox(t *testing.T, _ string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(data, "sandbox.json"))
	if err != nil {
		t.Fatal(err)
	}
	var box struct{ Token string }
	if err := json.Unmarshal(b, &box); err != nil {
		t.Fatal(err)
	}
	return box.Token
}
