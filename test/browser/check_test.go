package browser

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/internal/pdf"
)

// aPDF is a page with a line of text; title is its metadata.
func aPDF(title, text string) []byte {
	content := "BT /F 18 Tf 60 760 Td (" + pdf.WinAnsi(text) + ") Tj ET\n"
	return pdf.Build([]string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Count 1 /Kids [5 0 R] >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		fmt.Sprintf("<< /Title (%s) >>", pdf.WinAnsi(title)),
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F 3 0 R >> >> /Contents 6 0 R >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", len(content), content),
	}, "/Info 4 0 R ")
}

// sign has the sandbox sign a document with its test certificate.
func (s *server) sign(t testing.TB, content []byte, kind string) []byte {
	t.Helper()
	c := s.Sandbox.Certificates["automatic"]
	body, err := json.Marshal(map[string]any{"certificateUsername": c.Username, "certificatePassword": c.Password, "signatureType": kind, "inputDocuments": base64.StdEncoding.EncodeToString(content)})
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Data struct{ ID, State string } }
	if err := json.Unmarshal(s.api(t, http.MethodPost, "/EU-QES_automatic", body), &made); err != nil || made.Data.State != "DONE" {
		t.Fatalf("%+v %v", made, err)
	}
	return s.api(t, http.MethodGet, "/signatures/"+made.Data.ID+"/signedDocument", nil)
}

// api calls an operation with the sandbox's token.
func (s *server) api(t testing.TB, method, path string, body []byte) []byte {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Sandbox.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %d %.300s %v", method, path, resp.StatusCode, b, err)
	}
	return b
}

