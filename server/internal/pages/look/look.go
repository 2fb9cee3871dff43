// Package look is what all pages for people have in common: one style sheet, one
// layout, the components that pages are made of, texts in Italian and English,
// and one function that answers with a page.
//
// A package of pages embeds its templates and scripts, hands them to [Site.Set],
// and answers with [Set.Render]. A template is between {{template "top" .}}
// and {{template "bottom" .}}; what it shows embeds a [Head].
package look

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/fault"
)

//go:embed page
var files embed.FS

// Options are what the pages of a server have in common.
type Options struct {
	Sandbox bool
	Version string         // of the program, for the foot
	Zone    *time.Location // of times; nil: by the language
	Secure  bool           // people reach us by https
	Log     *slog.Logger
	// JSON answers a refusal to a client that asked for JSON.
	JSON func(http.ResponseWriter, *http.Request, error)
	// Sections are the pages that this server has, as the head of a page links to
	// them.
	Sections []Section
	// Operator is who runs the server, for pages of private persons.
	Operator Operator
	// Artwork are static files with the logos of SPID and CIE, by method: the
	// operator's copies.
	Artwork map[string]string
}

// Operator is who answers for what a private person is asked for.
type Operator struct {
	Name           string
	Logo           string // name of a static file; empty: none
	Privacy, Terms string // addresses; empty: none
}

// Site is one server's pages.
type Site struct {
	Options
	mu     sync.Mutex
	static map[string][]byte // by name
	tag    string            // of all static files together
	own    *Set
}

// Section is a part of the site: a link in the head of every page, and a card at "/".
type Section struct {
	Path        string
	Name, About Text
}

// Set is the templates of one package of pages, over those of this one.
type Set struct {
	site *Site
	tmpl map[paper.Lang]func() *template.Template
}

// NewSite returns a site without pages of its own.
func NewSite(o Options) *Site {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Site{Options: o, static: map[string][]byte{"style.css": []byte(paper.Style)}}
	s.own = s.Set(files)
	return s
}

// Set has the templates (*.html) in the folder "page" of a package, which are parsed
// when a page of a language is first shown, and serves the rest of the folder under
// /pages/. Names are the site's: two packages have none in common.
func (s *Site) Set(from fs.FS) *Set {
	set := &Set{site: s, tmpl: map[paper.Lang]func() *template.Template{}}
	for _, l := range []paper.Lang{paper.English, paper.Italian} {
		set.tmpl[l] = sync.OnceValue(func() *template.Template {
			t := template.New("").Option("missingkey=error").Funcs(s.funcs(l))
			t = template.Must(t.ParseFS(files, "page/*.html"))
			if from != fs.FS(files) {
				t = template.Must(t.ParseFS(from, "page/*.html"))
			}
			return t
		})
	}
	entries, err := fs.ReadDir(from, "page")
	if err != nil {
		panic(err) // embedded
	}
	for _, e := range entries {
		if e.IsDir() || strings.HasSuffix(e.Name(), ".html") {
			continue
		}
		b, err := fs.ReadFile(from, "page/"+e.Name())
		if err != nil {
			panic(err) // embedded
		}
		s.add(e.Name(), b)
	}
	return set
}

// Head is what the layout shows around a page. A page's own struct embeds it.
type Head struct {
	Title   Text
	Section string   // the path of the section that the page belongs to
	Scripts []string // modules that the page loads
	Styles  []string // further style sheets
	Nav     []Link   // a second row, for the pages of a section
	Who     string   // who is signed in
	Leave   string   // where one logs out
	Alert   Text     // what went wrong, or was refused
	Code    int      // of the fault, for tests and telephone calls
	Wide    bool     // a map, a table: as wide as the window
	// Private is for people who have nothing to do with this server except for what they are asked
	// to do here. The head names the operator, the foot links to its notices.
	Private   bool
	Plain     bool     // without head
	Logo      string   // address of another logo than the operator's
	Sheet     string   // address of a style sheet of this page's own
	Ancestors []string // origins that may frame the page

	Lang     paper.Lang
	Sandbox  bool
	Version  string
	Sections []Section
	Operator
	Switch string // the address of this page in the other language
	Assets string // the folder of static files, with their version
}

func (h *Head) head() *Head { return h }

// Link of a second row.
type Link struct {
	Path    string
	Name    Text
	Current bool
}

// Page is what a template shows: a pointer to a struct that embeds a Head.
type Page interface{ head() *Head }

// Policy lets a page use what this server serves and nothing else. Pages with
// scripts have Scripted as well, all others run none.
const (
	Policy = "default-src 'none'; style-src 'self'; img-src 'self' data:; media-src 'self'; frame-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	Scripted = "; script-src 'self'; connect-src 'self'"
)

