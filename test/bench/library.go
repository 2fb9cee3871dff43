package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"io"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/adestest"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/trust"
	"rogito.dev/rogito/xades"
)

// stage is a public-key infrastructure in memory and who signs.
type stage struct {
	pki       *adestest.PKI
	rsa, p256 *adestest.Actor
}

func newStage() (*stage, error) {
	pki, err := adestest.New(nil, "http://pki.test")
	if err != nil {
		return nil, err
	}
	s := &stage{pki: pki}
	if s.rsa, err = pki.Enter("good"); err != nil {
		return nil, err
	}
	s.p256, err = pki.Enter("p256")
	return s, err
}

func (b *bench) library() error {
	s, err := newStage()
	if err != nil {
		return err
	}
	say("signing with the library")
	if err := b.add(s.signing(b.docs)); err != nil {
		return err
	}
	say("verifying with the library")
	works, err := s.verifying(b.docs)
	if err != nil {
		return err
	}
	return b.add(works)
}

func (b *bench) add(works []work) error {
	figures, err := measure(b.budget, works...)
	if err != nil {
		return err
	}
	for name, f := range figures {
		b.rates[name], b.rates[name+" bytes"] = f.rate, f.bytes
	}
	return nil
}

func raw(name string, a *adestest.Actor) work {
	digest := sha256.Sum256([]byte(name))
	return work{name, func() error {
		_, err := a.Key.Sign(rand.Reader, digest[:], crypto.SHA256)
		return err
	}}
}

// signing are the works of signing, each with its key operation beside it.
func (s *stage) signing(d *documents) []work {
	sign := func(name string, a *adestest.Actor, prepare func(ades.SignParams) (ades.Draft, error)) work {
		o := a.Signing(s.pki.Now())
		return work{name, func() error {
			draft, err := prepare(o)
			if err != nil {
				return err
			}
			value, err := draft.Value(a.Key)
			if err != nil {
				return err
			}
			return draft.Finish(io.Discard, value)
		}}
	}
	onPDF := func(o ades.SignParams) (ades.Draft, error) {
		return pades.Prepare(context.Background(), bytes.NewReader(d.pdf100), o, pades.Options{})
	}
	return []work{
		raw("raw RSA", s.rsa),
		sign("sign PAdES-B RSA", s.rsa, onPDF),
		sign("sign CAdES-B RSA", s.rsa, func(o ades.SignParams) (ades.Draft, error) {
			return cades.Prepare(context.Background(), bytes.NewReader(d.bin), o, cades.Options{})
		}),
		sign("sign XAdES-B RSA", s.rsa, func(o ades.SignParams) (ades.Draft, error) {
			return xades.Prepare(context.Background(), []ades.File{{Source: bytes.NewReader(d.xml50)}}, o, xades.Options{Packaging: xades.Enveloped})
		}),
		raw("raw P-256", s.p256),
		sign("sign PAdES-B P-256", s.p256, onPDF),
	}
}

// verifying are the works of verifying, with warm caches, as a validator has
// them that runs for longer than one document.
func (s *stage) verifying(d *documents) ([]work, error) {
	var works []work
	for _, c := range []struct {
		name    string
		format  ades.Format
		content []byte
		level   ades.Level
	}{
		{"verify PAdES-B", ades.PAdES, d.pdf200, ades.LevelB},
		{"verify PAdES-LT", ades.PAdES, d.pdf200, ades.LevelLT},
		{"verify CAdES-B", ades.CAdES, d.bin, ades.LevelB},
		{"verify CAdES-LT", ades.CAdES, d.bin, ades.LevelLT},
		{"verify XAdES-B", ades.XAdES, d.xml50, ades.LevelB},
		{"verify XAdES-LT", ades.XAdES, d.xml50, ades.LevelLT},
	} {
		var signed bytes.Buffer
		o := rogito.Options{SignParams: s.rsa.Signing(s.pki.Now()), Format: c.format, Level: c.level, Stamper: s.pki.Unit, Gatherer: s.pki}
		doc := rogito.File("document", bytes.NewReader(c.content))
		if _, err := rogito.Sign(context.Background(), doc, &signed, s.rsa.Key, o); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		v, err := s.verifier(c.level == ades.LevelB)
		if err != nil {
			return nil, err
		}
		works = append(works, work{c.name, func() error { return valid(v, signed.Bytes()) }})
		if c.level == ades.LevelLT {
			// The same file again and again has the same evidence again and
			// again: a new verifier remembers none of it.
			works = append(works, work{c.name + " anew", func() error {
				v, err := s.verifier(false)
				if err != nil {
					return err
				}
				return valid(v, signed.Bytes())
			}})
		}
	}
	return works, nil
}

func valid(v *rogito.Verifier, signed []byte) error {
	r, err := v.Verify(context.Background(), bytes.NewReader(signed), rogito.VerifyOptions{})
	if err == nil && !r.Valid() {
		err = fmt.Errorf("not valid: %v", r.Conclusions.Signatures[0].Messages)
	}
	return err
}

// verifier trusts the root. Level B needs revocation data from outside, which
// is asked for once and then remembered.
func (s *stage) verifier(online bool) (*rogito.Verifier, error) {
	store := new(trust.Store)
	if online {
		store.Client = s.pki.HTTP()
	}
	return &rogito.Verifier{Trust: store, Now: s.pki.Now}, store.AddAnchor(s.pki.Root.Raw)
}
