package abuse_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
	"software.sslmate.com/src/go-pkcs12"
)

// places are everything that a run leaves behind or hands out, by name.
type places map[string][]byte

// find looks for a secret as it is, in hex, in base64 and URL-escaped.
func (p places) find(t *testing.T, name, secret string) {
	t.Helper()
	forms := []string{secret, hex.EncodeToString([]byte(secret)), strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="), url.QueryEscape(secret)}
	for place, b := range p {
		for _, f := range forms {
			if bytes.Contains(b, []byte(f)) {
				t.Errorf("the %s is in %s", name, place)
				break
			}
		}
	}
}

// collector takes traces in.
type collector struct {
	*httptest.Server
	mu sync.Mutex
	b  bytes.Buffer
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		in := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(r.Body)
			if err != nil {
				return
			}
			in = z
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		_, _ = c.b.ReadFrom(in)
	}))
	t.Cleanup(c.Close)
	return c
}

// Secrets of every kind go through a server whose log is at its most talkative
// and whose every request is traced. Afterwards they are nowhere: not in the
// log, the traces, the metrics, the database, the files, the audit in any form,
// the callbacks or the answers.
func TestCanaries(t *testing.T) {
	await.All(t)
	t.Parallel()
	traces := newCollector(t)
	hook := newReceiver(t, nil)
	eachEngine(t, func(t *testing.T, s *site) {
		c, auto := s.Box.Certificates["otp"], s.Box.Certificates["automatic"]
		secrets := map[string]string{
			"certificate password": auto.Password, "other certificate password": c.Password, "one-time password secret": c.TOTPSecret,
			"token": s.Box.Token, "API key": s.Box.APIKey, "webhook secret": strings.TrimPrefix(s.Box.WebhookSecret, "whsec_"),
			"wrong password": "canary-wrong-password", "TSA password": "canary-tsa-password", "PDF password": "canary-pdf-password",
			"callback header": "canary-callback-header", "PKCS#12 password": "canary-pkcs12-password", "new password": "canary-new-password",
			"header of a fetch": "canary-fetch-header", "body of a fetch": "canary-fetch-body", "document": "canary-document-text", "wrong token": "rgt_canary-wrong-token",
		}
		seen := places{}
		answers := &bytes.Buffer{}
		call := func(method, path string, body any, header ...string) *answer {
			a := s.Do(method, path, body, header...)
			fmt.Fprintf(answers, "%s %s\n", a.Message, a.Data)
			return a
		}
		doc := b64([]byte(secrets["document"]))
		call("POST", "/EU-QES_automatic", s.Body(doc, m{"certificatePassword": secrets["wrong password"]}))
		call("POST", "/EU-QES_automatic", s.Body(doc, optionsOf(m{"level": "T", "timestampUrl": s.URL + "/tsa", "timestampUsername": "u", "timestampPassword": secrets["TSA password"]})))
		call("POST", "/EU-QES_automatic", s.Body(m{"sourceType": "remote", "url": "https://nowhere.invalid/x", "method": "post", "postData": secrets["body of a fetch"], "headers": []string{"X-Key: " + secrets["header of a fetch"]}}))
		r := s.Record(call("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF), optionsOf(m{"encryptInAnyCase": true, "encryptionPassword": secrets["PDF password"], "asyncSignature": true}),
			m{"callback": m{"url": hook.URL, "headers": m{"X-Key": secrets["callback header"]}}})))
		s.Wait(r.ID, "DONE", "ERROR")
		code := s.OTP()
		call("POST", "/EU-QES_otp", s.OTPBody(doc, code))
		call("POST", "/EU-QES_otp", s.OTPBody(doc, code))
		call("GET", "/signatures", nil, "Authorization", "Bearer "+secrets["wrong token"])
		call("POST", "/EU-QES_automatic", `{"certificatePassword": "`+secrets["wrong password"]+`", "inputDocuments": `) // cut short
		_, _ = s.RawAs("", "GET", "/signatures?token="+s.Box.Token, nil)
		file, _ := pfx(t, "P256", secrets["PKCS#12 password"])
		imported, err := s.OpenServer().ImportCertificate(context.Background(), s.Box.Email, "automatic", file, secrets["PKCS#12 password"], "ida", "")
		if err != nil {
			t.Fatal(err)
		}
		call("POST", "/certificates/"+imported.ID+"/password", m{"old": secrets["PKCS#12 password"], "new": secrets["new password"]})
		k, _, _, err := pkcs12.DecodeChain(file, secrets["PKCS#12 password"])
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(k)
		if err != nil {
			t.Fatal(err)
		}
		secrets["private key"] = string(der)
		secrets["PKCS#12 file"] = string(file)
		for _, accept := range []string{"application/json", "text/plain", "text/html", "application/pdf"} {
			_, b := s.Raw("GET", "/signatures/"+r.ID+"/audit", nil, "Accept", accept)
			seen["audit as "+accept] = append(b, inflated(b)...)
		}
		var list []struct{ ID string }
		if err := json.Unmarshal(call("GET", "/callbacks", nil).Data, &list); err != nil || len(list) == 0 {
			t.Fatalf("%v %v", list, err)
		}
		call("GET", "/callbacks/"+list[0].ID, nil)
		for _, d := range hook.Wait(t, 1) {
			seen["callback's body"] = append(seen["callback's body"], d.Body...)
		}
		_, metrics := get(t, s.URL+"/metrics")
		seen["metrics"] = []byte(metrics)
		var export bytes.Buffer
		if err := s.OpenServer().ExportAudit(context.Background(), &export, 0); err != nil {
			t.Fatal(err)
		}
		seen["export of the audit"] = export.Bytes()
		seen["database"] = dump(s)
		s.Run.Stop()
		seen["log"], seen["answers"] = []byte(s.Run.Log.String()), answers.Bytes()
		traces.mu.Lock()
		seen["traces"] = bytes.Clone(traces.b.Bytes())
		traces.mu.Unlock()
		seen.addFiles(t, s.Config.Data)
		if len(seen) < 12 || len(seen["traces"]) == 0 || len(seen["log"]) < 1000 || len(seen["database"]) < 10_000 {
			t.Errorf("%d places; %d bytes of traces, %d of log, %d of database", len(seen), len(seen["traces"]), len(seen["log"]), len(seen["database"]))
		}
		for name, secret := range secrets {
			seen.find(t, name, secret)
		}
		digits := regexp.MustCompile(`(^|[^0-9a-f.])` + code + `([^0-9a-f.]|$)`) // six digits may be part of anything
		for _, place := range []string{"log", "answers", "audit as application/json", "callback's body"} {
			if digits.Match(seen[place]) {
				t.Errorf("the one-time password is in %s", place)
			}
		}
	}, sitetest.Alone(t), allow(hook.URL), func(c *server.Config) {
		c.Log.Level, c.Log.Format = "debug", "json"
		c.Telemetry.Endpoint, c.Telemetry.Sample = traces.URL, 1
	})
}

