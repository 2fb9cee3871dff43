package keys

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// How an attempt is counted. A row is written before the password or code is judged, and counts as
// a failure until the judgement is settled as a failure or none. A process that dies leaves its
// attempt unsettled. That attempt counts as if it were under way for attemptTime, and is then
// forgiven: the caller never got an answer, and so learned nothing. No more attempts are forgiven
// in a day than failures are allowed, so an attacker who can kill the server at will, and can
// somehow learn what it was about to answer, at most doubles the guesses of a day.

// attemptTime is how long an unsettled attempt counts as a failure. One that takes longer is still
// settled. Attempts of one process wait for one another, so no more are ever under way than there
// are servers.
const attemptTime = 30 * time.Second

const dayMillis = 24 * 60 * 60 * 1000

// holder is whose password or code is judged, and where. A username that does not
// exist has no certificate.
type holder struct{ namespace, account, username, certificate string }

func (h holder) lock() string { return lockID(h.namespace, h.account, h.username) }

func (s *Store) holderOf(c *Credential) holder {
	return holder{s.namespace, c.AccountID, c.Username, c.ID}
}

// lockID is the key of a credential's lock, for known and unknown names alike. It is a digest,
// since people type passwords into the wrong field.
func lockID(namespace, account, username string) string {
	h := sha256.Sum256([]byte(namespace + account + "\x00" + username))
	return hex.EncodeToString(h[:])
}

// begin writes an attempt down, unless the credential is locked.
func (s *Store) begin(ctx context.Context, who holder) (attempt string, err error) {
	attempt = store.NewID()
	now := store.Millis(s.config.Now())
	var refused error
	reached := false
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		refused, reached = nil, false
		var failures, under, cut int
		err := tx.QueryRow(ctx, `insert into credential_locks (id, failures, day, day_failures, locked_until, hard)
			values ($1, 0, $2, 0, 0, 0)
			on conflict (id) do update set
				failures = case when credential_locks.locked_until > 0 then 0 else credential_locks.failures end,
				day_failures = case when credential_locks.day = $2 then credential_locks.day_failures else 0 end,
				day = $2, locked_until = 0
			where credential_locks.hard = 0 and credential_locks.locked_until <= $3 returning failures`,
			who.lock(), now/dayMillis, now).Scan(&failures)
		if errors.Is(err, store.ErrNoRows) {
			refused = s.locked(nil, now)
			return nil
		}
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, `select coalesce(sum(case when begun_at > $2 then 1 else 0 end), 0), coalesce(sum(case when begun_at <= $2 then 1 else 0 end), 0)
			from credential_attempts where lock_id = $1 and begun_at >= $3`, who.lock(), now-attemptTime.Milliseconds(), now-now%dayMillis-attemptTime.Milliseconds()).Scan(&under, &cut)
		switch {
		case err != nil:
			return err
		case failures >= s.config.LockAfter: // the attempt that reached the limit failed to lock
			reached = true
			return nil
		case failures+under >= s.config.LockAfter:
			refused = s.locked(nil, now)
			return nil
		case cut >= s.config.DayLimit:
			refused = s.locked(&lock{until: now - now%dayMillis + dayMillis}, now)
			return nil
		}
		return tx.Later(ctx, `insert into credential_attempts (id, lock_id, begun_at) values ($1, $2, $3)`, attempt, who.lock(), now)
	})
	switch {
	case err != nil:
		return "", fmt.Errorf("count attempt: %w", err)
	case reached:
		if err := s.shut(ctx, who); err != nil {
			return "", errors.Join(s.locked(nil, now), err)
		}
	case refused == nil:
		return attempt, nil
	}
	if l, err := s.readLock(ctx, who.lock()); err != nil || l != nil && (l.hard || l.until > now) {
		return "", errors.Join(err, s.locked(l, now))
	}
	return "", refused
}

