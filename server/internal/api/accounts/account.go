// Package accounts has the operations on an account: its tokens, scopes, money
// and statistics.
package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/store"
)

// Accounts answers for tokens, scopes, money and statistics.
type Accounts struct {
	Service *account.Service
	Billing *billing.Service
	DB      *store.DB
}

const (
	tokensTag = "Tokens"
	moneyTag  = "Money"
	statsTag  = "Statistics"
)

// RegisterAccounts adds the operations on accounts. All of them take e-mail
// and API key as well as a token.
func RegisterAccounts(a *api.API, s *Accounts) {
	a.Tag(tokensTag, "Tokens and the scopes that they have. The operations of the first version (`/token`) are kept for the clients of it.")
	a.Tag(moneyTag, "The wallet, subscriptions and what was charged.")
	a.Tag(statsTag, "How much was asked, and what was refused.")
	s.registerTokens(a)
	s.registerFirstTokens(a)
	s.registerScopes(a)
	s.registerMoney(a)
	s.registerStats(a)
}

// listSpan is the part of a long list that is asked for.
type listSpan struct {
	Skip  int `query:"skip" minimum:"0" default:"0" doc:"elements to leave out"`
	Limit int `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"elements to show"`
}

// idSpan is listSpan of a list whose elements have ids.
type idSpan struct {
	listSpan
	After api.ID `query:"after" doc:"only what comes behind this element in the order of the list: quick, however long the list"`
}

func callerID(ctx context.Context) string { return account.CallerFrom(ctx).AccountID }

// createToken makes a token under the call's idempotency key: token and kept
// answer are written together, so that a crash leaves both or neither.
func createToken[D any](ctx context.Context, s *Accounts, n account.NewToken, show func(*account.Token) D) (api.Reply[D], error) {
	c := account.CallerFrom(ctx)
	if err := s.Service.CheckToken(c, c.Host, &n); err != nil {
		return api.Reply[D]{}, err
	}
	var data D
	err := s.DB.Write(ctx, func(tx *store.Tx) error {
		t, err := s.Service.CreateToken(ctx, tx, c, n)
		if err != nil {
			return err
		}
		data = show(t)
		kept, err := json.Marshal(data)
		if err != nil {
			return err
		}
		return idempotency.ClaimFrom(ctx).Answer(ctx, tx, t.ID, kept)
	})
	return api.Reply[D]{Data: data, Message: "Created"}, err
}

// tokenAnswer is an answer that shows a token.
type tokenAnswer interface {
	grants() (scopes []string, expire time.Time)
}

// sameToken shows a token's answer again, whole, to a caller who could have asked for
// the token.
func sameToken[D tokenAnswer](s *Accounts) api.Replay[D] {
	return func(ctx context.Context, r idempotency.Replay) (api.Reply[D], error) {
		var data D
		if err := json.Unmarshal(r.Answer, &data); err != nil {
			return api.Reply[D]{}, err
		}
		scopes, expire := data.grants()
		if err := s.Service.MayHold(ctx, account.CallerFrom(ctx), scopes, expire); err != nil {
			return api.Reply[D]{}, err
		}
		return api.Reply[D]{Data: data, Message: "Created"}, nil
	}
}

type tokenPath struct {
	Token string `path:"token" pattern:"^([0-9a-f]{24}|rgt_[0-9A-Za-z]{49})$" doc:"the token, or its id"`
}

type deleted struct {
	Deleted int `json:"deleted" doc:"how many"`
}

func (s *Accounts) deleteToken(ctx context.Context, in *tokenPath) (api.Reply[deleted], error) {
	err := s.Service.DeleteToken(ctx, account.CallerFrom(ctx), in.Token)
	return api.Reply[deleted]{Data: deleted{1}, Message: "1 token deleted"}, err
}

func (s *Accounts) op(method, path, id, tag, summary, text string) api.Op {
	return api.Op{Method: method, Path: path, ID: id, Tag: tag, Summary: summary, Text: text, Basic: true, Errors: []fault.Code{fault.WrongToken, fault.ScopeLacking, fault.AddressNotAllowed, fault.WrongAPIKey, fault.LimitReached}}
}

// registerTokens adds the second version of the operations on tokens.
func (s *Accounts) registerTokens(a *api.API) {
	op := s.op(http.MethodPost, "/tokens", "createToken", tokensTag, "Make a token",
		"The token and its refresh token are shown in this answer only.")
	op.Idempotent, op.BadField, op.Examples = true, 80, tokenExamples
	op.Errors = append(op.Errors, fault.ScopesMissing, fault.BadScopes, fault.ScopeNotEnabled)
	api.RegisterReplayable(a, op, func(ctx context.Context, in *struct{ Body tokenRequest }) (api.Reply[token], error) {
		return createToken(ctx, s, in.Body.asked(), newToken)
	}, sameToken[token](s))

	api.Register(a, s.op(http.MethodGet, "/tokens", "listTokens", tokensTag, "Tokens of the account, newest first", "Ids and last characters, never a token."),
		func(ctx context.Context, in *idSpan) (api.Reply[[]token], error) {
			list, err := s.Service.Tokens(ctx, callerID(ctx), account.TokenFilter{After: string(in.After), Skip: in.Skip, Limit: in.Limit})
			return api.Found(each(list, shownToken)), err
		})

	op = s.op(http.MethodGet, "/tokens/{token}", "readToken", tokensTag, "One token", "By the token or its id: scopes, limits and what it was used for.")
	op.Errors = append(op.Errors, fault.NotFound, fault.MalformedID)
	api.Register(a, op, func(ctx context.Context, in *tokenPath) (api.Reply[token], error) {
		t, err := s.Service.FindToken(ctx, callerID(ctx), in.Token)
		return api.Found(shownToken(t)), err
	})

	op = s.op(http.MethodPatch, "/tokens/{token}", "changeToken", tokensTag, "Change a token, or renew it with its refresh token",
		"With the refresh token as Bearer the token is replaced: the old one is void, and the answer shows the new pair. A refresh token works once and while its token lives; "+
			"shown again it ends the token that it led to. Else what the body names is changed; a token that may do more than the one that asks cannot be.")
	op.BadField, op.Examples = 80, renameExamples
	op.Errors = append(op.Errors, fault.BadScopes, fault.ScopeNotEnabled, fault.NotFound, fault.MalformedID)
	api.Register(a, op, s.patchToken)

	op = s.op(http.MethodDelete, "/tokens/{token}", "deleteToken", tokensTag, "Revoke a token and all that it made", "By the token or its id; those made with it end with it.")
	op.Errors = append(op.Errors, fault.NotFound, fault.MalformedID)
	api.Register(a, op, s.deleteToken)
}

type patchToken struct {
	tokenPath
	Body tokenPatch `required:"false"`
}

func (s *Accounts) patchToken(ctx context.Context, in *patchToken) (api.Reply[token], error) {
	c := account.CallerFrom(ctx)
	if c.Refresh {
		if err := s.Billing.WriteUsage(ctx); err != nil { // what was counted so far goes along
			return api.Reply[token]{}, err
		}
		t, err := s.Service.RotateToken(ctx, c, in.Token)
		if err != nil {
			return api.Reply[token]{}, err
		}
		return api.Reply[token]{Data: newToken(t), Message: "Renewed"}, nil
	}
	t, err := s.Service.ChangeToken(ctx, c, c.Host, in.Token, in.Body.change())
	return api.Found(shownToken(t)), err
}

func each[A, B any](list []A, f func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}
