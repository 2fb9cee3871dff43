package api

import "net/http"

// MountPKI puts the embedded authority where its certificates point to. What
// it does not have is refused as everything else is.
func MountPKI(a *API, h *http.ServeMux) {
	a.Mount("/pki/*", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := h.Handler(r); pattern == "" {
			a.NotFound(w, r)
			return
		}
		h.ServeHTTP(w, r)
	}), http.MethodGet, http.MethodHead, http.MethodPost)
	a.Mount("/tsa", h, http.MethodPost)
}

// MountPages puts the pages for people in their place.
func MountPages(a *API, h http.Handler) {
	a.Mount("/enrol/*", h, http.MethodGet, http.MethodHead, http.MethodPost)
	a.Mount("/pages/*", h, http.MethodGet, http.MethodHead, http.MethodPost)
}
