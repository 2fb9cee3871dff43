// Package console serves the pages under /console: signing, records, certificates,
// the account and the health of the server. They are for browsers what the API is
// for programs: each request is judged by the token that the browser logged in
// with, and done by the services that the operations call.
package console

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/member/passkey"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

//go:embed page
var files embed.FS

// Parts are what the pages are made of.
type Parts struct {
	Site        *look.Site
	Accounts    *account.Service
	Billing     *billing.Service
	Signing     *signing.Service
	Enroll      *enroll.Service
	Keys        *keys.Store
	Callbacks   *callback.Sender
	People      *people.Service
	Drawer      *draw.Drawer
	Members     *member.Service
	Party       func(*http.Request) passkey.Party // whom passkeys are for
	Lists       func() []ListEnd                  // trusted lists that need attention
	Outbox      string                            // folder of messages that a sandbox does not send; empty: none
	Idempotency *idempotency.Keys
	Spool       string        // folder of uploads on their way
	Limits      upload.Limits // of bodies
	Document    int64         // bytes of one document
	Send        func(http.ResponseWriter, *http.Request, *api.Content)
	Health      func(context.Context) (*Health, error)
	// Certificate is that of completion of a record, as text/html or
	// application/pdf.
	Certificate func(ctx context.Context, account, id, form string, lang paper.Lang) (*api.Content, error)
}

// Pages serves the pages of the console.
type Pages struct {
	http.Handler
	Parts
	pages   *look.Set
	entries map[string]entry
}

// New returns the pages. They are mounted at /console/.
func New(p Parts) *Pages {
	d := &Pages{Parts: p, pages: p.Site.Set(files)}
	d.entries = d.mounted()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /console/login", d.showLogin)
	mux.HandleFunc("POST /console/login", d.login)
	mux.HandleFunc("POST /console/logout", d.logout)
	mux.HandleFunc("GET /console/join/{id}/{secret}", d.showJoin)
	mux.HandleFunc("POST /console/join/{id}/{secret}", d.join)
	for pattern, e := range d.entries {
		mux.HandleFunc(pattern, d.in(pattern, e))
	}
	mux.HandleFunc("/console/", p.Site.NotFound)
	d.Handler = p.Site.Protect(mux)
	return d
}

// SignedIn says whether a request comes from a browser that is logged in with a
// token that may verify documents.
func (d *Pages) SignedIn(r *http.Request) bool {
	s, err := d.session(r)
	return err == nil && d.Accounts.Allows(s.Caller, http.MethodPost, r.Host, "verify")
}

// visit is a request within a session.
type visit struct {
	*session
	w http.ResponseWriter
	r *http.Request
}

func (v *visit) ctx() context.Context { return v.r.Context() }
func (v *visit) accountID() string    { return v.Caller.AccountID }

// signer is the caller as signing wants to know him.
func (v *visit) signer() request.Caller {
	c := v.Caller
	return request.Caller{
		AccountID: c.AccountID, TokenID: c.TokenID, Person: c.Member, RequestID: fault.RequestID(v.ctx()), Address: c.Address.String(), Bound: c.Bound,
		ClientCertificate: api.PeerFrom(v.ctx()),
	}
}

// page answers to a visit; what it returns is shown as a page.
type page func(v *visit) error

// withForm reads a form that has no files.
func withForm(h func(v *visit, f url.Values) error) page {
	return func(v *visit) error {
		f, err := form(v)
		if err != nil {
			return err
		}
		return h(v, f)
	}
}

