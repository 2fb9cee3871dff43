package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
)

// Order buys a certificate or a seal.
type Order struct {
	Owner          string    `json:"certificateOwner"` // display name of the holder
	Reference      string    `json:"customReference,omitzero"`
	Subject        Subject   `json:"subject,omitzero"`
	Identification string    `json:"identification,omitzero"` // video, spid, cie, cns, signature; empty: the holder chooses
	KeyAlgorithm   string    `json:"keyAlgorithm,omitzero"`   // P256 (default), P384, RSA2048, RSA3072, RSA4096
	ValidityYears  int       `json:"validityYears,omitzero"`  // 1 to 3
	SecurityLevel  int       `json:"securityLevel,omitzero"`  // 1 to 5
	Callback       *Callback `json:"callback,omitzero"`

	Provider       string `json:"-"` // empty: the server's default
	IdempotencyKey string `json:"-"` // empty: one is made
}

// Subject is the data for a certificate, as far as it is known.
type Subject struct {
	GivenName              string `json:"givenName,omitzero"`
	Surname                string `json:"surname,omitzero"`
	FiscalCode             string `json:"fiscalCode,omitzero"`
	DateOfBirth            string `json:"dateOfBirth,omitzero"` // YYYY-MM-DD
	Country                string `json:"country,omitzero"`
	Organization           string `json:"organization,omitzero"`
	OrganizationIdentifier string `json:"organizationIdentifier,omitzero"`
	Email                  string `json:"email,omitzero"`
	Mobile                 string `json:"mobile,omitzero"`
}

// Certificate is an order, and what was issued on it.
type Certificate struct {
	ID              string `json:"id"`
	Owner           string `json:"certificateOwner"`
	Reference       string `json:"customReference"`
	CertificateType string `json:"certificateType"`
	State           string `json:"state"` // NEW, REGISTERING, WORKING, DONE, SUSPENDED, EXPIRED, REVOKED, CANCELLED
	Link            string `json:"certificateLink"`
	SecurityLevel   int    `json:"securityLevel"`
	LabelDiffers    bool   `json:"labelDiffers"`
	CreatedAt       Time   `json:"createdAt"`
	ExpireAt        Time   `json:"expireAt"`
	SerialNumber    string `json:"serialNumber"` // decimal; this and below once issued
	SubjectDN       string `json:"subjectDN"`
	IssuerDN        string `json:"issuerDN"`
	NotBefore       Time   `json:"notBefore"`
	NotAfter        Time   `json:"notAfter"`
}

// Buy orders a certificate. The holder is identified at Link of the answer, and
// sees username and password there, once.
func (c *Client) Buy(ctx context.Context, kind Kind, o Order) (*Certificate, error) {
	provider := o.Provider
	if provider == "" {
		provider = "provider"
	}
	bought, _, err := ask[struct {
		ID string `json:"id"`
	}](ctx, c, &call{
		method: http.MethodPost, path: "/certificates/" + url.PathEscape(provider+"-"+string(kind)), contentType: "application/json",
		body: jsonBody(o), key: newKey(o.IdempotencyKey),
	})
	if err != nil {
		return nil, err
	}
	return c.Certificate(ctx, bought.ID)
}

// Certificate is the current state of an order or certificate.
func (c *Client) Certificate(ctx context.Context, id string) (*Certificate, error) {
	x, _, err := ask[*Certificate](ctx, c, &call{method: http.MethodGet, path: "/certificates/" + url.PathEscape(id)})
	return x, err
}

// Certificates returns those of the account, newest first, fetching them on demand. state filters
// them; empty means all.
func (c *Client) Certificates(ctx context.Context, state string) iter.Seq2[Certificate, error] {
	return pages(ctx, c, "/certificates", state, func(k Certificate) string { return k.ID })
}

// Suspend puts a certificate on hold.
func (c *Client) Suspend(ctx context.Context, id string) (*Certificate, error) {
	return c.change(ctx, id, "suspend")
}

// Resume ends the hold of a certificate.
func (c *Client) Resume(ctx context.Context, id string) (*Certificate, error) {
	return c.change(ctx, id, "resume")
}

// Revoke revokes a certificate for good.
func (c *Client) Revoke(ctx context.Context, id string) (*Certificate, error) {
	return c.change(ctx, id, "revoke")
}

// Cancel gives an order up before the certificate is issued.
func (c *Client) Cancel(ctx context.Context, id string) (*Certificate, error) {
	return c.change(ctx, id, "cancel")
}

func (c *Client) change(ctx context.Context, id, verb string) (*Certificate, error) {
	x, _, err := ask[*Certificate](ctx, c, &call{method: http.MethodPost, path: "/certificates/" + url.PathEscape(id) + "/" + verb})
	return x, err
}
