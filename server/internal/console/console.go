// Package console serves the pages for people: today the one behind a
// certificateLink, where a holder is identified and sees the credentials once.
// The pages are plain HTML forms that work without scripts, in Italian and
// English, under a content security policy that allows nothing from elsewhere.
package console

import (
	"bytes"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"image/png"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
)

//go:embed page
var files embed.FS

// Pages serves them.
type Pages struct {
	enroll  *enroll.Service
	sandbox bool
	issuer  string // name in enrolment apps
	log     *slog.Logger
	tmpl    *template.Template
	mux     http.Handler
}

// New returns the pages. They are mounted at /enrol/ and /pages/.
func New(e *enroll.Service, sandbox bool, log *slog.Logger) *Pages {
	p := &Pages{enroll: e, sandbox: sandbox, issuer: "Rogito", log: log}
	if sandbox {
		p.issuer = "Rogito SANDBOX"
	}
	p.tmpl = template.Must(template.ParseFS(files, "page/*.html"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /enrol/{id}/{secret}", p.show)
	mux.HandleFunc("POST /enrol/{id}/{secret}", p.act)
	mux.HandleFunc("GET /pages/style.css", p.style)
	p.mux = http.NewCrossOriginProtection().Handler(mux)
	return p
}

const policy = "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Frame-Options", "DENY")
	p.mux.ServeHTTP(w, r)
}

func (p *Pages) style(w http.ResponseWriter, _ *http.Request) {
	b, err := files.ReadFile("page/style.css")
	if err != nil {
		http.Error(w, "not found", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	w.Header().Set("Cache-Control", "max-age=3600")
	_, _ = w.Write(b) // the client may be gone
}

// view is what a page shows.
type view struct {
	T           texts
	Lang        string
	Sandbox     bool
	Step        string // identify, wait, reveal, shown, device, end
	Method      string
	Owner, Kind string
	Credentials *enroll.Credentials
	QR          template.URL
	Problem     string
}

func (p *Pages) show(w http.ResponseWriter, r *http.Request) {
	c, err := p.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	p.render(w, r, http.StatusOK, p.viewOf(r, c))
}

func (p *Pages) viewOf(r *http.Request, c *enroll.Certificate) *view {
	v := p.blank(r)
	v.Owner, v.Kind, v.Method = c.Owner, string(c.Kind), c.Identification
	switch {
	case c.EnrolsDevice():
		v.Step = "device"
	case c.HasUnseen():
		v.Step = "reveal"
	case c.State == enroll.Ordered:
		v.Step = "identify"
	case c.State == enroll.Registering:
		v.Step = "identify"
		if waits, err := p.enroll.Pending(r.Context(), c); err == nil && waits {
			v.Step = "wait"
		}
	case c.State == enroll.Working:
		v.Step = "wait"
	default:
		v.Step = "end"
	}
	return v
}

func (p *Pages) blank(r *http.Request) *view {
	lang := pickLanguage(r)
	return &view{T: translations[lang], Lang: lang, Sandbox: p.sandbox}
}

// Uploads: a short video and a photo, or a signed document.
const (
	maxUpload = 128 << 20
	maxSigned = 32 << 20
)

func (p *Pages) act(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	c, err := p.enroll.ByLink(ctx, r.PathValue("id"), r.PathValue("secret"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	if err := parseForm(r); err != nil {
		p.again(w, r, c, p.blank(r).T.TooLarge)
		return
	}
	var cred *enroll.Credentials
	switch r.PostFormValue("action") {
	case "approve":
		c, err = p.enroll.ApproveInSandbox(ctx, c)
	case "signature":
		c, err = p.bySignature(r, c)
	case "video":
		c, err = p.byVideo(r, c)
	case "reveal":
	case "device":
		cred, err = p.enroll.EnrolDevice(ctx, c, r.PostFormValue("password"))
	default:
		err = fault.New(fault.BadField, "unknown action")
	}
	if err == nil && cred == nil && c.HasUnseen() {
		cred, err = p.enroll.Reveal(ctx, c)
	}
	if err != nil {
		p.refused(w, r, err)
		return
	}
	v := p.viewOf(r, c)
	if cred != nil {
		v.Step, v.Credentials = "shown", cred
		v.QR = p.qr(cred)
	}
	p.render(w, r, http.StatusOK, v)
}

func parseForm(r *http.Request) error {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		return r.ParseMultipartForm(1 << 20)
	}
	return r.ParseForm()
}

func (p *Pages) bySignature(r *http.Request, c *enroll.Certificate) (*enroll.Certificate, error) {
	f, _, err := r.FormFile("document")
	if err != nil {
		return nil, fault.New(fault.BadField, "document is missing")
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSigned+1))
	if err != nil || len(b) > maxSigned {
		return nil, fault.New(fault.BadField, "document is too large")
	}
	return p.enroll.BySignature(r.Context(), c, b)
}

func (p *Pages) byVideo(r *http.Request, c *enroll.Certificate) (*enroll.Certificate, error) {
	var files []enroll.Evidence
	for _, name := range []string{"video", "photo"} {
		f, head, err := r.FormFile(name)
		if err != nil || head.Size == 0 {
			return nil, fault.New(fault.BadField, "%s is missing", name)
		}
		defer f.Close()
		files = append(files, enroll.Evidence{Name: name + "-" + clean(head.Filename), Data: f})
	}
	return p.enroll.ByVideo(r.Context(), c, files)
}

// clean keeps of a file name what is harmless everywhere.
func clean(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, name)
	return name[max(0, len(name)-64):]
}

func (p *Pages) qr(c *enroll.Credentials) template.URL {
	if c.TOTPSecret == "" {
		return ""
	}
	key, err := keys.TOTPKey(p.issuer, c.Username, c.TOTPSecret)
	if err != nil {
		return ""
	}
	img, err := key.Image(240, 240)
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	if png.Encode(&b, img) != nil {
		return ""
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())) //nolint:gosec // our own bytes
}

func (p *Pages) again(w http.ResponseWriter, r *http.Request, c *enroll.Certificate, problem string) {
	v := p.viewOf(r, c)
	v.Problem = problem
	p.render(w, r, http.StatusUnprocessableEntity, v)
}

// refused shows the page again with the reason, if it may be read.
func (p *Pages) refused(w http.ResponseWriter, r *http.Request, err error) {
	var f *fault.Error
	if !errors.As(err, &f) {
		p.fail(w, r, err)
		return
	}
	c, lerr := p.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	v := p.blank(r)
	v.Step = "end"
	if lerr == nil {
		v = p.viewOf(r, c)
	}
	v.Problem = f.Text
	p.render(w, r, f.HTTP(), v)
}

func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	v, status := p.blank(r), http.StatusInternalServerError
	v.Step = "end"
	var f *fault.Error
	if errors.As(err, &f) {
		status = f.HTTP()
	} else {
		p.log.ErrorContext(r.Context(), "enrolment page", "error", err)
	}
	p.render(w, r, status, v)
}

func (p *Pages) render(w http.ResponseWriter, r *http.Request, status int, v *view) {
	var b bytes.Buffer
	if err := p.tmpl.ExecuteTemplate(&b, "enrol.html", v); err != nil {
		p.log.ErrorContext(r.Context(), "render page", "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", v.Lang)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may be gone
}
