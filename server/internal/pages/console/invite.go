package console

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
)

// rows of people that the form has; who asks more uses the API.
const (
	inviteRows    = 8
	inviteShown   = 2
	mostTemplates = 100 // that are offered
)

// invitePage is the form that asks others to sign.
type invitePage struct {
	look.Head
	As, Key string
	F       values
	First   []inviteRow
	More    []inviteRow
	Open    bool // one of the others is filled in
	Most    int64
	SMS     bool
	Levels  []look.Option
	// Templates that the account has kept; the first is none.
	Templates []look.Option
}

// inviteRow is one person of the form.
type inviteRow struct {
	N     int
	F     map[string]string
	Roles []look.Option
}

var inviteFields = []string{"name", "surname", "email", "mobile", "role", "anchor", "page", "x", "y", "width", "height"}

func (d *Pages) mayInvite(v *visit) bool {
	return d.People != nil && d.may(v, http.MethodPost, request.SES)
}

func (d *Pages) showInvite(v *visit) error { return d.renderInvite(v, values{}, nil) }

func (d *Pages) renderInvite(v *visit, f values, refused error) error {
	if !d.mayInvite(v) {
		return d.need(v, http.MethodPost, request.SES)
	}
	p := &invitePage{
		Head: d.head(v, look.T("Ask others to sign", "Fai firmare altre persone")), As: v.accountID(), Key: rand.Text(), F: f,
		Most: d.Document / 1_000_000, SMS: d.People.Rules().Offers(ledger.BySMS),
	}
	if p.Most > 50 {
		p.Most -= p.Most % 10
	}
	p.Scripts = append(p.Scripts, "invite.js")
	for _, name := range []string{"title", "message", "days", "ordered", "drawn", "level", "template", "keep"} {
		f[name] += "" // templates want all of them
	}
	if f["days"] == "" {
		f["days"] = "30"
	}
	status, l := http.StatusOK, look.Language(v.r)
	p.Levels = levels(l, f["level"])
	kept, err := d.People.ListTemplates(v.ctx(), v.accountID(), "", 0, mostTemplates)
	if err != nil {
		return err
	}
	if len(kept) > 0 {
		p.Templates = []look.Option{{Value: "", Name: look.T("none: the files below", "nessuno: i file qui sotto").In(l)}}
	}
	for _, t := range kept {
		p.Templates = append(p.Templates, look.Option{Value: t.ID, Name: t.Name + " (" + strings.Join(t.Places, ", ") + ")", Selected: t.ID == f["template"]})
	}
	for n := 1; n <= inviteRows; n++ {
		row := inviteRow{N: n, F: map[string]string{}}
		for _, name := range inviteFields {
			row.F[name] = f[name+"-"+strconv.Itoa(n)]
		}
		row.Roles = withChosen(row.F["role"], []look.Option{
			{Value: ledger.RoleSigner, Name: look.T("signs", "firma").In(l)},
			{Value: ledger.RoleApprover, Name: look.T("approves", "approva").In(l)},
			{Value: ledger.RoleViewer, Name: look.T("gets a copy", "riceve una copia").In(l)},
		})
		if n <= inviteShown {
			p.First = append(p.First, row)
		} else {
			p.More, p.Open = append(p.More, row), p.Open || row.F["email"]+row.F["name"] != ""
		}
	}
	if refused != nil {
		var no *fault.Error
		if !errors.As(refused, &no) || no.Code == fault.ScopeLacking {
			return refused
		}
		p.Alert, p.Code = asSentence(look.Sentence(refused)), int(no.Code)
		status = no.HTTP()
	}
	d.pages.Render(v.w, v.r, status, "invite", p)
	return nil
}

// invite handles the form. It is carried out once, however often it is sent.
func (d *Pages) invite(v *visit) error {
	p, err := d.read(v)
	if err != nil {
		return d.renderInvite(v, values{}, err)
	}
	defer p.close()
	if err := sameAccount(v, p.values["as"]); err != nil {
		return d.renderInvite(v, p.values, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx()), signTime)
	defer cancel()
	r, err := d.submitOnce(ctx, v, p, d.ask)
	if err == nil && p.after != nil { // not under the key of the form, which is the record's
		err = p.after(ctx)
	}
	if err != nil {
		return d.renderInvite(v, p.values, err)
	}
	return d.done(v, "/console/records/"+r.ID, "invite")
}

