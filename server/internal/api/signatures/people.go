package signatures

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/audit"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
)

// People serves what people sign.
type People struct {
	*Signatures
	Service *people.Service
}

// coordinate is a number, or a string that has one.
type coordinate struct{}

// Schema says so.
func (coordinate) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{{Type: "number"}, {Type: "string"}}}
}

type signerPlace struct {
	Page   int        `json:"page,omitempty" doc:"from 1, within each document"`
	X      coordinate `json:"x,omitempty" doc:"points from the left of the page's MediaBox"`
	Y      coordinate `json:"y,omitempty" doc:"points from its top"`
	Width  coordinate `json:"width,omitempty" doc:"points; default 164"`
	Height coordinate `json:"height,omitempty" doc:"points; default 45"`
	Name   string     `json:"name,omitempty" doc:"of an empty signature field that the document has"`
	Anchor string     `json:"anchor,omitempty" doc:"a text of the document, at whose first place the field goes: page, x and y are not needed then"`
}

type signerRequest struct {
	Name                string        `json:"name" doc:"given name"`
	Surname             string        `json:"surname" doc:"surname"`
	Email               string        `json:"email,omitempty" doc:"address; needed where authentication has email"`
	Mobile              string        `json:"mobile,omitempty" doc:"number in E.164; needed where authentication has sms"`
	Authentication      []string      `json:"authentication,omitempty" enum:"email,sms" doc:"where codes are sent; of both, both are asked for. May be absent where there is an identification"`
	Identification      []string      `json:"identification,omitempty" enum:"spid,cie,cns" doc:"one of these has to be gone through: those of GET /certificates/identifications but video and signature"`
	Message             string        `json:"message,omitempty" doc:"with the code: in the place of {OTP}, or behind it; by SMS at most 160 characters with the code"`
	Language            string        `json:"language,omitempty" enum:"it,en,browser" doc:"default browser"`
	Order               int           `json:"order,omitempty" doc:"lower ones sign first, equal ones at the same time"`
	Role                string        `json:"role,omitempty" enum:"signer,approver,viewer" doc:"signer (default); approver agrees and signs nothing; viewer gets a copy"`
	Reference           string        `json:"reference,omitempty" doc:"of the caller's own"`
	CertificateUsername string        `json:"certificateUsername,omitempty" doc:"a certificate of this server that the person signs with: password and code are asked for on the page"`
	Place               string        `json:"place,omitempty" doc:"in the template"`
	Signatures          []signerPlace `json:"signatures,omitempty" doc:"where the person signs; absent or empty: on the first page, at the top left"`
}

type peopleRequest struct {
	Signers        []signerRequest `json:"signers" doc:"who is asked to sign, 1 to 50"`
	InputDocuments inputDocuments  `json:"inputDocuments,omitempty" doc:"PDFs; not with a template"`
	Template       string          `json:"template,omitempty" doc:"id of a template: documents, places and options are taken from it"`
	Title          string          `json:"title,omitempty" doc:"a label for the record, in messages too"`
	Description    string          `json:"description,omitempty" doc:"a longer one"`
	Options        *peopleOptions  `json:"options,omitempty" doc:"how people sign"`
	Callback       *callbackTarget `json:"callback,omitempty" doc:"where to tell each state that the record or one of its signers reaches"`
}

type peopleOptions struct {
	UI               *peopleUI     `json:"ui,omitempty" doc:"how the signer's page looks"`
	SignatureMode    []string      `json:"signatureMode,omitempty" enum:"typed,drawn" doc:"default typed"`
	UserEditableData *editableData `json:"userEditableData,omitempty" doc:"what signers may change of themselves; default all"`
	Timezone         string        `json:"timezone,omitempty" doc:"IANA name, of times that are shown; default UTC"`
	SignerMustRead   bool          `json:"signerMustRead,omitempty" doc:"the last page has to be looked at before"`
	Level            string        `json:"level,omitempty" enum:"B,T,LT,LTA" doc:"of the signatures; default B"`
	HashAlgorithm    string        `json:"hashAlgorithm,omitempty" enum:"SHA256,SHA384,SHA512" doc:"default SHA256"`
	ExpiresAt        string        `json:"expiresAt,omitempty" doc:"timestamp; default in 30 days"`
	Reminders        *reminders    `json:"reminders,omitempty" doc:"absent: none"`
	Decline          *bool         `json:"decline,omitempty" doc:"whether signers may decline; default true"`
	Merge            bool          `json:"merge,omitempty" doc:"join several documents into one"`
	AsyncValidation  bool          `json:"asyncDocumentsValidation,omitempty" doc:"always true here"`
	AsyncSignature   bool          `json:"asyncSignature,omitempty" doc:"without effect here"`
}

type peopleUI struct {
	request.UI
}

