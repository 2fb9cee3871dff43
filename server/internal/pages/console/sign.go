package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/enroll"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/idempotency"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

// signPage is the form.
type signPage struct {
	look.Head
	As, Key   string
	Signers   []signer
	Unlisted  bool // the token may not read certificates: the username is typed
	Types     []look.Option
	Levels    []look.Option
	Layouts   []look.Option
	F         values // what was chosen
	Spots     []spot
	Locked    bool  // a PDF of the form wants its password
	Documents int64 // bytes of one document, of all
	Body      int64
	Most      int64             // megabytes of one document, in round figures
	MayInvite bool              // others may be asked to sign
	Wrong     map[string]string // at a field
}

// signer is a certificate in the list of the form.
type signer struct {
	Username, Owner string
	Kind            look.Text
	OTP             bool
	Why             look.Text // it cannot be chosen
	Selected        bool
}

// values are the fields of the form that may be shown again.
type values map[string]string

// kept are the fields that survive a login in the middle of the form: no
// password, no code.
var kept = append([]string{"certificateUsername", "signatureType", "level", "visible", "together", "title", "reason", "location", "layout"}, spotFields()...)

func (d *Pages) showSign(v *visit) error {
	f := values{}
	q := v.r.URL.Query()
	for _, name := range kept {
		f[name] = clip(q.Get(name), 255)
	}
	p, err := d.signPage(v, f)
	if err != nil {
		return err
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "sign", p)
	return nil
}

func (d *Pages) signPage(v *visit, f values) (*signPage, error) {
	if !d.maySign(v) {
		return nil, d.need(v, http.MethodPost, keys.Automatic.CertificateType())
	}
	p := &signPage{
		Head: d.head(v, look.T("Sign documents", "Firma documenti")), As: v.accountID(), Key: rand.Text(), F: f, Spots: spotsOf(f),
		Documents: d.Document, Body: d.Limits.Body, Most: d.Document / 1_000_000, MayInvite: d.mayInvite(v),
	}
	if p.Most > 50 {
		p.Most -= p.Most % 10
	}
	p.Scripts = append(p.Scripts, "sign.js", "looks.js")
	for _, name := range kept {
		f[name] += "" // templates want all of them
	}
	l := look.Language(v.r)
	p.Types = withChosen(f["signatureType"], []look.Option{
		{Value: "", Name: look.T("By what the document is", "In base al documento").In(l)},
		{Value: "pades", Name: look.T("In the PDF itself (PAdES)", "Dentro il PDF (PAdES)").In(l)},
		{Value: "cades", Name: look.T("In an envelope, .p7m (CAdES)", "In una busta .p7m (CAdES)").In(l)},
		{Value: "xades", Name: look.T("XML or container (XAdES)", "XML o contenitore (XAdES)").In(l)},
		{Value: "jades", Name: look.T("JSON (JAdES)", "JSON, cioè JAdES").In(l)},
	})
	p.Levels = levels(l, f["level"])
	p.Layouts = withChosen(f["layout"], []look.Option{
		{Value: "beside", Name: look.T("Picture beside the text", "Immagine accanto al testo").In(l)},
		{Value: "above", Name: look.T("Picture above the text", "Immagine sopra il testo").In(l)},
		{Value: "behind", Name: look.T("Picture behind the text, pale", "Immagine dietro il testo, tenue").In(l)},
		{Value: "picture", Name: look.T("Only the picture", "Solo l'immagine").In(l)},
		{Value: "text", Name: look.T("Only text", "Solo testo").In(l)},
		{Value: "compact", Name: look.T("Text in one paragraph", "Testo in un solo paragrafo").In(l)},
	})
	if p.Unlisted = !d.may(v, http.MethodGet, "certificates"); p.Unlisted {
		return p, nil
	}
	var err error
	p.Signers, err = d.signers(v, f["certificateUsername"])
	return p, err
}

