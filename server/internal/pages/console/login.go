package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

// loginPage asks who is there.
type loginPage struct {
	look.Head
	Next  string // where to go on
	Ended string // why the session before is over
	Kept  bool   // what was typed is kept for the page to go on with
	Link  string // secret of a link
	Email string // that the link is for
	Left  bool   // after a log-out
	Typed string // address of a person
	Asked string // what a passkey is asked for with
	Token bool   // the form for a token stays open
}

// endings are what is said of a session that is over.
var endings = map[string]look.Text{
	account.SessionIdle:  look.T("Your session has ended because nothing was done for a while.", "La sessione è terminata perché per un po' non è stato fatto nulla."),
	account.SessionOld:   look.T("Your session has ended: it was open for as long as one may be.", "La sessione è terminata: è durata il massimo consentito."),
	account.SessionLeft:  look.T("You have logged out.", "Sei uscito."),
	account.SessionToken: look.T("Your session has ended because the token that it came from was revoked or has expired. Log in with another.", "La sessione è terminata perché il token con cui eri entrato è stato revocato o è scaduto. Accedi con un altro."),
}

func (d *Pages) newLogin(r *http.Request, next, why string) *loginPage {
	p := &loginPage{Head: look.Head{Title: look.T("Log in", "Accedi"), Section: "/console/", Styles: []string{"desk.css"}, Scripts: []string{"passkey.js", "once.js"}}, Next: local(next)}
	if asked, err := d.Party(r).Request(d.Members.Challenge()); err == nil {
		p.Asked = asked
	}
	if t, ok := endings[why]; ok {
		p.Ended, p.Alert = why, t
	}
	return p
}

// askLogin answers a request without a session: a page by the way to the login,
// a form by the login itself, which keeps what was typed and is no secret.
func (d *Pages) askLogin(w http.ResponseWriter, r *http.Request, why string) {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		q := url.Values{}
		if next := local(r.URL.RequestURI()); next != "" && next != "/console/" {
			q.Set("next", next)
		}
		if why != account.SessionUnknown {
			q.Set("ended", why)
		}
		address := "/console/login"
		if len(q) > 0 {
			address += "?" + q.Encode()
		}
		seeOther(w, r, address)
		return
	}
	back, kept := "/console/", url.Values{}
	if r.URL.Path == "/console/sign" {
		back = "/console/sign"
		most := d.Limits.Body
		if why == account.SessionUnknown {
			most = 16 << 20
		}
		kept = typed(w, r, most)
	} else if i := strings.Index(strings.TrimPrefix(r.URL.Path, "/console/"), "/"); i > 0 {
		back += strings.TrimPrefix(r.URL.Path, "/console/")[:i]
	}
	if len(kept) > 0 {
		back += "?" + kept.Encode()
	}
	p := d.newLogin(r, back, why)
	p.Kept = r.URL.Path == "/console/sign"
	if p.Alert.IsZero() {
		p.Alert = look.T("You are not logged in, so nothing was done.", "Non hai effettuato l'accesso: nulla è stato fatto.")
	} else {
		p.Alert.English += " " + nothingDone.English
		p.Alert.Italian += " " + nothingDone.Italian
	}
	d.pages.Render(w, r, http.StatusUnauthorized, "login", p)
}

var nothingDone = look.T("Nothing was done yet.", "Nulla è stato ancora fatto.")

func (d *Pages) showLogin(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if link := q.Get("link"); link != "" {
		p := d.newLogin(r, q.Get("next"), "")
		email, err := d.Accounts.LinkGood(r.Context(), link)
		if err != nil {
			d.Site.Fail(w, r, err)
			return
		}
		status := http.StatusOK
		if email == "" {
			p.Alert, status = linkOver, http.StatusUnauthorized
		} else {
			p.Link, p.Email = link, email
		}
		d.pages.Render(w, r, status, "login", p)
		return
	}
	if _, err := d.session(r); err == nil && q.Get("ended") == "" {
		seeOther(w, r, cmp.Or(local(q.Get("next")), "/console/"))
		return
	}
	p := d.newLogin(r, q.Get("next"), q.Get("ended"))
	if p.Left = p.Ended == account.SessionLeft; p.Left {
		p.Alert = look.Text{}
	}
	d.pages.Render(w, r, http.StatusOK, "login", p)
}

var linkOver = look.T("This link was used already, or its ten minutes are over. Ask for a new one with rogito console login.", "Questo collegamento è già stato usato, o i suoi dieci minuti sono passati. Chiedine uno nuovo con rogito console login.")

func (d *Pages) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	if err := r.ParseForm(); err != nil {
		d.Site.Fail(w, r, fault.New(fault.BadBody, "the form could not be read").Because(err))
		return
	}
	f := r.PostForm
	var secret string
	var err error
	person := f.Has("email") || f.Has("passkey")
	if link := f.Get("link"); link != "" {
		secret, err = d.Accounts.LogInByLink(r.Context(), link, account.Agent(r))
	} else if person {
		secret, err = d.logInPerson(r)
	} else {
		secret, err = d.Accounts.LogIn(r.Context(), r, strings.TrimSpace(f.Get("token")))
	}
	if err != nil {
		var no *fault.Error
		if !errors.As(err, &no) {
			d.Site.Fail(w, r, err)
			return
		}
		p := d.newLogin(r, f.Get("next"), "")
		p.Alert, p.Code = look.Sentence(err), int(no.Code)
		p.Typed, p.Token = clip(f.Get("email"), 300), f.Has("token")
		switch {
		case person:
		case f.Get("link") != "":
			p.Alert = linkOver
		case no.Code == fault.WrongToken && f.Get("token") == "":
			p.Alert = look.T("Enter a token.", "Inserisci un token.")
		case no.Code == fault.WrongToken:
			p.Alert = look.T("This token is wrong, has expired or was revoked.", "Questo token è errato, scaduto o revocato.")
		}
		d.pages.Render(w, r, no.HTTP(), "login", p)
		return
	}
	d.endOthers(r) // of this browser: no older session stays logged in unnoticed
	d.setCookie(w, r, secret)
	seeOther(w, r, cmp.Or(local(f.Get("next")), "/console/"))
}

// endOthers ends the sessions whose cookies a request brought.
func (d *Pages) endOthers(r *http.Request) {
	for _, c := range d.cookies(r) {
		if err := d.Accounts.LogOut(r.Context(), c.Value); err != nil {
			d.Site.Log.WarnContext(r.Context(), "end a session", "error", err)
		}
	}
}

func (d *Pages) logout(w http.ResponseWriter, r *http.Request) {
	d.endOthers(r)
	d.setCookie(w, r, "")
	seeOther(w, r, "/console/login?ended="+account.SessionLeft)
}
