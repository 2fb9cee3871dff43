package signing

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/job"
	"rogito.dev/rogito/server/internal/span"
	"rogito.dev/rogito/xades"
)

// signedDocument is what was made of one item, or of all of them.
type signedDocument struct {
	*rogito.Signed // nil for a zip of several

	src   ades.Source
	media media
	level string        // B, T, LT, LTA; empty where there are none
	count int           // of several: how many signatures were made
	parts []audit.Event // of several: what the log tells of each
}

// signInCall signs while the caller waits.
func (x *run) signInCall(asked context.Context) (*Record, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(asked), runLimit)
	defer cancel()
	// A caller that hangs up ends the work, but does not undo a signature.
	x.committed = context.AfterFunc(asked, cancel)
	defer x.committed()
	x.lease = job.NewLease()
	defer x.jobs.Hold(table, x.record.ID, x.lease)()
	err := x.signAndEnd(ctx)
	var f *fault.Error
	switch {
	case err == nil:
		return x.record, nil
	case errors.Is(err, errLost):
		return x.byID(ctx, x.record.ID)
	case !x.record.stored && asked.Err() != nil:
		return nil, asked.Err()
	case !x.record.stored && errors.As(err, &f):
		return nil, err // the caller may try again
	}
	return x.refuse(ctx, err)
}

// signAndEnd signs what was validated and ends the record, in a call and in a
// worker alike.
func (x *run) signAndEnd(ctx context.Context) error {
	out, err := x.sign(ctx)
	if err != nil {
		return err
	}
	x.config.Hook("signed", x.record.ID)
	return x.end(ctx, out, nil)
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
	if len(x.items) == 1 && !x.record.Options.Batch {
		return x.signItem(ctx, x.items[0], params, x.useKey)
	}
	return x.signAll(ctx, params)
}

func (x *run) signParams() (ades.SignParams, error) {
	p := ades.SignParams{Hash: hashOf(x.record.Options.Hash), Time: x.config.Now().UTC().Truncate(time.Second)}
	if x.remote != nil {
		p.PSS = x.remote.credential.NeedsPSS()
		x.remote.hash, x.remote.pss = p.Digest(), p.PSS
	}
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

// valueFunc gets the signature value of a draft.
type valueFunc = func(context.Context, *rogito.Draft) ([]byte, error)

// signItem signs one item through the front door of the library, which reads
// and checks what it made. A PDF is signed once for each field asked for.
func (x *run) signItem(ctx context.Context, it *item, params ades.SignParams, value valueFunc) (*signedDocument, error) {
	in, options, err := x.libraryOptions(ctx, it, params)
	if err != nil {
		return nil, unsignable(it.index, err)
	}
	out := &signedDocument{src: it.src}
	for i, o := range options {
		if i > 0 {
			in = rogito.File("", out.src)
		}
		out.Signed, err = rogito.SignWith(ctx, in, nil, o, value)
		if err != nil {
			return nil, unsignable(it.index, raisingRefusal(err))
		}
		of := out.src
		if out.src = out.Source; out.Format == ades.PAdES {
			if out.src, err = x.signed(of, out.Source); err != nil {
				return nil, err
			}
		}
	}
	_, out.level, _ = strings.Cut(out.Profile, "BASELINE-")
	out.media = media{out.MediaType, out.Extension}
	if suffix := out.Extension == "p7m" || out.Extension == "sig"; suffix && !out.InPlace && it.digest == nil {
		out.media.ext = it.media.ext + "." + out.Extension // contract.pdf.p7m
	}
	return out, nil
}

// libraryFormats are the formats by their names on the wire.
var libraryFormats = map[string]ades.Format{"cades": ades.CAdES, "pades": ades.PAdES, "xades": ades.XAdES, "pkcs1": ades.PKCS1}

// Formats lists their names.
func Formats() []string { return slices.Sorted(maps.Keys(libraryFormats)) }

var xadesPackaging = map[string]xades.Packaging{
	"enveloped": xades.Enveloped, "enveloping": xades.Enveloping, "detached": xades.Detached, "internally-detached": xades.InternallyDetached,
}

// libraryOptions translates an item and the options of its record. There is
// one set of options for every signature that the document gets.
func (x *run) libraryOptions(ctx context.Context, it *item, params ades.SignParams) (rogito.Input, []rogito.Options, error) {
	o := &x.record.Options
	name := entryName(it.index, it.label, it.media.ext)
	in := rogito.Input{Files: it.files, Digest: it.digest}
	if it.files == nil && it.digest == nil {
		in = rogito.File(name, handed(it.src))
	}
	size := int64(signatureSize)
	for _, f := range in.Files {
		size += f.Source.Size()
	}
	out := rogito.Options{
		SignParams: params, Memory: x.config.Memory, Format: libraryFormats[it.format], Level: o.level(), StampHash: hashOf(o.TimestampHash), VRI: o.Level == "LTV",
		Stamper: x.stamper(), Gatherer: x.config.Gatherer, Spool: func() rogito.Spool { return x.spool().WriteSized(size) },
	}
	switch container := strings.HasPrefix(o.Packaging, "asic-") || it.files != nil; {
	case out.Format == ades.PAdES:
		all, err := x.padesOptions(ctx, it.src)
		if c, ok := it.src.(*content); ok && len(all) > 0 { // the next sign what the first made
			all[0].Examination = c.examined
		}
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
	case out.Format == ades.XAdES:
		out.XAdES = xades.Options{
			Packaging: xadesPackaging[o.Packaging], SignatureID: o.SignatureID, SignElement: o.SignElement, XPathQuery: o.XPathQuery,
			KeepSignatures: o.KeepSignatures, MimeTypes: map[string]string{name: it.media.mime},
		}
	case out.Format == ades.CAdES:
		out.CAdES = cades.Options{Detached: o.Detached, Embedded: o.Embedded, MimeType: it.media.mime}
		out.Counter, out.Parallel = o.Counter && it.digest == nil, o.Parallel && !o.Detached
	}
	return in, []rogito.Options{out}, nil
}

// useKey signs a draft with the key of the record's certificate.
func (x *run) useKey(ctx context.Context, d *rogito.Draft) ([]byte, error) {
	if x.remote != nil {
		values, err := x.askProvider(ctx, []*rogito.Draft{d}, 1)
		if err != nil {
			return nil, err
		}
		return values[0].Value, providerRefusal(values[0].Err)
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
		return nil, fmt.Errorf("signing: use key: %w", err)
	}
	return value, nil
}