// inflated is what the compressed streams of a PDF say.
func inflated(pdf []byte) (out []byte) {
	for _, part := range bytes.Split(pdf, []byte("stream"))[1:] {
		z, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(part, "\r\n")))
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(z)
		out = append(out, text...)
	}
	return out
}

// addFiles takes in the data folder, but for the files that hold secrets for
// the operator.
func (p places) addFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "sandbox.json" || d.Name() == "master.key" {
			return err
		}
		p[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// dump is every row of every table, as text.
func dump(s *site) []byte {
	s.T.Helper()
	ctx, srv := context.Background(), s.OpenServer()
	tables, row := `select name from sqlite_master where type = 'table'`, ``
	if srv.Parts().DB.Dialect() == store.PostgreSQL {
		tables, row = `select table_name from information_schema.tables where table_schema = current_schema()`, `select t::text from %s t`
	}
	var names []string
	rows, err := srv.Parts().DB.Read().Query(ctx, tables)
	if err != nil {
		s.T.Fatal(err)
	}
	for rows.Next() {
		var n string
		if err := rows.Scan(&n); err != nil {
			s.T.Fatal(err)
		}
		names = append(names, n)
	}
	rows.Close()
	if len(names) < 20 {
		s.T.Fatalf("only %d tables", len(names))
	}
	var out bytes.Buffer
	for _, n := range names {
		fmt.Fprintln(&out, n)
		if row == "" {
			continue // SQLite's file is read as it is
		}
		rows, err := srv.Parts().DB.Read().Query(ctx, fmt.Sprintf(row, n))
		if err != nil {
			s.T.Fatal(err)
		}
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				s.T.Fatal(err)
			}
			fmt.Fprintln(&out, text)
		}
		rows.Close()
	}
	if row == "" {
		for _, f := range []string{"rogito.db", "rogito.db-wal"} {
			b, _ := os.ReadFile(filepath.Join(s.Config.Data, f))
			out.Write(b)
		}
	}
	return out.Bytes()
}

