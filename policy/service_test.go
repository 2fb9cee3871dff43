package policy

import (
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

func date(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }

// listed is a service that was granted in 2016 and, where year is not 0,
// withdrawn in that year.
func listed(kind string, withdrawn int) *report.Service {
	s := &report.Service{
		Territory: "IT", Provider: "P", Type: kind, ListIssue: date(2023), ListUntil: date(2030),
		Periods: []report.Period{{From: date(2016), Status: "granted"}},
	}
	if withdrawn > 0 {
		s.Periods = append([]report.Period{{From: date(withdrawn), Status: "withdrawn"}}, s.Periods...)
	}
	return s
}

func TestTrustedUntil(t *testing.T) {
	closed := listed("CA/QC", 0)
	closed.ListUntil = time.Time{}
	again := listed("CA/QC", 2018)
	again.Periods = append([]report.Period{{From: date(2022), Status: "withdrawn"}, {From: date(2020), Status: "granted"}}, again.Periods...)
	for name, row := range map[string]struct {
		services []*report.Service
		at       int
		until    int // 0: no end
		ever     bool
	}{
		"granted":                  {[]*report.Service{listed("CA/QC", 0)}, 2024, 0, true},
		"before its grant":         {[]*report.Service{listed("CA/QC", 0)}, 2015, 0, false},
		"withdrawn":                {[]*report.Service{listed("CA/QC", 2020)}, 2024, 2020, true},
		"withdrawn later":          {[]*report.Service{listed("CA/QC", 2020)}, 2019, 0, true},
		"one of two":               {[]*report.Service{listed("CA/QC", 2020), listed("CA/QC", 0)}, 2024, 0, true},
		"the later of two":         {[]*report.Service{listed("CA/QC", 2020), listed("CA/QC", 2021)}, 2024, 2021, true},
		"granted again, withdrawn": {[]*report.Service{again}, 2024, 2022, true},
		"granted again":            {[]*report.Service{again}, 2021, 0, true},
		"closed list":              {[]*report.Service{closed}, 2024, 2023, true},
		"closed list, before":      {[]*report.Service{closed}, 2022, 0, true},
		"none":                     {nil, 2024, 0, false},
	} {
		until, ever := trustedUntil(row.services, date(row.at))
		want := time.Time{}
		if row.until > 0 {
			want = date(row.until)
		}
		if !until.Equal(want) || ever != row.ever {
			t.Errorf("%s: until %v, %v", name, until, ever)
		}
	}
}

// Each type of service vouches for its own kind.
func TestServiceTypes(t *testing.T) {
	for _, row := range []struct {
		kind  string
		certs int
		want  [3]bool // sign, stamp, answer
	}{
		{"CA/QC", 2, [3]bool{true, true, true}},
		{"CA/PKC", 2, [3]bool{true, true, true}},
		{"NationalRootCA-QC", 2, [3]bool{true, true, true}},
		{"CA/QC", 1, [3]bool{false, false, true}},
		{"TSA/QTST", 1, [3]bool{false, true, false}},
		{"TSA/QTST", 2, [3]bool{false, true, true}},
		{"TSA", 1, [3]bool{false, true, false}},
		{"Certstatus/OCSP/QC", 1, [3]bool{false, false, true}},
		{"Certstatus/CRL", 2, [3]bool{false, false, true}},
		{"EDS/Q", 1, [3]bool{}},
		{"TLIssuer", 1, [3]bool{}},
	} {
		p := &report.Path{Certificates: make([]string, row.certs), Anchor: &report.Anchor{Services: []*report.Service{listed(row.kind, 0)}}}
		for i, u := range []use{toSign, toStamp, toAnswer} {
			if got := len(fitting(p, u)) > 0; got != row.want[i] {
				t.Errorf("%s, path of %d, use %d: %v", row.kind, row.certs, u, got)
			}
		}
	}
}

// scene is a signer under a listed authority, with an OCSP answer by a
// responder that the authority delegated.
type scene struct {
	facts *report.Facts
	rev   *report.Revocation
	svc   *report.Service
}

func newScene() *scene {
	cert := func(id string, from, to int) *report.Certificate {
		return &report.Certificate{
			ID: id, SubjectCN: id, NotBefore: date(from), NotAfter: date(to), KeySize: 3072, Key: "RSA",
			Signed: ades.Algorithm{Digest: "SHA256", Key: "RSA", KeySize: 3072},
		}
	}
	signer := ades.FactID([]byte("signer"))
	s := &scene{svc: listed("CA/QC", 0)}
	anchor := &report.Anchor{Certificate: "ca", Source: report.FromTrustedList, Services: []*report.Service{s.svc}}
	s.rev = &report.Revocation{
		ID: "ocsp", Kind: "ocsp", Status: "good", Signer: "responder", Algorithm: ades.Algorithm{Digest: "SHA256", Key: "RSA", KeySize: 3072},
		ThisUpdate: date(2019).Add(time.Hour), ProducedAt: date(2019).Add(time.Hour), NextUpdate: date(2020),
	}
	responder := cert("responder", 2018, 2040)
	responder.ExtKeyUsage, responder.OCSPNoCheck = []string{ekuOCSPSigning}, true
	leaf := cert(signer, 2017, 2040)
	s.facts = &report.Facts{
		Certificates: map[string]*report.Certificate{signer: leaf, "ca": cert("ca", 2010, 2040), "responder": responder},
		Paths: map[string][]*report.Path{
			signer:      {{Certificates: []string{signer, "ca"}, Anchor: anchor}},
			"responder": {{Certificates: []string{"responder", "ca"}, Anchor: anchor}},
		},
		Revocations: map[string][]*report.Revocation{signer: {s.rev}},
	}
	return s
}

// judge judges the signer's certificate as at a year, with the signature
// proven to be of 2019 and, where wanted, the answer as well.
func (s *scene) judge(at int, proven bool) verdict {
	j := &judge{facts: s.facts, policy: Default(), at: date(at), poe: map[string]time.Time{}}
	if proven {
		j.poe["ocsp"] = date(2019).Add(2 * time.Hour)
	}
	return j.chain(ades.FactID([]byte("signer")), asked{use: toSign, best: date(2019), need: date(2019), born: date(2019)}).verdict
}

func TestProofOfExistence(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*scene)
		at     int
		proven bool
		want   report.SubIndication
	}{
		{"all is well", func(*scene) {}, 2024, false, ""},
		{"service withdrawn since", func(s *scene) { s.svc.Periods = listed("CA/QC", 2021).Periods }, 2024, false, report.NoCertificateChainFoundNoPOE},
		{"service withdrawn since, answer older", func(s *scene) { s.svc.Periods = listed("CA/QC", 2021).Periods }, 2024, true, ""},
		{"service withdrawn before", func(s *scene) { s.svc.Periods = listed("CA/QC", 2018).Periods }, 2024, true, report.NoCertificateChainFoundNoPOE},
		{"service withdrawn later", func(s *scene) { s.svc.Periods = listed("CA/QC", 2026).Periods }, 2024, false, ""},
		{"service listed after the signature", func(s *scene) { s.svc.Periods[0].From = date(2020) }, 2024, false, ""},
		{"service never granted", func(s *scene) { s.svc.Periods[0].Status = "withdrawn" }, 2024, true, report.NoCertificateChainFound},
		{"service of another type", func(s *scene) { s.svc.Type = "TSA/QTST" }, 2024, true, report.NoCertificateChainFound},
		{"list stale", func(s *scene) { s.svc.ListUntil = date(2023) }, 2024, false, report.TryLater},
		{"list stale, but not then", func(s *scene) { s.svc.ListUntil = date(2023) }, 2022, false, ""},
		{"responder over", func(s *scene) { s.facts.Certificates["responder"].NotAfter = date(2020) }, 2024, false, report.RevocationOutOfBoundsNoPOE},
		{"responder over, answer older", func(s *scene) { s.facts.Certificates["responder"].NotAfter = date(2020) }, 2024, true, ""},
		{"answer of tomorrow", func(s *scene) { s.rev.ThisUpdate, s.rev.ProducedAt = date(2025), date(2025) }, 2024, false, report.TryLater},
		{"answer of another anchor's", func(s *scene) {
			s.facts.Paths["responder"][0].Anchor = &report.Anchor{Certificate: "other", Source: report.FromOperator, Operator: true}
		}, 2024, true, report.CertificateChainGeneral},
		{"answer of the provider's status service", func(s *scene) {
			s.facts.Paths["responder"] = []*report.Path{{Certificates: []string{"responder"}, Anchor: &report.Anchor{
				Certificate: "responder", Source: report.FromTrustedList, Services: []*report.Service{listed("Certstatus/OCSP", 0)},
			}}}
		}, 2024, false, ""},
		{"answer of another provider's status service", func(s *scene) {
			other := listed("Certstatus/OCSP", 0)
			other.Provider = "Q"
			s.facts.Paths["responder"] = []*report.Path{{Certificates: []string{"responder"}, Anchor: &report.Anchor{
				Certificate: "responder", Source: report.FromTrustedList, Services: []*report.Service{other},
			}}}
		}, 2024, false, report.CertificateChainGeneral},
		{"nocheck of the signer", func(s *scene) {
			leaf := s.facts.Certificates[ades.FactID([]byte("signer"))]
			leaf.OCSPNoCheck, leaf.ExtKeyUsage = true, []string{ekuOCSPSigning}
			s.facts.Revocations = nil
		}, 2024, true, report.CertificateChainGeneral},
	} {
		s := newScene()
		row.change(s)
		if v := s.judge(row.at, row.proven); v.sub != row.want {
			t.Errorf("%s: %s %q, want %q: %v", row.name, v.indication, v.sub, row.want, v.messages)
		}
	}
}

// More proof never makes a verdict worse.
func TestMoreProofIsNeverWorse(t *testing.T) {
	for withdrawn := range 12 {
		for over := range 12 {
			s := newScene()
			if withdrawn > 0 {
				s.svc.Periods = listed("CA/QC", 2015+withdrawn).Periods
			}
			s.facts.Certificates["responder"].NotAfter = date(2019 + over)
			without, with := s.judge(2024, false), s.judge(2024, true)
			if without.passed() && !with.passed() {
				t.Errorf("withdrawn %d, over %d: passes without proof, %s with it", 2015+withdrawn, 2019+over, with.sub)
			}
		}
	}
}
