package server

import "testing"

// A text with U+0000, which PostgreSQL cannot keep, is the client's fault and
// not ours, in every field and on every engine.
func TestNULIsRefused(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		const nul = "a\x00b"
		for name, c := range map[string]struct {
			path string
			body m
		}{
			"title":     {"/EU-QES_automatic", s.body(b64(sampleTXT), m{"title": nul})},
			"username":  {"/EU-QES_automatic", s.body(b64(sampleTXT), m{"certificateUsername": nul})},
			"file name": {"/EU-QES_automatic", s.body(m{"sourceType": "base64", "payload": b64(sampleTXT), "name": nul})},
			"callback":  {"/EU-QES_automatic", s.body(b64(sampleTXT), m{"callback": m{"url": "https://nowhere.invalid/", "custom": nul}})},
			"token":     {"/tokens", m{"scopes": []string{"*:*/*"}, "name": nul}},
			"reference": {"/certificates/provider-otp", m{"certificateOwner": "x", "customReference": nul}},
			"name":      {"/certificates/provider-otp", m{"certificateOwner": "x", nul: 1}},
		} {
			if a := s.do("POST", c.path, c.body); a.Status != 400 || a.code() != 100 {
				t.Errorf("%s: %d/%d %s", name, a.Status, a.code(), a.Message)
			}
		}
		for _, path := range []string{"/tokens?scope=%00", "/signatures?state=%00", "/certificates?state=%00"} {
			if a := s.do("GET", path, nil); a.Status >= 500 {
				t.Errorf("%s: %d/%d", path, a.Status, a.code())
			}
		}
	})
}
