package rogito

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/pkcs1"
	"rogito.dev/rogito/xades"
)

// Options say how a document is to be signed. Signing needs a certificate and
// a time; everything else has a useful zero value.
type Options struct {
	ades.SignParams

	// Format of the signature; empty means by content: PAdES for a PDF, XAdES
	// for XML, CAdES for everything else, ASiC-E for several files.
	Format ades.Format
	// Level to be reached; zero is B. From T on a Stamper is needed, from LT on
	// Sources.
	Level    ades.Level
	Stamper  ades.Stamper
	Gatherer ades.Gatherer
	// VRI files the validation data of a PDF under each signature as well (LTV).
	VRI bool
	// Parallel adds a signature beside those in a CMS file or a container, in
	// place of signing the file as it is. Content that such a CMS file does not
	// carry is given as a second file.
	Parallel bool

	// What only one format knows; nil means its zero value. The Signing in them
	// is not looked at.
	CAdES *cades.Options
	PAdES *pades.Options
	XAdES *xades.Options
	ASiC  *asic.Options
}

// Sign signs a document with a key at hand and writes the signed document.
//
//	Prepare    document → digest
//	ades.Value digest → signature value
//	Complete   value → signed document, B → T → LT → LTA
func Sign(ctx context.Context, doc Document, w io.Writer, key crypto.Signer, o Options) error {
	if err := matches(key, o); err != nil {
		return err
	}
	if o.format(doc) == ades.PAdES && len(doc) == 1 {
		return pades.Sign(ctx, doc[0].Source, w, key, o.pades(), o.raising())
	}
	d, err := Prepare(doc, o)
	if err != nil {
		return err
	}
	value, err := ades.Value(key, d, d.signing)
	if err != nil {
		return fmt.Errorf("sign: %w", err)
	}
	return d.complete(ctx, w, value)
}

// matches refuses a key that is not the certificate's.
func matches(key crypto.Signer, o Options) error {
	if o.Certificate == nil {
		return errors.New("sign: no signing certificate")
	}
	pub, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !pub.Equal(o.Certificate.PublicKey) {
		return errors.New("sign: the key is not that of the certificate")
	}
	return nil
}

// Draft is a document that wants only its signature value. It implements
// [ades.Draft].
type Draft struct {
	ades.Draft
	signing  ades.SignParams
	raising  ades.AugmentOptions
	augments augmenter
}

// Signing is how the value is to be made: ades.Value takes it.
func (d *Draft) Signing() ades.SignParams { return d.signing }

