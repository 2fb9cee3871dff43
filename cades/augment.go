package cades

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/tsp"
)

// Augment raises every signature in a file to a level and writes the new file. T adds a signature
// time-stamp if there is none; LT adds the validation data of every chain; LTA adds another archive
// time-stamp each time. Existing data keeps its bytes. Augment refuses a file with a signature that
// does not verify.
func Augment(ctx context.Context, src ades.Source, w io.Writer, r ades.AugmentOptions) error {
	a, err := openAugmenter(src, r)
	if err != nil {
		return err
	}
	if err := a.intact(); err != nil {
		return err
	}
	steps := []struct {
		from ades.Level
		do   func(context.Context) error
	}{{ades.LevelT, a.stampSignatures}, {ades.LevelLT, a.addValidationData}, {ades.LevelLTA, a.stampArchives}}
	for _, s := range steps {
		if r.Level < s.from {
			break
		}
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("cades: %w", err)
		}
	}
	_, err = a.sd.WriteTo(w)
	return err
}

// augmenter is a file being augmented.
type augmenter struct {
	sd     *cms.SignedData
	in     surroundings
	r      ades.AugmentOptions
	signed []*ades.Signature // facts before the changes
}

func openAugmenter(src ades.Source, r ades.AugmentOptions) (*augmenter, error) {
	if err := oid.CheckHash(r.Digest()); err != nil {
		return nil, fmt.Errorf("cades: %w", err)
	}
	if r.Level >= ades.LevelT && r.Stamper == nil {
		return nil, errors.New("cades: no time-stamping authority")
	}
	if r.Level >= ades.LevelLT && r.Gatherer == nil {
		return nil, errors.New("cades: no source of validation data")
	}
	sd, err := open(src)
	if err != nil {
		return nil, err
	}
	if len(sd.SignerInfos) == 0 {
		return nil, ades.Malformed("CMS", "SignedData/signerInfos", "no signature")
	}
	a := &augmenter{sd: sd, r: r, in: surroundings{content: sd.Content}}
	if sd.Content == nil && len(r.Detached) > 0 {
		chosen, err := choose(sd, r.Detached)
		if err != nil {
			return nil, err
		}
		a.in.content = r.Detached[chosen].Source
	}
	a.in.digest = cms.OfSource(a.in.content)
	return a, nil
}

// intact returns an error if a signature is broken: a time-stamp would make it look valid.
func (a *augmenter) intact() error {
	var err error
	if a.signed, err = readSignedData(a.sd, a.in); err != nil {
		return err
	}
	for _, s := range a.signed {
		if s.Intact() == ades.No {
			return fmt.Errorf("cades: %s does not verify", s.Path)
		}
	}
	return nil
}

func (a *augmenter) stamp(ctx context.Context, digest []byte) ([]byte, error) {
	token, err := a.r.Stamper.Stamp(ctx, a.r.Digest(), digest)
	if err != nil {
		return nil, fmt.Errorf("time-stamp: %w", err)
	}
	return token, nil
}

// stampSignatures adds a signature time-stamp to the signers without one.
func (a *augmenter) stampSignatures(ctx context.Context) error {
	for i, si := range a.sd.SignerInfos {
		if len(si.Unsigned(oid.AttrSignatureTimestamp)) > 0 {
			continue
		}
		token, err := a.stamp(ctx, oid.Sum(a.r.Digest(), si.Signature))
		if err != nil {
			return err
		}
		if a.sd.SignerInfos[i], err = si.AddUnsigned(cms.NewAttribute(oid.AttrSignatureTimestamp, token)); err != nil {
			return err
		}
	}
	return nil
}

// addValidationData gathers certificates and revocation data for every chain.
func (a *augmenter) addValidationData(ctx context.Context) error {
	sigs, err := readSignedData(a.sd, a.in)
	if err != nil {
		return err
	}
	proving, err := leaves(sigs)
	if err != nil {
		return err
	}
	got, err := a.r.Gatherer.Gather(ctx, proving, bundleOf(sigs))
	if err != nil {
		return fmt.Errorf("validation data: %w", err)
	}
	if mayGrow(a.sd) == nil {
		a.sd.AddBundle(got)
		return nil
	}
	for i := range a.sd.SignerInfos {
		if err := a.addToToken(i, got); err != nil {
			return err
		}
	}
	return nil
}

// addToToken puts validation data into a signer's newest archive time-stamp. An
// archive-time-stamp-v2 covers the fields of the SignedData, which must therefore not change.
func (a *augmenter) addToToken(i int, b ades.Bundle) error {
	si := a.sd.SignerInfos[i]
	last := newestArchive(si)
	if last == nil {
		return errors.New("an archive-time-stamp-v2 of another signer covers the certificates")
	}
	token, err := cms.ParseBytes(last.token)
	if err != nil {
		return err
	}
	token.AddBundle(b)
	raw, err := token.Bytes()
	if err != nil {
		return err
	}
	var attrs [][]byte
	for _, at := range si.UnsignedAttrs {
		attrs = append(attrs, replaced(at, last.token, raw))
	}
	a.sd.SignerInfos[i], err = si.WithUnsigned(attrs)
	return err
}