// ask submits the form as POST /EU-SES does.
func (d *Pages) ask(ctx context.Context, v *visit, p *posted) (*ledger.Record, error) {
	if err := d.need(v, http.MethodPost, request.SES); err != nil {
		return nil, err
	}
	f := p.values
	signers, err := inviteSigners(f, string(look.Language(v.r)))
	if err != nil {
		return nil, err
	}
	var from *request.Stored
	if f["template"] != "" {
		if from, err = d.stored(ctx, v, f["template"], signers); err != nil {
			return nil, err
		}
		p.files = nil
	} else if len(p.files) == 0 {
		return nil, look.Refusal(fault.BadDocuments, look.T("Choose at least one PDF.", "Scegli almeno un PDF."))
	}
	options := map[string]any{"timezone": d.zone(v, f), "signatureMode": []string{"typed"}}
	if f["drawn"] != "" {
		options["signatureMode"] = []string{"typed", "drawn"}
	}
	if f["level"] != "" {
		options["level"] = f["level"]
	}
	days, err := strconv.Atoi(strings.TrimSpace(f["days"]))
	if err != nil || days < 1 || days > 365 {
		return nil, look.Refusal(fault.BadOption, look.T("The days to sign are a number from 1 to 365.", "I giorni per firmare sono un numero da 1 a 365."))
	}
	options["expiresAt"] = time.Now().AddDate(0, 0, days).UTC().Format(time.RFC3339)
	title := f["title"]
	switch {
	case title != "":
	case from != nil:
		title = from.Inputs[0].Name
	default:
		title = titleOf(p.files)
	}
	members, err := membersOf(map[string]any{"title": title, "description": f["message"], "signers": signers, "options": options})
	if err != nil {
		return nil, err
	}
	req, err := d.Signing.Requests.ParsePeopleFiles(request.SES, members, p.files, from, p.spool, d.People.Rules())
	if err != nil {
		return nil, err
	}
	if f["keep"] != "" && (from != nil || len(p.files) != 1) {
		return nil, look.Refusal(fault.BadDocuments, look.T("A template is kept of one PDF.", "Un modello si conserva di un solo PDF."))
	}
	r, err := d.People.Submit(ctx, req, v.signer())
	if err == nil && f["keep"] != "" {
		p.after = func(ctx context.Context) error {
			return d.keepTemplate(ctx, v, clip(f["keep"], 255), p.files[0], signers, options)
		}
	}
	return r, err
}

// stored is a template that the account has kept; the people of the form take its
// places in their order.
func (d *Pages) stored(ctx context.Context, v *visit, id string, signers []map[string]any) (*request.Stored, error) {
	t, err := d.People.FindTemplate(ctx, v.accountID(), id)
	if err != nil {
		return nil, err
	}
	if len(signers) != len(t.Places) {
		return nil, look.Refusal(fault.BadSigners, look.T("This template has %d places: name as many people.", "Questo modello ha %d posti: indica altrettante persone.").With(len(t.Places)))
	}
	for i, one := range signers {
		one["place"] = t.Places[i]
		for _, name := range []string{"signatures", "order", "role"} {
			delete(one, name) // the template has them
		}
	}
	return d.People.Stored(ctx, t)
}

// keepTemplate keeps what was asked for, without the people.
func (d *Pages) keepTemplate(ctx context.Context, v *visit, name string, file request.Document, signers []map[string]any, options map[string]any) error {
	t := &people.Template{Name: name, File: file.Name, Signers: map[string]map[string]jsontext.Value{}, Options: map[string]jsontext.Value{}}
	put := func(into map[string]jsontext.Value, name string, value any) error {
		b, err := json.Marshal(value)
		into[name] = b
		return err
	}
	for i, one := range signers {
		place, kept := strconv.Itoa(i+1), map[string]jsontext.Value{}
		for _, name := range []string{"signatures", "order", "role"} {
			if value, there := one[name]; there {
				if err := put(kept, name, value); err != nil {
					return err
				}
			}
		}
		t.Places, t.Signers[place] = append(t.Places, place), kept
	}
	for _, name := range []string{"level", "signatureMode", "timezone"} {
		if value, there := options[name]; there {
			if err := put(t.Options, name, value); err != nil {
				return err
			}
		}
	}
	return d.People.AddTemplate(ctx, v.accountID(), t, file.Source)
}

