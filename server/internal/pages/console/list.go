package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// recordsPage is the list.
type recordsPage struct {
	look.Head
	F              values // what was asked for
	States         []look.Option
	Signers        []look.Option
	Rows           []recordRow
	Previous, Next string // addresses
	Table          string // address of the CSV
	Filtered       bool
	Older          bool // there are records that the search has not looked into
	MaySign        bool
	Notice         look.Text
}

type recordRow struct {
	ID, Title, Address string
	At                 time.Time
	State              chip
	Format             look.Text
	Kind               look.Text
	Who                []who
}

// who signed, or is to.
type who struct {
	Name   string
	Signed bool
}

const (
	pageOf = 25
	// mostSearched is how many records one search looks into: a tenth of a second.
	mostSearched = 20_000
	// mostExported bounds a table; who wants more narrows it by days.
	mostExported = 10_000
	// mostBack is how many pages a list remembers the way back over.
	mostBack = 40
	// statePartly is no state of a record: it is DONE, and not all of it was signed.
	statePartly = "PARTLY"
	byPeople    = "people"
)

// listFields are what a list is narrowed by.
var listFields = []string{"q", "state", "signer", "from", "until"}

// listOf reads what a list is asked for.
func (d *Pages) listOf(v *visit) (values, ledger.Filter, error) {
	q, f := v.r.URL.Query(), values{}
	for _, name := range listFields {
		f[name] = strings.TrimSpace(clip(q.Get(name), 200))
	}
	wrong := look.Refusal(fault.BadQuery, look.T("This address is not one of the list.", "Questo indirizzo non è di questo elenco."))
	out := ledger.Filter{Text: f["q"], After: q.Get("after"), Limit: pageOf}
	if out.After != "" && !isID(out.After) {
		return f, out, wrong
	}
	switch state := f["state"]; {
	case state == statePartly:
		out.Partly = true
	case state != "" && !slices.Contains(ledger.States, ledger.State(state)):
		return f, out, wrong
	default:
		out.State = ledger.State(state)
	}
	switch signer := f["signer"]; {
	case signer == byPeople:
		out.People = true
	case signer != "" && !isID(signer):
		return f, out, wrong
	default:
		out.Certificate = signer
	}
	for name, into := range map[string]*time.Time{"from": &out.From, "until": &out.Until} {
		if f[name] == "" {
			continue
		}
		day, err := time.ParseInLocation(time.DateOnly, f[name], d.location())
		if err != nil || day.Year() < 1970 || day.Year() > 9999 {
			return f, out, look.Refusal(fault.BadQuery, look.T("A day is written 2026-11-18.", "Un giorno si scrive 2026-11-18."))
		}
		if name == "until" {
			day = day.AddDate(0, 0, 1) // the day itself is in it
		}
		*into = day
	}
	return f, out, nil
}

func (d *Pages) location() *time.Location {
	if d.Site.Zone != nil {
		return d.Site.Zone
	}
	return time.UTC
}

// query is the address of a list with these fields and more.
func (f values) query(more ...string) string {
	q := url.Values{}
	for _, name := range listFields {
		if f[name] != "" {
			q.Set(name, f[name])
		}
	}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			q.Set(more[i], more[i+1])
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

func (d *Pages) records(v *visit) error {
	f, filter, err := d.listOf(v)
	if err != nil {
		return err
	}
	p := &recordsPage{Head: d.head(v, look.T("Records", "Pratiche")), F: f, MaySign: d.maySign(v), Filtered: f.query() != "", Table: "/console/records.csv" + f.query(), Notice: notices[v.r.URL.Query().Get("done")]}
	if err := d.choices(v, p); err != nil {
		return err
	}
	all, further, err := d.listed(v.ctx(), v.accountID(), filter)
	if err != nil {
		return err
	}
	p.Older = further != "" && len(all) < pageOf
	// The way back: where each page before this one began.
	back := strings.Split(v.r.URL.Query().Get("back"), "-")
	back = slices.DeleteFunc(back, func(id string) bool { return !isID(id) })
	if filter.After != "" {
		before, rest := "", back
		if n := len(back); n > 0 {
			before, rest = back[n-1], back[:n-1]
		}
		p.Previous = "/console/records" + f.query("after", before, "back", strings.Join(rest, "-"))
		back = append(back, filter.After)
	}
	if further != "" {
		if filter.After == "" {
			back = nil
		}
		p.Next = "/console/records" + f.query("after", further, "back", strings.Join(back[max(0, len(back)-mostBack):], "-"))
	}
	here := ""
	if v.r.URL.RawQuery != "" {
		here = "?list=" + url.QueryEscape(v.r.URL.RawQuery)
	}
	names := d.namer(v)
	for _, r := range all {
		row := recordRow{r.ID, titled(r), "/console/records/" + r.ID + here, r.CreatedAt, stateOf(r), formats[r.Type], kindOf(r.CertificateType), nil}
		if row.Who, err = names(r); err != nil {
			return err
		}
		p.Rows = append(p.Rows, row)
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "records", p)
	return nil
}

// choices are the states and the signers that a list can be narrowed by.
func (d *Pages) choices(v *visit, p *recordsPage) error {
	l := look.Language(v.r)
	p.States = []look.Option{{Value: "", Name: look.T("All", "Tutti").In(l)}}
	for _, s := range ledger.States {
		p.States = append(p.States, look.Option{Value: string(s), Name: recordStates[s].Name.In(l), Selected: string(s) == p.F["state"]})
	}
	p.States = append(p.States, look.Option{Value: statePartly, Name: look.T("Not all signed", "Firmati in parte").In(l), Selected: p.F["state"] == statePartly})
	p.Signers = []look.Option{{Value: "", Name: look.T("Everybody", "Chiunque").In(l)}}
	if d.People != nil {
		p.Signers = append(p.Signers, look.Option{Value: byPeople, Name: look.T("People who were asked", "Persone invitate").In(l), Selected: p.F["signer"] == byPeople})
	}
	if !d.may(v, http.MethodGet, "certificates") {
		return nil
	}
	all, err := d.Enroll.List(v.ctx(), v.accountID(), enroll.Filter{Limit: 200})
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.Certified != nil || c.State == enroll.Done {
			p.Signers = append(p.Signers, look.Option{Value: c.ID, Name: owner(c) + " \u00b7 " + kindNames[c.Kind].In(l), Selected: c.ID == p.F["signer"]})
		}
	}
	return nil
}