type editableData struct {
	Name   *bool `json:"name,omitempty" doc:"default true"`
	Mobile *bool `json:"mobile,omitempty" doc:"default true"`
	Email  *bool `json:"email,omitempty" doc:"default true"`
}

type reminders struct {
	Every int `json:"every" minimum:"1" maximum:"365" doc:"days"`
	At    int `json:"at,omitempty" minimum:"0" maximum:"23" doc:"hour in the time zone; default 9"`
}

type peopleInput struct {
	Body api.Upload[peopleRequest]
}

// RegisterPeople adds the operations on what people sign.
func RegisterPeople(a *api.API, p *People) {
	for _, kind := range []string{request.SES, request.AES} {
		summary, id := "Ask people to sign, in a browser", "askSES"
		if kind == request.AES {
			summary, id = "Ask people to sign with a certificate of their own, in a browser", "askAES"
		}
		api.RegisterReplayable(a, api.Op{
			Method: http.MethodPost, Path: "/" + kind, ID: id, Tag: signatureTag, Summary: summary, Idempotent: true, Examples: peopleExamples(kind), Aliases: []string{"inputDocument"},
			Errors: []fault.Code{fault.TooLarge, fault.Unavailable, fault.NotFound, fault.NoCredit, fault.BadSigners, fault.BadDocuments, fault.BadOption, fault.NoSigners, fault.CallbackURL, fault.CallbackURLRefused, fault.CallbackHeaders, fault.CallbackHeaderKey, fault.CallbackHeaderValue, fault.CallbackHeadersSize, fault.CallbackCustom, fault.CallbackRetry, fault.StillRunning, fault.KeyReused},
			Text: "Each signer gets a personal link (`signers[].url`, at once), reads the documents, proves an address by a code or is identified, and signs. " +
				"The record waits: WAIT_VALIDATION, WAIT_SIGNERS, WAIT_SIGN, then DONE, or ERROR where somebody declined (314), not everybody signed in time (315), it was cancelled (316) or a document is no PDF (113).",
		}, func(ctx context.Context, in *peopleInput) (api.Reply[signatureRecord], error) {
			return p.ask(ctx, kind, in)
		},
			func(ctx context.Context, again idempotency.Replay) (api.Reply[signatureRecord], error) {
				r, err := p.Signatures.Service.Find(ctx, account.CallerFrom(ctx).AccountID, again.RecordID)
				if err != nil {
					return api.Reply[signatureRecord]{}, err
				}
				return p.created(r), nil
			})
	}
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/signatures/{id}/signers/{signer}/remind", ID: "remindSigner", Tag: signatureTag, Summary: "Remind a signer", Errors: []fault.Code{fault.NotFound, fault.MalformedID, fault.WrongState},
		Text: "Sends the link again to somebody whose turn it is.",
	}, func(ctx context.Context, in *signerInput) (api.Reply[signatureRecord], error) {
		return p.reply(p.Service.Remind(ctx, account.CallerFrom(ctx).AccountID, string(in.ID), in.Signer))
	})
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/signatures/{id}/signers/{signer}/replace", ID: "replaceSigner", Tag: signatureTag, Summary: "Ask somebody else in the place of a signer",
		Errors: []fault.Code{fault.NotFound, fault.MalformedID, fault.WrongState, fault.BadSigners}, Text: "Of a signer who has not authenticated. There is a new link, and the old one leads nowhere.",
		Examples: []api.Example{{Name: "other", Summary: "Somebody else", Value: map[string]any{"name": "Bruno", "surname": "Bianchi", "email": "bruno@example.org"}}},
	}, p.replace)
	p.registerTemplates(a)
}

func (p *People) ask(ctx context.Context, kind string, in *peopleInput) (none api.Reply[signatureRecord], err error) {
	members, err := in.Body.Object()
	if err != nil {
		return none, err
	}
	from := signer(ctx)
	var stored *request.Stored
	if v := members["template"]; len(v) > 0 && v.Kind() != 'n' {
		var id string
		if in.Body.Spool.Unmarshal(v, &id) != nil {
			return none, fault.New(fault.NotFound, "template must be the id of a template")
		}
		t, err := p.Service.FindTemplate(ctx, from.AccountID, id)
		if err != nil {
			return none, err
		}
		if stored, err = p.Service.Stored(ctx, t); err != nil {
			return none, err
		}
	}
	req, err := p.Signatures.Service.Requests.ParsePeople(kind, members, stored, in.Body.Spool, p.Service.Rules())
	if err != nil {
		return none, err
	}
	r, err := p.Service.Submit(ctx, req, from)
	if err != nil {
		return none, err
	}
	return p.created(r), nil
}

