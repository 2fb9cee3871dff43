package trust

import (
	"context"
	"crypto"
	"math/big"
	"slices"
	"testing"

	"rogito.dev/rogito/internal/pkix"
)

// A response of a few megabytes holds a hundred thousand answers. Looking at them is work of the
// document, whomever they are about, and no more of it is done than a document may cost.
func TestAnswersAreCharged(t *testing.T) {
	t.Parallel()
	const many = 100_000
	cert := &pkix.Certificate{SerialNumber: big.NewInt(1), RawIssuer: make([]byte, 4<<10)}
	issuer := &pkix.Certificate{RawSubject: cert.RawIssuer}
	for name, serial := range map[string]int64{"of the certificate's number": 1, "of another": 2} {
		answers := slices.Repeat([]pkix.SingleResponse{{SerialNumber: big.NewInt(serial), Hash: crypto.SHA256}}, many)
		e := &evidence{ocsps: slices.Repeat([]ocspItem{{OCSPResponse: &pkix.OCSPResponse{Responses: answers}}}, 1000)}
		w := newWork(context.Background())
		if got := (&Store{}).revocations(cert, issuer, e, newPool(w)); len(got) != 0 {
			t.Errorf("%s: %d statements", name, len(got))
		}
		if !w.over {
			t.Errorf("%s: a thousand responses of %d answers cost %d looks of %d", name, many, maxLooks-w.looks, maxLooks)
		}
	}
}
