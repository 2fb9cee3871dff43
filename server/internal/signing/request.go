package signing

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/fetch"
	"rogito.dev/rogito/server/internal/callback"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/keys"
	"rogito.dev/rogito/server/internal/upload"
)

// Where an input document comes from.
const (
	fromRemote = "remote"
	fromBase64 = "base64"
	fromDigest = "base64Hash"
)

// Request is a call to sign, understood and checked as far as can be without
// looking inside the documents.
type Request struct {
	Kind        keys.Kind
	Inputs      []Input
	Username    string
	Password    string
	OTP         string
	Title       string
	Description string
	Type        string // cades, pades, xades, pkcs1; empty: by content
	Options     Options
	Callback    *callback.Target
}

// Input is one document of a request.
type Input struct {
	From   string // remote, base64, base64Hash
	Name   string // the caller's name for it
	Source ades.Source
	Remote fetch.Request
}

// Limits on a request; zero takes 1,000 documents of 100 MB.
type Limits struct {
	Documents int
	Document  int64
}

func (l Limits) withDefaults() Limits {
	if l.Documents == 0 {
		l.Documents = 1000
	}
	if l.Document == 0 {
		l.Document = 100_000_000
	}
	return l
}

// Document is one that came as a file.
type Document struct {
	Name   string
	Source ades.Source
}

// parser reads one request.
type parser struct {
	files     []Document // in place of the member inputDocuments
	spool     *upload.Spool
	limits    Limits
	guard     *fetch.Guard
	allowSHA1 bool
	kind      keys.Kind
}

// Parse reads the members of a request. Faults carry the codes of the
// contract: 615 to 645, 704 to 740, 101.
func (s *Service) Parse(kind keys.Kind, members map[string]jsontext.Value, spool *upload.Spool) (*Request, error) {
	p := parser{spool: spool, limits: s.config.Limits, guard: s.guard, allowSHA1: s.config.AllowSHA1, kind: kind}
	return p.parse(members)
}

// ParseFiles is Parse for documents that came as files, in place of the member
// inputDocuments.
func (s *Service) ParseFiles(kind keys.Kind, members map[string]jsontext.Value, files []Document, spool *upload.Spool) (*Request, error) {
	p := parser{spool: spool, limits: s.config.Limits, guard: s.guard, allowSHA1: s.config.AllowSHA1, kind: kind, files: files}
	return p.parse(members)
}

func (p *parser) parse(m map[string]jsontext.Value) (*Request, error) {
	r := &Request{Kind: p.kind}
	docs := m["inputDocuments"]
	if other := m["inputDocument"]; absent(docs) {
		docs = other
	} else if !absent(other) {
		return nil, fault.New(fault.BadDocuments, "inputDocuments and inputDocument are two names of one member: give one")
	}
	if absent(docs) && len(p.files) == 0 {
		return nil, fault.New(fault.BadDocuments, "inputDocuments is required")
	}
	if err := p.credentials(r, m); err != nil {
		return nil, err
	}
	if err := p.words(r, m); err != nil {
		return nil, err
	}
	var err error
	if r.Options, err = parseOptions(m["options"], optionParser{spool: p.spool, check: p.guard.Check, allowSHA1: p.allowSHA1}); err != nil {
		return nil, err
	}
	r.Options.Asked = r.Type
	if r.Callback, err = callback.Parse(m["callback"], p.guard); err != nil {
		return nil, err
	}
	if len(p.files) > 0 {
		r.Inputs, err = p.fromFiles()
	} else {
		r.Inputs, err = p.inputs(docs)
	}
	if err != nil {
		return nil, err
	}
	return r, r.checkDigests()
}

func (p *parser) credentials(r *Request, m map[string]jsontext.Value) error {
	need := []struct {
		name string
		dst  *string
		code fault.Code
	}{{"certificateUsername", &r.Username, fault.NoUsername}, {"certificatePassword", &r.Password, fault.NoPassword}}
	if p.kind == keys.OTP {
		need = append(need, struct {
			name string
			dst  *string
			code fault.Code
		}{"certificateOtp", &r.OTP, fault.NoOTP})
	}
	for _, n := range need {
		v := m[n.name]
		if absent(v) || p.spool.Unmarshal(v, n.dst) != nil || *n.dst == "" {
			return fault.New(n.code, "%s is required and must be a string", n.name)
		}
		if len(*n.dst) > 1024 {
			return fault.New(n.code, "%s is too long", n.name)
		}
	}
	if v := m["certificateIdOtp"]; p.kind == keys.OTP && !absent(v) {
		var id int
		if p.spool.Unmarshal(v, &id) != nil {
			return fault.New(fault.NoOTP, "certificateIdOtp must be an integer")
		}
	}
	return nil
}

