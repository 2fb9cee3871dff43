// Package consent is the page on which the holder of a certificate lets an
// application use it: the authorization endpoint of the OAuth flow of the Cloud
// Signature Consortium API (8.4.2 of its version 2.0.0.2).
package consent

import (
	"context"
	"embed"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/api"
	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

//go:embed page
var files embed.FS

// Pages serves the page.
type Pages struct {
	site   *look.Site
	set    *look.Set
	auth   *cscserver.Service
	issuer string
	limit  api.PerMinute
}

// perMinute is how often one address may give a word in a minute: each costs a
// derivation, and is a guess.
const perMinute = 60

// New returns the page of a site. The issuer is named in every answer to an
// application.
func New(site *look.Site, auth *cscserver.Service, issuer string) http.Handler {
	protected := site.Protect(&Pages{site: site, set: site.Set(files), auth: auth, issuer: issuer})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { protected.ServeHTTP(popup{w}, r) })
}

// popup leaves out the header that would cut a window from the page that opened
// it: applications open this page in one, and wait for it to come back.
type popup struct{ http.ResponseWriter }

func (w popup) WriteHeader(status int) {
	w.Header().Del("Cross-Origin-Opener-Policy")
	w.ResponseWriter.WriteHeader(status)
}

// view is what the page shows.
type view struct {
	look.Head
	Client, Host string // who asks, and where the answer goes
	Local        bool   // to a program on the person's own computer
	Request      *cscserver.Request
	Digests      []digest
	Unnamed      int    // signatures for which there is no digest yet
	Username     string // as it was typed
}

type digest struct{ Label, Hex string }

// Limits on what a form brings, in bytes.
const (
	maxForm = 16 << 10
	maxWord = 1024
)

// ServeHTTP shows a request, and takes the holder's word for it. The form is
// posted to the address of the page, which holds the whole request: nothing of it
// is kept between the two.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := &view{Head: look.Head{Title: look.T("Your consent", "Il tuo consenso")}}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(r.URL.RawQuery) > cscserver.MaxQuery {
		p.show(w, r, http.StatusBadRequest, v, cscserver.Invalid("The request cannot be read, or is too long"))
		return
	}
	req, err := p.auth.Asked(r.Context(), query)
	switch {
	case err != nil && req == nil:
		p.show(w, r, http.StatusBadRequest, v, err)
		return
	case err != nil:
		p.back(w, r, req, err)
		return
	}
	// Browsers hold the redirection that answers a form against form-action too.
	w.Header().Set("Content-Security-Policy", strings.Replace(look.Policy, "form-action 'self'", "form-action 'self' "+origin(req.Redirect), 1))
	p.describe(r.Context(), v, req)
	if r.Method != http.MethodPost {
		p.show(w, r, http.StatusOK, v, nil)
		return
	}
	if wait := p.limit.Take(r.RemoteAddr, perMinute, time.Now()); wait > 0 {
		f := look.Refusal(fault.LimitReached, look.T("Too many attempts came from your address in the last minute. Wait a moment and try again.", "Dal tuo indirizzo sono arrivati troppi tentativi nell'ultimo minuto. Aspetta un momento e riprova."))
		f.RetryAfter = wait
		p.site.Fail(w, r, f)
		return
	}
	p.decide(w, r, v, req)
}

// origin is where a redirect URI leads, as a content security policy names it.
// Registered ones have no character that ends a source.
func origin(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil:
		return ""
	case u.Host == "":
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}

// describe fills in what is asked for.
func (p *Pages) describe(ctx context.Context, v *view, req *cscserver.Request) {
	v.Request, v.Client, v.Host = req, req.Client, req.Redirect
	if c, err := p.auth.Client(ctx, req.Client); err == nil {
		v.Client = c.Name
	}
	if u, err := url.Parse(req.Redirect); err == nil && u.Host != "" {
		v.Host = u.Host
		ip, err := netip.ParseAddr(u.Hostname())
		v.Local = u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
	}
	for i, h := range req.Hashes {
		d := digest{Hex: hex.EncodeToString(h)}
		if i < len(req.Labels) {
			d.Label = req.Labels[i]
		}
		v.Digests = append(v.Digests, d)
	}
	v.Unnamed = req.Signatures - len(req.Hashes)
}

