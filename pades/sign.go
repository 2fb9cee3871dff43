package pades

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
)

// Draft is a PDF that lacks only its signature value. It implements [ades.Draft].
type Draft struct {
	cms      *cades.Draft
	inc      *increment
	password string
	field    string
	anew     []string
	remarks  []ades.Problem
}

var _ ades.Draft = (*Draft)(nil)

// Prepare makes the draft of a signed PDF. It reads the document to check that it can be read in
// only one way, and for its digest; Finish reads it again. A document without signatures that fails
// the check is rewritten (see [Options].AsIs).
func Prepare(ctx context.Context, src ades.Source, p ades.SignParams, opts Options) (*Draft, error) {
	o := settings{p, opts}
	if err := o.check(); err != nil {
		return nil, err
	}
	doc, src, anew, err := o.signable(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	u := doc.Update()
	form, err := openForm(u)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	s := newSlots(o.signatureSize())
	if err := form.sign(o, s); err != nil {
		return nil, err
	}
	inc, err := newIncrement(src, u, s)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	digest, err := inc.digest(cms.HashFor(p))
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	cms, err := cades.PrepareDigest(ctx, digest, p, cades.Options{Detached: true, Embedded: true, ContentStamper: o.ContentStamper})
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	return &Draft{cms: cms, inc: inc, password: o.Password, field: form.field, anew: anew, remarks: form.remarks}, nil
}

// stampRoom is reserved for a time-stamp token with its certificates.
const stampRoom = 8 << 10

// signatureSize estimates the size of the signature.
func (o settings) signatureSize() int {
	if o.Reserve > 0 {
		return o.Reserve
	}
	n := 1536 + len(o.Certificate.Raw)
	for _, c := range o.Chain {
		n += len(c.Raw)
	}
	n += valueSize(o.Certificate.PublicKey)
	if o.Stamped {
		n += stampRoom
	}
	if o.ContentStamper != nil {
		n += stampRoom
	}
	return n
}

func valueSize(pub crypto.PublicKey) int {
	switch k := pub.(type) {
	case *rsa.PublicKey:
		return k.Size()
	case *ecdsa.PublicKey:
		return 2*(k.Params().BitSize+7)/8 + 16
	case ed25519.PublicKey:
		return ed25519.SignatureSize
	}
	return 1024
}

// ToBeSigned returns the DER encoding of the signed attributes.
func (d *Draft) ToBeSigned() []byte { return d.cms.ToBeSigned() }

// Digest returns the digest of ToBeSigned.
func (d *Draft) Digest() []byte { return d.cms.Digest() }

// Field is the full name of the signed field.
func (d *Draft) Field() string { return d.field }

// Anew returns the reasons why the document was rewritten before it was signed; nil if it was not.
func (d *Draft) Anew() []string { return d.anew }

// Value signs the draft with key.
func (d *Draft) Value(key crypto.Signer) ([]byte, error) { return d.cms.Value(key) }

// Finish writes the signed document at level B. If a signature does not fit into the reserved
// space, Finish returns a *NoRoomError and writes nothing.
func (d *Draft) Finish(w io.Writer, value []byte) error {
	out, err := d.complete(context.Background(), value, ades.AugmentOptions{})
	if err != nil {
		return err
	}
	if err := out.writeTo(w); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return nil
}

// Complete returns the signed document, raised to the level of r: a view of the source with the
// update appended, valid as long as the source is. From T on the signature has a time-stamp over
// its value, for which Prepare with Options.Stamped reserves space; LT and LTA raise only this
// signature. If a signature does not fit into the reserved space, Complete returns a *NoRoomError.
func (d *Draft) Complete(ctx context.Context, value []byte, r ades.AugmentOptions) (ades.Source, error) {
	g, err := d.complete(ctx, value, r)
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (d *Draft) complete(ctx context.Context, value []byte, r ades.AugmentOptions) (*grown, error) {
	r.Password = d.password
	var b bytes.Buffer
	b.Grow(d.inc.capacity())
	if err := d.cms.Finish(&b, value); err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	contents := b.Bytes()
	if r.Level >= ades.LevelT {
		var err error
		if contents, err = stampSignature(ctx, contents, r); err != nil {
			return nil, fmt.Errorf("pades: %w", err)
		}
	}
	update, err := d.inc.fill(contents)
	if err != nil {
		return nil, err
	}
	g := &grown{src: d.inc.src, tail: update}
	if r.Level > ades.LevelT {
		if err := raiseNew(ctx, g, r); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// raiseNew raises only the last signature.
func raiseNew(ctx context.Context, g *grown, r ades.AugmentOptions) error {
	facts, err := read(ctx, g, ades.ReadOptions{Password: r.Password})
	if err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	facts.found = facts.found[len(facts.found)-1:]
	last := facts.found[0].signature
	if last == nil || last.Intact() != ades.Yes {
		return errors.New("pades: the signature just made does not verify: the key does not belong to the certificate")
	}
	facts.out.Signatures = []*ades.Signature{last}
	facts.out.Timestamps = nil
	return raise(ctx, g, facts, r)
}
