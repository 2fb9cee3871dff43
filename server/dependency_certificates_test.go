package server

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

func (s *site) verdict(doc []byte) verdictView {
	s.t.Helper()
	var v verdictView
	a := s.do("POST", "/verify", m{"inputDocument": b64(doc), "withPlainDocument": false})
	if err := json.Unmarshal(a.Data, &v); err != nil || len(v.SignatureReportList) != 1 {
		s.t.Fatalf("%d %s: %s", a.Status, a.Message, a.Data)
	}
	return v
}

// A certificate that is suspended or revoked signs no more, in a job either;
// the report names the time. What was time-stamped before stays valid, what was
// not does not.
func TestRevokedCertificate(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		c := s.buy("automatic", nil)
		page := s.page(c.CertificateLink, url.Values{"action": {"approve"}})
		who := m{"certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")}
		bare := s.download(s.sign(b64(samplePDF), who).ID, "signedDocument")
		stamped := s.download(s.sign(b64(samplePDF), who, optionsOf(m{"level": "T"})).ID, "signedDocument")
		second := time.Now().Unix() // which times in answers have
		await.Until(t, "the next second", func() bool { return time.Now().Unix() > second })
		from := time.Now().Add(-2 * time.Second)
		for _, step := range []struct{ verb, state string }{{"suspend", "SUSPENDED"}, {"revoke", "REVOKED"}} {
			if a := s.do("POST", "/certificates/"+c.ID+"/"+step.verb, nil); a.Status != 200 {
				t.Fatalf("%s: %d %s", step.verb, a.Status, a.Message)
			}
			for _, o := range []m{nil, {"asyncSignature": true}} {
				if r := s.sign(b64(samplePDF), who, optionsOf(o)); r.State != "ERROR" || r.number() != 112 || !strings.Contains(deref(r.ErrorMessage), step.state) {
					t.Errorf("%s: %s %d %s", step.verb, r.State, r.number(), deref(r.ErrorMessage))
				}
			}
		}
		v := s.verdict(bare)
		sig := v.SignatureReportList[0]
		if v.OverallVerified || v.Indication == "TOTAL-PASSED" || deref(sig.SignerCertificateStatus) != "REVOKED" {
			t.Errorf("without a time-stamp: %+v, %s", v, deref(sig.SignerCertificateStatus))
		}
		at, err := time.Parse("2006-01-02 15:04:05.000-07:00", deref(sig.SignerCertificateRevocationDate))
		if err != nil || at.Before(from) || at.After(time.Now()) {
			t.Errorf("revoked at %s, %v", deref(sig.SignerCertificateRevocationDate), err)
		}
		if v := s.verdict(stamped); !v.OverallVerified {
			t.Errorf("time-stamped before: %+v", v)
		}
	})
}

// An approval that comes twice, from the holder, an operator and a job at once,
// issues one certificate; no state is ever left for one before it.
func TestIssuedOnce(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		room := s.rooms()
		ctx := context.Background()
		for range 3 {
			c := s.buy("automatic", nil)
			if code, page := s.upload(c.CertificateLink, "video", map[string][]byte{"video": filmtest.MP4("vide", 4200), "photo": filmtest.Photo()}); code != 200 {
				t.Fatalf("%d %s", code, page)
			}
			var wg sync.WaitGroup
			for range 6 {
				wg.Go(func() { s.page(c.CertificateLink, url.Values{"action": {"approve"}}) })
				wg.Go(func() { s.do("POST", "/certificates/"+c.ID+"/review", m{"approve": true, "reason": "twice"}) })
				wg.Go(func() { _, _ = room.sig.enroll.Issue(ctx, c.ID) })
			}
			seen := s.watch(c.ID, "DONE")
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
				if err := room.db.Read().QueryRow(ctx, query, c.ID).Scan(&n); err != nil || n != want {
					t.Errorf("%s: %d, %v", query, n, err)
				}
			}
			for _, verb := range []string{"cancel", "resume"} {
				if a := s.do("POST", "/certificates/"+c.ID+"/"+verb, nil); a.code() != 145 || s.certificateState(c.ID) != "DONE" {
					t.Errorf("%s afterwards: %d/%d", verb, a.Status, a.code())
				}
			}
		}
		s.verifyAudit()
	})
}

// watch collects the states of a certificate until the last.
func (s *site) watch(id, last string) (seen []string) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		state := s.certificateState(id)
		if len(seen) == 0 || seen[len(seen)-1] != state {
			seen = append(seen, state)
		}
		if state == last {
			return seen
		}
	}
	s.t.Fatalf("states %v", seen)
	return nil
}

// A purchase that is sent many times under one key is one certificate and one
// charge.
func TestPurchaseOnce(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		before := s.credit()
		s.buy("automatic", nil)
		price := before - s.credit()
		var mu sync.Mutex
		ids := map[string]int{}
		var wg sync.WaitGroup
		for range 30 {
			wg.Go(func() {
				for {
					a := s.do("POST", "/certificates/namirial-automatic", m{"certificateOwner": "Elsa Prova"}, "Idempotency-Key", "one purchase")
					if a.code() == 150 { // still running: as told, again
						await.Pause()
						continue
					}
					var c bought
					if a.Status != 200 || json.Unmarshal(a.Data, &c) != nil {
						t.Errorf("%d/%d %s", a.Status, a.code(), a.Message)
					}
					mu.Lock()
					ids[c.ID]++
					mu.Unlock()
					return
				}
			})
		}
		wg.Wait()
		if paid := before - s.credit(); len(ids) != 1 || price <= 0 || paid < 1.99*price || paid > 2.01*price {
			t.Errorf("%d certificates; one costs %v, two %v", len(ids), price, paid)
		}
	})
}

// An authority that cannot issue leaves the certificate WORKING; when it can
// again, it is issued, once.
func TestAuthorityAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	room := s.rooms()
	exec := func(query string) {
		t.Helper()
		err := room.db.Write(context.Background(), func(tx *store.Tx) error {
			_, err := tx.Exec(context.Background(), query)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	c := s.buy("automatic", nil)
	exec(`alter table authority_issued rename to authority_gone`)
	page := s.page(c.CertificateLink, url.Values{"action": {"approve"}})
	if element(page, "certificate-password") != "" || s.certificateState(c.ID) != "WORKING" {
		t.Errorf("%s: %s", s.certificateState(c.ID), page)
	}
	exec(`alter table authority_gone rename to authority_issued`)
	for range 3 { // the job, which would come in twenty seconds, and again
		if _, err := room.sig.enroll.Issue(context.Background(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	if s.certificateState(c.ID) != "DONE" {
		t.Errorf("%s", s.certificateState(c.ID))
	}
	page = s.page(c.CertificateLink, url.Values{"action": {"reveal"}})
	r := s.sign(b64(samplePDF), m{"certificateUsername": element(page, "certificate-username"), "certificatePassword": element(page, "certificate-password")})
	if r.State != "DONE" {
		t.Errorf("%d %s", r.number(), deref(r.ErrorMessage))
	}
	var n int
	if err := room.db.Read().QueryRow(context.Background(), `select count(*) from authority_issued where certificate_id = $1`, c.ID).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d issued, %v", n, err)
	}
}
