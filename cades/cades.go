// Package cades creates and reads CAdES signatures (EN 319 122-1): CMS SignedData with attributes
// that bind the signer's certificate, and, from level T on, time-stamps and validation data.
//
// Most callers call [Prepare] with a document, the signer's parameters ([ades.SignParams]) and
// [Options], have the digest signed, and call Finish on the [Draft]. [PrepareDigest] does the same
// if only a digest is available (a PDF's byte range, or a document that is kept elsewhere),
// [Parallel] adds a signer to an existing file and [Counter] signs a signature. [Augment] raises a
// file to T, LT or LTA, any number of times; [Read] returns all facts about a file, without a
// clock, network access or judgement.
//
// It creates the baseline levels with archive-time-stamp-v3 and ats-hash-index-v3. It also reads
// the older forms: C, X, XL, A with archive-time-stamp and archive-time-stamp-v2.
package cades

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

// Options of CAdES; the zero value includes the content.
type Options struct {
	// Detached leaves the content out of the file.
	Detached bool
	// Embedded makes the CMS for another container that records the signing time itself: a PDF (EN
	// 319 142-1). It has no signing-time attribute and is always detached.
	Embedded bool
	// MediaType of the content for the mime-type attribute; empty for none.
	MediaType string
	// Policy of the signature (EPES); nil for none.
	Policy *ades.SignaturePolicy
	// ContentStamper time-stamps the content before it is signed; nil for none. A counter-signature
	// has no content.
	ContentStamper ades.Stamper
}

// settings are all parameters of a signature.
type settings struct {
	ades.SignParams
	Options
}

func (o settings) check() error {
	if o.Certificate == nil {
		return errors.New("cades: no signing certificate")
	}
	if o.Time.IsZero() && !o.Embedded {
		return errors.New("cades: no signing time")
	}
	if err := oid.CheckHash(cms.HashFor(o.SignParams)); err != nil {
		return fmt.Errorf("cades: %w", err)
	}
	if o.Policy != nil && !oid.Valid(o.Policy.ID) {
		return errors.New("cades: policy identifier is not an object identifier")
	}
	for _, c := range o.Commitments {
		if !oid.Valid(c) {
			return errors.New("cades: commitment type is not an object identifier")
		}
	}
	return nil
}

func certificates(o settings) [][]byte {
	out := [][]byte{o.Certificate.Raw}
	for _, c := range o.Chain {
		if !c.Equal(o.Certificate) && !isRoot(c) {
			out = append(out, c.Raw)
		}
	}
	return out
}

// isRoot reports whether c is a self-issued root, which is of no use in a signature at level B.
func isRoot(c *x509.Certificate) bool {
	return c.IsCA && bytes.Equal(c.RawSubject, c.RawIssuer) &&
		(len(c.AuthorityKeyId) == 0 || bytes.Equal(c.AuthorityKeyId, c.SubjectKeyId))
}
