package remote_test

import (
	"net/http"

	"rogito.dev/rogito/server"
)

// count of the calls of a method so far.
func count(p *farProvider, method string) int {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Calls[method]
}

// intercept answers calls of a method in place of the provider; nil ends that.
func intercept(p *farProvider, method string, f func(w http.ResponseWriter, n int, body map[string]any) bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.Odd, p.Calls[method] = nil, 0
	if f != nil {
		p.Odd = func(w http.ResponseWriter, called string, n int, body map[string]any) bool {
			return called == method && f(w, n, body)
		}
	}
}

// signFar signs with a certificate of the provider.
func signFar(s *site, kind string, c server.SandboxCredentials, docs any, more ...m) *record {
	s.T.Helper()
	b := m{"inputDocuments": docs, "certificateUsername": c.Username, "certificatePassword": c.Password}
	for _, x := range more {
		for k, v := range x {
			b[k] = v
		}
	}
	return s.Record(s.Do("POST", "/EU-QES_"+kind, b))
}
