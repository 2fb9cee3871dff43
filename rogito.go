// Package rogito signs documents and verifies signed ones, by the European
// standards for advanced electronic signatures: CAdES (EN 319 122), PAdES
// (EN 319 142), XAdES (EN 319 132), JAdES (TS 119 182), ASiC (EN 319 162), at the
// levels B, T, LT and LTA, validated by EN 319 102-1.
//
// [Sign] makes a signature with a key at hand, for instance from a PKCS#12
// file that [LoadPKCS12] opened. Where the key lives elsewhere, or a person
// stands between digest and value, [Prepare] and [Draft.Complete] are its two
// halves. [Augment] raises what is signed already. A [Verifier] verifies;
// [Read] only tells what is in a document.
//
// The formats can be used on their own: packages cades, pades, xades, jades, asic
// and pkcs1 have the same verbs with every option of their format. Package tsp
// speaks to time-stamping authorities, trust gathers paths and revocation data,
// tsl reads the European trusted lists, policy judges, and adestest is a whole
// PKI for tests.
//
// Documents come in as [ades.Source] and go out to an io.Writer: a gigabyte
// never has to sit in memory.
package rogito

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/keyfile"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
)

// Input is what is to be signed: one file, several for the formats that sign
// several at once, or a digest alone.
type Input struct {
	Files []ades.File
	// Digest, in place of files, of a document that stays where it is: made with
	// the hash of the options. It is signed as detached CAdES or PKCS1.
	Digest []byte
}

// File is one file to be signed.
func File(name string, src ades.Source) Input {
	return Input{Files: []ades.File{{Name: name, Source: src}}}
}

// only refuses several files where a format signs one.
func (in Input) only() (ades.Source, error) {
	switch {
	case in.Digest != nil:
		return nil, errDigest
	case len(in.Files) != 1:
		return nil, errors.New("this format signs one file at a time")
	}
	return in.Files[0].Source, nil
}

// paying is the same input for a look at what it is, which is paid for out of
// the budget of the context.
func (in Input) paying(ctx context.Context) Input {
	files := make([]ades.File, len(in.Files))
	for i, f := range in.Files {
		files[i] = ades.File{Name: f.Name, Source: limits.Paying(f.Source, limits.BudgetOf(ctx))}
	}
	return Input{Files: files, Digest: in.Digest}
}

// Identity is a private key with its certificate and those above it.
type Identity struct {
	Key         crypto.Signer
	Certificate *x509.Certificate
	Chain       []*x509.Certificate
}

// ErrKeyPassword says that the password does not open a key file.
var ErrKeyPassword = keyfile.ErrPassword

// LoadPKCS12 opens a PKCS#12 file (RFC 7292), in DER or BER, with the
// encryption of its own time or of today. It returns ErrKeyPassword for a wrong
// password; of several keys it takes the one that alone has a certificate.
func LoadPKCS12(file []byte, password string) (*Identity, error) {
	c, err := keyfile.Read(file, password)
	if err != nil {
		return nil, err
	}
	return &Identity{Key: c.Key, Certificate: c.Certificate, Chain: c.Chain}, nil
}

// Kind is what a file is, by its content.
type Kind string

// The kinds of files that can carry signatures, and the others.
const (
	KindPDF             Kind = "PDF"
	KindXML             Kind = "XML"
	KindCMS             Kind = "CMS"             // DER, BER, PEM or base64
	KindTimestamp       Kind = "TST"             // a time-stamp token or response
	KindTimestampedData Kind = "TimeStampedData" // RFC 5544, or a MIME message with a token
	KindSMIME           Kind = "S/MIME"          // a signed message
	KindJWS             Kind = "JWS"             // a JSON Web Signature, in any of its forms
	KindASiC            Kind = "ASiC"
	KindODF             Kind = "ODF"
	KindOOXML           Kind = "OOXML"
	KindZIP             Kind = "ZIP"        // and none of those above
	KindNotJudged       Kind = "not judged" // signed in a way that is not read here
	KindOther           Kind = ""
)

// Detect tells what a file is by its content; names and media types are not
// looked at, since they are often wrong.
func Detect(src ades.Source) Kind {
	kind := kindOf(src)
	switch kind {
	case KindOther:
		if named(src) != "" {
			return KindNotJudged
		}
	case KindZIP:
		switch f, ok := asic.Detect(src); {
		case named(src) != "":
			return KindNotJudged
		case ok && f == ades.ODF:
			return KindODF
		case ok && f == ades.OOXML:
			return KindOOXML
		case ok:
			return KindASiC
		}
	case KindCMS:
		bin, err := cms.Unarmour(src)
		if err != nil {
			return kind
		}
		if sd, err := cms.Parse(bin); err == nil && sd.ContentType == oid.TSTInfo {
			return KindTimestamp
		}
	}
	return kind
}
