package console

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
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

func (d *Desk) certificates(v *visit) error {
	if err := d.need(v, http.MethodGet, "certificates"); err != nil {
		return err
	}
	p := &certificatesPage{Head: d.head(v, look.T("Certificates", "Certificati")), As: v.accountID(), Change: d.may(v, http.MethodPost, "certificates")}
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

// change does what was asked for to a certificate, as the API does.
func (d *Desk) change(v *visit) error {
	if err := d.need(v, http.MethodPost, "certificates"); err != nil {
		return err
	}
	f, err := form(v)
	if err != nil {
		return err
	}
	id, what := v.r.PathValue("id"), v.r.PathValue("action")
	do := map[string]func(ctx context.Context, account, id string) (*enroll.Certificate, error){
		"suspend": d.Enroll.Suspend, "resume": d.Enroll.Resume, "revoke": d.Enroll.Revoke,
		"cancel": func(ctx context.Context, account, id string) (*enroll.Certificate, error) {
			return d.Enroll.Cancel(ctx, account, id, "cancelled by its buyer")
		},
	}[what]
	switch {
	case what == "review":
		return d.review(v, id, f.Get("approve"), f.Get("reason"), f.Get("digest"))
	case do == nil:
		d.Site.NotFound(v.w, v.r)
		return nil
	}
	if _, err := do(v.ctx(), v.accountID(), id); err != nil {
		return err
	}
	return d.done(v, "/console/certificates", what)
}

// reviewPage is what an administrator decides on.
type reviewPage struct {
	look.Head
	As      string
	W       *enroll.Waiting
	Kind    look.Text
	Facts   []fact
	LeftOut []look.Text
	Problem look.Text
	Files   []evidenceFile
	Change  bool
}

type fact struct {
	Name  look.Text
	Value string
}

type evidenceFile struct {
	Name, Address, Type string
}

// evidenceTypes are what is shown in the page; other files are downloaded.
var evidenceTypes = map[string]string{
	".mp4": "video/mp4", ".webm": "video/webm", ".ogv": "video/ogg", ".jpeg": "image/jpeg", ".png": "image/png", ".gif": "image/gif",
}

// waiting is what waits for a decision, for an administrator.
func (d *Desk) waiting(v *visit, method string) (*enroll.Waiting, error) {
	if err := d.need(v, method, "certificates"); err != nil {
		return nil, err
	}
	if !v.Caller.Admin {
		return nil, fault.New(fault.AdminOnly, "this page is for administrators only")
	}
	return d.Enroll.Waiting(v.ctx(), v.r.PathValue("id"))
}

func (d *Desk) showReview(v *visit) error {
	w, err := d.waiting(v, http.MethodGet)
	if err != nil {
		return err
	}
	p := &reviewPage{
		Head: d.head(v, look.T("Review of an identification", "Esame di un'identificazione")), As: v.accountID(), W: w, Kind: kindNames[w.Certificate.Kind],
		Change: d.may(v, http.MethodPost, "certificates"),
	}
	if w.Problem != nil {
		p.Problem = look.Sentence(w.Problem)
	}
	if c := w.Certified; c != nil {
		if c.CommonName != "" {
			p.Facts = append(p.Facts, fact{look.T("Name in the certificate", "Nome nel certificato"), c.CommonName})
		}
		c.Attributes.Each(func(name, value string) { p.Facts = append(p.Facts, fact{attribute(name), value}) })
		for _, name := range c.LeftOut {
			p.LeftOut = append(p.LeftOut, attribute(name))
		}
	}
	for i, name := range w.Files {
		p.Files = append(p.Files, evidenceFile{name, "/console/certificates/" + w.Certificate.ID + "/evidence/" + strconv.Itoa(i) + "?of=" + w.Digest, evidenceTypes[path.Ext(name)]})
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "review", p)
	return nil
}

func attribute(name string) look.Text {
	if t, ok := attributes[name]; ok {
		return t
	}
	return look.Same(name)
}

// IsFilm and IsPicture say how a file is shown.
func (f evidenceFile) IsFilm() bool    { return strings.HasPrefix(f.Type, "video/") }
func (f evidenceFile) IsPicture() bool { return strings.HasPrefix(f.Type, "image/") }

// evidence hands out a file of what waits; only of what the page showed.
func (d *Desk) evidence(v *visit) error {
	w, err := d.waiting(v, http.MethodGet)
	if err != nil {
		return err
	}
	if of := v.r.URL.Query().Get("of"); of != w.Digest {
		return look.Refusal(fault.WrongState, look.T("Something else waits by now: load the page again.", "Nel frattempo è arrivato altro: ricarica la pagina."))
	}
	n, err := strconv.Atoi(v.r.PathValue("n"))
	if err != nil {
		n = -1
	}
	b, err := d.Enroll.File(v.ctx(), w, n, v.reviewer())
	if err != nil {
		return err
	}
	kind := evidenceTypes[path.Ext(w.Files[n])]
	c := &api.Content{Type: kind, Name: w.Files[n], Inline: kind != "", Reader: b, Modified: w.HandedInAt}
	if kind == "" {
		c.Type = "application/octet-stream"
	}
	look.Headers(v.w)
	v.w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	d.Send(v.w, v.r, c)
	return nil
}

// reviewer is who decides on what others handed in.
func (v *visit) reviewer() enroll.Reviewer {
	return enroll.Reviewer{Account: v.accountID(), Token: v.Caller.TokenID}
}

// review writes a decision down. It is of what the page showed: the digest says
// which.
func (d *Desk) review(v *visit, id, approve, reason, digest string) error {
	if !v.Caller.Admin {
		return fault.New(fault.AdminOnly, "this page is for administrators only")
	}
	if digest == "" || !slices.Contains([]string{"true", "false"}, approve) {
		return fault.New(fault.BadField, "the form is not complete")
	}
	_, err := d.Enroll.Review(v.ctx(), id, v.reviewer(), enroll.Verdict{Approve: approve == "true", Reason: clip(reason, 1000), Digest: digest})
	if err != nil {
		return err
	}
	return d.done(v, "/console/certificates", "review")
}
