package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

var (
	// ErrOTP says that a one-time password is wrong, or was used before.
	ErrOTP = errors.New("keys: wrong or used one-time password")
	// ErrEarly says that a one-time password is right, and older than it may be.
	// It is used up.
	ErrEarly = errors.New("keys: the one-time password is too old")
)

// Authenticate judges a username and password of an account. An unknown
// username answers ErrPassword, takes as long, and locks just the same. A
// locked one is fault 111 (423). The credential returned may still be of the
// wrong kind or state: that is for the caller.
func (s *Store) Authenticate(ctx context.Context, account, username, password string) (*Credential, error) {
	cred, lock, err := s.findWithLock(ctx, account, username)
	if err != nil {
		return nil, err
	}
	if cred != nil && s.vault.Held(cred.owner(), cred.sealed, password) != nil {
		return cred, s.checkHeld(ctx, cred, lock)
	}
	final := cred == nil || !cred.codeFollows()
	who := holder{account: account, username: username}
	if cred != nil {
		who.certificate = cred.ID
	}
	err = s.attempt(ctx, who, final, func() error {
		leave, err := s.gates.enter(ctx, turnOf(account))
		if err != nil {
			return err
		}
		defer leave()
		if cred == nil {
			if err := s.vault.Pretend(ctx, password); err != nil {
				return err
			}
			return ErrPassword
		}
		_, err = s.vault.Open(ctx, cred.owner(), cred.sealed, password)
		if errors.Is(err, ErrErased) {
			return nil // the password is right; the certificate's state says the rest
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return cred, nil
}

// checkHeld is the quick way for a key in memory: the password is right, but
// the credential may have been locked since.
func (s *Store) checkHeld(ctx context.Context, c *Credential, l *lock) error {
	id := lockID(c.AccountID, c.Username)
	now := store.Millis(s.config.Now())
	if l.hard || l.until > now {
		return s.locked(l, now)
	}
	if l.failures > 0 && !c.codeFollows() {
		return s.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `update credential_locks set failures = 0, locked_until = 0 where id = $1 and locked_until <= $2`, id, now)
			return err
		})
	}
	return nil
}

// VerifyOTP judges a one-time password and uses it up: each code is good once,
// in parallel too. A wrong or used one is ErrOTP and counts as a failure.
func (s *Store) VerifyOTP(ctx context.Context, c *Credential, code string) error {
	return s.VerifyLaterOTP(ctx, c, code, time.Time{})
}

// VerifyLaterOTP is VerifyOTP for codes that are not older than a time: one of a
// time step that was over by then is ErrEarly.
func (s *Store) VerifyLaterOTP(ctx context.Context, c *Credential, code string, after time.Time) error {
	return s.attempt(ctx, c.holder(), true, func() error {
		secret, err := s.TOTPSecret(c)
		if err != nil {
			return err
		}
		step, err := stepOf(secret, code, s.config.Now())
		if err != nil {
			return err
		}
		if step == 0 {
			return ErrOTP
		}
		if err := s.useStep(ctx, c, step); err != nil {
			return err
		}
		if step < after.Unix()/totpPeriod {
			return ErrEarly
		}
		return nil
	})
}

// useStep is the compare-and-set that makes a code good once.
func (s *Store) useStep(ctx context.Context, c *Credential, step int64) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update credentials set totp_step = $1 where id = $2 and totp_step < $1`, step, c.ID)
		if err != nil {
			return fmt.Errorf("use one-time password: %w", err)
		}
		if n == 0 {
			return ErrOTP
		}
		return s.spend(ctx, tx, c, step)
	})
}

// attempt runs one judgement. Its failure is written down before it is known,
// and taken back when it was none: a crash or a crowd of parallel guesses gains
// nothing. Attempts on one credential wait for one another. final says that
// success clears the failures in a row; otherwise it only takes back its own,
// so that a known password does not hide guesses at the one-time password.
func (s *Store) attempt(ctx context.Context, who holder, final bool, judge func() error) error {
	id := who.lock()
	leave, err := s.gates.enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.reserve(ctx, id); err != nil {
		return err
	}
	verdict := judge()
	ctx = context.WithoutCancel(ctx) // a caller that hangs up does not escape the count
	if errors.Is(verdict, ErrPassword) || errors.Is(verdict, ErrOTP) {
		if err := s.settleFailure(ctx, who); err != nil {
			return err
		}
		return verdict
	}
	if err := s.settleSuccess(ctx, id, final && verdict == nil); err != nil {
		return errors.Join(verdict, err)
	}
	return verdict
}

const dayMillis = 24 * 60 * 60 * 1000

func (s *Store) reserve(ctx context.Context, id string) error {
	now := store.Millis(s.config.Now())
	var refused bool
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `insert into credential_locks (id, failures, day, day_failures, locked_until, hard)
			values ($1, 1, $2, 1, 0, 0)
			on conflict (id) do update set
				failures = case when credential_locks.locked_until > 0 then 1 else credential_locks.failures + 1 end,
				day_failures = case when credential_locks.day = $2 then credential_locks.day_failures + 1 else 1 end,
				day = $2, locked_until = 0
			where credential_locks.hard = 0 and credential_locks.locked_until <= $3
				and (credential_locks.failures < $4 or credential_locks.locked_until > 0)`,
			id, now/dayMillis, now, s.config.LockAfter)
		refused = n == 0
		return err
	})
	if err != nil {
		return fmt.Errorf("count attempt: %w", err)
	}
	if !refused {
		return nil
	}
	l, err := s.readLock(ctx, id)
	if err != nil {
		return err
	}
	return s.locked(l, now)
}

// settleFailure locks after too many; the lock and the word of it are written
// together.
func (s *Store) settleFailure(ctx context.Context, who holder) error {
	until := store.Millis(s.config.Now().Add(s.config.LockFor))
	return s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update credential_locks set
				locked_until = case when failures >= $2 then $3 else locked_until end,
				hard = case when day_failures >= $4 then 1 else hard end
			where id = $1 and (failures >= $2 or day_failures >= $4)`, who.lock(), s.config.LockAfter, until, s.config.DayLimit)
		if err != nil || n == 0 {
			return err
		}
		if err := intent.Forbid(ctx, tx, intent.Certificate, who.certificate); err != nil || s.config.Locked == nil {
			return err
		}
		return s.config.Locked(ctx, tx, who.account, who.certificate)
	})
}

