package account_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// An answer that shows a token is replayed only to callers who could have asked for it.
func TestTokenReplaysAreJudged(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		all := m{"scopes": []string{"*:*/*"}, "name": "replayed"}
		first, made := s.NewToken("Bearer "+s.Box.Token, all, "Idempotency-Key", "k")
		if first.Status != 200 {
			t.Fatal(first.Message)
		}
		_, flat := s.Raw("POST", "/token", m{"scopes": []string{"*:*/*"}}, "Idempotency-Key", "flat")
		var v1 struct{ Token string }
		if err := json.Unmarshal(flat, &v1); err != nil || v1.Token == "" {
			t.Fatalf("%s", flat)
		}
		for name, tc := range map[string]struct {
			by   string
			want int
		}{
			"the same token":          {"Bearer " + s.Box.Token, 200},
			"the API key":             {s.ApiKey(), 200},
			"another of all scopes":   {"Bearer " + s.MustToken(m{"scopes": []string{"*:*/*"}}).Token, 200},
			"one for tokens alone":    {"Bearer " + s.MustToken(m{"scopes": []string{"*:*/tokens", "*:*/token"}}).Token, 403},
			"one for making alone":    {"Bearer " + s.MustToken(m{"scopes": []string{"POST:*/tokens", "POST:*/token"}}).Token, 403},
			"one that may do most":    {"Bearer " + s.MustToken(m{"scopes": []string{"GET:*/*", "POST:*/*", "PATCH:*/*", "PUT:*/*"}}).Token, 403},
			"one with limits":         {"Bearer " + s.MustToken(m{"scopes": []string{"*:*/*"}, "limits": m{"totalRequests": 100}}).Token, 403},
			"one bound to an address": {"Bearer " + s.MustToken(m{"scopes": []string{"*:*/*"}, "limits": m{"ip": []string{"127.0.0.1"}}}).Token, 403},
			"one of a minute":         {"Bearer " + s.MustToken(m{"scopes": []string{"*:*/*"}, "ttl": 60}).Token, 403},
			"the token itself":        {"Bearer " + made.Token, 200},
		} {
			a, again := s.NewToken(tc.by, all, "Idempotency-Key", "k")
			if a.Status != tc.want || tc.want == 403 && a.Code() != 126 || tc.want == 200 && again.Token != made.Token {
				t.Errorf("%s: %d/%d %s", name, a.Status, a.Code(), a.Message)
			}
			if tc.want == 403 && strings.Contains(string(a.Data)+a.Message, made.Token) {
				t.Errorf("%s reads the token", name)
			}
			resp, b := s.Raw("POST", "/token", m{"scopes": []string{"*:*/*"}}, "Idempotency-Key", "flat", "Authorization", tc.by)
			if resp.Status != tc.want || strings.Contains(string(b), v1.Token) != (tc.want == 200) {
				t.Errorf("%s, first version: %d", name, resp.Status)
			}
		}
	})
}

// A request to sign that is repeated must present what the first one had to.
func TestSigningReplaysAreJudged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.Buy("automatic", m{"securityLevel": 2})
	page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
	body := m{"inputDocuments": b64(sitetest.SamplePDF), "certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")}
	bound := "Bearer " + s.MustToken(m{"scopes": []string{"*:*/*"}, "limits": m{"ip": []string{"127.0.0.1"}}}).Token
	first := s.Record(s.Do("POST", "/EU-QES_automatic", body, "Authorization", bound, "Idempotency-Key", "k"))
	if again := s.Record(s.Do("POST", "/EU-QES_automatic", body, "Authorization", bound, "Idempotency-Key", "k")); again.ID != first.ID {
		t.Error("the replay is another record")
	}
	if a := s.Do("POST", "/EU-QES_automatic", body, "Idempotency-Key", "k"); a.Status != 403 || a.Code() != 129 {
		t.Errorf("a token that is not bound reads the record: %d/%d", a.Status, a.Code())
	}
}

