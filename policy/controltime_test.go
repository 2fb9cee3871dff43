package policy

import (
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

func year(y int) time.Time { return time.Date(y, 6, 1, 0, 0, 0, 0, time.UTC) }

// past is a chain leaf < ca < root with an answer about each, and a signature
// that is proven to be of 2020.
func past() (*judge, asked) {
	strong := ades.Algorithm{Key: "ECDSA", KeySize: 256, Digest: "SHA256"}
	cert := func(id string, from, to int) *report.Certificate {
		return &report.Certificate{ID: id, SubjectCN: id, NotBefore: year(from), NotAfter: year(to), Signed: strong, Key: "ECDSA", KeySize: 256}
	}
	good := func(id string, at int) *report.Revocation {
		return &report.Revocation{ID: id, Status: "good", ThisUpdate: year(at).Add(time.Hour), ProducedAt: year(at).Add(time.Hour), NextUpdate: year(at).AddDate(0, 1, 0), Algorithm: strong, SignerIsIssuer: true}
	}
	facts := &report.Facts{
		Certificates: map[string]*report.Certificate{"leaf": cert("leaf", 2019, 2022), "ca": cert("ca", 2010, 2030), "root": cert("root", 2000, 2040)},
		Paths:        map[string][]*report.Path{"leaf": {{Certificates: []string{"leaf", "ca", "root"}, Complete: true, Anchor: &report.Anchor{Certificate: "root"}}}},
		Revocations:  map[string][]*report.Revocation{"leaf": {good("about-leaf", 2020)}, "ca": {good("about-ca", 2020)}},
	}
	j := &judge{facts: facts, policy: Default(), at: year(2026), poe: map[string]time.Time{}}
	return j, asked{best: year(2020), need: year(2020), born: year(2020)}
}

// TestSlide moves one thing at a time. What is proven by an archive time-stamp
// stands in the second column.
func TestSlide(t *testing.T) {
	revoke := func(id string, at int) func(*judge) {
		return func(j *judge) {
			r := *j.facts.Revocations[id][0]
			r.ID, r.Status, r.RevokedAt, r.Reason = "end-of-"+id, "revoked", year(at), 1
			r.ThisUpdate, r.ProducedAt = year(at).Add(time.Hour), year(at).Add(time.Hour)
			j.facts.Revocations[id] = append([]*report.Revocation{&r}, j.facts.Revocations[id]...)
		}
	}
	none := func(*judge) {}
	all := map[string]int{"leaf": 2021, "ca": 2021, "about-leaf": 2021, "about-ca": 2021}
	for _, row := range []struct {
		name   string
		proven map[string]int
		what   func(*judge)
		want   report.SubIndication // "" for passed
	}{
		{"nothing happened", nil, none, ""},
		{"signer revoked later", nil, revoke("leaf", 2021), ""},
		{"signer revoked before", all, revoke("leaf", 2019), report.RevokedNoPOE},
		{"authority revoked later", nil, revoke("ca", 2023), report.RevokedCANoPOE},
		{"authority revoked later, archived", all, revoke("ca", 2023), ""},
		{"authority revoked later, archived too late", map[string]int{"leaf": 2024, "about-leaf": 2024}, revoke("ca", 2023), report.RevokedCANoPOE},
		{"authority revoked later, answer not archived", map[string]int{"leaf": 2021}, revoke("ca", 2023), report.RevokedCANoPOE},
		{"authority revoked before", all, revoke("ca", 2019), report.RevokedCANoPOE},
		{"authority expired", nil, func(j *judge) { j.facts.Certificates["ca"].NotAfter = year(2024) }, report.OutOfBoundsNoPOE},
		{"authority expired, archived", all, func(j *judge) { j.facts.Certificates["ca"].NotAfter = year(2024) }, ""},
		{"authority expired before", all, func(j *judge) { j.facts.Certificates["ca"].NotAfter = year(2019) }, report.OutOfBoundsNoPOE},
		{"authority signed with a hash that broke", nil, func(j *judge) { j.facts.Certificates["ca"].Signed.Digest = "X" }, report.CryptoConstraintsFailureNoPOE},
		{"authority signed with a hash that broke, archived", all, func(j *judge) { j.facts.Certificates["ca"].Signed.Digest = "X" }, ""},
		{"responder revoked, its answer not archived", nil, responder(2023), report.CertificateChainGeneral},
		{"responder revoked, its answer archived", all, responder(2023), ""},
		{"complete list of a delta list not archived", all, func(j *judge) {
			j.facts.Revocations["leaf"][0].Base = "base"
			revoke("ca", 2023)(j)
		}, report.RevokedCANoPOE},
		{"complete list of a delta list archived", map[string]int{"leaf": 2021, "ca": 2021, "about-leaf": 2021, "about-ca": 2021, "base": 2021}, func(j *judge) {
			j.facts.Revocations["leaf"][0].Base = "base"
			revoke("ca", 2023)(j)
		}, ""},
		{"answer issued after the archive's bound only", map[string]int{"leaf": 2021, "ca": 2021}, revoke("ca", 2023), report.RevokedCANoPOE},
	} {
		j, q := past()
		p := *j.policy
		p.Digests = map[string]*Date{"SHA256": nil, "X": {year(2022)}}
		j.policy = &p
		for id, y := range row.proven {
			j.poe[id] = year(y)
		}
		row.what(j)
		v := j.chain("leaf", q)
		if v.sub != row.want || v.passed() != (row.want == "") {
			t.Errorf("%s: %s %s, want %q; %v", row.name, v.indication, v.sub, row.want, v.messages)
		}
	}
}

// responder has a delegate of the authority answer for the leaf, who is
// revoked later.
func responder(at int) func(*judge) {
	return func(j *judge) {
		f := j.facts
		c := *f.Certificates["leaf"]
		c.ID, c.SubjectCN, c.ExtKeyUsage = "responder", "responder", []string{ekuOCSPSigning}
		f.Certificates["responder"] = &c
		f.Paths["responder"] = []*report.Path{{Certificates: []string{"responder", "ca", "root"}, Anchor: &report.Anchor{Certificate: "root"}}}
		f.Revocations["leaf"][0].SignerIsIssuer, f.Revocations["leaf"][0].Signer = false, "responder"
		r := *f.Revocations["ca"][0]
		r.ID, r.Status, r.RevokedAt, r.Reason = "end-of-responder", "revoked", year(at), 1
		f.Revocations["responder"] = []*report.Revocation{&r}
	}
}

// A responder that is not the issuer counts if it is not to be asked about, or if
// its issuer says that it is good; its own word is none.
func TestResponderNeedsAStatus(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*report.Facts)
		heard  bool
	}{
		"no word of it": {func(f *report.Facts) { delete(f.Revocations, "responder") }, false},
		"nocheck": {func(f *report.Facts) {
			delete(f.Revocations, "responder")
			f.Certificates["responder"].OCSPNoCheck = true
		}, true},
		"the issuer's":     {func(f *report.Facts) { f.Revocations["responder"] = []*report.Revocation{f.Revocations["ca"][0]} }, true},
		"its own word":     {own("responder"), false},
		"of another alike": {own("other"), false},
		"of one with nocheck": {func(f *report.Facts) {
			own("other")(f)
			f.Certificates["other"].OCSPNoCheck = true
		}, true},
		"nocheck without the usage": {func(f *report.Facts) {
			delete(f.Revocations, "responder")
			f.Certificates["responder"].OCSPNoCheck, f.Certificates["responder"].ExtKeyUsage = true, nil
		}, false},
	} {
		j, q := past()
		responder(2025)(j)
		j.facts.Certificates["responder"].NotAfter = year(2030)
		row.change(j.facts)
		if v := j.chain("leaf", q); v.passed() != row.heard {
			t.Errorf("%s: %s %s", name, v.indication, v.sub)
		}
	}
}

// own has a responder of the same authority say that the responder is good.
func own(signer string) func(*report.Facts) {
	return func(f *report.Facts) {
		if signer != "responder" {
			c := *f.Certificates["responder"]
			c.ID = signer
			f.Certificates[signer] = &c
			f.Paths[signer] = []*report.Path{{Certificates: []string{signer, "ca", "root"}, Anchor: &report.Anchor{Certificate: "root"}}}
		}
		r := *f.Revocations["ca"][0]
		r.ID, r.SignerIsIssuer, r.Signer = "about-responder", false, signer
		f.Revocations["responder"] = []*report.Revocation{&r}
	}
}
