package accounts

import (
	"context"
	"net/http"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
)

// The first version of the operations on tokens, kept for the clients of it.

type firstRequest struct {
	Scopes []string `json:"scopes" required:"false" doc:"METHOD:domain/segment; * stands for any"`
	TTL    int64    `json:"ttl" required:"false" doc:"seconds; at most and by default a year"`
	Expire int64    `json:"expire" required:"false" deprecated:"true" doc:"unix seconds; ttl wins over it"`
}

// life is how long the token is to live from now. A moment in the past is refused: it would be
// taken for the default, and prolong a token that the caller wanted to end.
func (r firstRequest) life() (time.Duration, error) {
	if r.TTL != 0 || r.Expire == 0 {
		return seconds(r.TTL), nil
	}
	d := time.Until(time.Unix(r.Expire, 0))
	if d <= 0 {
		return 0, fault.New(fault.BadScopes, "expire must be a time to come, in unix seconds")
	}
	return d, nil
}

// flatToken is the one answer without an envelope.
type flatToken struct {
	Scopes  []string `json:"scopes" doc:"METHOD:domain/segment"`
	Expire  int64    `json:"expire" doc:"unix seconds"`
	Token   string   `json:"token" doc:"shown in this answer only"`
	Success bool     `json:"success" doc:"true"`
	Message string   `json:"message" doc:"Created"`
	Error   *int     `json:"error" doc:"null"`
}

func (t flatToken) grants() ([]string, time.Time) { return t.Scopes, time.Unix(t.Expire, 0) }

type tokenV1 struct {
	Scopes   []string `json:"scopes" doc:"METHOD:domain/segment"`
	Expire   int64    `json:"expire" doc:"unix seconds"`
	Token    string   `json:"token" doc:"the token's id, as good in paths as the token"`
	LastFour string   `json:"lastFour" doc:"the token's last characters, to tell it by"`
}

func shownFirst(t account.Token) tokenV1 {
	return tokenV1{Scopes: t.Scopes, Expire: t.ExpireAt.Unix(), Token: t.ID, LastFour: t.LastFour}
}

type firstFilter struct {
	idSpan
	Scope string `query:"scope" doc:"only tokens with this scope"`
}

type firstChange struct {
	tokenPath
	Body firstRequest
}

func (s *Accounts) registerFirstTokens(a *api.API) {
	op := s.op(http.MethodPost, "/token", "createTokenV1", tokensTag, "Make a token (first version: a flat answer)", "The one answer without an envelope: scopes, expiry and the token, which is shown in this answer only.")
	op.Idempotent, op.NoEnvelope, op.BadField, op.Examples = true, true, 80, firstExamples
	op.Errors = append(op.Errors, fault.ScopesMissing, fault.BadScopes, fault.ScopeNotEnabled)
	api.RegisterReplayable(a, op, func(ctx context.Context, in *struct{ Body firstRequest }) (api.Reply[flatToken], error) {
		life, err := in.Body.life()
		if err != nil {
			return api.Reply[flatToken]{}, err
		}
		return createToken(ctx, s, account.NewToken{Scopes: in.Body.Scopes, Life: life}, func(t *account.Token) flatToken {
			return flatToken{Scopes: t.Scopes, Expire: t.ExpireAt.Unix(), Token: t.Secret, Success: true, Message: "Created"}
		})
	}, sameToken[flatToken](s))

	api.Register(a, s.op(http.MethodGet, "/token", "listTokensV1", tokensTag, "Tokens of the account (first version)", "Ids in the place of tokens, which are shown only when they are made."),
		func(ctx context.Context, in *firstFilter) (api.Reply[[]tokenV1], error) {
			list, err := s.Service.Tokens(ctx, callerID(ctx), account.TokenFilter{Scope: in.Scope, After: string(in.After), Skip: in.Skip, Limit: in.Limit})
			return api.Found(each(list, shownFirst)), err
		})

	op = s.op(http.MethodGet, "/token/{token}", "readTokenV1", tokensTag, "One token (first version)", "A list of one.")
	op.Errors = append(op.Errors, fault.NotFound, fault.MalformedID)
	api.Register(a, op, func(ctx context.Context, in *tokenPath) (api.Reply[[]tokenV1], error) {
		t, err := s.Service.FindToken(ctx, callerID(ctx), in.Token)
		return api.Found([]tokenV1{shownFirst(t)}), err
	})

	op = s.op(http.MethodPut, "/token/{token}", "replaceTokenV1", tokensTag, "Replace a token's scopes and expiry (first version)", "Both are set; what is left out has its default.")
	op.BadField, op.Examples, op.Errors = 80, firstExamples, append(op.Errors, fault.ScopesMissing, fault.BadScopes, fault.ScopeNotEnabled, fault.NotFound, fault.MalformedID)
	api.Register(a, op, func(ctx context.Context, in *firstChange) (api.Reply[[]tokenV1], error) {
		if len(in.Body.Scopes) == 0 {
			return api.Reply[[]tokenV1]{}, fault.New(fault.ScopesMissing, "scopes are missing")
		}
		return s.changeFirst(ctx, in, true)
	})

	op = s.op(http.MethodPatch, "/token/{token}", "changeTokenV1", tokensTag, "Change a token's scopes or expiry (first version)", "What the body names is changed.")
	op.BadField, op.Examples, op.Errors = 80, firstExamples, append(op.Errors, fault.BadScopes, fault.ScopeNotEnabled, fault.NotFound, fault.MalformedID)
	api.Register(a, op, func(ctx context.Context, in *firstChange) (api.Reply[[]tokenV1], error) {
		return s.changeFirst(ctx, in, in.Body.TTL != 0 || in.Body.Expire != 0)
	})

	op = s.op(http.MethodDelete, "/token/{token}", "deleteTokenV1", tokensTag, "Revoke a token (first version)", "By the token or its id; those made with it end with it.")
	op.Errors = append(op.Errors, fault.NotFound, fault.MalformedID)
	api.Register(a, op, s.deleteToken)
}

func (s *Accounts) changeFirst(ctx context.Context, in *firstChange, life bool) (api.Reply[[]tokenV1], error) {
	c := account.CallerFrom(ctx)
	ch := account.TokenChange{Scopes: in.Body.Scopes}
	if life {
		d, err := in.Body.life()
		if err != nil {
			return api.Reply[[]tokenV1]{}, err
		}
		ch.Life = &d
	}
	t, err := s.Service.ChangeToken(ctx, c, c.Host, in.Token, ch)
	return api.Found([]tokenV1{shownFirst(t)}), err
}