// Prepare makes everything of a signature but its value.
func Prepare(doc Document, o Options) (*Draft, error) {
	if len(doc) == 0 {
		return nil, errors.New("prepare: no document")
	}
	format := o.format(doc)
	d := &Draft{signing: o.SignParams, raising: o.raising(), augments: augmenters[format]}
	var err error
	switch format {
	case ades.CAdES:
		d.signing.Hash = cades.Hash(o.SignParams)
		switch {
		case o.Parallel:
			d.raising.Detached = doc[1:]
		case o.cades().Detached:
			d.raising.Detached = doc
		}
		d.Draft, err = o.prepareCAdES(doc)
	case ades.PAdES:
		d.raising.Password = o.pades().Password
		d.Draft, err = only(doc, func(s ades.Source) (ades.Draft, error) { return pades.Prepare(s, o.pades()) })
	case ades.XAdES:
		if o.xades().Packaging == xades.Detached {
			d.raising.Detached = doc
		}
		d.Draft, err = xades.Prepare(doc, o.xades())
	case ades.ASiCS, ades.ASiCE:
		d.Draft, err = o.prepareASiC(doc, format)
	case ades.PKCS1:
		if o.Level > ades.LevelB {
			return nil, errors.New("prepare: a bare value has no level above B")
		}
		d.Draft, err = only(doc, func(s ades.Source) (ades.Draft, error) {
			return pkcs1.Prepare(s, pkcs1.Options{SignParams: o.SignParams})
		})
	default:
		err = fmt.Errorf("prepare: format %q cannot be made", format)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// only refuses several files where a format signs one.
func only(doc Document, prepare func(ades.Source) (ades.Draft, error)) (ades.Draft, error) {
	if len(doc) != 1 {
		return nil, errors.New("prepare: this format signs one file at a time")
	}
	return prepare(doc[0].Source)
}

func (o Options) prepareCAdES(doc Document) (ades.Draft, error) {
	if !o.Parallel || Detect(doc[0].Source) != KindCMS {
		return only(doc, func(s ades.Source) (ades.Draft, error) { return cades.Prepare(s, o.cades()) })
	}
	var content ades.Source
	if len(doc) > 1 {
		content = doc[1].Source
	}
	return cades.Parallel(doc[0].Source, content, o.cades())
}

func (o Options) prepareASiC(doc Document, format ades.Format) (ades.Draft, error) {
	a := o.asic()
	a.Simple = format == ades.ASiCS
	if o.Parallel && len(doc) == 1 && Detect(doc[0].Source) == KindASiC {
		return asic.Parallel(doc[0].Source, a)
	}
	return asic.Prepare(doc, a)
}

// ErrValue says that a signature value is not one of the certificate's key over
// the draft.
var ErrValue = errors.New("the signature value does not verify with the certificate")

// Complete writes the signed document, raised to the level that was asked for.
// A value that does not verify with the signing certificate is refused with
// ErrValue: it came from elsewhere, and a broken signature helps nobody.
func (d *Draft) Complete(ctx context.Context, w io.Writer, value []byte) error {
	if err := d.verify(value); err != nil {
		return fmt.Errorf("complete: %w", err)
	}
	return d.complete(ctx, w, value)
}

func (d *Draft) verify(value []byte) error {
	alg, err := cms.SignatureAlgorithm(d.signing.Certificate.PublicKey, d.signing.Digest(), d.signing.PSS)
	if err != nil {
		return err
	}
	id, err := pkix.ParseAlgorithmIdentifier(alg)
	if err != nil {
		return err
	}
	scheme, err := pkix.SchemeOf(id, d.signing.Digest())
	if err != nil {
		return err
	}
	if scheme.Hash == 0 {
		err = scheme.Verify(d.signing.Certificate.PublicKey, d.ToBeSigned(), value)
	} else {
		err = scheme.VerifyDigest(d.signing.Certificate.PublicKey, d.Digest(), value)
	}
	if err != nil {
		return ErrValue
	}
	return nil
}

func (d *Draft) complete(ctx context.Context, w io.Writer, value []byte) error {
	if d.raising.Level == ades.LevelB {
		return d.Finish(w, value)
	}
	signed := new(spool)
	defer signed.Close()
	if p, ok := d.Draft.(*pades.Draft); ok {
		if err := p.FinishStamped(ctx, signed, value, d.raising); err != nil {
			return err
		}
		if d.raising.Level == ades.LevelT {
			return signed.copyTo(w)
		}
	} else if err := d.Finish(signed, value); err != nil {
		return err
	}
	return d.augments(ctx, signed, w, d.raising)
}

type augmenter func(context.Context, ades.Source, io.Writer, ades.AugmentOptions) error

var augmenters = map[ades.Format]augmenter{
	ades.CAdES: cades.Augment, ades.PAdES: pades.Augment, ades.XAdES: xades.Augment,
	ades.ASiCS: asic.Augment, ades.ASiCE: asic.Augment,
}

// Augment raises the signatures of a document to a level: B to T to LT to LTA,
// and LTA again and again as algorithms and certificates age.
func Augment(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error {
	switch kind := Detect(src); kind {
	case KindPDF:
		return pades.Augment(ctx, src, w, r)
	case KindCMS:
		return cades.Augment(ctx, src, w, r)
	case KindXML:
		return xades.Augment(ctx, src, w, r)
	case KindASiC:
		return asic.Augment(ctx, src, w, r)
	case KindOther:
		return errors.New("augment: no signature of a known format")
	default:
		return fmt.Errorf("augment: %s cannot be raised", kind)
	}
}

// format is the one asked for, or the one that suits the content.
func (o Options) format(doc Document) ades.Format {
	switch {
	case o.Format != "":
		return o.Format
	case len(doc) > 1:
		return ades.ASiCE
	case len(doc) == 0:
		return ades.CAdES
	}
	switch Detect(doc[0].Source) {
	case KindPDF:
		return ades.PAdES
	case KindXML:
		return ades.XAdES
	}
	return ades.CAdES
}

func (o Options) raising() ades.AugmentOptions {
	return ades.AugmentOptions{Level: o.Level, Stamper: o.Stamper, Gatherer: o.Gatherer, VRI: o.VRI, Hash: o.Hash, Time: o.Time}
}

func (o Options) cades() (c cades.Options) {
	if o.CAdES != nil {
		c = *o.CAdES
	}
	c.SignParams = o.SignParams
	return c
}

func (o Options) pades() (p pades.Options) {
	if o.PAdES != nil {
		p = *o.PAdES
	}
	p.SignParams = o.SignParams
	p.Stamped = p.Stamped || o.Level >= ades.LevelT
	return p
}

func (o Options) xades() (x xades.Options) {
	if o.XAdES != nil {
		x = *o.XAdES
	}
	x.SignParams = o.SignParams
	return x
}

func (o Options) asic() (a asic.Options) {
	if o.ASiC != nil {
		a = *o.ASiC
	}
	a.SignParams = o.SignParams
	return a
}
