package rogito_test

import (
	"context"
	"io"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/xades"
)

// augments are the verbs that raise, by format.
var augments = map[string]func(context.Context, ades.Source, io.Writer, ades.Raising) error{
	"cades": cades.Augment, "pades": pades.Augment, "xades": xades.Augment,
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
	for _, format := range formats {
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
	for _, format := range formats {
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
	for _, format := range formats {
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
