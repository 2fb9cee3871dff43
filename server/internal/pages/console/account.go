package console

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/billing"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/sentence"
)

// accountPage shows tokens, money and usage, each where the token may read it.
type accountPage struct {
	look.Head
	As            string
	Notice        look.Text
	MayTokens     bool
	MayRevoke     bool
	MayMake       bool
	Tokens        []tokenRow
	MayWallet     bool
	Credit        string
	Movements     []walletRow
	Subscriptions []billing.Subscription
	MayUsage      bool
	Month         string
	Usage         []usageRow
	Until         time.Time // end of the session
}

type walletRow struct {
	billing.Transaction
	For look.Text
}

type tokenRow struct {
	account.Token
	Own bool // the one that the session came from
	For look.Text
}

type usageRow struct {
	billing.Count
	Call look.Text
}

// purposeOf is what the scopes of a token are for; none where they are of their own kind.
func purposeOf(scopes []string) look.Text {
	for _, p := range purposes {
		if slices.Equal(slices.Sorted(slices.Values(p.scopes)), slices.Sorted(slices.Values(scopes))) {
			return p.name
		}
	}
	return look.Text{}
}

// callOf is a scope of the usage as people read it: of one server the host says nothing.
func callOf(scope string) look.Text {
	s, err := account.ParseScope(scope)
	switch {
	case err != nil:
		return look.Same(scope)
	case s.Segment == "console":
		return look.T("Pages of this console", "Pagine di questa console")
	}
	return look.Same(s.Method + " /" + s.Segment)
}

// usageOf has a row for each call that reads differently: of two methods of the console, or
// two names of the server, there is one.
func usageOf(all []billing.Count) (rows []usageRow) {
	for _, one := range all {
		call := callOf(one.Name)
		i := slices.IndexFunc(rows, func(r usageRow) bool { return r.Call == call })
		if i < 0 {
			rows = append(rows, usageRow{one, call})
			continue
		}
		rows[i].Name += " " + one.Name
		rows[i].Requests += one.Requests
		rows[i].Errors += one.Errors
		rows[i].Amount += one.Amount
	}
	return rows
}

func (d *Pages) account(v *visit) error {
	p := &accountPage{Head: d.head(v, look.T("Account", "Conto e token")), As: v.accountID(), Until: v.Until}
	p.Notice = notices[v.r.URL.Query().Get("done")]
	p.MayTokens, p.MayWallet, p.MayUsage = d.may(v, http.MethodGet, "tokens"), d.may(v, http.MethodGet, "wallet"), d.may(v, http.MethodGet, "stats")
	p.MayRevoke = d.may(v, http.MethodDelete, "tokens")
	p.MayMake = d.may(v, http.MethodPost, "tokens")
	if !p.MayTokens && !p.MayWallet && !p.MayUsage {
		return d.need(v, http.MethodGet, "tokens")
	}
	if p.MayTokens {
		all, err := d.Accounts.Tokens(v.ctx(), v.accountID(), account.TokenFilter{Limit: 100})
		if err != nil {
			return err
		}
		seats, err := d.seats(v)
		if err != nil {
			return err
		}
		for _, t := range all {
			if seats[t.ID] { // those are people
				continue
			}
			p.Tokens = append(p.Tokens, tokenRow{t, t.ID == v.Caller.TokenID, purposeOf(t.Scopes)})
		}
	}
	if p.MayWallet {
		w, err := d.Billing.Wallet(v.ctx(), v.accountID())
		if err != nil {
			return err
		}
		p.Credit = w.Credit.String()
		movements, err := d.Billing.Transactions(v.ctx(), v.accountID(), "", 0, 20)
		if err != nil {
			return err
		}
		for _, m := range movements {
			p.Movements = append(p.Movements, walletRow{m, movement(m.Description)})
		}
		if d.may(v, http.MethodGet, "subscriptions") {
			if p.Subscriptions, err = d.Billing.Subscriptions(v.ctx(), v.accountID(), "", 0, 20); err != nil {
				return err
			}
		}
	}
	if p.MayUsage {
		p.Month = time.Now().UTC().Format("2006-01")
		all, err := d.Billing.Usage(v.ctx(), v.accountID(), billing.UsageFilter{Period: p.Month, By: billing.ByScope, Limit: 100})
		if err != nil {
			return err
		}
		p.Usage = usageOf(all)
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "account", p)
	return nil
}

// Health is how the server is, for its administrators.
type Health struct {
	At       time.Time // when the findings were made
	Findings []Finding
	Queue    []Depth
	Wrong    map[string]string // what keeps the server from being ready
}

// Finding is the doctor's finding about a part.
type Finding struct {
	Part, State  string // state: ok, warning, bad
	Text, Advice sentence.Sentence
}

// Depth is how many jobs are in a state, and how long the oldest has been due.
type Depth struct {
	State  string
	Jobs   int64
	Oldest time.Duration
}

type healthPage struct {
	look.Head
	*Health
	Worst chip
	// Unready are the parts that keep the server from being ready, with what each says.
	Unready []unready
}

type unready struct {
	Name look.Text
	Why  string
}

var findingStates = map[string]chip{
	"ok":      {"valid", look.T("In order", "In ordine")},
	"warning": {"undetermined", look.T("To look at", "Da controllare")},
	"bad":     {"invalid", look.T("To be mended", "Da riparare")},
}

