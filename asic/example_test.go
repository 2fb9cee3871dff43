package asic_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/asic"
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

	// One signature over two documents, in one file.
	draft, err := asic.Prepare(context.Background(), []ades.File{
		{Name: "contract.txt", Source: bytes.NewReader([]byte("We agree."))},
		{Name: "annex.xml", Source: bytes.NewReader([]byte("<annex/>"))},
	}, signer.Signing(now()), asic.Options{})
	if err != nil {
		panic(err)
	}
	value, err := draft.Value(signer.Key)
	if err != nil {
		panic(err)
	}
	var container bytes.Buffer
	if err := draft.Finish(&container, value); err != nil {
		panic(err)
	}

	facts, err := asic.Read(context.Background(), bytes.NewReader(container.Bytes()), ades.ReadOptions{})
	if err != nil {
		panic(err)
	}
	s := facts.Signatures[0]
	fmt.Println(facts.Format, asic.Profile(s, facts, nil).Name, s.Intact() == ades.Yes)
	for _, f := range facts.Content {
		fmt.Println(f.Name)
	}
	// Output:
	// ASiC-E XAdES-BASELINE-B true
	// contract.txt
	// annex.xml
}
