package signatures

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/api"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

// signatureForm describes a request to sign as a form, which curl sends with -F.
type signatureForm struct {
	InputDocuments      []string `json:"inputDocuments" format:"binary" doc:"the documents to sign: files, with their names"`
	CertificateUsername string   `json:"certificateUsername" doc:"of the certificate"`
	CertificatePassword string   `json:"certificatePassword" doc:"of the certificate"`
	CertificateOtp      string   `json:"certificateOtp,omitempty" doc:"EU-QES_otp only: the current code"`
	CertificateIDOtp    int      `json:"certificateIdOtp,omitempty" doc:"which one-time password device of a key at a provider, where there are several; -1: the only one"`
	Title               string   `json:"title,omitempty" doc:"a label for the record"`
	Description         string   `json:"description,omitempty" doc:"a longer one"`
	SignatureType       string   `json:"signatureType,omitempty" enum:"cades,pades,xades,pkcs1" doc:"absent: by content"`
	Options             string   `json:"options,omitempty" doc:"how to sign, as JSON: the member options of the request"`
	Callback            string   `json:"callback,omitempty" doc:"where to tell each state that is reached, as JSON: the member callback of the request"`
}

// mostField bounds a field of a form that is no JSON and no document.
const mostField = 64 << 10

// formOrJSON are the members of a request, and the documents that came as files.
func formOrJSON(body *api.Upload[signatureRequest]) (map[string]jsontext.Value, []request.Document, error) {
	if body.Parts == nil {
		members, err := body.Object()
		return members, nil, err
	}
	members := map[string]jsontext.Value{}
	var files []request.Document
	for _, p := range body.Parts {
		document := p.Field == "inputDocuments" || p.Field == "inputDocument"
		if document && p.File {
			src, err := p.Text.Document(0) // the parser holds it to its limit
			if err != nil {
				return nil, nil, fault.Storage(err)
			}
			files = append(files, request.Document{Name: p.Text.Name(), Source: src})
			continue
		}
		if document {
			return nil, nil, fault.New(fault.BadDocuments, "inputDocuments of a form must be files: with curl -F inputDocuments=@contract.pdf; addresses and base64 go into a JSON body")
		}
		if _, twice := members[p.Field]; twice {
			return nil, nil, fault.New(fault.BadBody, "%s is given more than once", p.Field)
		}
		v, err := fieldValue(p, body.Spool)
		if err != nil {
			return nil, nil, err
		}
		if v != nil {
			members[p.Field] = v
		}
	}
	return members, files, nil
}

// fieldValue is a field of a form as the member that it means; nil where it is
// empty.
func fieldValue(p upload.Part, spool *upload.Spool) (jsontext.Value, error) {
	if p.Text.Len() == 0 {
		return nil, nil
	}
	if p.Field == "options" || p.Field == "callback" {
		v, err := spool.ReadJSON(p.Text.Reader())
		var wrong *upload.SyntaxError
		if errors.As(err, &wrong) {
			code := fault.BadOption
			if p.Field == "callback" {
				code = fault.CallbackURL
			}
			return nil, fault.New(code, "%s of a form must be JSON", p.Field)
		}
		return v, err
	}
	text, err := p.Text.String(mostField)
	if errors.Is(err, upload.ErrTooLong) {
		return nil, fault.New(fault.BadBody, "%s is longer than %d KiB", p.Field, mostField>>10)
	}
	if err != nil {
		return nil, fault.Storage(err)
	}
	if n := jsontext.Value(text); p.Field == "certificateIdOtp" && n.IsValid() {
		return n, nil
	}
	v, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return nil, fault.New(fault.BadBody, "%s is not UTF-8", p.Field)
	}
	return v, nil
}
