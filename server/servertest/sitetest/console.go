package sitetest

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/keys"
)

// HostileTexts would run, or break out, where a page forgets to escape them.
var HostileTexts = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'-alert(1)-'`, `</title><svg onload=alert(1)>`, `{{.}}${7*7}`, `javascript:alert(1)`, `&lt;b&gt;`,
}

var Runs = regexp.MustCompile(`(?i)<script|<img src=x|<svg|<[a-z][^>]*\son[a-z]+\s*=|<[a-z][^>]*(href|src|action)\s*=\s*["']?javascript`)

// Somebody is a person with a password and a device.
type Somebody struct {
	*Visitor
	Email, Password, secret string
}

// Joins takes an invitation up with a password.
func (s *Site) Joins(link, email string) *Somebody {
	s.T.Helper()
	p := &Somebody{s.Visitor(), email, "correct horse battery staple", ""}
	page := p.Get(link)
	p.secret = Element(page.Text, "otp-secret")
	device := regexp.MustCompile(`name="device" value="([^"]+)"`).FindStringSubmatch(page.Text)
	if page.Status != 200 || p.secret == "" || device == nil {
		s.T.Fatalf("invitation: %d %s", page.Status, AlertOf(page.Text))
	}
	for name, f := range map[string]url.Values{
		"short": {"password": {"short"}, "code": {p.Code(0)}, "device": {device[1]}}, "wrong code": {"password": {p.Password}, "code": {"000000"}, "device": {device[1]}},
		"no device": {"password": {p.Password}, "code": {p.Code(0)}}, "no passkey": {"passkey": {`{"response":{}}`}},
	} {
		if got := p.Post(link, f); got.Status != 422 && got.Status != 400 || strings.HasPrefix(got.Path, "/console/?") {
			s.T.Errorf("joined with %s: %d at %s", name, got.Status, got.Path)
		}
	}
	got := p.Post(link, url.Values{"password": {p.Password}, "code": {p.Code(0)}, "device": {device[1]}})
	if got.Status != 200 || got.Path != "/console/" {
		s.T.Fatalf("join: %d at %s: %s", got.Status, got.Path, AlertOf(got.Text))
	}
	if again := s.Visitor().Get(link); again.Status != 404 || AlertOf(again.Text) == "" {
		s.T.Errorf("an invitation that was used: %d", again.Status)
	}
	return p
}

// Code is what the device shows, so many steps from now.
func (p *Somebody) Code(steps int) string {
	c, err := keys.Code(p.secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		p.T.Fatal(err)
	}
	return c
}

// Visitor is a browser at the console.
type Visitor struct {
	*Site
	Client *http.Client
}

// ShownPage is what a browser got.
type ShownPage struct {
	Status int
	Header http.Header
	Text   string
	Path   string // where it ended
}

func (s *Site) Visitor() *Visitor {
	s.T.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.T.Fatal(err)
	}
	return &Visitor{s, &http.Client{Jar: jar}}
}

// LoggedIn is a browser that has logged in with a token.
func (s *Site) LoggedIn(token string) *Visitor {
	s.T.Helper()
	v := s.Visitor()
	p := v.Post("/console/login", url.Values{"token": {token}})
	if p.Status != 200 && p.Status != 403 || strings.HasPrefix(p.Path, "/console/login") {
		s.T.Fatalf("login: %d at %s: %s", p.Status, p.Path, AlertOf(p.Text))
	}
	return v
}

func (v *Visitor) Send(req *http.Request) *ShownPage {
	v.T.Helper()
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "text/html")
	}
	resp, err := v.Client.Do(req)
	if err != nil {
		v.T.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		v.T.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); strings.HasPrefix(ct, "text/html") {
		csp := resp.Header.Get("Content-Security-Policy")
		if !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") || !strings.Contains(csp, "frame-ancestors 'none'") ||
			resp.Header.Get("X-Content-Type-Options") != "nosniff" || resp.Header.Get("Cache-Control") != "no-store" || resp.Header.Get("Referrer-Policy") != "no-referrer" {
			v.T.Errorf("%s: headers %v", req.URL, resp.Header)
		}
		if strings.Contains(string(b), v.Box.Token) {
			v.T.Errorf("%s: the token stands in the page", req.URL)
		}
	}
	return &ShownPage{resp.StatusCode, resp.Header, string(b), resp.Request.URL.RequestURI()}
}

func (v *Visitor) Request(method, path string, body io.Reader, header ...string) *http.Request {
	v.T.Helper()
	req, err := http.NewRequest(method, v.URL+path, body)
	if err != nil {
		v.T.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func (v *Visitor) Get(path string, header ...string) *ShownPage {
	v.T.Helper()
	return v.Send(v.Request(http.MethodGet, path, nil, header...))
}

func (v *Visitor) Post(path string, f url.Values, header ...string) *ShownPage {
	v.T.Helper()
	return v.Send(v.Request(http.MethodPost, path, strings.NewReader(f.Encode()), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...))
}

var alertText = regexp.MustCompile(`(?s)role="alert"[^>]*>(.*?)</div>`)

func AlertOf(page string) string {
	if m := alertText.FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return ""
}
