package authority_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/ca"
	"rogito.dev/rogito/server/internal/authority"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
)

func open(t *testing.T, db *store.DB, m *master.Key, sandbox bool) *authority.Authority {
	t.Helper()
	a, err := authority.Open(context.Background(), db, m, authority.Config{PublicURL: "http://pki.example", Sandbox: sandbox})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, db *store.DB, a *authority.Authority, seal bool) *x509.Certificate {
	t.Helper()
	key, err := keys.Generate("P256")
	if err != nil {
		t.Fatal(err)
	}
	var cert *x509.Certificate
	err = db.Write(context.Background(), func(tx *store.Tx) (err error) {
		cert, err = a.Issue(context.Background(), tx, authority.Order{
			CertificateID: store.NewID(), Seal: seal, Public: key.Public(), Years: 3,
			Subject: authority.Subject{GivenName: "Ada", Surname: "Prova", FiscalCode: "PRVDAA80A41H501X", Organization: "Prova srl", OrganizationIdentifier: "VATIT-01234567890"},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

var (
	qcCompliance = []byte{0x06, 0x06, 0x04, 0x00, 0x8e, 0x46, 0x01, 0x01}
	qcSSCD       = []byte{0x06, 0x06, 0x04, 0x00, 0x8e, 0x46, 0x01, 0x04}
)

func TestProfiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		a := open(t, db, m, true)
		for _, seal := range []bool{false, true} {
			c := issue(t, db, a, seal)
			if c.KeyUsage != x509.KeyUsageContentCommitment {
				t.Errorf("key usage %v, want non-repudiation alone", c.KeyUsage)
			}
			if !strings.Contains(c.Subject.CommonName, "SANDBOX") || !strings.Contains(c.Issuer.CommonName, "SANDBOX") {
				t.Errorf("names without SANDBOX: %s, %s", c.Subject, c.Issuer)
			}
			if !bytes.Contains(c.Raw, qcCompliance) || bytes.Contains(c.Raw, qcSSCD) {
				t.Error("QcCompliance is missing, or QcSSCD stands on a software key")
			}
			if len(c.OCSPServer) == 0 || len(c.CRLDistributionPoints) == 0 || len(c.IssuingCertificateURL) == 0 {
				t.Error("addresses are missing")
			}
			inter := x509.NewCertPool()
			inter.AddCert(a.Chain()[0])
			roots := x509.NewCertPool()
			roots.AddCert(a.Root())
			c.UnhandledCriticalExtensions = nil
			if _, err := c.Verify(x509.VerifyOptions{Roots: roots, Intermediates: inter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
				t.Error(err)
			}
		}
	})
}

// Lists, answers and issuers are named by the address for them, statements for people
// by the one for people; both are answered in process.
func TestStatusAddress(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		a, err := authority.Open(t.Context(), db, m, authority.Config{PublicURL: "https://sign.example", StatusURL: "http://status.example/"})
		if err != nil {
			t.Fatal(err)
		}
		c := issue(t, db, a, false)
		got := fmt.Sprint(c.CRLDistributionPoints, c.OCSPServer, c.IssuingCertificateURL)
		if want := "[http://status.example/pki/ca.crl] [http://status.example/pki/ocsp] [http://status.example/pki/ca.crt]"; got != want {
			t.Errorf("%s", got)
		}
		if !bytes.Contains(c.Raw, []byte("https://sign.example/pki/cps")) {
			t.Error("the statement is not at the address for people")
		}
		if got := fmt.Sprint(a.Bases()); got != "[https://sign.example http://status.example/]" {
			t.Errorf("answered in process: %s", got)
		}
	})
}

func TestNoQcComplianceOutsideTheSandbox(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		c := issue(t, db, open(t, db, m, false), false)
		if bytes.Contains(c.Raw, qcCompliance) || bytes.Contains(c.Raw, qcSSCD) || strings.Contains(c.Subject.String()+c.Issuer.String(), "SANDBOX") {
			t.Errorf("%s by %s states too much", c.Subject, c.Issuer)
		}
	})
}

