package console

import (
	"archive/zip"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
)

func titled(r *ledger.Record) string {
	if strings.TrimSpace(r.Title) == "" {
		return r.ID
	}
	return r.Title
}

// recordPage is one record; the page after signing is its short form.
type recordPage struct {
	look.Head
	As         string
	R          *ledger.Record
	Name       string
	State      chip
	Format     look.Text
	Kind       look.Text
	Problem    look.Text
	Documents  []document
	Signed     string // where the signed document is
	SignedName string
	Parts      []part
	Tally      look.Text // of a batch of which not all was signed
	Failed     []failure
	Again      *again
	Gone       bool // the files were deleted
	Locked     bool // the token may not read them
	Waits      bool
	Working    bool // people are about to be invited: the server's turn
	Approval   bool // another person must approve
	MayApprove bool
	Events     []event
	Callbacks  []delivery
	MayResend  bool
	MaySign    bool
	By         []who
	List       string    // the part of the list that led here
	Notice     look.Text // of what was just done
	People     []person
	MayStop    bool
	MayDelete  bool
	Letters    []letter    // that a sandbox did not send
	Next       string      // record of what was tried again
	Before     string      // record that this is the rest of
	Remarks    []look.Text // on the visible signature
}

// trail reads from the log of a record its neighbours and its stamp.
func (p *recordPage) trail(kind string, detail []byte) {
	switch kind {
	case ledger.KindRetry:
		var one ledger.Retry
		if json.Unmarshal(detail, &one) == nil {
			p.Next, p.Before = cmp.Or(one.Next, p.Next), cmp.Or(one.Before, p.Before)
		}
	case "signature":
		var one struct {
			Remarks []ledger.Remark `json:"remarks"`
		}
		if json.Unmarshal(detail, &one) == nil {
			for _, r := range one.Remarks {
				if said := remark(r); !slices.Contains(p.Remarks, said) {
					p.Remarks = append(p.Remarks, said)
				}
			}
		}
	}
}

type document struct {
	Name, MediaType, SHA256 string
	Size                    int64
}

// part is a signed document of several.
type part struct {
	Name    string
	Address string
	Size    int64
}

// event is a line of the audit log.
type event struct {
	At     time.Time
	Name   look.Text
	Log    look.Text
	Detail string
}

type delivery struct {
	ID, URL, Answer string
	At              time.Time
	Attempts        int
	Done, Active    bool
	Problem         string
}

// find reads a record of the account, with what both of its pages show. The
// answer to a request may be seen by the token that asked, whatever its scopes.
func (d *Pages) find(v *visit, answer bool) (*recordPage, error) {
	lacks := d.need(v, http.MethodGet, "signatures")
	if lacks != nil && !answer {
		return nil, lacks
	}
	r, err := d.Signing.Find(v.ctx(), v.accountID(), v.r.PathValue("id"))
	if err != nil && lacks != nil || err == nil && lacks != nil && r.TokenID != v.Caller.TokenID {
		return nil, lacks // what a call answers, its own token may see
	}
	if err != nil {
		return nil, err
	}
	p := &recordPage{
		Head: d.head(v, look.Same(titled(r))), As: v.accountID(), R: r, Name: titled(r), State: stateOf(r), Format: formats[r.Type], Kind: kindOf(r.CertificateType),
		MaySign: d.maySign(v), Waits: !r.State.Final(), Approval: r.Approval == "WAITING" && !r.State.Final(),
	}
	for _, f := range r.Inputs {
		p.Documents = append(p.Documents, document{cmp.Or(f.Label, f.Name), f.MediaType, f.SHA256, f.Size})
	}
	if r.State == ledger.Error {
		p.Problem = asSentence(look.Sentence(refusalOf(r)))
	}
	if r.Signed != nil {
		p.Gone, p.Locked = r.Signed.Deleted(), lacks != nil
		if !p.Gone && !p.Locked {
			p.Signed, p.SignedName = "/console/records/"+r.ID+"/signed", signedName(r)
			p.Parts, err = d.parts(v, r)
		}
	}
	if r.Tally.Partly() {
		p.Tally = partly(r.Tally)
	}
	if err == nil && r.State.Final() {
		err = d.shortfall(v, p)
	}
	return p, err
}

