// Package ledger keeps signature records: their rows and files, the table of
// their states, what is sealed in them, and what the audit log must say of each.
// A record moves only along the table in state.go, under a lease.
package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/blob"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Config of a Ledger.
type Config struct {
	DB          *store.DB
	Master      keys.Sealer
	Blobs       blob.Store
	Audit       *audit.Log
	Callbacks   *callback.Sender
	Biller      Biller
	KeepRecords time.Duration
	PublicURL   string // where people reach their pages
	Now         func() time.Time
	Log         *slog.Logger
}

// Biller has what records were charged with.
type Biller interface {
	// Refund gives a charge back, once.
	Refund(ctx context.Context, tx *store.Tx, charge string) error
	// Forget leaves of a charge the movement of money, if there was one.
	Forget(ctx context.Context, tx *store.Tx, charge string) error
}

// Ledger reads and writes records.
type Ledger struct{ Config }

// Refusal is how a record ends in ERROR: an error code and a text for the client.
type Refusal struct {
	Number fault.Code
	Text   string
	Err    error // for the log
	// Results of a batch of which nothing could be signed.
	Results []DocumentResult
}

func (r *Refusal) Error() string { return r.Text }
func (r *Refusal) Unwrap() error { return r.Err }

// Fault is the refusal as other calls answer with it.
func (r *Refusal) Fault() *fault.Error { return &fault.Error{Code: r.Number, Text: r.Text, Err: r.Err} }

func (s *Ledger) seal(purpose, owner string, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return s.Master.SealFor(purpose, owner, b)
}

func (s *Ledger) unseal(purpose, owner string, sealed []byte, v any) error {
	if len(sealed) == 0 {
		return nil
	}
	b, err := s.Master.UnsealFor(purpose, owner, sealed)
	if err != nil {
		return fmt.Errorf("signing: unseal: %w", err)
	}
	return json.Unmarshal(b, v)
}
