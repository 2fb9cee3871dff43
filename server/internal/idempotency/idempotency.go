// Package idempotency remembers which record answered which Idempotency-Key.
package idempotency

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/master"
	"rogito.dev/rogito/server/internal/store"
)

// MaxKey is the longest Idempotency-Key, in characters.
const MaxKey = 255

// keyLife is how long a key is kept.
const keyLife = 24 * time.Hour

// ErrReplay is what Claim.Record and Claim.Answer return when another process
// has written the key meanwhile: the transaction must be given up, and Begin
// asked again, which then has the replay.
var ErrReplay = errors.New("idempotency: idempotency key taken meanwhile")

// Keys remembers which record answered which Idempotency-Key.
//
// A key is written in the transaction that writes the record, so that both
// exist or neither does: a crash leaves no key without a record, and a call
// that was refused leaves nothing. Two calls at once in one process are told
// apart in memory (the second gets fault 150); in two processes the second
// loses at the primary key and replays, unless the call is one that takes long:
// then a lock of the database tells them apart as well.
type Keys struct {
	db      *store.DB
	master  *master.Key
	locks   claimLocks
	mu      sync.Mutex
	running map[string]struct{}
}

// New returns the memory of keys in a database.
func New(db *store.DB, m *master.Key) *Keys {
	return &Keys{db: db, master: m, locks: claimLocks{db: db}, running: map[string]struct{}{}}
}

// Replay is the outcome of the call that first used a key.
type Replay struct {
	RecordID string // the record it made
	Answer   []byte // the whole answer, where it was kept
}

// Claim is the right to carry out the call of a key. A nil Claim is that of a
// call without a key; its methods do nothing.
type Claim struct {
	of      *Keys
	account string
	key     string
	digest  []byte
	locked  bool // among the processes, too
}

// Begin asks for a key of an account. It returns a claim, to be ended by End
// whatever happens, or the replay of an earlier call; a fault 150 while that
// call still runs, 151 where it had another body. With an empty key it returns
// neither.
func (i *Keys) Begin(ctx context.Context, account, key string, digest []byte) (*Claim, *Replay, error) {
	return i.begin(ctx, account, key, digest, false)
}

// BeginLong is Begin for a call that may take long, or that uses something up
// before its record is written: other processes are told that it runs.
func (i *Keys) BeginLong(ctx context.Context, account, key string, digest []byte) (*Claim, *Replay, error) {
	return i.begin(ctx, account, key, digest, true)
}

func (i *Keys) begin(ctx context.Context, account, key string, digest []byte, long bool) (*Claim, *Replay, error) {
	if key == "" {
		return nil, nil, nil
	}
	if len([]rune(key)) > MaxKey {
		return nil, nil, fault.New(fault.BadQuery, "Idempotency-Key is over %d characters", MaxKey)
	}
	c := &Claim{of: i, account: account, key: key, digest: digest}
	if !c.reserve() {
		return nil, nil, stillRunning(time.Second)
	}
	if long && !c.lock() {
		c.End()
		return nil, nil, stillRunning(time.Second)
	}
	replay, err := c.lookup(ctx)
	if replay != nil || err != nil {
		c.End()
		return nil, replay, err
	}
	return c, nil, nil
}

func (c *Claim) name() string { return c.account + "\x00" + c.key }

func (c *Claim) reserve() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if _, taken := c.of.running[c.name()]; taken {
		return false
	}
	c.of.running[c.name()] = struct{}{}
	return true
}

// lock says false where another process works on the key.
func (c *Claim) lock() (free bool) {
	free, c.locked = c.of.locks.take(c.name())
	return free
}

// End gives the claim back. Where nothing was written, the key is free again.
func (c *Claim) End() {
	if c == nil {
		return
	}
	if c.locked {
		c.of.locks.giveBack(c.name())
		c.locked = false
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.running, c.name())
}

