package people

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// Bounds on what a form brings.
const (
	mostTyped  = 200
	mostDrawn  = 200_000 // of the data URL
	mostReason = 2000
	mostSide   = 4000 // pixels
	mostPixels = 4_000_000
	signWait   = 25 * time.Second
)

// Sign is of Page: the act is stored here, and carried out by the worker that claims the
// record. A second click finds the first.
func (s *Service) Sign(ctx context.Context, v *Visit, act Act, shown Browsers) error {
	if !act.Agree {
		return badForm("agree: nothing is signed without it")
	}
	typed := strings.Join(strings.Fields(act.Typed), " ")
	if utf8.RuneCountInString(typed) > mostTyped || strings.ContainsFunc(typed, unicode.IsControl) {
		return badForm(fmt.Sprintf("typed has more than %d characters, or some that nobody can read", mostTyped))
	}
	check := func(r *ledger.Record, p *ledger.Person) error {
		if err := s.open(r, p); err != nil {
			return err
		}
		switch {
		case !authentic(p, shown):
			return fault.New(fault.WrongState, "nothing is signed in this browser before every code was given in it, and who signs is identified")
		case r.Options.People.MustRead && !s.hasRead(r, p):
			return fault.New(fault.WrongState, "read the document to its last page first")
		case len(p.Shown) != r.Documents():
			return fault.New(fault.WrongState, "look at the documents first")
		}
		return nil
	}
	if v.Person.Pending() {
		return s.wait(ctx, v)
	}
	if v.Person.State == ledger.PersonSigned { // by the first click
		return nil
	}
	if err := check(v.Record, v.Person); err != nil {
		return err
	}
	drawn, err := drawing(act.Drawn, slices.Contains(v.Record.Options.People.Modes, "drawn")) // only now, since it takes memory
	if err != nil {
		return err
	}
	asked := &ledger.PersonAct{At: s.config.Now(), From: v.Address, Typed: typed, Drawn: drawn}
	if p := v.Person; p.Username != "" && p.Role == ledger.RoleSigner { // judged once, before anything is stored
		cred, cert, err := s.Signing.JudgeOwn(ctx, v.Record.AccountID, p.Username, act.Password, act.Code)
		if err != nil {
			return err
		}
		asked.Certificate, asked.Password, asked.Version = cert.ID, act.Password, cred.Version()
		if cred.Remote != "" {
			asked.OTP = act.Code
		}
	}
	r, p, err := s.Signing.ChangePerson(ctx, v.Record.ID, v.Person.ID, func(tx *store.Tx, r *ledger.Record, p *ledger.Person) (string, string, map[string]any, error) {
		if p.Pending() || p.State == ledger.PersonSigned {
			return "", "", nil, nil
		}
		if err := check(r, p); err != nil {
			return "", "", nil, err
		}
		asked.Shown = p.Shown
		p.Act, p.State, p.Sure, p.SureAt, p.Problem, p.Trouble = asked, ledger.PersonAuthenticated, v.Address, asked.At, "", 0
		if err := ledger.AskAct(ctx, tx, r, errNotNow); err != nil {
			return "", "", nil, err
		}
		s.Signing.Wake(tx)
		var digests []string
		for _, d := range asked.Shown {
			digests = append(digests, d.SHA256)
		}
		return "signs", "the signer agreed, and asked for the signature", map[string]any{
			"address": v.Address, "documents": digests, "typed": typed, "drawn": len(drawn) > 0, "certificate": asked.Certificate,
		}, nil
	})
	if err != nil {
		return err
	}
	v.Record, v.Person = r, p
	return s.wait(ctx, v)
}

// wait returns when an act came to its end, or after a while.
func (s *Service) wait(ctx context.Context, v *Visit) error {
	ctx, cancel := context.WithTimeout(ctx, signWait)
	defer cancel()
	for pause := 20 * time.Millisecond; v.Person.Pending() && !v.Record.State.Final(); pause = min(2*pause, 250*time.Millisecond) {
		select {
		case <-ctx.Done():
			return nil // the page says that it is under way
		case <-time.After(pause):
		}
		again, err := s.Find(context.WithoutCancel(ctx), v.Record.ID, v.Person.Secret)
		if err != nil {
			return err
		}
		v.Record, v.Person = again.Record, again.Person
	}
	if p := v.Person; p.Trouble != 0 && !p.State.Final() {
		f := fault.New(fault.Code(p.Trouble), "%s", p.Problem)
		f.Status = 422
		return f
	}
	return nil
}

// drawing reads the data URL of a PNG.
func drawing(in string, allowed bool) ([]byte, error) {
	in = strings.TrimSpace(in)
	switch {
	case in == "":
		return nil, nil
	case !allowed:
		return nil, badForm("drawn: signatures are typed here")
	case len(in) > mostDrawn:
		return nil, badForm(fmt.Sprintf("drawn has more than %d bytes", mostDrawn))
	}
	text, ok := strings.CutPrefix(in, "data:image/png;base64,")
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil, badForm("drawn is not a PNG as a data URL")
	}
	c, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil || c.Width > mostSide || c.Height > mostSide || c.Width*c.Height > mostPixels || c.Width == 0 || c.Height == 0 {
		return nil, badForm("drawn is not a PNG, or too large")
	}
	if _, err := png.Decode(bytes.NewReader(b)); err != nil {
		return nil, badForm("drawn is a damaged PNG")
	}
	return b, nil
}

// Decline is of Page.
func (s *Service) Decline(ctx context.Context, v *Visit, reason string) error {
	reason = strings.TrimSpace(reason)
	if utf8.RuneCountInString(reason) > mostReason {
		return badForm(fmt.Sprintf("reason has more than %d characters", mostReason))
	}
	for range 5 {
		r, p := v.Record, v.Person
		if p.State == ledger.PersonDeclined { // by the first click
			return nil
		}
		if err := s.open(r, p); err != nil {
			return err
		}
		if !r.Options.People.Decline {
			return fault.New(fault.WrongState, "this request cannot be declined")
		}
		text := "a signer declined"
		if reason != "" {
			text += ": " + reason
		}
		before := *p
		err := s.Signing.Stop(ctx, r, &ledger.Refusal{Number: fault.SignerDeclined, Text: text}, func(tx *store.Tx) error {
			p.State, p.Reason, p.Sure, p.SureAt = ledger.PersonDeclined, reason, v.Address, s.config.Now()
			return s.Signing.SavePerson(ctx, tx, r, p, "declined", "the signer declined", map[string]any{"reason": reason, "address": v.Address})
		})
		if !errors.Is(err, ledger.ErrStale) {
			return err
		}
		*p = before
		again, err := s.Find(ctx, r.ID, p.Secret)
		if err != nil {
			return err
		}
		v.Record, v.Person = again.Record, again.Person
	}
	return errNotNow
}
