package signing

import (
	"context"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// signInCall signs while the caller waits. The record is stored together with
// the first intent, just before the key is used; a process that dies after
// that leaves a lease behind that runs out, and the record is taken over.
func (x *run) signInCall(ctx context.Context) (*Record, error) {
	ctx = context.WithoutCancel(ctx) // a caller that hangs up does not undo a signature
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	x.lease = newLease()
	defer x.leases.hold(x.record.ID, x.lease)()
	out, err := x.sign(ctx)
	if err == nil {
		err = x.done(ctx, out)
	}
	if err == nil {
		return x.record, nil
	}
	if errors.Is(err, errLost) {
		return x.byID(ctx, x.record.ID)
	}
	var f *fault.Error
	if x.intents == 0 && errors.As(err, &f) {
		return nil, err // nothing was stored: the caller may try again
	}
	var no *refusal
	if !errors.As(err, &no) {
		no = x.internal(err)
	}
	if x.intents == 0 {
		return x.end(ctx, no)
	}
	return x.record, x.fail(ctx, no)
}

// signAndFinish is the same for a record that is stored.
func (x *run) signAndFinish(ctx context.Context) error {
	x.config.Hook("before-sign", x.record.ID)
	if err := x.usable(x.cert); err != nil {
		return err
	}
	out, err := x.sign(ctx)
	if err != nil {
		return err
	}
	x.config.Hook("signed", x.record.ID)
	return x.done(ctx, out)
}

// sign opens the key and signs every item.
func (x *run) sign(ctx context.Context) (*made, error) {
	cred, err := x.credential(ctx)
	if err != nil {
		return nil, err
	}
	key, err := x.keys.Open(ctx, cred, x.secrets.Password)
	if errors.Is(err, keys.ErrPassword) {
		return nil, &refusal{number: fault.WrongCredentials, text: "wrong certificate credentials"}
	}
	if err != nil {
		return nil, err
	}
	m, err := x.newMaker(&careful{key: key, run: x, ctx: ctx})
	if err != nil {
		return nil, err
	}
	if len(x.items) == 1 && !x.record.Options.Batch {
		return m.sign(ctx, x.items[0])
	}
	return m.signAll(ctx)
}

// credential whose key is to be used. The one that the call itself has judged a
// moment ago is good; for a job it is looked up, and may be locked by now.
func (x *run) credential(ctx context.Context) (*keys.Credential, error) {
	if x.judged != nil {
		return x.judged, nil
	}
	cred, err := x.keys.ByID(ctx, x.cert.ID)
	if err != nil {
		return nil, err
	}
	if cred == nil {
		return nil, &refusal{number: fault.CertificateNotUsable, text: "the certificate's key is gone"}
	}
	if err := x.keys.CheckLock(ctx, cred); err != nil {
		return nil, lockRefusal(err)
	}
	return cred, nil
}

func lockRefusal(err error) error {
	var f *fault.Error
	if errors.As(err, &f) && f.Code == fault.CertificateLocked {
		return &refusal{number: fault.CertificateLocked, text: f.Text}
	}
	return err
}

// careful is a key that is used only after the intent to do so is durable.
type careful struct {
	key crypto.Signer
	run *run
	ctx context.Context
	mu  sync.Mutex
}

func (c *careful) Public() crypto.PublicKey { return c.key.Public() }

func (c *careful) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.run.intend(c.ctx, digest); err != nil {
		return nil, err
	}
	c.run.config.Hook("intended", c.run.record.ID)
	value, err := c.key.Sign(rand, digest, opts)
	if err != nil {
		return nil, fmt.Errorf("signing: use key: %w", err)
	}
	return value, nil
}

// intend makes the intent to sign a digest durable. The first of a synchronous
// call stores the record with it; every other is refused when the record is no
// longer ours.
func (x *run) intend(ctx context.Context, digest []byte) error {
	r := x.record
	fresh := x.intents == 0 && !r.stored
	use := x.event("key-use", "private key used", map[string]any{
		"digest": hex.EncodeToString(digest), "certificateSerialNumber": x.cert.Serial, "number": x.intents,
	})
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		if fresh {
			if err := x.insertSigning(ctx, tx, use); err != nil {
				return err
			}
		} else if err := x.stillOurs(ctx, tx); err != nil {
			return err
		}
		err := tx.Later(ctx, `insert into signing_intents (id, signature_id, certificate_id, position, digest, created_at) values ($1, $2, $3, $4, $5, $6)`,
			store.NewID(), r.ID, x.cert.ID, x.intents, hex.EncodeToString(digest), store.Millis(x.config.Now()))
		if err != nil {
			return fmt.Errorf("signing: store intent: %w", err)
		}
		if fresh {
			return nil
		}
		return x.audit.Append(ctx, tx, use)
	})
	if err != nil {
		return err
	}
	x.intents++
	r.stored = true
	return nil
}

func (x *run) stillOurs(ctx context.Context, tx *store.Tx) error {
	return tx.Expect(ctx, 1, errLost, `update signatures set lease_until = $1 where id = $2 and lease_by = $3 and state = 'WAIT_SIGN' and deleted_at = 0`,
		store.Millis(x.config.Now().Add(x.config.Lease)), x.record.ID, x.lease)
}

// insertSigning stores a record that is being signed already.
func (x *run) insertSigning(ctx context.Context, tx *store.Tx, use audit.Event) error {
	r := x.record
	r.leaseBy, r.leaseUntil = x.lease, x.config.Now().Add(x.config.Lease)
	if err := x.insert(ctx, tx, append(x.validationEvents(), use)...); err != nil {
		return err
	}
	return idempotency.ClaimFrom(ctx).Record(ctx, tx, r.ID, x.config.Lease)
}
