package enrol

import (
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
)

// view is what a page shows. It is one step of a journey:
//
//	start → choose → spid, cie, cns, video, signature → confirm → reveal → shown
//
// The address of the order shows its state; those below it are the steps that
// the holder chooses, and lead back there once the order is past them.
type view struct {
	look.Head
	Step        string
	Place       int    // of the step in the journey; 0: it is no part of it
	Page        string // path of the order
	Again       bool   // the holder is identified a second time
	Device      bool   // for a new one-time-password device
	Ways        []way
	Only        *way        // the one way there is
	Providers   []look.Link // of the method that the page is about
	Shortcuts   []look.Link // sandbox: straight to made-up providers
	Departure   *identify.Departure
	Back        string   // the page of the order
	Ended       bool     // it was cancelled
	Provider    string   // of a remote key
	Choices     []string // credentials there
	Delegates   bool     // another person may use the key
	SendCode    string   // where a one-time password is asked for; empty: nowhere
	Sent        bool     // one was
	Owner       string
	Buyer       string // who ordered
	Kind, Use   look.Text
	Seal        bool
	Attributes  []row
	Digest      string // of what is to be confirmed
	Mail        string // where the decision is mailed to
	KeepYears   int    // that evidence is kept
	Spoken      look.Text
	VideoCode   string
	Phone       template.URL // QR code of the address of the page
	Credentials *enroll.Credentials
	OTPAuth     template.URL
	QR          template.URL
	Kept        string    // the credentials, sealed, while their page is open
	Tried       string    // "right", "wrong": the code that was tried
	ShownAt     time.Time // when the credentials were shown before, and to which address
	ShownText   string
	ShownTo     string
	OtherName   string // that the certificate bears, where the order's label is not it
	// Device that replaced another: when, by which factor, from which address.
	DeviceAt   time.Time
	DeviceBy   look.Text
	DeviceFrom string
	Reason     look.Text // why an order was refused
	Problem    look.Text
}

// row is an attribute that was ordered, or that identification filled in.
type row struct {
	Name   look.Text
	Value  string
	Filled bool
}

func (p *Pages) blank(r *http.Request) *view {
	return &view{Head: look.Head{Lang: look.Language(r), Private: true}, Step: "problem"}
}

// viewOf is the page of an order: its state, or of the steps that the holder
// chooses the one at an address.
func (p *Pages) viewOf(r *http.Request, c *enroll.Certificate, browser enroll.Browsers, at string) *view {
	v := p.blank(r)
	v.Page = linkPath(c)
	v.Owner, v.Seal, v.KeepYears = c.Owner, c.Kind == keys.ESeal, p.KeepYears
	v.Kind, v.Use = kinds[c.Kind].Name, kinds[c.Kind].Use
	if name, differs := c.LabelDiffers(); differs {
		v.OtherName = name
	}
	if p.Tells {
		v.Mail = c.Subject.Email
	}
	v.Device = c.EnrolsDevice()
	v.Step = "end"
	if c.State == enroll.Working {
		v.Step = "work"
	}
	if !v.Device {
		v.ShownAt, v.ShownText, v.ShownTo = c.ShownAt, v.Lang.Date(c.ShownAt, p.site.Zone), c.ShownTo
	}
	if e, err := p.enroll.Enrolled(r.Context(), c); err == nil && e != nil {
		v.DeviceAt, v.DeviceBy, v.DeviceFrom = e.At, factors[e.Factor], e.Address
	}
	if p.enroll.SendsCodes(c) {
		v.SendCode = v.Page + "/send-otp"
	}
	if step, choices := p.enroll.RemoteStep(c, browser); step != "" {
		v.Step, v.Choices, v.Provider = step, choices, c.Provider
		v.Delegates = step == "account" && p.enroll.Delegates(c)
		return v
	}
	if c.Remote() && c.HasUnseen() && c.Identified(browser) {
		v.Step = "reveal"
		return v
	}
	if !c.Identifies() {
		return v
	}
	v.Again = c.State == enroll.Done
	switch waits, err := p.enroll.Pending(r.Context(), c); {
	case c.Unconfirmed() && c.Identified(browser):
		v.confirms(c)
	case c.Identified(browser):
		if v.Step = "reveal"; v.Device {
			v.Step = "device"
		}
	case err == nil && waits:
		v.Step = "wait"
		p.offers(r, v, c)
	default:
		p.chooses(r, v, c, at)
	}
	return v
}

