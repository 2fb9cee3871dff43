// Package ades has the types that all signature formats share: documents, the facts found in them,
// the parameters of signing, and the small interfaces through which the formats obtain time-stamps
// and revocation data.
//
// The formats themselves are siblings with the same functions (Prepare, Finish, Augment, Read) in
// [rogito.dev/rogito/cades], [rogito.dev/rogito/pades], [rogito.dev/rogito/xades],
// [rogito.dev/rogito/jades], [rogito.dev/rogito/asic] and [rogito.dev/rogito/pkcs1]. None of them
// opens a socket, reads a clock or touches a disk: keys, time and evidence are arguments.
//
// Nothing here judges. Readers record facts; package policy draws conclusions.
package ades

import (
	"fmt"
	"io"
)

// Source is a document with random access, so that large ones need not fit in memory. *bytes.Reader
// and *io.SectionReader are Sources.
type Source interface {
	io.ReaderAt
	Size() int64
}

// File is a named source: a document to sign, or the content of a detached signature. The name may
// be empty if only one file is expected.
type File struct {
	Name   string
	Source Source
}

// Format is the family of a signature, or the outermost layer of a document, as spelled in the
// verification report.
type Format string

const (
	CAdES   Format = "CAdES"
	PAdES   Format = "PAdES"
	XAdES   Format = "XAdES"
	JAdES   Format = "JAdES" // every JSON Web Signature
	ASiCS   Format = "ASiC-S"
	ASiCE   Format = "ASiC-E"
	ODF     Format = "ODF"
	OOXML   Format = "OOXML"   // a document of Word, Excel or PowerPoint
	PKCS7   Format = "PKCS7"   // CMS without the attributes of CAdES
	XMLDSig Format = "XMLDSig" // XML signature without XAdES properties
	TST     Format = "TST"     // a time-stamp token on its own
	PKCS1   Format = "PKCS1"   // a bare signature value
	ZIP     Format = "ZIP"     // an archive that is not a signature container
	Mail    Format = "MAIL"    // a message that is not signed itself
)

// Level is a baseline level of EN 319 122, 132, 142 and 162, and of TS 119 182.
type Level int

const (
	LevelB Level = iota
	LevelT
	LevelLT
	LevelLTA
)

func (l Level) String() string {
	switch l {
	case LevelB:
		return "B"
	case LevelT:
		return "T"
	case LevelLT:
		return "LT"
	case LevelLTA:
		return "LTA"
	}
	return fmt.Sprintf("Level(%d)", int(l))
}

// Profile is what a signature conforms to.
type Profile struct {
	// Name as reports write it, and as EU DSS does: "PAdES-BASELINE-LT", "CAdES-T", "PDF-NOT-ETSI".
	Name string
	// Level of a baseline signature; Baseline is false for any other.
	Level    Level
	Baseline bool
}

// Baseline is the profile of a baseline level of a format.
func Baseline(f Format, l Level) Profile {
	return Profile{Name: fmt.Sprintf("%s-BASELINE-%s", f, l), Level: l, Baseline: true}
}

func (p Profile) String() string { return p.Name }

// ParseLevel parses the result of String.
func ParseLevel(name string) (Level, error) {
	for l := LevelB; l <= LevelLTA; l++ {
		if l.String() == name {
			return l, nil
		}
	}
	return 0, fmt.Errorf("%q is no baseline level: B, T, LT or LTA", name)
}

// MalformedError means that the input does not have the format that it claims. It is the only type
// for bad input.
type MalformedError struct {
	Format string // "PDF", "CMS", "XML", "ZIP", "X.509", …
	Where  string // a path inside the document: "SignedData/signerInfos[1]/signedAttrs"
	Err    error
}

func (e *MalformedError) Error() string {
	if e.Where == "" {
		return fmt.Sprintf("malformed %s: %v", e.Format, e.Err)
	}
	return fmt.Sprintf("malformed %s: %s: %v", e.Format, e.Where, e.Err)
}

func (e *MalformedError) Unwrap() error { return e.Err }

// Malformed returns a MalformedError with a formatted text.
func Malformed(format, where, text string, args ...any) error {
	return &MalformedError{Format: format, Where: where, Err: fmt.Errorf(text, args...)}
}
