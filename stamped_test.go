package rogito_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/cryptobyte"
	cbasn1 "golang.org/x/crypto/cryptobyte/asn1"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
)

// stamped makes time-stamped files of a content: RFC 5544, and MIME. The token
// is over what was said to be stamped.
func (s *stage) stamped(content, under []byte) map[string][]byte {
	s.t.Helper()
	digest := sha256.Sum256(under)
	token, err := s.pki.Unit.Stamp(context.Background(), crypto.SHA256, digest[:])
	if err != nil {
		s.t.Fatal(err)
	}
	zero := cbasn1.Tag(0).ContextSpecific().Constructed()
	var b cryptobyte.Builder
	b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
		oid.Add(b, oid.TimestampedData)
		b.AddASN1(zero, func(b *cryptobyte.Builder) {
			b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
				b.AddASN1Int64(1)
				b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) {
					b.AddASN1Boolean(false)
					b.AddASN1(cbasn1.UTF8String, func(b *cryptobyte.Builder) { b.AddBytes([]byte("deed.pdf")) })
				})
				b.AddASN1OctetString(content)
				b.AddASN1(zero, func(b *cryptobyte.Builder) {
					b.AddASN1(cbasn1.SEQUENCE, func(b *cryptobyte.Builder) { b.AddBytes(token) })
				})
			})
		})
	})
	var m bytes.Buffer
	fmt.Fprintf(&m, "MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"xyz\"\r\n\r\n")
	for _, p := range []struct {
		kind string
		data []byte
	}{{"application/octet-stream\r\nContent-Disposition: attachment; filename=\"deed.pdf\"", content}, {"application/timestamp-reply", token}} {
		fmt.Fprintf(&m, "--xyz\r\nContent-Type: %s\r\nContent-Transfer-Encoding: base64\r\n\r\n%s\r\n", p.kind, base64.StdEncoding.EncodeToString(p.data))
	}
	m.WriteString("--xyz--\r\n")
	return map[string][]byte{"tsd": b.BytesOrPanic(), "m7m": m.Bytes()}
}

// What is in a time-stamped file is opened whether or not that is asked for, and
// the verdict is on both.
func TestTimestampedFile(t *testing.T) {
	s := newStage(t)
	pdf := s.sign("pades", "p256", ades.LevelB, 0)
	p7m := s.sign("cades", "p256", ades.LevelB, 0)
	tampered := func(b []byte, old, with string) []byte {
		out := bytes.Replace(b, []byte(old), []byte(with), 1)
		if bytes.Equal(out, b) {
			t.Fatalf("%q is not in it", old)
		}
		return out
	}
	broken := bytes.Clone(p7m)
	broken[len(broken)-3] ^= 1 // in the signature value
	for name, row := range map[string]struct {
		content, under []byte
		want           report.Outcome
		valid          bool
		signatures     int
		says           string
	}{
		"signed PDF":          {pdf, pdf, report.OutcomeValid, true, 1, "(deed.pdf) is valid"},
		"signed text":         {p7m, p7m, report.OutcomeValid, true, 1, "(deed.pdf) is valid"},
		"tampered PDF":        {tampered(pdf, "[0 0 200 200]", "[0 0 100 100]"), nil, report.OutcomeInvalid, false, 1, "(deed.pdf) is not valid"},
		"broken p7m":          {broken, nil, report.OutcomeInvalid, false, 1, "(deed.pdf) is not valid"},
		"stamp of other data": {pdf, []byte("other"), report.OutcomeInvalid, false, 1, "time-stamp is over other data"},
		"not signed":          {[]byte("a text"), nil, report.OutcomeValid, false, 0, "nobody signed"},
	} {
		if row.under == nil {
			row.under = row.content
		}
		for kind, file := range s.stamped(row.content, row.under) {
			for _, recursive := range []bool{false, true} {
				r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(file), rogito.VerifyOptions{Recursive: recursive})
				if err != nil {
					t.Fatal(err)
				}
				v, err := r.View(true, "en")
				if err != nil {
					t.Fatal(err)
				}
				message := paper.Verdict(r, paper.English)
				if r.Outcome() != row.want || v.OverallVerified != row.valid || v.NrOfSignatures != row.signatures || !strings.Contains(message, row.says) {
					t.Errorf("%s in %s, recursive %v: outcome %d, verified %v, %d signatures: %s", name, kind, recursive, r.Outcome(), v.OverallVerified, v.NrOfSignatures, message)
				}
				if row.want != report.OutcomeValid && r.Plain != nil {
					t.Errorf("%s in %s: content is handed out", name, kind)
				}
			}
		}
	}
}

