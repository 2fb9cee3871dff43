package cades

import (
	"bytes"
	"crypto"
	"slices"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/ers"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/tsp"
)

// maxRecords bounds the evidence records of one SignedData, each of which covers all of it.
const maxRecords = 16

// evidenceRecord is a value of the attribute of RFC 4998, appendix A.
type evidenceRecord struct {
	signer   int
	value    []byte
	external bool // also over the content, as a data object of its own
	record   *ers.Record
	made     time.Time
}

func isRecord(id string) bool {
	return id == oid.AttrEvidenceRecord || id == oid.AttrEvidenceRecordExt
}

// records reads the evidence records of the signers, oldest first. Each is over the SignedData
// without itself and later records.
func (r *reader) records(out []*ades.Signature) error {
	var list []evidenceRecord
	for i, si := range r.sd.SignerInfos {
		for _, a := range si.UnsignedAttrs {
			if !isRecord(a.OID) {
				continue
			}
			for _, v := range a.Values {
				record, err := ers.Parse(v)
				if err != nil || len(list) == maxRecords {
					detail := ""
					if err != nil {
						detail = err.Error()
					}
					out[i].Problems = append(out[i].Problems, finding.EvidenceRecordUnreadable.Problem(out[i].Path, detail))
					continue
				}
				one := evidenceRecord{signer: i, value: v, external: a.OID == oid.AttrEvidenceRecordExt, record: record}
				if t, err := tsp.Parse(record.First()); err == nil {
					one.made = t.Time
				}
				list = append(list, one)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b evidenceRecord) int { return a.made.Compare(b.made) })
	for i, one := range list {
		if r.in.cancelled != nil && r.in.cancelled() != nil {
			return r.in.cancelled()
		}
		if err := r.record(one, list[i:], out); err != nil {
			return err
		}
	}
	return nil
}

// record adds the time-stamps of one record.
func (r *reader) record(one evidenceRecord, later []evidenceRecord, out []*ades.Signature) error {
	before, err := r.sd.WithoutUnsigned(func(value []byte) bool {
		return slices.ContainsFunc(later, func(l evidenceRecord) bool { return bytes.Equal(l.value, value) })
	})
	if err != nil {
		return err
	}
	objects := []ers.Object{octets{before.Digest}}
	missing := one.external && r.in.digest == nil
	if one.external && !missing {
		objects = append(objects, octets{r.in.digest})
	}
	all, first, err := one.record.Facts(objects, out[one.signer].Path+"/evidence-record", r.certs...)
	if err != nil {
		return err
	}
	for _, ts := range first {
		if missing {
			ts.ImprintIntact = ades.Unknown
		}
		for _, s := range out {
			ts.Covers = append(ts.Covers, ers.Inside(s)...)
		}
	}
	for _, ts := range all {
		ts.Kind = ades.RecordTimestamp
	}
	out[one.signer].Timestamps = append(out[one.signer].Timestamps, all...)
	return nil
}

// octets is a data object known by its digests.
type octets struct {
	digest func(crypto.Hash) ([]byte, error)
}

func (o octets) Digest(h crypto.Hash) ([]byte, error) { return o.digest(h) }

func (octets) XML() ([]byte, error) { return nil, nil }
