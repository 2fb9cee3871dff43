// Package rogito creates and verifies electronic signatures by the European standards for advanced
// electronic signatures: CAdES (EN 319 122), PAdES (EN 319 142), XAdES (EN 319 132), JAdES (TS 119
// 182), ASiC (EN 319 162), at the levels B, T, LT and LTA, validated by EN 319 102-1.
//
// [Sign] signs with a local key, for instance from a PKCS#12 file opened by [LoadPKCS12]. If the
// key is elsewhere, or a person has to confirm its use, [Prepare] and [Draft.Complete] are the two
// halves of Sign. [Augment] raises the level of existing signatures. A [Verifier] verifies; [Read]
// only reports what a document contains.
//
// The formats can be used on their own: packages cades, pades, xades, jades, asic and pkcs1 have
// the same functions, with every option of their format. Package tsp talks to time-stamping
// authorities, trust builds paths and fetches revocation data, tsl reads the European trusted
// lists, policy judges, and adestest is a complete PKI for tests.
//
// Documents are read from an [ades.Source] and written to an io.Writer, so that large ones need not
// fit in memory.
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

// Input is what to sign: one file, several for the formats that sign several at once, or only a
// digest.
type Input struct {
	Files []ades.File
	// Digest of a document that is not given, instead of Files: made with the hash of the options.
	// It is signed as detached CAdES or PKCS1.
	Digest []byte
}

// File returns an Input of one file.
func File(name string, src ades.Source) Input {
	return Input{Files: []ades.File{{Name: name, Source: src}}}
}

// single returns the single file of the input, and an error if there are several.
func (in Input) single() (ades.Source, error) {
	switch {
	case in.Digest != nil:
		return nil, errDigest
	case len(in.Files) != 1:
		return nil, errors.New("this format signs one file at a time")
	}
	return in.Files[0].Source, nil
}

// metered returns the same input with reads charged to the budget of the context.
func (in Input) metered(ctx context.Context) Input {
	files := make([]ades.File, len(in.Files))
	for i, f := range in.Files {
		files[i] = ades.File{Name: f.Name, Source: limits.Paying(f.Source, limits.BudgetOf(ctx))}
	}
	return Input{Files: files, Digest: in.Digest}
}

// Identity is a private key with its certificate and the issuers' certificates.
type Identity struct {
	Key         crypto.Signer
	Certificate *x509.Certificate
	Chain       []*x509.Certificate
}

// ErrKeyPassword means that the password does not open the key file.
var ErrKeyPassword = keyfile.ErrPassword

// LoadPKCS12 opens a PKCS#12 file (RFC 7292), in DER or BER, with legacy or current encryption. It
// returns ErrKeyPassword for a wrong password. If there are several keys, exactly one must have a
// certificate.
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
	KindZIP             Kind = "ZIP"        // that is none of the above
	KindNotJudged       Kind = "not judged" // signed in a way that is not read here
	KindOther           Kind = ""
)

// Detect returns the kind of a file by its content. Names and media types are ignored, since they
// are often wrong.
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
