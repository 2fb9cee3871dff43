package enroll

import (
	"context"
	"fmt"
	"maps"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// Buy takes an order: the price, the record and the idempotency key commit
// together.
func (s *Service) Buy(ctx context.Context, buyer string, o Order) (*Certificate, error) {
	if err := s.check(&o); err != nil {
		return nil, err
	}
	now := s.config.Now()
	c := &Certificate{
		ID: store.NewID(), AccountID: buyer, Provider: o.Provider, Kind: o.Kind, State: Ordered, Owner: o.Owner, Reference: o.Reference,
		Subject: o.Subject, Identification: o.Identification, Algorithm: o.Algorithm, Years: o.Years, Level: o.Level, Callback: o.Callback,
		CreatedAt: now, UpdatedAt: now, ExpireAt: now.AddDate(o.Years, 0, 0),
	}
	link := s.newLink()
	c.linkSecret, c.linkAt = link.Secret, link.At
	err := s.db.Write(ctx, func(tx *store.Tx) (err error) {
		if c.chargeID, err = s.biller.Charge(ctx, tx, "POST/certificates", c.ID); err != nil {
			return err
		}
		if err := s.insert(ctx, tx, c); err != nil {
			return err
		}
		if err := idempotency.ClaimFrom(ctx).Record(ctx, tx, c.ID, 0); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-ordered", fmt.Sprintf("certificate of kind %s ordered", c.Kind))
	})
	if err != nil {
		return nil, err
	}
	return s.ByID(ctx, c.ID)
}

type actorKey struct{}

// WithActor says who acts where no token does: the holder at a page, the
// operator at the command line.
func WithActor(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, actorKey{}, who)
}

// actor is who an event is about: the one that WithActor named, else the caller's token or key,
// else the server itself.
func actor(ctx context.Context) string {
	if who, ok := ctx.Value(actorKey{}).(string); ok {
		return who
	}
	if caller := account.CallerFrom(ctx); caller != nil {
		return caller.Actor()
	}
	return "server"
}

// note writes an event of a certificate: who did it, what it is now, and more.
func (s *Service) note(ctx context.Context, tx *store.Tx, c *Certificate, kind, text string, more ...map[string]any) error {
	detail := map[string]any{"actor": actor(ctx), "state": c.State, "kind": c.Kind, "provider": c.Provider, "serialNumber": c.Serial, "identification": c.Identification, "updatedAt": store.Millis(c.UpdatedAt), "expireAt": store.Millis(c.ExpireAt)}
	for _, m := range more {
		maps.Copy(detail, m)
	}
	return s.audit.Append(ctx, tx, audit.Event{Account: c.AccountID, Record: c.ID, Kind: kind, Log: text, Detail: detail})
}

// CallbackScope is that of callbacks about certificates.
const CallbackScope = "certificates"

// queueCallback queues the callback for the state that a certificate has reached, and the
// message to its holder.
func (s *Service) queueCallback(ctx context.Context, tx *store.Tx, c *Certificate, what string) error {
	if err := s.notify(ctx, tx, c, what); err != nil {
		return err
	}
	return s.callbacks.Queue(ctx, tx, callback.Message{
		Account: c.AccountID, Scope: CallbackScope, Record: c.ID, Target: c.Callback, State: string(c.State), At: c.UpdatedAt,
	})
}

// Told is the body of a callback about a state of a certificate. A link that only the holder may
// know by now is left out, whatever the state.
func (s *Service) Told(ctx context.Context, id string, state State) (any, error) {
	c, err := s.ByID(ctx, id)
	if err != nil {
		return nil, err
	}
	c.Link, c.State = c.BuyersLink(), state
	return s.Render(c), nil
}

// step moves a certificate to a state, logs that, and informs the buyer.
func (s *Service) step(ctx context.Context, tx *store.Tx, c *Certificate, to State, why string) error {
	if err := s.move(ctx, tx, c, to); err != nil {
		return err
	}
	if err := s.note(ctx, tx, c, "certificate-"+string(to), why); err != nil {
		return err
	}
	return s.queueCallback(ctx, tx, c, string(to))
}

