package http

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/api"
	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/fault"
)

// mountOAuth mounts what applications call in the OAuth flow (8.4). Its page,
// /csc/oauth2/authorize, is a page for people, and is with those.
func (s *Service) mountOAuth(a *api.API) {
	for path, h := range map[string]func(r *http.Request, c *cscserver.Client, form url.Values) (int, any, error){
		"/csc/oauth2/token": s.token, "/csc/oauth2/revoke": s.revokeToken, "/csc/oauth2/pushed_authorize": s.push,
	} {
		a.Mount(path, s.endpoint(a, h), http.MethodPost)
	}
}

// endpoint serves an application that says who it is, by HTTP Basic or in the
// form. Refusals are those of RFC 6749, 5.2.
func (s *Service) endpoint(a *api.API, h func(*http.Request, *cscserver.Client, url.Values) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		form, c, err := s.client(w, r)
		var status int
		var body any
		if err == nil {
			status, body, err = h(r, c, form)
		}
		if err != nil {
			status, body = s.refused(a, r, err)
			if _, _, basic := r.BasicAuth(); status == http.StatusUnauthorized && basic {
				w.Header().Set("WWW-Authenticate", `Basic realm="rogito"`)
			}
		}
		w.Header().Set("Pragma", "no-cache")
		if body == nil {
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(status)
			return
		}
		answer(w, status, body)
	}
}

// refused says an error as version 2 does. What is no fault is an accident: the
// client learns the request's id.
func (s *Service) refused(a *api.API, r *http.Request, err error) (int, any) {
	var f *fault.Error
	if !errors.As(err, &f) {
		a.Log().ErrorContext(r.Context(), "oauth", "error", err)
		f = fault.New(fault.Internal, "internal error (request %s)", fault.RequestID(r.Context()))
	}
	return failure(2, f)
}

// client reads a form and the client's name and secret.
func (s *Service) client(w http.ResponseWriter, r *http.Request) (url.Values, *cscserver.Client, error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		return nil, nil, cscserver.Invalid("Parameters are passed as application/x-www-form-urlencoded")
	}
	r.Body = http.MaxBytesReader(w, r.Body, cscserver.MaxQuery)
	if err := r.ParseForm(); err != nil {
		return nil, nil, cscserver.Invalid("The parameters cannot be read, or are too long")
	}
	form := r.PostForm
	for name, values := range form {
		if len(values) > 1 {
			return nil, nil, cscserver.Invalid("Parameter %q is repeated", name[:min(len(name), 64)])
		}
	}
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		// RFC 6749, 2.3.1: both are encoded as in a form.
		user, err := url.QueryUnescape(user)
		if err == nil {
			password, err = url.QueryUnescape(password)
		}
		if err != nil || secret != "" || id != "" && id != user {
			return nil, nil, cscserver.Invalid("The client says twice who it is")
		}
		id, secret = user, password
	}
	form.Del("client_secret")
	c, err := s.Auth.Login(r.Context(), id, secret)
	return form, c, err
}

// tokens is what the token endpoint answers (8.4.4).
type tokens struct {
	Access     string         `json:"access_token"`
	Refresh    string         `json:"refresh_token,omitempty"`
	Type       string         `json:"token_type"`
	ExpiresIn  int            `json:"expires_in"`
	Scope      string         `json:"scope"`
	Credential string         `json:"credentialID,omitempty"`
	Details    jsontext.Value `json:"authorization_details,omitempty"`
}

func (s *Service) token(r *http.Request, c *cscserver.Client, form url.Values) (int, any, error) {
	need := func(name string) (string, error) {
		if v := form.Get(name); v != "" {
			return v, nil
		}
		return "", cscserver.Invalid("Missing parameter %s", name)
	}
	grant, err := need("grant_type")
	if err != nil {
		return 0, nil, err
	}
	var t *cscserver.Tokens
	switch grant {
	case "authorization_code":
		var v [3]string
		for i, name := range []string{"code", "redirect_uri", "code_verifier"} {
			if v[i], err = need(name); err != nil {
				return 0, nil, err
			}
		}
		t, err = s.Auth.Exchange(r.Context(), c, v[0], v[1], v[2])
	case "refresh_token":
		var refresh string
		if refresh, err = need("refresh_token"); err == nil {
			t, err = s.Auth.Refresh(r.Context(), c, refresh)
		}
	default:
		return 0, nil, cscserver.Refuse(cscserver.WrongGrantType, "Invalid parameter grant_type")
	}
	if err != nil {
		return 0, nil, err
	}
	out := tokens{Access: t.Access, Refresh: t.Refresh, Type: "Bearer", ExpiresIn: int(t.Life.Seconds()), Scope: cscserver.ScopeService}
	if t.Credential != "" {
		out.Scope, out.Credential = cscserver.ScopeCredential, t.Credential
	}
	if t.Details != "" {
		out.Details = jsontext.Value(t.Details)
	}
	return http.StatusOK, out, nil
}

func (s *Service) revokeToken(r *http.Request, c *cscserver.Client, form url.Values) (int, any, error) {
	token := form.Get("token")
	if token == "" {
		return 0, nil, cscserver.Invalid("Missing parameter token")
	}
	return http.StatusNoContent, nil, s.Auth.RevokeOf(r.Context(), c, token)
}

func (s *Service) push(r *http.Request, c *cscserver.Client, form url.Values) (int, any, error) {
	uri, life, err := s.Auth.Push(r.Context(), c, form)
	return http.StatusCreated, map[string]any{"request_uri": uri, "expires_in": int(life.Seconds())}, err
}
