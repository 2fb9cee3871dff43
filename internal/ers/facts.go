package ers

import (
	"bytes"
	"crypto"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/tsp"
)

// Facts returns the time-stamps of the record, oldest first. Each covers the previous one; those in
// first are over the objects, and the caller must add what these contain.
func (r *Record) Facts(objects []Object, where string, certs ...[]byte) (all, first []*ades.Timestamp, err error) {
	results, err := r.Check(objects, hashOfToken)
	if err != nil {
		return nil, nil, err
	}
	for i, one := range results {
		ts, err := tsp.Read(one.Token, func(h crypto.Hash) ([]byte, error) {
			if h != one.Hash || len(one.Roots) == 0 {
				return []byte{}, nil // RFC 4998, 4.3: one hash function for tree and token
			}
			for _, root := range one.Roots {
				if t, err := tsp.Parse(one.Token); err == nil && bytes.Equal(root, t.Imprint) {
					return root, nil
				}
			}
			return one.Roots[0], nil
		}, certs...)
		if err != nil {
			return nil, nil, err
		}
		ts.Path = fmt.Sprintf("%s#%d.%d", where, one.Chain+1, one.Place+1)
		if one.Roots == nil {
			ts.Problems = append(ts.Problems, finding.EvidenceRecordProblem.Problem(where, one.Problem))
		}
		if i > 0 {
			before := all[i-1]
			ts.Covers = append(ts.Covers, before.ID)
			if before.Signature != nil {
				ts.Covers = append(ts.Covers, Inside(before.Signature)...)
			}
		}
		if one.Place == 0 {
			first = append(first, ts)
		}
		all = append(all, ts)
	}
	return all, first, nil
}

// Inside lists the ids of a signature and of everything in it.
func Inside(s *ades.Signature) []string {
	ids := []string{s.ID}
	if s.SigningCertificate != nil {
		ids = append(ids, ades.FactID(s.SigningCertificate))
	}
	for _, e := range s.Evidence {
		ids = append(ids, e.ID())
	}
	for _, ts := range s.Timestamps {
		ids = append(ids, ts.ID)
		if ts.Signature != nil {
			ids = append(ids, Inside(ts.Signature)...)
		}
	}
	for _, c := range s.CounterSignatures {
		ids = append(ids, Inside(c)...)
	}
	return ids
}

// hashOfToken is the hash of a token's imprint, 0 if it cannot be parsed.
func hashOfToken(token []byte) crypto.Hash {
	t, err := tsp.Parse(token)
	if err != nil {
		return 0
	}
	h, _ := t.Hash()
	return h
}
