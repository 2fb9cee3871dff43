package policy

import (
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

func TestLoad(t *testing.T) {
	p, err := Load([]byte("name: ours\nrevocation: {required: false}\ndigests: {SHA256: 2020-01-01}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if !p.Operator || p.Revocation.Required || p.Revocation.MaxAge != 24*time.Hour || Default().Operator {
		t.Errorf("read as %+v", p)
	}
	if until, ok := p.digestUntil("SHA256"); !ok || until.Year() != 2020 {
		t.Error("a digest's date is not taken over")
	}
	if until, ok := Default().digestUntil("SHA256"); !ok || !until.IsZero() {
		t.Error("the default policy was changed by another")
	}
	for _, bad := range []string{"unknown: 1", "pdf: {changes: perhaps}", "revocation: {freshness: some}", "digests: {SHA1: soon}"} {
		if _, err := Load([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestKeyTable(t *testing.T) {
	for _, row := range []struct {
		kind string
		bits int
		ok   bool
		year int // until; 0 for no end
	}{
		{"RSA", 512, false, 0},
		{"RSA", 1024, true, 2019},
		{"RSA", 2048, true, 2029},
		{"RSA", 4096, true, 0},
		{"ECDSA", 256, true, 0},
		{"ECDSA", 192, true, 2012},
		{"Ed25519", 256, true, 0},
		{"GOST", 512, false, 0},
	} {
		until, ok := Default().keyUntil(row.kind, row.bits)
		if ok != row.ok || (row.year != 0) == until.IsZero() || (row.year != 0 && until.Year() != row.year) {
			t.Errorf("%s %d: %v %v", row.kind, row.bits, until, ok)
		}
	}
}

// Empty facts do not make the judge fall over.
func TestEmptyFacts(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, f := range []*report.Facts{
		{},
		{Layers: []*report.Layer{{}}},
		{Layers: []*report.Layer{{Document: &ades.Document{Signatures: []*ades.Signature{{}}, Timestamps: []*ades.Timestamp{{}}}}}},
	} {
		if got := Judge(f, Default(), at); got.Indication == report.TotalPassed {
			t.Errorf("%+v passes", f)
		}
	}
}

// A time-stamp is as good as the weakest digest on the way from its token to what it proves.
func TestDigestsOfTimestamps(t *testing.T) {
	for name, change := range map[string]func(*ades.Timestamp){
		"imprint":            func(t *ades.Timestamp) { t.ImprintDigest = "MD5" },
		"token":              func(t *ades.Timestamp) { t.Signature.Algorithm.Digest = "MD5" },
		"content of a token": func(t *ades.Timestamp) { t.Signature.Algorithm.Content = "MD5" },
		"manifest or index":  func(t *ades.Timestamp) { t.Digests = []string{"SHA256", "MD5"} },
		"nothing is so weak": nil,
	} {
		ts := &ades.Timestamp{ImprintDigest: "SHA256", ImprintIntact: ades.Yes, Digests: []string{"SHA256"}, Signature: &ades.Signature{
			Algorithm: ades.Algorithm{Digest: "SHA256", Key: "RSA", KeySize: 3072},
		}}
		if change != nil {
			change(ts)
		}
		j := &judge{facts: &report.Facts{}, policy: Default(), at: date(2024), poe: map[string]time.Time{}}
		weak := false
		for _, m := range j.timestamp(ts).Messages {
			weak = weak || m.Code == finding.DigestUnreliable.Code
		}
		if weak != (change != nil) {
			t.Errorf("%s: weak %v", name, weak)
		}
	}
}