// change loads a certificate of an account and changes it in one transaction. It
// returns when no use of its key that was permitted before is under way.
func (s *Service) change(ctx context.Context, account, id string, fn func(tx *store.Tx, c *Certificate) error) (*Certificate, error) {
	c, err := s.Find(ctx, account, id)
	if err != nil {
		return nil, err
	}
	if err := s.write(ctx, c, func(tx *store.Tx) error { return fn(tx, c) }); err != nil {
		return nil, err
	}
	s.keys.Vault().Forget(c.ID)
	if err := intent.Wait(ctx, s.db, intent.Certificate, c.ID); err != nil {
		return nil, err
	}
	return s.Find(ctx, account, id)
}

// Cancel gives an order up before the certificate is issued; the price comes
// back.
func (s *Service) Cancel(ctx context.Context, account, id, why string) (*Certificate, error) {
	return s.change(ctx, account, id, func(tx *store.Tx, c *Certificate) error {
		if err := s.cancel(ctx, tx, c, why, false); err != nil {
			return err
		}
		// The price comes back, and the evidence was not reviewed: there is no reason to keep it.
		return s.eraseEvidence(ctx, tx, c, "evidence erased with the order", pending)
	})
}

// cancel ends an order. keep leaves the link, which then says to the holder why.
func (s *Service) cancel(ctx context.Context, tx *store.Tx, c *Certificate, why string, keep bool) error {
	if err := s.step(ctx, tx, c, Cancelled, why); err != nil {
		return err
	}
	if c.chargeID != "" {
		if err := s.biller.Refund(ctx, tx, c.chargeID); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, `delete from identification_requests where certificate_id = $1`, c.ID); err != nil {
		return err
	}
	link := "link = null, "
	if keep {
		link = ""
	}
	_, err := tx.Exec(ctx, `update certificates set `+link+`credentials_once = null, browser = null, statement = null, certified = null, login = null where id = $1`, c.ID)
	return err
}

// Suspend puts a certificate on hold; Resume takes it off.
func (s *Service) Suspend(ctx context.Context, account, id string) (*Certificate, error) {
	return s.change(ctx, account, id, func(tx *store.Tx, c *Certificate) error {
		if err := s.moveFrom(ctx, tx, c, Suspended, Done); err != nil {
			return err
		}
		return s.withAuthority(ctx, tx, c, "suspended", func() error { return s.authority.Revoke(ctx, tx, c.Serial, 6) })
	})
}

// Resume ends a suspension.
func (s *Service) Resume(ctx context.Context, account, id string) (*Certificate, error) {
	return s.change(ctx, account, id, func(tx *store.Tx, c *Certificate) error {
		if err := s.moveFrom(ctx, tx, c, Done, Suspended); err != nil {
			return err
		}
		return s.withAuthority(ctx, tx, c, newsResumed, func() error { return s.authority.Release(ctx, tx, c.Serial) })
	})
}

// Unspecified is the reason of a revocation without a given reason.
const Unspecified = "unspecified"

// revocations are the reasons that the certificate of a person or an organisation can be
// revoked for, with their codes (RFC 5280, 5.3.1).
var revocations = map[string]int{
	Unspecified: 0, "keyCompromise": 1, "affiliationChanged": 3, "superseded": 4, "cessationOfOperation": 5, "privilegeWithdrawn": 9,
}

// Revoke ends a certificate for good, without a reason.
func (s *Service) Revoke(ctx context.Context, account, id string) (*Certificate, error) {
	return s.RevokeFor(ctx, account, id, Unspecified)
}

