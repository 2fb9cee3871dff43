package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/pages/look"
	"rogito.dev/rogito/server/internal/signing/ledger"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

// failure is a document of a batch that was not signed.
type failure struct {
	Name string
	Why  look.Text
	Code fault.Code
}

// again is the form that signs the rest.
type again struct {
	Key      string
	Password bool // one of them wants the password of the PDF
	OTP      bool
	Username string
	Named    bool              // the token may read it
	Wrong    map[string]string // at a field
}

// shortfall says what of a batch was not signed, and offers to try again.
func (d *Pages) shortfall(v *visit, p *recordPage) error {
	r := p.R
	locked, kept := false, true
	for i := range r.Results {
		one := &r.Results[i]
		if one.State == ledger.Done {
			continue
		}
		name := one.Name
		if name == "" && one.Index < len(r.Inputs) {
			name = r.Inputs[one.Index].Name
		}
		p.Failed = append(p.Failed, failure{name, whyNot(one), *one.ErrorNumber})
		locked = locked || one.NeedsPassword()
		kept = kept && one.Index < len(r.Inputs) && !r.Inputs[one.Index].Deleted() && r.Inputs[one.Index].Blob != ""
	}
	if len(p.Failed) == 0 || !kept || !d.may(v, http.MethodPost, r.CertificateType) {
		return nil
	}
	names, err := d.Keys.Usernames(v.ctx(), v.accountID())
	if err != nil || names[r.CertificateID] == "" {
		return err
	}
	p.Again = &again{rand.Text(), locked, r.Kind() == keys.OTP, names[r.CertificateID], d.may(v, http.MethodGet, "certificates"), nil}
	return nil
}

// whyNot is why a document was not signed, to go behind "because".
func whyNot(r *ledger.DocumentResult) look.Text {
	if r.NeedsPassword() {
		return look.T("the PDF is protected by a password", "il PDF è protetto da password")
	}
	text := look.Sentence(fault.New(*r.ErrorNumber, "%s", *r.ErrorMessage))
	if rest, ok := strings.CutPrefix(text.English, fmt.Sprintf("inputDocuments[%d] ", r.Index)); ok {
		text.English = "it " + rest
	}
	text.Italian = strings.TrimSuffix(strings.ToLower(text.Italian[:1])+text.Italian[1:], ".")
	return text
}

// retry signs those documents of a batch that were not signed, as a record of its own.
func (d *Pages) retry(v *visit, f url.Values) error {
	old, err := d.find(v, true)
	if err != nil {
		return err
	}
	if err := d.need(v, http.MethodPost, old.R.CertificateType); err != nil {
		return err
	}
	if old.Again == nil {
		return fault.New(fault.WrongState, "nothing of this record can be tried again")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx()), signTime)
	defer cancel()
	p := &posted{spool: upload.New(d.Spool, d.Limits), values: values{}}
	defer p.close()
	sum := sha256.New()
	fmt.Fprintf(sum, "retry %q\n", old.R.ID)
	for _, name := range []string{"key", "certificatePassword", "certificateOtp", "pdfPassword"} {
		p.values[name] = f.Get(name)
		fmt.Fprintf(sum, "%q\n", f.Get(name))
	}
	p.digest, p.values["certificateUsername"] = sum.Sum(nil), old.Again.Username
	for _, one := range old.R.Results {
		if one.State == ledger.Done {
			continue
		}
		w := p.spool.Write()
		if _, err := d.Signing.Copy(ctx, old.R, old.R.Inputs[one.Index], w); err != nil {
			return err
		}
		p.files = append(p.files, request.Document{Name: one.Name, Source: w.Source()})
	}
	r, err := d.submitOnce(ctx, v, p, func(ctx context.Context, v *visit, p *posted) (*ledger.Record, error) {
		r, err := d.submitRest(ctx, v, p, old.R)
		if err == nil && !(r.State == ledger.Error && correctable(r.ErrorNumber)) {
			err = d.Signing.Retried(ctx, old.R, r)
		}
		return r, err
	})
	if err == nil && r.State == ledger.Error && correctable(r.ErrorNumber) {
		err = refusalOf(r)
	}
	var no *fault.Error
	switch {
	case err == nil:
		seeOther(v.w, v.r, "/console/sign/"+r.ID)
		return nil
	case !errors.As(err, &no) || no.Code == fault.ScopeLacking:
		return err
	}
	old.Title, old.Code = partly(old.R.Tally), int(no.Code)
	if old.Alert, err = d.triesLeft(v, no, old.Again.Username, refusalText(no)); err != nil {
		return err
	}
	old.Again.Wrong = atField(v, &old.Head)
	d.pages.Render(v.w, v.r, no.HTTP(), "outcome", old)
	return nil
}

// refusalText is why a form that signs was refused, as people call it.
func refusalText(no *fault.Error) look.Text {
	text := look.Sentence(no)
	if t, ok := missing[no.Code]; ok {
		text = t
	}
	if no.Code == fault.NotSignable && strings.Contains(no.Text, ledger.PasswordNeeded) {
		text = look.T("The password does not open the PDF.", "La password non apre il PDF.")
	}
	return asSentence(text)
}

// submitRest asks for the signatures with the options of the record that lacks them.
func (d *Pages) submitRest(ctx context.Context, v *visit, p *posted, old *ledger.Record) (*ledger.Record, error) {
	options := map[string]any{}
	if old.Image != nil {
		var b strings.Builder
		enc := base64.NewEncoder(base64.StdEncoding, &b)
		if _, err := d.Signing.Copy(ctx, old, old.Image, enc); err != nil {
			return nil, err
		}
		_ = enc.Close() // a builder takes all
		options["signerImage"] = map[string]any{"image": b.String()}
	}
	members, err := membersOf(map[string]any{
		"certificateUsername": p.values["certificateUsername"], "certificatePassword": p.values["certificatePassword"],
		"certificateOtp": strings.ReplaceAll(p.values["certificateOtp"], " ", ""), "title": titleOf(p.files), "options": options,
	})
	if err != nil {
		return nil, err
	}
	req, err := d.Signing.Requests.ParseFiles(old.Kind(), members, p.files, p.spool)
	if err != nil {
		return nil, err
	}
	image := req.Options.SignerImage
	req.Type, req.Options = old.Options.Asked, old.Options
	if image != nil && old.Options.SignerImage != nil {
		look := *old.Options.SignerImage
		look.Image, req.Options.SignerImage = image.Image, &look
	}
	req.Options.DocPassword, req.Options.Batch = p.values["pdfPassword"], len(p.files) > 1
	req.Options.AsyncValidation, req.Options.AsyncSignature = false, inBackground(p.files)
	return d.carryOut(ctx, v, req)
}

// inBackground says that there is too much to sign while a browser waits.
func inBackground(files []request.Document) bool {
	var size int64
	for _, one := range files {
		size += one.Source.Size()
	}
	return len(files) > inlineFiles || size > inlineBytes
}

// partly is how far a batch came.
func partly(t ledger.Tally) look.Text {
	return look.T("%d of %d signed", "%d di %d firmati").With(t.Signed, t.Of)
}
