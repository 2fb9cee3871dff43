package cie_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cie"
	"rogito.dev/rogito/server/internal/identify/cie/cietest"
)

// A whole code flow with a provider that others wrote ends in a proof, and each
// tampered variant is refused for its reason.
func TestCounterpart(t *testing.T) {
	p := cietest.Start(t)
	ctx, provider := context.Background(), p.Entity()
	var d *cie.CIE
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.Handler().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	guard, err := fetch.New(fetch.Config{AllowPrivate: []string{p.Host(), strings.TrimPrefix(server.URL, "http://")}})
	if err != nil {
		t.Fatal(err)
	}
	config := p.Settings(server.URL)
	with := func(config cie.Config) *cie.CIE {
		c, err := cie.New(config, cie.Deps{Client: guard.Client(30 * time.Second), Plain: guard.Named})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	d = with(config)
	p.Onboard(config)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	login := func(to *identify.Departure) url.Values { return p.Login(browser, to.URL).Query() }
	// A busy machine may take longer to answer than a person is made to wait: who is
	// told so tries again.
	start := func() (to *identify.Departure, err error) {
		for range 5 {
			if to, err = d.Start(ctx, provider); !errors.Is(err, fault.Unavailable) {
				break
			}
		}
		return to, err
	}

	for _, f := range d.Check(ctx) {
		if !f.OK {
			t.Errorf("check: %s: %s", f.Name, f.Detail)
		}
	}
	if all := d.Providers(ctx); len(all) != 1 || all[0].ID != provider || all[0].Name != "Test provider" {
		t.Fatalf("providers %v", all)
	}
	to, err := start()
	if err != nil {
		t.Fatal(err)
	}
	back := login(to)
	a, err := d.Finish(ctx, to.State, back)
	if err != nil {
		t.Fatal(err)
	}
	// The provider has an address but does not say that it verified it.
	want := identify.Attributes{GivenName: "Mario", Surname: "Rossi", FiscalCode: "RSSMRA80A01H501U", DateOfBirth: "1980-01-01"}
	if a.Proof.Proven != want || a.Proof.Issuer != provider || a.Proof.Level != "https://www.spid.gov.it/SpidL3" || len(a.Files) != 3 {
		t.Errorf("proof %+v", a.Proof)
	}

	// A replayed code: this provider hands out its tokens again, so the second
	// answer must have the id of the first, which the store takes once. In
	// another request the code is of no use.
	if again, err := d.Finish(ctx, to.State, back); err != nil || again.ID != a.ID {
		t.Errorf("replay: %v", err)
	}
	other, err := start()
	if err != nil {
		t.Fatal(err)
	}
	stolen := url.Values{"state": {other.Request}, "iss": {provider}, "code": {back.Get("code")}}
	_, err = d.Finish(ctx, other.State, stolen)
	refused(t, "a replayed code", err, "code")

	for _, c := range []struct{ what, tamper, reason string }{
		{"a changed nonce", "id_token_nonce=another", "nonce"},
		{"another audience", "id_token_aud=https://other.example", "audience"},
		{"another issuer", "id_token_iss=https://other.example", "issuer"},
		{"a weaker level", "id_token_acr=https://www.spid.gov.it/SpidL2", "level"},
	} {
		p.Tamper(c.tamper)
		to, err := start()
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Finish(ctx, to.State, login(to))
		refused(t, c.what, err, c.reason)
	}
	for _, c := range []struct{ what, tamper, reason string }{
		{"no trust mark", "no_mark=1", "trust-mark"},
		{"an expired statement", "statement_exp=-60", "chain"},
		{"under another anchor", "hints=" + p.URL + "/other", "chain"},
	} {
		p.Tamper(c.tamper)
		_, err := start()
		refused(t, c.what, err, c.reason)
	}
	p.Tamper("")

	// The provider stands under an anchor that is not ours.
	config.TrustAnchors, config.Providers = []string{p.URL + "/other"}, []string{provider}
	_, err = with(config).Start(ctx, provider)
	refused(t, "another anchor", err, "chain")

	if to, err = start(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Finish(ctx, to.State, login(to)); err != nil {
		t.Errorf("at last, untampered: %v", err)
	}
}