func TestTheSameAuthorityAfterRestart(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		a, b := open(t, db, m, true), open(t, db, m, true)
		if !a.Root().Equal(b.Root()) || a.AuditKey() != b.AuditKey() {
			t.Error("another authority")
		}
	})
}

func get(t *testing.T, h http.Handler, method, path string, body []byte) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, bytes.NewReader(body)))
	if w.Code != 200 {
		t.Fatalf("%s %s: %d", method, path, w.Code)
	}
	return w.Body.Bytes()
}

// OpenSSL must read every answer as we mean it.
func TestRevocationWithOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("SKIPPED: openssl is not installed")
	}
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		a := open(t, db, m, true)
		h := a.Handler()
		srv := httptest.NewServer(h)
		defer srv.Close()
		c := issue(t, db, a, false)
		dir := t.TempDir()
		file := func(name string, b []byte) string {
			p := filepath.Join(dir, name)
			if err := os.WriteFile(p, b, 0o600); err != nil {
				t.Fatal(err)
			}
			return p
		}
		root, issuing := file("root.pem", get(t, h, "GET", "/pki/root.pem", nil)), file("ca.pem", get(t, h, "GET", "/pki/ca.pem", nil))
		leaf := file("leaf.crt", c.Raw)
		ocsp := func() string {
			out, err := exec.Command(openssl, "ocsp", "-issuer", issuing, "-cert", leaf, "-url", srv.URL+"/pki/ocsp", "-CAfile", root, "-verify_other", issuing).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return string(out)
		}
		if out := ocsp(); !strings.Contains(out, "good") || !strings.Contains(out, "verify OK") {
			t.Errorf("%s", out)
		}
		set := func(fn func(tx *store.Tx) error) {
			if err := db.Write(context.Background(), fn); err != nil {
				t.Fatal(err)
			}
		}
		crlHas := func() bool {
			l, err := x509.ParseRevocationList(get(t, h, "GET", "/pki/ca.crl", nil))
			if err != nil {
				t.Fatal(err)
			}
			if err := l.CheckSignatureFrom(a.Chain()[0]); err != nil {
				t.Error(err)
			}
			for _, e := range l.RevokedCertificateEntries {
				if e.SerialNumber.Cmp(c.SerialNumber) == 0 {
					return true
				}
			}
			return false
		}
		serial := c.SerialNumber.String()
		if crlHas() {
			t.Error("listed before it was revoked")
		}
		set(func(tx *store.Tx) error { return a.Revoke(context.Background(), tx, serial, authority.ReasonHold) })
		if out := ocsp(); !strings.Contains(out, "certificateHold") || !crlHas() {
			t.Errorf("%s", out)
		}
		set(func(tx *store.Tx) error { return a.Release(context.Background(), tx, serial) })
		if out := ocsp(); !strings.Contains(out, "good") || crlHas() {
			t.Errorf("%s", out)
		}
		set(func(tx *store.Tx) error { return a.Revoke(context.Background(), tx, serial, 1) })
		if out := ocsp(); !strings.Contains(out, "revoked") || !crlHas() {
			t.Errorf("%s", out)
		}
		err := db.Write(context.Background(), func(tx *store.Tx) error { return a.Release(context.Background(), tx, serial) })
		if err == nil {
			t.Error("a revocation for good was undone")
		}
		if l, err := x509.ParseRevocationList(get(t, h, "GET", "/pki/root.crl", nil)); err != nil || l.CheckSignatureFrom(a.Root()) != nil {
			t.Errorf("root list: %v", err)
		}
	})
}

func TestOCSPOverGETAndGarbage(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		a := open(t, db, m, true)
		c := issue(t, db, a, false)
		req := ca.CertIDOf(a.Chain()[0], c.SerialNumber, crypto.SHA1).Encode(nil)
		out := get(t, a.Handler(), "GET", "/pki/ocsp/"+url.PathEscape(base64.StdEncoding.EncodeToString(req)), nil)
		if len(out) < 100 {
			t.Errorf("an answer of %d bytes", len(out))
		}
		for _, garbage := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte{0x30}, 5000)} {
			if out := get(t, a.Handler(), "POST", "/pki/ocsp", garbage); len(out) > 20 {
				t.Errorf("garbage is answered with %d bytes", len(out))
			}
		}
	})
}

