package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/mail"
	"net/url"
	"strings"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

// orderPage is the form that orders a certificate.
type orderPage struct {
	look.Head
	As, Key string
	F       values
	Kinds   []look.Option
	Methods []look.Option
	Price   string // of one, in euros
	VAT     int    // percent that are added
}

var orderFields = []string{
	"kind", "certificateOwner", "givenName", "surname", "fiscalCode", "email", "mobile", "organization", "organizationIdentifier", "identification", "customReference",
}

// methodNames are the ways to be identified, as a buyer reads them.
var methodNames = map[string]look.Text{
	"video":     look.T("Video and document", "Video e documento"),
	"spid":      look.T("SPID, the Italian digital identity", "Identità digitale SPID"),
	"cie":       look.T("CIE, the Italian identity card", "Carta d'identità elettronica (CIE)"),
	"cns":       look.T("CNS or health card, with a reader", "CNS o tessera sanitaria, con lettore"),
	"signature": look.T("A qualified signature that the holder has", "Una firma qualificata che il titolare ha già"),
}

func (d *Pages) showOrder(v *visit) error { return d.renderOrder(v, values{}, nil) }

func (d *Pages) renderOrder(v *visit, f values, refused error) error {
	p := &orderPage{Head: d.head(v, look.T("New certificate", "Nuovo certificato")), As: v.accountID(), Key: rand.Text(), F: f}
	prices := d.Billing.Prices()
	p.Price, p.VAT = prices.Certificate.String(), prices.VAT
	for _, name := range orderFields {
		f[name] += "" // templates want all of them
	}
	status, l := http.StatusOK, look.Language(v.r)
	for _, k := range []keys.Kind{keys.OTP, keys.Automatic, keys.ESeal} {
		p.Kinds = append(p.Kinds, look.Option{Value: string(k), Name: kindNames[k].In(l), Selected: string(k) == f["kind"]})
	}
	p.Methods = []look.Option{{Value: "", Name: look.T("The holder chooses", "Sceglie il titolare").In(l)}}
	for _, m := range d.Enroll.Identifications() {
		name := m
		if t, ok := methodNames[m]; ok {
			name = t.In(l)
		}
		p.Methods = append(p.Methods, look.Option{Value: m, Name: name, Selected: m == f["identification"]})
	}
	if refused != nil {
		var no *fault.Error
		if !errors.As(refused, &no) || no.Code == fault.ScopeLacking {
			return refused
		}
		p.Alert, p.Code, status = refusalText(no), int(no.Code), no.HTTP()
	}
	d.pages.Render(v.w, v.r, status, "order", p)
	return nil
}

// order handles the form. It is carried out once, however often it is sent.
func (d *Pages) order(v *visit, posted url.Values) error {
	f, sum := values{}, sha256.New()
	for _, name := range orderFields {
		f[name] = strings.TrimSpace(clip(posted.Get(name), 300))
		fmt.Fprintf(sum, "%q %q\n", name, f[name])
	}
	if f["certificateOwner"] == "" {
		f["certificateOwner"] = strings.TrimSpace(f["givenName"] + " " + f["surname"])
		if f["kind"] == string(keys.ESeal) {
			f["certificateOwner"] = f["organization"]
		}
	}
	id, err := d.buy(v, clip(posted.Get("key"), 64), sum.Sum(nil), enroll.Order{
		Provider: "provider", Kind: keys.Kind(f["kind"]), Owner: f["certificateOwner"], Reference: f["customReference"], Identification: f["identification"],
		Subject: enroll.Subject{
			GivenName: f["givenName"], Surname: f["surname"], FiscalCode: f["fiscalCode"], Organization: f["organization"], OrganizationIdentifier: f["organizationIdentifier"],
			Email: f["email"], Mobile: f["mobile"],
		},
	})
	if err != nil {
		return d.renderOrder(v, f, err)
	}
	seeOther(v.w, v.r, "/console/certificates/"+id+"/link")
	return nil
}

// buy orders under the key of a form, once.
func (d *Pages) buy(v *visit, key string, digest []byte, o enroll.Order) (string, error) {
	if key != "" {
		key = "console " + key
	}
	ctx := context.WithoutCancel(v.ctx())
	for {
		claim, known, err := d.Idempotency.Begin(ctx, v.accountID(), key, digest)
		if err != nil {
			return "", err
		}
		if known != nil {
			return known.RecordID, nil
		}
		c, err := d.Enroll.Buy(idempotency.WithClaim(ctx, claim), v.accountID(), o)
		claim.End()
		switch {
		case errors.Is(err, idempotency.ErrReplay):
			continue
		case err != nil:
			return "", err
		}
		return c.ID, nil
	}
}

