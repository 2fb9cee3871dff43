package trust_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/trust"
)

// A store gathers facts about the certificates of a document; package policy
// judges them.
func ExampleStore() {
	pki := adestest.Must(new(testing.T), nil)
	signer, _ := pki.Enter("p256")

	store := &trust.Store{Client: pki.HTTP()} // in earnest, one that dials no private address
	if err := store.AddAnchors(pki.RootPEM()); err != nil {
		panic(err)
	}
	doc := &ades.Document{Signatures: []*ades.Signature{{SigningCertificate: signer.Certificate.Raw}}}
	for _, c := range signer.Chain {
		doc.Evidence = append(doc.Evidence, ades.Evidence{Kind: ades.EvidenceCertificate, Raw: c.Raw})
	}
	facts := &report.Facts{Layers: []*report.Layer{{Document: doc}}}
	store.Gather(context.Background(), facts, time.Now())

	id := ades.FactID(signer.Certificate.Raw)
	fmt.Println(len(facts.Paths[id][0].Certificates), "certificates up to the anchor")
	fmt.Println(policy.Certificate(facts, policy.Default(), id, time.Now()).Indication)
	// Output:
	// 3 certificates up to the anchor
	// PASSED
}
