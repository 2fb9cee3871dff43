package api

import "net/http"

// MountPKI puts the embedded authority where its certificates point to.
func MountPKI(a *API, h http.Handler) {
	a.Mount("/pki/*", h)
	a.Mount("/tsa", h)
}

// MountPages puts the pages for people in their place.
func MountPages(a *API, h http.Handler) {
	a.Mount("/enrol/*", h)
	a.Mount("/pages/*", h)
}
