package signatures

import (
	"context"
	"net/http"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
)

// registerReviews adds what administrators decide by on what applicants of any
// account handed in.
func (c *Certificates) registerReviews(a *api.API) {
	a.Know("reviews/evidence")
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/certificates/reviews", ID: "listReviews", Tag: certificateTag, Admin: true,
		Summary: "Orders of any account that wait for an administrator's decision, the oldest first",
		Text:    "At most a hundred, each with everything that an approval would certify.", Errors: []fault.Code{fault.AdminOnly},
	}, c.reviews)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/certificates/{id}/evidence/{file}", ID: "getEvidence", Tag: certificateTag, Admin: true,
		Summary: "A file that an applicant handed in, while a decision is waited for",
		Text: "`file` counts the `files` of `review` in `GET /certificates/{id}` from 0; `digest` there says of what. The audit log of the order says who had which file. " +
			"What was decided on is kept, and read by the operator's command.",
		Produces: []string{"application/octet-stream"}, Errors: []fault.Code{fault.AdminOnly, fault.NotFound, fault.MalformedID, fault.WrongState, fault.BadQuery},
	}, c.evidence)
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/certificates/{id}/review", ID: "reviewCertificate", Tag: certificateTag, Admin: true, BadField: 310,
		Summary: "Approve or refuse what an applicant handed in", Errors: []fault.Code{fault.AdminOnly, fault.NotFound, fault.MalformedID, fault.WrongState, fault.BadField},
		Text: "For administrators, on an order of any account whose video or documents wait for a decision. `review` of `GET /certificates/{id}` shows what an approval would certify. " +
			"Where the identification brought something that the order did not name, the holder is asked to confirm it on the page: until then the order stays `REGISTERING`, and no certificate is issued.",
		Examples: reviewExamples,
	}, c.review)
}

// mostReviews are listed at once.
const mostReviews = 100

func (c *Certificates) reviews(ctx context.Context, _ *struct{}) (api.Reply[[]certificateDetail], error) {
	all, err := c.Service.AllWaiting(ctx, mostReviews)
	if err != nil {
		return api.Reply[[]certificateDetail]{}, err
	}
	out := make([]certificateDetail, len(all))
	for i, w := range all {
		out[i] = othersWire(w.Certificate)
		out[i].Review = reviewOf(w)
	}
	return api.Found(out), nil
}

type evidenceInput struct {
	ID     api.ID `path:"id" doc:"of the certificate"`
	File   int    `path:"file" doc:"its place in files, from 0" minimum:"0"`
	Digest string `query:"digest" doc:"that of review in GET /certificates/{id}: refused if something else waits by now"`
}

func (c *Certificates) evidence(ctx context.Context, in *evidenceInput) (api.Reply[api.None], error) {
	w, err := c.Service.Waiting(ctx, string(in.ID))
	if err == nil && in.Digest != "" && in.Digest != w.Digest {
		err = fault.New(fault.WrongState, "something else waits by now: look at it again")
	}
	if err != nil {
		return api.Reply[api.None]{}, err
	}
	b, err := c.Service.File(ctx, w, in.File, reviewer(ctx))
	if err != nil {
		return api.Reply[api.None]{}, err
	}
	return api.Reply[api.None]{Content: &api.Content{Type: "application/octet-stream", Name: w.Files[in.File], Reader: b, Size: -1, Modified: w.HandedInAt}}, nil
}

// reviewer is who decides on what others handed in.
func reviewer(ctx context.Context) enroll.Reviewer {
	caller := account.CallerFrom(ctx)
	return enroll.Reviewer{Account: caller.AccountID, Token: caller.TokenID}
}

type reviewInput struct {
	ID   api.ID `path:"id" doc:"of the certificate"`
	Body struct {
		Approve *bool  `json:"approve" doc:"false refuses"`
		Reason  string `json:"reason,omitempty" doc:"why; the holder reads it where it is a refusal: video-unusable, words-missing, face-hidden, face-differs, document-unreadable, document-expired, data-differ, organization-unproven and other are said in Italian and English, other words as they are"`
		Digest  string `json:"digest,omitempty" doc:"that of review in GET /certificates/{id}: the decision is refused if something else waits by now"`
	}
}

func (c *Certificates) review(ctx context.Context, in *reviewInput) (api.Reply[certificateDetail], error) {
	if in.Body.Approve == nil {
		return api.Reply[certificateDetail]{}, fault.New(fault.BadField, "approve is required: true or false")
	}
	x, err := c.Service.Review(ctx, string(in.ID), reviewer(ctx), enroll.Verdict{Approve: *in.Body.Approve, Reason: in.Body.Reason, Digest: in.Body.Digest})
	if err != nil {
		return api.Reply[certificateDetail]{}, err
	}
	return api.Found(othersWire(x)), nil
}
