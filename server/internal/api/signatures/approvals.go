package signatures

import (
	"context"
	"net/http"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// RegisterApprovals adds the operations of those who approve signatures.
func RegisterApprovals(a *api.API, s *Signatures) {
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/approvals", ID: "listApprovals", Tag: signatureTag,
		Summary: "Signatures that wait for an approval, newest first",
		Text:    "Those of the account whose certificates have a security level with `approval`.", Errors: []fault.Code{fault.BadQuery},
	}, s.approvals)
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/approvals/{id}", ID: "approveSignature", Tag: signatureTag,
		Summary: "Approve a signature", Text: "The token must be another than the one that asked for the signature.", Errors: []fault.Code{fault.SecurityLevel, fault.NotFound, fault.MalformedID, fault.WrongState},
	}, func(ctx context.Context, in *idInput) (api.Reply[signatureRecord], error) {
		return s.recordReply(s.Service.Approve(ctx, signer(ctx), string(in.ID)))
	})
	api.Register(a, api.Op{
		Method: http.MethodDelete, Path: "/approvals/{id}", ID: "refuseSignature", Tag: signatureTag,
		Summary: "Refuse a signature", Text: "The record ends in ERROR with 120, also where an approval was given and the key not used yet.", Errors: []fault.Code{fault.NotFound, fault.MalformedID, fault.WrongState},
	}, func(ctx context.Context, in *idInput) (api.Reply[signatureRecord], error) {
		return s.recordReply(s.Service.Refuse(ctx, signer(ctx), string(in.ID)))
	})
}

func (s *Signatures) recordReply(r *ledger.Record, err error) (api.Reply[signatureRecord], error) {
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	return api.Found(s.wire(r, false)), nil
}

type approval struct {
	SignatureSummary
	Approval  string `json:"approval" doc:"WAITING"`
	WaitsTill string `json:"waitsUntil" doc:"then it ends in ERROR with 120"`
}

func (s *Signatures) approvals(ctx context.Context, in *pageInput) (api.Reply[[]approval], error) {
	all, err := s.Service.Approvals(ctx, account.CallerFrom(ctx).AccountID, string(in.After), in.Skip, in.Limit)
	if err != nil {
		return api.Reply[[]approval]{}, err
	}
	out := make([]approval, len(all))
	for i, r := range all {
		out[i] = approval{summaryWire(r), r.Approval, stamp(r.ApprovalUntil)}
	}
	return api.Found(out), nil
}
