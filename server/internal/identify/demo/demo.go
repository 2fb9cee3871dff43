// Package demo has made-up identity providers for SPID, CIE and CNS, with which
// a sandbox can be tried without an agreement with anybody. Anyone who reaches them
// can be anybody: the server starts them for identify.demo alone, and in a sandbox
// alone.
package demo

import (
	"net/http"
	"time"

	"rogito.dev/rogito/server/internal/identify/cie"
	ciedemo "rogito.dev/rogito/server/internal/identify/cie/demo"
	"rogito.dev/rogito/server/internal/identify/cns"
	cnsdemo "rogito.dev/rogito/server/internal/identify/cns/demo"
	"rogito.dev/rogito/server/internal/identify/spid"
	spiddemo "rogito.dev/rogito/server/internal/identify/spid/demo"
)

// Methods are the settings of the methods; those of a method that is not
// configured are filled in by [New].
type Methods struct {
	SPID *spid.Config
	CIE  *cie.Config
	CNS  *cns.Config
	// Metadata of this server as a service provider of SPID.
	Metadata func() []byte
}

// Providers are made-up identity providers, served below /demo/.
type Providers struct {
	http.Handler
	cie   bool
	cards *cnsdemo.Demo
}

// New makes providers for the methods that are not configured, and configures
// those with them. The address is that of this server; keys are put into dir.
func New(m Methods, address, dir string) (*Providers, error) {
	mux := http.NewServeMux()
	p := &Providers{Handler: mux}
	if m.SPID.EntityID == "" {
		idp, err := spiddemo.New(address+"/demo/spid", m.Metadata)
		if err != nil {
			return nil, err
		}
		if *m.SPID, err = spiddemo.Config(dir, address); err != nil {
			return nil, err
		}
		mux.Handle("/demo/spid/", idp)
	}
	if m.CIE.ClientID == "" {
		one, err := ciedemo.New(address+"/demo/cie", time.Now)
		if err != nil {
			return nil, err
		}
		if *m.CIE, err = one.Settings(dir, address); err != nil {
			return nil, err
		}
		p.cie = true
		mux.Handle("/demo/cie/", http.StripPrefix("/demo/cie", one.Handler()))
	}
	if m.CNS.Listen == "" && m.CNS.Header == "" {
		var err error
		if p.cards, err = cnsdemo.New(address + "/demo/cns"); err != nil {
			return nil, err
		}
		mux.Handle("/demo/cns/", p.cards.Handler())
	}
	return p, nil
}

// CIE says that there is a provider of CIE.
func (p *Providers) CIE() bool { return p != nil && p.cie }

// CardIssuer is the certificate of the issuer of the made-up cards; nil if there is none.
func (p *Providers) CardIssuer() []byte {
	if p == nil || p.cards == nil {
		return nil
	}
	return p.cards.Certificate.Raw
}

// ShowCards connects the made-up card reader: applicant says whom an order is
// for, and show goes on with the card that was picked.
func (p *Providers) ShowCards(applicant func(*http.Request) (givenName, surname, fiscalCode string), show func(http.ResponseWriter, *http.Request, [][]byte)) {
	p.cards.Show = show
	p.cards.Applicant = func(r *http.Request) (c cnsdemo.Card) {
		c.GivenName, c.Surname, c.Code = applicant(r)
		return c
	}
}
