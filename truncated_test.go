package rogito_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"os"
	"testing"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/report"
)

// A signed PDF that lost its end claims to be signed: it is reported broken,
// not unsigned.
func TestSignedPDFCutShort(t *testing.T) {
	b, err := os.ReadFile("pades/testdata/signed.pdf")
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("/ByteRange"))
	if at < 0 {
		t.Fatal("the sample is not signed")
	}
	plain, err := os.ReadFile("pades/testdata/minimal.pdf")
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		pdf  []byte
		want int
	}{
		"within the signature": {b[:at+200], 1},
		"not signed":           {plain, 0},
		"not signed, and more": {append(bytes.Clone(plain), "\nmore"...), 0},
	} {
		r, err := new(rogito.Verifier).Verify(context.Background(), bytes.NewReader(row.pdf), rogito.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.View(false, "en")
		if err != nil {
			t.Fatal(err)
		}
		if v.NrOfSignatures != row.want || v.OverallVerified {
			t.Errorf("%s: %d signatures", name, v.NrOfSignatures)
		}
		if row.want > 0 && (v.Signatures[0].Integrity || v.Indication != report.TotalFailed) {
			t.Errorf("%s: %+v", name, v.Signatures[0])
		}
	}
}

// A whole response of an authority (.tsr) and its token alone (.tst) are a
// time-stamp and no signature; half a response is broken.
func TestTimestampResponse(t *testing.T) {
	s := newStage(t)
	content := []byte("stamped")
	digest := sha256.Sum256(content)
	token, err := s.pki.Unit.Stamp(t.Context(), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	// PKIStatusInfo {granted}, then the token.
	response := append([]byte{0x30, 0x03, 0x02, 0x01, 0x00}, token...)
	response = append([]byte{0x30, 0x82, byte(len(response) >> 8), byte(len(response))}, response...)
	for name, b := range map[string][]byte{"tst": token, "tsr": response} {
		r, err := new(rogito.Verifier).Verify(t.Context(), bytes.NewReader(b), rogito.VerifyOptions{Detached: []ades.File{{Source: bytes.NewReader(content)}}})
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.View(false, "en")
		if err != nil {
			t.Fatal(err)
		}
		if v.SignatureFormat != "TST" || v.NrOfSignatures != 0 || len(v.Timestamps) != 1 || !v.Timestamps[0].Integrity {
			t.Errorf("%s: %q with %d signatures and %+v", name, v.SignatureFormat, v.NrOfSignatures, v.Timestamps)
		}
	}
	r, err := new(rogito.Verifier).Verify(t.Context(), bytes.NewReader(response[:len(response)/2]), rogito.VerifyOptions{})
	if err != nil || r.Conclusions.Indication != report.TotalFailed {
		t.Errorf("half a response: %+v, %v", r, err)
	}
}
