package signatures

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/enroll"
)

// rawValue is a member that its operation reads itself.
type rawValue struct{ Value jsontext.Value }

// UnmarshalJSONFrom keeps the value as it is.
func (v *rawValue) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	b, err := dec.ReadValue()
	v.Value = b.Clone()
	return err
}

// Schema describes it: today all of them are callbacks.
func (rawValue) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[callbackTarget](), true, "callbackTarget")
}

type certificateOwner struct {
	Owner           string `json:"owner" doc:"display name of the holder"`
	CustomReference string `json:"customReference" doc:"the buyer's own"`
}

// certificateBought is the answer to a purchase.
type certificateBought struct {
	ID               string           `json:"id" doc:"of the order and the certificate"`
	CertificateType  string           `json:"certificateType" doc:"EU-QES_automatic, EU-QES_otp or EU-QES_eseal"`
	State            string           `json:"state" doc:"NEW, REGISTERING, WORKING, DONE; CANCELLED, SUSPENDED, EXPIRED, REVOKED"`
	CertificateLink  *string          `json:"certificateLink" doc:"where the holder is identified; null once credentials wait behind it"`
	CertificateOwner certificateOwner `json:"certificateOwner" doc:"who it is for"`
	SecurityLevel    int              `json:"securityLevel" doc:"1 to 5: what a signing call must present"`
	CreatedAt        string           `json:"createdAt" doc:"when it was ordered"`
	ExpireAt         string           `json:"expireAt" doc:"when the certificate ends"`
}

func boughtWire(c *enroll.Certificate) certificateBought {
	return certificateBought{
		ID: c.ID, CertificateType: c.Kind.CertificateType(), State: string(c.State), CertificateLink: linkWire(c.BuyersLink()),
		CertificateOwner: certificateOwner{c.Owner, c.Reference}, SecurityLevel: c.Level, CreatedAt: stamp(c.CreatedAt), ExpireAt: stamp(c.ExpireAt),
	}
}

// linkWire is the link as the buyer may see it; nil once credentials wait
// behind it.
func linkWire(link string) *string {
	if link == "" {
		return nil
	}
	return &link
}

// CertificateSummary is an element of the list.
type CertificateSummary struct {
	ID               string  `json:"id" doc:"of the order and the certificate"`
	CertificateOwner string  `json:"certificateOwner" doc:"display name of the holder"`
	CustomReference  string  `json:"customReference" doc:"the buyer's own"`
	CertificateType  string  `json:"certificateType" doc:"EU-QES_automatic, EU-QES_otp or EU-QES_eseal"`
	CreatedAt        string  `json:"createdAt" doc:"when it was ordered"`
	ExpireAt         string  `json:"expireAt" doc:"when the certificate ends"`
	State            string  `json:"state" doc:"NEW, REGISTERING, WORKING, DONE; CANCELLED, SUSPENDED, EXPIRED, REVOKED"`
	CertificateLink  *string `json:"certificateLink" doc:"where the holder is identified; null once credentials wait behind it"`
	SecurityLevel    int     `json:"securityLevel" doc:"1 to 5: what a signing call must present"`
	LabelDiffers     bool    `json:"labelDiffers,omitzero" doc:"certificateOwner is not the name that was ordered or certified"`
}

func certificateWire(c *enroll.Certificate) CertificateSummary {
	_, differs := c.LabelDiffers()
	return CertificateSummary{
		ID: c.ID, CertificateOwner: c.Owner, CustomReference: c.Reference, CertificateType: c.Kind.CertificateType(),
		CreatedAt: stamp(c.CreatedAt), ExpireAt: stamp(c.ExpireAt), State: string(c.State), CertificateLink: linkWire(c.BuyersLink()), SecurityLevel: c.Level,
		LabelDiffers: differs,
	}
}

type certificateDetail struct {
	CertificateSummary
	Callback     *callbackShown `json:"callback" doc:"where states are told; null where none was asked for"`
	SerialNumber *string        `json:"serialNumber,omitzero" doc:"decimal; once issued"`
	SubjectDN    *string        `json:"subjectDN,omitzero" doc:"as RFC 4514 writes it; once issued"`
	IssuerDN     *string        `json:"issuerDN,omitzero" doc:"likewise; once issued"`
	NotBefore    *string        `json:"notBefore,omitzero" doc:"from when it is good; once issued"`
	NotAfter     *string        `json:"notAfter,omitzero" doc:"until when it is good; once issued"`
	Review       *reviewWire    `json:"review,omitzero" doc:"for administrators, while a decision is waited for"`
}

// reviewWire is what an administrator decides on.
type reviewWire struct {
	Method     string         `json:"method" doc:"of the identification"`
	HandedInAt string         `json:"handedInAt" doc:"when the applicant handed it in"`
	Files      []string       `json:"files" doc:"names of what was handed in; GET /certificates/{id}/evidence/{file} has each, by its place"`
	CommonName string         `json:"commonName,omitempty" doc:"as an approval certifies it"`
	Attributes enroll.Subject `json:"attributes" doc:"what an approval certifies"`
	LeftOut    []string       `json:"leftOut,omitempty" doc:"ordered, and not proven by this method"`
	SubjectDN  string         `json:"subjectDN,omitempty" doc:"as it would stand in the certificate"`
	Problem    string         `json:"problem,omitempty" doc:"why it cannot be approved"`
	Digest     string         `json:"digest" doc:"of all of this, for the decision"`
}

func reviewOf(w *enroll.Waiting) *reviewWire {
	out := &reviewWire{Method: w.Method, HandedInAt: stamp(w.HandedInAt), Files: w.Files, SubjectDN: w.SubjectDN, Digest: w.Digest}
	if w.Problem != nil {
		out.Problem = w.Problem.Error()
	}
	if w.Certified != nil {
		out.CommonName, out.Attributes, out.LeftOut = w.Certified.CommonName, w.Certified.Attributes, w.Certified.LeftOut
	}
	return out
}

// othersWire is an order as administrators of any account see it: without its
// link and what its buyer keeps with it.
func othersWire(c *enroll.Certificate) certificateDetail {
	d := detailWire(c)
	d.CertificateLink, d.Callback, d.CustomReference = nil, nil, ""
	return d
}

// callbackShown is a callback without the values of its headers, which may be
// secrets.
type callbackShown struct {
	URL    string  `json:"url" doc:"where it is sent"`
	Method string  `json:"method" doc:"JSON or POST"`
	Field  string  `json:"field" doc:"name of the form field"`
	Custom anyJSON `json:"custom,omitzero" doc:"echoed back"`
	Retry  int     `json:"retry" doc:"attempts after the first"`
}

func callbackWire(t *callback.Target) *callbackShown {
	if t == nil {
		return nil
	}
	return &callbackShown{URL: t.URL, Method: t.Method, Field: t.Field, Custom: anyJSON(t.Custom), Retry: t.Retry}
}

func detailWire(c *enroll.Certificate) certificateDetail {
	d := certificateDetail{CertificateSummary: certificateWire(c), Callback: callbackWire(c.Callback)}
	if link := c.DeviceLink(); link != "" {
		d.CertificateLink = &link
	}
	if c.Serial != "" {
		d.SerialNumber, d.SubjectDN, d.IssuerDN = &c.Serial, &c.SubjectDN, &c.IssuerDN
		d.NotBefore, d.NotAfter = stampOrNull(c.NotBefore), stampOrNull(c.NotAfter)
	}
	return d
}