func (p *People) created(r *ledger.Record) api.Reply[signatureRecord] {
	reply := api.Created(p.wire(r, true))
	if r.State == ledger.Error {
		reply.Message = r.ErrorMessage
	}
	return reply
}

func (p *People) reply(r *ledger.Record, err error) (api.Reply[signatureRecord], error) {
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	return api.Found(p.wire(r, false)), nil
}

type signerInput struct {
	ID     api.ID `path:"id" doc:"of the record"`
	Signer string `path:"signer" doc:"id of the signer"`
}

type replaceInput struct {
	signerInput
	Body api.Upload[replacement]
}

type replacement struct {
	Name    string `json:"name" doc:"given name"`
	Surname string `json:"surname" doc:"surname"`
	Email   string `json:"email,omitempty" doc:"address"`
	Mobile  string `json:"mobile,omitempty" doc:"number in E.164"`
}

func (p *People) replace(ctx context.Context, in *replaceInput) (api.Reply[signatureRecord], error) {
	by, err := in.Body.Decode()
	switch {
	case err != nil:
		err = fault.New(fault.BadSigners, "name, surname, email and mobile are strings")
	case by.Name == "" || by.Surname == "" || len(by.Name) > 128 || len(by.Surname) > 128:
		err = fault.New(fault.BadSigners, "name and surname are required")
	case by.Email != "" && !request.EmailAddress(by.Email):
		err = fault.New(fault.BadSigners, "email is not an address")
	case by.Mobile != "" && !request.MobileNumber(by.Mobile):
		err = fault.New(fault.BadSigners, "mobile is not a number in E.164, such as +393331234567")
	}
	if err != nil {
		return api.Reply[signatureRecord]{}, err
	}
	return p.reply(p.Service.Replace(ctx, account.CallerFrom(ctx).AccountID, string(in.ID), in.Signer, people.Replacement(by)))
}

// signerRecord is a signer as a record shows it.
type signerRecord struct {
	ID                  string          `json:"id" doc:"a UUID"`
	URL                 *string         `json:"url,omitzero" doc:"the personal page; not in the audit"`
	State               string          `json:"state" enum:"NEW,NOTIFIED,VIEWED,AUTHENTICATED,SIGNED,DECLINED,EXPIRED" doc:"how far the person has come"`
	SignedAt            *string         `json:"signedAt" doc:"null until SIGNED"`
	Name                string          `json:"name" doc:"given name"`
	Surname             string          `json:"surname" doc:"surname"`
	Email               *string         `json:"email" doc:"address; null where there is none"`
	EmailEditable       bool            `json:"emailEditable" doc:"whether the person may change it"`
	EmailValidation     *struct{}       `json:"emailValidation" doc:"null: addresses are not looked up"`
	Mobile              *string         `json:"mobile" doc:"number; null where there is none"`
	MobileEditable      bool            `json:"mobileEditable" doc:"whether the person may change it"`
	Authentication      []string        `json:"authentication" doc:"where codes are sent"`
	Identification      []string        `json:"identification,omitzero" doc:"one of which has to be gone through"`
	Message             *string         `json:"message" doc:"with the code"`
	Language            string          `json:"language" doc:"it, en or browser"`
	Order               int             `json:"order" doc:"lower ones sign first"`
	Role                string          `json:"role" enum:"signer,approver,viewer" doc:"what is asked of the person"`
	Reference           *string         `json:"reference,omitzero" doc:"of the caller's own"`
	CertificateUsername *string         `json:"certificateUsername,omitzero" doc:"that the person signs with"`
	Place               *string         `json:"place,omitzero" doc:"in the template"`
	Reason              *string         `json:"reason,omitzero" doc:"of who declined"`
	Signatures          []signaturePos  `json:"signatures" doc:"where the person was asked to sign"`
	WebValidation       *webValidation  `json:"webValidation,omitzero" doc:"in the audit: when and from where codes were asked for and given"`
	Trail               *[]signerAction `json:"trail,omitzero" doc:"in the audit: what the person did"`
}

type signaturePos struct {
	Page   int     `json:"page" doc:"from 1"`
	X      int     `json:"x" doc:"points from the left"`
	Y      int     `json:"y" doc:"points from the top"`
	Width  int     `json:"width" doc:"points"`
	Height int     `json:"height" doc:"points"`
	Name   *string `json:"name,omitzero" doc:"of a field of the document"`
	Anchor *string `json:"anchor,omitzero" doc:"a text of the document"`
}

type webValidation struct {
	OtpIP         *string `json:"otpIp" doc:"address that a code was last asked for from"`
	ConfirmIP     *string `json:"confirmIp" doc:"address that the last code was given from, or the last click made"`
	LastOtpAt     *string `json:"lastOtpAt" doc:"when"`
	LastConfirmAt *string `json:"lastConfirmAt" doc:"when"`
}

