package adestest_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"golang.org/x/crypto/ocsp"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return at }

func TestEverybodyIsWhoTheyAre(t *testing.T) {
	pki := adestest.Must(t, clock)
	roots, inter := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(pki.Root)
	inter.AddCert(pki.Issuing)
	refused := map[string]bool{"expired": true, "not-yet-valid": true, "unknown-issuer": true}
	for _, name := range adestest.Cast() {
		if name == "rsa4096" {
			continue // slow to make, and no different
		}
		a := pki.Actor(t, name)
		_, err := a.Certificate.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: inter, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
		})
		if (err != nil) != refused[name] {
			t.Errorf("%s: %v", name, err)
		}
		if again := pki.Actor(t, name); again != a {
			t.Errorf("%s is somebody else the second time", name)
		}
	}
	if _, err := pki.Enter("nobody"); err == nil {
		t.Error("nobody has entered")
	}
}

func get(t testing.TB, c *http.Client, url string) []byte {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, resp.StatusCode, err)
	}
	return b
}

func TestServices(t *testing.T) {
	pki := adestest.Start(t, clock)
	for name, client := range map[string]*http.Client{"loopback": http.DefaultClient, "in process": pki.HTTP()} {
		good, revoked, listed := pki.Actor(t, "p256"), pki.Actor(t, "revoked"), pki.Actor(t, "revoked-crl")
		for a, want := range map[*adestest.Actor]int{good: ocsp.Good, revoked: ocsp.Revoked} {
			req, err := ocsp.CreateRequest(a.Certificate, pki.Issuing, &ocsp.RequestOptions{Hash: crypto.SHA256})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Post(a.Certificate.OCSPServer[0], "application/ocsp-request", bytes.NewReader(req))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			byGet := get(t, client, a.Certificate.OCSPServer[0]+"/"+url.PathEscape(base64.StdEncoding.EncodeToString(req)))
			for _, answer := range [][]byte{body, byGet} {
				got, err := ocsp.ParseResponseForCert(answer, a.Certificate, pki.Issuing)
				if err != nil || got.Status != want {
					t.Errorf("%s: %s: %+v, %v", name, a.Name, got, err)
				}
			}
		}
		list, err := x509.ParseRevocationList(get(t, client, listed.Certificate.CRLDistributionPoints[0]))
		if err != nil || len(list.RevokedCertificateEntries) == 0 {
			t.Errorf("%s: %v", name, err)
		}
		issuer, err := x509.ParseCertificate(get(t, client, good.Certificate.IssuingCertificateURL[0]))
		if err != nil || !issuer.Equal(pki.Issuing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pki.HTTP().Get("http://example.com/"); err == nil {
		t.Error("the world is reached")
	}
}

func TestGather(t *testing.T) {
	pki := adestest.Must(t, clock)
	var _ ades.Gatherer = pki
	leaves := [][]byte{pki.Actor(t, "p256").Certificate.Raw, pki.Unit.Certificate.Raw}
	b, err := pki.Gather(context.Background(), leaves, ades.Bundle{})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.OCSPs) != 1 || len(b.CRLs) != 3 || len(b.Certificates) != 6 {
		t.Errorf("%d OCSP, %d CRL, %d certificates", len(b.OCSPs), len(b.CRLs), len(b.Certificates))
	}
	var missing *ades.MissingError
	for _, name := range []string{"unknown-issuer", "no-revocation"} {
		_, err := pki.Gather(context.Background(), [][]byte{pki.Actor(t, name).Certificate.Raw}, ades.Bundle{})
		if !errors.As(err, &missing) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func ExampleNew() {
	pki, err := adestest.New(clock, "")
	if err != nil {
		panic(err)
	}
	a, err := pki.Enter("good")
	if err != nil {
		panic(err)
	}
	fmt.Println(a.Certificate.Subject.CommonName)
	// Output: Tester good
}
