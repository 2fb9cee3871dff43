package rogito_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/trust"
)

// A document is verified against the operator's own anchors; revocation data
// is fetched through the client that the store is given.
func ExampleVerifier_Verify() {
	pki, err := adestest.New(time.Now, "")
	if err != nil {
		panic(err)
	}
	signed := signedExample(pki)

	store := &trust.Store{Client: pki.HTTP()}
	if err := store.AddAnchors(pki.RootPEM()); err != nil {
		panic(err)
	}
	v := &rogito.Verifier{Trust: store}
	r, err := v.Verify(context.Background(), bytes.NewReader(signed), rogito.VerifyOptions{})
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Valid())
	fmt.Println(r.Conclusions.Indication, r.Conclusions.Signatures[0].Level)
	// Output:
	// true
	// TOTAL-PASSED CAdES-BASELINE-B
}

func signedExample(pki *adestest.PKI) []byte {
	a, err := pki.Enter("p256")
	if err != nil {
		panic(err)
	}
	signing := a.Signing(pki.Now())
	d, err := cades.Prepare(bytes.NewReader([]byte("hello")), cades.Options{SignParams: signing})
	if err != nil {
		panic(err)
	}
	value, err := d.Value(a.Key)
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	if err := d.Finish(&out, value); err != nil {
		panic(err)
	}
	return out.Bytes()
}
