package enroll_test

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/internal/film/filmtest"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// verdictView is what the tests read of a report.
type verdictView struct {
	OverallVerified     bool
	Indication          string
	SignatureReportList []struct {
		Indication, SubIndication       string
		SignerCertificateStatus         *string
		SignerCertificateRevocationDate *string
	}
}

func verdict(s *site, doc []byte) verdictView {
	s.T.Helper()
	var v verdictView
	a := s.Do("POST", "/verify", m{"inputDocument": b64(doc), "withPlainDocument": false})
	if err := json.Unmarshal(a.Data, &v); err != nil || len(v.SignatureReportList) != 1 {
		s.T.Fatalf("%d %s: %s", a.Status, a.Message, a.Data)
	}
	return v
}

// A certificate that is suspended or revoked signs no more, in a job either;
// the report names the time. What was time-stamped before stays valid, what was
// not does not.
func TestRevokedCertificate(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.Buy("automatic", nil)
		page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
		who := m{"certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")}
		bare := s.Download(s.Sign(b64(sitetest.SamplePDF), who).ID, "signedDocument")
		stamped := s.Download(s.Sign(b64(sitetest.SamplePDF), who, optionsOf(m{"level": "T"})).ID, "signedDocument")
		second := time.Now().Unix() // which times in answers have
		await.Until(t, "the next second", func() bool { return time.Now().Unix() > second })
		from := time.Now().Add(-2 * time.Second)
		for _, step := range []struct{ verb, state string }{{"suspend", "SUSPENDED"}, {"revoke", "REVOKED"}} {
			if a := s.Do("POST", "/certificates/"+c.ID+"/"+step.verb, nil); a.Status != 200 {
				t.Fatalf("%s: %d %s", step.verb, a.Status, a.Message)
			}
			for _, o := range []m{nil, {"asyncSignature": true}} {
				if r := s.Sign(b64(sitetest.SamplePDF), who, optionsOf(o)); r.State != "ERROR" || r.Number() != 112 || !strings.Contains(deref(r.ErrorMessage), step.state) {
					t.Errorf("%s: %s %d %s", step.verb, r.State, r.Number(), deref(r.ErrorMessage))
				}
			}
		}
		v := verdict(s, bare)
		sig := v.SignatureReportList[0]
		if v.OverallVerified || v.Indication == "TOTAL-PASSED" || deref(sig.SignerCertificateStatus) != "REVOKED" {
			t.Errorf("without a time-stamp: %+v, %s", v, deref(sig.SignerCertificateStatus))
		}
		at, err := time.Parse("2006-01-02 15:04:05.000-07:00", deref(sig.SignerCertificateRevocationDate))
		if err != nil || at.Before(from) || at.After(time.Now()) {
			t.Errorf("revoked at %s, %v", deref(sig.SignerCertificateRevocationDate), err)
		}
		if v := verdict(s, stamped); !v.OverallVerified {
			t.Errorf("time-stamped before: %+v", v)
		}
	})
}

// An approval that comes twice, from the holder, an operator and a job at once,
// issues one certificate; no state is ever left for one before it.
func TestIssuedOnce(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		ctx := context.Background()
		for range 3 {
			c := s.Buy("automatic", nil)
			if code, page := s.Upload(c.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}); code != 200 {
				t.Fatalf("%d %s", code, page)
			}
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() { s.Page(c.CertificateLink, url.Values{"action": {"approve"}}) })
				wg.Go(func() { s.Do("POST", "/certificates/"+c.ID+"/review", m{"approve": true, "reason": "twice"}) })
				wg.Go(func() { _, _ = srv.Parts().Enroll.Issue(ctx, c.ID) })
			}
			seen := watch(s, c.ID, "DONE")
			wg.Wait()
			order := []string{"NEW", "REGISTERING", "WORKING", "DONE"}
			if !slices.IsSortedFunc(seen, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) }) {
				t.Errorf("states %v", seen)
			}
			for query, want := range map[string]int{
				`select count(*) from authority_issued where certificate_id = $1`: 1,
				`select count(*) from credentials where id = $1`:                  1,
			} {
				var n int
				if err := srv.Parts().DB.Read().QueryRow(ctx, query, c.ID).Scan(&n); err != nil || n != want {
					t.Errorf("%s: %d, %v", query, n, err)
				}
			}
			for _, verb := range []string{"cancel", "resume"} {
				if a := s.Do("POST", "/certificates/"+c.ID+"/"+verb, nil); a.Code() != 145 || s.CertificateState(c.ID) != "DONE" {
					t.Errorf("%s afterwards: %d/%d", verb, a.Status, a.Code())
				}
			}
		}
		s.VerifyAudit()
	})
}

// watch collects the states of a certificate until the last.
func watch(s *site, id, last string) (seen []string) {
	s.T.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		state := s.CertificateState(id)
		if len(seen) == 0 || seen[len(seen)-1] != state {
			seen = append(seen, state)
		}
		if state == last {
			return seen
		}
	}
	s.T.Fatalf("states %v", seen)
	return nil
}

// A purchase that is sent many times under one key is one certificate and one
// charge.
func TestPurchaseOnce(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		before := s.Credit()
		s.Buy("automatic", nil)
		price := before - s.Credit()
		var mu sync.Mutex
		ids := map[string]int{}
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for range await.Within(await.Limit) {
					a := s.Do("POST", "/certificates/namirial-automatic", m{"certificateOwner": "Elsa Prova"}, "Idempotency-Key", "one purchase")
					if a.Code() == 150 { // still running: as told, again
						continue
					}
					var c bought
					if a.Status != 200 || json.Unmarshal(a.Data, &c) != nil {
						t.Errorf("%d/%d %s", a.Status, a.Code(), a.Message)
					}
					mu.Lock()
					ids[c.ID]++
					mu.Unlock()
					return
				}
				t.Error("the first still runs")
			})
		}
		wg.Wait()
		if paid := before - s.Credit(); len(ids) != 1 || price <= 0 || paid < 1.99*price || paid > 2.01*price {
			t.Errorf("%d certificates; one costs %v, two %v", len(ids), price, paid)
		}
	})
}

// An authority that cannot issue leaves the certificate WORKING; when it can
// again, it is issued, once.
func TestAuthorityAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	srv := s.OpenServer()
	exec := func(query string) {
		t.Helper()
		err := srv.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
			_, err := tx.Exec(context.Background(), query)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c := s.Buy("automatic", nil)
	exec(`alter table authority_issued rename to authority_gone`)
	page := s.Page(c.CertificateLink, url.Values{"action": {"approve"}})
	if element(page, "certificate-password") != "" || s.CertificateState(c.ID) != "WORKING" {
		t.Errorf("%s: %s", s.CertificateState(c.ID), page)
	}
	exec(`alter table authority_gone rename to authority_issued`)
	for range 3 { // the job, which would come in twenty seconds, and again
		if _, err := srv.Parts().Enroll.Issue(context.Background(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if s.CertificateState(c.ID) != "DONE" {
		t.Errorf("%s", s.CertificateState(c.ID))
	}
	page = s.Page(c.CertificateLink, url.Values{"action": {"reveal"}})
	r := s.Sign(b64(sitetest.SamplePDF), m{"certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")})
	if r.State != "DONE" {
		t.Errorf("%d %s", r.Number(), deref(r.ErrorMessage))
	}
	var n int
	if err := srv.Parts().DB.Read().QueryRow(context.Background(), `select count(*) from authority_issued where certificate_id = $1`, c.ID).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d issued, %v", n, err)
	}
}