// levels of a signature, the advised one first.
func levels(l paper.Lang, chosen string) []look.Option {
	return withChosen(chosen, []look.Option{
		{Value: "LT", Name: look.T("LT (advised): holds for years", "LT (consigliato): vale per anni").In(l)},
		{Value: "LTA", Name: look.T("LTA: for the archive", "LTA: per la conservazione").In(l)},
		{Value: "T", Name: look.T("T: with a time-stamp", "T: con marca temporale").In(l)},
		{Value: "B", Name: look.T("B: the signature alone", "B: solo la firma").In(l)},
	})
}

// withChosen marks the option that was chosen.
func withChosen(chosen string, all []look.Option) []look.Option {
	for i := range all {
		all[i].Selected = all[i].Value == chosen
	}
	return all
}

// signers are the certificates of the account: those that can sign first, then
// the others with the reason why not.
func (d *Pages) signers(v *visit, chosen string) ([]signer, error) {
	names, err := d.Keys.Usernames(v.ctx(), v.accountID())
	if err != nil {
		return nil, err
	}
	all, err := d.Enroll.List(v.ctx(), v.accountID(), enroll.Filter{Limit: 500})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b *enroll.Certificate) int { return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind) })
	var good, bad []signer
	for _, c := range all {
		s := signer{Username: names[c.ID], Owner: owner(c), Kind: kindNames[c.Kind], OTP: c.Kind == keys.OTP}
		switch {
		case c.State != enroll.Done:
			s.Why = certificateStates[c.State]
		case s.Username == "":
			s.Why = look.T("no key", "nessuna chiave")
		case time.Now().After(c.NotAfter):
			s.Why = certificateStates[enroll.Expired]
		case !d.may(v, http.MethodPost, c.Kind.CertificateType()):
			s.Why = look.T("your token may not use it", "il tuo token non può usarlo")
		}
		if !s.Why.IsZero() {
			bad = append(bad, s)
			continue
		}
		s.Selected = s.Username == chosen
		good = append(good, s)
	}
	return append(good, bad...), nil
}

// owner is who a certificate names, or the label that it was ordered with.
func owner(c *enroll.Certificate) string {
	if c.Certified != nil && c.Certified.CommonName != "" {
		return c.Certified.CommonName
	}
	return c.Owner
}

// typed reads the fields of a form whose session has ended, without its files. Less is read of a
// form without a session than of one whose session just ended.
func typed(w http.ResponseWriter, r *http.Request, most int64) url.Values {
	out := url.Values{}
	r.Body = http.MaxBytesReader(w, r.Body, most)
	parts, err := r.MultipartReader()
	if err != nil {
		return out
	}
	for range 2000 {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		name := part.FormName()
		b, err := io.ReadAll(io.LimitReader(part, 256))
		for _, k := range kept {
			if k == name && part.FileName() == "" && err == nil && len(b) > 0 {
				out.Set(name, strings.ToValidUTF8(string(b), ""))
			}
		}
	}
	return out
}

// posted is a form with files, read whole: long ones lie on disk.
type posted struct {
	spool  *upload.Spool
	values values
	files  []request.Document
	image  []byte                      // of a visible signature
	digest []byte                      // of all of it, for sending it once
	after  func(context.Context) error // what follows once it was carried out; nil: nothing
}

func (p *posted) close() { _ = p.spool.Close() }

