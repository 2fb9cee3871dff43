// Package handoff passes what is known of a document, beside its bytes, from the server to the
// library, and from one format to another whose signature it contains. Each type is recognised by
// type assertion on a source, and is out of reach for importers of the module.
package handoff

import (
	"crypto"
	"hash"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
)

// Document is a source of which something is known.
type Document struct {
	ades.Source
	// SHA256 returns a hash that has been given all of the source, or nil.
	SHA256 func() hash.Hash
	// Signable: it is a PDF that can be read in only one way, so that it need not be examined again
	// before it is signed.
	Signable bool
}

// Signable reports whether a source is known to be a PDF that can be signed as it is.
func Signable(src ades.Source) bool {
	d, ok := src.(*Document)
	return ok && d.Signable
}

// State returns a hash that has been given all of a source, or nil if that is not known.
func State(src ades.Source, h crypto.Hash) hash.Hash {
	if d, ok := src.(*Document); ok && h == crypto.SHA256 {
		return d.SHA256()
	}
	return nil
}

// SignedData is a CMS signature in a PDF.
type SignedData struct {
	ades.Source
	Parsed *cms.SignedData
	// Content in the CMS itself; Digest of the external content otherwise.
	Content ades.Source
	Digest  func(crypto.Hash) ([]byte, error)
}

// Member is a signature file of a container, whose references are to files of the container.
type Member struct {
	ades.Source
	Files []ades.File
	// Resolve finds a file by URI.
	Resolve func(uri string) *ades.File
}
