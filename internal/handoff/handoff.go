// Package handoff is what the server tells the library of a document beside its
// bytes, and what one format tells another whose signature it carries. Each is a
// type that a source is recognised by, and none can be made from outside.
package handoff

import (
	"crypto"
	"hash"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
)

// Document is a source whose SHA-256 is known up to its end, so that whoever
// signs it with something behind it need not read it again for that: over 100 KB
// that takes as long as everything else of a PAdES with a P-256 key.
type Document struct {
	ades.Source
	// SHA256 is a hash that was given all of the source, to go on with, or nil.
	SHA256 func() hash.Hash
}

// State is a hash that was given all of a source, to go on with; nil where that
// is not known.
func State(src ades.Source, h crypto.Hash) hash.Hash {
	if d, ok := src.(*Document); ok && h == crypto.SHA256 {
		return d.SHA256()
	}
	return nil
}

// SignedData is a CMS signature that a PDF carries.
type SignedData struct {
	ades.Source
	Parsed *cms.SignedData
	// Content that it carries itself; Digest of what it is over otherwise.
	Content ades.Source
	Digest  func(crypto.Hash) ([]byte, error)
}

// Member is a signature file of a container, whose references are to the
// container's files.
type Member struct {
	ades.Source
	Files []ades.File
	// Resolve finds a file by URI.
	Resolve func(uri string) *ades.File
}
