package server

import (
	"errors"
	"net/http"
	"strings"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/pages/enrol"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/pages/sign"
	"rogito.dev/rogito/server/internal/people"
)

// mountSigners mounts the pages of people who sign. Identity providers and cards answer
// where they do for certificates, and are handed on from there.
func (s *Server) mountSigners(a *api.API, site *look.Site, orders *enrol.Pages) {
	p := sign.New(site, sign.Options{
		People: s.sig.people, Drawer: s.drawer, Guard: s.sig.guard, Cards: orders.Cards.URL,
		Secure: strings.HasPrefix(strings.ToLower(s.cfg.PublicURL), "https://"), Public: s.cfg.PublicURL, Log: s.log,
	})
	orders.OtherRefusal = func(w http.ResponseWriter, r *http.Request, err error) bool {
		var t *people.Turned
		if !errors.As(err, &t) {
			return false
		}
		p.Turned(w, r, t.Visit, t.Err)
		return true
	}
	orders.OtherCard = func(w http.ResponseWriter, r *http.Request, card [][]byte) bool {
		v, err := s.sig.people.Find(r.Context(), r.PathValue("id"), r.PathValue("secret"))
		switch {
		case err != nil:
			return false
		case len(card) == 0:
			p.Turned(w, r, v, enrol.NoCard())
		default:
			p.Card(w, r, v, card)
		}
		return true
	}
	a.Mount("/sign/*", p, http.MethodGet, http.MethodHead, http.MethodPost)
}
