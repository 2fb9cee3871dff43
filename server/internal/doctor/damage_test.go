package doctor_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"rogito.dev/rogito/internal/await"
	"rogito.dev/rogito/server"
	"rogito.dev/rogito/server/internal/doctor"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/servertest/sitetest"
)

// patient is an installation that is damaged on purpose.
type patient struct {
	*site
	room *server.Server
}

func (p *patient) write(query string, args ...any) {
	p.T.Helper()
	err := p.room.Parts().DB.Write(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Exec(context.Background(), query, args...)
		return err
	})
	if err != nil {
		p.T.Fatalf("%s: %v", query, err)
	}
}

// value reads one value of any kind.
func value[T any](p *patient, query string, args ...any) (v T) {
	p.T.Helper()
	if err := p.room.Parts().DB.Read().QueryRow(context.Background(), query, args...).Scan(&v); err != nil {
		p.T.Fatalf("%s: %v", query, err)
	}
	return v
}

// swap puts another value into a column, and returns how to put the old one
// back.
func swap[T any](p *patient, table, column, where string, change func(T) T) func() {
	p.T.Helper()
	old := value[T](p, `select `+column+` from `+table+` where `+where)
	set := `update ` + table + ` set ` + column + ` = $1 where ` + where
	p.write(set, change(old))
	return func() { p.write(set, old) }
}

func garbage([]byte) []byte { return []byte("garbage") }

// Every damage is named: in its part, and so that one can find it.
func TestDoctorNamesEveryDamage(t *testing.T) {
	await.All(t)
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *site) {
		p := &patient{s, s.OpenServer()}
		small := s.Sign(b64(sitetest.SampleTXT))
		large := s.Sign(b64(bytes.Repeat([]byte("a large one "), 200_000)), m{"signatureType": "cades", "options": m{"detached": true}})
		if resp, _ := s.Raw("GET", "/pki/ca.crl", nil); resp.Status != 200 {
			t.Fatal(resp.Status)
		}
		user := s.Box.Certificates["automatic"].Username
		of := `username = '` + user + `'`
		id := value[string](p, `select id from credentials where `+of)
		for _, f := range p.Examine(false) {
			if f.State == doctor.FindingBad {
				t.Fatalf("before anything was damaged: %+v", f)
			}
		}
		cases := []struct {
			name, part, want string
			damage           func() (undo func())
		}{
			{"a key that the master key does not open", "signing keys", "credential " + user, func() func() { return swap(p, "credentials", "sealed", of, flip) }},
			{"a key that is no key", "signing keys", user, func() func() { return swap(p, "credentials", "sealed", of, garbage) }},
			{"one-time passwords that do not open", "signing keys", "one-time passwords", func() func() { return swap(p, "credentials", "totp", "kind = 'otp'", flip) }},
			{"a public key that is none", "signing keys", "public key", func() func() { return swap(p, "credentials", "public_key", of, garbage) }},
			{"the certificate of another key", "signing keys", "certificate " + id + " (" + user + "): it is for another key", func() func() {
				other := value[[]byte](p, `select certificate from certificates where state = 'DONE' and id <> $1 order by id limit 1`, id)
				return swap(p, "certificates", "certificate", "id = '"+id+"'", func([]byte) []byte { return other })
			}},
			{"a certificate that is none", "signing keys", "certificate " + id + " (" + user + "): it cannot be read", func() func() { return swap(p, "certificates", "certificate", "id = '"+id+"'", garbage) }},
			{"a key that is gone", "signing keys", "certificate " + id + ": its private key is not there", func() func() { return swap(p, "credentials", "id", of, func(s string) string { return "x" + s }) }},

			{"an authority's key that does not open", "authority", "issuing", func() func() { return swap(p, "authority_keys", "sealed", "name = 'issuing'", flip) }},
			{"an authority's certificate of another key", "authority", "tsa: the certificate is for another key", func() func() {
				other := value[[]byte](p, `select certificate from authority_keys where name = 'ocsp'`)
				return swap(p, "authority_keys", "certificate", "name = 'tsa'", func([]byte) []byte { return other })
			}},
			{"a revocation list that is none", "authority", "ca.crl cannot be read", func() func() { return swap(p, "authority_crl", "crl", "name = 'ca'", garbage) }},
			{"a revocation list that was changed", "authority", "ca.crl is not signed", func() func() { return swap(p, "authority_crl", "crl", "name = 'ca'", flip) }},
			{"a revocation list of another authority", "authority", "ca.crl is not signed", func() func() {
				other := value[[]byte](p, `select crl from authority_crl where name = 'root'`)
				return swap(p, "authority_crl", "crl", "name = 'ca'", func([]byte) []byte { return other })
			}},

			{"a digest that was changed", "records", "signed document of record " + small.ID + ": its digests", func() func() {
				return swap(p, "signature_files", "sha256", "role = 'signed' and signature_id = '"+small.ID+"'", func([]byte) []byte { return make([]byte, 32) })
			}},
			{"a document that is gone", "records", "signed document of record " + small.ID + ": it is not there", func() func() {
				return swap(p, "signature_files", "blob", "role = 'signed' and signature_id = '"+small.ID+"'", func(string) string { return store.NewID() })
			}},
			{"a record without its signed document", "records", "record " + small.ID + " is DONE", func() func() {
				return swap(p, "signature_files", "role", "role in ('signed', 'image') and signature_id = '"+small.ID+"'", func(string) string { return "image" })
			}},
			{"a document that was changed on disk", "records", "input document of record " + large.ID + ": it", func() func() { return p.spoilLargest() }},

			{"an audit entry that was changed", "audit", "entry ", func() func() {
				return swap(p, "audit_events", "payload", "record_id = '"+small.ID+"' and "+holding("request"), flip)
			}},
			{"an audit entry that was moved", "audit", "entry ", func() func() {
				return swap(p, "audit_events", "mac", "record_id = '"+small.ID+"' and "+holding("request"), flip)
			}},
		}
		// The entries stand in the tree before they are changed.
		if _, err := p.room.Parts().Audit.Sequence(context.Background()); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				undo := c.damage()
				found := p.Examine(false)[c.part]
				undo()
				if found.State != doctor.FindingBad || !strings.Contains(found.Text.String(), c.want) || found.Advice.IsZero() {
					t.Errorf("%+v, want %q", found, c.want)
				}
			})
		}
		for _, quick := range []bool{false, true} {
			for _, f := range p.Examine(quick) {
				if f.State == doctor.FindingBad {
					t.Errorf("after everything was mended: %+v", f)
				}
			}
		}
	})
}

