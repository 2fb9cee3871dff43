package trust_test

import (
	"encoding/json"
	"encoding/pem"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/corpus"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

type limboCase struct {
	ID            string
	Features      []string
	Trusted       []string  `json:"trusted_certs"`
	Untrusted     []string  `json:"untrusted_intermediates"`
	Peer          string    `json:"peer_certificate"`
	Time          time.Time `json:"validation_time"`
	Expected      string    `json:"expected_result"`
	MaxChainDepth *int      `json:"max_chain_depth"`
	CRLs          []string
	EKU           []string `json:"extended_key_usage"`
}

// limboExceptions are the cases where document signing departs from what the
// set expects of a TLS library.
var limboExceptions = map[string]string{
	"rfc5280::validity::expired-root": "an anchor is trusted as it is; its own expiry does not matter (TS 119 612, DSS)",
	"crl::crlnumber-missing":          "version 1 lists and lists without a number are in real signatures; the number does not change what a list says",
	"crl::crlnumber-critical":         "a known extension marked critical is still understood",
	"rfc5280::eku::ee-wrong-eku":      "extended key usages of TLS are not asked of signers; time-stamping units and responders are checked elsewhere",
	"rfc5280::ca-as-leaf-wrong-san":   "peer names are not compared: a signer has no host name",
	"cve::cve-2024-0567":              "its cross-signed anchor has no authority key identifier, which rfc5280::aki::cross-signed-root-missing-aki of the same set refuses; passes without the strict profile",
}

// TestCorpusLimbo runs x509-limbo with the strict certificate profile. TLS rules
// (webpki) are left out.
func TestCorpusLimbo(t *testing.T) {
	var set struct{ Testcases []limboCase }
	if err := json.Unmarshal(read(t, filepath.Join(corpus.Path(t, "pki", "x509-limbo"), "limbo.json")), &set); err != nil {
		t.Fatal(err)
	}
	agree, n := 0, 0
	for _, c := range set.Testcases {
		if strings.HasPrefix(c.ID, "webpki::") {
			continue
		}
		n++
		if c.Time.IsZero() {
			c.Time = time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC)
		}
		passed, why := c.run(t)
		ok := passed == (c.Expected == "SUCCESS")
		if ok {
			agree++
		}
		reason := limboExceptions[c.ID]
		if (reason != "") == ok {
			t.Errorf("%s: passed %v, expected %s (exception: %q) %v", c.ID, passed, c.Expected, reason, why)
		}
	}
	t.Logf("x509-limbo: %d of %d as published", agree, n)
}

func der(text string) []byte {
	b, _ := pem.Decode([]byte(text))
	if b == nil {
		return nil
	}
	return b.Bytes
}

func (c limboCase) run(t *testing.T) (bool, any) {
	store := new(trust.Store)
	for _, a := range c.Trusted {
		if err := store.AddAnchor(der(a)); err != nil {
			return false, err
		}
	}
	var ev []ades.Evidence
	for _, i := range c.Untrusted {
		ev = append(ev, ades.Evidence{Kind: ades.EvidenceCertificate, Raw: der(i)})
	}
	for _, i := range c.CRLs {
		ev = append(ev, ades.Evidence{Kind: ades.EvidenceCRL, Raw: der(i)})
	}
	p := *policy.Default()
	p.Revocation.Required = len(c.CRLs) > 0
	leaf := der(c.Peer)
	if _, err := pkix.ParseCertificate(leaf); err != nil {
		return false, err
	}
	got := judge(store, leaf, ev, c.Time, &p)
	if got.Indication != report.Passed {
		return false, got.Messages
	}
	// A path that is good for signing may still break the profile: then
	// another path of the same leaf must keep it.
	var problems []string
	for _, path := range store.AllPaths(leaf, ev) {
		intermediates := 100
		if c.MaxChainDepth != nil {
			intermediates = *c.MaxChainDepth
		}
		if problems = trust.Strict(path, intermediates); len(problems) == 0 && inTime(path, c.Time) {
			return true, nil
		}
	}
	return false, problems
}

func inTime(path []*pkix.Certificate, at time.Time) bool {
	for _, c := range path[:len(path)-1] {
		if at.Before(c.NotBefore) || at.Truncate(time.Second).After(c.NotAfter) {
			return false
		}
	}
	return true
}
