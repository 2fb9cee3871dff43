package signing

import (
	"context"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
)

// begin is the one step before a key is used, for every document. In one
// transaction everything that may forbid the use is judged again, the record is
// stored or found to be still ours, and the intent to sign the digest is
// written down. Only then is the key handed out; nothing else hands it out.
//
// A synchronous call stores its record here and not before, under a lease: a
// process that dies later leaves a lease that runs out, and a worker takes the
// record over.
func (x *run) begin(ctx context.Context, digest []byte) (crypto.Signer, error) {
	if x.committed != nil {
		x.committed()
	}
	r, now := x.record, x.config.Now()
	use := x.event("key-use", "private key used", map[string]any{
		"digest": hex.EncodeToString(digest), "certificateSerialNumber": x.cert.Serial, "number": x.intents,
	})
	paid := x.paid
	err := x.db.Write(ctx, func(tx *store.Tx) (err error) {
		if err := x.authorizeAgain(ctx, tx); err != nil {
			return err
		}
		if r.stored {
			if paid, err = x.cover(ctx, tx); err != nil {
				return err
			}
			if err := x.keepLease(ctx, tx); err != nil {
				return err
			}
			if err := x.audit.Append(ctx, tx, use); err != nil {
				return err
			}
		} else {
			r.leaseBy, r.leaseUntil = x.lease, now.Add(x.config.Lease)
			if err := x.insert(ctx, tx, append(x.validationEvents(), use)...); err != nil {
				return err
			}
			if err := idempotency.ClaimFrom(ctx).Record(ctx, tx, r.ID, x.config.Lease); err != nil {
				return err
			}
		}
		err = tx.Later(ctx, `insert into signing_intents (id, signature_id, certificate_id, position, digest, created_at) values ($1, $2, $3, $4, $5, $6)`,
			store.NewID(), r.ID, x.cert.ID, x.intents, hex.EncodeToString(digest), store.Millis(now))
		if err != nil {
			return fmt.Errorf("signing: store intent: %w", err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.intents++
	x.paid = max(paid, 1) // a record that is stored now has paid for one
	r.stored = true
	x.config.Hook("intended", r.ID)
	if x.key != nil {
		return x.key, nil
	}
	x.key, err = x.keys.Open(ctx, x.cred, x.secrets.Password)
	if errors.Is(err, keys.ErrPassword) {
		return nil, errCredentials
	}
	return x.key, err
}

// keepLease makes sure that the record is ours and may be signed.
func (x *run) keepLease(ctx context.Context, tx *store.Tx) error {
	return tx.Expect(ctx, 1, errLost, `update signatures set lease_until = $1 where id = $2 and lease_by = $3 and state = $4 and approval <> 'WAITING' and deleted_at = 0`,
		store.Millis(x.config.Now().Add(x.config.Lease)), x.record.ID, x.lease, string(WaitSign))
}

var errCredentials = &refusal{number: fault.WrongCredentials, text: "wrong certificate credentials"}

// authorizeAgain judges, in the transaction that stores an intent, whatever may
// have changed since authorize: between a request and its signature may lie
// months, and the documents of a batch are many.
func (x *run) authorizeAgain(ctx context.Context, tx *store.Tx) error {
	standing, err := x.enroll.StandingIn(ctx, tx, x.cert.ID)
	if isGone(err) {
		return &refusal{number: fault.CertificateNotUsable, text: "the certificate is gone"}
	}
	if err != nil {
		return err
	}
	if err := x.usable(standing); err != nil {
		return err
	}
	levels := x.enroll.Levels()
	for _, need := range []string{enroll.NeedAddress, enroll.NeedClientCertificate, enroll.NeedOTP, enroll.NeedApproval} {
		if levels.Needs(standing.Level, need) && !levels.Needs(x.secrets.Level, need) {
			return &refusal{number: fault.CertificateNotUsable, text: fmt.Sprintf("the certificate was raised to security level %d after the request", standing.Level)}
		}
	}
	var f *fault.Error
	switch err := x.keys.CheckIn(ctx, tx, x.cred); {
	case errors.Is(err, keys.ErrPassword):
		return errCredentials
	case errors.Is(err, fault.CertificateLocked) && errors.As(err, &f):
		return &refusal{number: f.Code, text: f.Text}
	case err != nil:
		return err
	}
	if x.record.TokenID == "" {
		return nil
	}
	found, err := x.tokens.HasToken(ctx, tx, x.record.AccountID, x.record.TokenID)
	if err == nil && !found {
		err = &refusal{number: fault.CertificateNotUsable, text: "the token that asked for the signature was deleted"}
	}
	return err
}
