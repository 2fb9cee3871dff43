package signatures

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
)

// Certificates serves the purchase and the life of certificates.
type Certificates struct {
	Service *enroll.Service
	Guard   callback.Checker
}

const certificateTag = "Certificates"

// RegisterCertificates adds the operations on certificates.
func RegisterCertificates(a *api.API, c *Certificates) {
	c.Service.Render = func(x *enroll.Certificate) any { return certificateWire(x) }
	api.RegisterReplayable(a, api.Op{
		Method: http.MethodPost, Path: "/certificates/{provider}-{kind}", ID: "buyCertificate", Tag: certificateTag, Idempotent: true, BadField: 310,
		Summary: "Buy a signing certificate or an electronic seal",
		Text: "`kind` is `automatic`, `otp` or `eseal`; `provider` a configured name, or `provider` for the default one. " +
			"The holder is identified at `certificateLink` and sees the credentials there, once.",
		Errors: []fault.Code{305, 310, 311, 611, 704, 706, 708, 709, 710, 711, 730, 740, 150, 151},
	}, c.buy, c.bought)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/certificates", ID: "listCertificates", Tag: certificateTag,
		Summary: "Certificates, newest first", Errors: []fault.Code{160},
	}, c.list)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/certificates/identifications", ID: "listIdentifications", Tag: certificateTag,
		Summary: "The ways to identify a holder that this server offers",
	}, func(context.Context, *struct{}) (api.Reply[[]string], error) {
		return api.Found(c.Service.Identifications()), nil
	})
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/certificates/{id}", ID: "getCertificate", Tag: certificateTag,
		Summary: "One certificate", Errors: []fault.Code{140, 141},
		Text: "An administrator is also shown what of any account waits for a decision, with everything that it would certify.",
	}, c.get)
	c.registerChanges(a)
}

func (c *Certificates) registerChanges(a *api.API) {
	type change = func(ctx context.Context, account, id string) (*enroll.Certificate, error)
	for _, one := range []struct {
		verb, summary string
		do            change
	}{
		{"suspend", "Put a certificate on hold", c.Service.Suspend},
		{"resume", "Take a certificate off hold", c.Service.Resume},
		{"revoke", "Revoke a certificate for good", c.Service.Revoke},
		{"cancel", "Give an order up before the certificate is issued; the price comes back", func(ctx context.Context, account, id string) (*enroll.Certificate, error) {
			return c.Service.Cancel(ctx, account, id, "cancelled by its buyer")
		}},
		{"enrol", "A new link for a lost one-time-password device", c.Service.Reenrol},
	} {
		api.Register(a, api.Op{
			Method: http.MethodPost, Path: "/certificates/{id}/" + one.verb, ID: one.verb + "Certificate", Tag: certificateTag,
			Summary: one.summary, Errors: []fault.Code{140, 141, 145},
		}, func(ctx context.Context, in *idInput) (api.Reply[certificateDetail], error) {
			x, err := one.do(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
			return foundCertificate(x, err)
		})
	}
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/certificates/{id}/password", ID: "changeCertificatePassword", Tag: certificateTag, BadField: 310,
		Summary: "Change the password of a certificate", Errors: []fault.Code{111, 140, 141, 145, 310},
	}, c.password)
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/certificates/{id}/review", ID: "reviewCertificate", Tag: certificateTag, Admin: true, BadField: 310,
		Summary: "Approve or refuse what an applicant handed in", Errors: []fault.Code{131, 140, 141, 145, 310},
	}, c.review)
}

// orderBody is the body of a purchase.
type orderBody struct {
	CertificateOwner string         `json:"certificateOwner" doc:"display name of the holder"`
	CustomReference  string         `json:"customReference,omitempty"`
	Callback         rawValue       `json:"callback,omitempty"`
	Subject          enroll.Subject `json:"subject,omitempty"`
	Identification   string         `json:"identification,omitempty" doc:"video, spid, cie, cns or signature; absent: the page offers all that this server has"`
	KeyAlgorithm     string         `json:"keyAlgorithm,omitempty" doc:"P256 (default), P384, RSA2048, RSA3072, RSA4096"`
	ValidityYears    *int           `json:"validityYears,omitempty" doc:"1 to 3; default 3"`
	SecurityLevel    *int           `json:"securityLevel,omitempty" doc:"1 to 5; default 1, for otp 4"`
}

type buyInput struct {
	Provider string `path:"provider"`
	Kind     string `path:"kind"`
	Body     orderBody
}

