package sitetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
)

// Receiver is a client's endpoint for callbacks.
type Receiver struct {
	*httptest.Server
	Mu    sync.Mutex
	Got   []Delivered
	reply func(n int, w http.ResponseWriter)
}

type Delivered struct {
	Header http.Header
	Body   []byte
}

func NewReceiver(t *testing.T, reply func(n int, w http.ResponseWriter)) *Receiver {
	r := &Receiver{reply: reply}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		r.Mu.Lock()
		r.Got = append(r.Got, Delivered{req.Header.Clone(), b})
		n := len(r.Got)
		r.Mu.Unlock()
		if r.reply != nil {
			r.reply(n, w)
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *Receiver) Wait(t *testing.T, n int) []Delivered {
	t.Helper()
	for range await.Within(await.Limit) {
		r.Mu.Lock()
		got := append([]Delivered{}, r.Got...)
		r.Mu.Unlock()
		if len(got) >= n {
			return got
		}
	}
	t.Fatalf("fewer than %d deliveries in three minutes", n)
	return nil
}

func Allow(hosts ...string) func(*server.Config) {
	return func(c *server.Config) {
		for _, h := range hosts {
			u, err := url.Parse(h)
			if err == nil && u.Host != "" {
				h = u.Host
			}
			c.Network.AllowPrivate = append(c.Network.AllowPrivate, h)
		}
	}
}

func (s *Site) OtherToken() string {
	s.T.Helper()
	var made struct{ Token string }
	a := s.Do("POST", "/tokens", M{"scopes": []string{"*:*/*"}, "name": "second"}, "Authorization", s.ApiKey())
	if a.Status != 200 || json.Unmarshal(a.Data, &made) != nil || made.Token == "" {
		s.T.Fatalf("%d %s %s", a.Status, a.Message, a.Data)
	}
	return made.Token
}

// Stranger is a token of another account with some money.
func (s *Site) Stranger() string {
	s.T.Helper()
	srv, err := server.Open(s.T.Context(), s.Config)
	if err != nil {
		s.T.Fatal(err)
	}
	defer srv.Close()
	made, err := srv.CreateAccount(s.T.Context(), "other@example.org", false)
	if err != nil {
		s.T.Fatal(err)
	}
	return made.Token
}

// OtherQuery is a time-stamp request over a digest of its own, by hand:
// version 1, SHA-256, no nonce, with certificates.
func OtherQuery() []byte {
	d := sha256.Sum256([]byte("something else"))
	b, _ := hex.DecodeString("30390201013031300d060960864801650304020105000420")
	b = append(b, d[:]...)
	b = append(b, 0x01, 0x01, 0xff)
	return b
}
