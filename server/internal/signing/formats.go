package signing

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/pades"
	"rogito.dev/rogito/pkcs1"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/xades"
)

// made is a signed document, and what was read out of it again.
type made struct {
	src   ades.Source
	media media
	level string // B, T, LT, LTA; empty where there are none
	sig   *ades.Signature
	doc   *ades.Document
	count int           // of several: how many were signed
	parts []audit.Event // of several: what the log tells of each
}

// maker signs one item.
type maker struct {
	*run
	key     crypto.Signer // asks for an intent before each use
	signing ades.SignParams
	raising ades.AugmentOptions
	raise   bool
	item    *item // being signed
}

func (x *run) newMaker(key crypto.Signer) (*maker, error) {
	cert, err := x.parsed.certificate(x.cert.DER)
	if err != nil {
		return nil, fmt.Errorf("signing: certificate: %w", err)
	}
	o := &x.record.Options
	m := &maker{run: x, key: key}
	m.signing = ades.SignParams{Certificate: cert, Hash: hashOf(o.Hash), Time: x.config.Now().UTC().Truncate(time.Second)}
	for _, der := range x.cert.Chain {
		c, err := x.parsed.certificate(der)
		if err != nil {
			return nil, fmt.Errorf("signing: chain: %w", err)
		}
		m.signing.Chain = append(m.signing.Chain, c)
	}
	m.raise = o.stamped()
	m.raising = ades.AugmentOptions{
		Level: levelOf(o), Hash: hashOf(o.TimestampHash), Password: x.secrets.EncryptionPassword, Time: m.signing.Time,
		Stamper: x.stamper(), Gatherer: x.config.Gatherer, VRI: o.Level == "LTV",
	}
	return m, nil
}

func levelOf(o *Options) ades.Level {
	switch o.Level {
	case "LT", "LTV":
		return ades.LevelLT
	case "LTA":
		return ades.LevelLTA
	case "T":
		return ades.LevelT
	}
	if o.WithTimestamp {
		return ades.LevelT
	}
	return ades.LevelB
}

// signatureRoom is what a signature without much evidence adds to a document.
const signatureRoom = 48 << 10

// sign signs an item and verifies what came out.
func (m *maker) sign(ctx context.Context, it *item) (*made, error) {
	var out *made
	var err error
	m.item = it
	switch {
	case it.format == "pkcs1":
		return m.pkcs1(ctx, it)
	case it.format == "pades":
		out, err = m.pades(ctx, it)
	case it.files != nil || m.container():
		out, err = m.asic(ctx, it)
	case it.format == "xades":
		out, err = m.xades(ctx, it)
	default:
		out, err = m.cades(ctx, it)
	}
	if err != nil {
		return nil, unsignable(it.index, err)
	}
	return out, m.checkLevel(out)
}

func (m *maker) container() bool {
	return strings.HasPrefix(m.record.Options.Packaging, "asic-")
}

// finish has the key sign a draft and writes the result to the spool.
func (m *maker) finish(d ades.Draft) (ades.Source, error) {
	value, err := ades.Value(m.key, d, m.signing)
	if err != nil {
		return nil, err
	}
	w := m.spool().Write()
	if err := d.Finish(w, value); err != nil {
		return nil, err
	}
	return w.Source(), nil
}

