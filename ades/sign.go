package ades

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// SignParams says who signs, with which algorithms, and when. Every format's Prepare takes it
// beside the format's own options.
type SignParams struct {
	// Certificate of the signer; required.
	Certificate *x509.Certificate
	// Chain of issuers to include, issuers after their subjects.
	Chain []*x509.Certificate
	// Hash of content and signature; zero means SHA-256.
	Hash crypto.Hash
	// PSS selects RSASSA-PSS if the key is RSA.
	PSS bool
	// Time is the claimed signing time; required, since formats read no clock.
	Time time.Time
	// Commitments are object identifiers of commitment types. [Commitment] returns those of named
	// ones.
	Commitments []string
}

// Digest is the hash in use, SHA-256 by default.
func (s SignParams) Digest() crypto.Hash { return cmp.Or(s.Hash, crypto.SHA256) }

// Draft is a document that lacks only its signature value, which may come from a remote key or
// after a person has confirmed it.
type Draft interface {
	// ToBeSigned returns what the signature is over (signed attributes, SignedInfo).
	ToBeSigned() []byte
	// Digest returns the digest of ToBeSigned, the input of an RSA or ECDSA key.
	Digest() []byte
	// Value signs the draft with a local key.
	Value(key crypto.Signer) ([]byte, error)
	// Finish writes the signed document. ECDSA values are DER, as made by crypto.Signer.
	Finish(w io.Writer, value []byte) error
}

// Value signs with the algorithm of the parameters: the digest, or the message itself if the
// algorithm requires it (Ed25519). Drafts call it, and so do callers that sign a digest made
// elsewhere.
func Value(key crypto.Signer, s SignParams, message, digest []byte) ([]byte, error) {
	switch key.Public().(type) {
	case ed25519.PublicKey:
		return key.Sign(rand.Reader, message, crypto.Hash(0))
	case *rsa.PublicKey:
		if s.PSS {
			opts := &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: s.Digest()}
			return key.Sign(rand.Reader, digest, opts)
		}
	}
	return key.Sign(rand.Reader, digest, s.Digest())
}

// Stamper obtains an RFC 3161 token over a digest. It checks the token's imprint, nonce and
// signature.
type Stamper interface {
	Stamp(ctx context.Context, hash crypto.Hash, digest []byte) (token []byte, err error)
}

// Gatherer finds what is needed to validate certificates in the far future: the chain of each up to
// an anchor, and revocation data for every certificate below it, including the responders' own.
type Gatherer interface {
	// Gather takes the certificates to prove (signers, time-stamping units) and the data that the
	// document already carries. It returns a *MissingError if a chain or revocation data cannot be
	// obtained.
	Gather(ctx context.Context, leaves [][]byte, carried Bundle) (Bundle, error)
}

// Bundle is validation data: certificates, OCSP responses (whole
// OCSPResponse structures) and CRLs, all DER.
type Bundle struct {
	Certificates [][]byte
	OCSPs        [][]byte
	CRLs         [][]byte
}

// Add appends evidence by its kind.
func (b *Bundle) Add(list ...Evidence) {
	for _, e := range list {
		switch e.Kind {
		case EvidenceCertificate:
			b.Certificates = append(b.Certificates, e.Raw)
		case EvidenceOCSP:
			b.OCSPs = append(b.OCSPs, e.Raw)
		case EvidenceCRL:
			b.CRLs = append(b.CRLs, e.Raw)
		}
	}
}

// AugmentOptions says how far to raise a signature, and with which services.
type AugmentOptions struct {
	Level    Level
	Stamper  Stamper  // required from T on
	Gatherer Gatherer // required from LT on
	// Hash of the time-stamps; zero means SHA-256.
	Hash crypto.Hash
	// Detached content, if the signature does not carry it.
	Detached []File
	// Password of an encrypted document.
	Password string
	// VRI also stores the validation data of a PDF per signature, which some viewers require ("LTV
	// enabled"); baseline levels do not need it.
	VRI bool
	// Time of the change, if the format records one.
	Time time.Time
}

// Digest is the hash of the time-stamps, SHA-256 by default.
func (r AugmentOptions) Digest() crypto.Hash { return cmp.Or(r.Hash, crypto.SHA256) }

// MissingError lists the certificates for which data could not be obtained.
type MissingError struct {
	Missing []Missing
}

// Missing says what one certificate lacks, and why.
type Missing struct {
	Subject string // distinguished name
	Lacks   string // "issuer certificate", "revocation data"
	Reason  string // "http://…: connection refused"
}

func (e *MissingError) Error() string {
	parts := make([]string, len(e.Missing))
	for i, m := range e.Missing {
		parts[i] = fmt.Sprintf("%s lacks %s (%s)", m.Subject, m.Lacks, m.Reason)
	}
	return "validation data missing: " + strings.Join(parts, "; ")
}

// ReadOptions is what a reader is given beside the document itself.
type ReadOptions struct {
	Detached []File
	Password string
	// Certificates (DER) known from elsewhere. CMS readers look for the signer's own among them if
	// the document does not carry it.
	Certificates [][]byte
	// Bare has the certificate, hash and algorithm of a bare signature value (PKCS1), which does
	// not identify them itself.
	Bare *SignParams
	// Expect names the part of the document that the caller relies on.
	Expect Expectation
}

// Expectation is what a caller relies on in a document; the zero value means all of it.
type Expectation struct {
	// Element of an XML document: an Id, or an XPath that selects one element.
	Element string
	// File of a container, by name.
	File string
}

// Errors that every format may return.
var (
	ErrPassword = errors.New("wrong or missing password")
	ErrNotFound = errors.New("not found")
)
