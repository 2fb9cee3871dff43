package account

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/store"
)

// A session lets a browser act as a token without having it: the cookie holds
// a secret of its own. Whatever the token loses, the session loses: it is judged
// by the token at every request, and ends with it.

// Session is a browser that is logged in.
type Session struct {
	Caller    *Caller
	Email     string // of the account
	Until     time.Time
	ID        string // for who looks at a list of them
	Own       bool   // its token was made for it, by a link of the operator
	createdAt time.Time
}

// Since is when the session began, with an authentication.
func (s *Session) Since() time.Time { return s.createdAt }

// Why a session is over.
const (
	SessionUnknown = "unknown" // there never was one, or it is long over
	SessionIdle    = "idle"    // nothing was done for a while
	SessionOld     = "old"     // it was open for as long as it may
	SessionLeft    = "left"    // by a log-out
	SessionToken   = "token"   // its token was revoked or has expired
)

// SessionEnded says that a browser is not logged in, or not any more.
type SessionEnded struct{ Why string }

func (e *SessionEnded) Error() string { return "the session has ended: " + e.Why }

// Lives of sessions and links, where the configuration does not say otherwise.
const (
	sessionIdle = 30 * time.Minute
	sessionLife = 12 * time.Hour
	linkLife    = 10 * time.Minute
	seenEvery   = time.Minute // that the time of the last request is written
	endedKept   = 24 * time.Hour
)

const (
	sessionPrefix = "rgs_"
	linkPrefix    = "rgl_"
)

// LogIn begins a session with a token, and refuses as a call with that token would be refused.
// The secret is for the browser's cookie.
func (s *Service) LogIn(ctx context.Context, r *http.Request, token string) (secret string, err error) {
	if !wellFormed(token, tokenPrefix) {
		return "", fault.New(fault.WrongToken, "wrong token")
	}
	e, err := s.entry(ctx, time.Now(), token, s.loadToken)
	if err != nil {
		return "", err
	}
	c, err := s.admit(ctx, r, time.Now(), e)
	if err != nil {
		return "", err
	}
	err = s.db.Write(ctx, func(tx *store.Tx) (err error) {
		secret, err = s.BeginSession(ctx, tx, c.AccountID, c.TokenID, Agent(r))
		return err
	})
	return secret, err
}

// Agent is the browser and the address of a request, as a list of sessions shows them.
func Agent(r *http.Request) string {
	name := strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, r.UserAgent())
	return addressOf(r.RemoteAddr).String() + " " + name[:min(len(name), 200)]
}

// BeginSession lets a browser act as a token of an account; the caller has authenticated the
// person.
func (s *Service) BeginSession(ctx context.Context, tx *store.Tx, account, token, agent string) (string, error) {
	return s.beginSession(ctx, tx, account, token, agent, false)
}

func (s *Service) beginSession(ctx context.Context, tx *store.Tx, account, token, agent string, own bool) (string, error) {
	secret, now := newSecret(sessionPrefix), s.now().UnixMilli()
	hash := s.hash(secret)
	_, err := tx.Exec(ctx, `insert into console_sessions (hash, account_id, token_id, own, created_at, seen_at, agent, mac) values ($1, $2, $3, $4, $5, $5, $6, $7)`,
		hash[:], account, token, own, now, agent, s.sessionMark(hash[:], account, token, own, now, agent))
	return secret, err
}

// sessionMark is the keyed digest of a session's row, which rejects a row changed to name
// another token.
func (s *Service) sessionMark(hash []byte, account, token string, own bool, created int64, agent string) []byte {
	sum := s.master.MAC("console session", fmt.Appendf(nil, "%x %q %q %t %d %q", hash, account, token, own, created, agent))
	return sum[:]
}

