package spid

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/identify/spid/saml"
)

// logoutLife is how old a message about logging out may be.
const logoutLife = 10 * time.Minute

// Logout reads what came to the address for logging out, by either binding. A
// LogoutRequest gives a Departure with the signed LogoutResponse; a
// LogoutResponse, which needs no answer, gives nil. We keep no session of an
// identity provider's beyond the answer, so there is nothing else to do.
func (s *SPID) Logout(r *http.Request) (*identify.Departure, error) {
	values, binding := r.URL.Query(), saml.Redirect
	if r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(nil, r.Body, 2*saml.MaxMessage)
		if err := r.ParseForm(); err != nil {
			return nil, refuse("logout")
		}
		values, binding = r.PostForm, saml.POST
	}
	param := "SAMLRequest"
	if values.Has("SAMLResponse") {
		param = "SAMLResponse"
	}
	if len(values[param]) != 1 || len(values["RelayState"]) > 1 || len(values.Get("RelayState")) > 80 || values.Has("SAMLRequest") && values.Has("SAMLResponse") {
		return nil, refuse("logout")
	}
	decode := saml.Decode
	if binding == saml.Redirect {
		decode = saml.Inflate
	}
	raw, err := decode(values.Get(param))
	if err != nil {
		return nil, refuse("logout")
	}
	d, err := saml.Parse(raw)
	if err != nil {
		return nil, refuse("logout")
	}
	defer d.Release()
	p, err := s.checkLogout(r.Context(), d, binding, param, r.URL.RawQuery)
	if err != nil || param == "SAMLResponse" {
		return nil, err
	}
	return s.answerLogout(p, strings.Clone(d.Root().Attr("ID")), binding, values)
}

// checkLogout believes a message that is signed by a known identity provider,
// new and for us.
func (s *SPID) checkLogout(ctx context.Context, d *xmldom.Document, binding, param, rawQuery string) (*provider, error) {
	root, want := d.Root(), "LogoutRequest"
	if param == "SAMLResponse" {
		want = "LogoutResponse"
	}
	issuers := root.Children(saml.Assertion, "Issuer")
	at, err := saml.Time(root.Attr("IssueInstant"))
	now := s.now()
	if !root.Is(saml.Protocol, want) || root.Attr("ID") == "" || root.Attr("Version") != "2.0" || len(issuers) != 1 || err != nil ||
		at.After(now.Add(skew)) || at.Before(now.Add(-logoutLife)) || root.Attr("Destination") != s.slo {
		return nil, refuse("logout")
	}
	entity, ok := saml.Value(issuers[0])
	p, err := s.provider(ctx, entity)
	if !ok || err != nil {
		return nil, refuse("logout")
	}
	if end, ok := root.LookupAttr("", "NotOnOrAfter"); ok {
		if t, err := saml.Time(end); err != nil || !now.Before(t) {
			return nil, refuse("logout")
		}
	}
	if binding == saml.Redirect {
		err = saml.CheckQuery(rawQuery, param, p.certs(now))
	} else {
		_, err = saml.CheckSigned(d, root, p.certs(now))
	}
	if err != nil {
		return nil, refuse("logout")
	}
	return p, nil
}

func (s *SPID) answerLogout(p *provider, request, binding string, values url.Values) (*identify.Departure, error) {
	if p.slo[binding] == "" {
		binding = saml.POST
		if p.slo[binding] == "" {
			binding = saml.Redirect
		}
	}
	at := p.sloResponse[binding]
	if at == "" {
		at = p.slo[binding]
	}
	if at == "" {
		return nil, refuse("logout")
	}
	id, relay := saml.NewID(), values.Get("RelayState")
	message := fmt.Sprintf(`<samlp:LogoutResponse xmlns:samlp="%s" xmlns:saml="%s" ID="%s" Version="2.0" IssueInstant="%s" Destination="%s" InResponseTo="%s">`+
		`<saml:Issuer Format="%s" NameQualifier="%s">%s</saml:Issuer><samlp:Status><samlp:StatusCode Value="%s"></samlp:StatusCode></samlp:Status></samlp:LogoutResponse>`,
		saml.Protocol, saml.Assertion, id, saml.Instant(s.now()), saml.Escape(at), saml.Escape(request),
		saml.Entity, saml.Escape(s.cfg.EntityID), saml.Escape(s.cfg.EntityID), saml.Success)
	d := &identify.Departure{Request: id, URL: at}
	if binding == saml.Redirect {
		var err error
		if d.URL, err = s.signer.RedirectURL(at, "SAMLResponse", []byte(message), relay); err != nil {
			return nil, fmt.Errorf("answer a SPID logout: %w", err)
		}
		return d, nil
	}
	signed, err := s.signer.Sign(message)
	if err != nil {
		return nil, fmt.Errorf("answer a SPID logout: %w", err)
	}
	d.Form = map[string]string{"SAMLResponse": base64.StdEncoding.EncodeToString(signed)}
	if relay != "" {
		d.Form["RelayState"] = relay
	}
	return d, nil
}

// ServeLogout answers GET and POST /spid/slo: on to the identity provider by a
// redirect or a form with one button, or a sentence.
func (s *SPID) ServeLogout(w http.ResponseWriter, r *http.Request) {
	d, err := s.Logout(r)
	var no *identify.Refusal
	status, action, body := http.StatusOK, "'none'", `<p lang="it">Uscita da SPID completata.</p><p lang="en">You have left SPID.</p>`
	switch {
	case errors.As(err, &no):
		status = http.StatusBadRequest
		body = `<p id="problem" data-code="313">` + html.EscapeString(no.Italian) + `</p><p lang="en">` + html.EscapeString(no.English) + `</p>`
	case err != nil:
		s.deps.Log.Error("SPID logout", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	case d != nil && d.Form == nil:
		http.Redirect(w, r, d.URL, http.StatusFound)
		return
	case d != nil:
		u, _ := url.Parse(d.URL) // it was parsed with the metadata
		action = u.Scheme + "://" + u.Host
		body = FormHTML(d)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action "+action)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`<!DOCTYPE html><html lang="it"><meta charset="utf-8"><title>SPID</title><body><main><h1>SPID</h1>` + body + `</main></body></html>`))
}

// FormHTML is the form of a departure by HTTP-POST, with its button.
func FormHTML(d *identify.Departure) string {
	var b strings.Builder
	b.WriteString(`<form method="post" action="` + html.EscapeString(d.URL) + `">`)
	for _, name := range slices.Sorted(maps.Keys(d.Form)) {
		b.WriteString(`<input type="hidden" name="` + name + `" value="` + html.EscapeString(d.Form[name]) + `">`)
	}
	b.WriteString(`<button>Continua / Continue</button></form>`)
	return b.String()
}
