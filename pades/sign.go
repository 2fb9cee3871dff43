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
	inc   *increment
	field string
	notes []string
}

var _ ades.Draft = (*Draft)(nil)

// openToSign opens a document that is to be signed. Bytes before the header
// are left out: some readers count a byte range from the header, and some from
// the first byte. Where that is not possible the document is refused.
func openToSign(src ades.Source, password string) (ades.Source, *pdf.Document, error) {
	doc, err := pdf.Open(src, pdf.Options{Password: password, Repair: true})
	if err != nil || doc.Prefix() == 0 {
		return src, doc, err
	}
	all, _, err := fields(doc)
	if err != nil {
		return nil, nil, err
	}
	signed := false
	for i := range all {
		signed = signed || all[i].kind == "Sig" && !all[i].empty(doc)
	}
	if signed || doc.Base() != doc.Prefix() {
		return nil, nil, ades.Malformed("PDF", "header", "%d bytes stand before it, and the document cannot do without them", doc.Prefix())
	}
	src = io.NewSectionReader(src, doc.Base(), src.Size()-doc.Base())
	doc, err = pdf.Open(src, pdf.Options{Password: password, Repair: true})
	return src, doc, err
}

// Prepare makes the draft of a signed PDF. The document is read once now for
// its digest, and once more in Finish.
func Prepare(src ades.Source, o Options) (*Draft, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	src, doc, err := openToSign(src, o.Password)
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
	inc, err := lay(src, u, s)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	digest, err := inc.digest(cades.Hash(o.SignParams))
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	cms, err := cades.PrepareDigest(digest, cades.Options{SignParams: o.SignParams, Detached: true, Embedded: true})
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	return &Draft{cms: cms, inc: inc, field: form.field, notes: form.notes}, nil
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
	b.Grow(d.inc.room())
	if err := d.cms.Finish(&b, value); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return d.write(w, b.Bytes())
}

func (d *Draft) write(w io.Writer, cms []byte) error {
	err := d.inc.write(w, cms)
	var noRoom *NoRoomError
	if err == nil || errors.As(err, &noRoom) {
		return err
	}
	return fmt.Errorf("pades: %w", err)
}

// FinishStamped is Finish with a time-stamp over the signature value inside
// the signature: level T. Prepare with Options.Stamped makes room for it.
func (d *Draft) FinishStamped(ctx context.Context, w io.Writer, value []byte, r ades.AugmentOptions) error {
	if _, err := d.stamped(ctx, value, r); err != nil {
		return err
	}
	g := grown{src: d.inc.src, tail: d.inc.update}
	if err := g.writeTo(w); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return nil
}

// stamped returns the update with the time-stamped signature in it.
func (d *Draft) stamped(ctx context.Context, value []byte, r ades.AugmentOptions) ([]byte, error) {
	var b bytes.Buffer
	if err := d.cms.Finish(&b, value); err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	cms, err := stampSignature(ctx, b.Bytes(), r)
	if err != nil {
		return nil, fmt.Errorf("pades: %w", err)
	}
	return d.inc.fill(cms)
}

// Sign signs a document with a key at hand and raises it to the level that r
// asks for. A signature or time-stamp that turns out larger than the room
// reserved for it is made again with more.
func Sign(ctx context.Context, src ades.Source, w io.Writer, key crypto.Signer, o Options, r ades.AugmentOptions) error {
	r.Password = o.Password
	o.Stamped = o.Stamped || r.Level >= ades.LevelT
	if r.Level == ades.LevelB {
		return signOnce(src, key, o, func(d *Draft, value []byte) error { return d.Finish(w, value) })
	}
	g := &grown{src: src}
	err := signOnce(src, key, o, func(d *Draft, value []byte) error {
		var err error
		g.tail, err = d.stamped(ctx, value, r)
		return err
	})
	if err != nil {
		return err
	}
	if r.Level > ades.LevelT {
		if err := raiseNew(ctx, g, r); err != nil {
			return err
		}
	}
	if err := g.writeTo(w); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return nil
}

// signOnce prepares, signs and finishes, and does it again when there was not
// room enough.
func signOnce(src ades.Source, key crypto.Signer, o Options, finish func(*Draft, []byte) error) error {
	for range 3 {
		d, err := Prepare(src, o)
		if err != nil {
			return err
		}
		value, err := ades.Value(key, d, o.SignParams)
		if err != nil {
			return fmt.Errorf("pades: sign: %w", err)
		}
		err = finish(d, value)
		var noRoom *NoRoomError
		if !errors.As(err, &noRoom) {
			return err
		}
		o.Reserve = noRoom.Need + noRoom.Need/8
	}
	return errors.New("pades: the size of the signature keeps growing")
}

// raiseNew raises the signature that was made last, and no other.
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
