package csc

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/hex"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/text/language"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/cscauth"
	"rogito.dev/rogito/server/internal/fault"
)

//go:embed page/consent.html
var consentHTML string

//go:embed page/logo.png
var logoPNG []byte

var consentPage = template.Must(template.New("consent").Parse(consentHTML))

func logo(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "image/png")
	w.Header().Set("Cache-Control", "max-age=86400")
	_, _ = w.Write(logoPNG) // the client may be gone
}

// view is what the page of a consent shows.
type view struct {
	T            texts
	Lang         string
	Sandbox      bool
	Client, Host string // who asks, and where the answer goes
	Request      *cscauth.Request
	Digests      []digest
	Problem      string
	Username     string // as it was typed
}

type digest struct{ Label, Hex string }

// pagePolicy allows nothing from elsewhere, and the answer to go where the client
// wants it: browsers hold redirections of a form against form-action too.
const pagePolicy = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"

// maxForm bounds what the page posts.
const maxForm = 16 << 10

// consent serves the authorization endpoint (8.4.2). The form is posted to the
// address of the page, which holds the whole request; so there is nothing to keep.
func (s *Service) consent(a *api.API) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", pagePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Frame-Options", "DENY")
		lang := pickLanguage(r)
		v := &view{T: words[lang], Lang: lang, Sandbox: s.Sandbox}
		if len(r.URL.RawQuery) > cscauth.MaxQuery {
			s.show(a, w, r, http.StatusBadRequest, v, cscauth.Invalid("The request is too long"))
			return
		}
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			s.show(a, w, r, http.StatusBadRequest, v, cscauth.Invalid("The request cannot be read"))
			return
		}
		req, err := s.Auth.Asked(r.Context(), query)
		if err != nil && req == nil {
			s.show(a, w, r, http.StatusBadRequest, v, err)
			return
		}
		if err != nil {
			s.back(a, w, r, req, err)
			return
		}
		if req.Lang != "" {
			v.Lang = langOf(req.Lang)
			v.T = words[v.Lang]
		}
		h.Set("Content-Security-Policy", pagePolicy+" "+origin(req.Redirect))
		s.describeRequest(r.Context(), v, req)
		if r.Method != http.MethodPost {
			s.show(a, w, r, http.StatusOK, v, nil)
			return
		}
		s.decide(a, w, r, v, req)
	}
}

// origin is where a redirect URI leads, as a content security policy names it.
func origin(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil || strings.ContainsAny(redirect, ";, '\"") {
		return ""
	}
	if u.Host == "" {
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}

// describeRequest fills in what is asked for.
func (s *Service) describeRequest(ctx context.Context, v *view, req *cscauth.Request) {
	v.Request, v.Client, v.Host = req, req.Client, req.Redirect
	if c, err := s.Auth.Client(ctx, req.Client); err == nil {
		v.Client = c.Name
	}
	if u, err := url.Parse(req.Redirect); err == nil && u.Host != "" {
		v.Host = u.Host
	}
	for i, h := range req.Hashes {
		d := digest{Hex: hex.EncodeToString(h)}
		if i < len(req.Labels) {
			d.Label = req.Labels[i]
		}
		v.Digests = append(v.Digests, d)
	}
}

// decide takes the holder's word.
func (s *Service) decide(a *api.API, w http.ResponseWriter, r *http.Request, v *view, req *cscauth.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.show(a, w, r, http.StatusBadRequest, v, cscauth.Invalid("The form cannot be read"))
		return
	}
	if r.PostForm.Get("action") != "allow" {
		if err := s.Auth.Decline(r.Context(), req); err != nil {
			s.show(a, w, r, http.StatusBadRequest, v, err)
			return
		}
		s.back(a, w, r, req, cscauth.Refuse(cscauth.AccessDenied, "The holder did not consent"))
		return
	}
	v.Username = strings.TrimSpace(r.PostForm.Get("username"))
	password, otp := r.PostForm.Get("password"), strings.TrimSpace(r.PostForm.Get("otp"))
	if v.Username == "" || password == "" || len(v.Username)+len(password)+len(otp) > 3*1024 {
		s.show(a, w, r, http.StatusBadRequest, v, fault.New(fault.WrongCredentials, "wrong"))
		return
	}
	code, err := s.Auth.Consent(r.Context(), req, v.Username, password, otp)
	if err != nil {
		s.show(a, w, r, http.StatusForbidden, v, err)
		return
	}
	s.redirect(w, r, req, url.Values{"code": {code}})
}

// back sends a refusal to the client (RFC 6749, 4.1.2.1).
func (s *Service) back(a *api.API, w http.ResponseWriter, r *http.Request, req *cscauth.Request, err error) {
	_, body := s.refused(a, r, err)
	f := body.(wire)
	s.redirect(w, r, req, url.Values{"error": {f.Error}, "error_description": {f.Description}})
}

// redirect answers through the browser. The issuer is named, so that an answer is
// not taken for that of another server (RFC 9207).
func (s *Service) redirect(w http.ResponseWriter, r *http.Request, req *cscauth.Request, values url.Values) {
	if req.State != "" {
		values.Set("state", req.State)
	}
	values.Set("iss", s.PublicURL+"/csc")
	to, sep := req.Redirect, "?"
	if strings.Contains(to, "?") {
		sep = "&"
	}
	w.Header().Set("Location", to+sep+values.Encode())
	status := http.StatusFound
	if r.Method == http.MethodPost {
		status = http.StatusSeeOther // the form is not posted on
	}
	w.WriteHeader(status)
}

// show writes the page, with what went wrong.
func (s *Service) show(a *api.API, w http.ResponseWriter, r *http.Request, status int, v *view, err error) {
	if err != nil {
		problem := problemOf(err)
		v.Problem = v.T.Problems[problem]
		var f *fault.Error
		if !errors.As(err, &f) || problem == "request" && f.HTTP() >= http.StatusInternalServerError {
			a.Log().ErrorContext(r.Context(), "consent page", "error", err)
			status, v.Problem = http.StatusInternalServerError, v.T.Problems["later"]
		} else if v.Request == nil {
			v.Problem += " (" + f.Text + ")"
		}
	}
	var b bytes.Buffer
	if err := consentPage.Execute(&b, v); err != nil {
		a.Log().ErrorContext(r.Context(), "render page", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

// problemOf is the name of the sentence for an error.
func problemOf(err error) string {
	switch {
	case errors.Is(err, fault.WrongCredentials):
		return "credentials"
	case errors.Is(err, fault.WrongOTP):
		return "otp"
	case errors.Is(err, fault.CertificateLocked):
		return "locked"
	case errors.Is(err, fault.CertificateNotUsable):
		return "unusable"
	}
	return "request"
}

var languages = language.NewMatcher([]language.Tag{language.English, language.Italian})

func pickLanguage(r *http.Request) string {
	tags, _, _ := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if _, i, _ := languages.Match(tags...); i == 1 {
		return "it"
	}
	return "en"
}
