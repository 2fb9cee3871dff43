package console

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/pages/look"
)

// peopleSegment is no operation: only who may do everything has its scope.
const peopleSegment = "people"

// peoplePage lists the people of an account.
type peoplePage struct {
	look.Head
	As          string
	Notice      look.Text
	Rows        []memberRow
	Roles       []look.Option
	Name, Email string // that were typed
	MayInvite   bool
	Sends       bool
}

type memberRow struct {
	*member.Member
	RoleName look.Text
	Self     bool
	Link     string // of the invitation that is open, if no mail is configured, or in a sandbox
	Roles    []look.Option
}

func roleOptions(v *visit, chosen member.Role) (all []look.Option) {
	l := look.Language(v.r)
	for _, r := range member.Roles {
		all = append(all, look.Option{Value: string(r), Name: roles[r].Name.In(l) + ": " + roles[r].May.In(l), Selected: r == chosen})
	}
	return all
}

func (d *Pages) peoplePage(v *visit) (*peoplePage, error) {
	if err := d.need(v, http.MethodGet, peopleSegment); err != nil {
		return nil, err
	}
	p := &peoplePage{
		Head: d.head(v, look.T("People", "Persone")), As: v.accountID(), Notice: notices[v.r.URL.Query().Get("done")], Roles: roleOptions(v, member.Signer),
		MayInvite: d.may(v, http.MethodPost, peopleSegment), Sends: d.Members.Sends(),
	}
	lineage, err := d.lineage(v)
	if err != nil {
		return nil, err
	}
	all, err := d.Members.List(v.ctx(), v.accountID())
	for _, m := range all {
		row := memberRow{Member: m, RoleName: roles[m.Role].Name, Self: v.Member != nil && v.Member.ID == m.ID, Roles: roleOptions(v, m.Role)}
		if (!p.Sends || d.Outbox != "") && p.MayInvite && d.Members.Shows(m, lineage) {
			row.Link = d.Members.Link(m)
		}
		p.Rows = append(p.Rows, row)
	}
	return p, err
}

func (d *Pages) people(v *visit) error {
	p, err := d.peoplePage(v)
	if err != nil {
		return err
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "people", p)
	return nil
}

// lineage is the line of the token that a visitor logged in with: people whom it invites
// are of its family where two pairs of eyes are asked for. A person's is the one that they
// were invited by, and who has the operator's link is of none.
func (d *Pages) lineage(v *visit) (string, error) {
	if v.Member != nil {
		return v.Member.Lineage, nil
	}
	if v.Own {
		return "", nil
	}
	return d.Accounts.Root(v.ctx(), v.Caller.TokenID)
}

func (d *Pages) invitePerson(v *visit, f url.Values) error {
	lineage, err := d.lineage(v)
	if err != nil {
		return err
	}
	_, err = d.Members.Invite(v.ctx(), v.Caller, v.accountID(), lineage, f.Get("email"), f.Get("name"), member.Role(f.Get("role")))
	var no *fault.Error
	if errors.As(err, &no) && no.Code == fault.BadField {
		p, oops := d.peoplePage(v)
		if oops != nil {
			return oops
		}
		p.Name, p.Email, p.Roles = clip(f.Get("name"), 200), clip(f.Get("email"), 300), roleOptions(v, member.Role(f.Get("role")))
		p.Alert, p.Code = asSentence(look.Sentence(err)), int(no.Code)
		d.pages.Render(v.w, v.r, http.StatusUnprocessableEntity, "people", p)
		return nil
	}
	if err != nil {
		return err
	}
	return d.done(v, "/console/people", "invited")
}

func (d *Pages) changeRole(v *visit, f url.Values) error {
	if _, err := d.Members.ChangeRole(v.ctx(), v.Caller, v.r.PathValue("id"), member.Role(f.Get("role"))); err != nil {
		return err
	}
	return d.done(v, "/console/people", "role")
}

func (d *Pages) inviteAgain(v *visit, _ url.Values) error {
	lineage, err := d.lineage(v)
	if err != nil {
		return err
	}
	if _, err := d.Members.Again(v.ctx(), v.Caller, lineage, v.r.PathValue("id")); err != nil {
		return err
	}
	return d.done(v, "/console/people", "invited")
}

