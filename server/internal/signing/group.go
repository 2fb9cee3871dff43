package signing

import (
	"context"
	"errors"
	"iter"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/server/internal/signing/documents"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// signEach signs the items of a record and passes on each result, in order. With a key that is
// here they are signed one after another. A provider signs many digests in one call, so there
// the items are prepared in parallel up to the point where they need a value.
func (x *run) signEach(ctx context.Context, params ades.SignParams, done func(it *documents.Item, signed *signedDocument, uses int, err error) error) error {
	if x.remote == nil {
		for _, it := range x.docs.Items {
			before := x.intents
			signed, err := x.signOne(ctx, it, params, x.useKey)
			if err := done(it, signed, x.intents-before, err); err != nil {
				return err
			}
		}
		return nil
	}
	for rest := x.docs.Items; len(rest) > 0; {
		turns := x.signGroup(ctx, rest, params)
		for _, t := range turns {
			if err := done(t.it, t.signed, t.uses, t.err); err != nil {
				return err
			}
		}
		rest = rest[len(turns):]
	}
	return nil
}

// groupBytes bounds the documents prepared in parallel: they are in memory or temporary files
// until all of them are signed.
const groupBytes = 64 << 20

// turn is the work on one item, which stops wherever it needs a signature value.
type turn struct {
	it     *documents.Item
	next   func() (*rogito.Draft, bool)
	value  []byte // for the draft that waits
	no     error  // why there is none
	uses   int
	signed *signedDocument
	err    error
}

// newTurn starts nothing yet.
func (x *run) newTurn(ctx context.Context, it *documents.Item, params ades.SignParams) (t *turn, stop func()) {
	t = &turn{it: it}
	t.next, stop = iter.Pull(func(yield func(*rogito.Draft) bool) {
		t.signed, t.err = x.signOne(ctx, it, params, func(_ context.Context, d *rogito.Draft) ([]byte, error) {
			if !yield(d) {
				return nil, ledger.ErrLost // the consumer has stopped
			}
			if t.no == nil {
				t.uses++
			}
			return t.value, t.no
		})
	})
	return t, stop
}

// signGroup signs the first items of several, as many as the provider signs at
// once, there is room for and groupBytes allow; at least one.
func (x *run) signGroup(ctx context.Context, items []*documents.Item, params ades.SignParams) []*turn {
	var all, waiting []*turn
	var drafts []*rogito.Draft
	most, size := x.remote.Most(), int64(0)
	if x.record.Options.SignsFields() {
		most = 1 // it is prepared again for each field, and waits for room then
	}
	prepare := func(t *turn) {
		if d, ok := t.next(); ok {
			waiting, drafts = append(waiting, t), append(drafts, d)
		}
	}
	patient := ctx
	for _, it := range items {
		if it.Source != nil {
			size += it.Source.Size()
		}
		if len(waiting) >= most || len(all) > 0 && size > groupBytes {
			break
		}
		t, stop := x.newTurn(ctx, it, params)
		defer stop()
		prepare(t)
		if errors.Is(t.err, limits.ErrCrowded) {
			break // with the next group
		}
		all = append(all, t)
		if len(waiting) > 0 {
			ctx = limits.Impatient(patient)
		}
	}
	// Most are signed with one value. Of a file that is counter-signed each
	// signature wants one.
	for len(waiting) > 0 {
		values, err := x.askProvider(patient, drafts, len(items)-len(all)+len(waiting))
		asked := waiting
		waiting, drafts = nil, nil
		for i, t := range asked {
			if t.value, t.no = nil, err; err == nil {
				t.value, t.no = values[i].Value, providerRefusal(values[i].Err)
			}
			prepare(t)
		}
	}
	return all
}
