package signing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/span"
)

// signedDocument is what was made of one item, or of all of them.
type signedDocument struct {
	*rogito.Signed // nil for a zip of several

	src   ades.Source
	media documents.Media
	level *ades.Level   // nil where there are none
	count int           // of several: how many signatures were made
	parts []audit.Event // of several: the log's entries for each
	// results of a batch
	results []ledger.DocumentResult
}

// signInCall signs while the caller waits.
func (x *run) signInCall(asked context.Context) (*ledger.Record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(asked), runLimit)
	defer cancel()
	// A caller that hangs up ends the work, but does not undo a signature.
	x.committed = context.AfterFunc(asked, cancel)
	defer x.committed()
	x.lease = job.NewLease()
	defer x.jobs.Hold(ledger.Table, x.record.ID, x.lease)()
	err := x.signAndEnd(ctx)
	var f *fault.Error
	switch {
	case err == nil:
		return x.record, nil
	case errors.Is(err, ledger.ErrLost):
		return x.ByID(ctx, x.record.ID)
	case !x.record.Stored && asked.Err() != nil:
		return nil, asked.Err()
	case !x.record.Stored && errors.As(err, &f):
		return nil, err // the caller may try again
	case errors.Is(err, fault.Unavailable):
		return nil, x.waits(ctx, err)
	}
	return x.refuse(ctx, err)
}

// signAndEnd signs what was validated and ends the record, for calls and workers alike. If the
// result cannot be stored, storing is retried for as long as a lease lasts.
func (x *run) signAndEnd(ctx context.Context) error {
	out, err := x.sign(ctx)
	if err != nil {
		return err
	}
	x.config.Hook("signed", x.record.ID)
	begun := time.Now()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := x.end(ctx, out, nil)
		if !errors.Is(err, fault.Unavailable) || time.Since(begun) > x.config.Lease {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// sign signs every item.
func (x *run) sign(ctx context.Context) (*signedDocument, error) {
	if err := x.openRemote(ctx); err != nil {
		return nil, err
	}
	params, err := x.signParams()
	if err != nil {
		return nil, err
	}
	if len(x.docs.Items) == 1 && !x.record.Options.Batch {
		return x.signItem(ctx, x.docs.Items[0], params, x.useKey)
	}
	return x.signAll(ctx, params)
}

func (x *run) signParams() (ades.SignParams, error) {
	p := ades.SignParams{Hash: request.HashOf(x.record.Options.Hash), Time: x.config.Now().UTC().Truncate(time.Second)}
	if x.secrets.Kept != nil {
		p.Time = x.secrets.Kept.Time
	}
	x.time = p.Time
	var err error
	if p.Certificate, p.Chain, err = x.cert.X509(); err != nil {
		return p, err
	}
	if x.record.Asked() == request.JAdES {
		p.Hash = jades.Hash(p) // a curve goes with one only, which a provider has to be told
	}
	if x.remote != nil {
		p.PSS = x.remote.NeedsPSS()
		x.remote.hash, x.remote.pss = p.Digest(), p.PSS
	}
	return p, nil
}

// valueFunc gets the signature value of a draft.
type valueFunc = func(context.Context, *rogito.Draft) ([]byte, error)

// signItem signs one item through rogito.SignWith, which reads back and checks its result. A
// PDF is signed once for each field asked for.
func (x *run) signItem(ctx context.Context, it *documents.Item, params ades.SignParams, value valueFunc) (*signedDocument, error) {
	in, options, err := x.docs.LibraryOptions(ctx, it, rogito.Options{SignParams: params, Stamper: x.stamper(), Gatherer: x.config.Gatherer})
	if err != nil {
		return nil, documents.Unsignable(it.Index, err)
	}
	out := &signedDocument{src: it.Source}
	for i, o := range options {
		if i > 0 {
			in = rogito.File("", out.src)
		}
		out.Signed, err = rogito.SignWith(ctx, in, nil, o, value)
		if err != nil {
			return nil, documents.Unsignable(it.Index, raisingRefusal(err))
		}
		of := out.src
		if out.src = out.Source; out.Format == ades.PAdES {
			if out.src, err = x.docs.Signed(of, out.Source); err != nil {
				return nil, err
			}
		}
	}
	if out.Profile.Baseline {
		out.level = &out.Profile.Level
	}
	out.media = documents.Media{MIME: out.MediaType, Ext: out.Extension}
	if suffix := out.Extension == "p7m" || out.Extension == "sig"; suffix && !out.InPlace && it.Digest == nil {
		out.media.Ext = it.Media.Ext + "." + out.Extension // contract.pdf.p7m
	}
	return out, nil
}

var errKeyUse = errors.New("signing: use key")

// useKey signs a draft with the key of the record's certificate.
func (x *run) useKey(ctx context.Context, d *rogito.Draft) ([]byte, error) {
	if x.remote != nil {
		values, err := x.askProvider(ctx, []*rogito.Draft{d}, 1)
		if err != nil {
			return nil, err
		}
		return values[0].Value, providerRefusal(values[0].Err)
	}
	if value := x.keptValue(d.Digest()); value != nil {
		return value, nil
	}
	key, err := x.begin(ctx, d.Digest())
	if err != nil {
		return nil, err
	}
	x.config.Hook("using", x.record.ID)
	if x.committed == nil { // a worker: those who wait for an answer come first
		select {
		case x.computing <- struct{}{}:
			defer func() { <-x.computing }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	_, end := span.Start(ctx, span.Key)
	value, err := d.Value(key)
	end(err)
	x.config.Hook("used", x.record.ID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKeyUse, err)
	}
	x.values = append(x.values, ledger.Value{Intent: x.uses[0], Digest: d.Digest(), Value: value})
	return value, nil
}
