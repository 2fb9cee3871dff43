package jades_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/jades"
)

// Two documents under one signature, which stands in a file of its own.
func Example() {
	now := func() time.Time { return time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC) }
	pki, err := adestest.New(now, "")
	if err != nil {
		panic(err)
	}
	signer, err := pki.Enter("p256")
	if err != nil {
		panic(err)
	}
	files := []ades.File{
		{Name: "order.json", Source: strings.NewReader(`{"pay":100}`)},
		{Name: "terms.txt", Source: strings.NewReader("in thirty days")},
	}

	// Documents → digest → signature value → signature.
	draft, err := jades.Prepare(context.Background(), files, signer.Signing(now()), jades.Options{Detached: true})
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
	raising := ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki, Detached: files}
	if err := jades.Augment(context.Background(), bytes.NewReader(signed.Bytes()), &archived, raising); err != nil {
		panic(err)
	}

	facts, err := jades.Read(context.Background(), bytes.NewReader(archived.Bytes()), ades.ReadOptions{Detached: files})
	if err != nil {
		panic(err)
	}
	s := facts.Signatures[0]
	fmt.Println(jades.Profile(s, facts, nil).Name, s.Intact() == ades.Yes, len(s.References))
	// Output: JAdES-BASELINE-LTA true 2
}