func (d *Pages) personNamed(v *visit, id string) (*target, error) {
	m, err := d.Members.Find(v.ctx(), v.accountID(), id)
	if err != nil {
		return nil, err
	}
	l := look.Language(v.r)
	return &target{ID: m.ID, Name: m.Called(), Back: "/console/people", Facts: []fact{
		{look.T("E-mail address", "Indirizzo e-mail"), m.Email}, {look.T("Role", "Ruolo"), roles[m.Role].Name.In(l)}, {look.T("Invited on", "Data dell'invito"), l.Day(m.CreatedAt, d.Site.Zone)},
	}}, nil
}

// sessionsPage lists the browsers that are logged in.
type sessionsPage struct {
	look.Head
	As     string
	Notice look.Text
	Rows   []sessionRow
	All    bool // those of everybody in the account
}

type sessionRow struct {
	account.Listed
	Who  string
	Here bool
}

// sessionsOf is the token whose sessions a visitor may see and end; empty: all of the
// account's.
func (d *Pages) sessionsOf(v *visit) string {
	if v.Member != nil && v.Member.Role == member.Owner || v.Member == nil && d.may(v, http.MethodPost, peopleSegment) {
		return ""
	}
	return v.Caller.TokenID
}

func (d *Pages) sessions(v *visit) error {
	only := d.sessionsOf(v)
	p := &sessionsPage{Head: d.head(v, look.T("Sessions", "Sessioni")), As: v.accountID(), Notice: notices[v.r.URL.Query().Get("done")], All: only == ""}
	all, err := d.Accounts.Sessions(v.ctx(), v.accountID(), only)
	if err != nil {
		return err
	}
	members, err := d.Members.List(v.ctx(), v.accountID())
	if err != nil {
		return err
	}
	who := map[string]string{}
	for _, m := range members {
		who[m.Seat] = m.Called()
	}
	for _, s := range all {
		p.Rows = append(p.Rows, sessionRow{s, who[s.Token], s.ID == v.Session.ID})
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "sessions", p)
	return nil
}

func (d *Pages) endSession(v *visit, _ url.Values) error {
	id := v.r.PathValue("id")
	if err := d.Accounts.EndSession(v.ctx(), v.accountID(), d.sessionsOf(v), id); err != nil {
		return err
	}
	if id == v.Session.ID {
		d.setCookie(v.w, v.r, "")
		seeOther(v.w, v.r, "/console/login?ended="+account.SessionLeft)
		return nil
	}
	return d.done(v, "/console/sessions", "session")
}

// joinPage asks an invited person how they want to log in.
type joinPage struct {
	look.Head
	M             *member.Member
	Role          look.Text
	May           look.Text
	To            string       // the account
	Options       string       // of a passkey
	Secret        string       // of the device that shows codes
	App, QR       template.URL // as apps read it
	Device        string       // sealed
	Least         int
	Wrong, Spoilt string // at the password, at the code
}

var invitationOver = look.T("This invitation was used already, or its day is over. Ask whoever invited you for a new one.", "Questo invito è già stato usato, o la sua giornata è passata. Chiedine uno nuovo a chi ti ha invitato.")

