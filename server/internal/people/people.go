// Package people has people sign in a browser: each gets a link, reads, proves an
// address by a code or who they are by an identity provider, and signs by one click.
//
// A record of POST /EU-SES or /EU-AES is a record of package signing/ledger with a row
// of signers for each person. What a row decides is sealed; every change of it is one
// transaction with its event in the audit log, conditional on the version that was
// read. What the last click asks for is stored before anything is signed; the work is
// done by the worker that claims the record, under its lease, so that a worker that dies
// leaves either no signature or goes on to exactly the one that was asked for.
package people

import (
	"context"
	"io"
	"net/url"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// Browser is the secret that a page left in a browser, as for enrolment: the page makes
// a new one for every step that ties it, and shows all it has.
type (
	Browser  = enroll.Browser
	Browsers = enroll.Browsers
)

// Visit is one look at the page of a person: what is there now.
type Visit struct {
	Record *ledger.Record
	Person *ledger.Person
	// Address the request came from, for the trail.
	Address string
	// Language of the page: it or en. Messages follow it where the request says browser.
	Language string
}

// Now is what the page offers at this moment, in this browser.
type Now struct {
	State ledger.PersonState // #state[data-state]
	// Over: the record or this person has come to an end. No forms; Signed where there
	// is a document.
	Over   bool
	Signed bool
	// Turn: it is this person's turn. Where it is not, and it is not over, others come
	// first (Before says how many), and nothing but a sentence is shown.
	Turn   bool
	Before int
	// Pending: the last click was made and the signature is being made: look again.
	Pending bool
	// MustRead: the last page was not asked for yet, and has to be.
	MustRead bool
	// Codes that are still asked for in this browser, by channel, in order; the first
	// is the next. Sent are those of them that were sent and are good now.
	Codes, Sent []string
	// SendAgain is when another code may be sent by the first channel; zero: now.
	SendAgain time.Time
	// Locked until then: too many wrong codes (132).
	Locked time.Time
	// Identify: methods that are offered, one of which has to be gone through in this
	// browser; empty: none, or it was.
	Identify []string
	// EditName, EditEmail, EditMobile: form #data has the field.
	EditName, EditEmail, EditMobile bool
	// Typed and Drawn: ways to sign that form #sign offers. An approver has neither.
	Typed, Drawn bool
	// Certificate is the username of the person's own certificate: form #sign asks for
	// `password` and, where OTP says so, `code`.
	Certificate string
	OTP         bool
	// MaySign: everything is there but the click. MayDecline: form #decline.
	MaySign, MayDecline bool
}

// Document is one of the documents as a person sees it now, with the signatures so far.
type Document struct {
	Index  int
	Name   string
	SHA256 string
	Size   int64
}

// Act is what form #sign brought.
type Act struct {
	Agree bool
	Typed string // at most 200 characters
	Drawn string // a data URL of a PNG, at most 200 kB
	// Password and Code of the person's own certificate.
	Password, Code string
}

// Page is what a signer's page needs of this package. Every error is a *fault.Error, or
// trouble of our own: NotFound for a link that is not one, WrongState (145) where the
// state does not allow it, TooManyCodes (132), LimitReached (130) for one code too many,
// BadField (310) for a form that is wrong, WrongOTP (116) for a wrong code,
// NotTheApplicant (312), IdentityRefused (313).
type Page interface {
	// Find is the visit of the holder of a link: fault 140 for any that is not one, also
	// once the record was deleted or the person replaced.
	Find(ctx context.Context, record, secret string) (*Visit, error)
	// Now says what may be done.
	Now(ctx context.Context, v *Visit, shown Browsers) (*Now, error)
	// Documents are those of the record as they are now.
	Documents(v *Visit) []Document
	// Open has the bytes of one, and they are what its digest says.
	Open(ctx context.Context, v *Visit, index int) (ades.Source, io.Closer, error)
	// Viewed writes down that the page with these documents was shown: VIEWED at the
	// first time, the digests whenever they are others than before. To be called
	// whenever the page shows documents.
	Viewed(ctx context.Context, v *Visit, documents []Document) error
	// Read writes down that the last page of a document was asked for; others need not
	// be told.
	Read(ctx context.Context, v *Visit, index int) error
	// Edit changes what userEditableData allows, before the first code. Empty values
	// change nothing. NAME holds given name and surname, separated by a blank.
	Edit(ctx context.Context, v *Visit, name, email, mobile string) error
	// SendCode sends a code by a channel; empty: the next that is asked for.
	SendCode(ctx context.Context, v *Visit, channel string, shown Browsers) error
	// CheckCode judges a code; a right one counts for the browser fresh from then on.
	CheckCode(ctx context.Context, v *Visit, code string, shown Browsers, fresh Browser) error
	// Providers of a method that sends people elsewhere.
	Providers(ctx context.Context, method string) []identify.Provider
	// Begin sends the person to a provider, as enroll.Service.Begin does. The answer
	// comes to /spid/acs and /cie/callback as ever; those redirect to
	// /sign/{record}/answer?token=… for a person who signs.
	Begin(ctx context.Context, v *Visit, method, provider string, fresh Browser) (*identify.Departure, error)
	// Return takes the answer that the token of /sign/{record}/answer is for, in the
	// browser that began; the visit that comes back leads to the page (Path).
	Return(ctx context.Context, record, token string, shown Browsers, fresh Browser) (*Visit, error)
	// ShowCard identifies by the certificates of a card (DER), shown at
	// {identify.cns.url}/cns/{record}/{secret}: the token is for /sign/{record}/answer.
	ShowCard(ctx context.Context, v *Visit, card [][]byte) (token string, err error)
	// Sign is the last click. It returns when the signature is made, or after a while
	// with Pending.
	Sign(ctx context.Context, v *Visit, act Act, shown Browsers) error
	// Decline ends the record (314), with a reason of at most 2,000 characters.
	Decline(ctx context.Context, v *Visit, reason string) error
	// Download is the signed document of a record that is DONE (143, 144).
	Download(ctx context.Context, v *Visit) (*ledger.Download, error)
	// Validated is what was sent out, for those who may sign now.
	Validated(ctx context.Context, v *Visit) (*ledger.Download, error)
}

// Path of the person's page.
func (v *Visit) Path() string { return "/sign/" + v.Record.ID + "/" + v.Person.Secret }

// Options of the page: v.Record.Options.People has ui, signatureMode and the rest.

// Origins that may frame the page; empty: none.
func (v *Visit) Origins() []string { return v.Record.Options.People.UI.IframeAncestors }

// Leave is where the page leads after the end: completeUrl, or cancelUrl after a
// refusal; nil: nowhere.
func (v *Visit) Leave() *url.URL {
	ui, to := &v.Record.Options.People.UI, ""
	switch v.Person.State {
	case ledger.PersonSigned:
		to = ui.CompleteURL
	case ledger.PersonDeclined:
		to = ui.CancelURL
	}
	if to == "" {
		return nil
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil // the request was checked
	}
	return u
}
