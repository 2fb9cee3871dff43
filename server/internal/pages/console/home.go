package console

import (
	"net/http"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// How much the first page shows, and how early it speaks of an end.
const (
	mostHome   = 5
	mostLooked = 200
	endsSoon   = 60 * 24 * time.Hour
)

// ListEnd is a trusted list that cannot be used any more, or not for long.
type ListEnd struct {
	Territory string
	Until     time.Time
	Over      bool
}

// homePage is the first page: what waits for them, what was last, what ends.
type homePage struct {
	look.Head
	Greeting   look.Text
	Role       look.Text
	MaySign    bool
	MayInvite  bool
	MayRecords bool
	Approvals  []homeRow
	Reviews    []homeRow
	Signers    []homeRow // requests that wait for others
	Orders     []homeRow // that wait for their holder
	Latest     []recordRow
	Ending     []homeRow
	Lists      []ListEnd
	Person     bool // not a token
	MayWallet  bool
	Credit     string
}

type homeRow struct {
	Name, Path string
	At         time.Time
}

// Waits says that something waits.
func (p *homePage) Waits() bool {
	return len(p.Approvals)+len(p.Reviews)+len(p.Signers)+len(p.Orders) > 0
}

func (d *Pages) home(v *visit) error {
	if len(d.nav(v)) < 2 {
		return look.Refusal(fault.ScopeLacking, look.T("The token that you logged in with has no scope that a page of the console needs. Log in with another.",
			"Il token con cui sei entrato non ha permessi per nessuna pagina della console. Accedi con un altro."))
	}
	p := &homePage{
		Head: d.head(v, look.T("Home", "Inizio")), MaySign: d.maySign(v) && d.mayOpen(v, "GET /console/sign"), MayInvite: d.mayInvite(v) && d.mayOpen(v, "GET /console/invite"),
		MayRecords: d.may(v, http.MethodGet, "signatures"), MayWallet: d.may(v, http.MethodGet, "wallet"), Person: v.Member != nil,
	}
	if m := v.Member; m != nil {
		p.Greeting, p.Role = look.Same(m.Called()), roles[m.Role].Name
	}
	for _, part := range []func(*visit, *homePage) error{d.homeRecords, d.homeCertificates, d.homeReviews} {
		if err := part(v, p); err != nil {
			return err
		}
	}
	if p.MayWallet {
		w, err := d.Billing.Wallet(v.ctx(), v.accountID())
		if err != nil {
			return err
		}
		p.Credit = w.Credit.String()
	}
	if v.Caller.Admin && d.may(v, http.MethodGet, healthSegment) && d.mayOpen(v, "GET /console/health") && d.Lists != nil {
		p.Lists = d.Lists()
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "home", p)
	return nil
}

// homeRecords are the latest records, and those that wait.
func (d *Pages) homeRecords(v *visit, p *homePage) error {
	if !p.MayRecords {
		return nil
	}
	all, err := d.Signing.List(v.ctx(), v.accountID(), ledger.Filter{Limit: mostHome})
	if err != nil {
		return err
	}
	for _, r := range all {
		p.Latest = append(p.Latest, recordRow{ID: r.ID, Title: titled(r), At: r.CreatedAt, State: stateOf(r)})
	}
	waiting, err := d.Signing.List(v.ctx(), v.accountID(), ledger.Filter{State: ledger.WaitSigners, Limit: mostHome})
	if err != nil {
		return err
	}
	for _, r := range waiting {
		p.Signers = append(p.Signers, homeRow{titled(r), "/console/records/" + r.ID, r.CreatedAt})
	}
	if !d.may(v, http.MethodPost, "approvals") || !d.mayOpen(v, "POST /console/records/{id}/approve") {
		return nil
	}
	approvals, err := d.Signing.Approvals(v.ctx(), v.accountID(), "", 0, mostHome)
	for _, r := range approvals {
		p.Approvals = append(p.Approvals, homeRow{titled(r), "/console/records/" + r.ID, r.CreatedAt})
	}
	return err
}

// homeCertificates are the certificates that end soon, and orders whose holder has not
// been identified.
func (d *Pages) homeCertificates(v *visit, p *homePage) error {
	if !d.may(v, http.MethodGet, "certificates") {
		return nil
	}
	all, err := d.Enroll.List(v.ctx(), v.accountID(), enroll.Filter{Limit: mostLooked})
	if err != nil {
		return err
	}
	now := time.Now()
	for _, c := range all {
		switch {
		case (c.State == enroll.Done || c.State == enroll.Suspended) && c.NotAfter.After(now) && c.NotAfter.Before(now.Add(endsSoon)):
			p.Ending = append(p.Ending, homeRow{owner(c), "/console/certificates", c.NotAfter})
		case (c.State == enroll.Ordered || c.State == enroll.Registering) && len(p.Orders) < mostHome:
			p.Orders = append(p.Orders, homeRow{owner(c), "/console/certificates", c.CreatedAt})
		}
	}
	return nil
}

// homeReviews are the identifications that wait for a decision.
func (d *Pages) homeReviews(v *visit, p *homePage) error {
	if !v.Caller.Admin || !d.may(v, http.MethodPost, "certificates") || !d.mayOpen(v, "GET /console/certificates/{id}/review") {
		return nil
	}
	all, err := d.Enroll.AllWaiting(v.ctx(), mostHome)
	for _, w := range all {
		p.Reviews = append(p.Reviews, homeRow{w.Certificate.Owner, "/console/certificates/" + w.Certificate.ID + "/review", w.HandedInAt})
	}
	return err
}

// Territories joins the names of lists.
func (p *homePage) Territories(over bool) string {
	var all []string
	for _, l := range p.Lists {
		if l.Over == over {
			all = append(all, l.Territory)
		}
	}
	return strings.Join(all, ", ")
}
