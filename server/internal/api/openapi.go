package api

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/upload"
)

const (
	schemaPrefix = "#/components/schemas/"
	idPattern    = "^[0-9a-f]{24}$"
)

func newDocument(opts Options) *huma.OpenAPI {
	huma.DefaultArrayNullable = false // an empty list is [], never null
	reg := huma.NewMapRegistry(schemaPrefix, schemaName)
	reg.RegisterTypeAlias(reflect.TypeFor[upload.Text](), reflect.TypeFor[string]())
	reg.RegisterTypeAlias(reflect.TypeFor[jsontext.Value](), reflect.TypeFor[any]())
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:   "Rogito",
			Version: semver(opts.Version),
			Description: "Electronic signatures, their verification, and Italian real-estate quotations.\n\n" +
				"Every JSON answer is the envelope `data`, `success`, `message`, `error`. The error codes are listed at [/docs/errors](/docs/errors); " +
				"with `Accept: application/problem+json` a failure comes as RFC 9457 has it, with the same code. Every answer has `X-Request-Id`.\n\n" +
				"A member or parameter that an operation does not know is ignored; `X-Ignored` names it, and `message` what may have been meant. " +
				"With `Prefer: handling=strict` a body with such a member is refused (100).",
			Contact:    &huma.Contact{Name: "Rogito", URL: "https://rogito.dev"},
			License:    &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			Extensions: map[string]any{"x-build": opts.Version},
		},
		Paths: map[string]*huma.PathItem{},
		Components: &huma.Components{
			Schemas: reg,
			SecuritySchemes: map[string]*huma.SecurityScheme{
				"token":  {Type: "http", Scheme: "bearer", Description: "A token made by `POST /token` or `POST /tokens`."},
				"apiKey": {Type: "http", Scheme: "basic", Description: "The account's e-mail and its API key."},
			},
		},
	}
	if opts.PublicURL != "" {
		doc.Servers = []*huma.Server{{URL: opts.PublicURL}}
	}
	reg.Map()["Failure"] = failureSchema()
	return doc
}

var semantic = regexp.MustCompile(`^v?((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?)(?:\+[0-9A-Za-z.-]+)?$`)

// semver is the version of a build as package managers want it, without what
// names the very build; that of a build without one is before all others.
func semver(build string) string {
	if m := semantic.FindStringSubmatch(build); m != nil {
		return m[1]
	}
	return "0.0.0-dev"
}

// Tag says what the operations of a group are about.
func (a *API) Tag(name, text string) {
	a.doc.Tags = append(a.doc.Tags, &huma.Tag{Name: name, Description: text})
}

// schemaName names a schema after its Go type, with a capital.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	return strings.ToUpper(name[:1]) + name[1:]
}

func failureSchema() *huma.Schema {
	return &huma.Schema{
		Type:        huma.TypeObject,
		Description: "What a call that failed answers.",
		Required:    []string{"data", "success", "message", "error"},
		Properties: map[string]*huma.Schema{
			"data":    {Type: huma.TypeObject, Nullable: true, Description: "null: there is none"},
			"success": {Type: huma.TypeBoolean, Description: "false"}, // not as an enumeration: some generators know only texts there
			"message": {Type: huma.TypeString, Description: "names the problem and the field"},
			"error":   {Type: huma.TypeInteger, Description: "a code of the table at /docs/errors"},
		},
	}
}

// document adds an operation to the OpenAPI document.
func document[In, D any](a *API, op Op) {
	if op.Hidden {
		return
	}
	reg := a.doc.Components.Schemas
	o := &huma.Operation{
		Method: op.Method, Path: op.Path, OperationID: op.ID,
		Summary: op.Summary, Description: op.Text, Deprecated: op.Deprecated,
		Security:  security(op),
		Responses: map[string]*huma.Response{"200": success[D](reg, op)},
	}
	if op.Tag != "" {
		o.Tags = []string{op.Tag}
	}
	in := reflect.TypeFor[In]()
	o.Parameters = parameters(reg, op, in)
	if f, ok := in.FieldByName("Body"); ok {
		o.RequestBody = requestBody(reg, op, f)
	}
	addFailures(o, op)
	a.doc.AddOperation(o)
}

