package people

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// Codes of one person: six digits, ten minutes, once; three an hour by a channel, and five
// wrong ones before all that are asked for were given lock the page for an hour. All of
// it is in the person's row, which one server after another changes.
const (
	codeLife  = 10 * time.Minute
	codeSends = 3
	codeTries = 5
	codeLock  = time.Hour
)

// newCode is six digits.
func newCode() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%06d", n.Int64()), nil
}

// hashOf is what is stored of a code: keyed, for this person, channel, address and these
// documents.
func (s *Service) hashOf(r *ledger.Record, p *ledger.Person, channel, code string) string {
	var documents []string
	for _, f := range r.Inputs {
		documents = append(documents, f.SHA256)
	}
	sum := s.Master.MAC("signer code", fmt.Appendf(nil, "%q %q %q %q %q %q", r.ID, p.ID, channel, addressOf(p, channel), documents, code))
	return hex.EncodeToString(sum[:])
}

func addressOf(p *ledger.Person, channel string) string {
	if channel == ledger.BySMS {
		return p.Mobile
	}
	return p.Email
}

// missing are the channels whose codes a browser has not given yet.
func missing(p *ledger.Person, shown Browsers) (all []string) {
	for _, channel := range []string{ledger.ByEmail, ledger.BySMS} {
		c := p.Codes[channel]
		if slices.Contains(p.Authentication, channel) && (c == nil || c.Proven == "" || c.Proven != addressOf(p, channel) || !shown.Has(c.Browser)) {
			all = append(all, channel)
		}
	}
	return all
}

// identified says that a browser has gone through an identification, or need not.
func identified(p *ledger.Person, shown Browsers) bool {
	return len(p.Identification) == 0 || p.Proof != nil && shown.Has(p.Proof.Browser)
}

func authentic(p *ledger.Person, shown Browsers) bool {
	return len(missing(p, shown)) == 0 && identified(p, shown)
}

func lockedFault(p *ledger.Person) error {
	return fault.New(fault.TooManyCodes, "too many wrong codes: the page is locked until %s", p.Locked.UTC().Format("2006-01-02 15:04 MST"))
}

var errNotNow = fault.New(fault.WrongState, "this cannot be done now: look at the page again")

// open says whether a person may do something now.
func (s *Service) open(r *ledger.Record, p *ledger.Person) error {
	switch {
	case !IsDue(r, p) || p.Pending():
		return errNotNow
	case s.config.Now().Before(p.Locked):
		return lockedFault(p)
	}
	return nil
}

// SendCode is of Page.
func (s *Service) SendCode(ctx context.Context, v *Visit, channel string, shown Browsers) error {
	code, err := newCode()
	if err != nil {
		return err
	}
	now := s.config.Now()
	r, p, err := s.Signing.ChangePerson(ctx, v.Record.ID, v.Person.ID, func(_ *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if err := s.open(r, p); err != nil {
			return "", "", nil, err
		}
		want := missing(p, shown)
		if channel == "" && len(want) > 0 {
			channel = want[0]
		}
		if !slices.Contains(want, channel) {
			return "", "", nil, fault.New(fault.WrongState, "no code is asked for")
		}
		c := p.Codes[channel]
		if c == nil {
			c = &ledger.Code{}
		}
		c.Sent = slices.DeleteFunc(slices.Clone(c.Sent), func(t time.Time) bool { return now.Sub(t) >= time.Hour })
		if len(c.Sent) >= codeSends {
			f := fault.New(fault.LimitReached, "%d codes were sent within an hour: wait until another can be", codeSends)
			f.RetryAfter = c.Sent[0].Add(time.Hour).Sub(now)
			return "", "", nil, f
		}
		if p.Codes == nil {
			p.Codes = map[string]*ledger.Code{}
		}
		next := *c
		next.Hash, next.Until, next.Sent = s.hashOf(r, p, channel, code), now.Add(codeLife), append(c.Sent, now)
		p.Codes[channel], p.Asked, p.AskedAt = &next, v.Address, now
		if v.Language != "" {
			p.Spoken = v.Language
		}
		return "code", "a code was made to be sent by " + channel, map[string]any{"channel": channel, "address": v.Address}, nil
	})
	if err != nil {
		return err
	}
	// The code is nowhere but in this message: where it cannot be sent, another one is made.
	sent := s.Messenger.Send(ctx, s.message(r, p, CodeSent, channel, code))
	r, p, err = s.Signing.ChangePerson(ctx, r.ID, p.ID, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if sent != nil {
			s.Jobs.Wake(tx, "work")
			if err := job.Put(ctx, tx, job.Item{
				Kind: messageJob, ID: r.ID + " " + p.ID + " " + CodeSent + " " + channel, Account: r.AccountID, Detail: r.ID + " " + p.ID + " " + CodeSent + "-" + channel, After: time.Second,
			}); err != nil {
				return "", "", nil, err
			}
		}
		return s.delivered(ctx, tx, r, p, CodeSent, channel, sent)
	})
	if err != nil {
		return err
	}
	v.Record, v.Person = r, p
	if sent != nil {
		return fault.New(fault.Unavailable, "the code could not be sent: another one is on its way").Because(sent)
	}
	return nil
}

