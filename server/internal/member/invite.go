package member

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/mail"
	"rogito.dev/rogito/server/internal/member/passkey"
	"rogito.dev/rogito/server/internal/store"
)

// linkLife is how long an invitation is good.
const linkLife = 24 * time.Hour

// mailJob sends an invitation.
const mailJob = "member-mail"

// Register has invitations sent; before the queue starts.
func (s *Service) Register() {
	s.Jobs.Register(mailJob, job.Kind{Attempts: mail.Attempts, Work: s.send})
}

// Invite invites a person to the console of an account. by is the caller, nil for the operator.
// lineage is the line of the caller's token (see kin), empty for people and for the operator.
func (s *Service) Invite(ctx context.Context, by *account.Caller, acct, lineage, email, name string, role Role) (*Member, error) {
	email, err := account.Email(email)
	if err != nil {
		return nil, err
	}
	if name, err = checkName(name); err != nil {
		return nil, err
	}
	if scopes[role] == nil {
		return nil, fault.New(fault.BadField, "there is no such role")
	}
	if by != nil {
		if err := s.Accounts.MayGive(ctx, by, scopes[role]); err != nil {
			return nil, err
		}
	}
	all, err := s.List(ctx, acct)
	if err != nil {
		return nil, err
	}
	if len(all) >= most {
		return nil, fault.New(fault.BadField, "an account has at most %d people", most)
	}
	for _, m := range all {
		if m.Email == email {
			return nil, fault.New(fault.BadField, "%s is among the people of this account already", email)
		}
	}
	if lineage, err = s.line(ctx, by, lineage); err != nil {
		return nil, err
	}
	m := &Member{ID: store.NewID(), Account: acct, Email: email, Name: name, Role: role, Lineage: lineage, CreatedAt: s.Now().UTC().Truncate(time.Millisecond)}
	return m, s.open(ctx, m, "a person was invited")
}

// line is the line of the caller: of a person, the one that they were invited with.
func (s *Service) line(ctx context.Context, by *account.Caller, lineage string) (string, error) {
	if by == nil || by.Member == "" {
		return lineage, nil
	}
	m, err := s.Find(ctx, by.AccountID, by.Member)
	if err != nil {
		return "", err
	}
	return m.Lineage, nil
}

// Shows reports whether the caller may see the link of a person. A token may not see a link
// that others made, since the person who joins by it counts as apart from the token.
func (s *Service) Shows(m *Member, lineage string) bool { return lineage == "" || lineage == m.Lineage }

// Again makes a new link for a person and ends the previous one. The person who opens it
// chooses a new passkey or password, and belongs to the line of the caller.
func (s *Service) Again(ctx context.Context, by *account.Caller, lineage, id string) (*Member, error) {
	m, err := s.Find(ctx, by.AccountID, id)
	if err != nil {
		return nil, err
	}
	if err := s.Accounts.MayGive(ctx, by, scopes[m.Role]); err != nil {
		return nil, err
	}
	if lineage, err = s.line(ctx, by, lineage); err != nil {
		return nil, err
	}
	m.Lineage = cmp.Or(lineage, m.Lineage)
	return m, s.open(ctx, m, "a person was sent a new link")
}

// open makes the link of a person and has it sent.
func (s *Service) open(ctx context.Context, m *Member, text string) error {
	m.Nonce, m.Until = rand.Text(), s.Now().UTC().Add(linkLife).Truncate(time.Millisecond)
	return s.DB.Write(ctx, func(tx *store.Tx) error {
		if err := s.save(ctx, tx, m); err != nil {
			return err
		}
		if err := s.logEvent(ctx, tx, m, "invited", text, nil); err != nil {
			return err
		}
		if s.Mail == nil {
			return nil
		}
		s.Jobs.Wake(tx, "work")
		return job.Put(ctx, tx, job.Item{Kind: mailJob, ID: m.ID + " " + m.Nonce[:8], Account: m.Account, Detail: m.ID})
	})
}

