package signing

import (
	"context"
	"crypto"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/store"
)

// begin is the one step before a key is used, for every document. In one
// transaction everything that may forbid the use is judged again, the record is
// stored or found to be still ours, and the intent to sign the digest is
// written down. Only then is the key handed out; nothing else hands it out.
// Package intent says how that keeps a key from being used after a change.
//
// A synchronous call stores its record here and not before, under a lease: a
// process that dies later leaves a lease that runs out, and a worker takes the
// record over.
//
// A key at a provider was opened before, since the provider had to be asked for
// the authorization; its use is the sending of the digests.
func (x *run) begin(ctx context.Context, digests ...[]byte) (crypto.Signer, error) {
	if err := x.config.Able(ctx); err != nil { // else the key would be used for nothing
		return nil, err
	}
	if x.committed != nil {
		x.committed()
	}
	r, now, started := x.record, x.config.Now(), time.Now()
	all, ids, uses := make([]intent.Intent, len(digests)), make([]string, len(digests)), make([]audit.Event, len(digests))
	for i, digest := range digests {
		to := intent.Intent{
			ID: store.NewID(), Account: r.AccountID, Record: r.ID, Certificate: x.cert.ID,
			Position: x.position + i, Digest: digest, At: now,
		}
		all[i], ids[i], uses[i] = to, to.ID, x.events().KeyUsed(to, x.secrets.Credential, x.cred.Remote)
	}
	paid := x.paid
	err := x.db.Write(ctx, func(tx *store.Tx) (err error) {
		if (x.starts > 1 || x.secrets.Kept != nil) && len(x.made) == 0 { // an earlier run may have used the key
			if err := intent.Abandon(ctx, tx, r.ID, now, &x.tookOver); err != nil {
				return err
			}
		}
		if err := x.authorizeAgain(ctx, tx); err != nil {
			return err
		}
		if r.Stored {
			if paid, err = x.cover(ctx, tx, len(digests)); err != nil {
				return err
			}
			if err := ledger.KeepLease(ctx, tx, r, x.lease, now.Add(x.config.Lease)); err != nil {
				return err
			}
			if err := x.audit.Append(ctx, tx, uses...); err != nil {
				return err
			}
		} else {
			r.LeaseBy, r.LeaseUntil = x.lease, now.Add(x.config.Lease)
			if err := x.insert(ctx, tx, append(x.events().Validated(x.docs.Fetched), uses...)...); err != nil {
				return err
			}
			if err := idempotency.ClaimFrom(ctx).Record(ctx, tx, r.ID, x.config.Lease); err != nil {
				return err
			}
		}
		if err := intent.Used(ctx, tx, r.ID, x.uses...); err != nil {
			return err
		}
		if err := x.closeIntents(ctx, tx); err != nil {
			return err
		}
		for _, to := range all {
			if err := intent.Write(ctx, tx, to); err != nil {
				return fmt.Errorf("signing: store intent: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		if r.Stored {
			err = unpaid(err)
		}
		return nil, err
	}
	x.intents, x.position = x.intents+len(digests), x.position+len(digests)
	x.uses, x.closing, x.paid = ids, nil, paid
	x.made = append(x.made, ids...)
	r.Stored = true
	x.config.Hook("intended", r.ID)
	if x.key == nil && x.remote == nil {
		x.key, err = x.keys.Open(ctx, x.cred, x.secrets.Password)
		if errors.Is(err, keys.ErrPassword) {
			return nil, errCredentials
		}
		if err != nil {
			return nil, err
		}
	}
	if late := time.Since(started); late > x.permitted() {
		return nil, fault.New(fault.Unavailable, "the server was held up before it could use the key").
			Because(fmt.Errorf("the key was ready %v after its use was permitted, which is too late", late))
	}
	return x.key, nil
}

// leastPermit leaves a slow machine the time to open a key.
const leastPermit = 5 * time.Second

// permitted is how long a permit stays good after it was asked for. Until then no other process can
// have taken the record over and settled its intents.
func (x *run) permitted() time.Duration {
	return min(intent.Within, max(x.config.Lease*2/3, leastPermit))
}

var errCredentials = &ledger.Refusal{Number: fault.WrongCredentials, Text: "wrong certificate credentials"}

// authorizeAgain judges, in the transaction that stores an intent, whatever may
// have changed since authorize: between a request and its signature may lie
// months, and the documents of a batch are many.
func (x *run) authorizeAgain(ctx context.Context, tx *store.Tx) error {
	r := x.record
	if x.own() {
		return intent.Permit(ctx, tx, r.AccountID, x.cert.ID)
	}
	if err := x.CheckApproval(r, x.secrets, x.enroll.Levels().Needs(x.secrets.Level, enroll.NeedApproval)); err != nil {
		return err
	}
	err := intent.Permit(ctx, tx, r.AccountID, x.cert.ID)
	if err == nil {
		err = x.enroll.StandingIn(ctx, tx, x.cert.ID, x.judgeStanding)
	}
	if err == nil {
		err = x.keys.CheckIn(ctx, tx, x.cred, x.secrets.Credential)
	}
	for _, token := range []string{r.TokenID, r.ApprovedBy} {
		if err == nil && token != "" && !r.ByPeople() { // who asked people to sign need not be there when they do
			err = x.tokens.HasToken(ctx, tx, r.AccountID, token, errTokenGone)
		}
	}
	if err == nil && x.enroll.Levels().Needs(x.secrets.Level, enroll.NeedClientCertificate) {
		err = x.enroll.KnowsClientIn(ctx, tx, r.AccountID, x.secrets.Client, errClientGone)
	}
	if err == nil {
		err = tx.Answered(ctx)
	}
	var f *fault.Error
	switch {
	case errors.Is(err, fault.NotFound):
		return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the certificate is gone"}
	case errors.Is(err, keys.ErrPassword):
		return errCredentials
	case errors.Is(err, keys.ErrStanding):
		return otherStanding(err)
	case errors.Is(err, fault.CertificateLocked) && errors.As(err, &f):
		return &ledger.Refusal{Number: f.Code, Text: f.Text}
	}
	return err
}

var (
	errTokenGone  = &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the token that asked for the signature, or that approved it, was deleted"}
	errClientGone = &ledger.Refusal{Number: fault.CertificateNotUsable, Text: "the client certificate that the request came with is not registered any more"}
)

// otherStanding ends a record whose certificate differs from the log.
func otherStanding(err error) error {
	return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: keys.ErrStanding.Text, Err: errors.New(err.Error())} // not the fault that other calls answer with
}

// judgeStanding checks the certificate's current standing.
func (x *run) judgeStanding(now enroll.Standing) error {
	if err := x.usable(now); err != nil {
		return err
	}
	levels := x.enroll.Levels()
	for _, need := range []string{enroll.NeedAddress, enroll.NeedClientCertificate, enroll.NeedOTP, enroll.NeedApproval} {
		if levels.Needs(now.Level, need) && !levels.Needs(x.secrets.Level, need) {
			return &ledger.Refusal{Number: fault.CertificateNotUsable, Text: fmt.Sprintf("the certificate was raised to security level %d after the request", now.Level)}
		}
	}
	return nil
}
