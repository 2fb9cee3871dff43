package enroll

import (
	"context"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/store"
)

// IssuedBook is the table of issued certificates, as audit verification compares it with the
// log. Revocation lists and OCSP answers are made from it.
type IssuedBook struct{ Service *Service }

// Owns says no: the events are those of certificates.
func (IssuedBook) Owns(string) bool { return false }

// Has says no.
func (IssuedBook) Has(context.Context, store.Querier, []any) ([]string, error) { return nil, nil }

// Page returns the rows that follow a serial number.
func (b IssuedBook) Page(ctx context.Context, q store.Querier, after string, limit int) ([]audit.Record, error) {
	rows, err := b.Service.authority.Rows(ctx, q, after, limit)
	if err != nil {
		return nil, err
	}
	var all []audit.Record
	for _, r := range rows {
		all = append(all, audit.Record{ID: r.Serial, Fits: func(q store.Querier, _ []*audit.Entry) string {
			switch {
			case !r.Genuine:
				return "the authority's record of a certificate was changed, or somebody else wrote it"
			case r.CertificateID == "" && r.Revoked:
				return "the authority's own certificate is revoked, and nobody does that"
			case r.CertificateID == "":
				return ""
			}
			events, err := b.Service.audit.Told(ctx, q, r.CertificateID, `kind like '%certificate-issued%'`)
			if err != nil {
				return "it cannot be held against its events: " + err.Error()
			}
			if len(events) == 0 {
				return "no event says that the authority issued it"
			}
			return ""
		}})
	}
	return all, nil
}
