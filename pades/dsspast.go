package pades

import (
	"errors"

	"rogito.dev/rogito/ades"
)

// maxStores bounds the revisions whose Document Security Store is looked at.
const maxStores = 64

// earlierStores reads the Document Security Stores of earlier revisions. A
// product that signs again may write a store of its own, and what the first
// signature needs is then in the revision before only. It is part of the file
// all the same, and covered by later time-stamps.
func (r *reader) earlierStores() error {
	whole := r.doc
	problems := r.out.Problems
	defer func() { r.doc, r.out.Problems = whole, problems }()
	newest, oldest := len(whole.Revisions()), 1
	if examinationOf(r.src).storeless && whole.Repaired() == nil {
		oldest++
	}
	for n := newest - 1; n >= oldest && n > newest-maxStores; n-- {
		r.doc = whole
		d, err := r.as(n)
		if err != nil {
			continue // what cannot be opened brings nothing
		}
		r.doc = d
		var malformed *ades.MalformedError
		if err := r.dss(); err != nil && !errors.As(err, &malformed) {
			return err // what cannot be read brings nothing either
		}
	}
	return nil
}
