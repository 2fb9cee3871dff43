package tsp

import (
	"crypto"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
)

// ReadToken states the facts of a file that is a token or a response with one
// (.tst, .tsr). What it is over is looked for among the detached files.
func ReadToken(src ades.Source, r ades.ReadOptions) (*ades.Document, error) {
	raw := Extract(src)
	if raw == nil {
		return nil, ades.Malformed("TST", "", "not a time-stamp token")
	}
	t, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	var ts *ades.Timestamp
	for _, f := range append(r.Detached, ades.File{}) {
		var imprint func(crypto.Hash) ([]byte, error)
		if f.Source != nil {
			imprint = cms.OfSource(f.Source)
		} else if ts != nil {
			break
		}
		if ts, err = Read(t.Raw, imprint); err != nil {
			return nil, err
		}
		if ts.ImprintIntact == ades.Yes {
			break
		}
	}
	ts.Kind = ades.DetachedTimestamp
	return &ades.Document{Format: ades.TST, Timestamps: []*ades.Timestamp{ts}}, nil
}
