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
	a.Tag(certificateTag, "Signing certificates and seals: buying them, and their life.")
	// A path of its own for each kind is what the document has: in one with two
	// variables no client could tell a purchase from an order's id.
	buy := api.Op{
		Method: http.MethodPost, Path: "/certificates/{provider}-{kind}", ID: "buyCertificate", Tag: certificateTag, Idempotent: true, BadField: 310, Hidden: true,
		Text:   "The holder is identified at `certificateLink` and sees the credentials there, once. `provider` in the path stands for the default provider; the name of another one can be put in its place.",
		Errors: []fault.Code{fault.NoProduct, fault.BadField, fault.NoIdentification, fault.NoCredit, fault.CallbackURL, fault.CallbackURLRefused, fault.CallbackHeaders, fault.CallbackHeaderKey, fault.CallbackHeaderValue, fault.CallbackHeadersSize, fault.CallbackCustom, fault.CallbackRetry, fault.StillRunning, fault.KeyReused},
	}
	api.RegisterReplayable(a, buy, c.buy, c.bought)
	for _, kind := range []keys.Kind{keys.Automatic, keys.OTP, keys.ESeal} {
		buy.Path, buy.ID, buy.Hidden = "/certificates/provider-"+string(kind), "buy"+strings.ToUpper(string(kind[:1]))+string(kind[1:])+"Certificate", false
		buy.Summary, buy.Examples = buySummary[kind], buyExamples(kind)
		api.RegisterReplayable(a, buy, func(ctx context.Context, in *struct{ Body orderBody }) (api.Reply[certificateBought], error) {
			return c.buy(ctx, &buyInput{Provider: "provider", Kind: string(kind), Body: in.Body})
		}, c.bought)
	}
	api.Webhook[CertificateSummary](a, "certificate", api.Op{
		ID: "certificateChanged", Summary: "An order or a certificate reached a state",
		Text: "Sent to the `callback` of a purchase for every state that is reached after its answer: repeated until it is answered with 2xx, at most `callback.retry` times.",
	})
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/certificates", ID: "listCertificates", Tag: certificateTag,
		Summary: "Certificates, newest first", Errors: []fault.Code{fault.BadQuery},
		Text: "Orders and certificates of the account, in any state; the sandbox's own are among them. An empty list is an empty array.",
	}, c.list)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/certificates/identifications", ID: "listIdentifications", Tag: certificateTag,
		Summary: "The ways to identify a holder that this server offers",
		Text:    "What `identification` of a purchase may name here. The page behind `certificateLink` offers all of them where a purchase names none.",
	}, func(context.Context, *struct{}) (api.Reply[[]string], error) {
		return api.Found(c.Service.Identifications()), nil
	})
	// Without this line such a path would be the id of a certificate.
	a.NotFor("/certificates/{provider}-{kind}", http.MethodGet, http.MethodHead)
	c.registerReviews(a)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/certificates/{id}", ID: "getCertificate", Tag: certificateTag,
		Summary: "One certificate", Errors: []fault.Code{fault.NotFound, fault.MalformedID},
		Text: "An administrator is also shown what of any account waits for a decision, with everything that it would certify.",
	}, c.get)
	c.registerChanges(a)
}

