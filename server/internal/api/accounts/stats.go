package accounts

import (
	"context"
	"net/http"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/fault"
)

type counter struct {
	Counter int64        `json:"counter" doc:"requests"`
	Paid    int64        `json:"paid" doc:"of them paid from a subscription or the wallet"`
	Limit   countOrFalse `json:"limit" doc:"free ones a day, or false"`
}

// UsageStats is what was used in a time.
type UsageStats struct {
	TotalRequests        int64 `json:"totalRequests" doc:"in all"`
	FreeRequests         int64 `json:"freeRequests" doc:"that cost nothing"`
	WalletRequests       int64 `json:"walletRequests" doc:"paid from the wallet"`
	SubscriptionRequests int64 `json:"subscriptionRequests" doc:"paid from a subscription"`
	ErrorRequests        int64 `json:"errorRequests" doc:"refused"`
	WalletAmount         euro  `json:"walletAmount" doc:"EUR spent from the wallet"`
}

func shownUsage(c billing.Count) UsageStats {
	return UsageStats{c.Requests, c.Free, c.Wallet, c.Subscription, c.Errors, euro(c.Amount)}
}

type addressStats struct {
	IP string `json:"ip" doc:"that called"`
	UsageStats
}

type domainStats struct {
	Domain string `json:"domain" doc:"that was called"`
	UsageStats
}

type scopeStats struct {
	Scope string `json:"scope" doc:"that was used"`
	UsageStats
}

type requestError struct {
	ID               string `json:"id" doc:"the request's"`
	Scope            string `json:"scope" doc:"that was used"`
	Domain           string `json:"domain" doc:"that was called"`
	ErrorAt          string `json:"errorAt" format:"date-time" doc:"when"`
	HTTPResponseCode int    `json:"httpResponseCode" doc:"HTTP status"`
	ErrorCode        int    `json:"errorCode" doc:"a code of the table at /docs/errors"`
	Message          string `json:"message" doc:"what the caller was told"`
	IP               string `json:"ip" doc:"that called"`
}

type statsQuery struct {
	listSpan
	Date string `query:"date" pattern:"^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; all time without"`
}

func (q *statsQuery) filter(by string) billing.UsageFilter {
	return billing.UsageFilter{Period: q.Date, By: by, Skip: q.Skip, Limit: q.Limit}
}

func (s *Accounts) registerStats(a *api.API) {
	s.registerCounters(a)
	api.Register(a, s.op(http.MethodGet, "/stats", "readStats", statsTag, "Requests of the account", "How many calls, how they were paid, how many were refused."),
		func(ctx context.Context, in *struct {
			Date string `query:"date" pattern:"^([0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?)?$" doc:"YYYY, YYYY-MM or YYYY-MM-DD; all time without"`
		},
		) (api.Reply[UsageStats], error) {
			list, err := s.Billing.Usage(ctx, callerID(ctx), billing.UsageFilter{Period: in.Date, By: billing.ByNothing, Limit: 1})
			if err != nil || len(list) == 0 {
				return api.Reply[UsageStats]{}, err
			}
			return api.Found(shownUsage(list[0])), nil
		})
	api.Register(a, s.op(http.MethodGet, "/stats/ips", "listStatsByAddress", statsTag, "Requests by address", "Where calls came from."),
		func(ctx context.Context, in *statsQuery) (api.Reply[[]addressStats], error) {
			list, err := s.Billing.Usage(ctx, callerID(ctx), in.filter(billing.ByAddress))
			return api.Found(each(list, func(c billing.Count) addressStats { return addressStats{c.Name, shownUsage(c)} })), err
		})
	api.Register(a, s.op(http.MethodGet, "/stats/apis", "listStatsByDomain", statsTag, "Requests by domain", "By the domain of the scope that was used."),
		func(ctx context.Context, in *statsQuery) (api.Reply[[]domainStats], error) {
			list, err := s.Billing.Usage(ctx, callerID(ctx), in.filter(billing.ByDomain))
			return api.Found(each(list, func(c billing.Count) domainStats { return domainStats{c.Name, shownUsage(c)} })), err
		})
	api.Register(a, s.op(http.MethodGet, "/stats/apis/{domain}", "listStatsOfDomain", statsTag, "Requests of a domain, by scope", "By the scope that was used."),
		func(ctx context.Context, in *struct {
			statsQuery
			Domain string `path:"domain" doc:"of the scopes"`
		},
		) (api.Reply[[]scopeStats], error) {
			f := in.filter(billing.ByScope)
			f.Domain = in.Domain
			list, err := s.Billing.Usage(ctx, callerID(ctx), f)
			return api.Found(each(list, func(c billing.Count) scopeStats { return scopeStats{c.Name, shownUsage(c)} })), err
		})
	api.Register(a, s.op(http.MethodGet, "/errors", "listErrors", statsTag, "Refused requests of the last 30 days, newest first", "What callers were told, to find out why a client fails."),
		func(ctx context.Context, in *idSpan) (api.Reply[[]requestError], error) {
			list, err := s.Billing.Failures(ctx, callerID(ctx), string(in.After), in.Skip, in.Limit)
			return api.Found(each(list, func(f billing.Failure) requestError {
				return requestError{f.ID, f.Scope, f.Domain, isoTime(f.At), f.Status, f.Code, f.Message, f.Address}
			})), err
		})
}

