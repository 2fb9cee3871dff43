package accounts

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/money"
)

// euro is an amount of money as a JSON number, exact to a millionth.
type euro money.Micro

// MarshalJSON writes a number.
func (e euro) MarshalJSON() ([]byte, error) { return money.Micro(e).MarshalJSON() }

// UnmarshalJSON reads a number.
func (e *euro) UnmarshalJSON(b []byte) error { return (*money.Micro)(e).UnmarshalJSON(b) }

// Schema describes it.
func (euro) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Description: "EUR"}
}

// countOrFalse is a number, or false for "none".
type countOrFalse struct{ n *int64 }

// MarshalJSON writes the number, or false.
func (c countOrFalse) MarshalJSON() ([]byte, error) {
	if c.n == nil {
		return []byte("false"), nil
	}
	return strconv.AppendInt(nil, *c.n, 10), nil
}

// Schema describes it.
func (countOrFalse) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "a number, or false where there is no limit",
		OneOf:       []*huma.Schema{{Type: huma.TypeInteger}, {Type: huma.TypeBoolean}},
	}
}

// textOrFalse is a text, or false for "none".
type textOrFalse string

// MarshalJSON writes the text, or false.
func (t textOrFalse) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("false"), nil
	}
	return json.Marshal(string(t))
}

// Schema describes it.
func (textOrFalse) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "a text, or false where there is no limit",
		OneOf:       []*huma.Schema{{Type: huma.TypeString}, {Type: huma.TypeBoolean}},
	}
}

// isoTime is a time as these operations write it (ISO 8601).
func isoTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

type tokenLimits struct {
	TotalRequests        *int64   `json:"totalRequests" required:"false" doc:"requests in all"`
	WalletRequests       *int64   `json:"walletRequests" required:"false" doc:"requests paid from the wallet"`
	SubscriptionRequests *int64   `json:"subscriptionRequests" required:"false" doc:"requests paid from a subscription"`
	WalletAmount         *euro    `json:"walletAmount" required:"false" nullable:"true" doc:"money spent from the wallet"`
	IP                   []string `json:"ip" required:"false" doc:"addresses or networks it may be used from; none: any"`
}

func (l *tokenLimits) limits() account.Limits {
	if l == nil {
		return account.Limits{}
	}
	return account.Limits{
		TotalRequests: l.TotalRequests, WalletRequests: l.WalletRequests, SubscriptionRequests: l.SubscriptionRequests,
		WalletAmount: (*money.Micro)(l.WalletAmount), Addresses: l.IP,
	}
}

type tokenStats struct {
	TotalRequests        int64    `json:"totalRequests" doc:"requests in all"`
	WalletRequests       int64    `json:"walletRequests" doc:"paid from the wallet"`
	SubscriptionRequests int64    `json:"subscriptionRequests" doc:"paid from a subscription"`
	ErrorRequests        int64    `json:"errorRequests" doc:"refused"`
	WalletAmount         euro     `json:"walletAmount" doc:"EUR spent from the wallet"`
	IP                   []string `json:"ip" doc:"addresses it was used from"`
}

type tokenRequest struct {
	Scopes []string     `json:"scopes" required:"false" doc:"METHOD:domain/segment; * stands for any"`
	Name   string       `json:"name" required:"false" doc:"a label"`
	TTL    int64        `json:"ttl" required:"false" doc:"seconds; 0 or less, or over a year: a year; never beyond the end of the token that asks"`
	Limits *tokenLimits `json:"limits" required:"false" doc:"of the token itself; none by default"`
}

func (r tokenRequest) asked() account.NewToken {
	return account.NewToken{Name: r.Name, Scopes: r.Scopes, Life: seconds(r.TTL), Limits: r.Limits.limits()}
}

// seconds is a duration that does not overflow.
func seconds(n int64) time.Duration {
	return time.Duration(max(0, min(n, 10*365*24*3600))) * time.Second
}

type tokenPatch struct {
	Scopes []string     `json:"scopes" required:"false" doc:"METHOD:domain/segment; * stands for any"`
	Name   *string      `json:"name" required:"false" doc:"a label"`
	TTL    *int64       `json:"ttl" required:"false" doc:"seconds from now; a token cannot prolong itself, nor another beyond its own end"`
	Limits *tokenLimits `json:"limits" required:"false" doc:"all limits; those left out are lifted"`
}

func (p tokenPatch) change() account.TokenChange {
	ch := account.TokenChange{Name: p.Name, Scopes: p.Scopes}
	if p.TTL != nil {
		life := seconds(*p.TTL)
		ch.Life = &life
	}
	if p.Limits != nil {
		l := p.Limits.limits()
		ch.Limits = &l
	}
	return ch
}

type token struct {
	ID           string      `json:"id" doc:"of the token, as good in paths as the token"`
	Token        string      `json:"token" doc:"the token when it is made; its id ever after"`
	LastFour     string      `json:"lastFour" doc:"the token's last characters, to tell it by"`
	Name         string      `json:"name" doc:"a label"`
	CreatedAt    string      `json:"createdAt" format:"date-time" doc:"when it was made"`
	ExpireAt     string      `json:"expireAt" format:"date-time" doc:"when it ends"`
	UpdatedAt    string      `json:"updatedAt" format:"date-time" doc:"when it last changed"`
	Scopes       []string    `json:"scopes" doc:"METHOD:domain/segment; * stands for any"`
	RefreshToken *string     `json:"refreshToken" doc:"when the token is made, else null"`
	Limits       tokenLimits `json:"limits" doc:"its own; null where there is none"`
	Stats        tokenStats  `json:"stats" doc:"what it was used for"`
}

func (t token) grants() ([]string, time.Time) {
	end, err := time.Parse(time.RFC3339, t.ExpireAt)
	if err != nil { // of our own making: it cannot be
		end = time.Now().AddDate(10, 0, 0)
	}
	return t.Scopes, end
}

func shownToken(t account.Token) token {
	l := t.Limits
	return token{
		ID: t.ID, Token: t.ID, LastFour: t.LastFour, Name: t.Name, Scopes: t.Scopes,
		CreatedAt: isoTime(t.CreatedAt), ExpireAt: isoTime(t.ExpireAt), UpdatedAt: isoTime(t.UpdatedAt),
		Limits: tokenLimits{
			TotalRequests: l.TotalRequests, WalletRequests: l.WalletRequests, SubscriptionRequests: l.SubscriptionRequests,
			WalletAmount: (*euro)(l.WalletAmount), IP: append([]string{}, l.Addresses...),
		},
		Stats: tokenStats{
			TotalRequests: t.Stats.TotalRequests, WalletRequests: t.Stats.WalletRequests,
			SubscriptionRequests: t.Stats.SubscriptionRequests, ErrorRequests: t.Stats.ErrorRequests,
			WalletAmount: euro(t.Stats.WalletAmount), IP: append([]string{}, t.Stats.Addresses...),
		},
	}
}

func newToken(t *account.Token) token {
	v := shownToken(*t)
	v.Token, v.RefreshToken = t.Secret, &t.Refresh
	return v
}