// Said and Advised are the sentences in the languages of the pages.
func (f Finding) Said() look.Text    { return both(f.Text) }
func (f Finding) Advised() look.Text { return both(f.Advice) }

func both(s sentence.Sentence) look.Text {
	return look.Text{English: s.String(), Italian: s.In(italianFindings)}
}

// Chip is the state in a word.
func (f Finding) Chip() chip { return findingStates[f.State] }

// parts that the doctor examines, and the server by itself.
var parts = map[string]look.Text{
	"TLS": look.T("Certificate of this site (TLS)", "Certificato di questo sito (TLS)"), "identification": look.T("Identification", "Identificazione"),
	"SPID certificate": look.T("Certificate for SPID", "Certificato per SPID"), "SPID further certificate": look.T("Further certificate for SPID", "Altro certificato per SPID"),
	"SPID certificate, AgID notice 29": look.T("Certificate for SPID, as AgID wants it (notice 29)", "Certificato per SPID secondo AgID (avviso 29)"), "SPID metadata": look.T("SPID providers", "Gestori SPID"),
	"cie federation key": look.T("CIE: key of the federation", "CIE: chiave di federazione"), "cie signing key": look.T("CIE: key for signing", "CIE: chiave di firma"), "cie encryption key": look.T("CIE: key for encryption", "CIE: chiave di cifratura"),
	"cie trust anchor": look.T("CIE: trust anchor", "CIE: trust anchor (capofila)"), "cie registration": look.T("CIE: registration of this service", "CIE: registrazione di questo servizio"), "cie trust mark": look.T("CIE: trust mark", "CIE: trust mark (attestato)"),
	"cie providers": look.T("CIE: providers", "CIE: gestori"), "cie provider": look.T("CIE: provider", "CIE: gestore"),
	"cns issuers": look.T("CNS: who issues cards", "CNS: chi emette le carte"), "cns issuer": look.T("CNS: issuer", "CNS: emittente"), "cns revocation": look.T("CNS: lists of revoked cards", "CNS: elenchi delle carte revocate"), "cns listener": look.T("CNS: page that reads cards", "CNS: pagina che legge le carte"),
	"configuration": look.T("Configuration", "Configurazione"), "data folder": look.T("Data folder", "Cartella dei dati"), "disk space": look.T("Disk space", "Spazio su disco"),
	"clock": look.T("Clock", "Orologio"), "master key": look.T("Master key", "Chiave principale"), "database": look.T("Database", "Base di dati"), "blobs": look.T("Stored documents", "Archivio dei documenti"),
	"authority": look.T("Authority", "Autorità di certificazione"), "certificates": look.T("Certificates", "Certificati"), "signing keys": look.T("Signing keys", "Chiavi di firma"),
	"records": look.T("Records", "Pratiche"), "audit": look.T("Audit log", "Registro degli eventi"), "publications": look.T("Quotations", "Quotazioni"), "trusted lists": look.T("Trusted lists", "Elenchi di fiducia"),
	"mail": look.T("Mail", "Posta"), "audit export": look.T("Export of the audit log", "Esportazione del registro"),
}

// Name of the part.
func (f Finding) Name() look.Text {
	return partName(f.Part)
}

// partName is a part as people call it; some have a name or an address behind them.
func partName(part string) look.Text {
	if t, ok := parts[part]; ok {
		return t
	}
	for begin, t := range map[string]look.Text{
		"provider ": look.T("Provider of remote keys %s", "Fornitore di chiavi remote %s"), "SPID metadata ": look.T("SPID providers, %s", "Gestori SPID, %s"), "SPID ": look.T("SPID provider %s", "Gestore SPID %s"),
	} {
		if rest, ok := strings.CutPrefix(part, begin); ok && (begin != "SPID " || !strings.HasPrefix(part, "SPID metadata ")) {
			return t.With(rest)
		}
	}
	return look.Same(part)
}

var jobStates = map[string]look.Text{
	"available": look.T("Due", "Da eseguire"), "running": look.T("Running", "In esecuzione"), "retryable": look.T("To be tried again", "Da ritentare"),
	"scheduled": look.T("For later", "Per dopo"), "discarded": look.T("Given up", "Abbandonati"),
}

// Name of the state.
func (d Depth) Name() look.Text {
	if t, ok := jobStates[d.State]; ok {
		return t
	}
	return look.Same(d.State)
}

// Seconds since the oldest was due.
func (d Depth) Seconds() int64 { return int64(d.Oldest / time.Second) }

func (d *Pages) health(v *visit) error {
	if !v.Caller.Admin {
		return fault.New(fault.AdminOnly, "this page is for administrators only")
	}
	if err := d.need(v, http.MethodGet, healthSegment); err != nil {
		return err
	}
	h, err := d.Health(v.ctx())
	if err != nil {
		return err
	}
	p := &healthPage{Head: d.head(v, look.T("Health of the server", "Stato del server")), Health: h, Worst: findingStates["ok"]}
	for _, part := range slices.Sorted(maps.Keys(h.Wrong)) {
		p.Unready, p.Worst = append(p.Unready, unready{partName(part), h.Wrong[part]}), findingStates["bad"]
	}
	for _, f := range h.Findings {
		if f.State == "bad" || f.State == "warning" && p.Worst.Class == "valid" {
			p.Worst = f.Chip()
		}
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "health", p)
	return nil
}
