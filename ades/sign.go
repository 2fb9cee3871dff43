package ades

import (
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

// SignParams says who signs, with which algorithms, and when. Every format is
// prepared with it, and with options of its own beside it.
type SignParams struct {
	// Certificate of the signer; required.
	Certificate *x509.Certificate
	// Chain to be carried beside it, issuers after their subjects.
	Chain []*x509.Certificate
	// Hash for content and signature; zero means SHA-256.
	Hash crypto.Hash
	// PSS asks for RSASSA-PSS where the key is RSA.
	PSS bool
	// Time is the claimed signing time; required, since formats read no clock.
	Time time.Time
	// Commitments say what the signer means by signing: object identifiers of
	// commitment types, dotted. [Commitment] has those that have a name.
	Commitments []string
}

// Digest is the hash in use: SHA-256 unless another was asked for.
func (s SignParams) Digest() crypto.Hash {
	if s.Hash == 0 {
		return crypto.SHA256
	}
	return s.Hash
}

// Draft is a document that wants only its signature value. A person with a
// one-time password, or a key that lives elsewhere, may stand between the
// draft and its end.
type Draft interface {
	// ToBeSigned is what the signature is over (signed attributes, SignedInfo).
	ToBeSigned() []byte
	// Digest of ToBeSigned: what an RSA or ECDSA key is given.
	Digest() []byte
	// Value has a key that is at hand sign the draft.
	Value(key crypto.Signer) ([]byte, error)
	// Finish writes the signed document. ECDSA values come as DER, as
	// crypto.Signer makes them.
	Finish(w io.Writer, value []byte) error
}

// Value has a key sign in the way that the parameters ask for: the digest, or
// the message itself where the algorithm takes nothing else (Ed25519). Drafts
// call it; so does whoever holds a key and got a digest from elsewhere.
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

// Stamper obtains an RFC 3161 token over a digest. What it returns has been
// checked: imprint, nonce, signature.
type Stamper interface {
	Stamp(ctx context.Context, hash crypto.Hash, digest []byte) (token []byte, err error)
}

// Gatherer finds what is needed to validate certificates in the far future:
// the chain of each up to an anchor, and revocation data for every certificate
// below it, the responders' own included.
type Gatherer interface {
	// Gather is given the certificates to prove (signers, time-stamp units) and
	// whatever else the document carries. It returns a *MissingError when a
	// chain or revocation data cannot be had.
	Gather(ctx context.Context, leaves [][]byte, carried Bundle) (Bundle, error)
}

// Bundle is validation data: certificates, OCSP responses (whole
// OCSPResponse structures) and CRLs, all DER.
type Bundle struct {
	Certificates [][]byte
	OCSPs        [][]byte
	CRLs         [][]byte
}

// Add puts evidence in, by its kind.
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

// AugmentOptions says how far a signature is to be raised, and with whose help.
type AugmentOptions struct {
	Level    Level
	Stamper  Stamper  // required from T on
	Gatherer Gatherer // required from LT on
	// Hash of the time-stamps; zero means SHA-256.
	Hash crypto.Hash
	// Detached content, where the signature does not carry it.
	Detached []File
	// Password of an encrypted document.
	Password string
	// VRI files the validation data of a PDF under each signature as well,
	// which some viewers ask for ("LTV enabled"); baseline levels do without.
	VRI bool
	// Time of the change, where the format records one.
	Time time.Time
}

// Digest is the hash of the time-stamps: SHA-256 unless another was asked for.
func (r AugmentOptions) Digest() crypto.Hash {
	if r.Hash == 0 {
		return crypto.SHA256
	}
	return r.Hash
}

// MissingError names every certificate for which something could not be had.
type MissingError struct {
	Missing []Missing
}

// Missing says what one certificate lacks and why.
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

// ReadOptions is what a reader may be told beside the document itself.
type ReadOptions struct {
	Detached []File
	Password string
	// Certificates (DER) that are known anyway. A signer's own is looked for
	// among them where the document does not carry it; CMS readers do.
	Certificates [][]byte
	// Bare says with what certificate, hash and algorithm a bare signature value
	// (PKCS1) should be made: it does not tell by itself.
	Bare *SignParams
	// Expect names what counts for the caller where a signature may cover only
	// a part of the document.
	Expect Expectation
}

// Expectation is what a caller relies on in a document; the zero value means
// all of it.
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
