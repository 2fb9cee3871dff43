// Package idempotency remembers which record answered which Idempotency-Key.
package idempotency

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
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
// loses at the primary key and replays. A call that uses something up before its
// record is written holds the key from then on, under a lease: that of a process
// that died runs out, and the key can be tried again.
type Keys struct {
	db      *store.DB
	master  *master.Key
	mu      sync.Mutex
	running map[string]struct{}
}

// New returns the memory of keys in a database.
func New(db *store.DB, m *master.Key) *Keys {
	return &Keys{db: db, master: m, running: map[string]struct{}{}}
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
	holder  string // of the row that Hold wrote; empty: there is none
}

// Begin asks for a key of an account. It returns a claim, to be ended by End
// whatever happens, or the replay of an earlier call; a fault 150 while that
// call still runs, 151 where it had another body. With an empty key it returns
// neither.
func (i *Keys) Begin(ctx context.Context, account, key string, digest []byte) (*Claim, *Replay, error) {
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

// holdFor is the lease of a call that holds its key before it has a record. A slower call loses
// the key to the next one that tries it, and makes no record.
const holdFor = 2 * time.Minute

// Hold records that the call runs, before it uses something up, such as a one-time password,
// ahead of its record. ErrReplay: another process was first.
func (c *Claim) Hold(ctx context.Context) error {
	if c == nil || c.holder != "" {
		return nil
	}
	holder := store.NewID()
	err := c.of.db.Write(ctx, func(tx *store.Tx) error { return c.put(ctx, tx, row{holder: holder, running: holdFor}) })
	if err == nil {
		c.holder = holder
	}
	return err
}

// End releases the claim. If nothing was written, the key is free again.
func (c *Claim) End() {
	if c == nil {
		return
	}
	c.letGo()
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.of.running, c.name())
}

// letGo removes a row that holds the key and has no record; where that fails, its
// lease runs out.
func (c *Claim) letGo() {
	if c.holder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(disk.Reclaiming(context.Background()), 5*time.Second)
	defer cancel()
	_ = c.of.db.Write(ctx, func(tx *store.Tx) error {
		return tx.Later(ctx, `delete from idempotency where account_id = $1 and key = $2 and holder = $3`, c.account, c.key, c.holder)
	})
	c.holder = ""
}

// lookup reads what is known of a key. A call that has its record goes on for as long
// as it holds the lease of that.
func (c *Claim) lookup(ctx context.Context) (*Replay, error) {
	var digest, sealed []byte
	var record, holder string
	var until int64
	err := c.of.db.Read().QueryRow(ctx, `select digest, record_id, answer, holder,
			case when holder <> '' or exists (select 1 from signatures s where s.id = record_id and s.lease_by <> '') then running_until else 0 end
		from idempotency where account_id = $1 and key = $2 and created_at > $3`, c.account, c.key, expired()).
		Scan(&digest, &record, &sealed, &holder, &until)
	if errors.Is(err, store.ErrNoRows) || err == nil && holder != "" && until <= time.Now().UnixMilli() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(digest, c.mark(record)) {
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

// Record stores that the key's answer is a record, which a replay shows in its state at that
// time. While the call itself continues after this transaction, for at most the time given as
// running, a replay is refused as still running.
func (c *Claim) Record(ctx context.Context, tx *store.Tx, record string, running time.Duration) error {
	if c == nil {
		return nil
	}
	return c.put(ctx, tx, row{record: record, running: running})
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
	return c.put(ctx, tx, row{record: record, answer: sealed})
}

// row is what is stored for a key.
type row struct {
	record  string
	answer  []byte // sealed
	holder  string // of a call without a record yet
	running time.Duration
}

// mark is the keyed digest of the body and the record. A row changed to name another record no
// longer fits the body.
func (c *Claim) mark(record string) []byte {
	sum := c.of.master.MAC("idempotency", fmt.Appendf(nil, "%q %q %x %q", c.account, c.key, c.digest, record))
	return sum[:]
}

// put writes it. A row past its time counts as absent, swept or not; so does one that
// another call held for too long, and one of our own is replaced.
func (c *Claim) put(ctx context.Context, tx *store.Tx, r row) error {
	now := time.Now()
	var until int64
	if r.running > 0 {
		until = now.Add(r.running).UnixMilli()
	}
	return tx.Expect(ctx, 1, ErrReplay, `insert into idempotency as i (account_id, key, digest, record_id, answer, holder, running_until, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8)
		on conflict (account_id, key) do update set digest = excluded.digest, record_id = excluded.record_id, answer = excluded.answer,
			holder = excluded.holder, running_until = excluded.running_until, created_at = excluded.created_at
		where i.created_at <= $9 or i.holder <> '' and (i.holder = $10 or i.running_until <= $8)`,
		c.account, c.key, c.mark(r.record), r.record, r.answer, r.holder, until, now.UnixMilli(), expired(), c.holder)
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