// signedName is what a signed document is called: after the one that was signed, and
// never like it.
func signedName(r *ledger.Record) string {
	_, ext, _ := strings.Cut(r.Signed.Name, ".")
	name := r.ID
	switch {
	case len(r.Inputs) == 1 && r.Inputs[0].Label != "":
		name = r.Inputs[0].Label
	case r.Options.Batch && len(r.Inputs) > 0 && r.Inputs[0].Label != "": // "lease.pdf + 3" is no name of a file
		name = strings.TrimSuffix(r.Inputs[0].Label, path.Ext(r.Inputs[0].Label)) + "." + ext
	case r.Title != "":
		name = r.Title
	}
	return nameSigned(name, ext)
}

// nameSigned is the name of a document, signed into a file with an ending.
func nameSigned(name, ext string) string {
	name = strings.Map(func(c rune) rune {
		if c < ' ' || strings.ContainsRune(`/\:*?"<>|`, c) {
			return '_'
		}
		return c
	}, name)
	own := strings.TrimPrefix(path.Ext(name), ".")
	switch {
	case own != "" && strings.EqualFold(own, ext):
		return strings.TrimSuffix(name, "."+own) + "-signed." + ext
	case own != "" && strings.HasPrefix(ext, strings.ToLower(own)+"."):
		return strings.TrimSuffix(name, "."+own) + "." + ext
	}
	return name + "." + ext
}

// mostParts bounds the list of signed documents that are offered one by one.
const mostParts = 1000

// parts are the signed documents in the zip of a batch.
func (d *Pages) parts(v *visit, r *ledger.Record) ([]part, error) {
	if !r.Options.Batch || r.Signed.Extension != "zip" {
		return nil, nil
	}
	var all []part
	err := d.unzip(v, r, func(z *zip.Reader) error {
		for i, f := range z.File {
			if f.Name != "report.json" && len(all) < mostParts {
				all = append(all, part{entryName(r, f.Name), "/console/records/" + r.ID + "/signed/" + strconv.Itoa(i), int64(f.UncompressedSize64)}) //nolint:gosec // of our own making
			}
		}
		return nil
	})
	return all, err
}

// entryName is that of a signed document of a batch, by its name in the zip: with a
// number in front of it there, and often the one that the unsigned document has.
func entryName(r *ledger.Record, entry string) string {
	number, name, _ := strings.Cut(entry, "_")
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(r.Inputs) || !strings.EqualFold(path.Ext(r.Inputs[i].Label), path.Ext(name)) {
		return name // its ending says that it is signed
	}
	return nameSigned(name, strings.TrimPrefix(path.Ext(name), "."))
}

// unzip opens the signed documents without a note of it: nothing leaves.
func (d *Pages) unzip(v *visit, r *ledger.Record, look func(*zip.Reader) error) error {
	b, err := d.Signing.Peek(v.ctx(), r)
	if err != nil {
		return err
	}
	defer b.Close()
	z, err := zip.NewReader(b, r.Signed.Size)
	if err != nil {
		return err
	}
	return look(z)
}

// outcome is the page after signing: it waits, says what became of it, and hands
// the signed document out.
func (d *Pages) outcome(v *visit) error {
	p, err := d.find(v, true)
	if err != nil {
		return err
	}
	_, entries, err := d.Signing.Trail(v.ctx(), v.accountID(), p.R.ID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		_, detail := e.Text()
		p.trail(e.Kind, detail)
	}
	p.Title = look.T("Signing", "Firma in corso")
	switch p.R.State {
	case ledger.Done:
		p.Title = look.T("Signed", "Firmato")
		if !p.Tally.IsZero() {
			p.Title = p.Tally
		}
	case ledger.Error:
		p.Title = look.T("Not signed", "Non firmato")
	default:
		wait := "2"
		if p.Approval {
			wait = "15"
		}
		v.w.Header().Set("Refresh", wait) // without a script
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "outcome", p)
	return nil
}

