// Package signatures has the operations that make signatures, and those on what
// they need: certificates, approvals and callbacks.
package signatures

import (
	"context"
	"net/http"
	"strings"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/console/completion"
	"rogito.dev/rogito/server/internal/console/look"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/signing"
)

// Signatures serves signing and its records.
type Signatures struct {
	Service *signing.Service
	// Completion writes the audit for people.
	Completion *completion.Certificates
}

const signatureTag = "Signatures"

// RegisterSignatures adds the operations on signatures.
func RegisterSignatures(a *api.API, s *Signatures) {
	a.Know("detail/signedDocument/validatedDocument/audit/auditTrail")
	s.Service.Render = func(r *signing.Record) any { return recordWire(r, false) }
	for _, kind := range []keys.Kind{keys.Automatic, keys.OTP, keys.ESeal} {
		s.registerSigning(a, kind)
	}
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/signatures", ID: "listSignatures", Tag: signatureTag,
		Summary: "Signature records, newest first", Errors: []fault.Code{160},
	}, s.list)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/signatures/{id}", ID: "getSignature", Tag: signatureTag,
		Summary: "One signature record", Errors: []fault.Code{140, 141},
	}, s.detail)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/signatures/{id}/{actionType}", ID: "getSignaturePart", Tag: signatureTag,
		Summary: "The record, a document or the audit trail of a signature",
		Text: "`actionType` is `detail` (the record), `signedDocument` or `validatedDocument` (the bytes, whatever `Accept` says; where each document is signed on its own, in a batch or as pkcs1, there is no one validated document: 143), " +
			"`audit` or `auditTrail` (by `Accept`: JSON, `text/plain` as YAML; `text/html` and `application/pdf` are the certificate of completion for people, in Italian or English by `Accept-Language`. " +
			"The PDF has the JSON attached and is sealed by the server, at LTA where time-stamps can be had).",
		Produces: []string{"application/octet-stream", "application/pdf", "text/plain", "text/html"},
		Errors:   []fault.Code{140, 141, 142, 143, 144},
	}, s.part)
	api.Register(a, api.Op{
		Method: http.MethodDelete, Path: "/signatures/{id}", ID: "deleteSignature", Tag: signatureTag,
		Summary: "Delete the files, details and personal data of a signature",
		Text:    "A tombstone keeps the audit log verifiable; afterwards the record is 404.", Errors: []fault.Code{140, 141},
	}, s.remove)
}

type signInput struct {
	Language string `header:"Accept-Language" doc:"of the text of a visible signature"`
	Body     api.Upload[signatureRequest]
}

func (s *Signatures) registerSigning(a *api.API, kind keys.Kind) {
	summary := map[keys.Kind]string{
		keys.Automatic: "Sign documents, automatically",
		keys.OTP:       "Sign documents, with a one-time password",
		keys.ESeal:     "Seal documents as a legal person",
	}[kind]
	errs := []fault.Code{101, 105, 111, 129, 611, 615, 622, 625, 635, 640, 704, 706, 708, 709, 710, 711, 730, 740, 150, 151}
	if kind == keys.OTP {
		errs = append(errs, 645)
	}
	handler := func(ctx context.Context, in *signInput) (api.Reply[signatureRecord], error) {
		return s.sign(ctx, kind, in)
	}
	replay := func(ctx context.Context, again idempotency.Replay) (api.Reply[signatureRecord], error) {
		r, err := s.Service.Again(ctx, signer(ctx), again.RecordID)
		if err != nil {
			return api.Reply[signatureRecord]{}, err
		}
		return created(r), nil
	}
	api.RegisterReplayable(a, api.Op{
		Method: http.MethodPost, Path: "/" + kind.CertificateType(), ID: "sign" + strings.ToUpper(string(kind[:1])) + string(kind[1:]), Tag: signatureTag,
		Summary: summary, Idempotent: true, Errors: errs, Timeout: signTimeout,
		Text: "Answers with the record: DONE or ERROR, or waiting where `options` asks for asynchronous work. " +
			"A record in ERROR comes in a successful envelope; `errorNumber` says what went wrong.",
	}, handler, replay)
}

func (s *Signatures) sign(ctx context.Context, kind keys.Kind, in *signInput) (api.Reply[signatureRecord], error) {
	members, err := in.Body.Object()
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	req, err := s.Service.Parse(kind, members, in.Body.Spool)
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	from := signer(ctx)
	if in.Language != "" {
		from.Language = string(look.Preferred(in.Language))
	}
	r, err := s.Service.Submit(ctx, req, from)
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	return created(r), nil
}