// Session finds the session of a browser and judges this request as one with its
// token. Where the session is over the error is a *SessionEnded; other errors are
// those of Authenticate.
func (s *Service) Session(ctx context.Context, r *http.Request, secret string) (*Session, error) {
	if !wellFormed(secret, sessionPrefix) {
		return nil, &SessionEnded{SessionUnknown}
	}
	hash := s.hash(secret)
	var account, token, agent, email string
	var own bool
	var created, seen, ended int64
	var mac []byte
	err := s.db.Read().QueryRow(ctx, `select s.account_id, s.token_id, s.own, s.created_at, s.seen_at, s.ended_at, s.agent, s.mac, a.email
		from console_sessions s join accounts a on a.id = s.account_id where s.hash = $1`, hash[:]).
		Scan(&account, &token, &own, &created, &seen, &ended, &agent, &mac, &email)
	if errors.Is(err, store.ErrNoRows) {
		return nil, &SessionEnded{SessionUnknown}
	}
	if err != nil {
		return nil, fmt.Errorf("read session: %w", err)
	}
	now := s.now()
	out := &Session{Email: email, ID: sessionID(hash[:]), Own: own, createdAt: store.Time(created), Until: store.Time(created).Add(s.cfg.SessionLife)}
	switch {
	case !hmac.Equal(mac, s.sessionMark(hash[:], account, token, own, created, agent)):
		s.cfg.Log.WarnContext(ctx, "the row of a session was not written by this service: it is no session")
		return nil, &SessionEnded{SessionUnknown}
	case ended != 0:
		return nil, &SessionEnded{SessionLeft}
	case !now.Before(out.Until):
		return nil, &SessionEnded{SessionOld}
	case !now.Before(store.Time(seen).Add(s.cfg.SessionIdle)):
		return nil, &SessionEnded{SessionIdle}
	}
	e, err := s.entry(ctx, time.Now(), "id "+token, func(ctx context.Context, _ string) (*entry, error) { return s.loadEntry(ctx, "id", token) })
	var f *fault.Error
	if errors.As(err, &f) && f.Code == fault.WrongToken {
		return nil, &SessionEnded{SessionToken}
	}
	if err != nil {
		return nil, err
	}
	if e.caller.AccountID != account || !e.expire.IsZero() && !now.Before(e.expire) {
		return nil, &SessionEnded{SessionToken}
	}
	if !e.expire.IsZero() && out.Until.After(e.expire) {
		out.Until = e.expire
	}
	if now.Sub(store.Time(seen)) > seenEvery {
		err := s.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `update console_sessions set seen_at = $2 where hash = $1 and seen_at < $2`, hash[:], now.UnixMilli())
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	out.Caller, err = s.admit(ctx, r, time.Now(), e)
	return out, err
}

// LogOut ends the session of a browser, and the token that was made for it. A
// session that is over already stays so.
func (s *Service) LogOut(ctx context.Context, secret string) error {
	if !wellFormed(secret, sessionPrefix) {
		return nil
	}
	hash := s.hash(secret)
	var account, token string
	var own bool
	err := s.db.Write(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(ctx, `update console_sessions set ended_at = $2 where hash = $1 and ended_at = 0 returning account_id, token_id, own`, hash[:], s.now().UnixMilli()).
			Scan(&account, &token, &own)
		if errors.Is(err, store.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil || !own {
		return err
	}
	err = s.DeleteToken(ctx, &Caller{AccountID: account}, token)
	if errors.Is(err, fault.NotFound) {
		return nil // it was revoked before
	}
	return err
}

// sessionID names a session to people; it is no secret.
func sessionID(hash []byte) string { return hex.EncodeToString(hash[:12]) }

// Listed is a session as a list shows it.
type Listed struct {
	ID, Token, Agent string
	Since, Seen      time.Time
	hash             []byte
}

// Sessions are those of an account that are open, the latest first; of a token, where one
// is named.
func (s *Service) Sessions(ctx context.Context, account, token string) (all []Listed, err error) {
	now := s.now()
	rows, err := s.db.Read().Query(ctx, `select hash, token_id, own, created_at, seen_at, agent, mac from console_sessions
		where account_id = $1 and ended_at = 0 and created_at > $2 and seen_at > $3 and ($4 = '' or token_id = $4) order by created_at desc limit 200`,
		account, now.Add(-s.cfg.SessionLife).UnixMilli(), now.Add(-s.cfg.SessionIdle).UnixMilli(), token)
	return all, store.Each("list sessions", rows, err, func(row store.Row) error {
		var l Listed
		var hash, mac []byte
		var own bool
		var created, seen int64
		if err := row.Scan(&hash, &l.Token, &own, &created, &seen, &l.Agent, &mac); err != nil {
			return err
		}
		if hmac.Equal(mac, s.sessionMark(hash, account, l.Token, own, created, l.Agent)) {
			l.ID, l.hash, l.Since, l.Seen = sessionID(hash), hash, store.Time(created), store.Time(seen)
			all = append(all, l)
		}
		return nil
	})
}

// EndSession ends a session of an account, of a token where one is named; fault 140 for
// none.
func (s *Service) EndSession(ctx context.Context, account, token, id string) error {
	all, err := s.Sessions(ctx, account, token)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.ID != id {
			continue
		}
		return s.db.Write(ctx, func(tx *store.Tx) error {
			_, err := tx.Exec(ctx, `update console_sessions set ended_at = $2 where hash = $1 and ended_at = 0`, l.hash, s.now().UnixMilli())
			return err
		})
	}
	return fault.New(fault.NotFound, "there is no such session")
}

// EndSessions ends all sessions that came from a token.
func (s *Service) EndSessions(ctx context.Context, tx *store.Tx, account, token string) error {
	_, err := tx.Exec(ctx, `update console_sessions set ended_at = $3 where account_id = $1 and token_id = $2 and ended_at = 0`, account, token, s.now().UnixMilli())
	return err
}

// LoginLink makes the secret of a link that logs a browser in to an account,
// once, within ten minutes.
func (s *Service) LoginLink(ctx context.Context, accountID string) (secret string, until time.Time, err error) {
	secret, until = newSecret(linkPrefix), s.now().Add(linkLife)
	hash := s.hash(secret)
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `insert into console_links (hash, account_id, expire_at, mac) values ($1, $2, $3, $4)`,
			hash[:], accountID, until.UnixMilli(), s.linkMark(hash[:], accountID, until.UnixMilli()))
		return err
	})
	return secret, until, err
}