// in authenticates a request and runs its page. Each page is one request of the session's
// token, so the token's addresses, rate and limits apply.
func (d *Pages) in(pattern string, e entry) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s, err := d.session(r)
		var ended *account.SessionEnded
		switch {
		case errors.As(err, &ended):
			d.askLogin(w, r, ended.Why)
			return
		case err != nil:
			d.Site.FailTo(w, r, err, look.Link{Path: "/console/login", Name: look.T("Log in again", "Accedi di nuovo")})
			return
		}
		api.SetCaller(r.Context(), s.Caller)
		v := &visit{s, w, r.WithContext(account.WithCaller(r.Context(), s.Caller))}
		if !d.mayOpen(v, pattern) {
			err = notYours()
		} else if id := r.PathValue("id"); id != "" && !isID(id) {
			err = look.Refusal(fault.MalformedID, look.T("This address is not complete.", "Questo indirizzo non è completo."))
		} else if err = d.needs(v, e.scope); err == nil {
			err = e.page(v)
		}
		if err != nil {
			d.Site.FailTo(w, v.r, err, look.Link{Path: "/console/", Name: look.T("Back to the console", "Torna alla console")})
		}
	}
}

// session is a browser that is logged in, and the person who is at it: nil after a log-in with a
// token.
type session struct {
	*account.Session
	Member *member.Member
}

// person finds the member behind a session's token. Rights of an administrator account are for
// its owners and reviewers only.
func (d *Pages) person(r *http.Request, s *account.Session) (*session, error) {
	m, err := d.Members.BySeat(r.Context(), s.Caller.TokenID)
	if errors.Is(err, fault.NotFound) {
		return nil, &account.SessionEnded{Why: account.SessionToken}
	}
	if err != nil || m == nil {
		return &session{s, nil}, err
	}
	c := *s.Caller // which others share
	c.Member, c.Admin = m.ID, c.Admin && slices.Contains(reviewers, m.Role)
	s.Caller = &c
	return &session{s, m}, nil
}

// session finds the session of a request: of all cookies of the name, since
// another site of the same domain may have put some there, in front of ours.
func (d *Pages) session(r *http.Request) (*session, error) {
	var best error = &account.SessionEnded{Why: account.SessionUnknown}
	for _, c := range d.cookies(r) {
		s, err := d.Accounts.Session(r.Context(), r, c.Value)
		if err == nil {
			return d.person(r, s)
		}
		var ended *account.SessionEnded
		if !errors.As(err, &ended) {
			return nil, err
		}
		if ended.Why != account.SessionUnknown {
			best = err
		}
	}
	return nil, best
}

// may says whether the token of a visit has the scope of an operation.
func (d *Pages) may(v *visit, method, segment string) bool {
	return d.Accounts.Allows(v.Caller, method, v.r.Host, segment)
}

// needs is need for the scope of an entry.
func (d *Pages) needs(v *visit, scope string) error {
	if scope == "" {
		return nil
	}
	method, segment, _ := strings.Cut(scope, " ")
	return d.need(v, method, segment)
}

// need refuses what an operation of the API would refuse.
func (d *Pages) need(v *visit, method, segment string) error {
	if d.may(v, method, segment) {
		return nil
	}
	if v.Member != nil {
		return notYours()
	}
	return look.Refusal(fault.ScopeLacking, look.T("The token that you logged in with lacks the scope %s.", "Il token con cui sei entrato non ha il permesso %s.").With(method+":*/"+segment))
}

// kinds of certificates, in the order of the form.
var kinds = []keys.Kind{keys.Automatic, keys.OTP, keys.ESeal}

func (d *Pages) maySign(v *visit) bool {
	return slices.ContainsFunc(kinds, func(k keys.Kind) bool { return d.may(v, http.MethodPost, k.CertificateType()) })
}

// healthSegment is no operation: only who may read everything has its scope.
const healthSegment = "health"