// RevokeFor ends a certificate for good, for one of the reasons of RFC 5280, which the log and
// the authority's lists then show. The key is erased. A token that refuses to destroy it is
// logged, and tried again later.
func (s *Service) RevokeFor(ctx context.Context, account, id, reason string) (*Certificate, error) {
	code, ok := revocations[reason]
	if !ok {
		return nil, fault.New(fault.BadField, "%q is no reason of a revocation", reason)
	}
	c, err := s.change(ctx, account, id, func(tx *store.Tx, c *Certificate) error {
		if err := s.move(ctx, tx, c, Revoked); err != nil {
			return err
		}
		if err := s.keys.Erase(ctx, tx, c.ID); err != nil {
			return err
		}
		return s.withAuthority(ctx, tx, c, "revoked", func() error { return s.authority.Revoke(ctx, tx, c.Serial, code) }, map[string]any{"reason": reason})
	})
	if err == nil {
		err = s.destroyErased(ctx, c, "certificate-key-kept")
	}
	return c, err
}

// destroyErased destroys the key of a revoked certificate in its token. A token that refuses
// does not undo the revocation; the failure is logged, as an event of that kind if one is
// given.
func (s *Service) destroyErased(ctx context.Context, c *Certificate, kind string) error {
	refused := s.keys.DestroyErased(ctx, c.ID)
	if refused == nil {
		return nil
	}
	s.config.Log.ErrorContext(ctx, "the key of a revoked certificate is still in its token", "certificate", c.ID, "error", refused)
	if kind == "" {
		return nil
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		return s.note(ctx, tx, c, kind, "the token did not destroy the key of the revoked certificate: nothing can reach it here, and it is tried again")
	})
}

// withAuthority has the authority follow, where the certificate is its own, and says
// what happened.
func (s *Service) withAuthority(ctx context.Context, tx *store.Tx, c *Certificate, what string, follow func() error, more ...map[string]any) error {
	if !c.foreign() {
		if err := follow(); err != nil {
			return err
		}
	}
	if err := s.note(ctx, tx, c, "certificate-"+what, "certificate "+what, more...); err != nil {
		return err
	}
	if what != newsResumed {
		what = string(c.State)
	}
	return s.queueCallback(ctx, tx, c, what)
}

// ChangePassword of the credential behind a certificate. A wrong old one is
// fault 310 and counts as a failure.
func (s *Service) ChangePassword(ctx context.Context, account, id, before, after string) error {
	c, err := s.Find(ctx, account, id)
	if err != nil {
		return err
	}
	if len(after) < 8 || len(after) > 256 {
		return fault.New(fault.BadField, "new must have between 8 and 256 bytes")
	}
	cred, err := s.keys.ByID(ctx, c.ID)
	if err != nil {
		return err
	}
	if cred == nil || c.State != Done && c.State != Suspended {
		return fault.New(fault.WrongState, "the certificate is %s: it has no password to change", c.State)
	}
	if err := s.keys.ChangePassword(ctx, cred, before, after); err != nil {
		return wrongPassword(err, "old")
	}
	return s.db.Write(ctx, func(tx *store.Tx) error {
		return s.note(ctx, tx, c, "certificate-password", "password changed")
	})
}

// Reenrol makes a new link, for a lost one-time-password device.
func (s *Service) Reenrol(ctx context.Context, account, id string) (*Certificate, error) {
	return s.change(ctx, account, id, func(tx *store.Tx, c *Certificate) error {
		if c.Remote() {
			return fault.New(fault.WrongState, "the one-time passwords of this certificate are its provider's")
		}
		if c.Kind != keys.OTP || c.State != Done {
			return fault.New(fault.WrongState, "only a certificate of the kind otp that is DONE can be enrolled again")
		}
		if c.HasUnseen() { // they wait behind a link that is the holder's alone
			return fault.New(fault.WrongState, "the holder has not seen the credentials yet: there is no device to replace")
		}
		link, err := s.seal(linkPurpose, c.ID, s.newLink())
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `update certificates set link = $1, link_purpose = 'enrol', browser = null, statement = null where id = $2`, link, c.ID); err != nil {
			return err
		}
		return s.note(ctx, tx, c, "certificate-enrol", "a new link for a one-time-password device was made")
	})
}
