// Package signatures has the operations that make signatures, and those on what
// they need: certificates, approvals and callbacks.
package signatures

import (
	"context"
	"net/http"
	"strings"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/completion"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
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
	a.Tag(signatureTag, "Signing documents, and the records of what was signed.")
	s.Service.Render = func(r *ledger.Record) any { return s.wire(r, false) }
	for _, kind := range []keys.Kind{keys.Automatic, keys.OTP, keys.ESeal} {
		s.registerSigning(a, kind)
	}
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/signatures", ID: "listSignatures", Tag: signatureTag,
		Summary: "Signature records, newest first", Errors: []fault.Code{fault.BadQuery},
		Text: "The records of the account that asks, in short. An empty list is an empty array.",
	}, s.list)
	for path, id := range map[string]string{"/signatures/{id}": "getSignature", "/signatures/{id}/detail": "getSignatureDetail"} {
		api.Register(a, api.Op{
			Method: http.MethodGet, Path: path, ID: id, Tag: signatureTag,
			Summary: "One signature record", Errors: []fault.Code{fault.NotFound, fault.MalformedID},
			Text: "The record with its documents, the options that had an effect and, in ERROR, what went wrong. `/signatures/{id}` and `/signatures/{id}/detail` answer the same.",
		}, s.detail)
	}
	api.Register(a, api.Op{
		Method: http.MethodDelete, Path: "/signatures/{id}", ID: "deleteSignature", Tag: signatureTag,
		Summary: "Delete the files, details and personal data of a signature",
		Text:    "The audit log keeps that it was there, and stays verifiable; afterwards the record is 404. One that waits for people to sign is cancelled first (316), and deleted by a second call.", Errors: []fault.Code{fault.NotFound, fault.MalformedID},
	}, s.remove)
	s.registerDownloads(a)
	api.Webhook[signatureRecord](a, "signature", api.Op{
		ID: "signatureChanged", Summary: "A signature reached a state",
		Text: "Sent to the `callback` of a signing request for every state that is reached after its answer, and once for the final one: repeated until it is answered with 2xx, at most `callback.retry` times.",
	})
}

// registerDownloads adds what of a record is no record: its documents and its
// audit trail.
func (s *Signatures) registerDownloads(a *api.API) {
	for _, one := range []struct{ name, id, summary, text string }{
		{
			ledger.SignedDocument, "downloadSignedDocument", "The signed document",
			"The bytes, whatever `Accept` says: `application/pdf` for a PDF, else `application/octet-stream`, with a file name. 143 while the record is not DONE.",
		},
		{
			ledger.ValidatedDocument, "downloadValidatedDocument", "The document as it was before it was signed",
			"The bytes, whatever `Accept` says: what was fetched, merged or zipped for signing. Where each document is signed on its own, in a batch or as pkcs1, there is no one validated document: 143.",
		},
	} {
		api.Register(a, api.Op{
			Method: http.MethodGet, Path: "/signatures/{id}/" + one.name, ID: one.id, Tag: signatureTag, Summary: one.summary, Text: one.text,
			Produces: []string{"application/octet-stream", "application/pdf"}, Errors: []fault.Code{fault.NotFound, fault.MalformedID, fault.NotReady, fault.Deleted},
		}, func(ctx context.Context, in *idInput) (api.Reply[api.None], error) {
			return s.download(ctx, string(in.ID), one.name)
		})
	}
	for _, name := range []string{"audit", "auditTrail"} {
		api.Register(a, api.Op{
			Method: http.MethodGet, Path: "/signatures/{id}/" + name, ID: "getSignature" + strings.ToUpper(name[:1]) + name[1:], Tag: signatureTag,
			Summary: "The audit trail of a signature", Hidden: name != "audit",
			Text: "Who asked, from where, for what; each document with its digests; the use of the key, time-stamps, callbacks and downloads, in order. By `Accept` also `text/plain` (YAML), and as " +
				"`text/html` and `application/pdf` the certificate of completion for people, in Italian or English by `Accept-Language`. " +
				"The PDF has the JSON attached and is sealed by the server, at LTA where time-stamps can be had. `/auditTrail` answers the same.",
			Produces: []string{"text/plain", "text/html", "application/pdf"}, Errors: []fault.Code{fault.NotFound, fault.MalformedID},
		}, s.audit)
	}
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/signatures/{id}/{actionType}", ID: "getSignaturePart", Tag: signatureTag, Hidden: true,
	}, func(_ context.Context, in *unknownPart) (api.Reply[api.None], error) {
		return api.Reply[api.None]{}, fault.New(fault.UnknownAction, "%s", hint.OneOf("actionType", in.Action, parts))
	})
}

// parts are what can be asked for of a signature.
var parts = []string{"detail", ledger.SignedDocument, ledger.ValidatedDocument, "audit", "auditTrail"}

