package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/account"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/money"
	"rogito.dev/rogito/server/internal/pages/look"
)

// tokenPage makes a token, and shows it once.
type tokenPage struct {
	look.Head
	As      string
	F       map[string]string
	Scopes  []look.Option
	Lives   []look.Option
	Short   bool           // it would end with the session
	Made    *account.Token // nil: not yet
	Problem map[string]string
}

// purposes are what tokens are for, with their scopes.
var purposes = []struct {
	word   string
	name   look.Text
	scopes []string
}{
	{"sign", look.T("Sign, and read what was signed", "Firmare e leggere le pratiche"), []string{"POST:*/EU-QES_automatic", "POST:*/EU-QES_otp", "POST:*/EU-QES_eseal", "GET:*/signatures", "GET:*/certificates"}},
	{"ask", look.T("Ask people to sign", "Chiedere firme ad altri"), []string{"POST:*/EU-SES", "POST:*/EU-AES", "POST:*/signatures", "GET:*/signatures", "DELETE:*/signatures", "GET:*/templates"}},
	{"verify", look.T("Verify documents", "Verificare documenti"), []string{"POST:*/verify"}},
	{"quote", look.T("Read quotations (OMI)", "Leggere le quotazioni OMI"), []string{"GET:*/IT-omi", "POST:*/IT-omi"}},
	{"read", look.T("Read everything, change nothing", "Leggere tutto, senza modificare"), []string{"GET:*/*"}},
	{"all", look.T("Everything", "Tutto"), []string{account.AllScopes}},
	{"own", look.T("The scopes that I name below", "I permessi che indico sotto"), nil},
}

var lives = []struct {
	days int
	name look.Text
}{{30, look.T("30 days", "30 giorni")}, {90, look.T("90 days", "90 giorni")}, {365, look.T("One year", "Un anno")}}

func (d *Pages) tokenPage(v *visit, f map[string]string) *tokenPage {
	l := look.Language(v.r)
	p := &tokenPage{Head: d.head(v, look.T("New token", "Nuovo token")), As: v.accountID(), F: map[string]string{}, Short: v.Own, Problem: map[string]string{"amount": "", "requests": ""}}
	for _, name := range []string{"name", "scopes", "requests", "amount", "addresses"} {
		p.F[name] = clip(f[name], 4000)
	}
	for _, o := range purposes {
		p.Scopes = append(p.Scopes, look.Option{Value: o.word, Name: o.name.In(l), Selected: o.word == f["scope"]})
	}
	for _, o := range lives {
		p.Lives = append(p.Lives, look.Option{Value: strconv.Itoa(o.days), Name: o.name.In(l), Selected: strconv.Itoa(o.days) == f["days"]})
	}
	return p
}

func (d *Pages) newToken(v *visit) error {
	d.pages.Render(v.w, v.r, http.StatusOK, "token-new", d.tokenPage(v, map[string]string{"scope": "sign", "days": "90"}))
	return nil
}

// asked reads what token is asked for.
func askedToken(f map[string]string) (n account.NewToken, problem string) {
	n.Name = strings.TrimSpace(f["name"])
	for _, o := range purposes {
		if o.word == f["scope"] {
			n.Scopes = o.scopes
		}
	}
	if f["scope"] == "own" {
		n.Scopes = strings.Fields(strings.ReplaceAll(f["scopes"], ",", " "))
	}
	days, err := strconv.Atoi(f["days"])
	if err != nil || days < 1 || days > 365 {
		days = 90
	}
	n.Life = time.Duration(days) * 24 * time.Hour
	n.Limits.Addresses = strings.Fields(strings.ReplaceAll(f["addresses"], ",", " "))
	if text := strings.TrimSpace(f["requests"]); text != "" {
		most, err := strconv.ParseInt(text, 10, 64)
		if err != nil || most < 0 {
			return n, "requests"
		}
		n.Limits.TotalRequests = &most
	}
	if text := strings.Replace(strings.TrimSpace(f["amount"]), ",", ".", 1); text != "" {
		most, err := money.ParseEuro(text)
		if err != nil || most < 0 {
			return n, "amount"
		}
		n.Limits.WalletAmount = &most
	}
	return n, ""
}

func (d *Pages) makeToken(v *visit, sent url.Values) error {
	f := map[string]string{}
	for name := range sent {
		f[name] = sent.Get(name)
	}
	p := d.tokenPage(v, f)
	n, problem := askedToken(f)
	var err error
	if problem == "" {
		p.Made, err = d.Accounts.MakeToken(v.ctx(), v.Caller, v.r.Host, n)
	}
	var no *fault.Error
	switch {
	case problem != "":
		p.Problem[problem] = look.T("Enter a number, or nothing.", "Inserisci un numero, o niente.").In(look.Language(v.r))
		d.pages.Render(v.w, v.r, http.StatusUnprocessableEntity, "token-new", p)
	case errors.As(err, &no) && no.HTTP() < http.StatusInternalServerError:
		p.Alert, p.Code = asSentence(look.Sentence(err)), int(no.Code)
		d.pages.Render(v.w, v.r, no.HTTP(), "token-new", p)
	case err != nil:
		return err
	default:
		p.Title = look.T("Your new token", "Il tuo nuovo token")
		d.pages.Render(v.w, v.r, http.StatusOK, "token-made", p)
	}
	return nil
}

// seats are the tokens that people act by.
func (d *Pages) seats(v *visit) (map[string]bool, error) {
	all, err := d.Members.List(v.ctx(), v.accountID())
	out := map[string]bool{}
	for _, m := range all {
		out[m.Seat] = true
	}
	return out, err
}
