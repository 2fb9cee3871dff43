// Package check serves the pages that anyone may open: "/", which links to the other pages, and
// "/check", where one drops signed files and reads the verdicts. What is dropped is verified as
// POST /verify does it, and nothing of it is kept: the page with the verdicts carries the reports
// that may be downloaded.
package check

import (
	"context"
	"embed"
	"errors"
	"net/http"
	"time"

	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/api/verification"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

//go:embed page
var files embed.FS

// Pages are the two pages.
type Pages struct {
	Site *look.Site
	// Public: anybody may verify; else only who is signed in.
	Public   bool
	SignedIn func(*http.Request) bool // nil: never
	// PerMinute documents of one address are verified; 0: no limit.
	PerMinute int
	// MaxDocument is how large one may be, for the words on the page.
	MaxDocument int64

	set    *look.Set
	verify http.HandlerFunc
	pdf    func(context.Context, *report.Report, string, paper.Lang) ([]byte, error)
	limit  api.PerMinute
}

// Mount puts the pages in their place.
func (p *Pages) Mount(a *api.API, v *verification.Verify) {
	p.set = p.Site.Set(files)
	p.pdf = v.PDF
	p.verify = v.Form(a, look.Language, func(w http.ResponseWriter, r *http.Request) verification.Page {
		return &answer{p: p, w: w, r: r, form: p.blank(), left: maxCarried, reports: maxCarried}
	})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /check", p.form)
	mux.HandleFunc("POST /check", p.check)
	mux.HandleFunc("/", p.Site.NotFound)
	h := p.Site.Protect(mux)
	for _, pattern := range []string{"/check", "/check/*"} {
		a.Mount(pattern, h, http.MethodGet, http.MethodHead, http.MethodPost)
	}
	a.Mount("/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !look.IsBrowser(r) { // it stays what it is for programs
			a.NotFound(w, r)
			return
		}
		p.start(w, r)
	}))
	a.Mount("/favicon.ico", http.RedirectHandler("/pages/icon.svg", http.StatusFound))
}

// start is the page at "/".
type start struct {
	look.Head
	Public bool
}

func (p *Pages) start(w http.ResponseWriter, r *http.Request) {
	p.set.Render(w, r, http.StatusOK, "start", &start{Head: look.Head{Title: look.T("Signatures and quotations", "Firme e quotazioni")}, Public: p.Public})
}

// form is the page at "/check", empty or with verdicts.
type form struct {
	look.Head
	Results []*result
	All     *overview // of several
	Max     int64
	Open    bool // the further options are unfolded
}

// One is the verdict of a page that has one.
func (f *form) One() *result {
	if f.All == nil && len(f.Results) == 1 {
		return f.Results[0]
	}
	return nil
}

func (p *Pages) blank() *form {
	return &form{Head: look.Head{Title: look.T("Check a signature", "Verifica una firma"), Section: "/check", Scripts: []string{"check.js"}, Styles: []string{"check.css"}}, Max: p.MaxDocument}
}

// allowed says whether the caller may verify here, and refuses.
func (p *Pages) allowed(w http.ResponseWriter, r *http.Request) bool {
	if p.Public || p.SignedIn != nil && p.SignedIn(r) {
		return true
	}
	f := look.Refusal(fault.CheckClosed, look.T("On this server only those who are signed in may check documents. Log in, or ask whoever runs it to open this page (console.public_check).", "Su questo server può verificare documenti solo chi ha effettuato l'accesso. Accedi, o chiedi a chi lo gestisce di aprire questa pagina (console.public_check)."))
	p.Site.FailTo(w, r, f, look.Link{Path: "/console/login", Name: look.T("Log in", "Accedi")})
	return false
}

func (p *Pages) form(w http.ResponseWriter, r *http.Request) {
	if p.allowed(w, r) {
		p.set.Render(w, r, http.StatusOK, "check", p.blank())
	}
}

func (p *Pages) check(w http.ResponseWriter, r *http.Request) {
	if !p.allowed(w, r) {
		return
	}
	if err := p.allow(r); err != nil {
		p.Site.FailTo(w, r, err, look.Link{Path: "/check", Name: look.T("Back to the form", "Torna al modulo")})
		return
	}
	p.verify(w, r)
}

// allow counts a document of an address, and refuses if the address had its share.
func (p *Pages) allow(r *http.Request) error {
	wait := p.limit.Take(r.RemoteAddr, p.PerMinute, time.Now())
	if wait == 0 {
		return nil
	}
	f := look.Refusal(fault.LimitReached, look.T("Too many documents were checked from your address in the last minute. Wait a moment and try again; nothing was read.", "Dal tuo indirizzo sono stati verificati troppi documenti nell'ultimo minuto. Aspetta un momento e riprova; nulla è stato letto."))
	f.RetryAfter = wait
	return f
}

// refuse shows the form again, with what was wrong.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var fe *fault.Error
	if !errors.As(err, &fe) || look.WantsJSON(r) || fe.HTTP() >= http.StatusInternalServerError {
		p.Site.Fail(w, r, err)
		return
	}
	f := p.blank()
	f.Alert, f.Code, f.Open = p.words(fe), int(fe.Code), true
	p.set.Render(w, r, fe.HTTP(), "check", f)
}

// words are those of a clerk for what the API calls by the name of a field.
func (p *Pages) words(f *fault.Error) look.Text {
	switch f.Code {
	case fault.BadVerifyDocument:
		return look.T("Choose the signed file that is to be checked.", "Scegli il file firmato da verificare.")
	case fault.BadPDFPassword:
		return look.T("The PDF is protected: give its password under \"More options\" and check again.", "Il PDF è protetto: scrivi la sua password in «Altre opzioni» e verifica di nuovo.")
	case fault.BadVerifyDate:
		return look.T("The date is not one: write it like 2026-11-15.", "La data non va bene: scrivila come 2026-11-15.")
	case fault.TooLarge:
		return look.T("The file is too large: this server reads up to %d MB. For larger ones there is the command line (rogito verify).", "Il file è troppo grande: questo server legge fino a %d MB. Per file più grandi c'è la riga di comando (rogito verify).").With(p.MaxDocument >> 20)
	}
	return look.Sentence(f)
}
