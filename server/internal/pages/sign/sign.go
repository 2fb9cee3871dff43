// Package sign serves the page where a person who was asked signs: the document as
// pictures, a code or an identification, and one click. The pages are plain forms that
// work without scripts; drawing a signature is the one thing that needs one.
package sign

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/internal/draw"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/internal/memo"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/people"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

//go:embed page
var files embed.FS

// Options of the pages.
type Options struct {
	People people.Page
	Drawer *draw.Drawer
	Guard  *fetch.Guard // for logos that a request names by their address
	// Cards is where a card is shown: {Cards}/cns/{record}/{secret}; empty: nowhere.
	Cards  string
	Secure bool // people reach us by https, perhaps at a proxy
	Public string
	Log    *slog.Logger
}

// Pages serves them.
type Pages struct {
	Options
	site *look.Site
	set  *look.Set
	mux  http.Handler
	// Pictures and texts of pages by the digest of the document: a page is drawn once for
	// all who look at it. 64 MB are some 500 pages.
	drawn memo.Memo[leaf, *shown]
}

// New returns the pages of a server. They are mounted at /sign/.
func New(site *look.Site, o Options) *Pages {
	p := &Pages{Options: o, site: site, set: site.Set(files)}
	p.drawn.Weight = 64 << 20
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sign/{record}/{secret}", p.visit(p.show))
	mux.HandleFunc("GET /sign/{record}/{secret}/pages/{file}", p.visit(p.picture))
	mux.HandleFunc("GET /sign/{record}/{secret}/style.css", p.visit(p.style))
	mux.HandleFunc("GET /sign/{record}/{secret}/logo", p.visit(p.logo))
	mux.HandleFunc("GET /sign/{record}/{secret}/signed", p.visit(p.signed))
	mux.HandleFunc("GET /sign/{record}/{secret}/document", p.visit(p.validated))
	mux.HandleFunc("POST /sign/{record}/{secret}/send-code", p.visit(p.act(p.sendCode)))
	mux.HandleFunc("POST /sign/{record}/{secret}/code", p.visit(p.act(p.code)))
	mux.HandleFunc("POST /sign/{record}/{secret}/data", p.visit(p.act(p.data)))
	mux.HandleFunc("POST /sign/{record}/{secret}/sign", p.visit(p.act(p.sign)))
	mux.HandleFunc("POST /sign/{record}/{secret}/decline", p.visit(p.act(p.decline)))
	mux.HandleFunc("GET /sign/{record}/{secret}/{method}", p.visit(p.begin))
	mux.HandleFunc("GET /sign/{record}/answer", p.back)
	mux.HandleFunc("/", site.NotFound)
	p.mux = site.Protect(mux)
	return p
}

func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	look.Headers(w)
	p.mux.ServeHTTP(w, r.WithContext(enroll.WithActor(r.Context(), "signer")))
}

// visit finds out whose page it is.
func (p *Pages) visit(next func(http.ResponseWriter, *http.Request, *people.Visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, err := p.People.Find(r.Context(), r.PathValue("record"), r.PathValue("secret"))
		if errors.Is(err, fault.NotFound) {
			err = look.Refusal(fault.NotFound, look.T("This link leads to nothing, or not any more. Check that it is complete, or ask who sent it to you for a new one.",
				"Questo link non porta a nulla, o non più. Controlla che sia completo, o chiedine uno nuovo a chi te lo ha inviato."))
		}
		if err != nil {
			p.site.Fail(w, r, err)
			return
		}
		next(w, p.arrive(r, v), v)
	}
}

// arrive notes who looks, and in which language: that of the request for the person,
// unless they chose another.
func (p *Pages) arrive(r *http.Request, v *people.Visit) *http.Request {
	if l := v.Person.Language; l == "it" || l == "en" {
		r = r.Clone(r.Context())
		r.Header.Set("Accept-Language", l)
	}
	v.Language, v.Address = string(look.Language(r)), look.Address(r)
	return r
}

// browserTies tie codes and identifications to the browser that went through them.
func (p *Pages) browserTies() look.Ties { return look.Ties{Name: "rogito-signer", Secure: p.Secure} }

func (p *Pages) shown(r *http.Request) (all people.Browsers) {
	for _, b := range p.browserTies().Shown(r) {
		all = append(all, people.Browser(b))
	}
	return all
}