type signerAction struct {
	CreatedAt string `json:"createdAt" doc:"when, UTC"`
	What      string `json:"what" doc:"as a word"`
	Log       string `json:"log" doc:"in words"`
}

func some(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// signersWire writes those who are asked; the links are for the account only.
func (s *Signatures) signersWire(r *ledger.Record) *[]signerRecord {
	out := make([]signerRecord, len(r.Persons))
	for i, p := range r.Persons {
		w := signerRecord{
			ID: p.ID, URL: new(s.Service.Link(r, p)), State: string(p.State), SignedAt: stampOrNull(p.SignedAt), Name: p.Name, Surname: p.Surname, Email: some(p.Email), Mobile: some(p.Mobile),
			EmailEditable: r.Options.People.Editable.Email, MobileEditable: r.Options.People.Editable.Mobile, Authentication: slices.Concat([]string{}, p.Authentication), Identification: p.Identification,
			Message: some(p.Message), Language: p.Language, Order: p.Order, Role: p.Role, Reference: some(p.Reference), CertificateUsername: some(p.Username), Place: some(p.Template),
			Reason: some(p.Reason), Signatures: []signaturePos{},
		}
		for _, at := range p.Signatures {
			w.Signatures = append(w.Signatures, signaturePos{
				Page: at.Page, X: int(math.Round(at.X)), Y: int(math.Round(at.Y)), Width: int(math.Round(at.Width)), Height: int(math.Round(at.Height)), Name: some(at.Name), Anchor: some(at.Anchor),
			})
		}
		out[i] = w
	}
	return &out
}

// peopleWire adds to a record what is of people.
func (s *Signatures) peopleWire(w *signatureRecord, r *ledger.Record) {
	w.SignatureType, w.Options, w.Signers = new("pades"), r.Options.EchoPeople(stamp, r.Achieved), s.signersWire(r)
	last := r.UpdatedAt
	for _, p := range r.Persons {
		if p.UpdatedAt.After(last) {
			last = p.UpdatedAt
		}
	}
	w.UpdatedAt = stamp(last)
}

// peopleTrail is what the audit log records of each signer, without the links.
func peopleTrail(w *signatureRecord, r *ledger.Record, entries []*audit.Entry) {
	if w.Signers == nil {
		return
	}
	for i, p := range r.Persons {
		one := &(*w.Signers)[i]
		one.URL = nil
		one.WebValidation = &webValidation{OtpIP: some(p.Asked), ConfirmIP: some(p.Sure), LastOtpAt: stampOrNull(p.AskedAt), LastConfirmAt: stampOrNull(p.SureAt)}
		trail := []signerAction{}
		for _, e := range entries {
			log, detail := e.Text()
			var of struct {
				Position int
				What     string
			}
			if e.Kind == ledger.KindPerson && json.Unmarshal(detail, &of) == nil && of.Position == p.Position {
				trail = append(trail, signerAction{stamp(time.UnixMilli(e.CreatedAt)), of.What, log})
			}
		}
		one.Trail = &trail
	}
}

// peopleExamples are bodies that a sandbox takes.
func peopleExamples(kind string) []api.Example {
	document := map[string]any{"sourceType": "base64", "name": "page.pdf", "payload": []byte(examplePDF)}
	if kind == request.AES {
		return []api.Example{{
			Name: "certificate", Summary: "Somebody who has a certificate of this server",
			Value: map[string]any{"title": "A lease", "inputDocuments": []any{document}, "signers": []any{map[string]any{
				"name": "Ada", "surname": "Rossi", "email": "ada@example.org", "authentication": []string{"email"}, "certificateUsername": api.OTPUsername, "signatures": []any{},
			}}, "options": map[string]any{}},
		}}
	}
	return []api.Example{{
		Name: "one", Summary: "One person, with a code by e-mail",
		Value: map[string]any{"title": "A first request", "inputDocuments": []any{document}, "signers": []any{map[string]any{
			"name": "Ada", "surname": "Rossi", "email": "ada@example.org", "authentication": []string{"email"}, "signatures": []any{map[string]any{"page": 1, "x": "60", "y": "200"}},
		}}, "options": map[string]any{}},
	}, {
		Name: "order", Summary: "Two, one after the other, who must read",
		Value: map[string]any{"title": "In order", "inputDocuments": []any{document}, "signers": []any{
			map[string]any{"name": "Ada", "surname": "Rossi", "email": "ada@example.org", "authentication": []string{"email"}, "signatures": []any{}, "order": 1},
			map[string]any{"name": "Bruno", "surname": "Bianchi", "email": "bruno@example.org", "authentication": []string{"email"}, "signatures": []any{}, "order": 2},
		}, "options": map[string]any{"signerMustRead": true, "level": "LTA"}},
	}}
}
