package enrol

import (
	"context"
	"crypto/rand"
	"errors"
	"html/template"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/remote"
	"rogito.dev/rogito/server/internal/upload"
)

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
			p.refused(w, r, r.PathValue("method"), fault.New(fault.WrongState, "files of this order are being taken in: wait a moment"))
			return
		}
		defer p.busy.Delete(upload)
	}
	f, err := openForm(w, r)
	if err != nil {
		p.again(w, r, c, r.PathValue("method"), tooLarge)
		return
	}
	action := p.action(f)
	tie := func() enroll.Browser { // a new secret, whatever was shown
		b := p.newBrowser(w, r)
		browser = append(browser, b)
		return b
	}
	var cred *enroll.Credentials
	tried := ""
	switch action {
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
	case "try":
		cred, err = p.enroll.StillShown(c, f.values.Get("kept"))
		if tried = "wrong"; err == nil && keys.Fits(cred.TOTPSecret, f.values.Get("code"), time.Now()) {
			tried = "right"
		}
	case "device":
		cred, err = p.enroll.EnrolDevice(ctx, c, f.values.Get("password"), f.values.Get("code"), browser, look.Address(r))
	default:
		err = fault.New(fault.BadField, "unknown action")
	}
	if err == nil && cred == nil && c.HasUnseen() && (action == "reveal" || c.Identified(browser)) {
		cred, err = p.enroll.Reveal(ctx, c, browser, look.Address(r))
	}
	if err != nil {
		p.refused(w, r, action, err)
		return
	}
	if cred == nil && r.PathValue("method") != "" { // loading it again sends nothing again
		http.Redirect(w, r, linkPath(c), http.StatusSeeOther)
		return
	}
	v := p.viewOf(r, c, browser, "")
	if cred != nil {
		if err := p.reveals(v, c, cred); err != nil {
			p.fail(w, r, err)
			return
		}
		v.Tried = tried
	}
	p.render(w, r, http.StatusOK, v)
}

// reveals lays out the credentials.
func (p *Pages) reveals(v *view, c *enroll.Certificate, cred *enroll.Credentials) (err error) {
	v.Step, v.Credentials, v.ShownAt, v.DeviceAt = "shown", cred, time.Time{}, time.Time{}
	v.Scripts = append(v.Scripts, "copy.js")
	if cred.TOTPSecret == "" {
		return nil
	}
	key, err := keys.TOTPKey(p.issuer, cred.Username, cred.TOTPSecret)
	if err != nil {
		return err
	}
	v.OTPAuth, v.QR = template.URL(key.URL()), look.Code(key.URL()) //nolint:gosec // our own address
	v.Kept, err = p.enroll.KeepShown(c, cred)
	return err
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
		p.again(w, r, c, "", tooLarge)
		return
	}
	if err := p.enroll.SendCode(r.Context(), c, f.values.Get("username"), f.values.Get("password")); err != nil {
		p.refused(w, r, "", err)
		return
	}
	v := p.viewOf(r, c, p.shown(r), "")
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