func (c *Certificates) buy(ctx context.Context, in *buyInput) (api.Reply[certificateBought], error) {
	provider, kind := in.Provider, in.Kind
	if i := strings.LastIndexByte(kind, '-'); i >= 0 { // a provider's name may have dashes
		provider, kind = provider+"-"+kind[:i], kind[i+1:]
	}
	target, err := callback.Parse(in.Body.Callback.Value, c.Guard)
	if err != nil {
		return api.Reply[certificateBought]{}, err
	}
	b := in.Body
	x, err := c.Service.Buy(ctx, account.CallerFrom(ctx).AccountID, enroll.Order{
		Provider: provider, Kind: keys.Kind(kind), Owner: b.CertificateOwner, Reference: b.CustomReference, Subject: b.Subject,
		Identification: b.Identification, Algorithm: b.KeyAlgorithm, Years: given(b.ValidityYears), Level: given(b.SecurityLevel), Callback: target,
	})
	if err != nil {
		return api.Reply[certificateBought]{}, err
	}
	return boughtReply(x), nil
}

// given is the value of a number that may be absent: 0 is wrong where it is
// not.
func given(v *int) int {
	switch {
	case v == nil:
		return 0
	case *v == 0:
		return -1
	}
	return *v
}

func (c *Certificates) bought(ctx context.Context, again idempotency.Replay) (api.Reply[certificateBought], error) {
	x, err := c.Service.Find(ctx, account.CallerFrom(ctx).AccountID, again.RecordID)
	if err != nil {
		return api.Reply[certificateBought]{}, err
	}
	return boughtReply(x), nil
}

func boughtReply(x *enroll.Certificate) api.Reply[certificateBought] {
	return api.Created(boughtWire(x))
}

type certificateListInput struct {
	pageInput
	CertificateType string `query:"certificateType" enum:"EU-QES_automatic,EU-QES_otp,EU-QES_eseal"`
	State           string `query:"state" enum:"NEW,REGISTERING,WORKING,DONE,SUSPENDED,EXPIRED,REVOKED,CANCELLED"`
}

func (c *Certificates) list(ctx context.Context, in *certificateListInput) (api.Reply[[]CertificateSummary], error) {
	all, err := c.Service.List(ctx, account.CallerFrom(ctx).AccountID, enroll.Filter{
		Kind: keys.Kind(strings.TrimPrefix(in.CertificateType, "EU-QES_")), State: enroll.State(in.State), After: string(in.After), Skip: in.Skip, Limit: in.Limit,
	})
	if err != nil {
		return api.Reply[[]CertificateSummary]{}, err
	}
	out := make([]CertificateSummary, len(all))
	for i, x := range all {
		out[i] = certificateWire(x)
	}
	return api.Found(out), nil
}

func (c *Certificates) get(ctx context.Context, in *idInput) (api.Reply[certificateDetail], error) {
	caller := account.CallerFrom(ctx)
	reply, err := foundCertificate(c.Service.Find(ctx, caller.AccountID, string(in.ID)))
	if !caller.Admin || err != nil && !errors.Is(err, fault.NotFound) {
		return reply, err
	}
	// What waits for an administrator's decision can be looked at by any of them.
	w, none := c.Service.Waiting(ctx, string(in.ID))
	switch {
	case errors.Is(none, fault.NotFound) || errors.Is(none, fault.WrongState):
		return reply, err
	case none != nil:
		return reply, none
	}
	if err != nil {
		reply = api.Found(othersWire(w.Certificate))
	}
	reply.Data.Review = reviewOf(w)
	return reply, nil
}

func foundCertificate(x *enroll.Certificate, err error) (api.Reply[certificateDetail], error) {
	if err != nil {
		return api.Reply[certificateDetail]{}, err
	}
	return api.Found(detailWire(x)), nil
}

type passwordInput struct {
	ID   api.ID `path:"id"`
	Body struct {
		Old string `json:"old"`
		New string `json:"new"`
	}
}

func (c *Certificates) password(ctx context.Context, in *passwordInput) (api.Reply[*struct{}], error) {
	if in.Body.Old == "" || in.Body.New == "" {
		return api.Reply[*struct{}]{}, fault.New(fault.BadField, "old and new are required")
	}
	err := c.Service.ChangePassword(ctx, account.CallerFrom(ctx).AccountID, string(in.ID), in.Body.Old, in.Body.New)
	return api.Reply[*struct{}]{Message: "Password changed"}, err
}

type reviewInput struct {
	ID   api.ID `path:"id"`
	Body struct {
		Approve *bool  `json:"approve"`
		Reason  string `json:"reason,omitempty"`
		Digest  string `json:"digest,omitempty" doc:"that of review in GET /certificates/{id}: the decision is refused if something else waits by now"`
	}
}

func (c *Certificates) review(ctx context.Context, in *reviewInput) (api.Reply[certificateDetail], error) {
	if in.Body.Approve == nil {
		return api.Reply[certificateDetail]{}, fault.New(fault.BadField, "approve is required: true or false")
	}
	caller := account.CallerFrom(ctx)
	by := enroll.Reviewer{Account: caller.AccountID, Token: caller.TokenID}
	x, err := c.Service.Review(ctx, string(in.ID), by, enroll.Verdict{Approve: *in.Body.Approve, Reason: in.Body.Reason, Digest: in.Body.Digest})
	if err != nil {
		return api.Reply[certificateDetail]{}, err
	}
	return api.Found(othersWire(x)), nil
}