func (d *Pages) record(v *visit) error {
	p, err := d.find(v, false)
	if err != nil {
		return err
	}
	if n, ok := notices[v.r.URL.Query().Get("done")]; ok {
		p.Notice = n
	}
	_, entries, err := d.Signing.Trail(v.ctx(), v.accountID(), p.R.ID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		log, detail := e.Text()
		p.trail(e.Kind, detail)
		name, ok := events[e.Kind]
		if !ok {
			name = look.Same(e.Kind)
		}
		one := event{At: time.UnixMilli(e.CreatedAt), Name: name, Log: logText(log)}
		var b bytes.Buffer
		if len(detail) > 0 && string(detail) != "null" && json.Indent(&b, detail, "", "  ") == nil {
			one.Detail = b.String()
		}
		p.Events = append(p.Events, one)
	}
	p.MayApprove = p.Approval && d.may(v, http.MethodPost, "approvals")
	if d.may(v, http.MethodGet, "callbacks") {
		all, err := d.Callbacks.ListRecord(v.ctx(), v.accountID(), p.R.ID, 100)
		if err != nil {
			return err
		}
		p.MayResend = d.may(v, http.MethodPost, "callbacks")
		for _, c := range all {
			p.Callbacks = append(p.Callbacks, deliveryOf(c))
		}
	}
	d.follow(v, p)
	if p.By, err = d.namer(v)(p.R); err != nil {
		return err
	}
	if list := v.r.URL.Query().Get("list"); list != "" {
		if q, err := url.ParseQuery(clip(list, 4000)); err == nil {
			p.List = "?" + q.Encode()
		}
	}
	p.MayDelete = p.R.State.Final() && d.may(v, http.MethodDelete, "signatures") && d.mayOpen(v, "GET /console/records/{id}/delete")
	if p.Working || p.Waits && !p.Approval && p.R.State != ledger.WaitSigners {
		v.w.Header().Set("Refresh", "3") // never while a form is being filled in
	}
	d.pages.Render(v.w, v.r, http.StatusOK, "record", p)
	return nil
}

func deliveryOf(c *callback.Delivery) delivery {
	one := delivery{ID: c.ID, URL: c.URL, At: c.CreatedAt, Attempts: c.Attempts, Active: c.Active, Problem: c.Problem, Done: c.Status >= 200 && c.Status < 300}
	if c.Status != 0 {
		one.Answer = strconv.Itoa(c.Status)
	}
	return one
}

// notices are what a page says after something was done.
var notices = map[string]look.Text{
	"resend":   look.T("The notice is being sent again.", "La notifica viene inviata di nuovo."),
	"approve":  look.T("Approved: it is being signed.", "Approvata: la firma è in corso."),
	"refuse":   look.T("Refused: nothing is signed.", "Rifiutata: nulla viene firmato."),
	"suspend":  look.T("The certificate is suspended. Nothing can be signed with it until you resume it.", "Il certificato è sospeso. Non si può firmare finché non lo riattivi."),
	"resume":   look.T("The certificate is active again.", "Il certificato è di nuovo attivo."),
	"revoke":   look.T("The certificate is revoked, for good.", "Il certificato è revocato, in modo definitivo."),
	"cancel":   look.T("The order is cancelled, and its price goes back to the wallet.", "L'ordine è annullato e il prezzo torna nel portafoglio."),
	"mailed":   look.T("The link is on its way.", "Il link è in partenza."),
	"review":   look.T("Your decision is written down.", "La tua decisione è registrata."),
	"remind":   look.T("The reminder is on its way.", "Il promemoria è in partenza."),
	"stop":     look.T("The request is cancelled. Whoever was invited is told.", "La richiesta è annullata. Chi era stato invitato viene avvisato."),
	"invite":   look.T("The documents are being checked; then everybody who is due gets a link.", "I documenti sono in controllo; poi chi è di turno riceve il suo link."),
	"invited":  look.T("The invitation is on its way: a link that is good once, for a day.", "L'invito è in partenza: un collegamento che vale una volta, per un giorno."),
	"role":     look.T("The role is changed, from now on.", "Il ruolo è cambiato, da subito."),
	"person":   look.T("The person is removed.", "La persona è rimossa."),
	"passkey":  look.T("The passkey was added.", "La passkey è stata aggiunta."),
	"unkeyed":  look.T("The passkey was removed.", "La passkey è stata rimossa."),
	"session":  look.T("The session is ended.", "La sessione è terminata."),
	"record":   look.T("The record is deleted.", "La pratica è eliminata."),
	"template": look.T("The template is deleted.", "Il modello è eliminato."),
	"token":    look.T("The token is revoked.", "Il token è revocato."),
}

