package ledger

import (
	"context"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/store"
)

// KindRetry marks the two records of a batch of which the rest was tried again: each
// names the other.
const KindRetry = "retry"

// Retried logs that the unsigned rest of one record became another record.
func (s *Ledger) Retried(ctx context.Context, old, rest *Record) error {
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		return s.Audit.Append(ctx, tx,
			audit.Event{Account: old.AccountID, Record: old.ID, Kind: KindRetry, Log: "what was not signed was tried again", Detail: Retry{Next: rest.ID}},
			audit.Event{Account: rest.AccountID, Record: rest.ID, Kind: KindRetry, Log: "this is the rest of another record", Detail: Retry{Before: old.ID}})
	})
}

// Retry is the log's entry for it.
type Retry struct {
	Next   string `json:"next,omitempty"`
	Before string `json:"before,omitempty"`
}
