package csc

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// browser goes through pages as a person does, without scripts.
type browser struct {
	t      testing.TB
	client *http.Client
	at     *url.URL
	status int
	text   []byte
	page   *html.Node
}

// newBrowser makes one whose TLS trusts what the client given trusts.
func newBrowser(t testing.TB, trusting *http.Client) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, client: &http.Client{Jar: jar, Transport: trusting.Transport}}
}

func (b *browser) do(method, address string, form url.Values) {
	b.t.Helper()
	var body io.Reader = http.NoBody
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequest(method, address, body)
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml")
	req.Header.Set("Accept-Language", "en")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if b.at != nil {
			req.Header.Set("Origin", b.at.Scheme+"://"+b.at.Host)
			req.Header.Set("Referer", b.at.String())
		}
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, address, err)
	}
	defer resp.Body.Close()
	if b.text, err = io.ReadAll(resp.Body); err != nil {
		b.t.Fatal(err)
	}
	b.at, b.status = resp.Request.URL, resp.StatusCode
	if b.page, err = html.Parse(bytes.NewReader(b.text)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) open(address string) { b.t.Helper(); b.do(http.MethodGet, address, nil) }

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// all finds the elements of a name under a node.
func elements(n *html.Node, name string) (out []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == name {
			out = append(out, d)
		}
	}
	return out
}

// byID is the text of the element with an id; "" where there is none.
func (b *browser) byID(id string) string {
	for d := range b.page.Descendants() {
		if d.Type == html.ElementNode && attribute(d, "id") == id {
			var s strings.Builder
			for t := range d.Descendants() {
				if t.Type == html.TextNode {
					s.WriteString(t.Data)
				}
			}
			return strings.TrimSpace(s.String())
		}
	}
	return ""
}

// fields are a form's fields with their values.
func fields(form *html.Node) url.Values {
	v := url.Values{}
	for _, kind := range []string{"input", "select", "textarea"} {
		for _, in := range elements(form, kind) {
			name := attribute(in, "name")
			switch typ := attribute(in, "type"); {
			case name == "" || typ == "submit" || typ == "button":
			case typ == "radio" || typ == "checkbox":
				if v.Get(name) == "" || attribute(in, "checked") != "" {
					v.Set(name, attribute(in, "value"))
				}
			case kind == "select":
				for _, o := range elements(in, "option") {
					if v.Get(name) == "" {
						v.Set(name, attribute(o, "value"))
					}
				}
			default:
				v.Set(name, attribute(in, "value"))
			}
		}
	}
	return v
}

// form finds the first form that has a field; "" finds any.
func (b *browser) form(field string) *html.Node {
	for _, f := range elements(b.page, "form") {
		if _, there := fields(f)[field]; there || field == "" {
			return f
		}
	}
	return nil
}

// button finds the form of the button with an id.
func (b *browser) button(id string) *html.Node {
	for _, f := range elements(b.page, "form") {
		for _, button := range elements(f, "button") {
			if attribute(button, "id") == id {
				return f
			}
		}
	}
	return nil
}

// submit fills a form and sends it.
func (b *browser) submit(form *html.Node, fill map[string]string) {
	b.t.Helper()
	v := fields(form)
	for name, value := range fill {
		v.Set(name, value)
	}
	for _, button := range elements(form, "button") {
		if name := attribute(button, "name"); name != "" && v.Get(name) == "" {
			v.Set(name, attribute(button, "value"))
		}
	}
	to := b.at
	if action := attribute(form, "action"); action != "" {
		var err error
		if to, err = b.at.Parse(action); err != nil {
			b.t.Fatal(err)
		}
	}
	if strings.EqualFold(attribute(form, "method"), "post") {
		b.do(http.MethodPost, to.String(), v)
		return
	}
	address := *to
	address.RawQuery = v.Encode()
	b.open(address.String())
}

// enrol goes through the pages of an order until the credentials are shown: it
// logs in at the provider as user, or names the credential and its PIN.
func (b *browser) enrol(link, user, credential, pin string) (username, password string, err error) {
	b.t.Helper()
	b.open(link)
	for range 8 {
		if u := b.byID("certificate-username"); u != "" {
			return u, b.byID("certificate-password"), nil
		}
		if b.status >= 400 {
			return "", "", fmt.Errorf("%s: %d %.1500s", b.at.Path, b.status, b.text)
		}
		switch login, key := b.form("user"), b.form("credential"); {
		case login != nil:
			b.submit(login, map[string]string{"user": user, "password": "password"})
		case key != nil:
			b.submit(key, map[string]string{"credential": credential, "pin": pin})
		case b.form("pin") != nil:
			b.submit(b.form("pin"), map[string]string{"pin": pin})
		case b.button("approve") != nil: // the sandbox's proof of identity
			b.submit(b.button("approve"), map[string]string{"action": "approve"})
		case b.form("") != nil:
			b.submit(b.form(""), nil)
		default:
			return "", "", fmt.Errorf("%s leads nowhere: %.3000s", b.at.Path, b.text)
		}
	}
	return "", "", fmt.Errorf("no end at %s: %.3000s", b.at.Path, b.text)
}
