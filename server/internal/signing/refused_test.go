package signing_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/server/servertest/sitetest"
)

// A refused call leaves no documents behind: they were not paid for.
func TestRefusedCallsKeepNothing(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		srv := s.OpenServer()
		blobs := func() (n int) {
			if err := srv.Parts().Blobs.List(context.Background(), time.Now().Add(time.Hour), func(string) error { n++; return nil }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		h := s.Issued("automatic", nil)
		if a := s.Do("POST", "/certificates/"+h.ID+"/suspend", nil); a.Status != 200 {
			t.Fatal(a.Message)
		}
		before := blobs()
		picture := optionsOf(m{"signerImage": m{"image": b64(sitetest.SamplePDF), "reason": "x"}})
		for name, c := range map[string]struct {
			path string
			body m
			want int
		}{
			"an unknown name":      {"automatic", m{"certificateUsername": "nobody", "certificatePassword": "nothing"}, 110},
			"a wrong password":     {"automatic", m{"certificateUsername": s.Box.Certificates["automatic"].Username, "certificatePassword": "wrong"}, 110},
			"another kind":         {"eseal", m{"certificateUsername": s.Box.Certificates["automatic"].Username, "certificatePassword": s.Box.Certificates["automatic"].Password}, 118},
			"a suspended one":      {"automatic", m{"certificateUsername": h.User, "certificatePassword": h.Pass}, 112},
			"a wrong code":         {"otp", m{"certificateUsername": s.Box.Certificates["otp"].Username, "certificatePassword": s.Box.Certificates["otp"].Password, "certificateOtp": "000000"}, 116},
			"with a picture":       {"automatic", m{"certificateUsername": "nobody", "certificatePassword": "nothing", "options": picture["options"]}, 110},
			"an asynchronous call": {"automatic", m{"certificateUsername": "nobody", "certificatePassword": "nothing", "options": m{"asyncDocumentsValidation": true}}, 110},
		} {
			c.body["inputDocuments"] = []string{b64(sitetest.SamplePDF), b64(sitetest.SamplePDF)}
			r := s.Record(s.Do("POST", "/EU-QES_"+c.path, c.body))
			if r.State != "ERROR" || r.Number() != c.want {
				t.Errorf("%s: %s %d", name, r.State, r.Number())
			}
			if len(r.Document.InputDocuments) != 2 || r.Document.InputDocuments[0].SHA256 == "" {
				t.Errorf("%s: the record does not say what came", name)
			}
			if n := field(srv, t, `select cast(count(*) as text) from signature_files where signature_id = $1 and blob <> ''`, r.ID); n != "0" {
				t.Errorf("%s: %s files", name, n)
			}
			if a := s.Do("GET", "/signatures/"+r.ID, nil); a.Status != 200 {
				t.Errorf("%s: the record: %d", name, a.Status)
			}
		}
		if n := blobs(); n != before {
			t.Errorf("%d documents are kept", n-before)
		}
		s.VerifyAudit()
	})
}

// Of a record that was deleted nothing is left in the file of the database, where
// it could be found with an editor.
func TestDeletedRecordLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.Sign(nil, m{"inputDocuments": []m{{"payload": b64(sitetest.SampleTXT), "name": "canary-label.txt"}}, "title": "canary-title", "description": strings.Repeat("canary-text ", 500)})
	if r.State != "DONE" {
		t.Fatal(deref(r.ErrorMessage))
	}
	if a := s.Do("DELETE", "/signatures/"+r.ID, nil); a.Status != 200 {
		t.Fatal(a.Message)
	}
	s.Run.Stop() // folds the write-ahead log into the file
	files, err := filepath.Glob(filepath.Join(s.Config.Data, "rogito.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, canary := range []string{"canary-label", "canary-title", "canary-text"} {
			if bytes.Contains(b, []byte(canary)) {
				t.Errorf("%s is in %s", canary, filepath.Base(file))
			}
		}
	}
}