func (p *parser) words(r *Request, m map[string]jsontext.Value) error {
	for name, dst := range map[string]*string{"title": &r.Title, "description": &r.Description} {
		if v := m[name]; !absent(v) && p.spool.Unmarshal(v, dst) != nil {
			return fault.New(fault.BadBody, "%s must be a string", name)
		}
		if len(*dst) > 16<<10 {
			return fault.New(fault.BadBody, "%s is longer than 16 KiB", name)
		}
	}
	if v := m["signatureType"]; !absent(v) {
		if p.spool.Unmarshal(v, &r.Type) != nil || libraryFormats[r.Type] == "" {
			return fault.New(fault.BadSignatureType, "%s", hint.OneOf("signatureType", r.Type, []string{"cades", "pades", "xades", "pkcs1"}))
		}
	}
	return nil
}

func (p *parser) inputs(v jsontext.Value) ([]Input, error) {
	list := []jsontext.Value{v}
	if v.Kind() == '[' {
		if err := p.spool.Unmarshal(v, &list); err != nil {
			return nil, fault.New(fault.BadDocuments, "inputDocuments cannot be read")
		}
	}
	if len(list) == 0 {
		return nil, fault.New(fault.BadDocuments, "inputDocuments is empty")
	}
	if len(list) > p.limits.Documents {
		return nil, fault.New(fault.TooLarge, "inputDocuments has %d documents; at most %d are taken", len(list), p.limits.Documents)
	}
	out := make([]Input, len(list))
	for i, v := range list {
		in, err := p.input(v)
		var f *fault.Error
		if err != nil && !errors.As(err, &f) {
			err = fault.New(fault.BadDocuments, "inputDocuments[%d] %v", i, err)
		}
		if err != nil {
			return nil, err
		}
		out[i] = in
	}
	return out, nil
}

func (p *parser) fromFiles() ([]Input, error) {
	if len(p.files) > p.limits.Documents {
		return nil, fault.New(fault.TooLarge, "inputDocuments has %d documents; at most %d are taken", len(p.files), p.limits.Documents)
	}
	out := make([]Input, len(p.files))
	for i, f := range p.files {
		switch n := f.Source.Size(); {
		case n == 0:
			return nil, fault.New(fault.BadDocuments, "inputDocuments[%d] is empty", i)
		case n > p.limits.Document:
			return nil, fault.New(fault.TooLarge, "a document is larger than %d bytes", p.limits.Document)
		case len(f.Name) > 255:
			return nil, fault.New(fault.BadDocuments, "inputDocuments[%d] has a name of more than 255 bytes", i)
		}
		out[i] = Input{From: fromBase64, Name: f.Name, Source: f.Source}
	}
	return out, nil
}

func (p *parser) input(v jsontext.Value) (Input, error) {
	switch v.Kind() {
	case '"':
		t, _ := p.spool.Text(v)
		return p.guess(t)
	case '{':
		return p.object(v)
	}
	return Input{}, errors.New("must be a string or an object")
}

// guess tells the three kinds of strings apart.
func (p *parser) guess(t upload.Text) (Input, error) {
	if head := peek(t, 4096); strings.Contains(head, "://") {
		return Input{From: fromRemote, Remote: fetch.Request{URL: strings.TrimSpace(head)}}, nil
	}
	src, err := p.decode(t)
	if err != nil {
		return Input{}, err
	}
	if src.Size() == 32 {
		return Input{From: fromDigest, Source: src}, nil
	}
	return Input{From: fromBase64, Source: src}, nil
}

func peek(t upload.Text, n int64) string {
	if t.Len() > n {
		return ""
	}
	s, err := t.String(int(n))
	if err != nil {
		return ""
	}
	return s
}

