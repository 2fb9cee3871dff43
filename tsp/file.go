package tsp

import (
	"bytes"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
)

// ReadToken returns the facts of a file that is a token or a response with one (.tst, .tsr). It
// must be over every given file.
func ReadToken(src ades.Source, r ades.ReadOptions) (*ades.Document, error) {
	bin, err := cms.Unarmour(src)
	if err != nil {
		return nil, err
	}
	if bin.Size() > limits.Token {
		return nil, finding.FileTooLarge.Malformed("TST", "", bin.Size())
	}
	raw, err := io.ReadAll(io.NewSectionReader(bin, 0, bin.Size()))
	if err != nil {
		return nil, err
	}
	token, rest := tokenAndRest(raw)
	if token == nil {
		return nil, finding.NoStampToken.Malformed("TST", "")
	}
	ts, err := Read(token, nil)
	if err != nil {
		return nil, err
	}
	doc := &ades.Document{Format: ades.TST, Timestamps: []*ades.Timestamp{ts}}
	for _, f := range r.Detached {
		over, err := Read(token, cms.OfSource(f.Source))
		if err != nil {
			return nil, err
		}
		if ts.ImprintIntact != ades.No {
			ts.ImprintIntact = over.ImprintIntact
		}
	}
	if len(r.Detached) == 1 && ts.ImprintIntact == ades.Yes {
		doc.Content = r.Detached
	}
	for _, why := range []error{cms.AroundArmour(src), cms.After(bytes.NewReader(rest), 0), cms.Beside(bytes.NewReader(raw), nil, nil)} {
		if why != nil {
			ts.Problems = append(ts.Problems, finding.Of("", why))
		}
	}
	ts.Kind = ades.DetachedTimestamp
	return doc, nil
}