func (s *Store) settleSuccess(ctx context.Context, id string, clear bool) error {
	back := `failures - 1`
	if clear {
		back = `0`
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `update credential_locks set failures = `+back+`, day_failures = day_failures - 1 where id = $1 and failures > 0`, id)
		return err
	})
}

type lock struct {
	failures int
	until    int64
	hard     bool
}

func (s *Store) readLock(ctx context.Context, id string) (*lock, error) {
	var l lock
	var hard int64
	err := s.db.Read().QueryRow(ctx, `select failures, locked_until, hard from credential_locks where id = $1`, id).
		Scan(&l.failures, &l.until, &hard)
	if errors.Is(err, store.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read lock: %w", err)
	}
	l.hard = hard != 0
	return &l, nil
}

func (s *Store) locked(l *lock, now int64) error {
	f := fault.New(fault.CertificateLocked, "the certificate is locked after wrong passwords or one-time passwords")
	if l != nil && l.hard {
		f.Text = "the certificate is locked after too many failures in a day; the operator can unlock it"
		return f
	}
	f.RetryAfter = time.Second
	if l != nil && l.until > now {
		f.RetryAfter = time.Duration(l.until-now) * time.Millisecond
	}
	return f
}

// Unlock forgets the failures of a credential.
func (s *Store) Unlock(ctx context.Context, account, username string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `delete from credential_locks where id = $1`, lockID(account, username))
		return err
	})
}

// ChangePassword seals the key under a new password. The old one is judged as
// in any attempt. It returns when no use under the old one is under way.
func (s *Store) ChangePassword(ctx context.Context, c *Credential, before, after string) error {
	err := s.attempt(ctx, c.holder(), !c.codeFollows(), func() error {
		leave, err := s.gates.enter(ctx, turnOf(c.AccountID))
		if err != nil {
			return err
		}
		defer leave()
		sealed, err := s.vault.Reprotect(ctx, c.owner(), c.sealed, before, after)
		if err != nil {
			return err
		}
		return s.db.Write(ctx, func(tx *store.Tx) error {
			if err := intent.Forbid(ctx, tx, intent.Certificate, c.ID); err != nil {
				return err
			}
			// What was opened must still be there: a key that was erased meanwhile does
			// not come back.
			n, err := tx.Exec(ctx, `update credentials set sealed = $1 where id = $2 and sealed = $3`, sealed, c.ID, c.sealed)
			if err == nil && n == 0 {
				err = fault.New(fault.WrongState, "the password or the certificate was changed meanwhile")
			}
			if err == nil {
				err = s.checkTold(ctx, tx, c.ID, c.Version(), true)
			}
			if err != nil {
				return err
			}
			return s.tell(ctx, tx, c.ID, nil)
		})
	})
	if err != nil {
		return err
	}
	return intent.Wait(ctx, s.db, intent.Certificate, c.ID)
}

// holder is whose password or code is judged. A username that does not exist
// has no certificate.
type holder struct{ account, username, certificate string }

func (h holder) lock() string { return lockID(h.account, h.username) }

func (c *Credential) holder() holder { return holder{c.AccountID, c.Username, c.ID} }

// lockID names a credential of an account, known or not, without keeping what
// somebody may have typed into the wrong field.
func lockID(account, username string) string {
	h := sha256.Sum256([]byte(account + "\x00" + username))
	return hex.EncodeToString(h[:])
}

// turnOf names the gate of an account before the derivations of the vault, which
// are dear and few at a time: an account that guesses a hundred names at once
// takes one place of them, and the others have theirs.
func turnOf(account string) string { return "account " + account }

// ForgetLocks drops the counts of failures that are a month old. Names that do
// not exist have them too, as many as somebody cares to type.
func (s *Store) ForgetLocks(ctx context.Context) error {
	now := store.Millis(s.config.Now())
	return s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `delete from credential_locks where hard = 0 and day < $1 and locked_until < $2`, now/dayMillis-30, now)
		return err
	})
}

// gates let one attempt on a credential pass at a time.
type gates struct {
	mu sync.Mutex
	m  map[string]*gate
}

func newGates() *gates { return &gates{m: map[string]*gate{}} }

type gate struct {
	turn chan struct{}
	wait int
}

func (g *gates) enter(ctx context.Context, id string) (leave func(), err error) {
	g.mu.Lock()
	t := g.m[id]
	if t == nil {
		t = &gate{turn: make(chan struct{}, 1)}
		g.m[id] = t
	}
	t.wait++
	g.mu.Unlock()
	done := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if t.wait--; t.wait == 0 {
			delete(g.m, id)
		}
	}
	select {
	case t.turn <- struct{}{}:
		return func() { <-t.turn; done() }, nil
	case <-ctx.Done():
		done()
		return nil, ctx.Err()
	}
}