func (p *Pages) newBrowser(w http.ResponseWriter, r *http.Request, framed bool) people.Browser {
	return people.Browser(p.browserTies().New(w, r, "/sign/"+r.PathValue("record"), framed))
}

// view is what a page shows.
type view struct {
	look.Head
	*people.Now
	Person    *ledger.Person
	Record    *ledger.Record
	Page      string // the address of the page
	Documents []document
	Total     int // pages of all documents
	Away      []away
	Departure *identify.Departure
	Back      string
	Validated bool // the document as it was sent out can be had
	Told      string
	Leave     string // where to go on after the end
	LeaveHost string
	Origins   string // that get a message at the end, as JSON
	Expires   time.Time
	Advanced  bool // a certificate of the person's own signs
	Sidebar   bool // the part that says what it is about
	UILogo    string
	Typed1    string // what was typed before, or the person's name
	TypedHelp look.Text
	zone      *time.Location
}

// Time writes a time in the zone of the request, or in that of this server.
func (x *view) Time(at time.Time) template.HTML {
	return x.Lang.Moment(at, x.Lang.Zone(x.zone))
}

func (p *Pages) blank(v *people.Visit) *view {
	ui := v.Record.Options.People.UI
	x := &view{
		Head:   look.Head{Title: heading(v), Private: true, Wide: true, Plain: ui.HideHeader, Ancestors: v.Origins()},
		Person: v.Person, Record: v.Record, Page: v.Path(), Sidebar: !ui.HideSidebar,
		Expires: v.Record.Options.People.ExpiresAt, zone: p.site.Zone,
	}
	if name := v.Record.Options.Timezone; name != "" && name != "UTC" {
		if zone, err := time.LoadLocation(name); err == nil {
			x.zone = zone
		}
	}
	x.Sheet = x.Page + "/style.css"
	if ui.SidebarLogo != "" {
		x.UILogo = x.Page + "/logo"
	}
	return x
}

// heading is what the record is called, or what is to be done.
func heading(v *people.Visit) look.Text {
	switch {
	case v.Record.Title != "":
		return look.Same(v.Record.Title)
	case v.Person.Role == ledger.RoleApprover:
		return look.T("A document for you to approve", "Un documento da approvare")
	case v.Person.Role == ledger.RoleViewer:
		return look.T("A document for you", "Un documento per te")
	}
	return look.T("A document for you to sign", "Un documento da firmare")
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request, v *people.Visit) {
	p.render(w, r, v, http.StatusOK, nil)
}

// render shows the page as things are now, with what was refused.
func (p *Pages) render(w http.ResponseWriter, r *http.Request, v *people.Visit, status int, refused error) {
	ctx := r.Context()
	now, err := p.People.Now(ctx, v, p.shown(r))
	if err != nil {
		p.site.Fail(w, r, err)
		return
	}
	x := p.blank(v)
	if now.Turn && !now.Over {
		documents := p.People.Documents(v)
		if err := p.People.Viewed(ctx, v, documents); err != nil {
			p.site.Fail(w, r, err)
			return
		}
		if x.Documents, x.Total, err = p.layout(ctx, v, documents); err != nil {
			p.site.Log.ErrorContext(ctx, "draw document", "error", err)
		}
		x.Scripts = append(x.Scripts, "once.js")
		x.Validated = !v.Record.Options.People.UI.HideDownloadValidated
		if now, err = p.People.Now(ctx, v, p.shown(r)); err != nil {
			p.site.Fail(w, r, err)
			return
		}
	}
	x.Now = now
	x.Advanced = v.Record.CertificateType != "EU-SES" || now.Certificate != ""
	x.Typed1 = r.PostFormValue("typed")
	if x.Typed1 == "" {
		x.Typed1 = strings.TrimSpace(v.Person.Name + " " + v.Person.Surname)
	}
	x.Signed = now.Signed && !v.Record.Options.People.UI.HideDownloadSigned
	for _, method := range now.Identify {
		x.Away = append(x.Away, p.awayOf(ctx, v, method))
	}
	if now.Drawn && len(now.Codes)+len(now.Identify) == 0 && !now.Over {
		x.Scripts = append(x.Scripts, "drawn.js")
		x.TypedHelp = look.T("If you draw your signature, this may stay as it is.", "Se disegni la firma, può restare com'è.")
	}
	p.end(w, r, x, v)
	if now.Pending {
		w.Header().Set("Refresh", "2")
	}
	if refused != nil {
		x.Alert, x.Code = sentence(refused)
	}
	p.set.Render(w, r, status, "sign", x)
}

