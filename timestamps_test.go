package rogito_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/base64"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// A time-stamp alone is no signature, and is judged all the same.
func TestTimestampAlone(t *testing.T) {
	s := newStage(t)
	digest := sha256.Sum256([]byte("content"))
	token, err := s.pki.Unit.Stamp(context.Background(), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	for name, doc := range map[string][]byte{"token": token, "base64": []byte(base64.StdEncoding.EncodeToString(token))} {
		for content, want := range map[string]report.Indication{"content": report.Passed, "another": report.Failed, "": report.Indeterminate} {
			o := rogito.VerifyOptions{}
			if content != "" {
				o.Detached = []ades.File{{Source: bytes.NewReader([]byte(content))}}
			}
			r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(doc), o)
			if err != nil {
				t.Fatal(err)
			}
			v, err := r.View(true, "en")
			if err != nil {
				t.Fatal(err)
			}
			if v.NrOfSignatures != 0 || v.OverallVerified || v.SignatureFormat != "TST" || len(v.Timestamps) != 1 || v.Timestamps[0].Indication != want {
				t.Errorf("%s over %q: %d signatures, %s, %+v", name, content, v.NrOfSignatures, v.SignatureFormat, v.Timestamps)
			}
		}
	}
}

// Layers: a signed PDF inside a CMS, seen from outside and opened.
func TestRecursion(t *testing.T) {
	s := newStage(t)
	inner := s.sign("pades", "p256", ades.LevelB, 0)
	a := s.pki.Actor(t, "second")
	doc := s.signContent("cades", a, a.Signing(s.now), ades.LevelB, inner)
	for recursive, want := range map[bool]int{false: 1, true: 2} {
		r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{Recursive: recursive})
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.View(true, "en")
		if err != nil {
			t.Fatal(err)
		}
		if v.NrOfSignatures != want || !v.OverallVerified || v.SignatureFormat != "CAdES" || v.PlainDocument == nil || v.PlainDocument.Base64 == nil {
			t.Errorf("recursive %v: %d signatures, verified %v, %s", recursive, v.NrOfSignatures, v.OverallVerified, v.SignatureFormat)
		}
		if recursive && v.Signatures[1].Level != 1 {
			t.Errorf("nesting %d", v.Signatures[1].Level)
		}
	}
	// A broken inner layer spoils the whole.
	bad := bytes.Replace(inner, []byte("[0 0 200 200]"), []byte("[0 0 100 100]"), 1)
	doc = s.signContent("cades", a, a.Signing(s.now), ades.LevelB, bad)
	r, err := s.verifier(true).Verify(context.Background(), bytes.NewReader(doc), rogito.VerifyOptions{Recursive: true})
	if err != nil || r.Valid() {
		t.Errorf("broken inside: valid %v, %v", r.Valid(), err)
	}
}
