package look

import (
	"crypto/rand"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Ties are secrets in a cookie that tie codes and identifications to the browser that
// went through them. Where people reach us by https the cookie has a name that no
// other host can set.
type Ties struct {
	Name   string // of the cookie
	Secure bool   // people reach us by https, whatever a request shows
}

func (t Ties) cookie(r *http.Request, path string) *http.Cookie {
	c := &http.Cookie{Name: t.Name, Path: path, MaxAge: 30 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	if t.Secure || r.TLS != nil {
		c.Name, c.Path, c.Secure = "__Host-"+t.Name, "/", true // the prefix wants the path
	}
	return c
}

// Shown are the secrets that the browser shows, of all cookies of the name that we
// set: where it is the plain one, another site of the same domain may have put
// some there, in front of ours.
func (t Ties) Shown(r *http.Request) (all []string) {
	for _, c := range r.CookiesNamed(t.cookie(r, "").Name) {
		all = append(all, strings.Split(c.Value, ".")...)
	}
	return all
}

// mostTies are the steps, each with a secret of its own, that a browser may have
// under way: identifications begun in two windows, a video that waits.
const mostTies = 8

// New makes a secret for a step, and leaves it in the browser before those of the
// steps before. In a frame of another site only a partitioned cookie is kept.
func (t Ties) New(w http.ResponseWriter, r *http.Request, path string, framed bool) string {
	fresh := rand.Text() + rand.Text()
	all := []string{fresh}
	for _, b := range t.Shown(r) {
		if len(b) == len(fresh) && len(all) < mostTies && !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	c := t.cookie(r, path)
	c.Value = strings.Join(all, ".")
	if framed && c.Secure {
		c.SameSite, c.Partitioned = http.SameSiteNoneMode, true
	}
	http.SetCookie(w, c)
	return fresh
}

// Address is where a request came from, without the port.
func Address(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

// Depart lets a page post its form to a provider, which may lead it on to other hosts
// of its own: browsers hold the policy of the page against those too.
func Depart(w http.ResponseWriter, address string) {
	target := "https:"
	if u, err := url.Parse(address); err == nil && !strings.ContainsAny(u.Host, ";, '") {
		target = u.Scheme + "://" + u.Host + " https:"
	}
	w.Header().Set("Content-Security-Policy", strings.Replace(Policy, "form-action 'self'", "form-action "+target, 1))
}