// read reads the form as the API reads a body: within the same limits.
func (d *Pages) read(v *visit) (*posted, error) {
	mt, params, err := mime.ParseMediaType(v.r.Header.Get("Content-Type"))
	if err != nil || mt != "multipart/form-data" || params["boundary"] == "" {
		return nil, fault.New(fault.UnsupportedMedia, "the form must be sent as multipart/form-data")
	}
	tooLarge := look.Refusal(fault.TooLarge, look.T("These files are too large: at most %d MB each and %d MB together.", "Questi file sono troppo grandi: al massimo %d MB ciascuno e %d MB in tutto.").
		With(d.Document/1_000_000, d.Limits.Body/1_000_000))
	if v.r.ContentLength > d.Limits.Body {
		return nil, tooLarge
	}
	p := &posted{spool: upload.New(d.Spool, d.Limits), values: values{}}
	p.spool.Expect(v.r.ContentLength)
	body := http.MaxBytesReader(v.w, v.r.Body, d.Limits.Body)
	parts, err := p.spool.ReadForm(body, params["boundary"])
	if err == nil { // only at the end of a body does the server notice that its client hangs up
		_, err = io.Copy(io.Discard, body)
	}
	if err != nil {
		p.close()
		var over *http.MaxBytesError
		switch {
		case errors.As(err, &over):
			return nil, tooLarge
		case errors.Is(err, fault.Unavailable):
			return nil, err
		}
		return nil, fault.New(fault.BadBody, "the form could not be read to its end").Because(err)
	}
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%q %t %q %d\n", part.Field, part.File, part.Text.Name(), part.Text.Len())
		if _, err := io.Copy(sum, part.Text.Reader()); err != nil {
			p.close()
			return nil, err
		}
		if !part.File {
			text, err := part.Text.String(4096)
			if err == nil && part.Field != "inputDocuments" {
				p.values[part.Field] = text
			}
			continue
		}
		if part.Field == "image" && part.Text.Len() > 0 {
			if p.image, err = pictureIn(part.Text); err != nil {
				p.close()
				return nil, err
			}
		}
		if part.Field != "inputDocuments" {
			continue
		}
		src, err := part.Text.Document(d.Document)
		if errors.Is(err, upload.ErrTooLong) {
			err = tooLarge
		}
		if err != nil {
			p.close()
			return nil, err
		}
		name := strings.ReplaceAll(part.Text.Name(), "%22", `"`) // as browsers write a quotation mark there
		p.files = append(p.files, request.Document{Name: clip(name, 200), Source: src})
	}
	p.digest = sum.Sum(nil)
	return p, nil
}

// sign handles the form. It is carried out once, however often it is sent, and a browser that
// leaves does not stop it.
func (d *Pages) sign(v *visit) error {
	p, err := d.read(v)
	if err != nil {
		return d.signAgain(v, values{}, err)
	}
	defer p.close()
	if err := sameAccount(v, p.values["as"]); err != nil {
		return d.signAgain(v, p.values, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx()), signTime)
	defer cancel()
	r, err := d.submitOnce(ctx, v, p, d.submit)
	if err != nil {
		return d.signAgain(v, p.values, err)
	}
	if r.State == ledger.Error && correctable(r.ErrorNumber) {
		return d.signAgain(v, p.values, refusalOf(r))
	}
	seeOther(v.w, v.r, "/console/sign/"+r.ID)
	return nil
}

const signTime = 10 * time.Minute

// correctable says that what a record ended in can be mended in the form.
func correctable(n fault.Code) bool {
	switch n {
	case fault.WrongCredentials, fault.CertificateLocked, fault.CertificateNotUsable, fault.WrongOTP, fault.WrongCertificateKind, fault.NotSignable:
		return true
	}
	return false
}

// refusalOf is the error of a record, for a page.
func refusalOf(r *ledger.Record) error {
	f := fault.New(r.ErrorNumber, "%s", r.ErrorMessage)
	f.Status = http.StatusUnprocessableEntity
	return f
}

// signAgain shows the form again, with what was wrong.
func (d *Pages) signAgain(v *visit, f values, err error) error {
	var no *fault.Error
	if !errors.As(err, &no) || no.Code == fault.ScopeLacking {
		return err
	}
	p, oops := d.signPage(v, f)
	if oops != nil {
		return oops
	}
	p.Code = int(no.Code)
	if p.Alert, oops = d.triesLeft(v, no, f["certificateUsername"], refusalText(no)); oops != nil {
		return oops
	}
	if p.Locked = no.Code == fault.NotSignable && strings.Contains(no.Text, ledger.PasswordNeeded); p.Locked && f["pdfPassword"] == "" {
		p.Alert = pdfLocked
	}
	p.Wrong = atField(v, &p.Head)
	d.pages.Render(v.w, v.r, no.HTTP(), "sign", p)
	return nil
}

