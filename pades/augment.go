package pades

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pdf"
	"rogito.dev/rogito/tsp"
)

// Augment raises the signatures of a document and writes it. T adds a document time-stamp, since an
// existing PDF signature cannot be given one. LT adds the validation data of every signature and
// time-stamp to the Document Security Store, after a time-stamp if a signature has none. LTA adds a
// document time-stamp over that, any number of times.
func Augment(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error {
	facts, err := read(ctx, src, ades.ReadOptions{Password: r.Password})
	if err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	if err := checkRaisable(facts.out); err != nil {
		return err
	}
	g := &grown{src: src}
	if err := raise(ctx, g, facts, r); err != nil {
		return err
	}
	if err := g.writeTo(w); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return nil
}

// checkRaisable returns an error if no signature is intact: raising it would make a broken one look
// valid.
func checkRaisable(doc *ades.Document) error {
	if len(doc.Signatures) == 0 && len(doc.Timestamps) == 0 {
		return fmt.Errorf("pades: signature in the document: %w", ades.ErrNotFound)
	}
	for _, s := range doc.Signatures {
		if s.Intact() == ades.Yes {
			return nil
		}
	}
	if len(doc.Signatures) == 0 {
		return nil
	}
	return errors.New("pades: no signature in the document is intact")
}

// Timestamp adds a document time-stamp, whether or not the document is signed.
func Timestamp(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error {
	g := &grown{src: src}
	if _, err := addTimestamp(ctx, g, r); err != nil {
		return err
	}
	if err := g.writeTo(w); err != nil {
		return fmt.Errorf("pades: %w", err)
	}
	return nil
}

// raise appends what the level needs to a document whose facts are known.
func raise(ctx context.Context, g *grown, facts *reader, r ades.AugmentOptions) error {
	if r.Level == ades.LevelB {
		return nil
	}
	need := needs(facts.out)
	if r.Level == ades.LevelT || !stamped(facts.out) {
		unit, err := addTimestamp(ctx, g, r)
		if err != nil {
			return err
		}
		need.addSignature(unit)
	}
	if r.Level == ades.LevelT {
		return nil
	}
	if err := addStore(ctx, g, facts, need, r); err != nil {
		return err
	}
	if r.Level == ades.LevelLT {
		return nil
	}
	_, err := addTimestamp(ctx, g, r)
	return err
}

// stamped reports whether every signature has a time-stamp: its own, or one over the document.
func stamped(doc *ades.Document) bool {
	for _, s := range doc.Signatures {
		if len(s.Timestamps) == 0 && !coveredBy(doc, s.ID) {
			return false
		}
	}
	return true
}

func coveredBy(doc *ades.Document, id string) bool {
	return slices.ContainsFunc(doc.Timestamps, func(t *ades.Timestamp) bool { return conforms(t) && slices.Contains(t.Covers, id) })
}

// proof is what validation data has to prove, and the data available for it.
type proof struct {
	leaves [][]byte
	bundle ades.Bundle
}

// needs lists the certificates of signers and time-stamping units.
func needs(doc *ades.Document) *proof {
	p := &proof{}
	for _, s := range doc.Signatures {
		p.addSignature(s)
		for _, t := range s.Timestamps {
			p.addSignature(t.Signature)
		}
	}
	for _, t := range doc.Timestamps {
		p.addSignature(t.Signature)
	}
	p.bundle.Add(doc.Evidence...)
	return p
}

func (p *proof) addSignature(s *ades.Signature) {
	if s == nil {
		return
	}
	if s.SigningCertificate != nil {
		p.leaves = append(p.leaves, s.SigningCertificate)
	}
	p.bundle.Add(s.Evidence...)
}

// addTimestamp appends a document time-stamp and returns its unit's signature. If the token is
// larger than the reserved space, another token is requested with more space.
func addTimestamp(ctx context.Context, g *grown, r ades.AugmentOptions) (*ades.Signature, error) {
	for room := stampRoom; ; {
		tail, token, err := timestampUpdate(ctx, g, room, r)
		var noRoom *NoRoomError
		if errors.As(err, &noRoom) && room < 1<<20 {
			room = noRoom.Need + noRoom.Need/4
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("pades: %w", err)
		}
		g.tail = append(g.tail, tail...)
		t, err := tsp.Read(token, nil)
		if err != nil {
			return nil, fmt.Errorf("pades: %w", err)
		}
		return t.Signature, nil
	}
}

func timestampUpdate(ctx context.Context, g *grown, room int, r ades.AugmentOptions) (tail, token []byte, err error) {
	doc, err := pdf.Open(g, pdf.Options{Password: r.Password, Repair: true, Context: ctx})
	if err != nil {
		return nil, nil, err
	}
	f, err := openForm(doc.Update())
	if err != nil {
		return nil, nil, err
	}
	s := newSlots(room)
	if err := f.stamp(s); err != nil {
		return nil, nil, err
	}
	inc, err := newIncrement(g, f.u, s)
	if err != nil {
		return nil, nil, err
	}
	if err := oid.CheckHash(r.Digest()); err != nil {
		return nil, nil, err
	}
	digest, err := inc.digest(r.Digest())
	if err != nil {
		return nil, nil, err
	}
	if token, err = stampDigest(ctx, r, digest); err != nil {
		return nil, nil, err
	}
	tail, err = inc.fill(token)
	return tail, token, err
}

// stamp adds a document time-stamp dictionary with unfilled slots, in a new field. Every
// certification permits it.
func (f *form) stamp(s slots) error {
	sig := f.u.New(pdf.NewDict(
		pdf.Name("Type"), pdf.Name("DocTimeStamp"),
		pdf.Name("Filter"), pdf.Name("Adobe.PPKLite"),
		pdf.Name("SubFilter"), pdf.Name("ETSI.RFC3161"),
		pdf.Name("ByteRange"), s.byteRange,
		pdf.Name("Contents"), s.contents,
	))
	name, err := f.newName("", "Timestamp")
	if err != nil {
		return err
	}
	page, err := f.doc.Page(0)
	if err != nil {
		return err
	}
	widget := newWidget(name, sig, page.Ref)
	widget.Set("Rect", pdf.Rect{}.Array())
	widget.Set("AP", pdf.NewDict(pdf.Name("N"), f.u.New(emptyForm())))
	if err := f.attach(widget, page, altDescription{"Time-stamp", "en"}, false); err != nil {
		return err
	}
	return f.register(sig, 0)
}