// countFailure counts a failure, and locks after too many. The count is written
// first: where the lock cannot be told, the credential stays shut all the same.
func (s *Store) countFailure(ctx context.Context, who holder, attempt string) error {
	var failures, day int
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Later(ctx, `delete from credential_attempts where id = $1`, attempt); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `update credential_locks set failures = failures + 1, day_failures = day_failures + 1 where id = $1 returning failures, day_failures`, who.lock()).
			Scan(&failures, &day)
	})
	if err != nil {
		return fmt.Errorf("count failure: %w", err)
	}
	if failures < s.config.LockAfter && day < s.config.DayLimit {
		return nil
	}
	return s.shut(ctx, who)
}

// shut locks a name, and logs the lock in the same transaction.
func (s *Store) shut(ctx context.Context, who holder) error {
	until := store.Millis(s.config.Now().Add(s.config.LockFor))
	return s.db.Write(ctx, func(tx *store.Tx) error {
		n, err := tx.Exec(ctx, `update credential_locks set
				locked_until = case when failures >= $2 then $3 else locked_until end,
				hard = case when day_failures >= $4 then 1 else hard end
			where id = $1 and (failures >= $2 or day_failures >= $4)`, who.lock(), s.config.LockAfter, until, s.config.DayLimit)
		if err != nil || n == 0 {
			return err
		}
		if who.namespace == "" {
			if err := intent.Forbid(ctx, tx, intent.Certificate, who.certificate); err != nil {
				return err
			}
		}
		if s.config.Locked == nil {
			return nil
		}
		return s.config.Locked(ctx, tx, who.account, who.certificate, who.namespace != "")
	})
}

// removeAttempt removes an attempt that succeeded. Where it clears, those that others left
// behind are no failures in a row any more.
func (s *Store) removeAttempt(ctx context.Context, who holder, attempt string, clear bool) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if clear {
			if err := tx.Later(ctx, `update credential_locks set failures = 0 where id = $1`, who.lock()); err != nil {
				return err
			}
			over := store.Millis(s.config.Now().Add(-attemptTime))
			if err := tx.Later(ctx, `update credential_attempts set begun_at = $2 where lock_id = $1 and begun_at > $2`, who.lock(), over); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `delete from credential_attempts where id = $1`, attempt)
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
	if l != nil && l.hard {
		return fault.New(fault.CertificateLocked, "the certificate is locked after too many failures in a day; the operator can unlock it")
	}
	f := fault.New(fault.CertificateLocked, "the certificate is locked after wrong passwords or one-time passwords")
	f.RetryAfter = time.Second
	if l != nil && l.until > now {
		f.RetryAfter = time.Duration(l.until-now) * time.Millisecond
	}
	return f
}

// Left is how many more wrong passwords or codes in a row are allowed, and how long the
// credential is locked after them.
func (s *Store) Left(ctx context.Context, account, username string) (int, time.Duration, error) {
	var failures int
	err := s.db.Read().QueryRow(ctx, `select failures from credential_locks where id = $1`, lockID("", account, username)).Scan(&failures)
	if err != nil && !errors.Is(err, store.ErrNoRows) {
		return 0, 0, fmt.Errorf("read failures: %w", err)
	}
	return max(0, s.config.LockAfter-failures), s.config.LockFor, nil
}

// Unlock forgets the failures of a credential.
func (s *Store) Unlock(ctx context.Context, account, username string) error {
	return s.db.Write(ctx, func(tx *store.Tx) error {
		for _, namespace := range []string{"", publicNamespace} {
			for _, statement := range []string{`delete from credential_locks where id = $1`, `delete from credential_attempts where lock_id = $1`} {
				if _, err := tx.Exec(ctx, statement, lockID(namespace, account, username)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// ForgetLocks deletes counts of failures that are a month old, and attempts of past days.
// Unknown names have rows too, so their number has no bound otherwise.
func (s *Store) ForgetLocks(ctx context.Context) error {
	now := store.Millis(s.config.Now())
	return s.db.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, `delete from credential_attempts where begun_at < $1`, now-2*dayMillis); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `delete from credential_locks where hard = 0 and day < $1 and locked_until < $2`, now/dayMillis-30, now)
		return err
	})
}
