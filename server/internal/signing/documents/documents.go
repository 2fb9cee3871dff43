// Package documents has what comes in with a request to sign and what is made of
// it: inputs are stored or fetched, each is looked at once, what is to be signed
// is chosen or built, and what was signed is stored beside it.
package documents

import (
	"context"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/upload"
)

// Config is what documents are worked on with.
type Config struct {
	Records  *ledger.Ledger
	Blobs    blob.Store
	Guard    *fetch.Guard
	Fetch    fetch.Limits
	Memory   int64 // that the work on one document may take
	SpoolDir string
	Check    string // the address of /check, for the code in a visible signature
	Now      func() time.Time
	// IsStatement says whether a document, or what has a digest, identifies a person.
	IsStatement func(ctx context.Context, src ades.Source, digest []byte) (bool, error)
}

// Set is the documents of one record while it is worked on.
type Set struct {
	Config
	record  *ledger.Record
	secrets *ledger.Secrets

	docs     []*document
	Items    []*Item
	image    ades.Source
	Fetched  []*ledger.File // inputs whose rows must be filled in
	Picture  *ledger.File   // that was fetched, and has no row yet
	contents []*content     // documents of the record that are stored, by this run or before
	temp     *upload.Spool
}

// New returns the documents of a record; load or takeInputs fill it.
func New(c Config, r *ledger.Record, s *ledger.Secrets) *Set {
	return &Set{Config: c, record: r, secrets: s}
}

func (x *Set) Spool() *upload.Spool {
	if x.temp == nil {
		x.temp = upload.New(x.SpoolDir, upload.Limits{})
	}
	return x.temp
}

// Close gives back what was in memory or in temporary files.
func (x *Set) Close() {
	if x.temp != nil {
		_ = x.temp.Close() // files without a name: nothing is left behind
	}
}
