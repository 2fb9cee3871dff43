package accounts

import (
	"context"
	"net/http"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/fault"
)

// ScopeItem is a scope that a token can have.
type ScopeItem struct {
	ID       string `json:"id" doc:"of the scope"`
	Scope    string `json:"scope" doc:"METHOD:domain/segment"`
	Method   string `json:"method" doc:"GET, POST, PUT, PATCH or DELETE"`
	Endpoint string `json:"endpoint" doc:"the first segment of the path"`
	Domain   string `json:"domain" doc:"of the server"`
	Enabled  bool   `json:"enabled" doc:"it can be asked for"`
}

type freeLimits struct {
	DayLimit   countOrFalse `json:"dayLimit" doc:"free requests a day"`
	MonthLimit countOrFalse `json:"monthLimit" doc:"free requests a month"`
	YearLimit  countOrFalse `json:"yearLimit" doc:"free requests a year"`
	TotalLimit countOrFalse `json:"totalLimit" doc:"free requests in all"`
}

type scopeDetail struct {
	ScopeItem
	RateLimit    textOrFalse       `json:"rateLimit" doc:"requests in a time"`
	FreeLimits   freeLimits        `json:"freeLimits" doc:"what costs nothing"`
	Requirements map[string]string `json:"requirements" doc:"none"`
	Prices       map[string]euro   `json:"prices" doc:"EUR a request: wallet, subscription; none for free calls"`
}

func shownScope(i billing.ScopeInfo) ScopeItem {
	return ScopeItem{ID: i.ID, Scope: i.Scope.String(), Method: i.Method, Endpoint: i.Segment, Domain: i.Domain, Enabled: true}
}

type scopesPage struct {
	Skip  int `query:"skip" minimum:"0" default:"0" doc:"elements to leave out"`
	Limit int `query:"limit" minimum:"0" default:"0" doc:"elements to show; 0 or 1: all, as older clients mean it"`
}

func (s *Accounts) registerScopes(a *api.API) {
	api.Register(a, s.op(http.MethodGet, "/scopes", "listScopes", tokensTag, "Scopes that a token can have", "All that tokens of this account may be given. The first segment of a path counts: the scope for `GET` on `/signatures` covers `/signatures/{id}/detail`."),
		func(_ context.Context, in *scopesPage) (api.Reply[[]ScopeItem], error) {
			list := s.Billing.Catalogue()
			list = list[min(in.Skip, len(list)):]
			if in.Limit > 1 {
				list = list[:min(in.Limit, len(list))]
			}
			return api.Found(each(list, shownScope)), nil
		})
	op := s.op(http.MethodGet, "/scopes/{id}", "readScope", tokensTag, "One scope, with what its calls cost", "Prices and free requests of the calls that it covers.")
	op.Errors = append(op.Errors, fault.NotFound, fault.MalformedID)
	api.Register(a, op, func(_ context.Context, in *struct {
		ID api.ID `path:"id" doc:"of the scope"`
	},
	) (api.Reply[scopeDetail], error) {
		for _, i := range s.Billing.Catalogue() {
			if i.ID == string(in.ID) {
				return api.Found(s.scopeDetail(i)), nil
			}
		}
		return api.Reply[scopeDetail]{}, fault.New(fault.NotFound, "there is no such scope")
	})
}

func (s *Accounts) scopeDetail(i billing.ScopeInfo) scopeDetail {
	d := scopeDetail{
		ScopeItem: shownScope(i), RateLimit: textOrFalse(s.Service.RateLimit()),
		Requirements: map[string]string{}, Prices: map[string]euro{},
	}
	if p := i.Product; p != nil {
		d.Prices["wallet"], d.Prices["subscription"] = euro(p.Price), euro(p.Subscription)
		if p.FreePerDay > 0 {
			d.FreeLimits.DayLimit.n = &p.FreePerDay
		}
	}
	return d
}
