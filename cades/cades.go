// Package cades makes and reads CAdES signatures (EN 319 122-1): CMS
// SignedData with the attributes that bind the signer's certificate, and, from
// level T on, time-stamps and validation data.
//
// Most callers want [Prepare] with a document, who signs ([ades.SignParams])
// and [Options], have the digest signed, and call Finish on the [Draft]. [PrepareDigest] does the same where
// only a digest is at hand (a PDF's byte range, a document that stays at
// home), [Parallel] adds a signer to an existing file and [Counter] signs a
// signature. [Augment] raises a file to T, LT or LTA, again and again; [Read]
// states everything that can be found out about a file without a clock, a
// network or an opinion.
//
// Made are the baseline levels with archive-time-stamp-v3 and
// ats-hash-index-v3. Read are also the older forms: C, X, XL, A with
// archive-time-stamp and archive-time-stamp-v2.
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

// Options are what CAdES has to choose from; the zero value carries the content.
type Options struct {
	// Detached leaves the content out of the file.
	Detached bool
	// Embedded makes the CMS for another container that records the signing
	// time itself: a PDF (EN 319 142-1). It has no signing-time attribute and
	// is always detached.
	Embedded bool
	// MimeType of the content for the mime-type attribute; empty for none.
	MimeType string
	// Policy makes the signature one under a policy (EPES); nil for none.
	Policy *ades.SignaturePolicy
	// ContentTimestamps are tokens over the content, taken before signing.
	ContentTimestamps [][]byte
}

// settings are all that a signature is made with.
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

// isRoot: a self-issued root proves nothing by being carried at level B.
func isRoot(c *x509.Certificate) bool {
	return c.IsCA && bytes.Equal(c.RawSubject, c.RawIssuer) &&
		(len(c.AuthorityKeyId) == 0 || bytes.Equal(c.AuthorityKeyId, c.SubjectKeyId))
}