type unknownPart struct {
	ID     api.ID `path:"id"`
	Action string `path:"actionType"`
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
	errs := []fault.Code{fault.TooLarge, fault.Unavailable, fault.CertificateLocked, fault.SecurityLevel, fault.NotFound, fault.NoCredit, fault.BadDocuments, fault.BadSignatureType, fault.BadOption, fault.NoUsername, fault.NoPassword, fault.CallbackURL, fault.CallbackURLRefused, fault.CallbackHeaders, fault.CallbackHeaderKey, fault.CallbackHeaderValue, fault.CallbackHeadersSize, fault.CallbackCustom, fault.CallbackRetry, fault.StillRunning, fault.KeyReused}
	if kind == keys.OTP {
		errs = append(errs, fault.NoOTP)
	}
	handler := func(ctx context.Context, in *signInput) (api.Reply[signatureRecord], error) {
		return s.sign(ctx, kind, in)
	}
	replay := func(ctx context.Context, again idempotency.Replay) (api.Reply[signatureRecord], error) {
		r, err := s.Service.Again(ctx, signer(ctx), again.RecordID)
		if err != nil {
			return api.Reply[signatureRecord]{}, err
		}
		return s.created(r), nil
	}
	api.RegisterReplayable(a, api.Op{
		Method: http.MethodPost, Path: "/" + kind.CertificateType(), ID: "sign" + strings.ToUpper(string(kind[:1])) + string(kind[1:]), Tag: signatureTag,
		Summary: summary, Idempotent: true, Errors: errs, Timeout: signTimeout, Examples: signExamples(kind), Aliases: []string{"inputDocument"}, Form: signatureForm{},
		Text: "Answers with the record: DONE or ERROR, or waiting where `options` asks for asynchronous work. " +
			"A record in ERROR comes in a successful envelope: a wrong username, password or code is HTTP 200 with `success` true, `state` ERROR and `errorNumber` 110. " +
			"Look at `state`, not at the status; `errorNumber` and `errorMessage` say what went wrong. " +
			"The call may also be a form (multipart/form-data): files as `inputDocuments`, the other members as fields, `options` and `callback` as JSON. " +
			"An `Idempotency-Key` whose record was deleted since is 404 with 140.",
	}, handler, replay)
}

func (s *Signatures) sign(ctx context.Context, kind keys.Kind, in *signInput) (api.Reply[signatureRecord], error) {
	members, files, err := formOrJSON(&in.Body)
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	req, err := s.Service.Requests.ParseFiles(kind, members, files, in.Body.Spool)
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
	return s.created(r), nil
}

// created is the answer to a request: what went wrong is in the message.
func (s *Signatures) created(r *ledger.Record) api.Reply[signatureRecord] {
	reply := api.Created(s.wire(r, true))
	switch {
	case r.State == ledger.Error:
		reply.Message = r.ErrorMessage
	case r.Tally.Of > 0:
		reply.Message = r.Tally.String()
	}
	return reply
}

// signer is the caller with what a security level may ask for.
func signer(ctx context.Context) request.Caller {
	c := account.CallerFrom(ctx)
	return request.Caller{
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
	State           string `query:"state" enum:"WAIT_VALIDATION,WAIT_SIGN,WAIT_SIGNER,WAIT_SIGNERS,DONE,ERROR" doc:"only records in this state"`
	CertificateType string `query:"certificateType" enum:"EU-QES_automatic,EU-QES_otp,EU-QES_eseal,EU-SES,EU-AES" doc:"only records of this kind of certificate"`
	SignatureType   string `query:"signatureType" enum:"cades,pades,xades,pkcs1" doc:"only signatures of this format"`
}

func (s *Signatures) list(ctx context.Context, in *signatureList) (api.Reply[[]SignatureSummary], error) {
	if in.State == "WAIT_SIGNER" { // as the hosted service's document spells it
		in.State = string(ledger.WaitSigners)
	}
	all, err := s.Service.List(ctx, account.CallerFrom(ctx).AccountID, ledger.Filter{
		State: ledger.State(in.State), CertificateType: in.CertificateType, Type: in.SignatureType, After: string(in.After), Skip: in.Skip, Limit: in.Limit,
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
	ID api.ID `path:"id" doc:"of the record"`
}

func (s *Signatures) detail(ctx context.Context, in *idInput) (api.Reply[signatureRecord], error) {
	r, err := s.Service.Find(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	reply := api.Found(s.wire(r, false))
	if r.State == ledger.Done && r.Tally.Of > 0 {
		reply.Message = r.Tally.String()
	}
	return reply, nil
}

type auditInput struct {
	ID       api.ID   `path:"id" doc:"of the record"`
	Accept   []string `header:"Accept"`
	Language string   `header:"Accept-Language" doc:"of the page and the PDF: it or en"`
}

func (s *Signatures) download(ctx context.Context, id, name string) (api.Reply[api.None], error) {
	d, err := s.Service.Open(ctx, signer(ctx), id, name)
	if err != nil {
		return api.Reply[api.None]{}, err
	}
	kind := "application/octet-stream"
	if d.File.MediaType == "application/pdf" {
		kind = d.File.MediaType
	}
	return api.Reply[api.None]{Content: &api.Content{
		Type: kind, Name: d.File.Name, Reader: d.Data, Size: d.File.Size, Modified: d.File.CreatedAt,
	}}, nil
}

func (s *Signatures) remove(ctx context.Context, in *idInput) (api.Reply[*struct{}], error) {
	if err := s.Service.Delete(ctx, account.CallerFrom(ctx).AccountID, string(in.ID)); err != nil {
		return api.Reply[*struct{}]{}, err
	}
	return api.Reply[*struct{}]{Message: "Deleted"}, nil
}
