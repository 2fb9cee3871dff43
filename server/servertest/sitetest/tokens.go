package sitetest

import (
	"encoding/base64"
	"encoding/json"
)

// ShownToken is a token as a client reads it when it is made.
type ShownToken struct {
	ID, Token, RefreshToken, ExpireAt string
}

func (s *Site) NewToken(by string, body M, header ...string) (*Answer, ShownToken) {
	s.T.Helper()
	a := s.Do("POST", "/tokens", body, append(header, "Authorization", by)...)
	var made ShownToken
	if a.Status == 200 && json.Unmarshal(a.Data, &made) != nil {
		s.T.Fatalf("%s", a.Data)
	}
	return a, made
}

// MustToken makes a token with the sandbox's API key.
func (s *Site) MustToken(body M) ShownToken {
	s.T.Helper()
	a, made := s.NewToken(s.ApiKey(), body)
	if a.Status != 200 {
		s.T.Fatalf("%d/%d %s", a.Status, a.Code(), a.Message)
	}
	return made
}

func (s *Site) ApiKey() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(s.Box.Email+":"+s.Box.APIKey))
}