func security(op Op) []map[string][]string {
	switch {
	case op.Public:
		return []map[string][]string{}
	case op.Basic:
		return []map[string][]string{{"token": {}}, {"apiKey": {}}}
	}
	return []map[string][]string{{"token": {}}}
}

// success describes what a call that succeeds answers: the envelope around D
// under the name of the operation or, where there is no D, bytes. What Accept
// asks for beside JSON is described in words, since generators make one type of all
// that an answer may be; what a parameter asks for is listed beside JSON, since a
// client that sends every parameter there is meets it.
func success[D any](reg huma.Registry, op Op) *huma.Response {
	t := reflect.TypeFor[D]()
	res := &huma.Response{Description: "Success", Content: map[string]*huma.MediaType{}}
	if t == reflect.TypeFor[None]() {
		for _, mt := range op.Produces {
			res.Content[mt] = &huma.MediaType{Schema: bare(mt)}
		}
		return res
	}
	if len(op.Produces) > 0 {
		res.Description = "Success. Also as `" + strings.Join(op.Produces, "`, `") + "`, for those who ask for it."
		res.Extensions = map[string]any{AlsoProduces: op.Produces}
	}
	upper := strings.ToUpper(op.ID[:1]) + op.ID[1:]
	data := nullable(t, reg.Schema(t, true, upper+"Data"))
	if !op.NoEnvelope {
		name := upper + "Answer" // generators call types of their own Response
		reg.Map()[name] = envelopeSchema(data)
		data = &huma.Schema{Ref: schemaPrefix + name}
	}
	res.Content["application/json"] = &huma.MediaType{Schema: data}
	for mt, v := range op.Formats {
		res.Content[mt] = &huma.MediaType{Schema: reg.Schema(reflect.TypeOf(v), true, upper+"Format")}
	}
	return res
}

// AlsoProduces is the member of an answer's description that lists its media
// types beside JSON.
const AlsoProduces = "x-also-produces"

// bare is the schema of an answer that is no envelope.
func bare(mediaType string) *huma.Schema {
	if strings.HasSuffix(mediaType, "+json") {
		return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
	}
	return &huma.Schema{Type: huma.TypeString, Format: "binary"}
}

// None is the data of an operation that never answers in the envelope.
type None struct{}

func envelopeSchema(data *huma.Schema) *huma.Schema {
	if data.Description == "" {
		data.Description = "what was asked for"
	}
	return &huma.Schema{
		Type:     huma.TypeObject,
		Required: []string{"data", "success", "message", "error"},
		Properties: map[string]*huma.Schema{
			"data":    data,
			"success": {Type: huma.TypeBoolean, Description: "true"},
			"message": {Type: huma.TypeString, Description: "a sentence about it; may be empty"},
			"error":   {Type: huma.TypeInteger, Nullable: true, Description: "null: there is none"}, // generators know no type of null alone
		},
	}
}

// nullable lets a pointer be null on the wire.
func nullable(t reflect.Type, s *huma.Schema) *huma.Schema {
	if t.Kind() != reflect.Pointer || s.Ref == "" {
		return s
	}
	return orNull(s)
}

func orNull(s *huma.Schema) *huma.Schema {
	return &huma.Schema{Description: s.Description, AnyOf: []*huma.Schema{{Ref: s.Ref}, {Type: "null"}}}
}