// fieldOf is the field of a form that an error is about.
var fieldOf = map[fault.Code]string{
	fault.NoPassword: "certificatePassword", fault.WrongCredentials: "certificatePassword", fault.CertificateLocked: "certificatePassword",
	fault.NoOTP: "certificateOtp", fault.WrongOTP: "certificateOtp",
}

// atField is what the alert of a page says, for the field that it is about.
func atField(v *visit, h *look.Head) map[string]string {
	return map[string]string{fieldOf[fault.Code(h.Code)]: h.Alert.In(look.Language(v.r))}
}

// missing are fields that the form needs, as people call them.
var missing = map[fault.Code]look.Text{
	fault.NoUsername:       look.T("Choose the certificate to sign with.", "Scegli il certificato con cui firmare."),
	fault.NoPassword:       look.T("Enter the password of the certificate.", "Inserisci la password del certificato."),
	fault.NoOTP:            look.T("Enter the one-time password of your app.", "Inserisci il codice temporaneo della tua app."),
	fault.WrongCredentials: look.T("The password of the certificate is wrong.", "La password del certificato è errata."),
	fault.WrongOTP:         look.T("The one-time password is wrong, or was used already. Wait for the next one.", "Il codice temporaneo è errato o già usato. Aspetta il prossimo."),
}

// asSentence is a text that begins with a capital and ends with a full stop.
func asSentence(t look.Text) look.Text {
	return look.Text{English: punctuated(t.English), Italian: punctuated(t.Italian)}
}

