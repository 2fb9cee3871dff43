package rogito_test

import (
	"bytes"
	"context"
	"os"
	"testing"

	"rogito.dev/rogito"
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
		r, err := new(rogito.Verifier).Verify(context.Background(), bytes.NewReader(row.pdf), rogito.Verification{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := r.View(false)
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