func parameters(reg huma.Registry, op Op, in reflect.Type) []*huma.Param {
	var list []*huma.Param
	for _, f := range reflect.VisibleFields(in) {
		where, name := place(f.Tag)
		if where == "" || f.Anonymous || where == "header" && reserved(name) {
			continue
		}
		s := huma.SchemaFromField(reg, f, name)
		s.Nullable = false
		if f.Type == reflect.TypeFor[ID]() {
			s.Pattern = idPattern
		}
		p := &huma.Param{
			Name: name, In: where, Description: f.Tag.Get("doc"),
			Required: where == "path" || f.Tag.Get("required") == "true", Schema: s,
		}
		s.Description = ""
		list = append(list, p)
	}
	if op.Idempotent {
		most := 255
		list = append(list, &huma.Param{
			Name: "Idempotency-Key", In: "header",
			Description: "Makes the call safe to repeat for 24 hours.",
			Schema:      &huma.Schema{Type: huma.TypeString, MaxLength: &most},
		})
	}
	return list
}

// reserved are the headers that OpenAPI describes in other ways.
func reserved(header string) bool {
	return header == "Accept" || header == "Content-Type" || header == "Authorization"
}

func requestBody(reg huma.Registry, op Op, f reflect.StructField) *huma.RequestBody {
	t := f.Type
	if m, ok := reflect.PointerTo(t).MethodByName("Decode"); ok {
		t = m.Type.Out(0) // of an Upload[T]: T
	}
	name := strings.ToUpper(op.ID[:1]) + op.ID[1:]
	s := reg.Schema(t, true, name+"Request")
	if !op.FormOnly {
		mayBeNull(reg, s)
	}
	body := &huma.RequestBody{Required: f.Tag.Get("required") != "false", Content: map[string]*huma.MediaType{}}
	switch {
	case op.FormOnly:
		body.Content["multipart/form-data"] = &huma.MediaType{Schema: s}
		return body
	case op.Form != nil:
		body.Content["multipart/form-data"] = &huma.MediaType{Schema: reg.Schema(reflect.TypeOf(op.Form), true, name+"Form")}
	}
	body.Content["application/json"] = &huma.MediaType{Schema: s, Examples: examples(op.Examples)}
	return body
}

// mayBeNull declares for a request's members that null is as good as leaving them out, as it is,
// wherever they may be left out.
func mayBeNull(reg huma.Registry, s *huma.Schema) {
	if s.Ref != "" {
		s = reg.SchemaFromRef(s.Ref)
	}
	for name, p := range s.Properties {
		if slices.Contains(s.Required, name) || p.Type == "" || p.Nullable {
			continue
		}
		p.Nullable = true
		if len(p.Enum) > 0 {
			p.Enum = append(p.Enum, nil)
		}
	}
}

// addFailures lists the codes an operation may answer, by HTTP status.
func addFailures(o *huma.Operation, op Op) {
	codes := slices.Clone(op.Errors)
	codes = append(codes, fault.Internal, fault.Unavailable)
	if !op.Public {
		codes = append(codes, fault.WrongToken, fault.ScopeLacking, fault.AddressNotAllowed, fault.LimitReached)
	}
	if op.Basic {
		codes = append(codes, fault.WrongAPIKey)
	}
	if op.Admin {
		codes = append(codes, fault.AdminOnly)
	}
	if op.Idempotent {
		codes = append(codes, fault.StillRunning, fault.KeyReused, fault.BadQuery) // 160: a key that is too long
	}
	if o.RequestBody != nil {
		codes = append(codes, fault.BadBody, fault.TooLarge, fault.UnsupportedMedia)
	}
	for _, p := range o.Parameters {
		switch {
		case p.In == "query":
			codes = append(codes, fault.BadQuery)
		case p.Schema.Pattern == idPattern:
			codes = append(codes, fault.MalformedID)
		}
	}
	slices.Sort(codes)
	byStatus := map[int][]string{}
	for _, c := range slices.Compact(codes) {
		st := fault.Status(c)
		byStatus[st] = append(byStatus[st], fmt.Sprintf("%d: %s", c, fault.Meaning(c)))
	}
	for st, lines := range byStatus {
		o.Responses[strconv.Itoa(st)] = &huma.Response{
			Description: strings.Join(lines, "; "),
			Content:     map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Ref: schemaPrefix + "Failure"}}},
		}
	}
}