// spoilLargest changes a byte in the middle of the largest stored document.
func (p *patient) spoilLargest() func() {
	p.T.Helper()
	largest, size := "", int64(0)
	err := filepath.WalkDir(filepath.Join(p.Config.Data, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Size() > size {
			largest, size = path, info.Size()
		}
		return err
	})
	if err != nil || largest == "" {
		p.T.Fatal("no stored documents", err)
	}
	old, err := os.ReadFile(largest)
	if err != nil {
		p.T.Fatal(err)
	}
	put := func(b []byte) {
		f, err := os.OpenFile(largest, os.O_WRONLY, 0)
		if err != nil {
			p.T.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(b, 0); err != nil {
			p.T.Fatal(err)
		}
	}
	spoilt := bytes.Clone(old)
	spoilt[len(spoilt)/2] ^= 1
	put(spoilt)
	return func() { put(old) }
}

// The doctor leaves nothing behind among the documents.
func TestDoctorLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.Sign(b64(sitetest.SamplePDF))
	files := func() (n int) {
		err := filepath.WalkDir(filepath.Join(s.Config.Data, "blobs"), func(_ string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				n++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := files()
	for range 3 {
		if f := s.Examine(true)["blobs"]; f.State == doctor.FindingBad {
			t.Fatalf("%+v", f)
		}
	}
	if n := files(); n != before {
		t.Errorf("%d files, %d before", n, before)
	}
}
