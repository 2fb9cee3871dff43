package pades

import (
	"errors"

	"rogito.dev/rogito/ades"
)

// maxStores bounds how many revisions are searched for a Document Security Store.
const maxStores = 64

// earlierStores reads the Document Security Stores of earlier revisions. A product that signs again
// may replace the store, so that the data of the first signature is only in the previous revision.
// It is still part of the file, and covered by later time-stamps.
func (r *reader) earlierStores() error {
	whole := r.doc
	problems := r.out.Problems
	defer func() { r.doc, r.out.Problems = whole, problems }()
	newest := len(whole.Revisions())
	for n := newest - 1; n >= 1 && n > newest-maxStores; n-- {
		r.doc = whole
		d, err := r.as(n)
		if err != nil {
			continue // a revision that cannot be opened has none
		}
		r.doc = d
		var malformed *ades.MalformedError
		if err := r.dss(); err != nil && !errors.As(err, &malformed) {
			return err // unreadable ones are skipped
		}
	}
	return nil
}
