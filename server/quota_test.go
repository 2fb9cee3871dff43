package server

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/account"
)

// TestQuotaOfAnAccount: no more is made than the quota allows, what ends in an
// error does not count, and another account is not bound.
func TestQuotaOfAnAccount(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		room := s.rooms()
		if err := room.SetQuota(t.Context(), s.box.Email, account.Quota{SignaturesPerDay: 3, SignaturesPerMonth: 100, CertificatesPerMonth: 1}); err != nil {
			t.Fatal(err)
		}
		token := s.do("POST", "/tokens", m{"scopes": []string{"*:*/*"}}) // one that nobody has looked up yet
		var made struct{ Token string }
		if err := json.Unmarshal(token.Data, &made); err != nil {
			t.Fatal(err)
		}
		s.box.Token = made.Token
		if r := s.sign(b64(sampleTXT), m{"certificatePassword": "wrong"}); r.State != "ERROR" {
			t.Fatalf("%+v", r)
		}
		s.sign(b64(sampleTXT))
		if a := s.do("POST", "/EU-QES_automatic", s.body([]string{b64(sampleTXT), b64(sampleTXT), b64(sampleTXT)}, optionsOf(m{"batch": true}))); a.Status != 429 || !strings.Contains(a.Message, "quota") {
			t.Errorf("three more, where two are left: %d/%d %s", a.Status, a.code(), a.Message)
		}
		s.sign(b64(sampleTXT))
		s.sign(b64(sampleTXT))
		a := s.do("POST", "/EU-QES_automatic", s.body(b64(sampleTXT)))
		after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		if a.Status != 429 || !strings.Contains(a.Message, "quota of 3 signatures a day") || after < 1 || after > 86400 {
			t.Errorf("a fourth: %d %s, again after %d s", a.Status, a.Message, after)
		}
		s.buy("automatic", nil)
		if a := s.do("POST", "/certificates/provider-automatic", m{"certificateOwner": "Carla Prova"}); a.Status != 429 || !strings.Contains(a.Message, "certificates a month") {
			t.Errorf("a second certificate: %d %s", a.Status, a.Message)
		}
	})
}
