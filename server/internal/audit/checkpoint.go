package audit

import (
	"context"
	"crypto"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/store"
)

// Checkpoint is a statement about the tree: so many leaves, this root, at this
// time, after that checkpoint.
type Checkpoint struct {
	Size      int64  `json:"size"`
	Note      string `json:"note"`            // C2SP signed note
	Token     []byte `json:"token,omitempty"` // RFC 3161, over the SHA-256 of the note
	CreatedAt int64  `json:"createdAt"`
}

// digest is what the next checkpoint, and the head, say of this one.
func (c *Checkpoint) digest() []byte {
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s", len(c.Note), c.Note)
	h.Write(c.Token)
	return h.Sum(nil)
}

// Checkpointer signs, time-stamps and witnesses checkpoints. The order is: the
// leaves are durable, then the checkpoint in the database, then the witnesses. A
// process that dies in between leaves a checkpoint that is witnessed later; there
// is never a witness for what the database may still lose.
type Checkpointer struct {
	Log     *Log
	Signer  note.Signer
	Public  string       // key of the signer (C2SP vkey)
	Stamper ades.Stamper // for every checkpoint in the database; nil: none
	File    *File        // nil: no witness file
	// Authority is an outside time-stamp authority; its tokens are kept with the
	// witnesses. Nil: none.
	Authority ades.Stamper
	Bucket    Bucket        // nil: no witness in a bucket
	Lock      time.Duration // how long an object there must stay
	Warn      *slog.Logger
	Failed    func() // counts what went wrong; nil: nobody does

	waited   int64 // the last event that had no place at the last look
	boxed    int64 // entries of the last checkpoint that went outside
	mu       sync.Mutex
	warned   string // the last warning: the same one is given once a minute
	warnedAt time.Time
}

// ErrWitness says that the log is not the one that the witness file knows.
var ErrWitness = errors.New("the log does not go on from the last checkpoint in the witness file; rogito audit verify tells more")

// A checkpoint is due after so long, or for so many leaves.
const (
	dueEvery = time.Minute
	dueAfter = 1000
)

// Run sequences and makes checkpoints until the context ends, and once more
// then.
func (k *Checkpointer) Run(ctx context.Context) {
	var outside sync.WaitGroup
	outside.Go(func() { k.runOutside(ctx) })
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	last, tried := time.Time{}, int64(0)
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			outside.Wait()
			k.waited = math.MaxInt64
			k.step(end, func(_, _ int64) bool { return true })
			k.outside(end)
			return
		case <-tick.C:
			due := func(size, newest int64) bool {
				return size-max(newest, tried) >= dueAfter || time.Since(last) >= dueEvery
			}
			if size := k.step(ctx, due); size >= 0 {
				last, tried = time.Now(), size
			}
		}
	}
}

// step returns the size of the tree when a checkpoint was due, or -1. Whether it is
// due by entries is counted from the newest of all servers: where each of four counted
// its own, every thousand entries were signed, and proved to go on, four times.
func (k *Checkpointer) step(ctx context.Context, due func(size, newest int64) bool) int64 {
	h, err := k.sequence(ctx)
	if err != nil {
		k.warn(ctx, "sequence the audit log", err)
	}
	if h == nil || !due(h.size, h.checkpoint) {
		return -1
	}
	if _, err := k.Make(ctx); err != nil {
		k.warn(ctx, "make an audit checkpoint", err)
	}
	return h.size
}

// sequence gives places to events that had none when it looked the last time: of
// several servers one does it for all, and the others find nothing left to do. The
// head is that of after it.
func (k *Checkpointer) sequence(ctx context.Context) (*head, error) {
	h, waits, err := k.Log.readHead(ctx)
	if err != nil {
		return nil, err
	}
	overdue := waits.some() && waits.first <= k.waited
	k.waited = waits.last
	if n, err := k.Log.sequenceAll(ctx, overdue); err != nil || n == 0 {
		return h, err
	}
	h, _, err = k.Log.readHead(ctx)
	return h, err
}

func (k *Checkpointer) warn(ctx context.Context, what string, err error) {
	if k.Failed != nil && !errors.Is(err, context.Canceled) {
		k.Failed()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Warn == nil || errors.Is(err, context.Canceled) || k.warned == err.Error() && time.Since(k.warnedAt) < time.Minute {
		return
	}
	k.warned, k.warnedAt = err.Error(), time.Now()
	k.Warn.ErrorContext(ctx, what, "error", err)
}

// Begin makes the checkpoint of the empty tree, where there is none.
func (k *Checkpointer) Begin(ctx context.Context) error {
	var last int64
	err := k.Log.db.Read().QueryRow(ctx, `select checkpoint from audit_head where id = 1`).Scan(&last)
	if err == nil && last < 0 {
		_, err = k.Make(ctx)
	}
	return err
}

// Make makes a checkpoint of the tree as it is, unless there is one, and has the
// newest one witnessed. The first is of the empty tree: a log without it has
// lost its checkpoints.
func (k *Checkpointer) Make(ctx context.Context) (*Checkpoint, error) {
	var made, newest *Checkpoint
	err := k.Log.db.Write(ctx, func(tx *store.Tx) (err error) {
		made = nil
		h, err := k.Log.openHead(ctx, tx, lockHead)
		if err != nil {
			return err
		}
		if err := k.goesOn(ctx, tx, h); err != nil {
			return err
		}
		if h.checkpoint >= 0 {
			if newest, err = checkpointOf(ctx, tx, h.checkpoint); err != nil {
				return err
			}
			if !hmac.Equal(newest.digest(), h.last) {
				return errHead
			}
		}
		if h.checkpoint == h.size {
			return nil
		}
		made, err = k.sign(h, newest)
		if err != nil {
			return err
		}
		newest = made
		return k.put(ctx, tx, h, made)
	})
	if err != nil {
		return nil, fmt.Errorf("audit: checkpoint: %w", err)
	}
	if made != nil {
		k.stamp(ctx, made)
	}
	if k.File != nil {
		return newest, k.File.add(newest)
	}
	return newest, nil
}

// goesOn refuses to sign a tree that does not extend the one witnessed last: a database that
// was restored gets no new checkpoints.
func (k *Checkpointer) goesOn(ctx context.Context, q store.Querier, h *head) error {
	if k.File == nil {
		return nil
	}
	last, err := k.File.last()
	if err != nil || last == nil {
		return err
	}
	s, err := openNote(last.Note, k.Public)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWitness, err)
	}
	if err := extends(ctx, q, h.size, h.root(), s.size, s.root); err != nil {
		return fmt.Errorf("%w: %w", ErrWitness, err)
	}
	return nil
}

