package console

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/pages/look"
)

// certificatesPage lists the certificates and orders of the account, and to
// administrators what waits for a decision.
type certificatesPage struct {
	look.Head
	As      string
	Rows    []certificateRow
	Waiting []waitingRow
	Notice  look.Text
	Change  bool // the token may change certificates
	Next    string
	First   string
}

type certificateRow struct {
	ID, Owner, Username string
	Label               string // that it was ordered under, where that is another
	Kind                look.Text
	State               chip
	CreatedAt, NotAfter time.Time
	Level               int
	Link                string // where the holder is identified
	Actions             []action
}

// action is what can be done to a certificate in its state.
type action struct {
	Name   string
	Label  look.Text
	Danger bool
}

type waitingRow struct {
	ID, Owner string
	Kind      look.Text
	At        time.Time
}

var actions = map[enroll.State][]action{
	enroll.Ordered:     {{"cancel", look.T("Cancel the order", "Annulla l'ordine"), true}},
	enroll.Registering: {{"cancel", look.T("Cancel the order", "Annulla l'ordine"), true}},
	enroll.Done:        {{"suspend", look.T("Suspend", "Sospendi"), false}, {"revoke", look.T("Revoke for good", "Revoca per sempre"), true}},
	enroll.Suspended:   {{"resume", look.T("Resume", "Riattiva"), false}, {"revoke", look.T("Revoke for good", "Revoca per sempre"), true}},
}

func (d *Pages) certificates(v *visit) error {
	p := &certificatesPage{Head: d.head(v, look.T("Certificates", "Certificati")), As: v.accountID(), Change: d.may(v, http.MethodPost, "certificates") && d.mayOpen(v, "POST /console/certificates/{id}/{action}")}
	p.Notice = notices[v.r.URL.Query().Get("done")]
	skip, err := strconv.Atoi(v.r.URL.Query().Get("skip"))
	if err != nil || skip < 0 || skip > 1_000_000 {
		skip = 0
	}
	all, err := d.Enroll.List(v.ctx(), v.accountID(), enroll.Filter{Skip: skip, Limit: pageOf + 1})
	if err != nil {
		return err
	}
	if len(all) > pageOf {
		all, p.Next = all[:pageOf], "/console/certificates?skip="+strconv.Itoa(skip+pageOf)
	}
	if skip > 0 {
		p.First = "/console/certificates"
	}
	names, err := d.Keys.Usernames(v.ctx(), v.accountID())
	if err != nil {
		return err
	}
	for _, c := range all {
		row := certificateRow{
			ID: c.ID, Owner: owner(c), Username: names[c.ID], Kind: kindNames[c.Kind], State: certificateChip(c.State), CreatedAt: c.CreatedAt, NotAfter: c.NotAfter,
			Level: c.Level, Link: c.BuyersLink(), Actions: actions[c.State],
		}
		if row.Owner != c.Owner {
			row.Label = c.Owner
		}
		p.Rows = append(p.Rows, row)
	}
	if v.Caller.Admin {
		waiting, err := d.Enroll.AllWaiting(v.ctx(), 100)
		if err != nil {
			return err
		}
		for _, w := range waiting {
			p.Waiting = append(p.Waiting, waitingRow{w.Certificate.ID, w.Certificate.Owner, kindNames[w.Certificate.Kind], w.HandedInAt})
		}
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "certificates", p)
	return nil
}

// change does what was asked for to a certificate, as the API does. What cannot be
// undone is asked about first: see acts.
func (d *Pages) change(v *visit, _ url.Values) error {
	id, what := v.r.PathValue("id"), v.r.PathValue("action")
	do := map[string]func(ctx context.Context, account, id string) (*enroll.Certificate, error){
		"suspend": d.Enroll.Suspend, "resume": d.Enroll.Resume,
	}[what]
	if do == nil {
		d.Site.NotFound(v.w, v.r)
		return nil
	}
	if _, err := do(v.ctx(), v.accountID(), id); err != nil {
		return err
	}
	return d.done(v, "/console/certificates", what)
}