// listed is what a page shows, and behind which record the next one begins.
func (d *Pages) listed(ctx context.Context, account string, f ledger.Filter) (all []*ledger.Record, further string, err error) {
	if f.Searches() {
		return d.Signing.Search(ctx, account, f, mostSearched)
	}
	f.Limit++ // is there one more?
	all, err = d.Signing.List(ctx, account, f)
	if len(all) == f.Limit {
		all, further = all[:f.Limit-1], all[f.Limit-2].ID
	}
	return all, further, err
}

// namer says who signed records of the account.
func (d *Pages) namer(v *visit) func(*ledger.Record) ([]who, error) {
	known := map[string]string{}
	return func(r *ledger.Record) (all []who, err error) {
		if r.ByPeople() {
			if err := d.Signing.NamePersons(v.ctx(), r); err != nil {
				return nil, err
			}
			for _, p := range r.Persons {
				if p.Role == ledger.RoleSigner {
					all = append(all, who{p.FullName(), p.State == ledger.PersonSigned})
				}
			}
			return all, nil
		}
		if r.CertificateID == "" {
			return nil, nil
		}
		name, ok := known[r.CertificateID]
		if !ok {
			c, err := d.Enroll.Find(v.ctx(), v.accountID(), r.CertificateID)
			switch {
			case err == nil:
				name = owner(c)
			case !errors.Is(err, fault.NotFound):
				return nil, err
			}
			known[r.CertificateID] = name
		}
		if name == "" {
			return nil, nil
		}
		return []who{{name, r.State == ledger.Done}}, nil
	}
}

// table is the list as CSV, its newest records.
func (d *Pages) table(v *visit) error {
	_, filter, err := d.listOf(v)
	if err != nil {
		return err
	}
	l := look.Language(v.r)
	t := func(english, italian string) string { return look.T(english, italian).In(l) }
	var b strings.Builder
	b.WriteString("\ufeff") // spreadsheets take it for UTF-8 then
	b.WriteString(visible.Row(t("Number", "Numero"), t("Title", "Titolo"), t("State", "Stato"), t("Signed by", "Firmato da"), t("Asked for", "Richiesta il"), t("Last change", "Ultima modifica"),
		t("Format", "Formato"), t("Level", "Livello"), t("Kind", "Tipo"), t("Error", "Errore"), t("Reason", "Motivo")))
	filter.Limit = 500
	names := d.namer(v)
	for rows := 0; rows < mostExported; {
		all, further, err := d.listed(v.ctx(), v.accountID(), filter)
		if err != nil {
			return err
		}
		for _, r := range all {
			signed, err := names(r)
			if err != nil {
				return err
			}
			var by []string
			for _, one := range signed {
				if one.Signed {
					by = append(by, one.Name)
				}
			}
			number, why := "", ""
			if r.ErrorNumber != 0 {
				number, why = strconv.Itoa(int(r.ErrorNumber)), look.Sentence(refusalOf(r)).In(l)
			}
			b.WriteString(visible.Row(r.ID, r.Title, stateOf(r).Name.In(l), strings.Join(by, ", "), d.moment(r.CreatedAt), d.moment(r.UpdatedAt),
				string(r.Type), r.Achieved, kindOf(r.CertificateType).In(l), number, why))
		}
		rows += len(all)
		if filter.After = further; further == "" {
			break
		}
	}
	d.send(v, &api.Content{Type: "text/csv; charset=utf-8", Name: "records.csv", Bytes: []byte(b.String())})
	return nil
}

// moment is a time as spreadsheets read it, in the zone of the pages.
func (d *Pages) moment(at time.Time) string { return at.In(d.location()).Format(time.DateTime) }