// created is the answer to a request: what went wrong stands in the message.
func created(r *signing.Record) api.Reply[signatureRecord] {
	reply := api.Created(recordWire(r, true))
	if r.State == signing.Error {
		reply.Message = r.ErrorMessage
	}
	return reply
}

// signer is the caller with what a security level may ask for.
func signer(ctx context.Context) signing.Caller {
	c := account.CallerFrom(ctx)
	return signing.Caller{
		AccountID: c.AccountID, TokenID: c.TokenID, RequestID: fault.RequestID(ctx), Address: c.Address.String(), Bound: c.Bound,
		ClientCertificate: api.PeerFrom(ctx),
	}
}

type pageInput struct {
	Skip  int    `query:"skip" minimum:"0" default:"0" doc:"records to leave out"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"100" doc:"records at most"`
	After api.ID `query:"after" doc:"only what comes behind this record in the order of the list: quick, however long the list"`
}

type signatureList struct {
	pageInput
	State           string `query:"state" enum:"WAIT_VALIDATION,WAIT_SIGN,WAIT_SIGNER,DONE,ERROR"`
	CertificateType string `query:"certificateType" enum:"EU-QES_automatic,EU-QES_otp,EU-QES_eseal"`
	SignatureType   string `query:"signatureType" enum:"cades,pades,xades,pkcs1"`
}

func (s *Signatures) list(ctx context.Context, in *signatureList) (api.Reply[[]SignatureSummary], error) {
	all, err := s.Service.List(ctx, account.CallerFrom(ctx).AccountID, signing.Filter{
		State: signing.State(in.State), CertificateType: in.CertificateType, Type: in.SignatureType, After: string(in.After), Skip: in.Skip, Limit: in.Limit,
	})
	if err != nil {
		return api.Reply[[]SignatureSummary]{}, err
	}
	out := make([]SignatureSummary, len(all))
	for i, r := range all {
		out[i] = summaryWire(r)
	}
	return api.Found(out), nil
}

type idInput struct {
	ID api.ID `path:"id"`
}

func (s *Signatures) detail(ctx context.Context, in *idInput) (api.Reply[signatureRecord], error) {
	r, err := s.Service.Find(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	return api.Found(recordWire(r, false)), nil
}

type partInput struct {
	ID     api.ID   `path:"id"`
	Action string   `path:"actionType" doc:"detail, signedDocument, validatedDocument, audit or auditTrail"`
	Accept []string `header:"Accept"`
	// Language of the page and the PDF.
	Language string `header:"Accept-Language" doc:"of the audit as a page or PDF"`
}

func (s *Signatures) part(ctx context.Context, in *partInput) (api.Reply[signaturePart], error) {
	switch in.Action {
	case "detail":
		r, err := s.Service.Find(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
		if err != nil {
			return api.Reply[signaturePart]{}, err
		}
		return api.Found(signaturePart{record: ptr(recordWire(r, false))}), nil
	case signing.SignedDocument, signing.ValidatedDocument:
		return s.download(ctx, in)
	case "audit", "auditTrail":
		return s.audit(ctx, in)
	}
	return api.Reply[signaturePart]{}, fault.New(fault.UnknownAction, "actionType must be one of detail, signedDocument, validatedDocument, audit")
}

func ptr[T any](v T) *T { return &v }

func (s *Signatures) download(ctx context.Context, in *partInput) (api.Reply[signaturePart], error) {
	d, err := s.Service.Open(ctx, signer(ctx), string(in.ID), in.Action)
	if err != nil {
		return api.Reply[signaturePart]{}, err
	}
	kind := "application/octet-stream"
	if d.File.MimeType == "application/pdf" {
		kind = d.File.MimeType
	}
	return api.Reply[signaturePart]{Content: &api.Content{
		Type: kind, Name: d.File.Name, Reader: d.Data, Size: d.File.Size, Modified: d.File.CreatedAt,
	}}, nil
}

func (s *Signatures) remove(ctx context.Context, in *idInput) (api.Reply[*struct{}], error) {
	if err := s.Service.Delete(ctx, account.CallerFrom(ctx).AccountID, string(in.ID)); err != nil {
		return api.Reply[*struct{}]{}, err
	}
	return api.Reply[*struct{}]{Message: "Deleted"}, nil
}
