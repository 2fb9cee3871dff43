// Package verification has the operations that verify signatures.
package verification

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/upload"
)

// Verify serves verification. Nothing that is uploaded for it is kept.
type Verify struct {
	Verifier *rogito.Verifier
	// MaxDocument bounds one document; zero means no bound beyond the body's.
	MaxDocument int64
	// Zone of the times in reports for people; nil: by their language.
	Zone *time.Location
	// Producer is the program and its version, for the foot of a PDF.
	Producer string
	// Seal signs a report, a PDF, in the name of the server; nil: it goes unsealed.
	Seal func(ctx context.Context, pdf []byte, lang paper.Lang) ([]byte, error)
	// SealJSON signs a report in JSON, as JAdES, in the name of the server.
	SealJSON func(ctx context.Context, text []byte) ([]byte, error)
	// Judged, where set, is called with every verdict.
	Judged func(report.Indication)
}

// verifyRequest describes the body; it is read member by member, since long
// strings may be on disk.
type verifyRequest struct {
	InputDocument   string `json:"inputDocument" doc:"the signed document, base64"`
	DetachedContent any    `json:"detachedContent,omitempty" doc:"what a detached signature is over: base64, or an array of base64 or of {name, payload}"`
	Password        string `json:"pdfEncryptionPassword,omitempty" doc:"opens an encrypted PDF"`
	Recursive       bool   `json:"recursive,omitempty" doc:"open signed documents inside signed documents"`
	ExpectElement   string `json:"expectElement,omitempty" doc:"what counts in an XML document: an Id, or an XPath that selects one element"`
	ExpectFile      string `json:"expectFile,omitempty" doc:"what counts in a container: the name of a file"`
	VerifyOnDate    string `json:"verifyOnDate,omitempty" doc:"YYYY-MM-DD: the verdict as at the end of that day, UTC"`
	WithPlainDoc    *bool  `json:"withPlainDocument,omitempty" doc:"false leaves plainDocument out"`
	Language        string `json:"language,omitempty" enum:"en,it" doc:"of the page and the PDF"`
}

// verifyParts describes the same as a form.
type verifyParts struct {
	InputDocument   string   `json:"inputDocument" format:"binary" doc:"the signed document, a file"`
	DetachedContent []string `json:"detachedContent,omitempty" format:"binary" doc:"what a detached signature is over: files, with their names"`
	Password        string   `json:"pdfEncryptionPassword,omitempty" doc:"opens an encrypted PDF"`
	Recursive       bool     `json:"recursive,omitempty" doc:"open signed documents inside signed documents"`
	ExpectElement   string   `json:"expectElement,omitempty" doc:"what counts in an XML document: an Id, or an XPath that selects one element"`
	ExpectFile      string   `json:"expectFile,omitempty" doc:"what counts in a container: the name of a file"`
	VerifyOnDate    string   `json:"verifyOnDate,omitempty" doc:"YYYY-MM-DD: the verdict as at the end of that day, UTC"`
	WithPlainDoc    *bool    `json:"withPlainDocument,omitempty" doc:"false leaves plainDocument out"`
	Language        string   `json:"language,omitempty" enum:"en,it" doc:"of the page and the PDF"`
}

const verificationTag = "Verification"

type verifyInput struct {
	Accept   []string `header:"Accept"`
	Language string   `header:"Accept-Language" doc:"of message, and of the page and the PDF: it or en"`
	Body     api.Upload[verifyRequest]
}

// RegisterVerify adds POST /verify.
func RegisterVerify(a *api.API, v *Verify) {
	a.Tag(verificationTag, "What signatures are worth.")
	api.Register(a, api.Op{
		Method: http.MethodPost, Path: "/verify", ID: "verify", Tag: verificationTag,
		Summary: "Verify a signed document", Form: verifyParts{}, Examples: verifyExamples, Errors: []fault.Code{fault.TooLarge, fault.BadVerifyDocument, fault.BadVerifyDate, fault.BadPDFPassword, fault.BadDetachedContent},
		Text: "The verdict of ETSI EN 319 102-1 on every signature in the document. By `Accept` also as the XML of ETSI TS 119 102-2 " +
			"(`application/xml`), as a page (`text/html`), as PDF (`application/pdf`), sealed by the server, or as JSON under the server's seal (`application/jose+json`, JAdES with the report as its payload). As `multipart/form-data` the fields " +
			"`inputDocument` and `detachedContent` (repeatable) are files. Nothing that is sent is kept.",
		Produces: []string{"application/xml", "text/html", "application/pdf", "application/jose+json"},
	}, v.verify)
}