// linkPage hands the link of an order on: to be copied, sent or scanned.
type linkPage struct {
	look.Head
	As       string
	ID       string
	Owner    string
	Kind     look.Text
	Link     string
	QR       template.URL
	MaySend  bool
	To       string
	Language []look.Option
	Notice   look.Text
	Letters  []letter // that a sandbox did not send
}

// ordered is an order of the account whose link may still be handed on.
func (d *Pages) ordered(v *visit) (*enroll.Certificate, error) {
	if err := d.need(v, http.MethodGet, "certificates"); err != nil {
		return nil, err
	}
	c, err := d.Enroll.Find(v.ctx(), v.accountID(), v.r.PathValue("id"))
	if err == nil && c.BuyersLink() == "" {
		err = look.Refusal(fault.WrongState, look.T("This order has no link to hand on: its holder has been identified, or it has ended.", "Questo ordine non ha un link da inviare: il titolare è già stato identificato, o l'ordine è finito."))
	}
	return c, err
}

func (d *Pages) showLink(v *visit) error {
	c, err := d.ordered(v)
	if err != nil {
		return err
	}
	return d.renderLink(v, c, c.Subject.Email, nil)
}

func (d *Pages) renderLink(v *visit, c *enroll.Certificate, to string, refused error) error {
	p := &linkPage{
		Head: d.head(v, look.T("Link for the holder", "Link per il titolare")), As: v.accountID(), ID: c.ID, Owner: owner(c), Kind: kindNames[c.Kind], Link: c.BuyersLink(), QR: look.Code(c.BuyersLink()),
		MaySend: d.mayMail(v), To: to, Notice: notices[v.r.URL.Query().Get("done")],
	}
	p.Scripts = append(p.Scripts, "copy.js")
	status, l := http.StatusOK, look.Language(v.r)
	p.Language = withChosen(string(l), []look.Option{{Value: "it", Name: "Italiano"}, {Value: "en", Name: "English"}})
	if d.Outbox != "" && p.MaySend {
		p.Letters = letters(d.Outbox, c.ID)
	}
	if refused != nil {
		var no *fault.Error
		if !errors.As(refused, &no) {
			return refused
		}
		p.Alert, p.Code, status = refusalText(no), int(no.Code), no.HTTP()
	}
	d.pages.Render(v.w, v.r, status, "link", p)
	return nil
}

func (d *Pages) mayMail(v *visit) bool {
	return d.People != nil && d.People.Messenger.Offers(ledger.ByEmail) && d.may(v, http.MethodPost, "certificates")
}

// sendLink mails the link of an order.
func (d *Pages) sendLink(v *visit, f url.Values) error {
	c, err := d.ordered(v)
	if err != nil {
		return err
	}
	to := strings.TrimSpace(clip(f.Get("to"), 254))
	if at, err := mail.ParseAddress(to); err != nil || at.Address != to {
		return d.renderLink(v, c, to, look.Refusal(fault.BadField, look.T("This is no e-mail address.", "Questo non è un indirizzo e-mail.")))
	}
	if !d.mayMail(v) {
		return look.Refusal(fault.WrongState, look.T("This server sends no mail.", "Questo server non invia e-mail."))
	}
	l := look.Preferred(f.Get("language"))
	from := d.Site.Operator.Name
	if from == "" {
		from = v.Email
	}
	err = d.People.Messenger.Send(v.ctx(), people.Message{
		ID: strings.ToLower(rand.Text()), Channel: ledger.ByEmail, To: to, Name: owner(c), Account: v.accountID(), Record: c.ID, Language: string(l),
		Subject: look.T("Your certificate: one step is left", "Il tuo certificato: manca un passo").In(l),
		Text: look.T("%s has ordered a certificate for electronic signatures for %s.\n\nOpen this page to be identified, and to see the credentials:\n%s\n\nThe link is yours alone: do not pass it on.\n",
			"%s ha ordinato un certificato di firma elettronica per %s.\n\nApri questa pagina per farti identificare e vedere le credenziali:\n%s\n\nIl link è solo tuo: non inoltrarlo.\n").With(from, owner(c), c.BuyersLink()).In(l),
	})
	if err != nil {
		return d.renderLink(v, c, to, look.Refusal(fault.Unavailable, look.T("The mail could not be handed over. Try again, or copy the link.", "La e-mail non è partita. Riprova, o copia il link.")))
	}
	return d.done(v, "/console/certificates/"+c.ID+"/link", "mailed")
}
