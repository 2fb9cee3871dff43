package signatures

import (
	"context"
	"net/http"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
)

// RegisterClientCertificates adds the operations on certificates that an
// account's callers may present in mutual TLS.
func RegisterClientCertificates(a *api.API, c *Certificates) {
	const tag = "Client certificates"
	a.Tag(tag, "Certificates that callers present in mutual TLS, for security levels that ask for it.")
	api.RegisterReplayable(a, api.Op{
		Method: http.MethodPost, Path: "/client-certificates", Basic: true, ID: "addClientCertificate", Tag: tag, Idempotent: true, BadField: 310,
		Summary: "Register a certificate for mutual TLS", Errors: []fault.Code{fault.BadField, fault.StillRunning, fault.KeyReused}, Examples: clientExamples,
		Text: "A call that presents it satisfies `client-certificate` of a security level, if it was registered with the e-mail address and the API key (HTTP Basic): what a token registers is listed and counts for no level, since the token could present a certificate of its own.",
	}, c.addClient, func(ctx context.Context, again idempotency.Replay) (api.Reply[clientCertificate], error) {
		return c.oneClient(ctx, again.RecordID)
	})
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/client-certificates", Basic: true, ID: "listClientCertificates", Tag: tag, Summary: "Registered certificates, newest first", Text: "Those of the account; an empty list is an empty array.", Errors: []fault.Code{fault.BadQuery},
	}, c.listClients)
	api.Register(a, api.Op{
		Method: http.MethodGet, Path: "/client-certificates/{id}", Basic: true, ID: "getClientCertificate", Tag: tag, Summary: "One registered certificate", Text: "What was registered, by its id.", Errors: []fault.Code{fault.NotFound, fault.MalformedID},
	}, func(ctx context.Context, in *idInput) (api.Reply[clientCertificate], error) {
		return c.oneClient(ctx, string(in.ID))
	})
	api.Register(a, api.Op{
		Method: http.MethodDelete, Path: "/client-certificates/{id}", Basic: true, ID: "removeClientCertificate", Tag: tag, Summary: "Take a certificate off the list", Text: "Calls that present it count as calls without one from now on.", Errors: []fault.Code{fault.NotFound, fault.MalformedID},
	}, c.removeClient)
}

type clientInput struct {
	Body struct {
		Name        string `json:"name,omitempty" doc:"a label; at most 256 bytes"`
		Certificate string `json:"certificate" doc:"PEM"`
	}
}

type clientCertificate struct {
	ID          string `json:"id" doc:"of the entry"`
	Name        string `json:"name" doc:"the label it was given"`
	Fingerprint string `json:"fingerprint" doc:"SHA-256, hexadecimal"`
	Subject     string `json:"subject" doc:"RFC 4514"`
	NotAfter    string `json:"notAfter" doc:"until when it is good"`
	CreatedAt   string `json:"createdAt" doc:"when it was registered"`
	Counts      bool   `json:"counts" doc:"for security levels: it was registered with the API key, and not with a token"`
}

func clientWire(c *enroll.ClientCertificate) clientCertificate {
	return clientCertificate{c.ID, c.Name, c.Fingerprint, c.Subject, stamp(c.NotAfter), stamp(c.CreatedAt), c.Given}
}

func (c *Certificates) addClient(ctx context.Context, in *clientInput) (api.Reply[clientCertificate], error) {
	if len(in.Body.Name) > 256 {
		return api.Reply[clientCertificate]{}, fault.New(fault.BadField, "name is longer than 256 bytes")
	}
	by := account.CallerFrom(ctx)
	x, err := c.Service.AddClientCertificate(ctx, by.AccountID, in.Body.Name, in.Body.Certificate, by.TokenID == "")
	if err != nil {
		return api.Reply[clientCertificate]{}, err
	}
	return api.Created(clientWire(x)), nil
}

func (c *Certificates) oneClient(ctx context.Context, id string) (api.Reply[clientCertificate], error) {
	all, err := c.Service.ClientCertificates(ctx, account.CallerFrom(ctx).AccountID, id, "", 0, 1)
	if err != nil {
		return api.Reply[clientCertificate]{}, err
	}
	if len(all) == 0 {
		return api.Reply[clientCertificate]{}, fault.New(fault.NotFound, "no such client certificate")
	}
	return api.Found(clientWire(&all[0])), nil
}

func (c *Certificates) listClients(ctx context.Context, in *pageInput) (api.Reply[[]clientCertificate], error) {
	all, err := c.Service.ClientCertificates(ctx, account.CallerFrom(ctx).AccountID, "", string(in.After), in.Skip, in.Limit)
	if err != nil {
		return api.Reply[[]clientCertificate]{}, err
	}
	out := make([]clientCertificate, len(all))
	for i := range all {
		out[i] = clientWire(&all[i])
	}
	return api.Found(out), nil
}

func (c *Certificates) removeClient(ctx context.Context, in *idInput) (api.Reply[*struct{}], error) {
	err := c.Service.RemoveClientCertificate(ctx, account.CallerFrom(ctx).AccountID, string(in.ID))
	return api.Reply[*struct{}]{Message: "Deleted"}, err
}
