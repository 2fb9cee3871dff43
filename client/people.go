package client

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/url"
)

// WaitSigners is the state of a record that waits for people.
const WaitSigners = "WAIT_SIGNERS"

// States of a person who is asked to sign.
const (
	PersonNew           = "NEW"
	PersonNotified      = "NOTIFIED"
	PersonViewed        = "VIEWED"
	PersonAuthenticated = "AUTHENTICATED"
	PersonSigned        = "SIGNED"
	PersonDeclined      = "DECLINED"
	PersonExpired       = "EXPIRED"
)

// Person is someone who is asked to sign in a browser.
type Person struct {
	Name           string           `json:"name"`
	Surname        string           `json:"surname"`
	Email          string           `json:"email,omitzero"`
	Mobile         string           `json:"mobile,omitzero"`         // E.164
	Authentication []string         `json:"authentication,omitzero"` // email, sms: a code by each
	Identification []string         `json:"identification,omitzero"` // spid, cie, cns: one of them
	Message        string           `json:"message,omitzero"`        // with the code; {OTP} is replaced
	Language       string           `json:"language,omitzero"`       // it, en, browser
	Order          int              `json:"order,omitzero"`          // equal numbers sign at once
	Role           string           `json:"role,omitzero"`           // signer, approver, viewer
	Reference      string           `json:"reference,omitzero"`      // of the caller
	Place          string           `json:"place,omitzero"`          // in a template
	Certificate    string           `json:"certificateUsername,omitzero"`
	Signatures     []SignaturePlace `json:"signatures"`

	// Of an answer.
	ID       string `json:"id,omitzero"`
	URL      string `json:"url,omitzero"` // the personal link; never in a list
	State    string `json:"state,omitzero"`
	SignedAt Time   `json:"signedAt,omitzero"`
}

// SignaturePlace is where a signature goes: points from the left and the top of a page, an
// existing field by its name, or the first place of a text.
type SignaturePlace struct {
	Page   int     `json:"page,omitzero"` // from 1
	X      float64 `json:"x,omitzero"`
	Y      float64 `json:"y,omitzero"`
	Width  float64 `json:"width,omitzero"`
	Height float64 `json:"height,omitzero"`
	Name   string  `json:"name,omitzero"`
	Anchor string  `json:"anchor,omitzero"`
}

// PeopleRequest asks people to sign PDFs in a browser.
type PeopleRequest struct {
	Documents   []Document
	Signers     []Person
	Title       string
	Description string
	// Options as the API has them: level, signatureMode, expiresAt, reminders, ui and so on.
	Options  map[string]any
	Callback *Callback
	Template string // id of a template that has document and places
	// Advanced asks for advanced signatures (EU-AES): every signer is identified.
	Advanced bool

	IdempotencyKey string
}

// Ask asks people to sign. The record that comes back has the link of each; it is DONE once all
// have signed, which callbacks report, and [Client.Wait] waits for.
func (c *Client) Ask(ctx context.Context, r PeopleRequest) (*Record, error) {
	people := r.Signers
	if people == nil {
		people = []Person{}
	}
	members := map[string]any{"signers": people, "options": r.Options}
	if r.Options == nil {
		members["options"] = struct{}{}
	}
	for name, value := range map[string]string{"title": r.Title, "description": r.Description, "template": r.Template} {
		if value != "" {
			members[name] = value
		}
	}
	if r.Callback != nil {
		members["callback"] = r.Callback
	}
	path := "/EU-SES"
	if r.Advanced {
		path = "/EU-AES"
	}
	o := &call{
		method: http.MethodPost, path: path, contentType: "application/json", key: newKey(r.IdempotencyKey),
		body: func() (io.Reader, error) {
			if r.Template != "" && len(r.Documents) == 0 {
				return jsonBody(members)()
			}
			return signBody(maps.Clone(members), r.Documents)
		},
	}
	return result(ask[*Record](ctx, c, o))
}

// Remind sends a person the link again.
func (c *Client) Remind(ctx context.Context, record, person string) error {
	_, err := c.person(ctx, record, person, "remind", struct{}{})
	return err
}

// Replace asks another person instead of one who has not yet confirmed an address. The old link
// becomes invalid.
func (c *Client) Replace(ctx context.Context, record, person string, by Person) (*Record, error) {
	members := map[string]string{}
	for name, value := range map[string]string{"name": by.Name, "surname": by.Surname, "email": by.Email, "mobile": by.Mobile} {
		if value != "" {
			members[name] = value
		}
	}
	return c.person(ctx, record, person, "replace", members)
}

func (c *Client) person(ctx context.Context, record, person, act string, members any) (*Record, error) {
	path := "/signatures/" + url.PathEscape(record) + "/signers/" + url.PathEscape(person) + "/" + act
	return result(ask[*Record](ctx, c, &call{
		method: http.MethodPost, path: path, contentType: "application/json",
		body: jsonBody(members),
	}))
}
