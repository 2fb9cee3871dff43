package console

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/member"
	"rogito.dev/rogito/server/internal/pages/look"
)

// passkeysPage is how one logs in oneself: the passkeys, and a new one.
type passkeysPage struct {
	look.Head
	As       string
	Notice   look.Text
	M        *member.Member
	Keys     []member.Passkey
	Only     bool   // there is no other way in: it stays
	Options  string // of a new one
	Fresh    bool   // the log-in was a moment ago
	LoginURL string
}

// freshFor is how long after a log-in passkeys can be changed, so that a browser left open does not
// let someone else add one of their own.
const freshFor = 15 * time.Minute

var (
	notAPerson = look.Refusal(fault.WrongState, look.T("You are logged in with a token. Passkeys belong to people: ask an owner to invite you.",
		"Sei entrato con un token. Le passkey sono delle persone: fatti invitare da un titolare del conto."))
	logInAgain = look.Refusal(fault.WrongState, look.T("You logged in a while ago. Log in again, then change how you log in.",
		"Sei entrato da un po'. Accedi di nuovo, poi cambia il modo in cui accedi."))
)

func (v *visit) fresh() bool { return time.Since(v.Since()) < freshFor }

func (d *Pages) passkeys(v *visit) error { return d.renderPasskeys(v, http.StatusOK, look.Text{}) }

func (d *Pages) renderPasskeys(v *visit, status int, refused look.Text) error {
	if v.Member == nil {
		return notAPerson
	}
	p := &passkeysPage{
		Head: d.head(v, look.T("How you log in", "Come accedi")), As: v.accountID(), Notice: notices[v.r.URL.Query().Get("done")], M: v.Member,
		Keys: v.Member.Keys(), Only: len(v.Member.Passkeys) == 1 && v.Member.Password == nil, Fresh: v.fresh(), LoginURL: "/console/login?next=%2Fconsole%2Fpasskeys",
	}
	p.Scripts, p.Alert = append(p.Scripts, "passkey.js"), refused
	var err error
	if p.Options, err = d.Party(v.r).Creation(v.Member.User(), d.Members.Challenge()); err != nil {
		return err
	}
	d.pages.Render(v.w, v.r, status, "passkeys", p)
	return nil
}

// addPasskey takes what the browser made.
func (d *Pages) addPasskey(v *visit, f url.Values) error {
	switch {
	case v.Member == nil:
		return notAPerson
	case !v.fresh():
		return logInAgain
	}
	err := d.Members.AddPasskey(v.ctx(), v.Member, member.Proof{Passkey: []byte(f.Get("passkey")), Party: d.Party(v.r)})
	if errors.Is(err, member.ErrPasskey) {
		d.Site.Log.WarnContext(v.ctx(), "a passkey was not accepted", "error", err)
		return d.renderPasskeys(v, http.StatusUnprocessableEntity, look.T("The passkey was not accepted. Try again.", "La passkey non è stata accettata. Riprova."))
	}
	if err != nil {
		return err
	}
	return d.done(v, "/console/passkeys", "passkey")
}

// passkeyNamed is a passkey of the person who asks.
func (d *Pages) passkeyNamed(v *visit, id string) (*target, error) {
	if v.Member == nil {
		return nil, notAPerson
	}
	if !v.fresh() {
		return nil, logInAgain
	}
	l := look.Language(v.r)
	for _, k := range v.Member.Keys() {
		if k.ID == id {
			day := l.Day(k.Made, l.Zone(d.Site.Zone))
			return &target{ID: k.ID, Name: day, Back: "/console/passkeys", Facts: []fact{{look.T("Made on", "Creata il"), day}}}, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no such passkey")
}
