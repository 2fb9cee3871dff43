package member

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/member/passkey"
	"rogito.dev/rogito/server/internal/store"
)

// Why a log-in is refused. ErrWrong does not say what was wrong.
var (
	ErrWrong  = errors.New("member: the address, the password or the code is wrong")
	ErrLocked = errors.New("member: too many wrong tries")
)

// mostAccounts bounds the accounts that one address can be a person of, and log in to.
const mostAccounts = 8

// LogIn begins a session for an address, a password and a code. An unknown address takes as
// long, and is locked just the same.
func (s *Service) LogIn(ctx context.Context, r *http.Request, email, password, code string) (secret string, err error) {
	email = strings.ToLower(strings.TrimSpace(email))
	rows, err := s.DB.Read().Query(ctx, selectMembers+`where email = $1 and seat <> '' order by id limit $2`, email, mostAccounts)
	all, err := store.All("read people", rows, err, func(row store.Row) (*Member, error) {
		m, err := s.scan(row)
		if errors.Is(err, errForged) {
			return &Member{}, nil // as if there were no such person
		}
		return m, err
	})
	if err != nil {
		return "", err
	}
	var found *Member
	err = s.guesses.Guess(ctx, email, len(all) > 0, func() error {
		tried := false
		for _, m := range all {
			if len(m.Password) == 0 {
				continue
			}
			tried = true
			err := s.Keys.Vault().CheckPassword(ctx, passwordOf(m), m.Password, password)
			if errors.Is(err, keys.ErrPassword) {
				continue
			}
			if err != nil {
				return err
			}
			step, err := keys.Step(m.TOTP, code, s.Now())
			if err != nil {
				return err
			}
			if step == 0 {
				continue
			}
			found = m
			secret, err = s.begin(ctx, r, m, "password", fmt.Sprintf("%s-%d", m.ID, step))
			if errors.Is(err, audit.ErrTwice) || errors.Is(err, fault.NotFound) {
				found, err = nil, keys.ErrPassword
			}
			return err
		}
		if !tried {
			if err := s.Keys.Vault().Pretend(ctx, password); err != nil {
				return err
			}
		}
		return keys.ErrPassword
	})
	var f *fault.Error
	switch {
	case errors.Is(err, keys.ErrPassword):
		return "", ErrWrong
	case errors.As(err, &f) && f.Code == fault.CertificateLocked:
		return "", ErrLocked
	case err != nil || found == nil:
		return "", err
	}
	return secret, nil
}

// begin begins the session of a person who was judged; once is what they were judged by,
// which counts once.
func (s *Service) begin(ctx context.Context, r *http.Request, m *Member, how, once string) (secret string, err error) {
	if m, err = s.genuine(ctx, m, nil); err != nil {
		return "", err
	}
	if err := s.renew(ctx, m); err != nil {
		return "", err
	}
	err = s.DB.Write(ctx, func(tx *store.Tx) error {
		// The row is held from here on: of two with one code the second sees the first.
		if err := tx.Expect(ctx, 1, noMember(), `update members set account_id = account_id where id = $1 and sealed = $2`, m.ID, m.sealed); err != nil {
			return err
		}
		if s.Log != nil {
			if err := s.Log.Once(ctx, tx, audit.Event{Account: m.Account, Record: once, Kind: "member-proof", Log: "a proof of a person was used"}); err != nil {
				return err
			}
		}
		if err := s.logEvent(ctx, tx, m, "login", "a person logged in", map[string]any{"by": "person " + m.ID, "how": how, "agent": account.Agent(r)}); err != nil {
			return err
		}
		secret, err = s.Accounts.BeginSession(ctx, tx, m.Account, m.Seat, account.Agent(r))
		return err
	})
	return secret, err
}

// renewBefore is how long before its end the token of a person is prolonged.
const renewBefore = 300 * 24 * time.Hour

// renew prolongs the token of a person, or makes a new one: it lives for a year after the last
// log-in.
func (s *Service) renew(ctx context.Context, m *Member) error {
	t, err := s.Accounts.FindToken(ctx, m.Account, m.Seat)
	if err == nil && t.ExpireAt.After(s.Now().Add(renewBefore)) {
		return nil
	}
	if err == nil && t.ExpireAt.After(s.Now()) {
		life := 365 * 24 * time.Hour
		_, err = s.Accounts.ChangeToken(ctx, &account.Caller{AccountID: m.Account}, "", m.Seat, account.TokenChange{Life: &life})
		return err
	}
	if err != nil && !errors.Is(err, fault.NotFound) {
		return err
	}
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.sit(ctx, tx, m); err != nil {
			return err
		}
		return s.save(ctx, tx, m)
	})
}

// challengeLife is how long a browser has for a passkey.
const challengeLife = 30 * time.Minute

// Challenge is what a passkey signs: the time, chance, and a keyed digest of both. It is
// stored nowhere; that it counts once the log sees to.
func (s *Service) Challenge() []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.Now().UnixMilli()))
	b = append(b, make([]byte, 16)...)
	_, _ = rand.Read(b[8:])
	sum := s.Master.MAC("passkey challenge", b)
	return append(b, sum[:16]...)
}

// asked refuses a challenge that is not ours, or too old.
func (s *Service) asked(response []byte) ([]byte, error) {
	c, err := passkey.Challenge(response)
	if err != nil || len(c) != 40 {
		return nil, errors.Join(ErrPasskey, err)
	}
	sum := s.Master.MAC("passkey challenge", c[:24])
	age := s.Now().Sub(time.UnixMilli(int64(binary.BigEndian.Uint64(c))))
	if !hmac.Equal(sum[:16], c[24:]) || age > challengeLife || age < -time.Minute {
		return nil, ErrPasskey
	}
	return c, nil
}

// User is a person as a passkey knows them.
func (m *Member) User() passkey.User {
	return passkey.User{ID: m.ID, Name: m.Email, Keys: m.Passkeys}
}

func (s *Service) register(m *Member, p Proof) (passkey.Key, error) {
	c, err := s.asked(p.Passkey)
	if err != nil {
		return nil, err
	}
	key, err := p.Party.Register(m.User(), c, p.Passkey)
	if err != nil {
		return nil, errors.Join(ErrPasskey, err)
	}
	return key, nil
}

// LogInByPasskey begins a session for the person of a passkey.
func (s *Service) LogInByPasskey(ctx context.Context, r *http.Request, party passkey.Party, response []byte) (string, error) {
	c, err := s.asked(response)
	if err != nil {
		return "", err
	}
	var found *Member
	err = party.Verify(c, response, func(id string) (*passkey.User, error) {
		m, err := s.scan(s.DB.Read().QueryRow(ctx, selectMembers+`where id = $1 and seat <> ''`, id))
		if m, err = s.genuine(ctx, m, err); err != nil {
			return nil, err
		}
		found = m
		u := m.User()
		return &u, nil
	})
	if err != nil {
		return "", errors.Join(ErrPasskey, err)
	}
	secret, err := s.begin(ctx, r, found, "passkey", fmt.Sprintf("%s-%x", found.ID, c[:24]))
	if errors.Is(err, audit.ErrTwice) {
		err = ErrPasskey
	}
	return secret, err
}
