package abuse_test

import (
	"testing"

	"rogito.dev/rogito/server/servertest/sitetest"
)

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
			"title":     {"/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT), m{"title": nul})},
			"username":  {"/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT), m{"certificateUsername": nul})},
			"file name": {"/EU-QES_automatic", s.Body(m{"sourceType": "base64", "payload": b64(sitetest.SampleTXT), "name": nul})},
			"callback":  {"/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT), m{"callback": m{"url": "https://nowhere.invalid/", "custom": nul}})},
			"token":     {"/tokens", m{"scopes": []string{"*:*/*"}, "name": nul}},
			"reference": {"/certificates/provider-otp", m{"certificateOwner": "x", "customReference": nul}},
			"name":      {"/certificates/provider-otp", m{"certificateOwner": "x", nul: 1}},
		} {
			if a := s.Do("POST", c.path, c.body); a.Status != 400 || a.Code() != 100 {
				t.Errorf("%s: %d/%d %s", name, a.Status, a.Code(), a.Message)
			}
		}
		for _, path := range []string{"/tokens?scope=%00", "/signatures?state=%00", "/certificates?state=%00"} {
			if a := s.Do("GET", path, nil); a.Status >= 500 {
				t.Errorf("%s: %d/%d", path, a.Status, a.Code())
			}
		}
	})
}