// Headers sets what every page is served with.
func Headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// Render answers with a page. A policy that was set before stays.
func (s *Set) Render(w http.ResponseWriter, r *http.Request, status int, name string, p Page) {
	h := p.head()
	h.Lang, h.Sandbox, h.Version, h.Sections = Language(r), s.site.Sandbox, s.site.Version, s.site.Sections
	h.Operator = s.site.Operator
	other := paper.Italian
	if h.Lang == paper.Italian {
		other = paper.English
	}
	h.Switch = otherLanguage(r.URL, other)
	h.Assets = s.site.assets()
	var b bytes.Buffer
	if err := s.tmpl[h.Lang]().ExecuteTemplate(&b, name, p); err != nil {
		s.site.Log.ErrorContext(r.Context(), "render page", "page", name, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	policy := w.Header().Get("Content-Security-Policy")
	Headers(w)
	if policy == "" {
		policy = Policy
	}
	if len(h.Scripts) > 0 && !strings.Contains(policy, "script-src") {
		policy += Scripted
	}
	if origins := strings.Join(h.Ancestors, " "); origins != "" && !strings.ContainsAny(origins, ";,'\"\r\n") { // what would end the directive was refused before
		policy = strings.Replace(policy, "frame-ancestors 'none'", "frame-ancestors "+origins, 1)
		w.Header().Del("X-Frame-Options") // it knows no list
	}
	w.Header().Set("Content-Security-Policy", policy)
	if l, ok := chosen(r); ok {
		http.SetCookie(w, &http.Cookie{Name: langCookie, Value: string(l), Path: "/", MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.site.Secure || r.TLS != nil})
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", string(h.Lang))
	w.Header().Add("Vary", "Accept, Accept-Language, Cookie")
	w.WriteHeader(status)
	_, _ = visible.Writer(w).Write(b.Bytes()) // the client may be gone
}

// WantsJSON says that a client asked for JSON, and for no page before it.
func WantsJSON(r *http.Request) bool {
	header := strings.ToLower(strings.Join(r.Header["Accept"], ","))
	json, page := strings.Index(header, "json"), strings.Index(header, "text/html")
	return json >= 0 && (page < 0 || json < page)
}

// IsBrowser says that a client wants a page.
func IsBrowser(r *http.Request) bool {
	return strings.Contains(strings.ToLower(strings.Join(r.Header["Accept"], ",")), "text/html")
}

// refusal is the page of an error.
type refusal struct {
	Head
	Status int
	Back   string // where to go on
	Go     Text
}

// Fail answers an error: with a page, or to a client that asked for JSON with
// the envelope.
func (s *Site) Fail(w http.ResponseWriter, r *http.Request, err error) {
	s.FailTo(w, r, err, Link{})
}

// FailTo is Fail with a way on, such as the page where one logs in.
func (s *Site) FailTo(w http.ResponseWriter, r *http.Request, err error, way Link) {
	if s.JSON != nil && WantsJSON(r) {
		s.JSON(w, r, err)
		return
	}
	p := &refusal{Status: http.StatusInternalServerError, Back: way.Path, Go: way.Name}
	p.Alert = Sentence(err)
	var f *fault.Error
	if errors.As(err, &f) {
		p.Status, p.Code = f.HTTP(), int(f.Code)
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((f.RetryAfter+time.Second-1)/time.Second)))
		}
	}
	if f == nil || p.Status >= http.StatusInternalServerError {
		s.Log.ErrorContext(r.Context(), "page", "error", err)
	}
	p.Title = titles[p.Status]
	if p.Title.IsZero() {
		p.Title = T("That did not work", "Non ha funzionato")
	}
	p.Private = strings.HasPrefix(r.URL.Path, "/sign/") || strings.HasPrefix(r.URL.Path, "/enrol/")
	if p.Back == "" && !p.Private {
		p.Back, p.Go = "/", T("To the start page", "Alla pagina iniziale")
	}
	s.own.Render(w, r, p.Status, "refusal", p)
}

var titles = map[int]Text{
	http.StatusForbidden:       T("You may not do this", "Non puoi farlo"),
	http.StatusNotFound:        T("There is no such page", "Pagina non trovata"),
	http.StatusTooManyRequests: T("Too many requests", "Troppe richieste"),
}

// NotFound is the handler of addresses that there are not.
func (s *Site) NotFound(w http.ResponseWriter, r *http.Request) {
	s.Fail(w, r, Refusal(fault.NoRoute, T("There is no page at this address. Check how it is written, or begin at the start page.", "A questo indirizzo non c'è nessuna pagina. Controlla come è scritto, o riparti dalla pagina iniziale.")))
}

// Protect refuses what another site sends in a person's name (CSRF), with a
// page. More are patterns that others may post to.
func (s *Site) Protect(next http.Handler, more ...string) http.Handler {
	p := http.NewCrossOriginProtection()
	for _, pattern := range more {
		p.AddInsecureBypassPattern(pattern)
	}
	p.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := Refusal(fault.ScopeLacking, T("This form was sent by another site, so nothing was done. Open the page here and try again.", "Questo modulo è stato inviato da un altro sito: nulla è stato fatto. Apri la pagina qui e riprova."))
		f.Status = http.StatusForbidden
		s.Fail(w, r, f)
	}))
	return p.Handler(next)
}

// Static serves the style sheet, the modules and the icon under
// /pages/{version}/; without the version for those who know none.
func (s *Site) Static(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	s.mu.Lock()
	b, ok := s.static[name]
	s.mu.Unlock()
	if !ok || r.URL.Path != "/pages/"+name && r.URL.Path != s.assets()+name {
		s.NotFound(w, r)
		return
	}
	h := w.Header()
	Headers(w)
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if path.Ext(name) == ".js" {
		h.Set("Content-Type", "text/javascript; charset=utf-8")
	}
	h.Set("Cache-Control", "public, max-age=300")
	if r.URL.Path != "/pages/"+name {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(b) // the client may be gone
}

// Add takes in a static file that the operator brings.
func (s *Site) Add(name string, b []byte) { s.add(name, b) }

// add takes a static file in. A style sheet style.css of a package is put behind
// that of all pages.
func (s *Site) add(name string, b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.static[name]; ok {
		if name != "style.css" {
			panic(fmt.Sprintf("two static files are called %s", name))
		}
		b = slices.Concat(old, []byte("\n"), b)
	}
	s.static[name], s.tag = b, ""
}

// assets is the folder of the static files; its name is the digest of all of
// them, so that modules import one another by relative addresses.
func (s *Site) assets() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tag == "" {
		s.tag = digest(s.static)
	}
	return "/pages/" + s.tag + "/"
}
