package signing

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// A signature value is never discarded because it cannot be stored. Storing is retried while
// the caller or the worker waits; after that the value is kept with the secrets of its record,
// or in memory while the database takes no writes. The next run on the record makes the same
// draft, with the same time, and uses the value that was made for its digest.

// keptValue is the value that was made for a digest earlier; nil if there is none.
func (x *run) keptValue(digest []byte) []byte {
	if x.secrets.Kept == nil {
		return nil
	}
	for _, v := range x.secrets.Kept.Values {
		if bytes.Equal(v.Digest, digest) && !slices.Contains(x.made, v.Intent) {
			x.intents, x.position = x.intents+1, x.position+1
			x.made, x.values = append(x.made, v.Intent), append(x.values, v)
			return v.Value
		}
	}
	return nil
}

// later releases a record together with the values that were made for it.
func (x *run) later(ctx context.Context, c job.Claim, out job.Outcome) error {
	secrets := x.secrets
	if x.kept = len(x.values) > 0; x.kept {
		with := *secrets
		with.Kept = &ledger.Kept{Time: x.time, Values: x.values}
		secrets = &with
	}
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		if x.kept {
			if err := x.Keep(ctx, tx, x.record, secrets, c.Lease); err != nil {
				return err
			}
		}
		return job.Later(ctx, tx, c, out, x.config.Now())
	})
	if err != nil && x.kept {
		x.remembered.put(x.record.ID, secrets.Kept, x.config.Now())
	}
	return err
}

// waits leaves the record of a call to the workers, and returns the caller's error.
func (x *run) waits(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(disk.Reclaiming(context.WithoutCancel(ctx)), settleLimit)
	defer cancel()
	if err := x.later(ctx, job.Claim{Table: ledger.Table, ID: x.record.ID, Lease: x.lease}, job.Outcome{Pause: x.config.Lease}); err != nil {
		x.config.Log.WarnContext(ctx, "give a record back", "record", x.record.ID, "error", err) // its lease runs out
	}
	f := fault.New(fault.Unavailable, "the storage is not available: record %s waits, and is signed when it is", x.record.ID).Because(cause)
	f.RetryAfter = x.config.Lease
	return f
}

// memory keeps values of records that the database would not take.
type memory struct {
	mu  sync.Mutex
	all map[string]remembered
}

type remembered struct {
	kept *ledger.Kept
	at   time.Time
}

// forgetAfter is longer than any record waits for a server that lives.
const forgetAfter = time.Hour

func (m *memory) put(record string, kept *ledger.Kept, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[string]remembered{}
	}
	for id, r := range m.all {
		if now.Sub(r.at) > forgetAfter {
			delete(m.all, id)
		}
	}
	m.all[record] = remembered{kept, now}
}

// pop returns what is remembered of a record, and forgets it.
func (m *memory) pop(record string) *ledger.Kept {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.all[record].kept
	delete(m.all, record)
	return kept
}
