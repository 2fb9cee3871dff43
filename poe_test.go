package rogito_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"io"
	"slices"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/xades"
)

// augments are the verbs that raise, by format.
var augments = map[string]func(context.Context, ades.Source, io.Writer, ades.AugmentOptions) error{
	"cades": cades.Augment, "pades": pades.Augment, "xades": xades.Augment,
	"asice-xades": asic.Augment, "asice-cades": asic.Augment, "asics-xades": asic.Augment, "asics-cades": asic.Augment,
}

// wantWord verifies with the network at the stage's time.
func (s *stage) wantWord(what string, doc []byte, want string) {
	s.t.Helper()
	v := s.verdict(s.verifier(true), doc, time.Time{})
	if got := word(v); got != want {
		s.t.Errorf("%s: %s, want %s; %v", what, got, want, v.Signatures[0].Errors)
	}
}

// An authority whose key was compromised can date its answers back: only what
// an archive time-stamp proves to be older counts (EN 319 102-1, 5.6.2.2).
func TestAuthorityRevokedLater(t *testing.T) {
	for _, format := range slices.Concat(formats, containers) {
		s := newStage(t)
		levels := map[ades.Level]string{
			ades.LevelB:   "INDETERMINATE REVOKED_CA_NO_POE",
			ades.LevelT:   "INDETERMINATE REVOKED_CA_NO_POE",
			ades.LevelLT:  "INDETERMINATE REVOKED_CA_NO_POE",
			ades.LevelLTA: "TOTAL-PASSED",
		}
		docs := map[ades.Level][]byte{}
		for level := range levels {
			docs[level] = s.sign(format, "second", level, 0)
		}
		s.now = s.now.AddDate(0, 1, 0)
		s.pki.Revoke(&adestest.Actor{Certificate: s.pki.Issuing}, 2)
		s.now = s.now.AddDate(0, 0, 2)
		for level, want := range levels {
			s.wantWord(format+" "+level.String(), docs[level], want)
		}
		late := s.raise(augments[format], docs[ades.LevelLT], ades.LevelLTA)
		s.wantWord(format+" archived too late", late, "INDETERMINATE REVOKED_CA_NO_POE")
	}
}

// The unit's certificate ends after ten years; an archive time-stamp by
// another unit before that carries the file further.
func TestUnitOverButRenewed(t *testing.T) {
	for _, format := range slices.Concat(formats, containers) {
		s := newStage(t)
		lta := s.sign(format, "second", ades.LevelLTA, 0)
		old := s.pki.Unit.Certificate
		s.now = s.now.AddDate(9, 0, 0)
		if err := s.pki.RenewUnit(); err != nil {
			t.Fatal(err)
		}
		renewed := s.raise(augments[format], lta, ades.LevelLTA)
		s.wantWord(format+" in the unit's ninth year", lta, "TOTAL-PASSED")
		s.now = s.now.AddDate(3, 0, 0)
		s.wantWord(format+" not renewed", lta, "INDETERMINATE OUT_OF_BOUNDS_NO_POE")
		s.wantWord(format+" renewed", renewed, "TOTAL-PASSED")
		late := s.raise(augments[format], lta, ades.LevelLTA)
		s.wantWord(format+" renewed too late", late, "INDETERMINATE OUT_OF_BOUNDS_NO_POE")
		if old.NotAfter.After(s.now) {
			t.Fatal("the old unit is still valid: the test tests nothing")
		}
	}
}

// A unit that is revoked vouches for nothing that a younger time-stamp does
// not prove to be older.
func TestUnitRevokedLater(t *testing.T) {
	for _, format := range slices.Concat(formats, containers) {
		s := newStage(t)
		lta := s.sign(format, "second", ades.LevelLTA, 0)
		old := &adestest.Actor{Certificate: s.pki.Unit.Certificate}
		s.now = s.now.AddDate(0, 6, 0)
		if err := s.pki.RenewUnit(); err != nil {
			t.Fatal(err)
		}
		renewed := s.raise(augments[format], lta, ades.LevelLTA)
		s.now = s.now.AddDate(0, 1, 0)
		s.pki.Revoke(old, 1)
		s.now = s.now.AddDate(2, 0, 0) // the signer's certificate is over too
		s.wantWord(format+" not renewed", lta, "INDETERMINATE OUT_OF_BOUNDS_NO_POE")
		s.wantWord(format+" renewed", renewed, "TOTAL-PASSED")
	}
}

