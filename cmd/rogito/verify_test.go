package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/xades"
)

// verifyFolder is a folder with files of every fate.
func verifyFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("ROGITO_NETWORK_ALLOW_PRIVATE", "127.0.0.1") // the PKI is on loopback
	pki := adestest.Start(t, time.Now)
	write := func(name string, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sign := func(actor string, detached bool) []byte {
		a := pki.Actor(t, actor)
		signing := a.Signing(pki.Now())
		d, err := cades.Prepare(context.Background(), strings.NewReader("hello"), signing, cades.Options{Detached: detached})
		if err != nil {
			t.Fatal(err)
		}
		return a.Finish(t, d, signing)
	}
	good := sign("p256", false)
	write("root.pem", pki.RootPEM())
	write("good.p7m", good)
	write("tampered.p7m", bytes.Replace(good, []byte("hello"), []byte("hallo"), 1))
	write("stranger.p7m", sign("unknown-issuer", false))
	write("detached.p7s", sign("p256", true))
	write("content.txt", []byte("hello"))
	return dir
}

func runVerify(dir string, args ...string) (int, string) {
	for i, a := range args {
		args[i] = strings.ReplaceAll(a, "DIR", dir)
	}
	var out, notes bytes.Buffer
	s := &session{ctx: context.Background(), stdin: strings.NewReader(""), stdout: &out, stderr: &notes}
	code := run(s, append([]string{"verify", "--data", dir}, args...))
	return code, out.String() + notes.String()
}

func TestVerifyExitCodes(t *testing.T) {
	dir := verifyFolder(t)
	for _, row := range []struct {
		args string
		code int
		want string
	}{
		{"--trust DIR/root.pem DIR/good.p7m", 0, "good.p7m: VALID (CAdES, 1 signature). The content is intact.\nSigned by Tester p256 "},
		{"--trust DIR/root.pem --no-network DIR/good.p7m", 2, "fetching is forbidden"},
		{"DIR/good.p7m", 2, "no European trusted list is loaded"},
		{"--trust DIR/root.pem DIR/tampered.p7m", 1, "NOT VALID"},
		{"--trust DIR/root.pem DIR/stranger.p7m", 2, "UNDETERMINED"},
		{"--trust DIR/root.pem DIR/good.p7m DIR/stranger.p7m DIR/tampered.p7m", 1, "HASH_FAILURE"},
		{"--trust DIR/root.pem DIR/good.p7m DIR/stranger.p7m", 2, "VALID"},
		{"DIR/content.txt", 1, "content.txt: NOT SIGNED\nNobody signed this document.\n"},
		{"DIR/absent.p7m", 3, "absent.p7m"},
		{"--at yesterday DIR/good.p7m", 3, "--at wants"},
		{"--trust DIR/root.pem --detached DIR/content.txt DIR/detached.p7s", 0, "VALID"},
		{"--trust DIR/root.pem --detached doc.txt=DIR/content.txt DIR/detached.p7s", 0, "VALID"},
		{"--trust DIR/root.pem DIR/detached.p7s", 2, "SIGNED_DATA_NOT_FOUND"},
		{"--trust DIR/root.pem --at 2001-01-01 DIR/good.p7m", 1, "NOT_YET_VALID"},
		{"--trust DIR/root.pem --lang it DIR/good.p7m", 0, "VALIDA (CAdES, 1 firma). Il contenuto è integro.\nFirmato da Tester p256"},
		{"--trust DIR/root.pem --etsi DIR/good.p7m", 0, "urn:etsi:019102:mainindication:total-passed"},
		{"--trust DIR/root.pem --html DIR/good.p7m", 0, "<!DOCTYPE html>"},
	} {
		code, out := runVerify(dir, strings.Fields(row.args)...)
		if code != row.code || !strings.Contains(out, row.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", row.args, code, row.code, row.want, out)
		}
	}
}

func TestVerifyJSONLines(t *testing.T) {
	dir := verifyFolder(t)
	_, out := runVerify(dir, "--trust", "DIR/root.pem", "--json", "DIR/good.p7m", "DIR/tampered.p7m")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines: %s", len(lines), out)
	}
	for i, want := range []bool{true, false} {
		var v report.View
		if err := json.Unmarshal([]byte(lines[i]), &v); err != nil {
			t.Fatal(err)
		}
		if v.File == "" || v.OverallVerified != want || (v.PlainDocument != nil) != want {
			t.Errorf("line %d: file %q, verified %v", i, v.File, v.OverallVerified)
		}
	}
}

func TestVerifyFacts(t *testing.T) {
	dir := verifyFolder(t)
	facts := filepath.Join(dir, "facts.json")
	if code, out := runVerify(dir, "--trust", "DIR/root.pem", "--save-facts", facts, "--pdf", "DIR/report.pdf", "DIR/good.p7m"); code != 0 {
		t.Fatal(out)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "report.pdf")); err != nil || !bytes.HasPrefix(b, []byte("%PDF-")) {
		t.Errorf("report: %v", err)
	}
	if code, out := runVerify(dir, "--no-network", "--facts", facts); code != 0 || !strings.Contains(out, "VALID") {
		t.Errorf("replayed: exit %d\n%s", code, out)
	}
}

