package signatures

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
)

// Callbacks serves the log of deliveries and the secret that signs them.
type Callbacks struct {
	Sender *callback.Sender
	Domain string // of the scopes shown
}

const callbackTag = "Callbacks"

// RegisterCallbacks adds the operations on callbacks.
func RegisterCallbacks(a *api.API, c *Callbacks) {
	a.Tag(callbackTag, "Deliveries of callbacks, and the secret that signs them.")
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/callbacks", ID: "listCallbacks", Tag: callbackTag, Basic: true,
		Summary: "Deliveries, newest first", Text: "One for each message to a callback, however often it was tried.", Errors: []fault.Code{fault.BadQuery},
	}, c.list)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/callbacks/secret", ID: "getCallbackSecret", Tag: callbackTag, Basic: true,
		Summary: "The secrets that sign callbacks (Standard Webhooks)",
		Text:    "The current one, and the one before while it is good.",
	}, c.secret)
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/callbacks/secret", ID: "rotateCallbackSecret", Tag: callbackTag, Basic: true, Idempotent: true,
		Summary: "A new secret for callbacks",
		Text:    "The one before stays good for a day, and no other: rotate twice to be rid of one at once.",
	}, c.rotate)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/callbacks/{id}", ID: "getCallback", Tag: callbackTag, Basic: true,
		Summary: "One delivery", Text: "What was sent, how often, and what the receiver answered last.", Errors: []fault.Code{fault.NotFound, fault.MalformedID},
	}, c.get)
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/callbacks/{id}/resend", ID: "resendCallback", Tag: callbackTag, Basic: true, Idempotent: true,
		Summary: "Send a delivery again", Text: "Under the same `webhook-id`, at once, whatever became of it before.", Errors: []fault.Code{fault.NotFound, fault.MalformedID},
	}, c.resend)
}

// DeliverySummary is an element of the list; times are ISO 8601 here, as in the rest
// of the accounts' area.
type DeliverySummary struct {
	ID               string  `json:"id" doc:"of the delivery"`
	Scope            string  `json:"scope" doc:"of the call that asked for it"`
	URL              string  `json:"url" doc:"where it is sent"`
	HTTPResponseCode string  `json:"httpResponseCode" doc:"of the last attempt; empty where there was no answer"`
	StartedAt        *string `json:"startedAt" doc:"of the last attempt; null before the first"`
	CompletedAt      *string `json:"completedAt" doc:"when the last attempt ended"`
}

type deliveryDetail struct {
	DeliverySummary
	Domain      string   `json:"domain" doc:"of the scope"`
	Record      string   `json:"record" doc:"id of the signature or certificate it is about"`
	Active      bool     `json:"active" doc:"further attempts will follow"`
	CreatedAt   string   `json:"createdAt" doc:"when the message was made"`
	Data        anyJSON  `json:"data" doc:"what is sent as data"`
	Custom      anyJSON  `json:"custom" doc:"what is sent as custom"`
	Headers     []string `json:"headers" doc:"names only: values may be secrets"`
	ElapsedTime int64    `json:"elapsedTime" doc:"milliseconds"`
	Attempt     int      `json:"attempt" doc:"attempts so far"`
	Retry       int      `json:"retry" doc:"attempts after the first, at most"`
	Field       string   `json:"field" doc:"name of the form field, for the method POST"`
	Method      string   `json:"method" doc:"JSON or POST"`
	Problem     *string  `json:"problem" doc:"why the last attempt failed; null where it did not"`
}

func isoOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC().Format(time.RFC3339))
}

func deliveryWire(d *callback.Delivery) DeliverySummary {
	w := DeliverySummary{ID: d.ID, Scope: d.Scope, URL: d.URL, StartedAt: isoOrNull(d.StartedAt), CompletedAt: isoOrNull(d.CompletedAt)}
	if d.Status != 0 {
		w.HTTPResponseCode = strconv.Itoa(d.Status)
	}
	return w
}

func (c *Callbacks) list(ctx context.Context, in *pageInput) (api.Reply[[]DeliverySummary], error) {
	all, err := c.Sender.List(ctx, account.CallerFrom(ctx).AccountID, string(in.After), in.Skip, in.Limit)
	if err != nil {
		return api.Reply[[]DeliverySummary]{}, err
	}
	out := make([]DeliverySummary, len(all))
	for i, d := range all {
		out[i] = deliveryWire(d)
	}
	return api.Found(out), nil
}

func (c *Callbacks) get(ctx context.Context, in *idInput) (api.Reply[deliveryDetail], error) {
	d, err := c.Sender.Find(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
	return c.detail(ctx, d, err)
}

func (c *Callbacks) resend(ctx context.Context, in *idInput) (api.Reply[deliveryDetail], error) {
	d, err := c.Sender.Resend(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
	r, err := c.detail(ctx, d, err)
	r.Message = "Created"
	return r, err
}

func (c *Callbacks) detail(ctx context.Context, d *callback.Delivery, err error) (api.Reply[deliveryDetail], error) {
	if err != nil {
		return api.Reply[deliveryDetail]{}, err
	}
	data, err := c.Sender.Data(ctx, d)
	if err != nil {
		return api.Reply[deliveryDetail]{}, err
	}
	names, err := c.Sender.HeaderNames(d)
	if err != nil {
		return api.Reply[deliveryDetail]{}, err
	}
	w := deliveryDetail{
		DeliverySummary: deliveryWire(d), Domain: c.Domain, Record: d.Record, Active: d.Active, CreatedAt: d.CreatedAt.UTC().Format(time.RFC3339),
		Data: anyJSON(data), Custom: anyJSON("null"), Headers: names, ElapsedTime: d.Elapsed.Milliseconds(),
		Attempt: d.Attempts, Retry: d.Retry, Field: d.Field, Method: d.Method,
	}
	if d.Custom != "" {
		w.Custom = anyJSON(d.Custom)
	}
	if d.Problem != "" {
		w.Problem = &d.Problem
	}
	return api.Found(w), nil
}

type webhookSecret struct {
	Secret    string  `json:"secret" doc:"whsec_ and base64"`
	CreatedAt string  `json:"createdAt" doc:"since when it signs"`
	Previous  *string `json:"previous" doc:"still good until previousExpiresAt"`
	ExpiresAt *string `json:"previousExpiresAt" doc:"when the previous one ends; null where there is none"`
}

func (c *Callbacks) secret(ctx context.Context, _ *struct{}) (api.Reply[webhookSecret], error) {
	return secretReply(c.Sender.Secrets(ctx, account.CallerFrom(ctx).AccountID))
}

func (c *Callbacks) rotate(ctx context.Context, _ *struct{}) (api.Reply[webhookSecret], error) {
	r, err := secretReply(c.Sender.Rotate(ctx, account.CallerFrom(ctx).AccountID))
	r.Message = "Created"
	return r, err
}

func secretReply(all []callback.Secret, err error) (api.Reply[webhookSecret], error) {
	if err != nil || len(all) == 0 {
		return api.Reply[webhookSecret]{}, err
	}
	w := webhookSecret{Secret: all[0].Text, CreatedAt: all[0].CreatedAt.UTC().Format(time.RFC3339)}
	if len(all) > 1 {
		w.Previous, w.ExpiresAt = &all[1].Text, isoOrNull(all[1].ExpiresAt)
	}
	return api.Found(w), nil
}
