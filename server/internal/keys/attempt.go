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
	if now := store.Millis(s.config.Now()); s.namespace != "" && lock != nil && (lock.hard || lock.until > now) {
		return nil, s.locked(lock, now)
	}
	// A page that is locked is so for the right password too, held or not.
	if cred != nil && s.namespace == "" && s.vault.Held(cred.owner(), cred.sealed, password) != nil {
		return cred, s.checkHeld(ctx, cred, lock)
	}
	final := cred == nil || !cred.codeFollows()
	who := holder{namespace: s.namespace, account: account, username: username}
	switch {
	case cred != nil:
		who.certificate = cred.ID
	case account == "":
		who.username = s.slot(username)
	}
	err = s.attempt(ctx, who, final, func() error {
		leave, err := s.gates.enter(ctx, turnOf(account, username))
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
	id := lockID("", c.AccountID, c.Username)
	now := store.Millis(s.config.Now())
	if l.hard || l.until > now || l.until == 0 && l.failures >= s.config.LockAfter {
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
	return s.attempt(ctx, s.holderOf(c), true, func() error {
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
		return s.useCode(ctx, tx, c, step)
	})
}

// attempt runs one judgement. It is recorded before the judgement and settled before its result
// is returned, so a crash or parallel guesses gain nothing. Attempts on one credential run one
// after another. final says that success clears the failures in a row; otherwise it only
// removes its own record, so that a known password does not hide guesses at the one-time
// password.
func (s *Store) attempt(ctx context.Context, who holder, final bool, judge func() error) error {
	leave, err := s.gates.enter(ctx, who.lock())
	if err != nil {
		return err
	}
	defer leave()
	id, err := s.begin(ctx, who)
	if err != nil {
		return err
	}
	verdict := judge()
	ctx = context.WithoutCancel(ctx) // a caller that hangs up does not escape the count
	if errors.Is(verdict, ErrPassword) || errors.Is(verdict, ErrOTP) {
		if err := s.countFailure(ctx, who, id); err != nil {
			return err
		}
		return verdict
	}
	if err := s.removeAttempt(ctx, who, id, final && verdict == nil); err != nil {
		return errors.Join(verdict, err)
	}
	return verdict
}

// ChangePassword seals the key under a new password. The old one is judged as
// in any attempt. It returns when no use under the old one is under way.
func (s *Store) ChangePassword(ctx context.Context, c *Credential, before, after string) error {
	err := s.attempt(ctx, s.holderOf(c), !c.codeFollows(), func() error {
		leave, err := s.gates.enter(ctx, turnOf(c.AccountID, c.Username))
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
				err = s.checkLogged(ctx, tx, c.ID, c.Version(), true)
			}
			if err != nil {
				return err
			}
			return s.logCredential(ctx, tx, c.ID, nil)
		})
	})
	if err != nil {
		return err
	}
	return intent.Wait(ctx, s.db, intent.Certificate, c.ID)
}

// turnOf is the gate that an account waits at before the vault's key derivation, which is
// expensive and limited: an account that guesses a hundred names at once takes one place and
// leaves the others. Each unknown name has a gate of its own, like a known one; with a shared
// gate an attacker could flood it and tell from the delay which names exist.
func turnOf(account, username string) string {
	if account == "" {
		h := sha256.Sum256([]byte(username))
		return "name " + hex.EncodeToString(h[:])
	}
	return "account " + account
}

// slots bounds the rows that unknown names leave, so that the table cannot be filled through a
// public page. Which names share a slot cannot be known without the master key.
const slots = 1 << 16

func (s *Store) slot(username string) string {
	sum := s.master.MAC("unknown username", []byte(username))
	return fmt.Sprintf("slot %d", (int(sum[0])<<8|int(sum[1]))%slots)
}

// gates let one attempt on a credential run at a time.
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
