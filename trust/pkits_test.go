package trust_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// judge gathers the facts about one certificate and judges it.
func judge(store *trust.Store, leaf []byte, ev []ades.Evidence, at time.Time, p *policy.Policy) *report.Conclusion {
	doc := &ades.Document{Signatures: []*ades.Signature{{ID: "s", SigningCertificate: leaf}}, Evidence: ev}
	facts := &report.Facts{Layers: []*report.Layer{{Document: doc}}}
	store.Gather(context.Background(), facts, at)
	return policy.Certificate(facts, p, ades.FactID(leaf), at)
}

type pkitsCase struct {
	ID            string
	EndEntity     string `json:"end_entity"`
	TrustAnchor   string `json:"trust_anchor"`
	Intermediates []string
	CRLs          []string
	Required      bool `json:"revocation_required_for_all"`
	Expected      string
}

// pkitsExceptions are cases whose published verdict we do not share.
var pkitsExceptions = map[string]string{
	"40105_valid_dsa_parameter_inheritance_test5": "DSA parameters taken from the issuer's key: no qualified certificate was ever made so, and a key that needs its issuer to be complete cannot be named in facts",
}

func TestCorpusPKITS(t *testing.T) {
	dir := corpus.Path(t, "pki", "pkits")
	f, err := os.Open(filepath.Join(dir, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	agree, n := 0, 0
	strict := *policy.Default()
	lax := strict
	lax.Revocation.Required = false
	at := time.Date(2012, 1, 1, 0, 0, 0, 0, time.UTC)
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var c pkitsCase
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		store := new(trust.Store)
		if err := store.AddAnchor(read(t, filepath.Join(dir, c.TrustAnchor))); err != nil {
			t.Fatal(err)
		}
		var ev []ades.Evidence
		for _, i := range c.Intermediates {
			ev = append(ev, ades.Evidence{Kind: ades.EvidenceCertificate, Raw: read(t, filepath.Join(dir, i))})
		}
		for _, i := range c.CRLs {
			ev = append(ev, ades.Evidence{Kind: ades.EvidenceCRL, Raw: read(t, filepath.Join(dir, i))})
		}
		p := &strict
		if !c.Required {
			p = &lax
		}
		got := judge(store, read(t, filepath.Join(dir, c.EndEntity)), ev, at, p)
		want := report.Passed
		ok := (got.Indication == want) == (c.Expected == "pass")
		if ok {
			agree++
		}
		if why, except := pkitsExceptions[c.ID]; except == ok {
			t.Errorf("%s: %s %s, expected %s (exception: %q) %v", c.ID, got.Indication, got.SubIndication, c.Expected, why, got.Messages)
		}
	}
	t.Logf("PKITS: %d of %d as published", agree, n)
	if n != 172 {
		t.Errorf("%d cases", n)
	}
}