// resendCode makes and sends another code in the place of one that could not be sent,
// while it would still be good.
func (s *Service) resendCode(ctx context.Context, record, person, channel string) error {
	code, err := newCode()
	if err != nil {
		return err
	}
	wanted := false
	r, p, err := s.Signing.ChangePerson(ctx, record, person, func(_ *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		c := p.Codes[channel]
		if wanted = IsDue(r, p) && !p.Pending() && c != nil && c.Hash != "" && s.config.Now().Before(c.Until); !wanted {
			return "", "", nil, nil
		}
		next := *c
		next.Hash, next.Until = s.hashOf(r, p, channel, code), s.config.Now().Add(codeLife)
		p.Codes[channel] = &next
		return "code", "another code was made to be sent by " + channel, map[string]any{"channel": channel}, nil
	})
	if err != nil || !wanted {
		return err
	}
	sent := s.Messenger.Send(ctx, s.message(r, p, CodeSent, channel, code))
	_, _, err = s.Signing.ChangePerson(ctx, record, person, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		return s.delivered(ctx, tx, r, p, CodeSent, channel, sent)
	})
	return errors.Join(sent, err)
}

// CheckCode is of Page. A try is counted before it is judged, and the fifth locks the page
// until it is known to be right.
func (s *Service) CheckCode(ctx context.Context, v *Visit, code string, shown Browsers, fresh Browser) error {
	code = strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' || r == '\t' {
			return -1
		}
		return r
	}, code)
	now := s.config.Now()
	r, p, err := s.Signing.ChangePerson(ctx, v.Record.ID, v.Person.ID, func(_ *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if err := s.open(r, p); err != nil {
			return "", "", nil, err
		}
		if len(sentOf(p, now)) == 0 {
			return "", "", nil, badForm("no code is good now: have one sent")
		}
		if !p.Locked.IsZero() { // it is over
			p.Wrong, p.Locked = 0, time.Time{}
		}
		if p.Wrong++; p.Wrong >= codeTries {
			p.Locked = now.Add(codeLock)
		}
		return "code-tried", fmt.Sprintf("a code is tried, the %s since the last good one", ordinal(p.Wrong)), map[string]any{"address": v.Address}, nil
	})
	if err != nil {
		return err
	}
	v.Record, v.Person = r, p
	channel := ""
	for _, one := range sentOf(p, now) {
		if hmac.Equal([]byte(p.Codes[one].Hash), []byte(s.hashOf(r, p, one, code))) {
			channel = one
		}
	}
	if channel == "" {
		if !p.Locked.IsZero() {
			return lockedFault(p)
		}
		f := fault.New(fault.WrongOTP, "the code is wrong; tries left: %s", strconv.Itoa(codeTries-p.Wrong))
		f.Status = 422
		return f
	}
	hash := p.Codes[channel].Hash
	r, p, err = s.Signing.ChangePerson(ctx, r.ID, p.ID, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		c := p.Codes[channel]
		if !IsDue(r, p) || c == nil || c.Hash != hash { // used, or another was sent
			return "", "", nil, errNotNow
		}
		next := *c
		next.Hash, next.Proven, next.At, next.From, next.Browser = "", addressOf(p, channel), now, v.Address, fresh.Hash()
		p.Codes[channel], p.Sure, p.SureAt = &next, v.Address, now
		given := append(slices.Clone(shown), fresh)
		if p.Wrong = max(p.Wrong-1, 0); len(missing(p, given)) == 0 { // one of two codes gives no further tries at the other
			p.Wrong = 0
		}
		if p.Wrong < codeTries {
			p.Locked = time.Time{}
		}
		s.authenticated(p, given)
		return "code-given", "the code sent by " + channel + " was given", map[string]any{"channel": channel, "address": v.Address}, s.Signing.Tell(ctx, tx, r)
	})
	if err == nil {
		v.Record, v.Person = r, p
	}
	return err
}

// authenticated moves a person on who has shown all that is asked for, in one browser.
func (s *Service) authenticated(p *ledger.Person, shown Browsers) {
	if authentic(p, shown) && !p.State.Final() {
		p.State = ledger.PersonAuthenticated
	}
}

// sentOf are the channels by which a code was sent that is good now.
func sentOf(p *ledger.Person, now time.Time) (all []string) {
	for _, channel := range []string{ledger.ByEmail, ledger.BySMS} {
		if c := p.Codes[channel]; c != nil && c.Hash != "" && now.Before(c.Until) {
			all = append(all, channel)
		}
	}
	return all
}

func ordinal(n int) string {
	if n >= 1 && n <= 3 {
		return [...]string{"first", "second", "third"}[n-1]
	}
	return fmt.Sprintf("%dth", n)
}

func badForm(text string) error { return fault.New(fault.BadField, "%s", text) }
