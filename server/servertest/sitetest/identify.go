package sitetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/cns/demo"
)

// CardSite is a server that asks for cards, with an authority of them.
func CardSite(t *testing.T, change ...func(*server.Config)) (*Site, *demo.Authority) {
	t.Helper()
	mux := http.NewServeMux()
	lists := httptest.NewServer(mux)
	t.Cleanup(lists.Close)
	authority, err := demo.NewAuthority("CA Carta Nazionale dei Servizi", lists.URL+"/crl", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle("/crl", authority)
	dir := t.TempDir()
	anchors := filepath.Join(dir, "anchors.pem")
	if err := os.WriteFile(anchors, authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	cert, key := SelfSigned(t, dir)
	return NewSite(t, append([]func(*server.Config){Allow(lists.URL), func(c *server.Config) {
		k := &c.Identify.CNS
		k.Listen, k.URL, k.Cert, k.Key, k.Anchors, k.Header = ln.Addr().String(), "https://"+ln.Addr().String(), cert, key, []string{anchors}, "X-Card"
	}}, change...)...), authority
}

// Reader is a browser with a card in its reader; nil: with none.
func Reader(t *testing.T, card *tls.Certificate) *http.Client {
	b := ABrowser(t)
	cfg := &tls.Config{InsecureSkipVerify: true}
	if card != nil {
		cfg.Certificates = []tls.Certificate{*card}
	}
	b.Transport = &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
	return b
}

func (s *Site) Read(browser *http.Client, address string, header ...string) (int, string) {
	s.T.Helper()
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		s.T.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := browser.Do(r)
	if err != nil {
		s.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// CardLink is where the page of an order asks for the card.
func (s *Site) CardLink(browser *http.Client, c Bought) string {
	s.T.Helper()
	_, page := s.Read(browser, c.CertificateLink)
	_, rest, _ := strings.Cut(page, `href="https://127.0.0.1`)
	link, _, found := strings.Cut(rest, `"`)
	if !found || !strings.Contains(link, "/cns/") {
		s.T.Fatalf("the page has no link to the card: %s", page)
	}
	return "https://127.0.0.1" + link
}

var formTag = regexp.MustCompile(`(?s)<form([^>]*)>(.*?)</form>`)

var field = regexp.MustCompile(`<(?:input|button)[^>]* name="([^"]*)"[^>]* value="([^"]*)"`)

var chosen = regexp.MustCompile(`(?s)<select name="([^"]*)".*?<option value="([^"]*)"`)

var actionOf = regexp.MustCompile(`action="([^"]*)"`)

// Submit sends the first form of a page as it stands, the first of its choices
// chosen.
func Submit(t *testing.T, browser *http.Client, page string, at *url.URL) (*http.Response, string) {
	t.Helper()
	form := formTag.FindStringSubmatch(page)
	if form == nil {
		t.Fatalf("no form at %s: %s", at, page)
	}
	target, values := at, url.Values{}
	if a := actionOf.FindStringSubmatch(form[1]); a != nil {
		u, err := at.Parse(html.UnescapeString(a[1]))
		if err != nil {
			t.Fatal(err)
		}
		target = u
	}
	for _, f := range append(field.FindAllStringSubmatch(form[2], -1), chosen.FindAllStringSubmatch(form[2], -1)...) {
		if !values.Has(f[1]) {
			values.Set(f[1], html.UnescapeString(f[2]))
		}
	}
	resp, err := browser.PostForm(target.String(), values)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp, string(b)
}

// Pretend is a method whose answers say who the person is, as they like: what
// stands around it is what is tested here.
type Pretend struct{ Until time.Duration }

func (Pretend) Name() string { return "spid" }

func (Pretend) Providers(context.Context) []identify.Provider {
	return []identify.Provider{{ID: "https://idp.example/a?b=c", Name: "Pretender"}}
}

func (p Pretend) Start(_ context.Context, provider string) (*identify.Departure, error) {
	if provider != "https://idp.example/a?b=c" {
		return nil, &identify.Refusal{Reason: "provider", English: "There is no such provider.", Italian: "Questo gestore non esiste."}
	}
	id := "_" + rand.Text()
	return &identify.Departure{Request: id, URL: "https://idp.example/sso", Form: map[string]string{"SAMLRequest": id, "RelayState": "x"}, State: []byte("state of " + id), Until: time.Now().Add(p.Until)}, nil
}

func (Pretend) Request(answer url.Values) (string, error) {
	if answer.Get("InResponseTo") == "" {
		return "", &identify.Refusal{Reason: "empty", English: "There is no answer here.", Italian: "Qui non c'è nessuna risposta."}
	}
	return answer.Get("InResponseTo"), nil
}

func (Pretend) Finish(_ context.Context, state []byte, answer url.Values) (*identify.Answer, error) {
	switch {
	case string(state) != "state of "+answer.Get("InResponseTo"):
		return nil, errors.New("another's state")
	case answer.Get("say") == "no":
		return nil, &identify.Refusal{Reason: "nr25", English: "You cancelled the identification.", Italian: "Hai annullato l'identificazione."}
	case answer.Get("say") == "broken":
		return nil, errors.New("the provider is on fire")
	}
	return &identify.Answer{
		Proof: &identify.Proof{
			Issuer: "https://idp.example/a?b=c", Level: "https://www.spid.gov.it/SpidL2", At: time.Now(),
			Proven: identify.Attributes{GivenName: answer.Get("name"), Surname: "Prova", FiscalCode: answer.Get("code")},
		},
		ID: "idp " + answer.Get("id"), Until: time.Now().Add(time.Hour), Files: []identify.File{{Name: "response.xml", Content: []byte("<signed/>")}},
	}, nil
}

func (Pretend) Check(context.Context) []identify.Finding { return nil }

// Twins are two servers on one database that offer the method.
type Twins struct {
	*Site
	Srv  *server.Server
	URLs [2]string
	Log  bytes.Buffer
}

func NewTwins(t *testing.T, s *Site, method identify.Method) *Twins {
	w := &Twins{Site: s}
	for i := range w.URLs {
		w.Srv = s.OpenServer()
		w.Srv.LogTo(slog.New(slog.NewTextHandler(&w.Log, nil)))
		w.Srv.Parts().Identify.Elsewhere = append(w.Srv.Parts().Identify.Elsewhere, method)
		srv := httptest.NewServer(w.Srv.Handler())
		t.Cleanup(srv.Close)
		w.URLs[i] = srv.URL
	}
	return w
}

// At is an address at one of the two.
func (w *Twins) At(i int, link string) string { return w.URLs[i] + strings.TrimPrefix(link, w.URL) }

func (w *Twins) Visit(browser *http.Client, address string, form url.Values, header ...string) (int, string) {
	w.T.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r, err := http.NewRequest(method, address, body)
	if err != nil {
		w.T.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "null") // as after a form of another site
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := browser.Do(r)
	if err != nil {
		w.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

func ABrowser(t *testing.T) *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

const Provider = "/spid?idp=https%3A%2F%2Fidp.example%2Fa%3Fb%3Dc"

// Begin starts an identification and returns the id of the request.
func (w *Twins) Begin(browser *http.Client, i int, c Bought) string {
	w.T.Helper()
	status, page := w.Visit(browser, w.At(i, c.CertificateLink)+Provider, nil)
	_, rest, _ := strings.Cut(page, `name="SAMLRequest" value="`)
	id, _, found := strings.Cut(rest, `"`)
	if status != 200 || !found {
		w.T.Fatalf("%d %s", status, page)
	}
	return id
}

func (w *Twins) Answers(request string, more ...string) url.Values {
	v := url.Values{"InResponseTo": {request}, "id": {rand.Text()}, "name": {"Elsa"}, "code": {"PRVLSE80A41H501X"}}
	for i := 0; i+1 < len(more); i += 2 {
		v.Set(more[i], more[i+1])
	}
	return v
}

var Elsa = M{"subject": M{"givenName": "Elsa", "surname": "Prova", "fiscalCode": "PRVLSE80A41H501X"}}

func Address(k, v string) url.Values { return url.Values{k: {v}} }

func (s *Site) PageOf(browser *http.Client, link string, form url.Values) string {
	s.Holder = browser
	return s.Page(link, form)
}

// Stays is a browser that is not sent on; it returns where to.
func (w *Twins) Stays(browser *http.Client, answer url.Values) string {
	w.T.Helper()
	stay := *browser
	stay.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := stay.PostForm(w.URLs[0]+"/spid/acs", answer)
	if err != nil {
		w.T.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 303 {
		w.T.Fatalf("%d", resp.StatusCode)
	}
	return resp.Header.Get("Location")
}