func (c *Claim) lookup(ctx context.Context) (*Replay, error) {
	var digest, sealed []byte
	var record string
	var until int64
	err := c.of.db.Read().QueryRow(ctx, `select digest, record_id, answer, running_until from idempotency
		where account_id = $1 and key = $2 and created_at > $3`, c.account, c.key, expired()).
		Scan(&digest, &record, &sealed, &until)
	if errors.Is(err, store.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(digest, c.digest) {
		return nil, fault.New(fault.KeyReused, "Idempotency-Key was used with another body")
	}
	if left := time.Until(store.Time(until)); until != 0 && left > 0 {
		return nil, stillRunning(left)
	}
	replay := &Replay{RecordID: record}
	if sealed != nil {
		replay.Answer, err = c.of.master.UnsealFor(answerPurpose, c.name(), sealed)
	}
	return replay, err
}

// answerPurpose is what a kept answer is sealed for, with its account and key.
const answerPurpose = "idempotency"

// Record writes that the key's answer is a record, shown at a replay in the
// state it then has. While the call itself goes on after this transaction, for
// at most the time given as running, a replay is told to wait; Done ends it.
func (c *Claim) Record(ctx context.Context, tx *store.Tx, record string, running time.Duration) error {
	return c.write(ctx, tx, record, nil, running)
}

// Answer writes the answer itself, sealed: for what is shown only once.
func (c *Claim) Answer(ctx context.Context, tx *store.Tx, record string, answer []byte) error {
	if c == nil {
		return nil
	}
	sealed, err := c.of.master.SealFor(answerPurpose, c.name(), answer)
	if err != nil {
		return err
	}
	return c.write(ctx, tx, record, sealed, 0)
}

func (c *Claim) write(ctx context.Context, tx *store.Tx, record string, sealed []byte, running time.Duration) error {
	if c == nil {
		return nil
	}
	now := time.Now()
	var until int64
	if running > 0 {
		until = now.Add(running).UnixMilli()
	}
	// A row past its time counts as absent, swept or not.
	return tx.Expect(ctx, 1, ErrReplay, `insert into idempotency as i (account_id, key, digest, record_id, answer, running_until, created_at)
		values ($1, $2, $3, $4, $5, $6, $7)
		on conflict (account_id, key) do update set digest = excluded.digest, record_id = excluded.record_id,
			answer = excluded.answer, running_until = excluded.running_until, created_at = excluded.created_at
		where i.created_at <= $8`,
		c.account, c.key, c.digest, record, sealed, until, now.UnixMilli(), expired())
}

// Done says that the call which had a key is over, for a replay to be answered
// at once. It belongs in the transaction that ends the record's work.
func (c *Claim) Done(ctx context.Context, tx *store.Tx) error {
	if c == nil {
		return nil
	}
	return tx.Later(ctx, `update idempotency set running_until = 0 where account_id = $1 and key = $2`, c.account, c.key)
}

// Sweep forgets the keys whose time is over.
func (i *Keys) Sweep(ctx context.Context) error {
	return i.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `delete from idempotency where created_at <= $1`, expired())
		return err
	})
}

func expired() int64 { return time.Now().Add(-keyLife).UnixMilli() }

func stillRunning(left time.Duration) error {
	f := fault.New(fault.StillRunning, "the first request with this Idempotency-Key is still running")
	f.RetryAfter = max(left.Round(time.Second), time.Second)
	return f
}

type claimKey struct{}

// WithClaim returns a context that carries the claim of the call, so that the
// package that makes the record can write it in the record's transaction.
func WithClaim(ctx context.Context, c *Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, c)
}

// ClaimFrom is the claim of the call that ctx belongs to; nil, whose methods
// do nothing, where there is none.
func ClaimFrom(ctx context.Context) *Claim {
	c, _ := ctx.Value(claimKey{}).(*Claim)
	return c
}

// Keep writes the whole answer of a call that made no record of its own, in a
// transaction of its own. A key that is written already stays as it is.
func (c *Claim) Keep(ctx context.Context, answer []byte) error {
	if c == nil {
		return nil
	}
	err := c.of.db.Write(ctx, func(tx *store.Tx) error { return c.Answer(ctx, tx, "", answer) })
	if errors.Is(err, ErrReplay) {
		return nil
	}
	return err
}