func TestTimestamps(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		a := open(t, db, m, true)
		d := sha256.Sum256([]byte("x"))
		token, err := a.Stamper().Stamp(context.Background(), crypto.SHA256, d[:])
		if err != nil || len(token) == 0 {
			t.Fatal(err)
		}
		srv := httptest.NewServer(a.Handler())
		defer srv.Close()
		resp, err := (&http.Client{Timeout: 5 * time.Second}).Post(srv.URL+"/tsa", "application/timestamp-query", strings.NewReader("garbage"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, _ := io.ReadAll(resp.Body); len(b) > 200 {
			t.Errorf("garbage is stamped: %d bytes", len(b))
		}
	})
}

// An authority that a command made before anybody knew what the installation
// is to be gives way; one that has issued something never does.
func TestAuthorityFitsTheInstallation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		early, err := authority.Open(t.Context(), db, m, authority.Config{Sandbox: true})
		if err != nil {
			t.Fatal(err)
		}
		a := open(t, db, m, false)
		if a.Root().Equal(early.Root()) || strings.Contains(a.Root().Subject.String(), "SANDBOX") {
			t.Errorf("production has the root %s", a.Root().Subject)
		}
		if got := a.Chain()[0].CRLDistributionPoints; len(got) != 1 || !strings.HasPrefix(got[0], "http://pki.example/") {
			t.Errorf("revocation at %q", got)
		}
		issue(t, db, a, false)
		if _, err := authority.Open(t.Context(), db, m, authority.Config{Sandbox: true}); !errors.Is(err, authority.ErrKind) {
			t.Errorf("a sandbox on a used authority: %v", err)
		}
		if again := open(t, db, m, false); !again.Root().Equal(a.Root()) {
			t.Error("a used authority was replaced")
		}
	})
}

// A list is made outside of any transaction. Of those that several processes make
// at once, one counts: no number stands on two lists.
func TestListsAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		var handlers []http.Handler
		for range 4 {
			a, err := authority.Open(t.Context(), db, m, authority.Config{PublicURL: "http://pki.example"})
			if err != nil {
				t.Fatal(err)
			}
			handlers = append(handlers, a.Handler())
		}
		lists := map[string]string{} // by number
		for range 5 {
			storetest.Exec(t, db, `update authority_crl set next_update = 0`)
			answers := make(chan []byte, 2*len(handlers))
			for i := range cap(answers) {
				go func() {
					w := httptest.NewRecorder()
					handlers[i%len(handlers)].ServeHTTP(w, httptest.NewRequest("GET", "/pki/ca.crl", nil))
					answers <- w.Body.Bytes()
				}()
			}
			for range cap(answers) {
				der := <-answers
				list, err := x509.ParseRevocationList(der)
				if err != nil {
					t.Fatal(err)
				}
				if n := list.Number.String(); lists[n] != "" && lists[n] != string(der) {
					t.Errorf("two lists have the number %s", n)
				} else {
					lists[n] = string(der)
				}
			}
		}
		if len(lists) < 5 {
			t.Errorf("%d lists were made of 5", len(lists))
		}
	})
}

// The authority's own certificates are in its table as others are: a row that was
// taken away or changed is told.
func TestOwnRowsAreExamined(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB, m *master.Key) {
		a := open(t, db, m, true)
		examined := func() (all []string) {
			if err := a.Examine(context.Background(), func(s string) { all = append(all, s) }); err != nil {
				t.Fatal(err)
			}
			return all
		}
		if all := examined(); len(all) > 0 {
			t.Fatalf("%q", all)
		}
		for _, c := range []struct{ query, want string }{
			{`update authority_issued set not_after = not_after + 1 where certificate_id = ''`, "was changed"},
			{`delete from authority_issued where certificate_id = ''`, "is gone"},
		} {
			err := db.Write(context.Background(), func(tx *store.Tx) error { _, err := tx.Exec(context.Background(), c.query); return err })
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(examined(), "\n"); strings.Count(text, c.want) != 2 || !strings.Contains(text, "tsa: ") || !strings.Contains(text, "seal: ") {
				t.Errorf("%s: %s", c.query, text)
			}
		}
	})
}
