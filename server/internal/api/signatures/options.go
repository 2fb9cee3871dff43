package signatures

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"rogito.dev/rogito/server/internal/signing/request"
)

// signatureOptions describes the options of a request in the document. They
// are read in package signing, whose table the schema is made of. A null is as
// good as an absent one, an option of another format is accepted and without
// effect, an unknown one is error 625.
type signatureOptions struct{}

// Schema is named, since clients want a name for it.
func (*signatureOptions) Schema(r huma.Registry) *huma.Schema {
	return named(r, "SignatureOptions", request.OptionTable, false)
}

// recordOptions are the options that had an effect, by name.
type recordOptions map[string]any

// Schema names them all; a record shows those of its format.
func (recordOptions) Schema(r huma.Registry) *huma.Schema {
	s := optionSchema(r, request.OptionTable, true)
	for _, name := range []string{"ui", "userEditableData", "reminders"} {
		s.Properties[name] = &huma.Schema{Type: "object", AdditionalProperties: true, Nullable: name == "reminders", Description: "of what people sign: as for EU-SES"}
	}
	for _, name := range []string{"signerMustRead", "decline", "merge"} {
		s.Properties[name] = &huma.Schema{Type: "boolean", Description: "of what people sign: as for EU-SES"}
	}
	s.Properties["signatureMode"] = &huma.Schema{Type: "array", Items: &huma.Schema{Type: "string"}, Description: "of what people sign: typed, drawn"}
	s.Properties["expiresAt"] = &huma.Schema{Type: "string", Description: "of what people sign: when their links end"}
	s.Properties["achievedLevel"] = &huma.Schema{Type: "string", Nullable: true, Description: "B, T, LT or LTA; null until DONE, and for pkcs1"}
	return s
}

func named(r huma.Registry, name string, table []request.Option, shown bool) *huma.Schema {
	r.Map()[name] = optionSchema(r, table, shown)
	return &huma.Schema{Ref: "#/components/schemas/" + name}
}

// optionSchema describes a table of options: as they are given, or as a record
// shows them.
func optionSchema(r huma.Registry, table []request.Option, shown bool) *huma.Schema {
	out := &huma.Schema{Type: "object", AdditionalProperties: false, Properties: map[string]*huma.Schema{}}
	for _, o := range table {
		s := &huma.Schema{Type: o.Type, Nullable: true, Description: optionText(o)}
		if o.Type == "array" {
			s.Items = &huma.Schema{Type: "string"}
		}
		switch {
		case shown && o.Secret:
			continue
		case shown && o.Type == "object":
			s.AdditionalProperties = true
		case shown && len(o.Formats) == 0:
			out.Required = append(out.Required, o.Name)
		case shown:
		case o.Type == "object":
			s = named(r, "SignerImage", request.ImageTable, false)
			s.Description = optionText(o)
		case o.List:
			s = &huma.Schema{OneOf: []*huma.Schema{{Type: "string"}, s}, Description: optionText(o)}
		default:
			for _, w := range o.Enum {
				s.Enum = append(s.Enum, w)
			}
			if s.Enum != nil {
				s.Enum = append(s.Enum, nil)
			}
		}
		out.Properties[o.Name] = s
	}
	return out
}

func optionText(o request.Option) string {
	text := o.Doc
	if len(o.Formats) > 0 {
		text = strings.Join(o.Formats, ", ") + ": " + text
	}
	switch {
	case o.Default != "":
		text += "; default " + o.Default
	case o.Type == "boolean":
		text += "; default false"
	}
	return text
}

// inputDocuments are one document or several, in any of their forms.
type inputDocuments struct{}

type inputDocument struct {
	SourceType string   `json:"sourceType,omitempty" enum:"remote,base64,base64Hash" doc:"absent: by what is given"`
	URL        string   `json:"url,omitempty" doc:"of a remote document"`
	Headers    []string `json:"headers,omitempty" doc:"Name: value, sent when it is fetched"`
	Method     string   `json:"method,omitempty" enum:"get,post" doc:"default get"`
	PostData   string   `json:"postData,omitempty" doc:"body of a post"`
	Payload    string   `json:"payload,omitempty" doc:"base64 of the file, or of its digest"`
	Name       string   `json:"name,omitempty" doc:"file name: for zips, containers and the extension"`
}

// Schema names the forms.
func (inputDocuments) Schema(r huma.Registry) *huma.Schema {
	one := []*huma.Schema{
		{Type: "string", Description: "a URL, base64 of a file, or base64 of a SHA-256 digest (32 bytes: only a detached signature comes back)"},
		r.Schema(reflect.TypeFor[inputDocument](), true, "inputDocument"),
	}
	return &huma.Schema{
		Description: "One document or several; inputDocument is as good a name.",
		OneOf:       append(one, &huma.Schema{Type: "array", Items: &huma.Schema{OneOf: one}}),
	}
}
