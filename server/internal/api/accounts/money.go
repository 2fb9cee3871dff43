package accounts

import (
	"context"
	"net/http"
	"strconv"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/fault"
)

type credit struct {
	Credit euro `json:"credit" doc:"EUR in the wallet"`
}

type wallet struct {
	Credit    euro   `json:"credit" doc:"EUR in the wallet"`
	CreatedAt string `json:"createdAt" format:"date-time" doc:"when it was opened"`
	UpdatedAt string `json:"updatedAt" format:"date-time" doc:"when it last changed"`
}

type walletTransaction struct {
	ID          string `json:"id" doc:"of the movement"`
	Amount      euro   `json:"amount" doc:"EUR, net; negative is spent"`
	VAT         int64  `json:"vat" doc:"percent of value added tax that an invoice adds"`
	CreatedAt   string `json:"createdAt" format:"date-time" doc:"when it was"`
	Description string `json:"description" doc:"what for"`
}

type subscription struct {
	ID                string `json:"id" doc:"of the subscription"`
	Scope             string `json:"scope" doc:"the calls that it pays for"`
	Domain            string `json:"domain" doc:"of the scope"`
	Active            bool   `json:"active" doc:"it pays now"`
	StartsAt          string `json:"startsAt" format:"date-time" doc:"from when"`
	ExpiresAt         string `json:"expiresAt" format:"date-time" doc:"until when"`
	TotalRequests     string `json:"totalRequests" doc:"a number, as text"`
	AvailableRequests string `json:"availableRequests" doc:"a number, as text"`
	PricePerRequest   euro   `json:"pricePerRequest" doc:"EUR, net"`
	Type              string `json:"type" doc:"prepaid"`
	Autorenew         bool   `json:"autorenew" doc:"false: it ends"`
	CreatedAt         string `json:"createdAt" format:"date-time" doc:"when it was made"`
	UpdatedAt         string `json:"updatedAt" format:"date-time" doc:"when it last changed"`
	Price             euro   `json:"price" doc:"EUR, net, for all"`
}

func shownSubscription(u billing.Subscription) subscription {
	return subscription{
		ID: u.ID, Scope: u.Scope.String(), Domain: u.Scope.Domain, Active: u.Active(),
		StartsAt: isoTime(u.StartsAt), ExpiresAt: isoTime(u.ExpiresAt),
		TotalRequests: strconv.FormatInt(u.Total, 10), AvailableRequests: strconv.FormatInt(u.Available, 10),
		PricePerRequest: euro(int64(u.Price) / max(1, u.Total)), Type: "prepaid", Price: euro(u.Price),
		CreatedAt: isoTime(u.CreatedAt), UpdatedAt: isoTime(u.UpdatedAt),
	}
}

func (s *Accounts) registerMoney(a *api.API) {
	api.Register(a, s.op(http.MethodGet, "/credit", "readCredit", moneyTag, "Money in the wallet (first version)", "EUR in the wallet, and nothing else."),
		func(ctx context.Context, _ *struct{}) (api.Reply[credit], error) {
			w, err := s.Billing.Wallet(ctx, callerID(ctx))
			return api.Found(credit{euro(w.Credit)}), err
		})
	api.Register(a, s.op(http.MethodGet, "/wallet", "readWallet", moneyTag, "The wallet", "What is in it, and since when."),
		func(ctx context.Context, _ *struct{}) (api.Reply[wallet], error) {
			w, err := s.Billing.Wallet(ctx, callerID(ctx))
			return api.Found(wallet{euro(w.Credit), isoTime(w.CreatedAt), isoTime(w.UpdatedAt)}), err
		})
	api.Register(a, s.op(http.MethodGet, "/wallet/transactions", "listTransactions", moneyTag, "Movements of the wallet, newest first", "Charges, refunds and credits, in EUR without value added tax."),
		func(ctx context.Context, in *idSpan) (api.Reply[[]walletTransaction], error) {
			list, err := s.Billing.Transactions(ctx, callerID(ctx), string(in.After), in.Skip, in.Limit)
			return api.Found(each(list, func(t billing.Transaction) walletTransaction {
				return walletTransaction{t.ID, euro(t.Amount), t.VAT, isoTime(t.CreatedAt), t.Description}
			})), err
		})
	api.Register(a, s.op(http.MethodGet, "/subscriptions", "listSubscriptions", moneyTag, "Subscriptions, newest first", "Requests paid for in advance: what is left of them."),
		func(ctx context.Context, in *idSpan) (api.Reply[[]subscription], error) {
			list, err := s.Billing.Subscriptions(ctx, callerID(ctx), string(in.After), in.Skip, in.Limit)
			return api.Found(each(list, shownSubscription)), err
		})
	op := s.op(http.MethodGet, "/subscriptions/{id}", "readSubscription", moneyTag, "One subscription", "By its id.")
	op.Errors = append(op.Errors, fault.NotFound, fault.MalformedID)
	api.Register(a, op, func(ctx context.Context, in *struct {
		ID api.ID `path:"id" doc:"of the subscription"`
	},
	) (api.Reply[subscription], error) {
		u, err := s.Billing.Subscription(ctx, callerID(ctx), string(in.ID))
		return api.Found(shownSubscription(u)), err
	})
}