type augmenter func(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error

// raised brings a signed document to its level.
func (m *maker) raised(ctx context.Context, src ades.Source, augment augmenter, detached ...ades.File) (ades.Source, error) {
	if !m.raise {
		return src, nil
	}
	r := m.raising
	r.Detached = detached
	w := m.spool().Write()
	if err := augment(ctx, src, w, r); err != nil {
		return nil, m.raisingRefusal(err)
	}
	return w.Source(), nil
}

// raisingRefusal tells a time-stamp that could not be had from revocation data
// that could not.
func (m *maker) raisingRefusal(err error) error {
	var stamp *stampError
	var missing *ades.MissingError
	switch {
	case errors.As(err, &stamp):
		return &refusal{number: fault.TimestampFailed, text: "the time-stamp authority failed: " + stamp.plain(), err: err}
	case errors.As(err, &missing):
		return &refusal{number: fault.RevocationMissing, text: "revocation data for the level cannot be had: " + clipTo(missing.Error(), 300), err: err}
	}
	return err
}

func (m *maker) pades(ctx context.Context, it *item) (*made, error) {
	src := it.src
	opts, err := m.padesOptions(src)
	if err != nil {
		return nil, err
	}
	for i, o := range opts {
		r := ades.AugmentOptions{}
		if m.raise {
			r = m.raising
		}
		if i < len(opts)-1 { // the last brings what all need beyond their time-stamps
			r.Level = min(r.Level, ades.LevelT)
		}
		w := m.spool().WriteSized(src.Size() + signatureRoom)
		err := pades.Sign(ctx, src, w, m.key, o, r)
		if errors.Is(err, ades.ErrNotFound) && o.Field != "" {
			o.NewField, o.Field = o.Field, ""
			w = m.spool().WriteSized(src.Size() + signatureRoom)
			err = pades.Sign(ctx, src, w, m.key, o, r)
		}
		if err != nil {
			return nil, m.raisingRefusal(err)
		}
		src = w.Source()
	}
	doc, err := pades.Read(ctx, src, ades.ReadOptions{Password: m.secrets.EncryptionPassword})
	if err != nil {
		return nil, fmt.Errorf("read the signed document: %w", err)
	}
	return m.verified(src, mediaPDF, doc, pades.Level)
}

func (m *maker) cades(ctx context.Context, it *item) (*made, error) {
	o := &m.record.Options
	opts := cades.Options{SignParams: m.signing, Detached: o.Detached, MimeType: it.media.mime}
	out := media{mediaCMS.mime, it.media.ext + ".p7m"}
	detached := []ades.File{}
	var src ades.Source
	var err error
	switch {
	case it.digest != nil:
		opts.MimeType = ""
		out = media{"application/pkcs7-signature", "p7s"}
		var d *cades.Draft
		if d, err = cades.PrepareDigest(it.digest, opts); err == nil {
			src, err = m.finish(d)
		}
	case it.media == mediaCMS && o.Counter:
		out = media{mediaCMS.mime, it.media.ext}
		src, err = m.counterSign(ctx, it.src, opts)
	case it.media == mediaCMS && o.Parallel && !o.Detached:
		out = media{mediaCMS.mime, it.media.ext}
		opts.MimeType = ""
		var d *cades.Draft
		if d, err = cades.Parallel(it.src, nil, opts); err == nil {
			src, err = m.finish(d)
		}
	case o.Counter:
		return nil, &refusal{number: fault.NotSignable, text: "only a signed file (.p7m) can be counter-signed"}
	default:
		if o.Detached {
			out = media{"application/pkcs7-signature", "p7s"}
			detached = append(detached, ades.File{Source: it.src})
		}
		var d *cades.Draft
		if d, err = cades.Prepare(it.src, opts); err == nil {
			src, err = m.finish(d)
		}
	}
	if err != nil {
		return nil, err
	}
	if src, err = m.raised(ctx, src, cades.Augment, detached...); err != nil {
		return nil, err
	}
	doc, err := cades.Read(ctx, src, ades.ReadOptions{Detached: detached})
	if err != nil {
		return nil, fmt.Errorf("read the signed document: %w", err)
	}
	return m.verified(src, out, doc, cades.Level)
}

// counterSign signs every signature of a file, one after the other.
func (m *maker) counterSign(ctx context.Context, src ades.Source, opts cades.Options) (ades.Source, error) {
	doc, err := cades.Read(ctx, src, ades.ReadOptions{})
	if err != nil {
		return nil, err
	}
	for i := range doc.Signatures {
		again, err := cades.Read(ctx, src, ades.ReadOptions{})
		if err != nil {
			return nil, err
		}
		d, err := cades.Counter(src, again.Signatures[i].ID, opts)
		if err != nil {
			return nil, err
		}
		if src, err = m.finish(d); err != nil {
			return nil, err
		}
	}
	return src, nil
}

var xadesPackaging = map[string]xades.Packaging{
	"": xades.ByContent, "enveloped": xades.Enveloped, "enveloping": xades.Enveloping, "detached": xades.Detached,
	"internally-detached": xades.InternallyDetached, "attached": xades.ByContent,
}

func (m *maker) xades(ctx context.Context, it *item) (*made, error) {
	o := &m.record.Options
	file := ades.File{Name: entryName(it.index, it.label, it.media.ext), Source: it.src}
	opts := xades.Options{
		SignParams: m.signing, Packaging: xadesPackaging[o.Packaging], SignatureID: o.SignatureID, SignElement: o.SignElement,
		XPathQuery: o.XPathQuery, KeepSignatures: o.KeepSignatures, MimeTypes: map[string]string{file.Name: it.media.mime},
	}
	d, err := xades.Prepare([]ades.File{file}, opts)
	if err != nil {
		return nil, err
	}
	src, err := m.finish(d)
	if err != nil {
		return nil, err
	}
	var detached []ades.File
	if o.Detached {
		detached = []ades.File{file}
	}
	if src, err = m.raised(ctx, src, xades.Augment, detached...); err != nil {
		return nil, err
	}
	doc, err := xades.Read(ctx, src, ades.ReadOptions{Detached: detached})
	if err != nil {
		return nil, fmt.Errorf("read the signed document: %w", err)
	}
	return m.verified(src, mediaXML, doc, xades.Level)
}

func (m *maker) asic(ctx context.Context, it *item) (*made, error) {
	o := &m.record.Options
	files := it.files
	if files == nil {
		files = []ades.File{{Name: entryName(it.index, it.label, it.media.ext), Source: it.src}}
	}
	opts := asic.Options{SignParams: m.signing, Simple: o.Packaging == "asic-s", CAdES: it.format == "cades"}
	out := media{asic.MimeE, "asice"}
	if opts.Simple {
		out = media{asic.MimeS, "asics"}
	}
	d, err := asic.Prepare(files, opts)
	if err != nil {
		return nil, err
	}
	src, err := m.finish(d)
	if err != nil {
		return nil, err
	}
	if src, err = m.raised(ctx, src, asic.Augment); err != nil {
		return nil, err
	}
	doc, err := asic.Read(ctx, src, ades.ReadOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the signed document: %w", err)
	}
	return m.verified(src, out, doc, asic.Level)
}

func (m *maker) pkcs1(ctx context.Context, it *item) (*made, error) {
	opts := pkcs1.Options{SignParams: m.signing}
	var d *pkcs1.Draft
	var err error
	if it.digest != nil {
		d, err = pkcs1.PrepareDigest(it.digest, opts)
	} else {
		d, err = pkcs1.Prepare(it.src, opts)
	}
	if err != nil {
		return nil, unsignable(it.index, err)
	}
	src, err := m.finish(d)
	if err != nil {
		return nil, err
	}
	out := &made{src: src, media: media{mediaBin.mime, it.media.ext + ".sig"}}
	if it.digest != nil {
		out.media.ext = "sig"
		doc, err := pkcs1.Read(ctx, src, ades.ReadOptions{}, opts)
		if err != nil {
			return nil, fmt.Errorf("read the signature: %w", err)
		}
		out.doc, out.sig = doc, doc.Signatures[0]
		return out, checkSignature(m.signing.Certificate, m.signing.Digest(), d.Digest(), out.sig.Value)
	}
	doc, err := pkcs1.Read(ctx, src, ades.ReadOptions{Detached: []ades.File{{Source: it.src}}}, opts)
	if err != nil {
		return nil, fmt.Errorf("read the signature: %w", err)
	}
	if len(doc.Signatures) != 1 || doc.Signatures[0].ValueIntact != ades.Yes {
		return nil, errBroken
	}
	out.doc, out.sig = doc, doc.Signatures[0]
	return out, nil
}