// Addresses in certificates are untrusted: no private one is dialled unless that was allowed, and
// no redirect to one is followed.
func TestVerifyDialsNoPrivateAddress(t *testing.T) {
	dir := verifyFolder(t)
	t.Setenv("ROGITO_NETWORK_ALLOW_PRIVATE", "")
	code, out := runVerify(dir, "--trust", "DIR/root.pem", "DIR/good.p7m")
	if code != exitUndetermined || !strings.Contains(out, "There is no revocation data") || !strings.Contains(out, "add --allow-private 127.0.0.1:") {
		t.Errorf("exit %d\n%s", code, out)
	}
	if code, out = runVerify(dir, "--trust", "DIR/root.pem", "--allow-private", "127.0.0.1", "DIR/good.p7m"); code != exitOK {
		t.Errorf("allowed: exit %d\n%s", code, out)
	}
	if code, _ = runVerify(dir, "--allow-private", "a b", "DIR/good.p7m"); code != exitError {
		t.Errorf("nonsense: exit %d", code)
	}
	var asked atomic.Int64
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer private.Close()
	public := httptest.NewServer(http.RedirectHandler(private.URL, http.StatusFound))
	defer public.Close()
	client, err := (networkFlags{AllowPrivate: []string{strings.TrimPrefix(public.URL, "http://")}}).client()
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Get(public.URL)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusFound || asked.Load() != 0 {
		t.Errorf("status %d, the private host was asked %d times", res.StatusCode, asked.Load())
	}
}

// Names that are no UTF-8, in containers, in zips and of files, are decoded or
// escaped.
func TestVerifyNamesOfNoUnicode(t *testing.T) {
	dir := verifyFolder(t)
	signature, err := os.ReadFile(filepath.Join(dir, "detached.p7s"))
	if err != nil {
		t.Fatal(err)
	}
	pack := func(name string, files ...string) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for i := 0; i < len(files); i += 2 {
			w, err := z.CreateHeader(&zip.FileHeader{Name: files[i], Method: zip.Store, NonUTF8: true})
			if err == nil {
				_, err = w.Write([]byte(files[i+1]))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const name = "umowa_\xa5\x88\xff.txt"
	pack("signed.asics", "mimetype", "application/vnd.etsi.asic-s+zip", name, "hello", "META-INF/signature.p7s", string(signature))
	pack("plain.zip", name, "hello", name+".p7m", "no signature")
	pack("odd\xa5.asics", "mimetype", "application/vnd.etsi.asic-s+zip", name, "hello", "META-INF/signature.p7s", string(signature))
	for file, want := range map[string]int{"signed.asics": 0, "plain.zip": 1, "odd\xa5.asics": 0} {
		for _, form := range []string{"--lang=en", "--json", "--summary", "--csv=-", "--etsi", "--html"} {
			code, out := runVerify(dir, form, "--trust", "DIR/root.pem", "DIR/"+file)
			if code != want || !utf8.ValidString(out) {
				t.Errorf("%q %s: exit %d, %q", file, form, code, out)
			}
		}
	}
	if _, out := runVerify(dir, "--json", "--trust", "DIR/root.pem", "DIR/signed.asics"); !strings.Contains(out, `"signedFiles":["umowa_Ñê .txt"]`) {
		t.Error(out)
	}
}

// A certificate that names no responder and no list is reported as such: with or without the
// network, asking again does not help.
func TestVerifyNobodyToAsk(t *testing.T) {
	t.Setenv("ROGITO_NETWORK_ALLOW_PRIVATE", "127.0.0.1")
	dir, pki := t.TempDir(), adestest.Start(t, time.Now)
	a := pki.Actor(t, "no-revocation")
	signing := a.Signing(pki.Now())
	d, err := cades.Prepare(context.Background(), strings.NewReader("hello"), signing, cades.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"root.pem": pki.RootPEM(), "alone.p7m": a.Finish(t, d, signing)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct{ flags, want string }{
		{"", "names no place where its revocation could be asked for"},
		{"--no-network", "names no place where its revocation could be asked for"},
		{"--lang it", "non indica alcun luogo dove chiedere se è revocato"},
		{"--json", `"REVOCATION_NOWHERE_TO_ASK"`},
	} {
		code, out := runVerify(dir, append(strings.Fields(row.flags), "--trust", "DIR/root.pem", "DIR/alone.p7m")...)
		if code != 2 || !strings.Contains(out, row.want) {
			t.Errorf("%s: exit %d, want 2 and %q\n%s", row.flags, code, row.want, out)
		}
		for _, word := range []string{"ry again", "Riprova", "fetching is forbidden", "REVOCATION_DATA_MISSING"} {
			if strings.Contains(out, word) {
				t.Errorf("%s: %q\n%s", row.flags, word, out)
			}
		}
	}
}

// The policy that a signature was made under is told, to people and programs.
func TestVerifySignaturePolicy(t *testing.T) {
	t.Setenv("ROGITO_NETWORK_ALLOW_PRIVATE", "127.0.0.1")
	dir, pki := t.TempDir(), adestest.Start(t, time.Now)
	a := pki.Actor(t, "p256")
	signing := a.Signing(pki.Now())
	const id = "1.3.76.16.1"
	policy := &ades.SignaturePolicy{ID: id, Hash: crypto.SHA256, Digest: make([]byte, 32)}
	cms, err := cades.Prepare(context.Background(), strings.NewReader("hello"), signing, cades.Options{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	xml, err := xades.Prepare(t.Context(), []ades.File{{Name: "a.xml", Source: strings.NewReader("<a/>")}}, signing, xades.Options{Policy: policy})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"root.pem": pki.RootPEM(), "epes.p7m": a.Finish(t, cms, signing), "epes.xml": a.Finish(t, xml, signing)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"DIR/epes.p7m", "DIR/epes.xml"} {
		for flag, want := range map[string]string{"--lang=en": "Signature policy", "--lang=it": "Politica di firma", "--json": `"policy":"` + id + `"`} {
			code, out := runVerify(dir, flag, "--trust", "DIR/root.pem", file)
			if code != 0 || !strings.Contains(out, want) || !strings.Contains(out, id) {
				t.Errorf("%s %s: exit %d, want 0 and %q\n%s", flag, file, code, want, out)
			}
		}
	}
}
