// Package check serves the pages that anybody may open: "/", where the doors are,
// and "/check", where one drops a signed file and reads the verdict. What is
// dropped is verified as POST /verify does it, and nothing of it is kept: the
// page that tells the verdict carries the reports that may be downloaded.
package check

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fattura"
	"rogito.dev/rogito/internal/visible"
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
	SignedIn func(*http.Request) bool // nil: nobody ever is
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
	p.verify = v.Form(a, look.Language, p.show, p.refuse)
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

// form is the page at "/check", empty or with a verdict.
type form struct {
	look.Head
	Name     string
	Report   template.HTML
	PDF, XML template.URL // the reports, carried by the page; empty: too large
	File     string       // what they are called
	Contents []content
	More     int      // files that are not listed
	Invoice  *invoice // the signed content, where it is one
	Max      int64
	Open     bool // the further options are unfolded
}

// content is a signed file, carried by the page.
type content struct {
	Name string
	Size int64
	Link template.URL // empty: too large
}

func (p *Pages) blank() *form {
	return &form{Head: look.Head{Title: look.T("Check a signature", "Verifica una firma"), Door: "/check", Scripts: []string{"check.js"}}, Max: p.MaxDocument}
}

// allowed says whether the caller may verify here, and refuses.
func (p *Pages) allowed(w http.ResponseWriter, r *http.Request) bool {
	if p.Public || p.SignedIn != nil && p.SignedIn(r) {
		return true
	}
	f := look.Refusal(fault.ScopeLacking, look.T("On this server only those who are signed in may check documents. Log in, or ask whoever runs it to open this page (console.public_check).", "Su questo server può verificare documenti solo chi ha effettuato l'accesso. Accedi, o chiedi a chi lo gestisce di aprire questa pagina (console.public_check)."))
	f.Status = http.StatusForbidden
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
	if wait := p.limit.Take(r.RemoteAddr, p.PerMinute, time.Now()); wait > 0 {
		f := look.Refusal(fault.LimitReached, look.T("Too many documents were checked from your address in the last minute. Wait a moment and try again; nothing was read.", "Dal tuo indirizzo sono stati verificati troppi documenti nell'ultimo minuto. Aspetta un momento e riprova; nulla è stato letto."))
		f.RetryAfter = wait
		p.Site.FailTo(w, r, f, look.Link{Path: "/check", Name: look.T("Back to the form", "Torna al modulo")})
		return
	}
	p.verify(w, r)
}

// maxCarried bounds the reports that a page carries.
const maxCarried = 4 << 20

// show answers with the verdict.
func (p *Pages) show(w http.ResponseWriter, r *http.Request, name string, verdict *report.Report) {
	f := p.blank()
	name = visible.Line(name)
	lang := look.Language(r)
	f.Name = name
	if f.File = strings.TrimSuffix(visible.Name(name), "."); f.File == "" {
		f.File = "document"
	}
	var page, xml bytes.Buffer
	var pdf []byte
	err := paper.WriteFragment(&page, verdict, name, lang)
	if err == nil {
		pdf, err = p.pdf(r.Context(), verdict, name, lang)
	}
	if err == nil {
		err = paper.WriteETSI(&xml, verdict)
	}
	if err != nil {
		p.Site.Fail(w, r, err)
		return
	}
	f.Title = look.T("Result of the check", "Esito della verifica")
	f.Report = template.HTML(page.String()) //nolint:gosec // escaped by the report's own template
	f.PDF, f.XML = carried("application/pdf", pdf), carried("application/xml", xml.Bytes())
	if err := f.hand(verdict.Contents); err != nil {
		p.Site.Fail(w, r, err)
		return
	}
	p.set.Render(w, r, http.StatusOK, "check", f)
}

// maxListed bounds the signed files that a page names.
const maxListed = 100

// hand lists the signed files. The small ones are carried by the page, as bytes
// that no browser shows: they are a stranger's, and not to be opened in the place
// of this site.
func (f *form) hand(files []ades.File) error {
	left := int64(maxCarried)
	for i, file := range files {
		if i == maxListed {
			f.More = len(files) - maxListed
			break
		}
		c := content{Name: visible.Line(file.Name), Size: file.Source.Size()}
		if c.Size <= left {
			b, err := io.ReadAll(io.NewSectionReader(file.Source, 0, c.Size))
			if err != nil {
				return err
			}
			left -= c.Size
			c.Link = carried("application/octet-stream", b)
			if f.Invoice == nil && len(files) == 1 {
				if in, err := fattura.Read(b); err == nil {
					f.Invoice = &invoice{in}
				}
			}
		}
		f.Contents = append(f.Contents, c)
	}
	return nil
}

// Base is what a downloaded file is called.
func (c content) Base() string {
	if name := visible.Name(path.Base(c.Name)); name != "" {
		return name
	}
	return "content"
}

// carried is a file inside the page that leads to it.
func carried(kind string, b []byte) template.URL {
	if len(b) > maxCarried {
		return ""
	}
	return template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(b)) //nolint:gosec // our own bytes
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
		return look.T("The PDF is protected: give its password under \"More options\" and choose the file again.", "Il PDF è protetto: scrivi la sua password in «Altre opzioni» e scegli di nuovo il file.")
	case fault.BadVerifyDate:
		return look.T("The date is not one: write it like 2026-11-15.", "La data non va bene: scrivila come 2026-11-15.")
	case fault.TooLarge:
		return look.T("The file is too large: this server reads up to %d MB. For larger ones there is the command line (rogito verify).", "Il file è troppo grande: questo server legge fino a %d MB. Per file più grandi c'è la riga di comando (rogito verify).").With(p.MaxDocument >> 20)
	}
	return look.Sentence(f)
}