func (s *Service) linkMark(hash []byte, account string, expire int64) []byte {
	sum := s.master.MAC("console link", fmt.Appendf(nil, "%x %q %d", hash, account, expire))
	return sum[:]
}

// LogInByLink begins a session by a link. It has a token of its own, of all
// scopes, which lives as long as a session may, and ends when it is left.
func (s *Service) LogInByLink(ctx context.Context, link, agent string) (secret string, err error) {
	wrong := fault.New(fault.WrongToken, "the link was used already, or its time is over")
	if !wellFormed(link, linkPrefix) {
		return "", wrong
	}
	hash := s.hash(link)
	err = s.db.Write(ctx, func(tx *store.Tx) error {
		var account string
		var expire int64
		var mac []byte
		err := tx.QueryRow(ctx, `delete from console_links where hash = $1 returning account_id, expire_at, mac`, hash[:]).Scan(&account, &expire, &mac)
		if errors.Is(err, store.ErrNoRows) || err == nil && (!hmac.Equal(mac, s.linkMark(hash[:], account, expire)) || !s.now().Before(store.Time(expire))) {
			return wrong
		}
		if err != nil {
			return err
		}
		t, err := s.CreateToken(ctx, tx, &Caller{AccountID: account}, NewToken{Name: "console", Scopes: []string{AllScopes}, Life: s.cfg.SessionLife})
		if err != nil {
			return err
		}
		secret, err = s.beginSession(ctx, tx, account, t.ID, agent, true)
		return err
	})
	return secret, err
}

// LinkGood says whether a link would log in, and to which account, without
// using it up.
func (s *Service) LinkGood(ctx context.Context, link string) (email string, err error) {
	hash := s.hash(link)
	err = s.db.Read().QueryRow(ctx, `select a.email from console_links l join accounts a on a.id = l.account_id where l.hash = $1 and l.expire_at > $2`,
		hash[:], s.now().UnixMilli()).Scan(&email)
	if errors.Is(err, store.ErrNoRows) {
		return "", nil
	}
	return email, err
}

// SweepSessions forgets sessions and links that have long been over.
func (s *Service) SweepSessions(ctx context.Context) error {
	return s.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
		now := s.now()
		if _, err := tx.Exec(ctx, `delete from console_sessions where created_at < $1`, now.Add(-s.cfg.SessionLife-endedKept).UnixMilli()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `delete from console_links where expire_at < $1`, now.UnixMilli())
		return err
	})
}
