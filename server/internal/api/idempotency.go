package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/idempotency"
)

// Replay shows again what a creating operation made: the record as it is now,
// or, where the answer showed a secret, what was kept of it.
type Replay[D any] func(ctx context.Context, r idempotency.Replay) (Reply[D], error)

// once runs a creating operation under its idempotency key.
//
// The claim travels in the context: the package that makes the record writes it
// (idempotency.ClaimFrom(ctx).Record) in the record's own transaction, so that both
// exist or neither does. An operation registered without a Replay has its
// whole answer kept here, sealed.
func (a *API) once(r *http.Request, op *Op, digest []byte, first func(context.Context) (Answer, error), again func(context.Context, idempotency.Replay) (Answer, error)) (Answer, error) {
	caller := account.CallerFrom(r.Context())
	if caller == nil || a.opts.Idempotency == nil {
		return first(r.Context())
	}
	key := r.Header.Get("Idempotency-Key")
	// The second round is for a claim that another process was faster to write.
	for {
		claim, known, err := a.opts.Idempotency.Begin(r.Context(), caller.AccountID, key, digest)
		if err != nil {
			return Answer{}, err
		}
		if known != nil {
			return replay(r.Context(), *known, again)
		}
		ans, err := a.firstTime(r.Context(), op, claim, first, again == nil)
		if !errors.Is(err, idempotency.ErrReplay) {
			return ans, err
		}
	}
}

func replay(ctx context.Context, known idempotency.Replay, again func(context.Context, idempotency.Replay) (Answer, error)) (Answer, error) {
	if again == nil {
		return Answer{body: known.Answer, replayed: true}, nil
	}
	ans, err := again(ctx, known)
	ans.replayed = true
	return ans, err
}

func (a *API) firstTime(ctx context.Context, op *Op, claim *idempotency.Claim, first func(context.Context) (Answer, error), keep bool) (Answer, error) {
	defer claim.End()
	ans, err := first(idempotency.WithClaim(ctx, claim))
	if err != nil || !keep || ans.content != nil {
		return ans, err
	}
	var b bytes.Buffer
	if err := Encode(&b, op, &ans); err != nil {
		return ans, err
	}
	if err := claim.Keep(context.WithoutCancel(ctx), b.Bytes()); err != nil {
		// The work is done and may not be lost: the answer goes out all the same.
		a.log.ErrorContext(ctx, "keep an idempotent answer", "error", err)
	}
	return ans, nil
}