// verification is a request taken apart.
type verification struct {
	src   ades.Source
	name  string // of the file, where the client says it
	o     rogito.VerifyOptions
	plain bool
	lang  paper.Lang
}

func (v *Verify) verify(ctx context.Context, in *verifyInput) (api.Reply[*report.View], error) {
	req, err := v.parse(in)
	if err != nil {
		return api.Reply[*report.View]{}, err
	}
	r, err := v.judge(ctx, req)
	if err != nil {
		return api.Reply[*report.View]{}, err
	}
	return v.answer(ctx, req, r, in.Accept)
}

// PDF is a report as a PDF that shows who made it, and any change since.
func (v *Verify) PDF(ctx context.Context, r *report.Report, name string, lang paper.Lang) ([]byte, error) {
	var b bytes.Buffer
	if err := paper.WritePDF(&b, r, name, lang); err != nil || v.Seal == nil {
		return b.Bytes(), err
	}
	return v.Seal(ctx, b.Bytes(), lang)
}

// judge verifies the document of a request.
func (v *Verify) judge(ctx context.Context, req *verification) (*report.Report, error) {
	r, err := v.Verifier.Verify(ctx, req.src, req.o)
	if errors.Is(err, ades.ErrPassword) {
		return nil, fault.New(fault.BadPDFPassword, "pdfEncryptionPassword is wrong or missing")
	}
	if err != nil {
		return nil, err
	}
	r.Zone, r.Producer = req.lang.Zone(v.Zone), v.Producer
	if v.Judged != nil {
		v.Judged(r.Conclusions.Indication)
	}
	return r, nil
}

// answer writes the report in the form that Accept asks for.
func (v *Verify) answer(ctx context.Context, q *verification, r *report.Report, accept []string) (api.Reply[*report.View], error) {
	var b bytes.Buffer
	var err error
	c := &api.Content{Inline: true}
	switch verifyForm(accept) {
	case "application/xml":
		c.Type, c.Name = "application/xml; charset=utf-8", "verification.xml"
		err = paper.WriteETSI(&b, r)
	case "text/html":
		c.Type, c.Name = "text/html; charset=utf-8", "verification.html"
		err = paper.WriteHTML(visible.Writer(&b), r, q.name, q.lang)
	case "application/pdf":
		c.Type, c.Name = "application/pdf", "verification.pdf"
		c.Bytes, err = v.PDF(ctx, r, q.name, q.lang)
		return api.Reply[*report.View]{Content: c}, err
	case "application/jose+json":
		c.Type, c.Name = "application/jose+json", "verification.json"
		c.Bytes, err = v.sealed(ctx, q, r)
		return api.Reply[*report.View]{Content: c}, err
	default:
		large := q.plain && r.Plain != nil && r.Plain.Size() > sentPlain
		view, err := r.View(q.plain && !large, string(q.lang))
		if err == nil && large {
			c, err := answerWith(view, r.Plain, paper.Verdict(r, q.lang))
			return api.Reply[*report.View]{Content: c}, err
		}
		return api.Reply[*report.View]{Data: view, Message: paper.Verdict(r, q.lang)}, err
	}
	c.Bytes = b.Bytes()
	return api.Reply[*report.View]{Content: c}, err
}

// sealed is the report in JSON under the server's seal. It leaves the plain
// document out: what is sealed is the verdict on it.
func (v *Verify) sealed(ctx context.Context, q *verification, r *report.Report) ([]byte, error) {
	if v.SealJSON == nil {
		return nil, errors.New("verification: there is no seal")
	}
	view, err := r.View(false, string(q.lang))
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(view)
	if err != nil {
		return nil, err
	}
	return v.SealJSON(ctx, text)
}

