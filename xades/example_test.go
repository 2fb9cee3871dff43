package xades_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/xades"
)

func Example() {
	now := func() time.Time { return time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC) }
	pki, err := adestest.New(now, "")
	if err != nil {
		panic(err)
	}
	signer, err := pki.Enter("good")
	if err != nil {
		panic(err)
	}

	// Document → digest → signature value → signed document.
	o := xades.Options{Packaging: xades.Enveloped}
	doc := ades.File{Name: "order.xml", Source: bytes.NewReader([]byte("<order><item/></order>"))}
	draft, err := xades.Prepare(context.Background(), []ades.File{doc}, signer.Signing(now()), o)
	if err != nil {
		panic(err)
	}
	value, err := draft.Value(signer.Key)
	if err != nil {
		panic(err)
	}
	var signed bytes.Buffer
	if err := draft.Finish(&signed, value); err != nil {
		panic(err)
	}

	// B → LTA.
	var archived bytes.Buffer
	raising := ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki}
	if err := xades.Augment(context.Background(), bytes.NewReader(signed.Bytes()), &archived, raising); err != nil {
		panic(err)
	}

	facts, err := xades.Read(context.Background(), bytes.NewReader(archived.Bytes()), ades.ReadOptions{})
	if err != nil {
		panic(err)
	}
	s := facts.Signatures[0]
	fmt.Println(xades.Profile(s, facts, nil).Name, s.Intact() == ades.Yes, s.ContentIsWhole)
	// Output: XAdES-BASELINE-LTA true true
}
