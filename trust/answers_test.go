package trust

import (
	"context"
	"crypto"
	pkixname "crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

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
		e := &evidence{ocsps: slices.Repeat([]ocspItem{{size: 80 * many, OCSPResponse: &pkix.OCSPResponse{Responses: answers}}}, 1000)}
		w := newWork(context.Background())
		if got := (&Store{}).revocations(cert, issuer, e, newPool(w)); len(got) != 0 {
			t.Errorf("%s: %d statements", name, len(got))
		}
		if !w.over {
			t.Errorf("%s: a thousand responses of %d answers cost %d looks of %d", name, many, maxLooks-w.looks, maxLooks)
		}
	}
}

// Names and constraints, policies, and the names of distribution points are lists of the same
// certificates and lists, each as long as its author likes: what compares them is linear in both,
// or stops.
func TestLongListsEnd(t *testing.T) {
	t.Parallel()
	number := func(many int, form string) (all []string) {
		for i := range many {
			all = append(all, fmt.Sprintf(form, i))
		}
		return all
	}
	general := func(tag int, texts []string) (all []pkix.GeneralName) {
		for _, text := range texts {
			all = append(all, pkix.GeneralName{Tag: tag, Text: text, Raw: []byte(text)})
		}
		return all
	}
	directory := func(common string, units []string) string {
		der, err := asn1.Marshal(pkixname.Name{CommonName: common, OrganizationalUnit: units}.ToRDNSequence())
		if err != nil {
			t.Fatal(err)
		}
		return string(der)
	}
	var points []pkix.DistributionPoint
	for _, name := range general(uriName, number(10_000, "ldap://%d")) {
		points = append(points, pkix.DistributionPoint{Names: []pkix.GeneralName{name}})
	}
	var mapped []pkix.PolicyMapping
	for _, policy := range number(100_000, "1.2.%d") {
		mapped = append(mapped, pkix.PolicyMapping{Issuer: policy, Subject: policy + ".1"})
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // some milliseconds each; hours where it is a product
	defer stop()
	for name, do := range map[string]func(){
		"names": func() {
			ca := &pkix.Certificate{NameConstraints: &pkix.NameConstraints{Excluded: general(directoryName, slices.Repeat([]string{directory("b", nil)}, 2000))}}
			leaf := &pkix.Certificate{RawIssuer: []byte("x"), SubjectAltNames: general(directoryName, slices.Repeat([]string{directory("a", number(1000, "unit %d"))}, 200))}
			if found := validate([]*pkix.Certificate{leaf, ca}, false, false, newWork(ctx)); len(found) == 0 {
				t.Error("a path is good whose names were too many to be compared")
			}
		},
		"policies": func() {
			ca := &pkix.Certificate{Policies: number(100_000, "1.2.%d"), PolicyMappings: mapped}
			leaf := &pkix.Certificate{RawIssuer: []byte("x"), Policies: number(100_000, "1.2.%d.1")}
			validate([]*pkix.Certificate{leaf, ca, ca}, false, false, newWork(ctx))
		},
		"points": func() {
			idp := &pkix.IssuingDistributionPoint{Point: pkix.DistributionPoint{Names: general(uriName, number(10_000, "http://%d"))}}
			for range 10 {
				if _, in := scope(&pkix.Certificate{CRLDistributionPoints: points}, &pkix.CRL{IDP: idp}); in {
					t.Error("a list covers a certificate of other points")
				}
			}
		},
	} {
		done := make(chan struct{})
		go func() { defer close(done); do() }()
		select {
		case <-done:
		case <-ctx.Done():
			t.Errorf("%s: a minute was not enough", name)
		}
	}
}
