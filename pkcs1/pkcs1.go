// Package pkcs1 creates and checks bare signature values: RSA PKCS #1 v1.5 or PSS (RFC 8017), ECDSA
// in DER, Ed25519, over a document or over a given digest. Such a signature has no container, no
// time and no certificate, and therefore no level above B.
package pkcs1

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// maxMessage is the largest document for Ed25519, which needs all of it in memory.
const maxMessage = 64 << 20

// maxValue is the largest signature value read.
const maxValue = 16 << 10

// Draft is a value to be made. It implements [ades.Draft].
type Draft struct {
	params  ades.SignParams
	message []byte // for Ed25519 only
	digest  []byte
}

// Prepare makes the draft of a value over a document.
func Prepare(_ context.Context, src ades.Source, p ades.SignParams) (*Draft, error) {
	if p.Certificate == nil {
		return nil, errors.New("pkcs1: no signing certificate")
	}
	if err := oid.CheckHash(p.Digest()); err != nil {
		return nil, fmt.Errorf("pkcs1: %w", err)
	}
	digest, err := cms.Digest(p.Digest(), src)
	if err != nil {
		return nil, fmt.Errorf("pkcs1: digest document: %w", err)
	}
	d := &Draft{params: p, digest: digest}
	if _, ok := p.Certificate.PublicKey.(ed25519.PublicKey); ok {
		if d.message, err = whole(src); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func whole(src ades.Source) ([]byte, error) {
	if src.Size() > maxMessage {
		return nil, fmt.Errorf("pkcs1: document of %d bytes is too large for Ed25519", src.Size())
	}
	return io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
}

// PrepareDigest makes the draft of a value over a digest.
func PrepareDigest(_ context.Context, digest []byte, p ades.SignParams) (*Draft, error) {
	if p.Certificate == nil {
		return nil, errors.New("pkcs1: no signing certificate")
	}
	if _, ok := p.Certificate.PublicKey.(ed25519.PublicKey); ok {
		return nil, errors.New("pkcs1: Ed25519 signs documents, not digests")
	}
	if err := oid.CheckHash(p.Digest()); err != nil {
		return nil, fmt.Errorf("pkcs1: %w", err)
	}
	if len(digest) != p.Digest().Size() {
		return nil, fmt.Errorf("pkcs1: digest of %d bytes is not one of %v", len(digest), p.Digest())
	}
	return &Draft{params: p, digest: digest}, nil
}

// ToBeSigned returns the document for Ed25519, which needs it whole. For all other keys it is nil:
// they sign the digest.
func (d *Draft) ToBeSigned() []byte { return d.message }

// Digest returns the digest of the document.
func (d *Draft) Digest() []byte { return d.digest }

// Value signs the draft with key.
func (d *Draft) Value(key crypto.Signer) ([]byte, error) {
	return ades.Value(key, d.params, d.message, d.digest)
}

// Finish writes the bare value.
func (d *Draft) Finish(w io.Writer, value []byte) error {
	_, err := w.Write(value)
	return err
}

// Read checks a bare value, binary or base64, over the first detached file. [ades.ReadOptions].Bare
// has its certificate and algorithm; the time is not used.
func Read(_ context.Context, src ades.Source, r ades.ReadOptions) (*ades.Document, error) {
	if r.Bare == nil || r.Bare.Certificate == nil {
		return nil, errors.New("pkcs1: no signing certificate")
	}
	p := r.Bare
	value, err := readValue(src)
	if err != nil {
		return nil, err
	}
	scheme, err := cms.Scheme(p.Certificate.PublicKey, p.Digest(), p.PSS)
	if err != nil {
		return nil, fmt.Errorf("pkcs1: %w", err)
	}
	s := &ades.Signature{
		ID: ades.FactID(value), Format: ades.PKCS1, Value: value, SigningCertificate: p.Certificate.Raw,
		Algorithm: scheme.Algorithm(p.Certificate.PublicKey), ContentIsWhole: true, Content: r.Detached,
	}
	ref := ades.Reference{Kind: "content", Digest: pkix.HashName(p.Digest()), Found: len(r.Detached) > 0}
	if ref.Found {
		if err := check(s, scheme, r.Detached[0].Source, p.Certificate.PublicKey); err != nil {
			return nil, err
		}
		ref.Name, ref.Intact = r.Detached[0].Name, s.ValueIntact
	}
	s.References = []ades.Reference{ref}
	return &ades.Document{Format: ades.PKCS1, Signatures: []*ades.Signature{s}}, nil
}

func check(s *ades.Signature, scheme pkix.Scheme, src ades.Source, key crypto.PublicKey) error {
	var err error
	if scheme.Hash == 0 {
		message, rerr := whole(src)
		if rerr != nil {
			return rerr
		}
		err = scheme.Verify(key, message, s.Value)
	} else {
		digest, derr := cms.Digest(scheme.Hash, src)
		if derr != nil {
			return fmt.Errorf("pkcs1: digest document: %w", derr)
		}
		err = scheme.VerifyDigest(key, digest, s.Value)
	}
	if !errors.Is(err, pkix.ErrUnsupported) {
		s.ValueIntact = ades.TriOf(err == nil)
	}
	return nil
}

func readValue(src ades.Source) ([]byte, error) {
	if src.Size() == 0 || src.Size() > maxValue {
		return nil, ades.Malformed("PKCS1", "", "%d bytes are not a signature value", src.Size())
	}
	b, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return nil, err
	}
	if out, ok := decodeBase64(b); ok {
		return out, nil
	}
	return b, nil
}
