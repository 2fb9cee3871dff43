package account

import (
	"context"
	"errors"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/store"
)

// errSpent is returned for a refresh token presented a second time.
var errSpent = errors.New("account: refresh token was used already")

// RotateToken replaces the token whose refresh token the caller presented by a
// new one with the same rights; the old pair is void. The new one lives as long
// as the old one was to live, but no longer than its parent, and its line no
// longer than a year. A refresh token that is presented a second time ends the
// line: one of the two who hold it has stolen it. What billing has counted for the
// old one is to be written before, and goes along.
func (s *Service) RotateToken(ctx context.Context, c *Caller, name string) (*Token, error) {
	stranger := fault.New(fault.WrongToken, "the refresh token does not belong to this token")
	where, arg, err := s.tokenKey(name)
	if err != nil || store.IsID(name) && name != c.TokenID {
		return nil, stranger
	}
	id, secret, refresh := store.NewID(), newSecret(tokenPrefix), newSecret(refreshPrefix)
	var next Token
	now := time.Now().UTC()
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		old, err := s.readFamily(ctx, tx, "id", c.TokenID)
		if err != nil {
			return err
		}
		if len(old) == 0 {
			return errSpent
		}
		var life, line int64
		err = tx.QueryRow(ctx, `select life, line_until from tokens where id = $1 and `+where, c.TokenID, arg).Scan(&life, &line)
		if errors.Is(err, store.ErrNoRows) {
			return stranger
		}
		if err != nil {
			return err
		}
		end := old[1:].until(now.Add(min(time.Duration(life)*time.Millisecond, store.Time(line).Sub(now))))
		if !old.alive() || !end.After(now) {
			return fault.New(fault.WrongToken, "the token has expired")
		}
		_, err = tx.Exec(ctx, `insert into spent_tokens (refresh_hash, token_id, account_id, line_id, spent_at, mac)
			values ($1, $2, $3, $4, $5, $6)`, old[0].refresh, c.TokenID, old[0].account, old[0].line, now.UnixMilli(), s.spentMark(c.TokenID, old[0].line))
		if store.IsConflict(err) {
			return errSpent
		}
		if err == nil {
			err = Spent.Write(ctx, tx, s.Log, "spent-"+c.TokenID)
		}
		if err != nil {
			return err
		}
		// The row stays, with its limits, what it has used of them, and its children.
		hash, refreshHash := s.hash(secret), s.hash(refresh)
		row := old[0].tokenRow
		row.id, row.hash, row.refresh, row.expireAt = id, hash[:], refreshHash[:], end.UnixMilli()
		next, err = scanToken(tx.QueryRow(ctx, `update tokens set id = $2, hash = $3, refresh_hash = $4, last_four = $5, expire_at = $6, created_at = $7, updated_at = $7, mac = $8
			where id = $1 returning `+tokenColumns, c.TokenID, id, hash[:], refreshHash[:], lastFour(secret), row.expireAt, now.UnixMilli(), s.mark(&row)))
		if errors.Is(err, store.ErrNoRows) {
			return errSpent
		}
		if err == nil {
			err = Tokens.Write(ctx, tx, s.Log, row.line)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update usage_days set token_id = $3 where account_id = $1 and token_id = $2`, c.AccountID, c.TokenID, id)
		return err
	})
	if errors.Is(err, errSpent) {
		return nil, errors.Join(s.endLine(ctx, "token_id", c.TokenID), fault.New(fault.WrongToken, "the refresh token was used already: its line has ended"))
	}
	s.dropEntries(c.TokenID)
	if err != nil {
		return nil, err
	}
	next.Secret, next.Refresh = secret, refresh
	next.Stats.Addresses, err = s.tokenAddresses(ctx, c.AccountID, id)
	return &next, err
}

// endLine deletes the token that a spent refresh token has led to, and all that
// come from it.
func (s *Service) endLine(ctx context.Context, column string, value any) error {
	var account string
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(ctx, `select account_id from tokens where line_id in (select line_id from spent_tokens where `+column+` = $1)`, value).Scan(&account)
		if errors.Is(err, store.ErrNoRows) {
			return nil // it has ended before
		}
		if err == nil {
			_, err = s.EndTokens(ctx, tx, account, `line_id in (select line_id from spent_tokens where `+column+` = $1)`, value)
		}
		if err != nil {
			return err
		}
		return intent.Forbid(ctx, tx, intent.Account, account)
	})
	if err != nil || account == "" {
		return err
	}
	s.entries.Clear()
	s.cfg.Log.WarnContext(ctx, "a refresh token was used twice: its line has ended")
	return intent.Wait(ctx, s.db, intent.Account, account)
}

// spent says whether a refresh token was used before; if so, its line ends.
func (s *Service) spent(ctx context.Context, hash []byte) error {
	var some bool
	err := s.db.Read().QueryRow(ctx, `select exists (select 1 from spent_tokens where refresh_hash = $1)`, hash).Scan(&some)
	if err != nil || !some {
		return err
	}
	return s.endLine(ctx, "refresh_hash", hash)
}