func (p *parser) object(v jsontext.Value) (Input, error) {
	var o struct {
		SourceType *string     `json:"sourceType"`
		URL        *string     `json:"url"`
		Headers    []string    `json:"headers"`
		Method     *string     `json:"method"`
		PostData   *string     `json:"postData"`
		Payload    upload.Text `json:"payload"`
		Name       *string     `json:"name"`
	}
	if err := p.spool.Unmarshal(v, &o); err != nil {
		return Input{}, err
	}
	in := Input{}
	put(&in.From, o.SourceType)
	put(&in.Name, o.Name)
	if len(in.Name) > 255 {
		return Input{}, errors.New("has a name of more than 255 bytes")
	}
	if in.From == "" && o.URL != nil && o.Payload.IsZero() {
		in.From = fromRemote
	}
	switch in.From {
	case fromRemote:
		if o.URL == nil || *o.URL == "" {
			return Input{}, errors.New("is remote and has no url")
		}
		in.Remote = fetch.Request{URL: *o.URL, Headers: o.Headers}
		put(&in.Remote.Body, o.PostData)
		err := p.method(&in, o.Method)
		return in, err
	case fromBase64, fromDigest, "":
		return p.payload(in, o.Payload)
	}
	return Input{}, errors.New("has a sourceType that is none of remote, base64, base64Hash")
}

func (p *parser) method(in *Input, method *string) error {
	for _, line := range in.Remote.Headers {
		if _, _, err := fetch.HeaderLine(line); err != nil {
			return err
		}
	}
	if method == nil {
		return nil
	}
	switch strings.ToLower(*method) {
	case "", "get":
	case "post":
		in.Remote.Post = true
	default:
		return errors.New("has a method that is neither get nor post")
	}
	return nil
}

func (p *parser) payload(in Input, t upload.Text) (Input, error) {
	if t.IsZero() {
		return Input{}, errors.New("has no payload")
	}
	src, err := p.decode(t)
	if err != nil {
		return Input{}, err
	}
	in.Source = src
	if in.From == "" {
		in.From = fromBase64
		if src.Size() == 32 {
			in.From = fromDigest
		}
	}
	return in, nil
}

func (p *parser) decode(t upload.Text) (ades.Source, error) {
	src, err := t.Document(p.limits.Document)
	switch {
	case errors.Is(err, upload.ErrTooLong):
		return nil, fault.New(fault.TooLarge, "a document is larger than %d bytes", p.limits.Document)
	case errors.Is(err, upload.ErrBase64):
		return nil, errors.New(t.NotBase64())
	case err != nil:
		return nil, fault.New(fault.Internal, "internal error").Because(err)
	case src.Size() == 0:
		return nil, errors.New("is empty")
	}
	return src, nil
}

// checkDigests holds digests against the format and the hash.
func (r *Request) checkDigests() error {
	digests := 0
	for i, in := range r.Inputs {
		if in.From != fromDigest {
			continue
		}
		digests++
		if want := int64(hashOf(r.Options.Hash).Size()); in.Source.Size() != want {
			return fault.New(fault.BadDocuments, "inputDocuments[%d] is a digest of %d bytes; %s has %d", i, in.Source.Size(), r.Options.Hash, want)
		}
	}
	if digests == 0 {
		return nil
	}
	if r.Type != "" && r.Type != "cades" && r.Type != "pkcs1" {
		return fault.New(fault.BadSignatureType, "a digest can be signed as cades or pkcs1, not as %s", r.Type)
	}
	if len(r.Inputs) > 1 && !r.Options.Batch && r.Type != "pkcs1" {
		return fault.New(fault.BadDocuments, "a digest among several documents can be signed only with options.batch or as pkcs1")
	}
	return nil
}

// sourceBytes reads a small source whole.
func sourceBytes(src ades.Source, limit int64) ([]byte, error) {
	if src.Size() > limit {
		return nil, fmt.Errorf("%d bytes, at most %d", src.Size(), limit)
	}
	var b bytes.Buffer
	_, err := io.Copy(&b, io.NewSectionReader(src, 0, src.Size()))
	return b.Bytes(), err
}

func put[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}