// verifyForm picks the most wanted form of Accept that there is; JSON for
// anything else.
func verifyForm(accept []string) string {
	for _, mt := range api.Accepted(accept) {
		switch mt {
		case "application/json", "*/*":
			return ""
		case "text/xml":
			return "application/xml"
		case "application/xml", "text/html", "application/pdf", "application/jose+json":
			return mt
		}
	}
	return ""
}

func (v *Verify) parse(in *verifyInput) (*verification, error) {
	q := &verification{plain: true, lang: paper.English}
	if strings.HasPrefix(strings.ToLower(in.Language), "it") {
		q.lang = paper.Italian
	}
	if in.Body.Parts != nil || in.Body.Value == nil {
		return q, v.fromForm(q, &in.Body)
	}
	return q, v.fromJSON(q, &in.Body)
}

func (v *Verify) fromJSON(q *verification, body *api.Upload[verifyRequest]) error {
	m, err := body.Object()
	if err != nil {
		return err
	}
	text, ok := body.Spool.Text(m["inputDocument"])
	if !ok || text.Len() == 0 {
		return fault.New(fault.BadVerifyDocument, "inputDocument is required: base64 of the signed document")
	}
	if q.src, err = v.document(text, fault.BadVerifyDocument, "inputDocument"); err != nil {
		return err
	}
	if err := v.detached(q, body.Spool, m["detachedContent"]); err != nil {
		return err
	}
	strs := map[string]string{}
	for _, name := range []string{"pdfEncryptionPassword", "verifyOnDate", "language", "expectElement", "expectFile"} {
		if strs[name], err = shortText(body.Spool, m[name], name); err != nil {
			return err
		}
	}
	for _, name := range []string{"recursive", "withPlainDocument"} {
		switch m[name].Kind() {
		case 't', 'f':
			strs[name] = string(m[name])
		case 0, 'n':
		default:
			return notBool(name)
		}
	}
	return q.options(strs)
}

// yesNo says whether a member is true or false.
func yesNo(name string) bool { return name == "recursive" || name == "withPlainDocument" }

func notBool(name string) error {
	return fault.New(fault.BadBody, "%s must be true or false", name)
}

// shortText is an optional string member.
func shortText(s *upload.Spool, v jsontext.Value, name string) (string, error) {
	if len(v) == 0 || v.Kind() == 'n' {
		return "", nil
	}
	t, ok := s.Text(v)
	if !ok {
		return "", fault.New(verifyCode(name), "%s must be a string", name)
	}
	text, err := t.String(4096)
	if err != nil {
		return "", fault.New(verifyCode(name), "%s is too long", name)
	}
	return text, nil
}

// verifyCode is the error that a wrong member has; one without a code of its
// own makes the body a wrong one.
func verifyCode(name string) fault.Code {
	switch name {
	case "verifyOnDate":
		return fault.BadVerifyDate
	case "pdfEncryptionPassword":
		return fault.BadPDFPassword
	case "detachedContent.name":
		return fault.BadDetachedContent
	}
	return fault.BadBody
}

func (q *verification) options(strs map[string]string) error {
	q.o.Password = strs["pdfEncryptionPassword"]
	q.o.Expect = ades.Expectation{Element: strs["expectElement"], File: strs["expectFile"]}
	for name, dst := range map[string]*bool{"recursive": &q.o.Recursive, "withPlainDocument": &q.plain} {
		if strs[name] == "" {
			continue
		}
		switch strings.ToLower(strs[name]) { // True is what Python writes into forms
		case "true":
			*dst = true
		case "false":
			*dst = false
		default:
			return notBool(name)
		}
	}
	switch lang := strs["language"]; lang {
	case "":
	case "it":
		q.lang = paper.Italian
	case "en":
		q.lang = paper.English
	default:
		return fault.New(fault.BadBody, "%s", hint.OneOf("language", lang, []string{"en", "it"}))
	}
	if text := strs["verifyOnDate"]; text != "" {
		day, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return fault.New(fault.BadVerifyDate, "verifyOnDate must be a date like 2026-11-15")
		}
		q.o.At = day.Add(24*time.Hour - time.Millisecond)
	}
	return nil
}