func (d *Pages) download(v *visit) error {
	r, err := d.Signing.Find(v.ctx(), v.accountID(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	got, err := d.Signing.Open(v.ctx(), v.signer(), r.ID, ledger.SignedDocument)
	if err != nil {
		return err
	}
	d.send(v, &api.Content{Type: mediaOf(got.File.MediaType), Name: signedName(r), Reader: got.Data, Size: got.File.Size, Modified: got.File.CreatedAt})
	return nil
}

// certificate is the certificate of completion, as a page of its own or as PDF.
func (d *Pages) certificate(v *visit) error    { return d.sendCertificate(v, "text/html") }
func (d *Pages) certificatePDF(v *visit) error { return d.sendCertificate(v, "application/pdf") }

func (d *Pages) sendCertificate(v *visit, form string) error {
	c, err := d.Certificate(v.ctx(), v.accountID(), v.r.PathValue("id"), form, look.Language(v.r))
	if err != nil {
		return err
	}
	d.send(v, c)
	return nil
}

// mediaOf is what a document is sent as: nothing that a browser would run.
func mediaOf(mime string) string {
	if mime == "application/pdf" {
		return mime
	}
	return "application/octet-stream"
}

func (d *Pages) send(v *visit, c *api.Content) {
	look.Headers(v.w)
	d.Send(v.w, v.r, c)
}

// downloadOne hands one signed document of a batch out. The log says that of the
// whole.
func (d *Pages) downloadOne(v *visit) error {
	none := fault.New(fault.NotFound, "there is no such document")
	r, err := d.Signing.Find(v.ctx(), v.accountID(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(v.r.PathValue("n"))
	if err != nil || !r.Options.Batch || r.Signed == nil || r.Signed.Extension != "zip" {
		return none
	}
	got, err := d.Signing.Open(v.ctx(), v.signer(), r.ID, ledger.SignedDocument)
	if err != nil {
		return err
	}
	defer got.Data.Close()
	at, ok := got.Data.(io.ReaderAt)
	if !ok {
		return errors.New("console: a stored document cannot be read at any place")
	}
	z, err := zip.NewReader(at, got.File.Size)
	if err != nil {
		return err
	}
	if n < 0 || n >= len(z.File) || z.File[n].Name == "report.json" {
		return none
	}
	f := z.File[n]
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	name := entryName(r, f.Name)
	kind := "application/octet-stream"
	if strings.HasSuffix(strings.ToLower(name), ".pdf") {
		kind = "application/pdf"
	}
	d.send(v, &api.Content{Type: kind, Name: name, Reader: in, Size: int64(f.UncompressedSize64), Modified: got.File.CreatedAt}) //nolint:gosec // of our own making
	return nil
}

func (d *Pages) resend(v *visit, _ url.Values) error {
	if !isID(v.r.PathValue("callback")) {
		return fault.New(fault.MalformedID, "this is no delivery")
	}
	c, err := d.Callbacks.Resend(v.ctx(), v.accountID(), v.r.PathValue("callback"))
	if err != nil {
		return err
	}
	return d.done(v, "/console/records/"+c.Record, "resend")
}

// done shows a page again after something was done, so that loading it again
// does nothing.
func (d *Pages) done(v *visit, address, what string) error {
	seeOther(v.w, v.r, address+"?done="+what)
	return nil
}

func (d *Pages) approve(v *visit, _ url.Values) error {
	r, err := d.Signing.Approve(v.ctx(), v.signer(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return d.done(v, "/console/records/"+r.ID, "approve")
}

func (d *Pages) refuse(v *visit, _ url.Values) error {
	r, err := d.Signing.Refuse(v.ctx(), v.signer(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	return d.done(v, "/console/records/"+r.ID, "refuse")
}
