package api

import (
	"bytes"
	"context"
	"net/http"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
)

// Idempotency remembers for a day, per account, what came of a creating POST.
//
// The claim travels in the context. A room that makes a record binds the
// record's id to the claim inside the record's own transaction, so that record
// and memory commit together; an answer without a record is kept whole, sealed.
type Idempotency interface {
	// Claim takes a key. A fresh one comes back with a context that carries the
	// claim; a known one with what it led to. The errors are faults: 150 while
	// the first request is still running, 151 when it had another digest.
	Claim(ctx context.Context, accountID, key string, digest []byte) (context.Context, *Outcome, error)
	// Keep stores the answer of the claim in ctx, sealed, unless a record was
	// bound to it.
	Keep(ctx context.Context, answer []byte) error
	// Release gives the claim in ctx up: the request failed and made nothing.
	Release(ctx context.Context) error
}

// Outcome is what an idempotency key led to: a record, or an answer.
type Outcome struct {
	Record string
	Answer []byte
}

// once runs a creating operation under its idempotency key.
func (a *API) once(r *http.Request, op *Op, digest []byte, first func(context.Context) (answer, error), again func(context.Context, string) (answer, error)) (answer, error) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > 255 {
		return answer{}, fault.New(151, "Idempotency-Key is longer than 255 characters")
	}
	caller := account.CallerFrom(r.Context())
	if caller == nil || a.opts.Idempotency == nil {
		return first(r.Context())
	}
	ctx, known, err := a.opts.Idempotency.Claim(r.Context(), caller.AccountID, key, digest)
	if err != nil {
		return answer{}, err
	}
	if known != nil {
		return replay(ctx, known, again)
	}
	return a.firstTime(ctx, op, first)
}

func replay(ctx context.Context, known *Outcome, again func(context.Context, string) (answer, error)) (answer, error) {
	if known.Record == "" || again == nil {
		return answer{body: known.Answer, replayed: true}, nil
	}
	ans, err := again(ctx, known.Record)
	ans.replayed = true
	return ans, err
}

// firstTime runs the operation and settles the claim, even when the client has
// gone meanwhile or the operation panics.
func (a *API) firstTime(ctx context.Context, op *Op, first func(context.Context) (answer, error)) (ans answer, err error) {
	settled := false
	defer func() {
		if settled {
			return
		}
		if rerr := a.opts.Idempotency.Release(context.WithoutCancel(ctx)); rerr != nil {
			a.log.ErrorContext(ctx, "release an idempotency key", "error", rerr)
		}
	}()
	ans, err = first(ctx)
	if err != nil {
		return ans, err
	}
	var b bytes.Buffer
	if ans.content == nil && ans.encoded == nil {
		if err := encode(&b, op, &ans); err != nil {
			return ans, err
		}
	}
	if err := a.opts.Idempotency.Keep(context.WithoutCancel(ctx), b.Bytes()); err != nil {
		// The work is done and may not be lost: the answer goes out, and the
		// claim runs out by itself.
		a.log.ErrorContext(ctx, "keep an idempotent answer", "error", err)
	}
	settled = true
	return ans, nil
}