// secret of the link that is open. It is stored nowhere.
func (s *Service) secret(m *Member) string {
	sum := s.Master.MAC("member link", fmt.Appendf(nil, "%q %q", m.ID, m.Nonce))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Link is the address of an invitation; empty where none is open.
func (s *Service) Link(m *Member) string {
	if m.Nonce == "" || !s.Now().Before(m.Until) {
		return ""
	}
	return s.URL() + "/console/join/" + m.ID + "/" + s.secret(m)
}

// Sends says that invitations go by mail.
func (s *Service) Sends() bool { return s.Mail != nil }

// letters are in both languages, since the reader's is not known.
var letters = struct{ subject, text string }{
	"Your access to the console / Il tuo accesso alla console",
	"%s invites you to the console of %s.\n\nOpen this link to choose how you log in. It is good once, for a day:\n%s\n\nIf you do not know what this is about, do nothing.\n\n" +
		"%s ti invita alla console di %s.\n\nApri questo collegamento per scegliere come accedere. Vale una volta, per un giorno:\n%s\n\nSe non sai di che cosa si tratta, non fare nulla.\n",
}

// send sends an invitation, unless it is over.
func (s *Service) send(ctx context.Context, i job.Item) error {
	m, err := s.Find(ctx, i.Account, i.Detail)
	if errors.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	link := s.Link(m)
	if link == "" || s.Mail == nil {
		return nil
	}
	a, err := s.Accounts.ByID(ctx, m.Account)
	if err != nil {
		return err
	}
	return s.Mail.Send(ctx, mail.Message{
		ID: "invitation-" + m.ID + "-" + m.Nonce[:8], To: []string{m.Email}, Subject: letters.subject, Text: fmt.Sprintf(letters.text, a.Email, a.Email, link, a.Email, a.Email, link),
	})
}

// Invited is the person whom a link is for; nil: it was used, its time is over, or it
// never was one.
func (s *Service) Invited(ctx context.Context, id, secret string) (*Member, error) {
	m, err := s.scan(s.DB.Read().QueryRow(ctx, selectMembers+`where id = $1`, id))
	if m, err = s.genuine(ctx, m, err); errors.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil || m.Nonce == "" || !s.Now().Before(m.Until) || !hmac.Equal([]byte(secret), []byte(s.secret(m))) {
		return nil, err
	}
	return m, nil
}

// Lengths of passwords.
const (
	LeastPassword = 12
	mostPassword  = 200
)

// Proof is how a person will log in: a passkey, or a password with a device that shows
// codes.
type Proof struct {
	Passkey []byte // what the browser made; empty: a password
	Party   passkey.Party

	Password, Code string
	Device         string // sealed secret of the device, from NewDevice
}

// NewDevice makes the secret of a device that shows codes, for a person: itself, and
// sealed for a form.
func (s *Service) NewDevice(m *Member) (secret, sealed string, err error) {
	secret = keys.NewTOTPSecret()
	b, err := s.Master.SealFor("member device", m.owner()+" "+m.Nonce, []byte(secret))
	return secret, base64.RawURLEncoding.EncodeToString(b), err
}

// Device opens what NewDevice sealed.
func (s *Service) Device(m *Member, sealed string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(sealed)
	if err == nil {
		b, err = s.Master.UnsealFor("member device", m.owner()+" "+m.Nonce, b)
	}
	if err != nil {
		return "", fault.New(fault.BadField, "the form is not complete: load the page again")
	}
	return string(b), nil
}

// Reasons why a proof is not taken.
var (
	ErrShort   = errors.New("member: the password is too short, or too long")
	ErrCode    = errors.New("member: the code is wrong")
	ErrPasskey = errors.New("member: the passkey was not accepted")
)

// Join takes an invitation up: from now on the person logs in by this proof alone. The
// link is used up. The secret is for the cookie of the browser, which is logged in.
func (s *Service) Join(ctx context.Context, r *http.Request, m *Member, p Proof) (secret string, err error) {
	how := "password"
	if len(p.Passkey) > 0 {
		how = "passkey"
		key, err := s.register(m, p)
		if err != nil {
			return "", err
		}
		m.Passkeys, m.Password, m.TOTP = []passkey.Key{key}, nil, ""
	} else {
		if n := len([]rune(p.Password)); n < LeastPassword || len(p.Password) > mostPassword {
			return "", ErrShort
		}
		device, err := s.Device(m, p.Device)
		if err != nil {
			return "", err
		}
		if step, err := keys.Step(device, p.Code, s.Now()); err != nil || step == 0 {
			return "", errors.Join(err, ErrCode)
		}
		if m.Password, err = s.Keys.Vault().ProtectPassword(ctx, passwordOf(m), p.Password); err != nil {
			return "", err
		}
		m.Passkeys, m.TOTP = nil, device
	}
	m.Nonce, m.Until = "", time.Time{}
	seat := m.Seat
	err = s.DB.Write(ctx, func(tx *store.Tx) error {
		m.Seat = seat
		if m.Seat == "" {
			if err := s.sit(ctx, tx, m); err != nil {
				return err
			}
		} else if err := s.Accounts.EndSessions(ctx, tx, m.Account, m.Seat); err != nil { // those of the passkey or password before
			return err
		}
		if err := s.save(ctx, tx, m); err != nil {
			return err
		}
		if err := s.logEvent(ctx, tx, m, "joined", "a person took an invitation up", map[string]any{"by": "person " + m.ID, "how": how, "token": m.Seat}); err != nil {
			return err
		}
		secret, err = s.Accounts.BeginSession(ctx, tx, m.Account, m.Seat, account.Agent(r))
		return err
	})
	return secret, err
}

// passwordOf ties a password to a person; the vault wants a row and more.
func passwordOf(m *Member) string { return m.ID + " member " + m.Account }

// sit makes the token that a person acts by.
func (s *Service) sit(ctx context.Context, tx *store.Tx, m *Member) error {
	t, err := s.Accounts.CreateToken(ctx, tx, &account.Caller{AccountID: m.Account}, account.NewToken{Name: "person " + m.Email, Scopes: scopes[m.Role]})
	if err == nil {
		m.Seat = t.ID
	}
	return err
}