// detached takes one content or several.
func (v *Verify) detached(q *verification, s *upload.Spool, value jsontext.Value) error {
	switch value.Kind() {
	case 0, 'n':
		return nil
	case '[':
		var list []jsontext.Value
		if err := s.Unmarshal(value, &list); err != nil {
			return err
		}
		for _, one := range list {
			if err := v.detachedOne(q, s, one); err != nil {
				return err
			}
		}
		return nil
	}
	return v.detachedOne(q, s, value)
}

func (v *Verify) detachedOne(q *verification, s *upload.Spool, value jsontext.Value) error {
	name, payload := "", value
	if value.Kind() == '{' {
		var m map[string]jsontext.Value
		if err := s.Unmarshal(value, &m); err != nil {
			return err
		}
		payload = m["payload"]
		var err error
		if name, err = shortText(s, m["name"], "detachedContent.name"); err != nil {
			return err
		}
	}
	text, ok := s.Text(payload)
	if !ok {
		return fault.New(fault.BadDetachedContent, "detachedContent must be base64, or {name, payload}, or an array of them")
	}
	src, err := v.document(text, fault.BadDetachedContent, "detachedContent")
	if err != nil {
		return err
	}
	if src.Size() > 0 || name != "" {
		q.o.Detached = append(q.o.Detached, ades.File{Name: name, Source: src})
	}
	return nil
}

// document decodes a document, on disk when it is large.
func (v *Verify) document(t upload.Text, code fault.Code, name string) (ades.Source, error) {
	src, err := t.Document(v.MaxDocument)
	switch {
	case errors.Is(err, upload.ErrTooLong):
		return nil, fault.New(fault.TooLarge, "%s is larger than %d bytes", name, v.MaxDocument)
	case errors.Is(err, upload.ErrBase64):
		return nil, fault.New(code, "%s %s", name, t.NotBase64())
	}
	return src, err
}

func (v *Verify) fromForm(q *verification, body *api.Upload[verifyRequest]) error {
	files, err := v.chosen(body.Form("inputDocument"))
	if err != nil {
		return err
	}
	if len(files) == 0 || len(files) > 2 {
		return fault.New(fault.BadVerifyDocument, "inputDocument is required, once, or with the file that it signs beside it: -F inputDocument=@FILE")
	}
	if len(files) == 2 { // a detached signature and its file, in any order
		if rogito.ContentName(files[1].Name) == files[0].Name {
			files[0], files[1] = files[1], files[0]
		}
		if rogito.ContentName(files[0].Name) != files[1].Name {
			return fault.New(fault.BadVerifyDocument, "two files are verified at once only where one is the detached signature of the other, by its name (x and x.p7s)")
		}
		q.o.Detached = files[1:]
	}
	q.src, q.name = files[0].Source, files[0].Name
	return v.around(q, body)
}

// chosen are the documents of a form. Browsers send a field without a file, too.
func (v *Verify) chosen(parts []upload.Part) ([]ades.File, error) {
	var files []ades.File
	for _, d := range parts {
		src, err := v.document(d.Text, fault.BadVerifyDocument, "inputDocument")
		if err != nil {
			return nil, err
		}
		if src.Size() > 0 || d.File {
			files = append(files, ades.File{Name: d.Text.Path(), Source: src})
		}
	}
	return files, nil
}

// around reads what a form says beside its documents.
func (v *Verify) around(q *verification, body *api.Upload[verifyRequest]) error {
	var err error
	for _, p := range body.Form("detachedContent") {
		src, err := v.document(p.Text, fault.BadDetachedContent, "detachedContent")
		if err != nil {
			return err
		}
		if src.Size() > 0 || p.File { // browsers send a field without a file, too
			q.o.Detached = append(q.o.Detached, ades.File{Name: p.Text.Name(), Source: src})
		}
	}
	strs := map[string]string{}
	for _, name := range []string{"pdfEncryptionPassword", "verifyOnDate", "language", "recursive", "withPlainDocument", "expectElement", "expectFile"} {
		parts := body.Form(name)
		if len(parts) > 1 {
			return fault.New(verifyCode(name), "%s is given more than once", name)
		}
		for _, p := range parts {
			if strs[name], err = p.Text.String(4096); err != nil {
				return fault.New(verifyCode(name), "%s is too long", name)
			}
			if yesNo(name) && strs[name] == "" {
				return notBool(name)
			}
		}
	}
	return q.options(strs)
}
