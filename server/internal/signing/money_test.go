package signing_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"sync"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/store/storetest"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// Every signature that a key makes is paid for, on whatever way it is asked for.
func TestEverySignatureIsPaidFor(t *testing.T) {
	await.All(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		one := s.Sign(b64(sitetest.SampleTXT))
		twice := s.Sign(b64(s.Download(one.ID, "signedDocument")), m{"signatureType": "cades"})
		parallel := s.Download(twice.ID, "signedDocument")
		three := []string{b64(sitetest.SampleTXT), b64(sitetest.SamplePDF), b64(sitetest.SampleXML)}
		pdfs := []string{b64(sitetest.SamplePDF), b64(sitetest.SamplePDF)}
		digests := []any{
			m{"sourceType": "base64Hash", "payload": b64(bytes.Repeat([]byte{7}, 32))}, m{"sourceType": "base64Hash", "payload": b64(bytes.Repeat([]byte{8}, 32))},
		}
		fields := m{"fieldsNameList": []string{"One", "Two", "Three"}}
		for _, c := range []struct {
			name    string
			docs    any
			typ     string
			options m
			want    int
		}{
			{"one", b64(sitetest.SamplePDF), "", nil, 1},
			{"values", three, "pkcs1", nil, 3},
			{"values of digests", digests, "pkcs1", nil, 2},
			{"a batch", three, "", m{"batch": true}, 3},
			{"a batch of values", three, "pkcs1", m{"batch": true}, 3},
			{"a batch, one unsignable", three, "pades", m{"batch": true}, 1},
			{"merged", pdfs, "pades", nil, 1},
			{"zipped", three, "cades", nil, 1},
			{"in a container", three, "xades", nil, 1},
			{"fields", b64(sitetest.SamplePDF), "pades", m{"signerImage": fields}, 3},
			{"fields of merged documents", pdfs, "pades", m{"signerImage": fields}, 3},
			{"fields in a batch", pdfs, "pades", m{"batch": true, "signerImage": fields}, 6},
			{"counter-signatures", b64(parallel), "cades", m{"counterSignature": true}, 2},
			{"time-stamped", b64(sitetest.SamplePDF), "", m{"level": "LTA"}, 1},
		} {
			for _, async := range []string{"", "asyncSignature", "asyncDocumentsValidation"} {
				options := m{}
				for k, v := range c.options {
					options[k] = v
				}
				if async != "" {
					options[async] = true
				}
				body := s.Body(c.docs, optionsOf(options))
				if c.typ != "" {
					body["signatureType"] = c.typ
				}
				before := s.Credit()
				r := s.Wait(s.Record(s.Do("POST", "/EU-QES_automatic", body)).ID, "DONE", "ERROR")
				if r.State != "DONE" {
					t.Errorf("%s %s: %s", c.name, async, deref(r.ErrorMessage))
					continue
				}
				if got := int(math.Round((before - s.Credit()) / 0.05)); got != c.want {
					t.Errorf("%s %s: %d signatures paid, want %d", c.name, async, got, c.want)
				}
				uses := countRows(s.OpenServer(), t, fmt.Sprintf(`select count(*) from signing_intents where signature_id = '%s'`, r.ID))
				if int(uses) < c.want {
					t.Errorf("%s %s: the key was used %d times", c.name, async, uses)
				}
			}
		}
	})
}

// Who cannot pay for all signatures gets none, and pays for none.
func TestNoSignatureOnCredit(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		storetest.Exec(t, srv.Parts().DB, `update wallets set credit = 120000`) // two signatures
		for name, more := range map[string]m{
			"values":               {"signatureType": "pkcs1", "inputDocuments": []string{b64(sitetest.SampleTXT), b64(sitetest.SampleXML), b64(sitetest.SamplePDF)}},
			"values, later":        {"signatureType": "pkcs1", "inputDocuments": []string{b64(sitetest.SampleTXT), b64(sitetest.SampleXML), b64(sitetest.SamplePDF)}, "options": m{"asyncDocumentsValidation": true}},
			"a batch, later":       {"inputDocuments": []string{b64(sitetest.SampleTXT), b64(sitetest.SampleXML), b64(sitetest.SamplePDF)}, "options": m{"batch": true, "asyncDocumentsValidation": true}},
			"fields":               {"options": m{"signerImage": m{"fieldsNameList": []string{"One", "Two", "Three"}}}},
			"fields, signed later": {"options": m{"asyncSignature": true, "signerImage": m{"fieldsNameList": []string{"One", "Two", "Three"}}}},
		} {
			a := s.Do("POST", "/EU-QES_automatic", s.Body(b64(sitetest.SamplePDF), more))
			if a.Status == 402 && a.Code() == 611 {
				continue
			}
			if r := s.Wait(s.Record(a).ID, "DONE", "ERROR"); r.State != "ERROR" || r.Number() != 611 || r.Document.SignedDocument != nil {
				t.Errorf("%s: %s %d %s", name, r.State, r.Number(), deref(r.ErrorMessage))
			}
		}
		if got := s.Credit(); math.Abs(got-0.12) > 1e-9 {
			t.Errorf("%v EUR are left of 0.12", got)
		}
	})
}

// Whether a deleted record's price comes back is decided by its state at that moment, not by one
// that was read before.
func TestRefundOfADeletedRecord(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		ctx := context.Background()
		for _, c := range []struct {
			state string // that it turns while it is being deleted
			back  float64
		}{{"DONE", 0}, {"ERROR", 0}, {"WAIT_SIGN", 0.05}} {
			id := s.Waiting()
			before := s.Credit()
			read, deleted := make(chan struct{}), make(chan int, 1)
			var once sync.Once
			err := srv.Parts().DB.Write(ctx, func(tx *store.Tx) error {
				_, err := tx.Exec(ctx, `update signatures set state = $1 where id = $2`, c.state, id)
				once.Do(func() {
					go func() {
						close(read)
						a := s.Do("DELETE", "/signatures/"+id, nil)
						deleted <- a.Status
					}()
				})
				<-read
				storetest.Blocked(t, srv.Parts().DB) // it has read the record, and waits to write
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			if status := <-deleted; status != 200 {
				t.Errorf("%s: deleting answers %d", c.state, status)
			}
			if got := s.Credit() - before; math.Abs(got-c.back) > 1e-9 {
				t.Errorf("%s: %v EUR came back, want %v", c.state, got, c.back)
			}
		}
		// Deleted by several at once, the price comes back once.
		id, before := s.Waiting(), 0.0
		before = s.Credit()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { s.Do("DELETE", "/signatures/"+id, nil) })
		}
		wg.Wait()
		if got := s.Credit() - before; math.Abs(got-0.05) > 1e-9 {
			t.Errorf("%v EUR came back, want 0.05", got)
		}
	})
}
