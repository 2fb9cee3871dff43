package api

import (
	"context"
	"net/http"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing"
)

// RegisterApprovals adds the operations of whoever approves signatures.
func RegisterApprovals(a *API, s *Signatures) {
	Register(a, Op{
		Method: http.MethodGet, Path: "/approvals", ID: "listApprovals", Tag: signatureTag,
		Summary: "Signatures that wait for an approval, newest first", Errors: []fault.Code{160},
	}, s.approvals)
	Register(a, Op{
		Method: http.MethodPost, Path: "/approvals/{id}", ID: "approveSignature", Tag: signatureTag,
		Summary: "Approve a signature", Text: "The token must be another than the one that asked for the signature.", Errors: []fault.Code{129, 140, 141, 145},
	}, func(ctx context.Context, in *idInput) (Reply[signatureRecord], error) {
		return recordReply(s.Service.Approve(ctx, signer(ctx), string(in.ID)))
	})
	Register(a, Op{
		Method: http.MethodDelete, Path: "/approvals/{id}", ID: "refuseSignature", Tag: signatureTag,
		Summary: "Refuse a signature", Errors: []fault.Code{129, 140, 141, 145},
	}, func(ctx context.Context, in *idInput) (Reply[signatureRecord], error) {
		return recordReply(s.Service.Refuse(ctx, signer(ctx), string(in.ID)))
	})
}

func recordReply(r *signing.Record, err error) (Reply[signatureRecord], error) {
	if err != nil {
		return Reply[signatureRecord]{}, err
	}
	return Found(recordWire(r, false)), nil
}

type approval struct {
	SignatureSummary
	Approval  string `json:"approval" doc:"WAITING"`
	WaitsTill string `json:"waitsUntil"`
}

func (s *Signatures) approvals(ctx context.Context, in *pageInput) (Reply[[]approval], error) {
	all, err := s.Service.Approvals(ctx, account.CallerFrom(ctx).AccountID, in.Skip, in.Limit)
	if err != nil {
		return Reply[[]approval]{}, err
	}
	out := make([]approval, len(all))
	for i, r := range all {
		out[i] = approval{summaryWire(r), r.Approval, stamp(r.ApprovalUntil)}
	}
	return Found(out), nil
}
