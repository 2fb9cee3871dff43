package pades_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/pades"
)

func document() (*adestest.PKI, []byte) {
	pki, err := adestest.New(func() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }, "http://pki.example")
	if err != nil {
		panic(err)
	}
	doc, err := os.ReadFile("testdata/minimal.pdf")
	if err != nil {
		panic(err)
	}
	return pki, doc
}

func ExamplePrepare() {
	pki, doc := document()
	signer, err := pki.Enter("good")
	if err != nil {
		panic(err)
	}
	draft, err := pades.Prepare(context.Background(), bytes.NewReader(doc), signer.Signing(pki.Now()), pades.Options{Reason: "Approved"})
	if err != nil {
		panic(err)
	}
	// The digest may travel to a key that lives elsewhere.
	value, err := draft.Value(signer.Key)
	if err != nil {
		panic(err)
	}
	var signed bytes.Buffer
	if err := draft.Finish(&signed, value); err != nil {
		panic(err)
	}
	fmt.Println(draft.Field(), bytes.HasPrefix(signed.Bytes(), doc))
	// Output: Signature1 true
}

func ExampleDraft_Complete() {
	pki, doc := document()
	signer, err := pki.Enter("good")
	if err != nil {
		panic(err)
	}
	draft, err := pades.Prepare(context.Background(), bytes.NewReader(doc), signer.Signing(pki.Now()), pades.Options{Stamped: true})
	if err != nil {
		panic(err)
	}
	value, err := draft.Value(signer.Key)
	if err != nil {
		panic(err)
	}
	lt := ades.AugmentOptions{Level: ades.LevelLT, Stamper: pki.Unit, Gatherer: pki}
	signed, err := draft.Complete(context.Background(), value, lt)
	if err != nil {
		panic(err)
	}
	facts, err := pades.Read(context.Background(), signed, ades.ReadOptions{})
	if err != nil {
		panic(err)
	}
	s := facts.Signatures[0]
	fmt.Println(s.Intact() == ades.Yes, pades.Profile(s, facts, func(...[]byte) bool { return true }).Name)
	// Output: true PAdES-BASELINE-LT
}

func ExampleAugment() {
	pki, doc := document()
	signer, err := pki.Enter("good")
	if err != nil {
		panic(err)
	}
	var b, lta bytes.Buffer
	draft, err := pades.Prepare(context.Background(), bytes.NewReader(doc), signer.Signing(pki.Now()), pades.Options{})
	if err != nil {
		panic(err)
	}
	value, err := draft.Value(signer.Key)
	if err != nil {
		panic(err)
	}
	if err := draft.Finish(&b, value); err != nil {
		panic(err)
	}
	up := ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki}
	if err := pades.Augment(context.Background(), bytes.NewReader(b.Bytes()), &lta, up); err != nil {
		panic(err)
	}
	facts, err := pades.Read(context.Background(), bytes.NewReader(lta.Bytes()), ades.ReadOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(len(facts.Signatures), "signature,", len(facts.Timestamps), "document time-stamps")
	// Output: 1 signature, 2 document time-stamps
}
