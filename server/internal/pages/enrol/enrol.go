// Package enrol serves the page behind a certificateLink, where a holder is identified and
// sees the credentials once. The pages are plain HTML forms that work without scripts, in
// Italian and English, under a content security policy that allows nothing from elsewhere.
package enrol

import (
	"context"
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
)

//go:embed page
var files embed.FS

// Pages serves them.
type Pages struct {
	// Cards says how cards are seen here; nil: they are not.
	Cards *Cards
	// Buyer is the name of who ordered, by the id of the account; nil: no name is shown.
	Buyer func(ctx context.Context, account string) string
	// KeepYears is how long evidence is kept after the end of a certificate; 0: it is not
	// said.
	KeepYears int
	// Tells says that holders get mail about their orders.
	Tells bool
	// OtherCard and OtherRefusal serve people who are identified without an order, because they are
	// asked to sign. They report whether they did; nil if people are not identified so.
	OtherCard    func(http.ResponseWriter, *http.Request, [][]byte) bool
	OtherRefusal func(http.ResponseWriter, *http.Request, error) bool

	site     *look.Site
	set      *look.Set
	enroll   *enroll.Service
	public   string
	sandbox  bool
	secure   bool   // people reach us by https, perhaps at a proxy
	issuer   string // name in enrolment apps
	spool    string // folder for uploads on their way
	log      *slog.Logger
	mux      http.Handler
	decoding sync.Mutex // one picture at a time
	busy     sync.Map   // certificates and browsers of which files are being taken in
}

// New returns the pages of a server that people reach at publicURL. They are
// mounted at /enrol/.
func New(site *look.Site, e *enroll.Service, publicURL string, sandbox bool, spool string, log *slog.Logger) *Pages {
	p := &Pages{site: site, set: site.Set(files), enroll: e, public: strings.TrimSuffix(publicURL, "/"), sandbox: sandbox, secure: strings.HasPrefix(strings.ToLower(publicURL), "https://"), issuer: "Rogito", spool: spool, log: log}
	if sandbox {
		p.issuer = "Rogito SANDBOX"
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /enrol/{id}/{secret}", p.show)
	mux.HandleFunc("POST /enrol/{id}/{secret}", p.act)
	mux.HandleFunc("POST /enrol/{id}/{secret}/{method}", p.act)
	mux.HandleFunc("POST /enrol/{id}/{secret}/send-otp", p.sendCode)
	mux.HandleFunc("GET /enrol/{id}/{secret}/statement.pdf", p.statement)
	mux.HandleFunc("GET /enrol/{id}/{secret}/{method}", p.step)
	mux.HandleFunc("GET /enrol/{id}/answer", p.goBack)
	mux.HandleFunc("POST /spid/acs", p.answer("spid"))
	mux.HandleFunc("GET /cie/callback", p.answer("cie"))
	mux.HandleFunc("GET /remote/callback", p.answer("remote"))
	mux.HandleFunc("GET /cns/{id}/{secret}", p.Card)
	mux.HandleFunc("/", site.NotFound)
	p.mux = site.Protect(mux, "POST /spid/acs") // providers post there, in the person's browser
	return p
}

func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	look.Headers(w)
	p.mux.ServeHTTP(w, r.WithContext(enroll.WithActor(r.Context(), "holder")))
}

// browserTies tie the credentials to the browser that went through the identification.
func (p *Pages) browserTies() look.Ties { return look.Ties{Name: "rogito-holder", Secure: p.secure} }

func (p *Pages) shown(r *http.Request) (all enroll.Browsers) {
	for _, b := range p.browserTies().Shown(r) {
		all = append(all, enroll.Browser(b))
	}
	return all
}

func (p *Pages) newBrowser(w http.ResponseWriter, r *http.Request) enroll.Browser {
	return enroll.Browser(p.browserTies().New(w, r, "/enrol/"+r.PathValue("id"), false))
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request) {
	c, err := p.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	if step, _ := p.enroll.RemoteStep(c, p.shown(r)); step == "login" {
		p.toProvider(w, r, c)
		return
	}
	if len(p.shown(r)) == 0 {
		p.newBrowser(w, r) // tied to nothing yet: it tells browsers apart
	}
	p.render(w, r, http.StatusOK, p.viewOf(r, c, p.shown(r), ""))
}

// step shows a step that the holder chose, or sends the holder to the provider that
// the address names. An order that is past it shows its state.
func (p *Pages) step(w http.ResponseWriter, r *http.Request) {
	c, err := p.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	at, q := r.PathValue("method"), r.URL.Query()
	known := at == "choose" || slices.ContainsFunc(ways, func(w way) bool { return w.Method == at && slices.Contains(p.enroll.Identifications(), at) })
	if !known || q.Has("idp") || q.Has("provider") {
		p.begin(w, r, c)
		return
	}
	v := p.viewOf(r, c, p.shown(r), at)
	if v.Step != at {
		http.Redirect(w, r, linkPath(c), http.StatusSeeOther)
		return
	}
	if len(p.shown(r)) == 0 {
		p.newBrowser(w, r)
	}
	p.render(w, r, http.StatusOK, v)
}

// statement hands out the document that the holder signs.
func (p *Pages) statement(w http.ResponseWriter, r *http.Request) {
	c, err := p.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	b, err := p.enroll.Statement(r.Context(), c)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Content-Disposition", `attachment; filename="statement.pdf"`)
	_, _ = w.Write(b) // the client may be gone
}

func (p *Pages) again(w http.ResponseWriter, r *http.Request, c *enroll.Certificate, at string, problem look.Text) {
	v := p.viewOf(r, c, p.shown(r), at)
	v.Problem = problem
	p.render(w, r, http.StatusUnprocessableEntity, v)
}

// refused shows the step again with the reason, if it may be read.
func (p *Pages) refused(w http.ResponseWriter, r *http.Request, at string, err error) {
	var f *fault.Error
	if !errors.As(err, &f) {
		p.fail(w, r, err)
		return
	}
	c, lerr := p.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	v := p.blank(r)
	if lerr == nil {
		v = p.viewOf(r, c, p.shown(r), at)
	}
	v.Problem, v.Code = sentence(f), int(f.Code)
	p.render(w, r, f.HTTP(), v)
}

// fail shows that there is nothing behind a link, and where its order was refused, why.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	v, status := p.blank(r), http.StatusInternalServerError
	v.Step = "end"
	var f *fault.Error
	if errors.As(err, &f) {
		status = f.HTTP()
	} else {
		p.log.ErrorContext(r.Context(), "enrolment page", "error", err)
		v.Step, v.Problem = "problem", look.Sentence(err)
	}
	if why, err := p.enroll.RefusedBecause(r.Context(), r.PathValue("id"), r.PathValue("secret")); err == nil && why != nil {
		v.Step, v.Reason = "refused", look.Text{English: why.English, Italian: why.Italian}
	}
	p.render(w, r, status, v)
}

func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, v *view) {
	v.Title, v.Place = titles[v.Step], places[v.Step]
	if v.Device {
		v.Place = 0
	}
	if v.Step == "video" { // what was recorded is played before it is sent
		w.Header().Set("Content-Security-Policy", strings.Replace(look.Policy, "media-src 'self'", "media-src 'self' blob:", 1))
	}
	if slices.Contains(counted, v.Step) {
		v.Scripts = append(v.Scripts, "once.js")
	}
	p.set.Render(w, r, status, "enrol", v)
}

// counted are the steps with a form that counts once. The others run no script.
var counted = []string{"video", "signature", "credential", "account", "confirm", "reveal", "device", "renew"}