// An evidence record in a CMS attribute proves existence as an archive
// time-stamp does (RFC 4998, appendix A).
func TestEvidenceRecordInCMS(t *testing.T) {
	s := newStage(t)
	lt := s.sign("cades", "second", ades.LevelLT, 0)
	record := func(over []byte) []byte {
		digest := sha256.Sum256(over)
		token, err := s.pki.Unit.Stamp(t.Context(), crypto.SHA256, digest[:])
		if err != nil {
			t.Fatal(err)
		}
		value := cms.TLV(cms.TagSequence, []byte{cms.TagInteger, 1, 1}, cms.TLV(cms.TagSequence), cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, cms.TLV(cms.TagSequence, token))))
		sd, err := cms.Parse(bytes.NewReader(lt))
		if err == nil {
			sd.SignerInfos[0], err = sd.SignerInfos[0].AddUnsigned(cms.NewAttribute(oid.AttrEvidenceRecord, value))
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := sd.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	recorded, ofAnother := record(lt), record([]byte("another file"))
	s.now = s.now.AddDate(0, 1, 0)
	s.pki.Revoke(&adestest.Actor{Certificate: s.pki.Issuing}, 2)
	s.now = s.now.AddDate(0, 0, 2)
	s.wantWord("without", lt, "INDETERMINATE REVOKED_CA_NO_POE")
	s.wantWord("recorded in time", recorded, "TOTAL-PASSED")
	s.wantWord("a record of another file", ofAnother, "INDETERMINATE REVOKED_CA_NO_POE")
	s.wantWord("recorded too late", record(lt), "INDETERMINATE REVOKED_CA_NO_POE")
}

// Every kind of key, RSA with both paddings and every hash, in every format:
// valid, and named rightly.
func TestVerdictAlgorithms(t *testing.T) {
	for _, row := range []struct {
		actor string
		pss   bool
		hash  crypto.Hash
		name  string
	}{
		{"good", false, crypto.SHA256, "SHA256withRSA"},
		{"good", true, crypto.SHA256, "SHA256withRSAandMGF1"},
		{"rsa3072", true, crypto.SHA384, "SHA384withRSAandMGF1"},
		{"rsa4096", true, crypto.SHA512, "SHA512withRSAandMGF1"},
		{"rsa4096", false, crypto.SHA512, "SHA512withRSA"},
		{"p256", false, crypto.SHA256, "SHA256withECDSA"},
		{"p384", false, crypto.SHA384, "SHA384withECDSA"},
		{"p521", false, crypto.SHA512, "SHA512withECDSA"},
	} {
		s := newStage(t)
		a := s.pki.Actor(t, row.actor)
		for _, format := range slices.Concat(formats, containers) {
			signing := a.Signing(s.now)
			signing.PSS, signing.Hash = row.pss, row.hash
			doc := s.signContent(format, a, signing, ades.LevelLT, nil)
			v := s.verdict(s.verifier(false), doc, time.Time{})
			got := v.Signatures[0]
			if word(v) != "TOTAL-PASSED" || got.AlgorithmName == nil || *got.AlgorithmName != row.name {
				t.Errorf("%s %s: %s; %v", format, row.name, word(v), got.Errors)
			}
		}
	}
}

// A document may leave the signer's certificate out; an anchor can be it.
func TestSignerFoundAmongAnchors(t *testing.T) {
	s := newStage(t)
	a := s.pki.Actor(t, "p256")
	doc := rebuild(t, s.signContent("cades", a, a.Signing(s.now), ades.LevelB, nil), func(p *parts) { p.Certificates = set(0, nil) })
	v := s.verifier(true)
	if got := word(s.verdict(v, doc, time.Time{})); got != "INDETERMINATE NO_SIGNING_CERTIFICATE_FOUND" {
		t.Errorf("without it: %s", got)
	}
	if err := v.Trust.AddAnchor(s.pki.Actor(t, "second").Certificate.Raw); err != nil {
		t.Fatal(err)
	}
	if got := word(s.verdict(v, doc, time.Time{})); got != "INDETERMINATE NO_SIGNING_CERTIFICATE_FOUND" {
		t.Errorf("with another's: %s", got)
	}
	if err := v.Trust.AddAnchor(a.Certificate.Raw); err != nil {
		t.Fatal(err)
	}
	if got := s.verdict(v, doc, time.Time{}); word(got) != "TOTAL-PASSED" {
		t.Errorf("with it: %s %v", word(got), got.Signatures[0].Errors)
	}
}