// inviteSigners are the people of the form, who are written to in the language of who
// invites them.
func inviteSigners(f values, language string) (all []map[string]any, err error) {
	for n := 1; n <= inviteRows; n++ {
		at := func(name string) string { return strings.TrimSpace(f[name+"-"+strconv.Itoa(n)]) }
		if at("name")+at("surname")+at("email")+at("mobile") == "" {
			continue
		}
		for _, name := range []string{"name", "surname", "email"} {
			if at(name) == "" {
				return nil, look.Refusal(fault.BadSigners, look.T("Person %d needs a given name, a surname and an e-mail address.", "Alla persona %d servono nome, cognome e indirizzo e-mail.").With(n))
			}
		}
		one := map[string]any{"name": at("name"), "surname": at("surname"), "email": at("email"), "authentication": []string{"email"}, "signatures": []any{}, "language": language}
		if at("mobile") != "" {
			one["mobile"], one["authentication"] = strings.ReplaceAll(at("mobile"), " ", ""), []string{"email", "sms"}
		}
		if role := at("role"); role != "" {
			one["role"] = role
		}
		if f["ordered"] != "" {
			one["order"] = n
		}
		switch {
		case at("anchor") != "":
			one["signatures"] = []any{map[string]any{"anchor": at("anchor")}}
		case at("page")+at("x")+at("y") != "":
			place := map[string]any{"page": at("page"), "x": at("x"), "y": at("y")}
			for _, name := range []string{"width", "height"} {
				if at(name) != "" {
					place[name] = at(name)
				}
			}
			one["signatures"] = []any{place}
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return nil, look.Refusal(fault.BadSigners, look.T("Say who is to sign.", "Indica chi deve firmare."))
	}
	return all, nil
}

// person is one who is asked to sign, as the page of the record shows them.
type person struct {
	ID, Name, Address string
	Role              look.Text
	Code              ledger.PersonState
	State             chip
	At                time.Time
	Reason, Link      string
	MayRemind         bool
}

var personStates = map[ledger.PersonState]chip{
	ledger.PersonNew:           {"undetermined", look.T("Not due yet", "Non ancora di turno")},
	ledger.PersonNotified:      {"undetermined", look.T("Invited", "Invitato")},
	ledger.PersonViewed:        {"undetermined", look.T("Has opened it", "Ha aperto")},
	ledger.PersonAuthenticated: {"undetermined", look.T("About to sign", "Sta per firmare")},
	ledger.PersonSigned:        {"valid", look.T("Signed", "Ha firmato")},
	ledger.PersonDeclined:      {"invalid", look.T("Declined", "Ha rifiutato")},
	ledger.PersonExpired:       {"invalid", look.T("Too late", "Tempo scaduto")},
}

var personRoles = map[string]look.Text{
	ledger.RoleApprover: look.T("approves", "approva"),
	ledger.RoleViewer:   look.T("gets a copy", "riceve una copia"),
}

// follow adds the people of a record to its page, and what a sandbox did not send.
func (d *Pages) follow(v *visit, p *recordPage) {
	if !p.R.ByPeople() || d.People == nil {
		return
	}
	may := d.mayInvite(v)
	p.MayStop = may && !p.R.State.Final()
	for _, one := range p.R.Persons {
		row := person{
			ID: one.ID, Name: one.FullName(), Address: one.Email, Role: personRoles[one.Role], Code: one.State, State: personStates[one.State], At: one.UpdatedAt, Reason: one.Reason,
		}
		if row.Address == "" {
			row.Address = one.Mobile
		}
		if one.State == ledger.PersonNew && people.IsDue(p.R, one) {
			row.State.Name, p.Working = look.T("About to be invited", "Invito in partenza"), true
		}
		if may && !one.State.Final() && !p.R.State.Final() {
			row.Link = d.Signing.Link(p.R, one)
			row.MayRemind = p.R.State == ledger.WaitSigners && one.State != ledger.PersonNew
		}
		p.People = append(p.People, row)
	}
	if d.Outbox != "" && may {
		p.Letters = letters(d.Outbox, p.R.ID)
	}
}

func (d *Pages) remind(v *visit, _ url.Values) error {
	r, err := d.People.Remind(v.ctx(), v.accountID(), v.r.PathValue("id"), v.r.PathValue("signer"))
	if err != nil {
		return err
	}
	return d.done(v, "/console/records/"+r.ID, "remind")
}

// letter is a message that a sandbox did not send.
type letter struct {
	At                time.Time
	To, Subject, Text string
}

// mostLetters bounds what a page shows of an outbox.
const mostLetters = 100

// letters are those of a record, newest first. What cannot be read is left out: this is
// for trying out.
func letters(dir, record string) (all []letter) {
	names, _ := filepath.Glob(filepath.Join(dir, record+"-*"))
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil || info.Size() > 64<<10 {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		one := letter{At: info.ModTime()}
		m, err := mail.ReadMessage(strings.NewReader(string(b)))
		if err != nil {
			continue
		}
		one.To = m.Header.Get("To")
		if one.Subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
			one.Subject = ""
		}
		body := m.Body
		if m.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
			body = quotedprintable.NewReader(body)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			continue
		}
		one.Text = strings.TrimSpace(string(text))
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b letter) int { return b.At.Compare(a.At) })
	return all[:min(len(all), mostLetters)]
}