func (c *Certificates) registerChanges(a *api.API) {
	type change = func(ctx context.Context, account, id string) (*enroll.Certificate, error)
	for _, one := range []struct {
		verb, summary, text string
		do                  change
	}{
		{"suspend", "Put a certificate on hold", "DONE becomes SUSPENDED: the key signs nothing until `resume`, and revocation data says so.", c.Service.Suspend},
		{"resume", "Take a certificate off hold", "SUSPENDED becomes DONE.", c.Service.Resume},
		{"revoke", "Revoke a certificate for good", "DONE or SUSPENDED becomes REVOKED, and the key is erased. There is no way back.", c.Service.Revoke},
		{"cancel", "Give an order up before the certificate is issued", "The order becomes CANCELLED, and its price comes back.", func(ctx context.Context, account, id string) (*enroll.Certificate, error) {
			return c.Service.Cancel(ctx, account, id, "cancelled by its buyer")
		}},
		{"enrol", "A new link for a lost one-time-password device", "`certificateLink` of the answer leads the holder to a new device, with a code of the old one or another identification.", c.Service.Reenrol},
	} {
		api.Register(a, api.Op{
			Method: http.MethodPost, Path: "/certificates/{id}/" + one.verb, ID: one.verb + "Certificate", Tag: certificateTag,
			Summary: one.summary, Text: one.text, Errors: []fault.Code{fault.NotFound, fault.MalformedID, fault.WrongState},
		}, func(ctx context.Context, in *idInput) (api.Reply[certificateDetail], error) {
			x, err := one.do(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
			return foundCertificate(x, err)
		})
	}
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/certificates/{id}/password", ID: "changeCertificatePassword", Tag: certificateTag, BadField: 310,
		Summary: "Change the password of a certificate", Errors: []fault.Code{fault.CertificateLocked, fault.NotFound, fault.MalformedID, fault.WrongState, fault.BadField},
		Text:     "Wants the old one; a wrong one counts towards the lock. Signatures that wait with the old password fail.",
		Examples: passwordExamples,
	}, c.password)
}

var buySummary = map[keys.Kind]string{
	keys.Automatic: "Buy a certificate that signs automatically",
	keys.OTP:       "Buy a certificate that signs with a one-time password",
	keys.ESeal:     "Buy an electronic seal",
}

// orderBody is the body of a purchase.
type orderBody struct {
	CertificateOwner string         `json:"certificateOwner" doc:"display name of the holder"`
	CustomReference  string         `json:"customReference,omitempty" doc:"yours; given back"`
	Callback         rawValue       `json:"callback,omitempty" doc:"where to tell each state that is reached"`
	Subject          enroll.Subject `json:"subject,omitempty" doc:"what is to stand in the certificate, as far as it is known"`
	Identification   string         `json:"identification,omitempty" doc:"video, spid, cie, cns or signature; absent: the page offers all that this server has"`
	KeyAlgorithm     string         `json:"keyAlgorithm,omitempty" doc:"P256 (default), P384, RSA2048, RSA3072, RSA4096"`
	ValidityYears    *int           `json:"validityYears,omitempty" doc:"1 to 3; default 3"`
	SecurityLevel    *int           `json:"securityLevel,omitempty" doc:"1 to 5; default 1, for otp 4. Addresses and client certificates count where the API key set them, an approval where it is by a token of another family"`
}

type buyInput struct {
	Provider string `path:"provider" doc:"a configured name, or provider for the default one"`
	Kind     string `path:"kind" doc:"automatic, otp or eseal"`
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
	CertificateType string `query:"certificateType" enum:"EU-QES_automatic,EU-QES_otp,EU-QES_eseal" doc:"only certificates of this kind"`
	State           string `query:"state" enum:"NEW,REGISTERING,WORKING,DONE,SUSPENDED,EXPIRED,REVOKED,CANCELLED" doc:"only certificates in this state"`
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
	ID   api.ID `path:"id" doc:"of the certificate"`
	Body struct {
		Old string `json:"old" doc:"the password so far"`
		New string `json:"new" doc:"the password from now on"`
	}
}

func (c *Certificates) password(ctx context.Context, in *passwordInput) (api.Reply[*struct{}], error) {
	if in.Body.Old == "" || in.Body.New == "" {
		return api.Reply[*struct{}]{}, fault.New(fault.BadField, "old and new are required")
	}
	err := c.Service.ChangePassword(ctx, account.CallerFrom(ctx).AccountID, string(in.ID), in.Body.Old, in.Body.New)
	return api.Reply[*struct{}]{Message: "Password changed"}, err
}
