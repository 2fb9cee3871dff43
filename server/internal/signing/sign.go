package signing

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/store"
	"rogito.dev/rogito/xades"
)

// signedDocument is what was made of one item, or of all of them.
type signedDocument struct {
	*rogito.Signed // nil for a zip of several

	src   ades.Source
	media media
	level string        // B, T, LT, LTA; empty where there are none
	count int           // of several: how many were signed
	parts []audit.Event // of several: what the log tells of each
}

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

// sign signs every item.
func (x *run) sign(ctx context.Context) (*signedDocument, error) {
	params, err := x.signParams()
	if err != nil {
		return nil, err
	}
	if len(x.items) == 1 && !x.record.Options.Batch {
		return x.signItem(ctx, x.items[0], params)
	}
	return x.signAll(ctx, params)
}

func (x *run) signParams() (ades.SignParams, error) {
	p := ades.SignParams{Hash: hashOf(x.record.Options.Hash), Time: x.config.Now().UTC().Truncate(time.Second)}
	cert, err := x.certificates.parse(x.cert.DER)
	if err != nil {
		return p, fmt.Errorf("signing: certificate: %w", err)
	}
	p.Certificate = cert
	for _, der := range x.cert.Chain {
		c, err := x.certificates.parse(der)
		if err != nil {
			return p, fmt.Errorf("signing: chain: %w", err)
		}
		p.Chain = append(p.Chain, c)
	}
	return p, nil
}

// signatureSize is what a signature without much evidence adds to a document.
const signatureSize = 48 << 10

// signItem signs one item through the front door of the library, which reads
// and checks what it made. A PDF is signed once for each field asked for.
func (x *run) signItem(ctx context.Context, it *item, params ades.SignParams) (*signedDocument, error) {
	in, options, err := x.libraryOptions(it, params)
	if err != nil {
		return nil, unsignable(it.index, err)
	}
	out := &signedDocument{src: it.src}
	for i, o := range options {
		if i > 0 {
			in = rogito.File("", out.src)
		}
		size := int64(signatureSize)
		if out.src != nil {
			size += out.src.Size()
		}
		w := x.spool().WriteSized(size)
		out.Signed, err = rogito.SignWith(ctx, in, w, o, x.useKey)
		if err != nil {
			return nil, unsignable(it.index, raisingRefusal(err))
		}
		out.src = w.Source()
	}
	_, out.level, _ = strings.Cut(out.Level, "BASELINE-")
	out.media = media{out.MediaType, out.Extension}
	if suffix := out.Extension == "p7m" || out.Extension == "sig"; suffix && !out.InPlace && it.digest == nil {
		out.media.ext = it.media.ext + "." + out.Extension // contract.pdf.p7m
	}
	return out, nil
}

// libraryFormats are the formats by their names on the wire.
var libraryFormats = map[string]ades.Format{"cades": ades.CAdES, "pades": ades.PAdES, "xades": ades.XAdES, "pkcs1": ades.PKCS1}

var xadesPackaging = map[string]xades.Packaging{
	"enveloped": xades.Enveloped, "enveloping": xades.Enveloping, "detached": xades.Detached, "internally-detached": xades.InternallyDetached,
}

// libraryOptions translates an item and the options of its record. There is
// one set of options for every signature that the document gets.
func (x *run) libraryOptions(it *item, params ades.SignParams) (rogito.Input, []rogito.Options, error) {
	o := &x.record.Options
	name := entryName(it.index, it.label, it.media.ext)
	in := rogito.Input{Files: it.files, Digest: it.digest}
	if it.files == nil && it.digest == nil {
		in = rogito.File(name, it.src)
	}
	out := rogito.Options{
		SignParams: params, Format: libraryFormats[it.format], Level: o.level(), StampHash: hashOf(o.TimestampHash), VRI: o.Level == "LTV",
		Stamper: x.stamper(), Gatherer: x.config.Gatherer, Spool: func() rogito.Spool { return x.spool().Write() },
		CAdES: cades.Options{Detached: o.Detached, MimeType: it.media.mime},
		XAdES: xades.Options{
			Packaging: xadesPackaging[o.Packaging], SignatureID: o.SignatureID, SignElement: o.SignElement, XPathQuery: o.XPathQuery,
			KeepSignatures: o.KeepSignatures, MimeTypes: map[string]string{name: it.media.mime},
		},
	}
	switch container := strings.HasPrefix(o.Packaging, "asic-") || it.files != nil; {
	case out.Format == ades.PAdES:
		all, err := x.padesOptions(it.src, params)
		options := make([]rogito.Options, len(all))
		for i, p := range all {
			options[i] = out
			options[i].PAdES = p
			if i < len(all)-1 { // the last brings what all need beyond their time-stamps
				options[i].Level = min(out.Level, ades.LevelT)
			}
		}
		return in, options, err
	case out.Format == ades.PKCS1:
		out.Level = ades.LevelB
	case container && it.digest == nil:
		out.ASiC = asic.Options{CAdES: out.Format == ades.CAdES}
		out.Format = ades.ASiCE
		if o.Packaging == "asic-s" {
			out.Format = ades.ASiCS
		}
	case out.Format == ades.CAdES:
		out.Counter, out.Parallel = o.Counter && it.digest == nil, o.Parallel && !o.Detached
	}
	return in, []rogito.Options{out}, nil
}

// useKey makes the intent to sign a draft durable, and only then has the key
// handed out and used.
func (x *run) useKey(ctx context.Context, d *rogito.Draft) ([]byte, error) {
	if err := x.intend(ctx, d.Digest()); err != nil {
		return nil, err
	}
	x.config.Hook("intended", x.record.ID)
	if x.key == nil {
		cred, err := x.credential(ctx)
		if err != nil {
			return nil, err
		}
		x.key, err = x.keys.Open(ctx, cred, x.secrets.Password)
		if errors.Is(err, keys.ErrPassword) {
			return nil, &refusal{number: fault.WrongCredentials, text: "wrong certificate credentials"}
		}
		if err != nil {
			return nil, err
		}
	}
	value, err := d.Value(x.key)
	if err != nil {
		return nil, fmt.Errorf("signing: use key: %w", err)
	}
	return value, nil
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