// offers lists the ways that an order allows.
func (p *Pages) offers(r *http.Request, v *view, c *enroll.Certificate) {
	allowed := p.enroll.Methods(c)
	for _, w := range ways {
		if !slices.Contains(allowed, w.Method) {
			continue
		}
		w.Address, w.First = v.Page+"/"+w.Method, len(v.Ways) == 0
		v.Ways = append(v.Ways, w)
		if p.sandbox {
			for _, one := range p.providers(r, c, w.Method) {
				method := strings.ToUpper(w.Method) + ": "
				one.Name = look.Text{English: method + one.Name.English, Italian: method + one.Name.Italian}
				v.Shortcuts = append(v.Shortcuts, one)
			}
		}
	}
	if len(v.Ways) == 1 {
		v.Only = &v.Ways[0]
	}
}

// chooses is a step before the holder is identified.
func (p *Pages) chooses(r *http.Request, v *view, c *enroll.Certificate, at string) {
	p.offers(r, v, c)
	c.Ordered().Each(func(name, value string) {
		v.Attributes = append(v.Attributes, row{Name: attributes[name], Value: value})
	})
	v.Step = "start"
	if v.Device {
		v.Step = "renew"
	}
	if p.Buyer != nil {
		v.Buyer = p.Buyer(r.Context(), c.AccountID)
	}
	if at != "choose" && !slices.ContainsFunc(v.Ways, func(w way) bool { return w.Method == at }) {
		return
	}
	v.Step, v.Providers = at, p.providers(r, c, at)
	if at == "video" {
		v.Scripts = append(v.Scripts, "record.js")
		v.VideoCode = c.VideoCode()
		v.Spoken = spoken(c, v.VideoCode, p.site.Zone)
		v.Phone = look.Code(p.public + v.Page + "/video")
	}
}

// spoken is what the holder reads aloud.
func spoken(c *enroll.Certificate, code string, zone *time.Location) look.Text {
	if zone == nil {
		zone = time.UTC
	}
	name := c.Owner
	if o := c.Ordered(); o.GivenName != "" || o.Surname != "" {
		name = strings.TrimSpace(o.GivenName + " " + o.Surname)
	}
	today := time.Now().In(zone).Format("02/01/2006")
	return look.T("I am %s. Today is %s. I ask for a certificate for electronic signatures. My code is %s.",
		"Sono %s. Oggi è il %s. Chiedo un certificato per firme elettroniche. Il mio codice è %s.").With(name, today, code)
}

// confirms lays out what the holder is asked to confirm.
func (v *view) confirms(c *enroll.Certificate) {
	v.Step, v.Digest, v.Attributes = "confirm", c.Shown(), nil
	c.Certified.Seen().Each(func(name, value string) {
		v.Attributes = append(v.Attributes, row{attributes[name], value, slices.Contains(c.Certified.Filled, name)})
	})
}

// providers are those that a method can ask now, each with the address that leads
// there.
func (p *Pages) providers(r *http.Request, c *enroll.Certificate, method string) (all []look.Link) {
	if method == "cns" {
		return []look.Link{{Path: p.Cards.Link(c), Name: look.T("Show the card", "Mostra la carta")}}
	}
	parameter := map[string]string{"spid": "idp", "cie": "provider"}[method]
	for _, one := range p.enroll.Providers(r.Context(), method) {
		all = append(all, look.Link{Path: linkPath(c) + "/" + method + "?" + parameter + "=" + url.QueryEscape(one.ID), Name: look.Same(one.Name)})
	}
	return all
}