// keep writes a file for the browser to choose.
func keep(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every way of looking at the pages that anybody may open: the start, the form, a
// verdict with its reports, a refusal.
func TestCheckPages(t *testing.T) {
	s := startServer(t, "ROGITO_CONSOLE_CHECK_PER_MINUTE=0")
	signed := keep(t, "atto.pdf", s.sign(t, aPDF("Atto", "Compravendita"), "pades"))
	changed := append(bytes.Clone(read(t, signed)), "\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R /X 1 >>\nendobj\n"...)
	broken := keep(t, "cambiato.pdf", changed)
	for i, h := range ways {
		b := open(t, s, h)
		b.goTo("/")
		for _, section := range []string{"/check", "/map", "/console/", "/docs"} {
			if !b.has(`main a[href="` + section + `"]`) {
				t.Errorf("%+v: no link to %s", h, section)
			}
		}
		b.sound("start")
		b.goTo("/check")
		b.sound("check")
		b.check(signed)
		if got := b.attr("#verdict", "data-indication"); got != "TOTAL-PASSED" {
			t.Errorf("%+v: %s", h, got)
		}
		if got := b.attr(".signature", "data-indication"); got != "TOTAL-PASSED" || b.count(".signature") != "1" {
			t.Errorf("%+v: signature %s", h, got)
		}
		want := map[string]string{"en": "Valid", "it": "Valida"}[h.Lang]
		if got := b.text("#verdict h1"); got != want {
			t.Errorf("%+v: %q, not %q", h, got, want)
		}
		b.sound("verdict-valid")
		if got := b.download("#report-pdf"); !bytes.HasPrefix(got, []byte("%PDF-")) {
			t.Errorf("%+v: the report is %.20q", h, got)
		}
		if got := b.download("#report-xml"); !bytes.Contains(got, []byte("ValidationReport")) {
			t.Errorf("%+v: the report is %.40q", h, got)
		}
		b.check(broken)
		if got := b.attr("#verdict", "data-indication"); got == "TOTAL-PASSED" {
			t.Errorf("%+v: changed, and %s", h, got)
		}
		if b.text("#verdict .then") == "" {
			t.Errorf("%+v: not what to do", h)
		}
		b.sound("verdict-changed")
		if i%3 == 0 { // all refusals are one page
			b.goTo("/check/nowhere")
			b.sound("404")
		}
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// check chooses a file, sends the form and waits for the verdict.
func (b *tab) check(path string) {
	b.t.Helper()
	b.upload("#check input[name=inputDocument]", path)
	send := func() { b.click("#check button[type=submit]") }
	if b.how.NoScripts {
		b.loading(send)
		return
	}
	b.eval("document.querySelector('#verdict')?.removeAttribute('id'); ''")
	send()
	b.wait("#verdict")
}

// With scripts a file is dropped, and the switch of language asks again for the
// same verdict. Its time from the drop is logged.
func TestCheckDrop(t *testing.T) {
	s := startServer(t)
	large := keep(t, "un mega.p7m", s.sign(t, bytes.Repeat([]byte("un mega di testo "), 1<<20/17), "cades"))
	b := open(t, s, how{})
	b.goTo("/check")
	begin, before := time.Now(), s.computed(t)
	b.drop("check-drop", large)
	b.wait("#verdict")
	t.Logf("from the drop of 1 MB to the verdict: %d ms, of which the server computed %d", time.Since(begin).Milliseconds(), (s.computed(t) - before).Milliseconds())
	b.click("a.lang")
	b.until("the page is Italian", func() bool { return b.attr("html", "lang") == "it" && b.has("#verdict") })
	if got := b.text("#verdict h1"); got != "Valida" {
		t.Errorf("in Italian: %q", got)
	}
	b.goTo("/check") // the choice is remembered
	if got := b.attr("html", "lang"); got != "it" {
		t.Errorf("remembered: %q", got)
	}
}

// By keyboard alone one comes to the form, sends it, and reaches the report.
func TestCheckKeyboard(t *testing.T) {
	s := startServer(t)
	signed := keep(t, "atto.p7m", s.sign(t, []byte("testo"), "cades"))
	b := open(t, s, how{Lang: "it"})
	b.goTo("/")
	b.key("Tab")
	if !b.focused(".skip") {
		t.Error("the first stop does not skip the head")
	}
	b.tabTo(`a.card[href="/check"]`)
	b.loading(func() { b.key("Enter") })
	b.tabTo("#inputDocument")
	b.tabTo("summary") // with the options open, nothing is sent by itself
	b.key("Enter")
	b.upload("#inputDocument", signed)
	b.tabTo("#pdfEncryptionPassword")
	b.typeIn("#pdfEncryptionPassword", "inutile")
	b.tabTo("#verifyOnDate")
	b.tabTo("#check button[type=submit]")
	b.key("Enter")
	b.wait("#verdict")
	b.tabTo("summary") // the details of the signature
	b.tabTo("#report-pdf")
}

func (b *tab) focused(selector string) bool {
	b.t.Helper()
	return b.eval("document.activeElement.matches("+quote(selector)+")") == "true"
}

// Untrusted text is shown as text: in the name of the file, in the certificate, in the metadata.
func TestCheckMarkup(t *testing.T) {
	s := startServer(t)
	const hostile = `<img src=x onerror=alert(1)>`
	key, err := ca.NewKey("P-256")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cert, err := ca.Root(ca.Request{Subject: ca.Name{Country: "IT", Organization: "<script>alert(2)</script>", CommonName: hostile}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}, key)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := rogito.Sign(context.Background(), rogito.File("x.pdf", bytes.NewReader(aPDF("</title><svg onload=alert(3)>", hostile))), &out, key, rogito.Options{Format: ades.PAdES, SignParams: ades.SignParams{Certificate: cert, Time: now}}); err != nil {
		t.Fatal(err)
	}
	path := keep(t, `"><img src=x onerror=alert(4)>.pdf`, out.Bytes())
	for _, h := range []how{{}, {NoScripts: true, Lang: "it"}} {
		b := open(t, s, h)
		b.goTo("/check")
		b.check(path)
		if got := b.count("main img, main svg, main script"); got != "0" {
			t.Errorf("%+v: %s elements of a stranger's", h, got)
		}
		if !strings.Contains(b.text("#verdict"), hostile) || !strings.Contains(b.text("main"), "onerror=alert(4)") {
			t.Errorf("%+v: the names are not shown: %s", h, b.text("main"))
		}
		if got := b.attr("#verdict", "data-indication"); got != "INDETERMINATE" {
			t.Errorf("%+v: %s", h, got)
		}
		b.sound("verdict-markup")
	}
}

// Refusals on the page are sentences with role=alert: no file, a protected PDF, a
// limit, a page that is closed.
func TestCheckRefusals(t *testing.T) {
	s := startServer(t, "ROGITO_CONSOLE_CHECK_PER_MINUTE=2")
	b := open(t, s, how{Lang: "it", NoScripts: true})
	b.goTo("/check")
	b.eval("document.querySelector('#inputDocument').required = false; ''")
	b.loading(func() { b.click("#check button[type=submit]") })
	if got := b.text("[role=alert]"); !strings.Contains(got, "Scegli il file firmato") {
		t.Errorf("without a file: %q", got)
	}
	b.sound("check-refused")
	text := keep(t, "testo.txt", []byte("nessuna firma"))
	b.check(text)
	if got := b.attr("#verdict", "data-indication"); got != "INDETERMINATE" {
		t.Errorf("not signed: %s", got)
	}
	b.sound("verdict-unsigned")
	b.check(text)
	if got := b.text("[role=alert]"); !strings.Contains(got, "Aspetta un momento") {
		t.Errorf("the third in a minute: %q", got)
	}
	b.sound("429")

	closed := startServer(t, "ROGITO_CONSOLE_PUBLIC_CHECK=false")
	b = open(t, closed, how{Lang: "it"})
	b.goTo("/check")
	if got := b.text("[role=alert]"); !strings.Contains(got, "Accedi") || b.attr("#back", "href") != "/console/login" {
		t.Errorf("closed: %q", got)
	}
	b.sound("403")
}

// A file of 200 MB is refused: by the script before it is sent, by the server
// without holding it in memory.
func TestCheckLarge(t *testing.T) {
	s := startServer(t)
	path := filepath.Join(t.TempDir(), "enorme.p7m")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(200 << 20); err != nil {
		t.Fatal(err)
	}
	f.Close()
	b := open(t, s, how{})
	b.goTo("/check")
	b.drop("check-drop", path)
	if got := b.text("[role=alert]"); !strings.Contains(got, "too large") {
		t.Errorf("the page says %q", got)
	}
	before := s.peak(t)
	read, write := io.Pipe()
	m := multipart.NewWriter(write)
	go func() {
		part, err := m.CreateFormFile("inputDocument", "enorme.p7m")
		if err == nil {
			_, err = io.CopyN(part, zeros{}, 200<<20)
		}
		_ = m.Close()
		write.CloseWithError(err)
	}()
	resp, err := http.Post(s.URL+"/check", m.FormDataContentType(), read)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	page, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusRequestEntityTooLarge || !bytes.Contains(page, []byte(`role="alert"`)) {
		t.Errorf("the server says %d: %.500s", resp.StatusCode, page)
	}
	after := s.peak(t)
	t.Logf("memory at its highest: %d MB before, %d MB after 200 MB", before>>20, after>>20)
	if after-before > 64<<20 {
		t.Errorf("200 MB took %d MB of memory", (after-before)>>20)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// computed is the processor time that the server has used.
func (s *server) computed(t testing.TB) time.Duration {
	t.Helper()
	var total time.Duration
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.PID)) // none where there is no such thing
	for _, thread := range threads {
		if b, err := os.ReadFile(thread); err == nil {
			ns, _ := strconv.ParseInt(strings.Fields(string(b))[0], 10, 64)
			total += time.Duration(ns)
		}
	}
	return total
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak is the most memory that the server has held.
func (s *server) peak(t testing.TB) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID))
	if err != nil {
		t.Skipf("SKIPPED, NOT TESTED: memory of the server: %v", err)
	}
	kb, err := strconv.Atoi(string(peakLine.FindSubmatch(b)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