// decide takes the holder's word.
func (p *Pages) decide(w http.ResponseWriter, r *http.Request, v *view, req *cscserver.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		p.show(w, r, http.StatusBadRequest, v, cscserver.Invalid("The form cannot be read"))
		return
	}
	if r.PostForm.Get("action") != "allow" {
		if err := p.auth.Decline(r.Context(), req); err != nil {
			p.show(w, r, http.StatusBadRequest, v, err)
			return
		}
		p.back(w, r, req, cscserver.Refuse(cscserver.AccessDenied, "The holder did not consent"))
		return
	}
	if r.PostForm.Get("shown") != req.Shown() { // consent to something that was not shown does not count
		p.show(w, r, http.StatusConflict, v, cscserver.Invalid("What was shown is not what is asked for now: read it again"))
		return
	}
	v.Username = strings.TrimSpace(r.PostForm.Get("username"))
	password, otp := r.PostForm.Get("password"), strings.TrimSpace(r.PostForm.Get("otp"))
	if v.Username == "" || password == "" || max(len(v.Username), len(password), len(otp)) > maxWord {
		p.show(w, r, http.StatusBadRequest, v, fault.New(fault.WrongCredentials, "wrong certificate credentials"))
		return
	}
	code, err := p.auth.Consent(r.Context(), req, v.Username, password, otp)
	if err != nil {
		p.show(w, r, http.StatusForbidden, v, err)
		return
	}
	p.redirect(w, r, req, url.Values{"code": {code}})
}

// back sends a refusal to the application (RFC 6749, 4.1.2.1).
func (p *Pages) back(w http.ResponseWriter, r *http.Request, req *cscserver.Request, err error) {
	word, text := cscserver.ServerError, "internal error (request "+fault.RequestID(r.Context())+")"
	var f *fault.Error
	if errors.As(err, &f) && errors.As(err, &word) {
		text = f.Text
	} else {
		p.site.Log.ErrorContext(r.Context(), "authorization endpoint", "error", err)
	}
	p.redirect(w, r, req, url.Values{"error": {string(word)}, "error_description": {text}})
}

// redirect answers through the browser. The issuer is named, so that an answer is
// not taken for that of another server (RFC 9207).
func (p *Pages) redirect(w http.ResponseWriter, r *http.Request, req *cscserver.Request, values url.Values) {
	if req.State != "" {
		values.Set("state", req.State)
	}
	values.Set("iss", p.issuer)
	sep := "?"
	if strings.Contains(req.Redirect, "?") {
		sep = "&"
	}
	status := http.StatusFound
	if r.Method == http.MethodPost {
		status = http.StatusSeeOther // the form is not posted on
	}
	policy := w.Header().Get("Content-Security-Policy")
	look.Headers(w)
	if policy != "" {
		w.Header().Set("Content-Security-Policy", policy)
	}
	w.Header().Set("Location", req.Redirect+sep+values.Encode())
	w.WriteHeader(status)
}

// show writes the page, with what went wrong.
func (p *Pages) show(w http.ResponseWriter, r *http.Request, status int, v *view, err error) {
	var f *fault.Error
	switch {
	case err == nil:
	case errors.Is(err, fault.WrongCredentials):
		v.Alert = look.T("Username or password are wrong, or they are not those of the certificate that is asked for.", "Nome utente o password non sono giusti, o non sono del certificato richiesto.")
	case errors.Is(err, fault.WrongOTP):
		v.Alert = look.T("The one-time code is wrong or was used already. Wait for the next one.", "Il codice temporaneo è sbagliato o già usato. Aspetta il prossimo.")
	case errors.Is(err, fault.CertificateLocked):
		v.Alert = look.T("The certificate is locked after wrong passwords or codes. Try again later.", "Il certificato è bloccato dopo password o codici sbagliati. Riprova più tardi.")
	case errors.Is(err, fault.CertificateNotUsable):
		v.Alert = look.T("The certificate is expired, suspended or revoked.", "Il certificato è scaduto, sospeso o revocato.")
	case errors.As(err, &f) && f.HTTP() < http.StatusInternalServerError:
		v.Alert = look.T("The application asked in a wrong way, or its request is over. Go back and begin again. (%s)", "L'applicazione ha chiesto in modo sbagliato, o la sua richiesta è scaduta. Torna indietro e ricomincia. (%s)").With(f.Text)
	default:
		p.site.Fail(w, r, err)
		return
	}
	if errors.As(err, &f) {
		v.Code = int(f.Code)
	}
	p.set.Render(w, r, status, "consent", v)
}
