package pades

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"hash"
	"os"
	"testing"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/internal/handoff"
)

// A source that knows its digest is signed, and what was made of it read, from
// there on: the signature is that of a source that does not.
func TestDigestedSource(t *testing.T) {
	t.Parallel()
	pki, err := adestest.New(nil, "http://pki.test")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := pki.Enter("good")
	if err != nil {
		t.Fatal(err)
	}
	pdf, err := os.ReadFile("testdata/minimal.pdf")
	if err != nil {
		t.Fatal(err)
	}
	for h, asked := range map[crypto.Hash]int{crypto.SHA256: 2, crypto.SHA512: 0} {
		p := signer.Signing(pki.Now())
		p.Hash = h
		times := 0
		src := &handoff.Document{Source: bytes.NewReader(pdf), SHA256: func() hash.Hash {
			times++
			state := sha256.New()
			state.Write(pdf)
			return state
		}}
		draft, err := Prepare(t.Context(), src, p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		plain, err := Prepare(t.Context(), bytes.NewReader(pdf), p, Options{})
		if err != nil || !bytes.Equal(plain.Digest(), draft.Digest()) {
			t.Fatalf("%v: other attributes are signed: %v", h, err)
		}
		value, err := draft.Value(signer.Key)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := draft.Complete(context.Background(), value, ades.AugmentOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := stream(&out, signed, 0, signed.Size()); err != nil {
			t.Fatal(err)
		}
		for _, src := range []ades.Source{signed, bytes.NewReader(out.Bytes())} {
			doc, err := Read(t.Context(), src, ades.ReadOptions{})
			if err != nil || len(doc.Signatures) != 1 || doc.Signatures[0].Intact() != ades.Yes {
				t.Errorf("%v: %+v, %v", h, doc, err)
			}
		}
		if times != asked {
			t.Errorf("%v: asked %d times, want %d", h, times, asked)
		}
		// What stands behind the source is read and counts.
		g := signed.(*grown)
		at := bytes.Index(g.tail, []byte("/Type"))
		g.tail[at+1] ^= 1
		if doc, err := Read(t.Context(), g, ades.ReadOptions{}); err == nil && len(doc.Signatures) == 1 && doc.Signatures[0].Intact() == ades.Yes {
			t.Errorf("%v: a changed byte of the update is not noticed", h)
		}
	}
}

// A document of which the caller knows that it can be signed as it is, is not examined again. What
// that would have found is found when the signed one is read.
func TestSignableSource(t *testing.T) {
	t.Parallel()
	pki := adestest.Must(t, nil)
	signer := pki.Actor(t, "good")
	pdf := append([]byte("hello\n"), simplePDF(100)...)
	for known, written := range map[bool]bool{false: true, true: false} {
		src := &handoff.Document{Source: bytes.NewReader(pdf), SHA256: func() hash.Hash { return nil }, Signable: known}
		draft, err := Prepare(t.Context(), src, signer.Signing(pki.Now()), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if why := draft.Anew(); (len(why) > 0) != written {
			t.Errorf("known %v: written anew for %q", known, why)
		}
	}
}
