package remote_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/servertest/sitetest"
	"rogito.dev/rogito/test/providers/fake"
)

// unfit are certificates that cannot be signed with, by the text of the refusal where a key is
// taken in, and the code where it is passed through.
func unfit(t *testing.T, p *adestest.PKI) map[string]*x509.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	weak := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: "Weak"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageContentCommitment,
	}
	der, err := x509.CreateCertificate(rand.Reader, weak, weak, key.Public(), key)
	if err == nil {
		weak, err = x509.ParseCertificate(der)
	}
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*x509.Certificate{
		"1024 bits": weak, "authority": p.Issuing, "expired": p.Actor(t, "expired").Certificate,
		"not for signing": p.Actor(t, "wrong-usage").Certificate, "revoked": p.Actor(t, "revoked").Certificate, "suspended": p.Actor(t, "suspended").Certificate,
	}
}

// What cannot sign is neither taken in nor passed through, and nothing is sent.
func TestAccountsUnfit(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		for _, passed := range []bool{false, true} {
			f := newFar(t, kind, func(p *server.Provider) {
				if passed {
					passes(p)
				}
			})
			for words, cert := range unfit(t, f.p.PKI) {
				d := f.device("good", "automatic", func(d *fake.Device) { d.Actor = &adestest.Actor{Certificate: cert, Key: d.Actor.Key} })
				if passed {
					r := signFar(f.site, "automatic", server.SandboxCredentials{Username: d.Name, Password: d.Password}, b64(sitetest.SampleTXT))
					if !slices.Contains([]int{112, 121}, r.Number()) || !strings.Contains(deref(r.ErrorMessage), words) {
						t.Errorf("%s, passed, %s: %d %s", kind, words, r.Number(), deref(r.ErrorMessage))
					}
				} else if c, page := f.take("automatic", d); c.Username != "" || !strings.Contains(page, words) {
					t.Errorf("%s, %s: %q %s", kind, words, c.Username, page)
				}
			}
			if sent := f.p.Sent(); len(sent) > 0 {
				t.Errorf("%s: %d digests were sent", kind, len(sent))
			}
		}
	}
}

// What is kept of a key is sealed; a refusal at the provider never locks it here.
func TestAccountsKept(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		f := newFar(t, kind)
		d := f.device("good", "automatic")
		secrets := []string{d.Password}
		c, page := f.take("automatic", d)
		if c.Username == "" {
			t.Fatal(page)
		}
		if kind == fake.ARSS {
			by := f.device("good", "automatic", func(d *fake.Device) {
				d.Password, d.Delegate, d.DelegatePassword = "", "delegate", "Secret-of-the-delegate"
			})
			secrets = append(secrets, by.DelegatePassword)
			if c, page := f.take("automatic", by); c.Username == "" {
				t.Fatal(page)
			}
		}
		f.nowhere(secrets...)
		kept := d.Password
		d.Password = "another-password"
		for range 7 {
			if r := signFar(f.site, "automatic", c, b64(sitetest.SampleTXT)); r.Number() != 110 {
				t.Errorf("%s: a password that changed there: %d %s", kind, r.Number(), deref(r.ErrorMessage))
			}
		}
		d.Password = kept
		if r := signFar(f.site, "automatic", c, b64(sitetest.SampleTXT)); r.State != "DONE" {
			t.Errorf("%s: after refusals: %d %s", kind, r.Number(), deref(r.ErrorMessage))
		}
		f.settled(t)
	}
}

// The doctor has a row for each provider that ends in its name, and advice where
// one does not answer.
func TestAccountsDoctor(t *testing.T) {
	t.Parallel()
	for _, kind := range bothKinds {
		f := newFar(t, kind)
		row := func() server.Finding {
			for _, one := range server.Doctor(t.Context(), f.Config, server.DoctorOptions{}) {
				if strings.HasSuffix(one.Part, " far") {
					return one
				}
			}
			t.Fatalf("%s: no row", kind)
			return server.Finding{}
		}
		if one := row(); one.State != "ok" || one.Text.IsZero() {
			t.Errorf("%s: %+v", kind, one)
		}
		f.p.Close()
		if one := row(); one.State != "bad" || one.Advice.IsZero() {
			t.Errorf("%s, gone: %+v", kind, one)
		}
	}
}

// At a provider of the kind csc, too, what was revoked since is found out before
// anything is sent.
func TestRemoteRevokedSince(t *testing.T) {
	t.Parallel()
	p := newProvider(t, "2")
	s := newSite(t, p.Configure("client_credentials"))
	c := s.Remote("automatic", "rsa", "1234")
	p.PKI.Revoke(p.Keys["rsa"].Actor, 1)
	for level, want := range map[string]int{"B": 0, "LT": 112} {
		if r := signFar(s, "automatic", c, b64(sitetest.SamplePDF), m{"options": m{"level": level}}); r.Number() != want {
			t.Errorf("%s: %d %s", level, r.Number(), deref(r.ErrorMessage))
		}
	}
}
