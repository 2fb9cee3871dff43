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
	"rogito.dev/rogito/internal/pdf"
)

// Draft is a PDF that wants only its signature value. It implements
// [ades.Draft].
type Draft struct {
	cms   *cades.Draft
	rev   *increment
	field string
	notes []string
}

// Prepare makes the draft of a signed PDF. The document is read once now for
// its digest, and once more in Finish.
func Prepare(src ades.Source, o Options) (*Draft, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	doc, err := pdf.Open(src, pdf.Options{Password: o.Password, Repair: true})
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	u := doc.Update()
	form, err := openForm(u)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	s := newSlots(o.room())
	if err := form.sign(o, s); err != nil {
		return nil, err
	}
	rev, err := lay(src, u, s)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	digest, err := rev.digest(cades.Hash(o.Signing))
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	cms, err := cades.PrepareDigest(digest, cades.Options{Signing: o.Signing, Detached: true, Embedded: true})
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	return &Draft{cms: cms, rev: rev, field: form.field, notes: form.notes}, nil
}

// stampRoom is reserved for a time-stamp token with its certificates.
const stampRoom = 8 << 10

// room estimates the size of the signature.
func (o Options) room() int {
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

// ToBeSigned is the DER encoding of the signed attributes.
func (d *Draft) ToBeSigned() []byte { return d.cms.ToBeSigned() }

// Digest of ToBeSigned.
func (d *Draft) Digest() []byte { return d.cms.Digest() }

// Field is the full name of the field that is signed.
func (d *Draft) Field() string { return d.field }

// Notes say what the signer may want to know: that the document is repaired,
// or has a dynamic form that other software may not show signed.
func (d *Draft) Notes() []string { return d.notes }

// Finish writes the signed document. A signature that does not fit the room
// reserved for it is a *NoRoomError, and nothing is written.
func (d *Draft) Finish(w io.Writer, value []byte) error {
	var b bytes.Buffer
	b.Grow(d.rev.room())
	if err := d.cms.Finish(&b, value); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return d.write(w, b.Bytes())
}

func (d *Draft) write(w io.Writer, cms []byte) error {
	err := d.rev.write(w, cms)
	var noRoom *NoRoomError
	if err == nil || errors.As(err, &noRoom) {
		return err
	}
	return fmt.Errorf("pades: %w", err)
}

// FinishStamped is Finish with a time-stamp over the signature value inside
// the signature: level T. Prepare with Options.Stamped makes room for it.
func (d *Draft) FinishStamped(ctx context.Context, w io.Writer, value []byte, r ades.Raising) error {
	var b bytes.Buffer
	if err := d.cms.Finish(&b, value); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	stamped, err := stampSignature(ctx, b.Bytes(), r)
	if err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return d.write(w, stamped)
}