// sign makes the checkpoint of a tree, after another one.
func (k *Checkpointer) sign(h *head, after *Checkpoint) (*Checkpoint, error) {
	c := &Checkpoint{Size: h.size, CreatedAt: store.Millis(k.Log.now())}
	previous := "-"
	if after != nil {
		previous = hex.EncodeToString(after.digest())
	}
	text := fmt.Sprintf("%s\n%d\n%s\ntime %d\nprevious %s\n", k.Signer.Name(), h.size, base64.StdEncoding.EncodeToString(rootOf(h)), c.CreatedAt, previous)
	signed, err := note.Sign(&note.Note{Text: text}, k.Signer)
	c.Note = string(signed)
	return c, err
}

func rootOf(h *head) []byte {
	root := h.root()
	return root[:]
}

// put writes a new checkpoint, or the token of one, and has the head say so.
func (k *Checkpointer) put(ctx context.Context, tx *store.Tx, h *head, c *Checkpoint) error {
	_, err := tx.Exec(ctx, `insert into audit_checkpoints (size, note, token, created_at) values ($1, $2, $3, $4)
		on conflict (size) do update set token = $3`, c.Size, c.Note, c.Token, c.CreatedAt)
	if err != nil {
		return err
	}
	h.checkpoint, h.last = c.Size, c.digest()
	return k.Log.storeHead(ctx, tx, h)
}

// stamp adds a time-stamp, unless there is a newer checkpoint already, which contains the
// digest of this one without it. A signed checkpoint is better than none, so failures are only
// logged.
func (k *Checkpointer) stamp(ctx context.Context, c *Checkpoint) {
	if k.Stamper == nil {
		return
	}
	d := sha256.Sum256([]byte(c.Note))
	token, err := k.Stamper.Stamp(ctx, crypto.SHA256, d[:])
	if err == nil {
		err = k.Log.db.Write(ctx, func(tx *store.Tx) error {
			h, err := k.Log.openHead(ctx, tx, lockHead)
			if err != nil || h.checkpoint != c.Size {
				return err
			}
			c.Token = token
			return k.put(ctx, tx, h, c)
		})
	}
	if err != nil {
		c.Token = nil
		k.warn(ctx, "time-stamp an audit checkpoint", err)
	}
}

// statement is what a checkpoint says.
type statement struct {
	size     int64
	root     tlog.Hash
	time     int64
	previous string // digest of the one before, "-" for the first
}

// openNote reads a checkpoint that a key has signed.
func openNote(signed, key string) (*statement, error) {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return nil, fmt.Errorf("audit: key: %w", err)
	}
	n, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return nil, errors.New("it is not signed by the log's key")
	}
	lines := strings.Split(n.Text, "\n")
	s := &statement{}
	if len(lines) != 6 || lines[0] != verifier.Name() {
		return nil, errors.New("a checkpoint has five lines")
	}
	if s.size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || s.size < 0 {
		return nil, errors.New("the size of a checkpoint is a number")
	}
	b, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(b) != tlog.HashSize {
		return nil, errors.New("the root of a checkpoint is a hash")
	}
	s.root = tlog.Hash(b)
	at, timed := strings.CutPrefix(lines[3], "time ")
	if s.time, err = strconv.ParseInt(at, 10, 64); err != nil || !timed {
		return nil, errors.New("the time of a checkpoint is a number")
	}
	var chained bool
	if s.previous, chained = strings.CutPrefix(lines[4], "previous "); !chained {
		return nil, errors.New("a checkpoint names the one before it")
	}
	return s, nil
}

const selectCheckpoint = `select size, note, token, created_at from audit_checkpoints `

func checkpointOf(ctx context.Context, q store.Querier, size int64) (*Checkpoint, error) {
	c := &Checkpoint{}
	err := q.QueryRow(ctx, selectCheckpoint+`where size = $1`, size).Scan(&c.Size, &c.Note, &c.Token, &c.CreatedAt)
	if err != nil {
		return nil, fmt.Errorf("read the one of %d entries: %w", size, err)
	}
	return c, nil
}

// checkpoints returns all checkpoints, oldest first.
func checkpoints(ctx context.Context, q store.Querier) ([]Checkpoint, error) {
	rows, err := q.Query(ctx, selectCheckpoint+`order by size`)
	return store.All("audit: read checkpoints", rows, err, func(r store.Row) (c Checkpoint, err error) {
		err = r.Scan(&c.Size, &c.Note, &c.Token, &c.CreatedAt)
		return c, err
	})
}
