package rogito_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/policy"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/tsl"
	"rogito.dev/rogito/tsp"
)

// people is a PKI for the examples, and a signer in it.
func people() (*adestest.PKI, *adestest.Actor) {
	pki, err := adestest.New(time.Now, "")
	if err != nil {
		log.Fatal(err)
	}
	signer, err := pki.Enter("p256")
	if err != nil {
		log.Fatal(err)
	}
	return pki, signer
}

// Sign a PDF, and verify it against one's own trust anchor.
func Example() {
	pki, signer := people()
	ctx := context.Background()

	var out bytes.Buffer
	signed, err := rogito.Sign(ctx, rogito.File("contract.pdf", bytes.NewReader(smallPDF())), &out, signer.Key, rogito.Options{
		SignParams: ades.SignParams{Certificate: signer.Certificate, Chain: signer.Chain, Time: time.Now()},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(signed.Profile, signed.MediaType)

	store := &trust.Store{Client: pki.HTTP()} // fetches revocation data
	if err := store.AddAnchors(pki.RootPEM()); err != nil {
		log.Fatal(err)
	}
	v := &rogito.Verifier{Trust: store}
	r, err := v.Verify(ctx, bytes.NewReader(out.Bytes()), rogito.VerifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Valid(), r.Conclusions.Indication)
	// Output:
	// PAdES-BASELINE-B application/pdf
	// true TOTAL-PASSED
}

// A key from a PKCS#12 file, a time-stamp from an authority.
func ExampleSign() {
	file, err := os.ReadFile("me.p12")
	if err != nil {
		log.Fatal(err)
	}
	me, err := rogito.LoadPKCS12(file, "password")
	if err != nil {
		log.Fatal(err)
	}
	out, err := os.Create("contract.txt.p7m")
	if err != nil {
		log.Fatal(err)
	}
	_, err = rogito.Sign(context.Background(), rogito.File("contract.txt", strings.NewReader("a contract")), out, me.Key, rogito.Options{
		SignParams: ades.SignParams{Certificate: me.Certificate, Chain: me.Chain, Time: time.Now()},
		Level:      ades.LevelT,
		Stamper:    &tsp.Client{Servers: []tsp.Server{{URL: "https://tsa.example/tsr"}}},
	})
	if err := errors.Join(err, out.Close()); err != nil {
		log.Fatal(err)
	}
}

// The key is elsewhere, and a person may stand between the two halves: the
// digest goes there, the value comes back.
func ExamplePrepare() {
	pki, signer := people()
	draft, err := rogito.Prepare(context.Background(), rogito.File("contract.pdf", bytes.NewReader(smallPDF())), rogito.Options{
		SignParams: signer.Signing(pki.Now()), Level: ades.LevelT, Stamper: pki.Unit,
	})
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	for {
		value, err := draft.Value(signer.Key) // or send draft.Digest() away
		if err != nil {
			log.Fatal(err)
		}
		signed, err := draft.Complete(context.Background(), &out, value)
		if errors.Is(err, rogito.ErrSignAgain) {
			continue // the time-stamp was larger than the place for it
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(signed.Profile)
		return
	}
	// Output: PAdES-BASELINE-T
}

// Raise what is signed already to LTA, for the decades to come.
func ExampleAugment() {
	pki, signer := people()
	ctx := context.Background()
	var b, lta bytes.Buffer
	if _, err := rogito.Sign(ctx, rogito.File("a.txt", strings.NewReader("text")), &b, signer.Key, rogito.Options{SignParams: signer.Signing(pki.Now())}); err != nil {
		log.Fatal(err)
	}
	err := rogito.Augment(ctx, bytes.NewReader(b.Bytes()), &lta, ades.AugmentOptions{Level: ades.LevelLTA, Stamper: pki.Unit, Gatherer: pki})
	if err != nil {
		log.Fatal(err)
	}
	doc, err := rogito.Read(ctx, bytes.NewReader(lta.Bytes()), ades.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(doc.Signatures[0].Timestamps), "time-stamps")
	// Output: 2 time-stamps
}

// A document that stays at home: only its digest is signed.
func ExampleInput() {
	pki, signer := people()
	var out bytes.Buffer
	signed, err := rogito.Sign(context.Background(), rogito.Input{Digest: sum(signer.Signing(pki.Now()).Digest(), []byte("a contract"))}, &out, signer.Key,
		rogito.Options{SignParams: signer.Signing(pki.Now())})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(signed.Format, signed.Extension)
	// Output: CAdES p7s
}

// Signatures of the European Union are held against its trusted lists, which
// are fetched once and kept.
func ExampleVerifier_trustedLists() {
	client := &http.Client{Timeout: time.Minute}
	lists, err := tsl.NewSet(tsl.Config{Client: client, Dir: "lists"})
	if err != nil {
		log.Fatal(err)
	}
	if err := lists.Refresh(context.Background()); err != nil {
		log.Fatal(err)
	}
	v := &rogito.Verifier{Trust: &trust.Store{Lists: lists, Client: client}}
	file, err := os.ReadFile("contract.pdf")
	if err != nil {
		log.Fatal(err)
	}
	r, err := v.Verify(context.Background(), bytes.NewReader(file), rogito.VerifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range r.Conclusions.Signatures {
		fmt.Println(s.Indication, s.Qualification)
	}
}

// A policy of one's own is the default with changes: here a signature must say
// when it was made.
func ExampleVerifier_policy() {
	text := bytes.Replace(policy.DefaultYAML(), []byte("requireSigningTime: false"), []byte("requireSigningTime: true"), 1)
	own, err := policy.Load(text)
	if err != nil {
		log.Fatal(err)
	}
	v := &rogito.Verifier{Policy: own}
	r, err := v.Verify(context.Background(), strings.NewReader("no signature"), rogito.VerifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Valid())
	// Output: false
}

// Take the signed content out of a file, whoever signed it.
func ExampleExtract() {
	_, signer := people()
	var out bytes.Buffer
	_, err := rogito.Sign(context.Background(), rogito.File("note.txt", strings.NewReader("a note")), &out, signer.Key, rogito.Options{
		SignParams: ades.SignParams{Certificate: signer.Certificate, Time: time.Now()},
	})
	if err != nil {
		log.Fatal(err)
	}
	files, err := rogito.Extract(context.Background(), ades.File{Name: "note.txt.p7m", Source: bytes.NewReader(out.Bytes())}, ades.ReadOptions{})
	if err != nil {
		log.Fatal(err) // nothing that an intact signature does not cover is handed out
	}
	fmt.Println(files[0].Name, files[0].Source.Size())
	// Output: note.txt 6
}