// end sets what the page does once it is over: in a frame it informs the parent window, and the
// browser that made the last click goes where the request says.
func (p *Pages) end(w http.ResponseWriter, r *http.Request, x *view, v *people.Visit) {
	if !x.Over {
		return
	}
	x.Told = map[ledger.PersonState]string{ledger.PersonSigned: "completed", ledger.PersonDeclined: "declined"}[v.Person.State]
	if x.Told == "" {
		x.Told = "error"
	}
	if len(v.Origins()) > 0 {
		x.Origins = strings.Join(v.Origins(), " ")
		x.Scripts = append(x.Scripts, "told.js")
	}
	if to := v.Leave(); to != nil {
		x.Leave, x.LeaveHost = to.String(), to.Hostname()
		if r.URL.Query().Has("ended") {
			w.Header().Set("Refresh", strconv.Itoa(leaveAfter)+"; url="+x.Leave)
		}
	}
}

// leaveAfter is how many seconds a page that is over stays: the parent window is informed, and the
// person sees that it worked.
const leaveAfter = 3

// sentence says what was refused, and its number.
func sentence(err error) (look.Text, int) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return look.Sentence(err), 0
	}
	var refusal *identify.Refusal
	var difference *identify.Difference
	switch {
	case errors.As(err, &refusal):
		return look.Text{English: refusal.English, Italian: refusal.Italian}, int(f.Code)
	case errors.As(err, &difference):
		return look.T("Who identified themselves is somebody else than the person who was asked to sign.", "Chi si è identificato non è la persona a cui è stata chiesta la firma."), int(f.Code)
	}
	return look.Sentence(err), int(f.Code)
}

// maxForm bounds a form: a drawn signature has at most 200 kB.
const maxForm = 512 << 10

// act runs what a form asks for. What was refused is said on the page; what was done is
// shown by a page of its own address, so that nothing is done twice by going back.
func (p *Pages) act(do func(http.ResponseWriter, *http.Request, *people.Visit) error) func(http.ResponseWriter, *http.Request, *people.Visit) {
	return func(w http.ResponseWriter, r *http.Request, v *people.Visit) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		err := r.ParseForm()
		if err != nil {
			err = look.Refusal(fault.TooLarge, look.T("The form is larger than it may be.", "Il modulo è troppo grande."))
		} else {
			err = do(w, r, v)
		}
		if err == nil {
			to := v.Path() + "#act" // where the next step is: on a telephone it is below the document
			if v.Person.State.Final() {
				to = v.Path() + "?ended"
			}
			http.Redirect(w, r, to, http.StatusSeeOther)
			return
		}
		var f *fault.Error
		status := http.StatusInternalServerError
		if errors.As(err, &f) {
			status = f.HTTP()
		}
		if status >= http.StatusInternalServerError {
			p.Log.ErrorContext(r.Context(), "signer's page", "error", err)
		}
		// Another request may have changed the state meanwhile: the page shows what is now.
		if again, found := p.People.Find(r.Context(), r.PathValue("record"), r.PathValue("secret")); found == nil {
			p.arrive(r, again)
			v = again
		}
		p.render(w, r, v, status, err)
	}
}

func (p *Pages) sendCode(_ http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return p.People.SendCode(r.Context(), v, r.PostForm.Get("channel"), p.shown(r))
}

func (p *Pages) code(w http.ResponseWriter, r *http.Request, v *people.Visit) error {
	code := strings.Map(func(c rune) rune {
		if c == ' ' || c == '-' {
			return -1
		}
		return c
	}, r.PostForm.Get("code"))
	return p.People.CheckCode(r.Context(), v, code, p.shown(r), p.newBrowser(w, r, len(v.Origins()) > 0))
}

func (p *Pages) data(_ http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := r.PostForm
	return p.People.Edit(r.Context(), v, f.Get("name"), f.Get("email"), f.Get("mobile"))
}

func (p *Pages) sign(_ http.ResponseWriter, r *http.Request, v *people.Visit) error {
	f := r.PostForm
	return p.People.Sign(r.Context(), v, people.Act{
		Agree: f.Get("agree") != "", Typed: strings.TrimSpace(f.Get("typed")), Drawn: f.Get("drawn"),
		Password: f.Get("password"), Code: f.Get("code"),
	}, p.shown(r))
}