// The rules on tokens as a client meets them, in both versions of the calls.
func TestTokenRulesOverHTTP(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		short := s.MustToken(m{"scopes": []string{"*:*/*"}, "ttl": 60})
		limit := time.Now().Add(61 * time.Second)
		by := []string{"Authorization", "Bearer " + short.Token}
		_, child := s.NewToken(by[1], m{"scopes": []string{"*:*/*"}, "ttl": 31536000})
		_, flat := s.Raw("POST", "/token", m{"scopes": []string{"*:*/*"}}, by...)
		var v1 struct{ Expire int64 }
		if err := json.Unmarshal(flat, &v1); err != nil || time.Unix(v1.Expire, 0).After(limit) {
			t.Errorf("a child of the first version: %s", flat)
		}
		for name, call := range map[string]func() *answer{
			"PATCH of itself": func() *answer { return s.Do("PATCH", "/tokens/"+short.ID, m{"ttl": 31536000}, by...) },
			"PATCH, first": func() *answer {
				return s.Do("PATCH", "/token/"+short.ID, m{"expire": time.Now().AddDate(0, 6, 0).Unix()}, by...)
			},
			"PUT, first":       func() *answer { return s.Do("PUT", "/token/"+short.Token, m{"scopes": []string{"*:*/*"}}, by...) },
			"PATCH of a child": func() *answer { return s.Do("PATCH", "/tokens/"+child.ID, m{"ttl": 31536000}, by...) },
			"the child itself": func() *answer {
				return s.Do("PATCH", "/tokens/"+child.ID, m{"ttl": 0}, "Authorization", "Bearer "+child.Token)
			},
		} {
			if a := call(); a.Status != 200 {
				t.Errorf("%s: %d/%d %s", name, a.Status, a.Code(), a.Message)
			}
			for _, id := range []string{short.ID, child.ID} {
				var got shownToken
				if err := json.Unmarshal(s.Do("GET", "/tokens/"+id, nil).Data, &got); err != nil {
					t.Fatal(err)
				}
				if end, err := time.Parse(time.RFC3339, got.ExpireAt); err != nil || end.After(limit) {
					t.Errorf("%s: a token of a minute lives until %s", name, got.ExpireAt)
				}
			}
		}
		narrow := []string{"Authorization", "Bearer " + s.MustToken(m{"scopes": []string{"*:*/tokens", "*:*/token"}}).Token}
		victim := s.MustToken(m{"scopes": []string{"*:*/*"}})
		for name, a := range map[string]*answer{
			"DELETE":         s.Do("DELETE", "/tokens/"+victim.ID, nil, narrow...),
			"DELETE, first":  s.Do("DELETE", "/token/"+victim.Token, nil, narrow...),
			"narrowing":      s.Do("PATCH", "/tokens/"+victim.ID, m{"scopes": []string{"GET:*/tokens"}}, narrow...),
			"limiting":       s.Do("PATCH", "/tokens/"+victim.ID, m{"limits": m{"totalRequests": 0}}, narrow...),
			"binding":        s.Do("PATCH", "/tokens/"+victim.ID, m{"limits": m{"ip": []string{"192.0.2.1"}}}, narrow...),
			"shortening":     s.Do("PATCH", "/tokens/"+victim.ID, m{"ttl": 1}, narrow...),
			"renaming":       s.Do("PATCH", "/tokens/"+victim.ID, m{"name": "mine"}, narrow...),
			"PUT, first":     s.Do("PUT", "/token/"+victim.ID, m{"scopes": []string{"GET:*/tokens"}}, narrow...),
			"the first one":  s.Do("DELETE", "/tokens/"+firstToken(s), nil, narrow...),
			"a wider child":  s.Do("POST", "/tokens", m{"scopes": []string{"*:*/*"}}, narrow...),
			"a wider itself": s.Do("PATCH", "/tokens/"+strings.TrimPrefix(narrow[1], "Bearer "), m{"scopes": []string{"*:*/*"}}, narrow...),
		} {
			if a.Status != 403 || a.Code() != 126 {
				t.Errorf("%s: %d/%d %s", name, a.Status, a.Code(), a.Message)
			}
		}
		if a := s.Do("GET", "/credit", nil, "Authorization", "Bearer "+victim.Token); a.Status != 200 {
			t.Errorf("the victim: %d", a.Status)
		}
		// Reuse of a refresh token ends the line and what came from it.
		_, heir := s.NewToken("Bearer "+victim.Token, m{"scopes": []string{"*:*/*"}})
		var renewed shownToken
		if err := json.Unmarshal(s.Do("PATCH", "/tokens/"+victim.ID, nil, "Authorization", "Bearer "+victim.RefreshToken).Data, &renewed); err != nil || renewed.Token == "" {
			t.Fatal("not renewed")
		}
		if a := s.Do("GET", "/credit", nil, "Authorization", "Bearer "+heir.Token); a.Status != 200 {
			t.Errorf("a child of a renewed token: %d", a.Status)
		}
		if a := s.Do("PATCH", "/tokens/"+renewed.ID, nil, "Authorization", "Bearer "+victim.RefreshToken); a.Status != 401 || a.Code() != 125 {
			t.Errorf("used twice: %d/%d", a.Status, a.Code())
		}
		for _, secret := range []string{renewed.Token, heir.Token} {
			if a := s.Do("GET", "/credit", nil, "Authorization", "Bearer "+secret); a.Status != 401 {
				t.Errorf("after the reuse: %d", a.Status)
			}
		}
	})
}

// firstToken is the id of the sandbox's own token.
func firstToken(s *site) string {
	s.T.Helper()
	var got shownToken
	if err := json.Unmarshal(s.Do("GET", "/tokens/"+s.Box.Token, nil).Data, &got); err != nil {
		s.T.Fatal(err)
	}
	return got.ID
}

// A token that asked for a signature cannot approve it after a refresh, and what
// it asked for goes on.
func TestRefreshedTokenDoesNotApprove(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	tok := s.MustToken(m{"scopes": []string{"*:*/*"}})
	asker := *s
	box := *s.Box
	asker.Box, box.Token = &box, tok.Token
	id := asker.Waiting()
	var renewed shownToken
	if err := json.Unmarshal(s.Do("PATCH", "/tokens/"+tok.ID, nil, "Authorization", "Bearer "+tok.RefreshToken).Data, &renewed); err != nil || renewed.Token == "" {
		t.Fatal("not renewed")
	}
	if a := s.Do("POST", "/approvals/"+id, nil, "Authorization", "Bearer "+renewed.Token); a.Status != 403 || a.Code() != 129 {
		t.Errorf("it approves itself: %d/%d", a.Status, a.Code())
	}
	if a := s.Do("POST", "/approvals/"+id, nil); a.Status != 200 {
		t.Fatalf("another token: %d %s", a.Status, a.Message)
	}
	if r := s.Wait(id, "DONE", "ERROR"); r.State != "DONE" {
		t.Errorf("%s %s", r.State, deref(r.ErrorMessage))
	}
}
