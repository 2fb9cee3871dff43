package network

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCORS(t *testing.T) {
	reached := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reached++; w.WriteHeader(http.StatusTeapot) })
	ask := func(c CORSConfig, method, origin string, preflight bool) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/EU-QES_automatic", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if preflight {
			r.Header.Set("Access-Control-Request-Method", "POST")
		}
		w := httptest.NewRecorder()
		AllowOrigins(c, h).ServeHTTP(w, r)
		return w
	}
	const allow = "Access-Control-Allow-Origin"
	app := CORSConfig{Origins: []string{"https://app.example.org"}}
	if w := ask(CORSConfig{}, "OPTIONS", "https://app.example.org", true); w.Code != http.StatusTeapot || w.Header().Get(allow) != "" || w.Header().Get("Vary") != "" {
		t.Errorf("nothing is configured: %d %v", w.Code, w.Header())
	}
	if w := ask(app, "OPTIONS", "https://app.example.org", true); w.Code != 204 || w.Header().Get(allow) != "https://app.example.org" || w.Header().Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if w := ask(app, "POST", "https://app.example.org", false); w.Code != http.StatusTeapot || w.Header().Get(allow) == "" || w.Header().Get("Vary") != "Origin" {
		t.Errorf("call: %d %v", w.Code, w.Header())
	}
	for _, stranger := range []string{"", "null", "https://app.example.org.evil.example", "http://app.example.org"} {
		if w := ask(app, "POST", stranger, false); w.Code != http.StatusTeapot || w.Header().Get(allow) != "" {
			t.Errorf("%q: %d %v", stranger, w.Code, w.Header())
		}
	}
	if w := ask(CORSConfig{Origins: []string{"*"}}, "POST", "https://any.example", false); w.Header().Get(allow) != "https://any.example" || w.Header().Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("any: %v", w.Header())
	}
	if reached != 7 {
		t.Errorf("the handler was reached %d times", reached)
	}
	for _, bad := range []string{"app.example.org", "https://app.example.org/", "https://app.example.org/x", "ftp://x", ""} {
		if (CORSConfig{Origins: []string{bad}}).Check() == nil {
			t.Errorf("%q is let through", bad)
		}
	}
	if err := (CORSConfig{Origins: []string{"*", "http://localhost:3000"}}).Check(); err != nil {
		t.Error(err)
	}
}
