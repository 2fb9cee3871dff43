package signing

import (
	"context"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/disk"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/intent"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/server/internal/upload"
)

// run is the work on one record, by one worker.
type run struct {
	*Service
	record  *Record
	cert    *enroll.Certificate
	cred    *keys.Credential
	secrets *Secrets
	lease   string // ours; empty while the record is not stored

	docs     []*document
	items    []*item
	image    ades.Source
	fetched  []*File       // inputs whose rows must be filled in
	picture  *File         // that was fetched, and has no row yet
	contents []*content    // documents of the record that are stored, by this run or before
	intents  int           // uses of the key that count
	position int           // of the next intent; more, where a provider refused some
	paid     int           // signatures that the charge is known to pay for
	key      crypto.Signer // handed out after the first intent
	remote   *remoteKey    // nil: the key is here

	tookOver  bool        // from somebody who may have used the key
	made      []string    // intents of this run that count, by their ids
	uses      []string    // intents that are open, by their ids; none: the work is settled
	closing   []closing   // intents whose outcome is known, and not stored yet
	committed func() bool // the caller cannot end the work any more; nil in a worker

	alike *audit.Recurring // what the events of a certificate repeat; nil until one is written

	starts, failures int // of the work on the record, this one counted as started

	temp *upload.Spool
}

func (x *run) spool() *upload.Spool {
	if x.temp == nil {
		x.temp = upload.New(x.config.SpoolDir, upload.Limits{})
	}
	return x.temp
}

// close ends the work on a record. Uses of the key that were permitted and came
// to nothing, since the record was taken over or deleted, are over: a change may
// be waiting for them.
func (x *run) close() {
	if len(x.uses)+len(x.closing) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), settleLimit)
		defer cancel()
		err := x.db.Write(disk.Reclaiming(ctx), func(tx *store.Tx) error {
			if err := x.closeIntents(ctx, tx); err != nil {
				return err
			}
			if x.remote != nil && x.remote.sent { // used they are, and never again
				return intent.Used(ctx, tx, x.record.ID, x.uses...)
			}
			return intent.Close(ctx, tx, x.record.ID, x.uses, intent.Failed, x.config.Now())
		})
		if err != nil {
			x.config.Log.ErrorContext(ctx, "settle intents", "record", x.record.ID, "error", err)
		}
	}
	if x.temp != nil {
		_ = x.temp.Close() // files without a name: nothing is left behind
	}
}

// closing is what became of intents.
type closing struct {
	ids     []string
	outcome string
}

// closeIntents stores it.
func (x *run) closeIntents(ctx context.Context, tx *store.Tx) error {
	for _, c := range x.closing {
		if err := intent.Close(ctx, tx, x.record.ID, c.ids, c.outcome, x.config.Now()); err != nil {
			return fmt.Errorf("signing: close intents: %w", err)
		}
	}
	return nil
}

func hexOf(b []byte) string { return hex.EncodeToString(b) }

const (
	runLimit    = 10 * time.Minute
	maxFailures = 3
	settleLimit = 5 * time.Second
)

func isGone(err error) bool {
	return errors.Is(err, fault.NotFound)
}

// proceed takes a stored record from where it is to its end.
func (x *run) proceed(ctx context.Context) (err error) {
	r := x.record
	if x.secrets, err = x.openSecrets(r); err != nil {
		return err
	}
	if x.cert, err = x.enroll.Issued(ctx, r.CertificateID); err != nil {
		return err
	}
	if x.cred, err = x.keys.ByID(ctx, x.cert.ID); err != nil {
		return err
	}
	if x.cred == nil {
		return &refusal{number: fault.CertificateNotUsable, text: "the certificate's key is gone"}
	}
	if err := x.checkUnsent(ctx); err != nil {
		return err
	}
	if err := x.load(ctx); err != nil {
		return err
	}
	if err := x.validate(ctx); err != nil {
		return err
	}
	if r.State == WaitValidation {
		if err := x.validated(ctx); err != nil || r.Approval == approvalWaiting {
			return err
		}
	}
	x.config.Hook("before-sign", r.ID)
	return x.signAndEnd(ctx)
}

// validated is the step after validation, told to whoever waits. A record that
// waits for an approval gives its lease back: the approval brings the work.
func (x *run) validated(ctx context.Context) error {
	r, before := x.record, *x.record
	r.State, r.UpdatedAt = WaitSign, x.config.Now()
	if err := x.bind(); err != nil { // what was fetched and built is known from here on
		return err
	}
	set, args := `signature_type = $5, secret = $6`, []any{r.Type, r.secret}
	if r.Approval == approvalWaiting {
		set += `, lease_by = '', lease_until = 0`
	}
	err := x.db.Write(ctx, func(tx *store.Tx) error {
		if err := x.transition(ctx, tx, WaitSign, set, args...); err != nil {
			return err
		}
		for _, f := range x.fetched {
			if err := x.updateFile(ctx, tx, r.ID, f); err != nil {
				return err
			}
		}
		if err := x.insertValidated(ctx, tx, r); err != nil {
			return err
		}
		if x.picture != nil {
			if err := x.insertFiles(ctx, tx, r.ID, x.picture); err != nil {
				return err
			}
		}
		if err := x.audit.Append(ctx, tx, x.validationEvents()...); err != nil {
			return err
		}
		if r.Approval == approvalWaiting {
			if err := x.config.Waits(ctx, tx, r); err != nil {
				return err
			}
		}
		return x.tell(ctx, tx, r)
	})
	if err != nil {
		*r = before
	}
	return err
}

// errLost says that another worker has taken the record over: whatever we have
// is dropped.
var errLost = errors.New("signing: the record was taken over")

// internal is the refusal for trouble of our own: the text carries the request
// id and nothing else.
func (x *run) internal(err error) *refusal {
	return &refusal{number: fault.SigningFailed, text: "internal failure; request " + x.record.RequestID, err: err}
}