// nav links to the pages of the console that the visitor may open.
func (d *Pages) nav(v *visit) []look.Link {
	get := func(segments ...string) bool {
		return slices.ContainsFunc(segments, func(s string) bool { return d.may(v, http.MethodGet, s) })
	}
	var all []look.Link
	for _, one := range []struct {
		look.Link
		open bool
	}{
		{look.Link{Path: "/console/", Name: look.T("Home", "Inizio")}, true},
		{look.Link{Path: "/console/sign", Name: look.T("Sign", "Firma")}, d.maySign(v)},
		{look.Link{Path: "/console/records", Name: look.T("Records", "Pratiche")}, get("signatures")},
		{look.Link{Path: "/console/certificates", Name: look.T("Certificates", "Certificati")}, get("certificates")},
		{look.Link{Path: "/console/account", Name: look.T("Account", "Conto e token")}, get("tokens", "wallet", "stats")},
		{look.Link{Path: "/console/people", Name: look.T("People", "Persone")}, get(peopleSegment)},
		{look.Link{Path: "/console/health", Name: look.T("Health", "Stato del server")}, v.Caller.Admin && get(healthSegment)},
	} {
		pattern := "GET " + one.Path
		if one.Path == "/console/" {
			pattern += "{$}"
		}
		if one.open && d.mayOpen(v, pattern) {
			one.Current = v.r.URL.Path == one.Path || one.Path != "/console/" && strings.HasPrefix(v.r.URL.Path, one.Path+"/")
			all = append(all, one.Link)
		}
	}
	return all
}

// head is what the layout shows around a page of the console.
func (d *Pages) head(v *visit, title look.Text) look.Head {
	who := v.Email
	if v.Member != nil {
		who = v.Member.Called()
	}
	return look.Head{Title: title, Section: "/console/", Styles: []string{"desk.css"}, Scripts: []string{"once.js"}, Nav: d.nav(v), Who: who, Leave: "/console/logout"}
}

// local is the address of a page of the console, or empty, so that logging in never leads to
// another site.
func local(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Opaque != "" || u.User != nil || len(address) > 2000 ||
		!strings.HasPrefix(u.Path, "/console/") || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") || strings.ContainsAny(address, "\\\r\n\t") ||
		u.Path == "/console/login" || u.Path == "/console/logout" || strings.HasPrefix(u.Path, "/console/join/") {
		return ""
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).RequestURI()
}

// seeOther sends a browser to another page, with the headers of all pages.
func seeOther(w http.ResponseWriter, r *http.Request, address string) {
	look.Headers(w)
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// form reads a short form that has no files.
func form(v *visit) (url.Values, error) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 64<<10)
	if err := v.r.ParseForm(); err != nil {
		return nil, fault.New(fault.BadBody, "the form could not be read").Because(err)
	}
	return v.r.PostForm, sameAccount(v, v.r.PostForm.Get("as"))
}

// sameAccount refuses a form that was shown to another account, after a log-in in another
// window.
func sameAccount(v *visit, as string) error {
	if as == "" || as == v.accountID() {
		return nil
	}
	return look.Refusal(fault.WrongState, look.T("Meanwhile this browser was logged in to another account, so nothing was done. Load the page again.",
		"Nel frattempo questo browser è entrato con un altro conto: nulla è stato fatto. Ricarica la pagina."))
}

func isID(s string) bool {
	return len(s) == 24 && strings.Trim(s, "0123456789abcdef") == ""
}

// cookies of a session: one that no other host can set where people reach us by
// https, and a plain one where they do not.
const (
	secureCookie = "__Host-rogito-console"
	plainCookie  = "rogito-console"
)

// cookies are those of sessions that a request brought, not more than a browser
// can have by accident. The plain name counts only where it is the one we set: a
// neighbour of the domain can write it, and would log people in as itself.
func (d *Pages) cookies(r *http.Request) []*http.Cookie {
	name := plainCookie
	if d.secure(r) {
		name = secureCookie
	}
	all := r.CookiesNamed(name)
	return all[:min(len(all), 4)]
}

func (d *Pages) secure(r *http.Request) bool { return d.Site.Secure || r.TLS != nil }

// setCookie leaves a secret in the browser, or takes it back.
func (d *Pages) setCookie(w http.ResponseWriter, r *http.Request, secret string) {
	c := &http.Cookie{Name: plainCookie, Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if d.secure(r) {
		c.Name, c.Secure = secureCookie, true
	}
	if secret == "" {
		c.MaxAge, c.Expires = -1, time.Unix(1, 0)
	}
	http.SetCookie(w, c)
}