// A time-stamp around a signature proves that the signature existed: it outlives
// the signer's certificate.
func TestTimestampAroundProves(t *testing.T) {
	s := newStage(t)
	pdf := s.sign("pades", "p256", ades.LevelLT, 0)
	files := s.stamped(pdf, pdf)
	b := s.sign("pades", "p256", ades.LevelB, 0)
	bare := s.stamped(b, b)
	s.now = s.now.AddDate(0, 0, 1)
	for kind, file := range files {
		r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(file), rogito.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		c := r.Conclusions.Signatures[0]
		if !r.Valid() || !c.Proven {
			t.Errorf("%s: valid %v, proven %v", kind, r.Valid(), c.Proven)
		}
	}
	for kind, file := range bare {
		r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(file), rogito.VerifyOptions{})
		if err != nil || !r.Conclusions.Signatures[0].Proven || !r.Conclusions.Signatures[0].BestTime.Equal(r.Conclusions.Timestamps[0].Timestamp.Time) {
			t.Errorf("%s: %v, %+v", kind, err, r.Conclusions.Signatures[0])
		}
	}
}

// A time-stamped signature around a document proves that it existed, if the signature is valid: a
// token is over the signature value, and for another content anybody can make a key under which the
// value is right.
func TestSignatureAroundProves(t *testing.T) {
	for outer, proves := range map[string]bool{"second": true, "unknown-issuer": false} {
		s := newStage(t)
		inner, a := s.sign("pades", "p256", ades.LevelB, 0), s.pki.Actor(t, outer)
		doc := s.signContent("cades", a, a.Signing(s.now), ades.LevelT, inner)
		s.now = s.now.AddDate(0, 1, 0)
		s.pki.Revoke(s.pki.Actor(t, "p256"), 1)
		s.now = s.now.AddDate(0, 0, 1)
		r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{Recursive: true})
		if err != nil || len(r.Conclusions.Signatures) != 2 {
			t.Fatalf("%s: %v, %d signatures", outer, err, len(r.Conclusions.Signatures))
		}
		if c := r.Conclusions.Signatures[1]; c.Proven != proves || (c.Indication == report.TotalPassed) != proves {
			t.Errorf("in a signature of %s: proven %v, %s %s", outer, c.Proven, c.Indication, c.SubIndication)
		}
	}
}

// Without recursion it is said that a signed document inside was not judged.
func TestNestedNotJudged(t *testing.T) {
	s := newStage(t)
	a := s.pki.Actor(t, "second")
	doc := s.signContent("cades", a, a.Signing(s.now), ades.LevelB, s.sign("pades", "p256", ades.LevelB, 0))
	for recursive, want := range map[bool]bool{false: true, true: false} {
		r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{Recursive: recursive})
		if err != nil {
			t.Fatal(err)
		}
		v, _ := r.View(false, "it")
		said := strings.Contains(paper.Verdict(r, paper.English), "was not judged")
		if said != want || (len(v.Findings) > 0 && v.Findings[0].Code == "NESTED_NOT_JUDGED" && strings.Contains(v.Findings[0].Text, "giudicato")) != want {
			t.Errorf("recursive %v: %v, %+v", recursive, said, v.Findings)
		}
	}
}