// punctuated begins with a capital and ends with a full stop.
func punctuated(s string) string {
	if s == "" {
		return s
	}
	r := []rune(s)
	s = strings.ToUpper(string(r[:1])) + string(r[1:])
	if !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

// submitOnce submits a request under the key of its form. Sending the form again waits for the
// first submission and returns its record.
func (d *Pages) submitOnce(ctx context.Context, v *visit, p *posted, submit func(context.Context, *visit, *posted) (*ledger.Record, error)) (*ledger.Record, error) {
	key := p.values["key"]
	if key != "" {
		key = "console " + clip(key, 64)
	}
	for {
		claim, known, err := d.Idempotency.Begin(ctx, v.accountID(), key, p.digest)
		switch {
		case errors.Is(err, fault.StillRunning):
			select {
			case <-time.After(300 * time.Millisecond):
				continue
			case <-ctx.Done():
				return nil, err
			}
		case errors.Is(err, fault.KeyReused):
			return nil, look.Refusal(fault.KeyReused, look.T("This form was sent before, with other contents: that is done, and is among your records. Nothing more was signed. To sign these files too, send the form again.",
				"Questo modulo è già stato inviato con altri contenuti: quella firma è tra le tue pratiche. Altro non è stato firmato. Per firmare anche questi file, invia di nuovo."))
		case err != nil:
			return nil, err
		case known != nil:
			return d.Signing.Again(ctx, v.signer(), known.RecordID)
		}
		r, err := submit(idempotency.WithClaim(ctx, claim), v, p)
		claim.End()
		if !errors.Is(err, idempotency.ErrReplay) {
			return r, err
		}
	}
}

// Requests with more than this are signed in the background; the page that
// follows says how far they are.
const (
	inlineFiles = 10
	inlineBytes = 20 << 20
)

// submit asks for the signature as the API does.
func (d *Pages) submit(ctx context.Context, v *visit, p *posted) (*ledger.Record, error) {
	f := p.values
	kind := keys.Automatic
	cred, err := d.Keys.Find(ctx, v.accountID(), f["certificateUsername"])
	if err != nil {
		return nil, err
	}
	if cred != nil {
		kind = cred.Kind
	}
	if err := d.need(v, http.MethodPost, kind.CertificateType()); err != nil {
		return nil, err
	}
	if len(p.files) == 0 {
		return nil, look.Refusal(fault.BadDocuments, look.T("Choose at least one file to sign.", "Scegli almeno un file da firmare."))
	}
	options := map[string]any{"timezone": d.zone(v, f)}
	if f["level"] != "" {
		options["level"] = f["level"]
	}
	if len(p.files) > 1 && f["together"] == "" {
		options["batch"] = true
	}
	if inBackground(p.files) {
		options["asyncSignature"] = true
	}
	if f["pdfPassword"] != "" {
		options["encryptionPassword"] = f["pdfPassword"]
	}
	if f["visible"] != "" {
		if err := stamped(f, p.image, options); err != nil {
			return nil, err
		}
	}
	title := f["title"]
	if title == "" {
		title = titleOf(p.files)
	}
	members, err := membersOf(map[string]any{
		"certificateUsername": f["certificateUsername"], "certificatePassword": f["certificatePassword"], "certificateOtp": strings.ReplaceAll(f["certificateOtp"], " ", ""),
		"signatureType": f["signatureType"], "title": title, "options": options,
	})
	if err != nil {
		return nil, err
	}
	req, err := d.Signing.Requests.ParseFiles(kind, members, p.files, p.spool)
	if err != nil {
		return nil, err
	}
	return d.carryOut(ctx, v, req)
}

// membersOf writes the members of a request as JSON; empty ones are left out.
func membersOf(values map[string]any) (map[string]jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	for name, value := range values {
		if value == "" {
			continue
		}
		b, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		members[name] = b
	}
	return members, nil
}

// carryOut submits a request. A wrong password is found before there is a record, which would
// otherwise stay in the list as failed although the form is simply sent again.
func (d *Pages) carryOut(ctx context.Context, v *visit, req *request.Request) (*ledger.Record, error) {
	cred, err := d.Keys.Find(ctx, v.accountID(), req.Username)
	if err == nil && cred != nil && cred.Remote == "" { // that of others is judged where the key is
		_, err = d.Keys.Authenticate(ctx, v.accountID(), req.Username, req.Password)
	}
	if errors.Is(err, keys.ErrPassword) {
		f := fault.New(fault.WrongCredentials, "wrong certificate credentials")
		f.Status = http.StatusUnprocessableEntity
		return nil, f
	}
	if err != nil {
		return nil, err
	}
	return d.Signing.Submit(ctx, req, v.signer())
}

// triesLeft adds to what is said of a wrong password or code how many more may be wrong.
func (d *Pages) triesLeft(v *visit, no *fault.Error, username string, text look.Text) (look.Text, error) {
	if no.Code != fault.WrongCredentials && no.Code != fault.WrongOTP {
		return text, nil
	}
	left, locked, err := d.Keys.Left(v.ctx(), v.accountID(), username)
	more := look.T(" Tries left before the certificate is locked for %d minutes: %d.", " Tentativi rimasti prima che il certificato si blocchi per %d minuti: %d.").With(int(locked.Minutes()), left)
	return look.Text{English: text.English + more.English, Italian: text.Italian + more.Italian}, err
}

// zone is the name of the zone that a visible signature shows its time in: that of the
// server's settings, else that of Italy on an Italian page, else the browser's, which a
// script puts into the form.
func (d *Pages) zone(v *visit, f values) string {
	if z := look.Language(v.r).Zone(d.Site.Zone); z != nil && z != time.Local {
		return z.String()
	}
	if z, err := time.LoadLocation(clip(f["timezone"], 64)); err == nil && z != time.Local {
		return z.String()
	}
	return "UTC"
}

// titleOf names a record by its files.
func titleOf(files []request.Document) string {
	switch n := len(files); n {
	case 1:
		return files[0].Name
	case 2:
		return files[0].Name + ", " + files[1].Name
	default:
		return fmt.Sprintf("%s + %d", files[0].Name, n-1)
	}
}

func clip(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "")
	}
	return s
}
