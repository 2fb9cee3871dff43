package ades

import (
	"slices"
	"testing"
	"time"
)

func TestLeavesLeaveOutTheLatestArchive(t *testing.T) {
	stamp := func(kind TimestampKind, minute int, cert string) *Timestamp {
		at := time.Date(2026, 11, 15, 12, minute, 0, 0, time.UTC)
		return &Timestamp{Kind: kind, Time: at, Signature: &Signature{SigningCertificate: []byte(cert)}}
	}
	s := &Signature{SigningCertificate: []byte("signer"), Timestamps: []*Timestamp{
		stamp(SignatureTimestamp, 9, "signature"), // no archive, however late
		stamp(ArchiveTimestamp, 7, "latest"),
		stamp(ArchiveTimestamp, 3, "first"),
		{Kind: SigAndRefs}, // unreadable
	}}
	var got []string
	for _, c := range s.Leaves() {
		got = append(got, string(c))
	}
	if want := []string{"signer", "signature", "first"}; !slices.Equal(got, want) {
		t.Errorf("leaves %q, want %q", got, want)
	}
	s.Timestamps = append(s.Timestamps, stamp(ArchiveTimestamp, 7, "same minute, behind"))
	if n := len(s.Leaves()); n != 4 || string(s.Leaves()[2]) != "latest" {
		t.Errorf("of two of one time the one behind is last: %q", s.Leaves())
	}
	if n := len(new(Signature).Leaves()); n != 0 {
		t.Errorf("%d leaves of nothing", n)
	}
}