func (p *Pages) decline(_ http.ResponseWriter, r *http.Request, v *people.Visit) error {
	return p.People.Decline(r.Context(), v, r.PostForm.Get("reason"))
}

// away is a way to be identified, with where it leads.
type away struct {
	Method    string
	Providers []look.Link
}

// parameters name the provider in the address of a method.
var parameters = map[string]string{"spid": "idp", "cie": "provider"}

func (p *Pages) awayOf(ctx context.Context, v *people.Visit, method string) away {
	a := away{Method: method}
	parameter, elsewhere := parameters[method]
	if !elsewhere {
		a.Providers = []look.Link{{Path: v.Path() + "/" + method, Name: look.T("Use your card (CNS)", "Usa la tua carta (CNS)")}}
		return a
	}
	for _, one := range p.People.Providers(ctx, method) {
		a.Providers = append(a.Providers, look.Link{
			Path: v.Path() + "/" + method + "?" + parameter + "=" + url.QueryEscape(one.ID), Name: look.Same(one.Name),
		})
	}
	return a
}

// begin sends the person to a provider, or to where a card is asked for.
func (p *Pages) begin(w http.ResponseWriter, r *http.Request, v *people.Visit) {
	method := r.PathValue("method")
	if method == "cns" && p.Cards != "" {
		http.Redirect(w, r, p.Cards+"/cns/"+v.Record.ID+"/"+v.Person.Secret, http.StatusSeeOther)
		return
	}
	if parameters[method] == "" {
		p.site.NotFound(w, r)
		return
	}
	d, err := p.People.Begin(r.Context(), v, method, r.URL.Query().Get(parameters[method]), p.newBrowser(w, r, len(v.Origins()) > 0))
	if err != nil {
		p.refuse(w, r, v, err)
		return
	}
	if d.Form == nil {
		http.Redirect(w, r, d.URL, http.StatusFound)
		return
	}
	look.Depart(w, d.URL)
	x := p.blank(v)
	x.Scripts, x.Departure = []string{"depart.js"}, d
	p.set.Render(w, r, http.StatusOK, "sign-depart", x)
}

// refuse says at the page why an identification did not count.
func (p *Pages) refuse(w http.ResponseWriter, r *http.Request, v *people.Visit, err error) {
	var f *fault.Error
	if !errors.As(err, &f) {
		p.Log.ErrorContext(r.Context(), "identification of a signer", "error", err)
		f = fault.New(fault.Unavailable, "the identification cannot be completed now: try again in a moment")
		err = f
	}
	p.render(w, r, v, f.HTTP(), err)
}

// back is where the browser comes back to after an answer. Cookies of ours come with
// it, which the answer from another site had not.
func (p *Pages) back(w http.ResponseWriter, r *http.Request) {
	v, err := p.People.Return(r.Context(), r.PathValue("record"), r.URL.Query().Get("token"), p.shown(r), p.newBrowser(w, r, false))
	if v == nil {
		if err == nil {
			err = fault.New(fault.NotFound, "there is no such page")
		}
		p.site.Fail(w, r, err)
		return
	}
	r = p.arrive(r, v)
	if err != nil {
		p.refuse(w, r, v, err)
		return
	}
	http.Redirect(w, r, v.Path(), http.StatusSeeOther)
}

// Turned shows why what a provider or a card said did not count, at the very address
// that received it.
func (p *Pages) Turned(w http.ResponseWriter, r *http.Request, v *people.Visit, err error) {
	look.Headers(w)
	r = p.arrive(r, v)
	x := p.blank(v)
	x.Alert, x.Code = sentence(err)
	x.Back = p.Public + v.Path()
	status := http.StatusInternalServerError
	var f *fault.Error
	if errors.As(err, &f) {
		status = f.HTTP()
	}
	p.set.Render(w, r, status, "sign-turned", x)
}

// Card identifies by the certificates of a card that was shown where this server asks
// for one.
func (p *Pages) Card(w http.ResponseWriter, r *http.Request, v *people.Visit, card [][]byte) {
	token, err := p.People.ShowCard(r.Context(), v, card)
	if err != nil {
		p.Turned(w, r, v, err)
		return
	}
	http.Redirect(w, r, p.Public+"/sign/"+v.Record.ID+"/answer?token="+url.QueryEscape(token), http.StatusSeeOther)
}