// newestArchive is the latest archive time-stamp, or nil.
func newestArchive(si *cms.SignerInfo) *stamp {
	var last *stamp
	var at time.Time
	for _, st := range collect(si) {
		t, err := tsp.Parse(st.token)
		if rank(st.attr.OID) == 3 && err == nil && !t.Time.Before(at) {
			last, at = st, t.Time
		}
	}
	return last
}

// replaced returns an attribute with one of its values replaced.
func replaced(a cms.Attribute, old, with []byte) []byte {
	values, found := make([][]byte, len(a.Values)), false
	for i, v := range a.Values {
		values[i] = v
		if bytes.Equal(v, old) && rank(a.OID) == 3 {
			values[i], found = with, true
		}
	}
	if !found {
		return a.Raw
	}
	return cms.NewAttribute(a.OID, values...)
}

// stampArchives adds an archive-time-stamp-v3 to every signer.
func (a *augmenter) stampArchives(ctx context.Context) error {
	h := a.r.Digest()
	if a.in.digest == nil {
		return errors.New("the file does not carry the content, and it was not given")
	}
	content, err := a.in.digest(h)
	if err != nil {
		return err
	}
	for i, si := range a.sd.SignerInfos {
		index := newIndex(h, a.sd, si)
		token, err := a.stamp(ctx, imprintV3(h, a.sd, si, content, index))
		if err != nil {
			return err
		}
		if token, err = withIndex(token, index); err != nil {
			return err
		}
		if a.sd.SignerInfos[i], err = si.AddUnsigned(cms.NewAttribute(oid.AttrArchiveTimestampV3, token)); err != nil {
			return err
		}
	}
	return nil
}

// newIndex is the ats-hash-index-v3 over everything present.
func newIndex(h crypto.Hash, sd *cms.SignedData, si *cms.SignerInfo) []byte {
	x := hashIndex{hash: h}
	list := func(items [][]byte) []byte {
		var sums [][]byte
		for _, i := range items {
			sums = append(sums, cms.TLV(cms.TagOctetString, i))
		}
		return cms.TLV(cms.TagSequence, sums...)
	}
	var certs, revs, unsigns [][]byte
	for _, c := range sd.Certificates {
		certs = append(certs, x.sum(c))
	}
	for _, c := range sd.Revocations {
		revs = append(revs, x.sum(c))
	}
	for _, a := range si.UnsignedAttrs {
		for _, v := range a.Values {
			unsigns = append(unsigns, x.sum(a.Type, v))
		}
	}
	return cms.TLV(cms.TagSequence, cms.DigestAlgorithm(h), list(certs), list(revs), list(unsigns))
}

// withIndex adds the hash index to the token's unsigned attributes.
func withIndex(token, index []byte) ([]byte, error) {
	sd, err := cms.ParseBytes(token)
	if err != nil {
		return nil, err
	}
	if len(sd.SignerInfos) != 1 {
		return nil, ades.Malformed("TST", "SignedData/signerInfos", "not one signer")
	}
	if sd.SignerInfos[0], err = sd.SignerInfos[0].AddUnsigned(cms.NewAttribute(oid.AttrATSHashIndexV3, index)); err != nil {
		return nil, err
	}
	return sd.Bytes()
}

// leaves returns the certificates whose chains need validation data: signers, counter-signers, and
// the units of all their time-stamps. It is an error if one of them is not in the file.
func leaves(sigs []*ades.Signature) ([][]byte, error) {
	var out [][]byte
	for _, s := range sigs {
		if s.SigningCertificate == nil {
			return nil, fmt.Errorf("%s: signing certificate: %w", s.Path, ades.ErrNotFound)
		}
		out = append(out, s.SigningCertificate)
		for _, ts := range s.Timestamps {
			if ts.Signature == nil || ts.Signature.SigningCertificate == nil {
				return nil, fmt.Errorf("%s: certificate of the time-stamp: %w", ts.Path, ades.ErrNotFound)
			}
			out = append(out, ts.Signature.SigningCertificate)
		}
		inner, err := leaves(s.CounterSignatures)
		if err != nil {
			return nil, err
		}
		out = append(out, inner...)
	}
	return out, nil
}

// bundleOf returns all evidence carried by signatures and their time-stamps.
func bundleOf(sigs []*ades.Signature) ades.Bundle {
	var b ades.Bundle
	seen := map[string]bool{}
	add := func(list []ades.Evidence) {
		for _, e := range list {
			if seen[string(e.Raw)] {
				continue
			}
			seen[string(e.Raw)] = true
			b.Add(e)
		}
	}
	var walk func([]*ades.Signature)
	walk = func(list []*ades.Signature) {
		for _, s := range list {
			add(s.Evidence)
			for _, ts := range s.Timestamps {
				if ts.Signature != nil {
					add(ts.Signature.Evidence)
				}
			}
			walk(s.CounterSignatures)
		}
	}
	walk(sigs)
	return b
}
