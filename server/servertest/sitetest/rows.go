package sitetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/store"
)

// AuditGood says that a verification finds nothing.
func (s *Site) AuditGood(srv *server.Server) bool {
	s.T.Helper()
	if _, err := srv.Parts().Audit.Sequence(context.Background()); err != nil {
		s.T.Fatal(err)
	}
	res, err := srv.VerifyAudit(context.Background())
	if err != nil {
		s.T.Fatal(err)
	}
	return res.Bad == nil
}

// Holding is SQL for a row with an event of a kind.
func Holding(kind string) string { return `' ' || kind || ' ' like '% ` + kind + ` %'` }

// value reads one value of the database.
func value[T any](s *server.Server, t *testing.T, query string, args ...any) (v T) {
	t.Helper()
	if err := s.Parts().DB.Read().QueryRow(context.Background(), query, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v
}

func Field(s *server.Server, t *testing.T, query string, args ...any) string {
	t.Helper()
	return value[string](s, t, query, args...)
}

func RawField(s *server.Server, t *testing.T, query string, args ...any) []byte {
	t.Helper()
	return value[[]byte](s, t, query, args...)
}

// Flip changes the last byte.
func Flip(b []byte) []byte {
	b = bytes.Clone(b)
	b[len(b)-1] ^= 1
	return b
}

// Tenant is another account of the same site, with its own certificate.
func (s *Site) Tenant() *Site {
	s.T.Helper()
	other, box := *s, *s.Box
	other.Box = &box
	box.Token = s.Stranger()
	if _, err := s.OpenServer().CreditWallet(s.T.Context(), "other@example.org", "1000"); err != nil {
		s.T.Fatal(err)
	}
	c := other.Buy("automatic", nil)
	page := other.Page(c.CertificateLink, url.Values{"action": {"approve"}})
	box.Certificates = map[string]server.SandboxCredentials{
		"automatic": {Username: Element(page, "certificate-username"), Password: Element(page, "certificate-password")},
	}
	return &other
}

// SandboxAccount is the id of the sandbox's own account.
func SandboxAccount(s *server.Server, t *testing.T) string {
	t.Helper()
	return value[string](s, t, `select account_id from credentials limit 1`)
}

func Soaking() bool { return os.Getenv("ROGITO_TEST_SOAK") != "" }

// Standing is an installation that takes requests and works on none: what waits
// is worked on by the test.
func Standing(t *testing.T, database string) *Site {
	t.Helper()
	s := NewSite(t, func(c *server.Config) { c.Database = database })
	s.Stand()
	return s
}

// Stand stops the server of a site and goes on without workers.
func (s *Site) Stand() {
	s.Run.Stop()
	srv := httptest.NewServer(s.OpenServer().Handler())
	s.T.Cleanup(srv.Close)
	s.URL = srv.URL
}

// SigningWith is the signing service with another lease and clock.
func SigningWith(s *server.Server, c signing.Config) *signing.Service {
	w := s.Parts()
	return signing.New(signing.Deps{
		DB: w.DB, Master: w.Master, Blobs: w.Blobs, Keys: w.Keys, Enroll: w.Enroll, Audit: w.Audit, Callbacks: w.Callbacks, Biller: w.Billing, Tokens: w.Accounts, Guard: w.Guard,
	}, c)
}

func CountRows(s *server.Server, t *testing.T, query string) int {
	t.Helper()
	return value[int](s, t, query)
}

// Work has a service take the next record of the line, as its workers do.
func Work(s *server.Server, on *signing.Service, c job.Config) error {
	ctx := context.Background()
	claims, err := job.New(s.Parts().DB, c).Claim(ctx, on.Source(1), 1, nil)
	if err != nil || len(claims) == 0 {
		return err
	}
	return on.Work(ctx, claims[0])
}

// Execute changes rows, as someone who can write to the database does.
func Execute(s *server.Server, t *testing.T, query string, args ...any) {
	t.Helper()
	err := s.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Exec(context.Background(), query, args...)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

var EvidenceFiles = map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}

// Ready brings an order to where its credentials wait for the holder, whose
// browser is s.holder.
func (s *Site) Ready(kind string, more M) Bought {
	s.T.Helper()
	c := s.Buy(kind, more)
	s.Upload(c.CertificateLink, "video", EvidenceFiles)
	if a := s.Do("POST", "/certificates/"+c.ID+"/review", M{"approve": true}); a.Status != 200 {
		s.T.Fatalf("%d %s", a.Status, a.Message)
	}
	return c
}

// readiness is what a server says of itself: its status, and what is wrong.
func readiness(url string) (status int, reasons map[string]string, err error) {
	resp, err := http.Get(url + "/readyz")
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	var a struct{ Reasons map[string]string }
	return resp.StatusCode, a.Reasons, errors.Join(err, json.Unmarshal(body, &a))
}

// Becomes waits until a server at an address says that it is ready, or that it is not
// because of a part.
func Becomes(t *testing.T, url string, status int, part string) {
	t.Helper()
	var last string
	for range await.Within(90 * time.Second) {
		got, reasons, err := readiness(url)
		if got == status && (part == "" || reasons[part] != "") {
			return
		}
		last = fmt.Sprint(got, reasons, err)
	}
	t.Fatalf("%s is %s, want %d for %q", url, last, status, part)
}

func (s *Site) Becomes(status int, part string) {
	s.T.Helper()
	Becomes(s.T, s.URL, status, part)
}