// Who steals the database, or the whole data folder but the master key, cannot
// sign: not with a key of their own, not with the holder's password. Who has
// the master key as well still lacks the password.
func TestStolenDatabase(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		ctx, srv := context.Background(), s.OpenServer()
		auto := s.Box.Certificates["automatic"]
		s.Sign(b64(sitetest.SamplePDF))
		var id string
		var sealed []byte
		if err := srv.Parts().DB.Read().QueryRow(ctx, `select id, sealed from credentials where username = $1`, auto.Username).Scan(&id, &sealed); err != nil {
			t.Fatal(err)
		}
		thief := keys.NewVault(stranger{}, keys.VaultConfig{})
		if key, err := thief.Open(ctx, keys.Owner(id, keys.Automatic, 1), sealed, auto.Password); err == nil {
			t.Errorf("a key opens without the master key: %T", key)
		}
		insider := keys.NewVault(srv.Parts().Master, keys.VaultConfig{})
		for _, guess := range []string{"", "password", auto.Username, strings.ToUpper(auto.Password), auto.Password[:len(auto.Password)-1]} {
			if _, err := insider.Open(ctx, keys.Owner(id, keys.Automatic, 1), sealed, guess); !errors.Is(err, keys.ErrPassword) {
				t.Errorf("with the master key and %q: %v", guess, err)
			}
		}
		if _, err := insider.Open(ctx, keys.Owner(id, keys.Automatic, 1), sealed, auto.Password); err != nil {
			t.Errorf("with both: %v", err)
		}
		dump := dump(s)
		for name, v := range map[string]string{"token": s.Box.Token, "API key": s.Box.APIKey, "password": auto.Password} {
			plain := sha256.Sum256([]byte(v)) // a bare digest could be looked up in a table
			places{"the database": dump}.find(t, name, v)
			places{"the database": dump}.find(t, "bare digest of the "+name, string(plain[:]))
		}
		if bytes.Contains(dump, []byte("PRIVATE KEY")) || bytes.Contains(dump, []byte("%PDF-")) {
			t.Error("a key or a document lies in the open")
		}
		s.Run.Stop()
		cfg := s.Config
		cfg.Data, cfg.Log.Level = t.TempDir(), "error"
		if cfg.Database == "sqlite" {
			copyFolder(t, s.Config.Data, cfg.Data, "master.key")
		}
		own := make([]byte, 32)
		_, _ = rand.Read(own)
		for _, key := range []string{"", hex.EncodeToString(own)} {
			cfg.MasterKey = key
			if stolen, err := server.Open(ctx, cfg); err == nil {
				stolen.Close()
				t.Errorf("the stolen installation opens with %d digits of another key", len(key))
			}
		}
	}, sitetest.Alone(t))
}

// stranger is a master key that is not ours.
type stranger struct{}

func (stranger) SealFor(_, _ string, b []byte) ([]byte, error) { return b, nil }

func (stranger) UnsealFor(_, _ string, b []byte) ([]byte, error) { return b, nil }

func (stranger) MAC(string, []byte) [32]byte { return [32]byte{} }

func copyFolder(t *testing.T, from, to string, but ...string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		for _, b := range but {
			if d.Name() == b {
				return nil
			}
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
