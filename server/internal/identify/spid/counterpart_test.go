package spid_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/spid"
)

// spidSPTest is AgID's acceptance test as a program, from PyPI.
const spidSPTest = "spid-sp-test==1.2.18"

// TestCounterpart has spid-sp-test judge our metadata, requests and handling of
// responses. `make identify` runs it: it installs from PyPI, into a folder
// that is kept.
func TestCounterpart(t *testing.T) {
	if os.Getenv("ROGITO_IDENTIFY") == "" {
		t.Skip("SKIPPED: spid-sp-test is run by `make identify`")
	}
	program := install(t)
	dir := t.TempDir() // its own certificate has expired
	k := keys()
	if k.err != nil {
		t.Fatal(k.err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(k.idp.Signer.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"private.key": {Type: "PRIVATE KEY", Bytes: pkcs8},
		"public.cert": {Type: "CERTIFICATE", Bytes: k.idp.Signer.Certificate},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command(filepath.Join(filepath.Dir(program), "python"), append([]string{program}, args...)...)
		cmd.Env = append(os.Environ(), "IDP_ENTITYID=https://localhost:8443", "IDP_CERT_PATH="+dir, "NO_PROXY=*", "PYTHONWARNINGS=ignore")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	metadata, err := run("--idp-metadata")
	at := strings.Index(metadata, "<")
	if err != nil || at < 0 {
		t.Fatalf("%v: %s", err, metadata)
	}
	metadata = metadata[at:]
	redirect := strings.ReplaceAll(metadata, `Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"`, `Binding="urn:oasis:names:tc:SAML:2.0:bindings:SOAP"`)
	if redirect == metadata {
		t.Fatal("the metadata of spid-sp-test name no HTTP-POST")
	}
	for _, c := range []struct {
		name, profile, metadata string
		level, responses        int
	}{
		{"private, level 2", "spid-sp-private", metadata, 2, 100},
		{"public, level 3", "spid-sp-public", metadata, 3, 100},
		{"private, by HTTP-Redirect, level 3", "spid-sp-private", redirect, 3, 0},
		{"public, by HTTP-Redirect, level 2", "spid-sp-public", redirect, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			here := serve(t, func(cfg *spid.Config, _ *spid.Deps) {
				cfg.Level, cfg.IDPMetadata = c.level, []string{file(t, []byte(c.metadata))}
				cfg.Organization = spid.Organization{Name: "Rogito prova", DisplayName: "Rogito", URL: "https://rogito.example"}
				cfg.Contact = spid.Contact{Email: "spid@rogito.example", Telephone: "+39 06 0000000", IPACode: "c_h501", VATNumber: "IT12345678901"}
				if c.profile == "spid-sp-private" {
					cfg.Contact.IPACode, cfg.Contact.FiscalCode = "", "12345678901"
					cfg.Billing = spid.Billing{
						Name: "Rogito prova", VATNumber: "IT12345678901", Address: "Via Prova 1", PostalCode: "00100",
						City: "Roma", Province: "RM", Email: "conti@rogito.example",
					}
				}
			})
			report := filepath.Join(t.TempDir(), "report.json")
			args := []string{
				"--metadata-url", here + "/spid/metadata", "--authn-url", here + "/start?idp=https://localhost:8443",
				"--extra", "-pr", c.profile, "-d", "ERROR", "-rf", "json", "-o", report,
			}
			if c.responses > 0 {
				args = append(args, "-tr")
			}
			out, err := run(args...)
			judge(t, report, c.responses)
			if err != nil || !strings.Contains(out, ", 0 failed") {
				t.Errorf("%v: %s", err, out)
			}
			t.Log(strings.TrimSpace(out[max(0, strings.LastIndex(out, "Spid QA")):]))
		})
	}
}

// judge reads the report: each part must be there, since a part that breaks off
// is left out without being counted as failed.
func judge(t *testing.T, report string, responses int) {
	t.Helper()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Error(err)
		return
	}
	var r struct {
		Test struct {
			SP map[string]map[string][]struct {
				Test          any // mostly a string
				Result, Value string
			}
		}
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Error(err)
	}
	for part, least := range map[string]int{"metadata_extra": 50, "authnrequest_extra": 40, "response": responses} {
		n := 0
		for _, rows := range r.Test.SP[part] {
			for _, row := range rows {
				if n++; row.Result != "success" {
					t.Errorf("%s: %s: %v (%.200s)", part, row.Result, row.Test, row.Value)
				}
			}
		}
		if n < least {
			t.Errorf("%s: %d checks, want %d or more", part, n, least)
		}
		t.Logf("%s: %d checks", part, n)
	}
}

// install makes a folder of Python with the program, once.
func install(t *testing.T) string {
	t.Helper()
	for _, need := range []string{"python3", "xmlsec1", "openssl"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("SKIPPED: %s is not installed", need)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	venv := filepath.Join(cache, "rogito-spid-sp-test", spidSPTest)
	program := filepath.Join(venv, "bin", "spid_sp_test")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if out, err := exec.Command("python3", "-m", "venv", venv).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no folder of Python can be made: %v: %s", err, out)
	}
	if out, err := exec.Command(filepath.Join(venv, "bin", "pip"), "install", "-q", spidSPTest).CombinedOutput(); err != nil {
		os.RemoveAll(venv)
		t.Skipf("SKIPPED: pip cannot install %s: %v: %s", spidSPTest, err, out)
	}
	return program
}

// serve is a small server around the method: metadata, a page that starts, and
// the address for answers, with a store that takes each request once.
func serve(t *testing.T, change func(*spid.Config, *spid.Deps)) string {
	t.Helper()
	var w *world
	var mu sync.Mutex
	waiting, taken, reasons := map[string][]byte{}, map[string]bool{}, map[string]int{}
	t.Cleanup(func() { t.Log("refused for:", reasons) })
	mux := http.NewServeMux()
	mux.HandleFunc("GET /spid/metadata", func(rw http.ResponseWriter, r *http.Request) { w.sp.ServeMetadata(rw, r) })
	mux.HandleFunc("GET /start", func(rw http.ResponseWriter, r *http.Request) {
		d, err := w.sp.Start(r.Context(), r.URL.Query().Get("idp"))
		if err != nil {
			http.Error(rw, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		mu.Lock()
		waiting[d.Request] = d.State
		mu.Unlock()
		if d.Form == nil {
			http.Redirect(rw, r, d.URL, http.StatusFound)
			return
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = rw.Write([]byte("<!DOCTYPE html><title>SPID</title><body>" + spid.FormHTML(d)))
	})
	mux.HandleFunc("POST /spid/acs", func(rw http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // Finish refuses what is not there
		err := func() error {
			id, err := w.sp.Request(r.PostForm)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			state, ok := waiting[id]
			if delete(waiting, id); !ok {
				return errors.New("no such request")
			}
			a, err := w.sp.Finish(context.Background(), state, url.Values(r.PostForm))
			if err != nil {
				return err
			}
			if taken[a.ID] {
				return errors.New("replay")
			}
			taken[a.ID] = true
			return nil
		}()
		if err != nil {
			var no *identify.Refusal
			if mu.Lock(); errors.As(err, &no) {
				reasons[no.Reason]++
			} else {
				reasons[err.Error()]++
			}
			mu.Unlock()
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
			rw.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = rw.Write([]byte(`<p id="problem" data-code="313">` + html.EscapeString(err.Error()) + "</p>"))
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	w = newWorld(t, change, func(_ *spid.Config, d *spid.Deps) { d.PublicURL = server.URL })
	return server.URL
}
