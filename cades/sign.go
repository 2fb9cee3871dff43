package cades

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

// Draft is a signature that lacks only its value. It implements [ades.Draft].
type Draft struct {
	opts   settings
	attrs  []byte // SET OF signed attributes
	digest []byte
	base   *cms.SignedData
	place  func(sd *cms.SignedData, signer *cms.SignerInfo) error
}

// Prepare makes the draft of a signature over a document. It reads the document for its digest;
// Finish reads it again unless the signature is detached.
func Prepare(ctx context.Context, src ades.Source, p ades.SignParams, opts Options) (*Draft, error) {
	o := settings{p, opts}
	if err := o.check(); err != nil {
		return nil, err
	}
	digest, err := cms.Digest(cms.HashFor(o.SignParams), src)
	if err != nil {
		return nil, fmt.Errorf("cades: digest content: %w", err)
	}
	sd := &cms.SignedData{ContentType: oid.Data}
	if !o.Detached && !o.Embedded {
		sd.Content = src
	}
	return draft(ctx, sd, oid.Data, digest, o)
}

// PrepareDigest makes the draft of a detached signature over content of which only the digest is
// known. Its hash is that of p (see [ades.SignParams.Digest]); of an Ed25519 key it is SHA-512.
func PrepareDigest(ctx context.Context, digest []byte, p ades.SignParams, opts Options) (*Draft, error) {
	o := settings{p, opts}
	if err := o.check(); err != nil {
		return nil, err
	}
	if h := cms.HashFor(o.SignParams); len(digest) != h.Size() {
		return nil, fmt.Errorf("cades: digest of %d bytes is not one of %v", len(digest), h)
	}
	return draft(ctx, &cms.SignedData{ContentType: oid.Data}, oid.Data, digest, o)
}

// Parallel makes the draft of one more signature beside those in a file. Existing signatures keep
// their bytes. content is needed if the file does not contain it.
func Parallel(ctx context.Context, src, content ades.Source, p ades.SignParams, opts Options) (*Draft, error) {
	o := settings{p, opts}
	if err := o.check(); err != nil {
		return nil, err
	}
	sd, err := open(src)
	if err != nil {
		return nil, err
	}
	if sd.Content != nil {
		content = sd.Content
	}
	if content == nil {
		return nil, errors.New("cades: the file does not carry the content, and it was not given")
	}
	if err := mayGrow(sd); err != nil {
		return nil, err
	}
	digest, err := cms.Digest(cms.HashFor(o.SignParams), content)
	if err != nil {
		return nil, fmt.Errorf("cades: digest content: %w", err)
	}
	return draft(ctx, sd, sd.ContentType, digest, o)
}

// Counter makes the draft of a counter-signature over the signature with the given id (see [Read]);
// an empty id means the only one.
func Counter(ctx context.Context, src ades.Source, id string, p ades.SignParams, opts Options) (*Draft, error) {
	o := settings{p, opts}
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.ContentStamper != nil {
		return nil, errors.New("cades: a counter-signature has no content to time-stamp")
	}
	sd, err := open(src)
	if err != nil {
		return nil, err
	}
	if err := mayGrow(sd); err != nil {
		return nil, err
	}
	at, err := find(sd, id)
	if err != nil {
		return nil, err
	}
	draft, err := draft(ctx, sd, "", oid.Sum(cms.HashFor(o.SignParams), sd.SignerInfos[at].Signature), o)
	if err != nil {
		return nil, err
	}
	draft.place = func(sd *cms.SignedData, signer *cms.SignerInfo) error {
		si, err := sd.SignerInfos[at].AddUnsigned(cms.NewAttribute(oid.AttrCounterSignature, signer.Raw))
		sd.SignerInfos[at] = si
		return err
	}
	return draft, nil
}

// open parses a file in any encoding of CMS.
func open(src ades.Source) (*cms.SignedData, error) {
	bin, err := cms.Unarmour(src)
	if err != nil {
		return nil, err
	}
	return cms.Parse(bin)
}

func find(sd *cms.SignedData, id string) (int, error) {
	if id == "" && len(sd.SignerInfos) == 1 {
		return 0, nil
	}
	at := slices.IndexFunc(sd.SignerInfos, func(si *cms.SignerInfo) bool { return cms.SignerID(si) == id })
	if at < 0 {
		return 0, fmt.Errorf("cades: signature %q: %w", id, ades.ErrNotFound)
	}
	return at, nil
}

// mayGrow returns an error if an archive time-stamp covers the certificates field as a whole
// (versions 1 and 2), so that no certificates can be added.
func mayGrow(sd *cms.SignedData) error {
	for _, si := range sd.SignerInfos {
		if len(si.Unsigned(oid.AttrArchiveTimestamp))+len(si.Unsigned(oid.AttrArchiveTimestampV2)) > 0 {
			return errors.New("cades: an archive-time-stamp-v2 in the file would no longer match")
		}
	}
	return nil
}

func draft(ctx context.Context, sd *cms.SignedData, contentType string, digest []byte, o settings) (*Draft, error) {
	var token []byte
	if o.ContentStamper != nil {
		var err error
		if token, err = o.ContentStamper.Stamp(ctx, cms.HashFor(o.SignParams), digest); err != nil {
			return nil, fmt.Errorf("cades: time-stamp of the content: %w", err)
		}
	}
	attrs, err := signedAttributes(o, contentType, digest, token)
	if err != nil {
		return nil, fmt.Errorf("cades: signed attributes: %w", err)
	}
	return &Draft{opts: o, attrs: attrs, digest: oid.Sum(cms.HashFor(o.SignParams), attrs), base: sd, place: appendSigner}, nil
}

func appendSigner(sd *cms.SignedData, signer *cms.SignerInfo) error {
	sd.SignerInfos = append(slices.Clip(sd.SignerInfos), signer)
	return nil
}

// ToBeSigned returns the DER encoding of the signed attributes.
func (d *Draft) ToBeSigned() []byte { return d.attrs }

// Digest returns the digest of ToBeSigned.
func (d *Draft) Digest() []byte { return d.digest }

// Value signs the draft with key.
func (d *Draft) Value(key crypto.Signer) ([]byte, error) {
	return ades.Value(key, d.opts.SignParams, d.attrs, d.digest)
}

// Finish writes the ContentInfo with the signature. It can be called again with another value.
func (d *Draft) Finish(w io.Writer, value []byte) error {
	alg, err := cms.SignatureAlgorithm(d.opts.Certificate.PublicKey, cms.HashFor(d.opts.SignParams), d.opts.PSS)
	if err != nil {
		return fmt.Errorf("cades: %w", err)
	}
	digestAlg := cms.DigestAlgorithm(cms.HashFor(d.opts.SignParams))
	// Writing needs only Raw, so the rest is not parsed.
	signer := &cms.SignerInfo{Version: 1, Raw: cms.NewSigner{
		Issuer: d.opts.Certificate.RawIssuer, Serial: cms.EncodeInteger(d.opts.Certificate.SerialNumber),
		DigestAlgorithm: digestAlg, SignedAttrs: d.attrs, SignatureAlgorithm: alg, Signature: value,
	}.Encode()}
	sd := *d.base
	sd.SignerInfos = slices.Clone(sd.SignerInfos)
	if err := sd.AddDigestAlgorithm(digestAlg); err != nil {
		return err
	}
	sd.AddCertificates(certificates(d.opts)...)
	if err := d.place(&sd, signer); err != nil {
		return fmt.Errorf("cades: %w", err)
	}
	_, err = sd.WriteTo(w)
	return err
}
