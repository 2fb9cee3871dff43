package account_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// TestQuotaOfAnAccount: no more is made than the quota allows, what ends in an
// error does not count, and another account is not bound.
func TestQuotaOfAnAccount(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		if err := srv.SetQuota(t.Context(), s.Box.Email, account.Quota{SignaturesPerDay: 3, SignaturesPerMonth: 100, CertificatesPerMonth: 1}); err != nil {
			t.Fatal(err)
		}
		token := s.Do("POST", "/tokens", m{"scopes": []string{"*:*/*"}}) // not looked up yet
		var made struct{ Token string }
		if err := json.Unmarshal(token.Data, &made); err != nil {
			t.Fatal(err)
		}
		s.Box.Token = made.Token
		if r := s.Sign(b64(sitetest.SampleTXT), m{"certificatePassword": "wrong"}); r.State != "ERROR" {
			t.Fatalf("%+v", r)
		}
		s.Sign(b64(sitetest.SampleTXT))
		if a := s.Do("POST", "/EU-QES_automatic", s.Body([]string{b64(sitetest.SampleTXT), b64(sitetest.SampleTXT), b64(sitetest.SampleTXT)}, optionsOf(m{"batch": true}))); a.Status != 429 || !strings.Contains(a.Message, "quota") {
			t.Errorf("three more, where two are left: %d/%d %s", a.Status, a.Code(), a.Message)
		}
		s.Sign(b64(sitetest.SampleTXT))
		s.Sign(b64(sitetest.SampleTXT))
		a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SampleTXT)))
		after, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		if a.Status != 429 || !strings.Contains(a.Message, "quota of 3 signatures a day") || after < 1 || after > 86400 {
			t.Errorf("a fourth: %d %s, again after %d s", a.Status, a.Message, after)
		}
		s.Buy("automatic", nil)
		if a := s.Do("POST", "/certificates/provider-automatic", m{"certificateOwner": "Carla Prova"}); a.Status != 429 || !strings.Contains(a.Message, "certificates a month") {
			t.Errorf("a second certificate: %d %s", a.Status, a.Message)
		}
	})
}
