// Package enrol serves the page behind a certificateLink, where a holder is
// identified and sees the credentials once. The pages are plain HTML forms that work without scripts, in Italian and
// English, under a content security policy that allows nothing from elsewhere.
package enrol

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"image/png"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/identify"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/upload"
)

//go:embed page
var files embed.FS

// Pages serves them.
type Pages struct {
	// Cards says how cards are seen here; nil: they are not.
	Cards *Cards
	// OtherCard and OtherRefusal serve whoever is identified and has no order: a person
	// who signs. They say whether they did; nil: there is nobody.
	OtherCard    func(http.ResponseWriter, *http.Request, [][]byte) bool
	OtherRefusal func(http.ResponseWriter, *http.Request, error) bool

	site    *look.Site
	set     *look.Set
	enroll  *enroll.Service
	public  string
	sandbox bool
	secure  bool   // people reach us by https, perhaps at a proxy
	issuer  string // name in enrolment apps
	spool   string // folder for uploads on their way
	log     *slog.Logger
	mux     http.Handler
	busy    sync.Map // certificates and browsers of which files are being taken in
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
	mux.HandleFunc("POST /enrol/{id}/{secret}/send-otp", p.sendCode)
	mux.HandleFunc("GET /enrol/{id}/{secret}/statement.pdf", p.statement)
	mux.HandleFunc("GET /enrol/{id}/{secret}/{method}", p.begin)
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

// view is what a page shows.
type view struct {
	look.Head
	T           texts
	Step        string // identify, login, credential, depart, confirm, wait, reveal, shown, device, end
	Again       bool   // the holder is identified a second time
	Device      bool   // for a new one-time-password device
	Methods     map[string]bool
	Away        []*away
	Departure   *identify.Departure
	Back        string   // the page of the order
	Ended       bool     // it was cancelled
	Provider    string   // of a remote key
	Choices     []string // credentials there
	Delegates   bool     // somebody else may use the key
	SendCode    string   // where a one-time password is asked for; empty: nowhere
	Sent        bool     // one was
	Statement   string   // where it is downloaded
	Owner, Kind string
	Seal        bool
	Attributes  []row
	Digest      string // of what is to be confirmed
	Credentials *enroll.Credentials
	QR          template.URL
	ShownAt     string // when the credentials were shown before, and to which address
	ShownTo     string
	OtherName   string // that the certificate bears, where the order's label is not it
	// Device that replaced another: when, by which factor, from which address.
	DeviceAt, DeviceBy, DeviceFrom string
	Problem                        string
}

// row is an attribute that was ordered, or that identification filled in.
type row struct {
	Name, Value string
	Filled      bool
}

// browserCookie holds the secret that ties the credentials to the browser that
// went through the identification. Where people reach us by https it has a name
// that no other host can set.
const (
	browserCookie = "rogito-holder"
	secureCookie  = "__Host-" + browserCookie
)

func (p *Pages) secured(r *http.Request) bool { return p.secure || r.TLS != nil }

// shown are the secrets that the browser shows, of all cookies of the name that we
// set: where it is the plain one, another site of the same domain may have put
// some there, in front of ours.
func (p *Pages) shown(r *http.Request) (all enroll.Browsers) {
	name := browserCookie
	if p.secured(r) {
		name = secureCookie
	}
	for _, c := range r.CookiesNamed(name) {
		for value := range strings.SplitSeq(c.Value, ".") {
			all = append(all, enroll.Browser(value))
		}
	}
	return all
}

// keptBrowsers are the steps, each with a secret of its own, that a browser may
// have under way: identifications begun in two windows, a video that waits.
const keptBrowsers = 8

// newBrowser makes a secret for a step that ties the browser, and leaves it
// there in front of those of the steps before.
func (p *Pages) newBrowser(w http.ResponseWriter, r *http.Request) enroll.Browser {
	fresh := rand.Text() + rand.Text()
	all := []string{fresh}
	for _, b := range p.shown(r) {
		if len(b) == len(fresh) && len(all) < keptBrowsers && !slices.Contains(all, string(b)) {
			all = append(all, string(b))
		}
	}
	c := &http.Cookie{
		Name: browserCookie, Value: strings.Join(all, "."), Path: "/enrol/" + r.PathValue("id"), MaxAge: 30 * 24 * 3600,
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if p.secured(r) {
		c.Name, c.Path, c.Secure = secureCookie, "/", true // the prefix wants the path
	}
	http.SetCookie(w, c)
	return enroll.Browser(fresh)
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
	p.render(w, r, http.StatusOK, p.viewOf(r, c, p.shown(r)))
}

func (p *Pages) viewOf(r *http.Request, c *enroll.Certificate, browser enroll.Browsers) *view {
	v := p.blank(r)
	v.Owner, v.Kind, v.Seal = c.Owner, string(c.Kind), c.Kind == keys.ESeal
	if name, differs := c.LabelDiffers(); differs {
		v.OtherName = name
	}
	v.Device = c.EnrolsDevice()
	v.Step = "end"
	if c.State == enroll.Working {
		v.Step = "wait"
	}
	if !c.ShownAt.IsZero() && !v.Device {
		v.ShownAt, v.ShownTo = c.ShownAt.Format("2006-01-02 15:04:05")+" UTC", c.ShownTo
	}
	if e, err := p.enroll.Enrolled(r.Context(), c); err == nil && e != nil {
		v.DeviceAt, v.DeviceBy, v.DeviceFrom = e.At.Format("2006-01-02 15:04:05")+" UTC", v.T.Factors[e.Factor], e.Address
	}
	if p.enroll.SendsCodes(c) {
		v.SendCode = strings.TrimSuffix(r.URL.Path, "/send-otp") + "/send-otp"
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
	v.Step = "identify"
	v.Again = c.State == enroll.Done
	v.Methods = map[string]bool{}
	for _, m := range p.enroll.Methods(c) {
		v.Methods[m] = true
		if a := p.awayOf(r, v, c, m); a != nil {
			v.Away = append(v.Away, a)
		}
	}
	v.Statement = r.URL.Path + "/statement.pdf"
	c.Ordered().Each(func(name, value string) {
		v.Attributes = append(v.Attributes, row{Name: v.T.Attributes[name], Value: value})
	})
	if c.Unconfirmed() && c.Identified(browser) {
		v.confirms(c)
		return v
	}
	if c.Identified(browser) {
		if v.Step = "reveal"; v.Device {
			v.Step = "device"
		}
		return v
	}
	if waits, err := p.enroll.Pending(r.Context(), c); err == nil && waits {
		v.Step = "wait"
	}
	return v
}

// confirms lays out what the holder is asked to confirm.
func (v *view) confirms(c *enroll.Certificate) {
	v.Step, v.Digest, v.Attributes = "confirm", c.Shown(), nil
	c.Certified.Seen().Each(func(name, value string) {
		v.Attributes = append(v.Attributes, row{v.T.Attributes[name], value, slices.Contains(c.Certified.Filled, name)})
	})
}

// addressOf is the address that a request came from, without the port.
func addressOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

func (p *Pages) blank(r *http.Request) *view {
	lang := look.Language(r)
	return &view{Head: look.Head{Title: look.T("Your signing certificate", "Il tuo certificato di firma"), Lang: lang, Private: true}, T: translations[string(lang)]}
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

// Uploads: a short video, a photo and an extract from a register, or a signed
// statement.
const (
	maxUpload = 128 << 20
	maxSigned = 16 << 20
	maxField  = 4096
	maxForm   = 16 << 10 // without files
)

// form is what a page posted, read as it comes: files go where they are kept,
// sealed, and never to a temporary file.
type form struct {
	body   io.Reader
	values url.Values
	parts  *multipart.Reader
	file   *multipart.Part // the first file, not read yet
}

// openForm reads the fields before the first file.
func openForm(w http.ResponseWriter, r *http.Request) (*form, error) {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		err := r.ParseForm()
		return &form{values: r.PostForm}, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	parts, err := r.MultipartReader()
	if err != nil {
		return nil, err
	}
	f := &form{body: r.Body, values: url.Values{}, parts: parts}
	for range maxForm / maxField {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return nil, err
		}
		if part.FileName() != "" {
			f.file = part
			return f, nil
		}
		b, err := io.ReadAll(io.LimitReader(part, maxField))
		if err != nil {
			return nil, err
		}
		f.values.Add(part.FormName(), string(b))
	}
	return nil, errors.New("too many fields")
}

// next returns the next file of a form, or io.EOF.
func (f *form) next() (*multipart.Part, error) {
	if part := f.file; part != nil {
		f.file = nil
		return part, nil
	}
	if f.parts == nil {
		return nil, io.EOF
	}
	for {
		part, err := f.parts.NextPart()
		if err != nil || part.FileName() != "" {
			return part, err
		}
	}
}

// drain reads what is left of a form.
func (f *form) drain() error {
	for {
		if _, err := f.next(); err != nil {
			if errors.Is(err, io.EOF) {
				_, err = io.Copy(io.Discard, f.body)
			}
			return err
		}
	}
}

func (p *Pages) act(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	c, err := p.enroll.ByLink(ctx, r.PathValue("id"), r.PathValue("secret"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	browser := p.shown(r)
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") {
		// Each may bring much. Who has the link only does not keep the holder waiting.
		upload := c.ID + rand.Text()
		if len(browser) > 0 {
			upload = c.ID + string(browser[0])
		}
		if _, busy := p.busy.LoadOrStore(upload, true); busy {
			p.refused(w, r, fault.New(fault.WrongState, "files of this order are being taken in: wait a moment"))
			return
		}
		defer p.busy.Delete(upload)
	}
	f, err := openForm(w, r)
	if err != nil {
		p.again(w, r, c, p.blank(r).T.TooLarge)
		return
	}
	tie := func() enroll.Browser { // a new secret, whatever was shown
		b := p.newBrowser(w, r)
		browser = append(browser, b)
		return b
	}
	var cred *enroll.Credentials
	switch p.action(f) {
	case "approve":
		c, err = p.enroll.ApproveInSandbox(ctx, c, tie())
	case "signature":
		c, err = p.bySignature(ctx, f, c, tie())
	case "video":
		c, err = p.byVideo(ctx, f, c, tie())
	case "credential":
		c, err = p.enroll.ByCredential(ctx, c, f.values.Get("credential"), f.values.Get("pin"), browser, tie())
	case "account":
		c, err = p.enroll.ByAccount(ctx, c, remote.Login{
			ID: f.values.Get("username"), Password: f.values.Get("password"), Delegate: f.values.Get("delegate"), DelegatePassword: f.values.Get("delegatePassword"),
		}, tie())
	case "confirm":
		c, err = p.enroll.Confirm(ctx, c, f.values.Get("shown"), browser)
	case "reveal":
	case "device":
		cred, err = p.enroll.EnrolDevice(ctx, c, f.values.Get("password"), f.values.Get("code"), browser, addressOf(r))
	default:
		err = fault.New(fault.BadField, "unknown action")
	}
	if err == nil && cred == nil && c.HasUnseen() && (f.values.Get("action") == "reveal" || c.Identified(browser)) {
		cred, err = p.enroll.Reveal(ctx, c, browser, addressOf(r))
	}
	if err != nil {
		p.refused(w, r, err)
		return
	}
	v := p.viewOf(r, c, browser)
	if cred != nil {
		v.Step, v.Credentials, v.ShownAt = "shown", cred, ""
		v.QR = p.qr(cred)
	}
	p.render(w, r, http.StatusOK, v)
}

// action is what a form asks for. One with a username and no action is that of a
// key at a provider.
func (p *Pages) action(f *form) string {
	if name := f.values.Get("action"); name != "" || f.values.Get("username") == "" {
		return name
	}
	return "account"
}

// sendCode has the provider of a key send a one-time password.
func (p *Pages) sendCode(w http.ResponseWriter, r *http.Request) {
	c, err := p.enroll.ByLink(r.Context(), r.PathValue("id"), r.PathValue("secret"))
	if err != nil {
		p.fail(w, r, err)
		return
	}
	f, err := openForm(w, r)
	if err != nil {
		p.again(w, r, c, p.blank(r).T.TooLarge)
		return
	}
	if err := p.enroll.SendCode(r.Context(), c, f.values.Get("username"), f.values.Get("password")); err != nil {
		p.refused(w, r, err)
		return
	}
	v := p.viewOf(r, c, p.shown(r))
	v.Sent = true
	p.render(w, r, http.StatusOK, v)
}

func (p *Pages) bySignature(ctx context.Context, f *form, c *enroll.Certificate, b enroll.Browser) (*enroll.Certificate, error) {
	part, err := f.next()
	if err != nil || part.FormName() != "document" {
		return nil, fault.New(fault.BadField, "document is missing")
	}
	spool := upload.New(p.spool, upload.Limits{})
	defer spool.Close()
	document := spool.Write()
	n, err := io.Copy(document, io.LimitReader(part, maxSigned+1))
	if err == nil && n <= maxSigned {
		err = f.drain() // only then does the server notice that its client hangs up
	}
	switch {
	case errors.Is(err, fault.Unavailable):
		return nil, err
	case err != nil || n > maxSigned:
		return nil, fault.New(fault.BadField, "document is too large or was cut short")
	}
	return p.enroll.BySignature(ctx, c, document.Source(), b)
}

func (p *Pages) byVideo(ctx context.Context, f *form, c *enroll.Certificate, b enroll.Browser) (*enroll.Certificate, error) {
	next := func() (enroll.Evidence, error) {
		for {
			part, err := f.next()
			if err != nil {
				return enroll.Evidence{}, err
			}
			name := part.FormName()
			if name != "video" && name != "photo" && name != "organization" {
				continue
			}
			head := make([]byte, sniffed)
			n, err := io.ReadFull(part, head)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
				return enroll.Evidence{}, fault.New(fault.BadField, "%s cannot be read", name)
			}
			if n == 0 {
				return enroll.Evidence{}, fault.New(fault.BadField, "%s is missing", name)
			}
			if !acceptable(name, head[:n]) {
				return enroll.Evidence{}, fault.New(fault.BadField, "%s is neither a film nor a picture", name)
			}
			return enroll.Evidence{Name: name + "-" + clean(part.FileName()) + extension(head[:n]), Data: io.MultiReader(bytes.NewReader(head[:n]), part)}, nil
		}
	}
	return p.enroll.ByVideo(ctx, c, next, b)
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
	v := p.viewOf(r, c, p.shown(r))
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
		v = p.viewOf(r, c, p.shown(r))
	}
	v.Problem, v.Code = v.sentence(f), int(f.Code)
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
	p.set.Render(w, r, status, "enrol", v)
}