// invited finds the person that a link invites. If there is none it writes the answer itself.
func (d *Pages) invited(w http.ResponseWriter, r *http.Request) *member.Member {
	m, err := d.Members.Invited(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	if err == nil && m == nil {
		f := look.Refusal(fault.NotFound, invitationOver)
		err = f
	}
	if err != nil {
		d.Site.FailTo(w, r, err, look.Link{Path: "/console/login", Name: look.T("Log in", "Accedi")})
		return nil
	}
	return m
}

func (d *Pages) showJoin(w http.ResponseWriter, r *http.Request) {
	if m := d.invited(w, r); m != nil {
		d.renderJoin(w, r, m, http.StatusOK, &joinPage{})
	}
}

func (d *Pages) renderJoin(w http.ResponseWriter, r *http.Request, m *member.Member, status int, p *joinPage) {
	alert, code := p.Alert, p.Code
	p.Head = look.Head{Title: look.T("Your access to the console", "Il tuo accesso alla console"), Section: "/console/", Styles: []string{"desk.css"}, Scripts: []string{"passkey.js", "once.js"}, Alert: alert, Code: code}
	p.M, p.Role, p.May, p.Least = m, roles[m.Role].Name, roles[m.Role].May, member.LeastPassword
	a, err := d.Accounts.ByID(r.Context(), m.Account)
	if err == nil {
		p.To = a.Email
		u := m.User()
		u.Keys = nil // the new one takes the place of them
		p.Options, err = d.Party(r).Creation(u, d.Members.Challenge())
	}
	if err == nil && p.Device != "" { // the one that was shown before
		p.Secret, err = d.Members.Device(m, p.Device)
	} else if err == nil {
		p.Secret, p.Device, err = d.Members.NewDevice(m)
	}
	if err == nil {
		key, oops := keys.TOTPKey("Rogito", m.Email, p.Secret)
		if err = oops; err == nil {
			p.App, p.QR = template.URL(key.URL()), look.Code(key.URL()) //nolint:gosec // our own address
		}
	}
	if err != nil {
		d.Site.Fail(w, r, err)
		return
	}
	d.pages.Render(w, r, status, "join", p)
}

func (d *Pages) join(w http.ResponseWriter, r *http.Request) {
	m := d.invited(w, r)
	if m == nil {
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		d.Site.Fail(w, r, fault.New(fault.BadBody, "the form could not be read").Because(err))
		return
	}
	f := r.PostForm
	secret, err := d.Members.Join(r.Context(), r, m, member.Proof{
		Passkey: []byte(f.Get("passkey")), Party: d.Party(r), Password: f.Get("password"), Code: f.Get("code"), Device: f.Get("device"),
	})
	l, p := look.Language(r), &joinPage{Device: f.Get("device")}
	switch {
	case err == nil:
		d.endOthers(r)
		d.setCookie(w, r, secret)
		seeOther(w, r, "/console/")
		return
	case errors.Is(err, member.ErrShort):
		p.Wrong = look.T("At least %d characters.", "Almeno %d caratteri.").With(member.LeastPassword).In(l)
	case errors.Is(err, member.ErrCode):
		p.Spoilt = look.T("This code is wrong. Enter the one that the app shows now.", "Questo codice è errato. Inserisci quello che l'app mostra ora.").In(l)
	case errors.Is(err, member.ErrPasskey):
		d.Site.Log.WarnContext(r.Context(), "a passkey was not accepted", "error", err)
		p.Alert, p.Device = look.T("The passkey was not accepted. Try again, or choose a password.", "La passkey non è stata accettata. Riprova, o scegli una password."), ""
	default:
		d.Site.Fail(w, r, err)
		return
	}
	d.renderJoin(w, r, m, http.StatusUnprocessableEntity, p)
}

// logInPerson begins a session for a person; what is refused is said on the page.
func (d *Pages) logInPerson(r *http.Request) (string, error) {
	f := r.PostForm
	var secret string
	var err error
	if key := f.Get("passkey"); key != "" {
		secret, err = d.Members.LogInByPasskey(r.Context(), r, d.Party(r), []byte(key))
	} else {
		secret, err = d.Members.LogIn(r.Context(), r, f.Get("email"), f.Get("password"), strings.TrimSpace(f.Get("code")))
	}
	switch {
	case errors.Is(err, member.ErrLocked):
		no := look.Refusal(fault.CertificateLocked, look.T("Too many wrong tries in a row. Wait a quarter of an hour and try again; a passkey still works.", "Troppi tentativi errati di fila. Aspetta un quarto d'ora e riprova; una passkey funziona ancora."))
		no.RetryAfter = 15 * time.Minute
		err = no
	case errors.Is(err, member.ErrWrong):
		err = notIn(look.T("The address, the password or the code is wrong, or the code was used already. After ten wrong tries in a row you have to wait a quarter of an hour.",
			"L'indirizzo, la password o il codice sono errati, o il codice è già stato usato. Dopo dieci errori di fila bisogna aspettare un quarto d'ora."))
	case errors.Is(err, member.ErrPasskey):
		d.Site.Log.WarnContext(r.Context(), "a passkey was not accepted", "error", err)
		err = notIn(look.T("This passkey was not accepted. Try again, or log in in another way.", "Questa passkey non è stata accettata. Riprova, o accedi in un altro modo."))
	}
	return secret, err
}

// notIn refuses a log-in.
func notIn(t look.Text) error {
	f := look.Refusal(fault.WrongCredentials, t)
	f.Status = http.StatusUnauthorized
	return f
}