func (s *Accounts) registerCounters(a *api.API) {
	api.Register(a, s.op(http.MethodGet, "/counters/total", "countersTotal", statsTag, "Requests by scope, all time", "By scope: how many requests, and how many were paid."),
		func(ctx context.Context, _ *struct{}) (api.Reply[map[string]counter], error) {
			return s.counters(ctx, "")
		})
	countersOf[dayPath](s, a, "day")
	countersOf[monthPath](s, a, "month")
	countersOf[yearPath](s, a, "year")
}

type dayPath struct {
	Date string `path:"date" pattern:"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$" doc:"a day of the calendar: YYYY-MM-DD"`
}

type monthPath struct {
	Date string `path:"date" pattern:"^[0-9]{4}-(0[1-9]|1[0-2])$" doc:"YYYY-MM"`
}

type yearPath struct {
	Date string `path:"date" pattern:"^[0-9]{4}$" doc:"YYYY"`
}

// period is what the path asks for, in the length that it has.
func (p dayPath) period() (string, int)   { return p.Date, 10 }
func (p monthPath) period() (string, int) { return p.Date, 7 }
func (p yearPath) period() (string, int)  { return p.Date, 4 }

func countersOf[In interface{ period() (string, int) }](s *Accounts, a *api.API, unit string) {
	op := s.op(http.MethodGet, "/counters/"+unit+"/{date}", "counters"+capital(unit), statsTag, "Requests by scope in a "+unit,
		"By scope: how many requests, and how many were paid.")
	op.Errors = append(op.Errors, fault.BadQuery)
	api.Register(a, op, func(ctx context.Context, in *In) (api.Reply[map[string]counter], error) {
		date, length := (*in).period()
		if len(date) != length {
			return api.Reply[map[string]counter]{}, fault.New(fault.BadQuery, "date must be a %s: %s", unit, "YYYY-MM-DD"[:length])
		}
		return s.counters(ctx, date)
	})
}

func capital(s string) string { return string(s[0]-'a'+'A') + s[1:] }

func (s *Accounts) counters(ctx context.Context, period string) (api.Reply[map[string]counter], error) {
	list, err := s.Billing.Usage(ctx, callerID(ctx), billing.UsageFilter{Period: period, By: billing.ByScope, Limit: 1000})
	out := make(map[string]counter, len(list))
	for _, c := range list {
		one := counter{Counter: c.Requests, Paid: c.Subscription + c.Wallet}
		if n, ok := s.Billing.FreePerDay(c.Name); ok {
			one.Limit.n = &n
		}
		out[c.Name] = one
	}
	return api.Found(out), err
}
