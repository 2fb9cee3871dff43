package enrol

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/pages/look"
)

// linkPath is the order's page as its own pages link to it.
func linkPath(c *enroll.Certificate) string {
	if i := strings.Index(c.Link, "/enrol/"); i >= 0 {
		return c.Link[i:]
	}
	return ""
}

// begin sends the person to a provider.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request, c *enroll.Certificate) {
	method, query := r.PathValue("method"), r.URL.Query()
	provider := query.Get("idp")
	if method == "cie" {
		provider = query.Get("provider")
	}
	d, err := p.enroll.Begin(r.Context(), c, method, provider, p.newBrowser(w, r))
	if err != nil {
		p.turnedDown(w, r, &enroll.Refused{Certificate: c, Err: err})
		return
	}
	if d.Form == nil {
		http.Redirect(w, r, d.URL, http.StatusFound)
		return
	}
	look.Depart(w, d.URL)
	v := p.blank(r)
	v.Scripts = []string{"depart.js"}
	v.Step, v.Departure = "depart", d
	p.render(w, r, http.StatusOK, v)
}

// toProvider sends the holder to the provider of the key.
func (p *Pages) toProvider(w http.ResponseWriter, r *http.Request, c *enroll.Certificate) {
	address, err := p.enroll.DepartToProvider(r.Context(), c, p.newBrowser(w, r))
	if err != nil {
		p.turnedDown(w, r, &enroll.Refused{Certificate: c, Err: err})
		return
	}
	http.Redirect(w, r, address, http.StatusFound)
}

// maxAnswer bounds what a provider sends: an assertion with its signature and
// certificates.
const maxAnswer = 1 << 20

// answer takes what a provider sends through the person's browser. Whatever is
// wrong with it is said here; what is right counts in the browser that began,
// which the next hop finds out.
func (p *Pages) answer(method string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		values := r.URL.Query()
		if r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, maxAnswer)
			if err := r.ParseForm(); err != nil {
				v := p.blank(r)
				v.Problem = tooLarge
				p.render(w, r, http.StatusBadRequest, v)
				return
			}
			values = r.PostForm
		}
		address, token, err := p.enroll.Answer(r.Context(), method, values)
		if err != nil {
			p.turnedDown(w, r, err)
			return
		}
		http.Redirect(w, r, address+"/answer?token="+token, http.StatusSeeOther)
	}
}

// goBack is where the browser comes back to after an answer. Cookies of ours
// come with it, which the answer from another site had not.
func (p *Pages) goBack(w http.ResponseWriter, r *http.Request) {
	c, err := p.enroll.Return(r.Context(), r.PathValue("id"), r.URL.Query().Get("token"), p.shown(r), p.newBrowser(w, r))
	if err != nil {
		p.turnedDown(w, r, err)
		return
	}
	http.Redirect(w, r, linkPath(c), http.StatusSeeOther)
}

// Cards is how this server sees a card: at the listener that asks for one.
type Cards struct {
	// URL is where that listener is; {URL}/cns/{order}/{secret}.
	URL string
	// Shown returns the certificate (DER) that a browser proved to have the key
	// of, and what came with it; nothing where it showed none.
	Shown func(*http.Request) [][]byte
}

// Link is where the card of an order is asked for.
func (k *Cards) Link(c *enroll.Certificate) string {
	return k.URL + "/cns" + strings.TrimPrefix(linkPath(c), "/enrol")
}

// Card serves the address that asks for a card. It is on a listener of its own, so that no other
// page asks for a client certificate.
func (p *Pages) Card(w http.ResponseWriter, r *http.Request) {
	look.Headers(w)
	r = r.WithContext(enroll.WithActor(r.Context(), "holder"))
	p.Show(w, r, p.Cards.Shown(r))
}

// Show identifies by the certificates of a card. The browser is then sent back
// with a token that is good once: the one that showed the card is the one that is
// identified.
func (p *Pages) Show(w http.ResponseWriter, r *http.Request, card [][]byte) {
	c, err := p.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	if errors.Is(err, fault.NotFound) && p.OtherCard != nil && p.OtherCard(w, r, card) {
		return
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	if len(card) == 0 { // no try
		p.turnedDown(w, r, &enroll.Refused{Certificate: c, Err: NoCard()})
		return
	}
	d, err := p.enroll.Begin(r.Context(), c, "cns", "", "")
	if err != nil {
		p.turnedDown(w, r, &enroll.Refused{Certificate: c, Err: err})
		return
	}
	values := url.Values{"request": {d.Request}}
	for _, der := range card {
		values.Add("certificate", string(der))
	}
	address, token, err := p.enroll.Answer(r.Context(), "cns", values)
	if err != nil {
		p.turnedDown(w, r, err)
		return
	}
	http.Redirect(w, r, p.public+address+"/answer?token="+token, http.StatusSeeOther)
}

// NoCard is the refusal of who showed none.
func NoCard() error {
	return fault.New(fault.IdentityRefused, "%s", noCard.English).Because(noCard)
}

var noCard = &identify.Refusal{
	Reason: "no card", English: "Your browser showed no card. Insert it, close the browser if it has asked for a certificate before, and try again.",
	Italian: "Il browser non ha mostrato nessuna carta. Inseriscila, chiudi il browser se ti ha già chiesto un certificato, e riprova.",
}

// turnedDown shows why an identification did not succeed, and a way on.
func (p *Pages) turnedDown(w http.ResponseWriter, r *http.Request, err error) {
	if p.OtherRefusal != nil && p.OtherRefusal(w, r, err) {
		return
	}
	v := p.blank(r)
	var known *enroll.Refused
	if errors.As(err, &known) && known.Certificate != nil {
		v.Back, v.Ended = known.Certificate.Link, known.Ended
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		p.log.ErrorContext(r.Context(), "identification", "error", err)
		f = fault.New(fault.Unavailable, "the identification cannot be completed now: try again in a moment")
	}
	v.Problem, v.Code = sentence(f), int(f.Code)
	p.render(w, r, f.HTTP(), v)
}

// sentence says a fault in both languages.
func sentence(f *fault.Error) look.Text {
	var refusal *identify.Refusal
	var d *identify.Difference
	switch {
	case errors.As(f, &refusal):
		return look.Text{English: refusal.English, Italian: refusal.Italian}
	case errors.As(f, &d):
		name, ok := attributes[d.Attribute]
		if !ok {
			name = holder
		}
		text := differs
		if d.Missing {
			text = notProven
		}
		return look.Text{English: text.With(name.English).English, Italian: text.With(name.Italian).Italian}
	}
	return look.Sentence(f)
}
