package request

import (
	"bytes"
	"errors"
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
	FromRemote = "remote"
	fromBase64 = "base64"
	FromDigest = "base64Hash"
)

// Request is a call to sign, understood and checked as far as can be without
// looking inside the documents.
type Request struct {
	Kind        keys.Kind
	Inputs      []Input
	Username    string
	Password    string
	OTP         string
	OTPDevice   int // that the one-time password is from; zero or less: the only one
	Title       string
	Description string
	Type        SignatureType // empty: by content
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

func (l Limits) WithDefaults() Limits {
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

// Parser reads requests.
type Parser struct {
	Limits    Limits
	Guard     *fetch.Guard
	AllowSHA1 bool
}

// parser reads one request.
type parser struct {
	Parser
	files []Document // in place of the member inputDocuments
	spool *upload.Spool
	kind  keys.Kind
}

// Parse reads the members of a request. Faults carry the codes of the
// contract: 615 to 645, 704 to 740, 101.
func (r Parser) Parse(kind keys.Kind, members map[string]jsontext.Value, spool *upload.Spool) (*Request, error) {
	return r.ParseFiles(kind, members, nil, spool)
}

// ParseFiles is Parse for documents that came as files, in place of the member
// inputDocuments.
func (r Parser) ParseFiles(kind keys.Kind, members map[string]jsontext.Value, files []Document, spool *upload.Spool) (*Request, error) {
	p := parser{Parser: r, spool: spool, kind: kind, files: files}
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
	if r.Options, err = parseOptions(m["options"], optionParser{spool: p.spool, check: p.Guard.Check, allowSHA1: p.AllowSHA1}); err != nil {
		return nil, err
	}
	r.Options.Asked = r.Type
	if r.Callback, err = callback.Parse(m["callback"], p.Guard); err != nil {
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
	if err := r.checkJSON(); err != nil {
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
	return p.oneTime(r, m)
}

// oneTime reads what belongs to a one-time password. The other kinds have none:
// there it is held to its type and without effect.
func (p *parser) oneTime(r *Request, m map[string]jsontext.Value) error {
	code := fault.BadBody
	if p.kind == keys.OTP {
		code = fault.NoOTP
	}
	var otp string
	if v := m["certificateOtp"]; !absent(v) && p.spool.Unmarshal(v, &otp) != nil {
		return fault.New(code, "certificateOtp must be a string")
	}
	var device int
	if v := m["certificateIdOtp"]; !absent(v) && p.spool.Unmarshal(v, &device) != nil {
		return fault.New(code, "certificateIdOtp must be an integer")
	}
	if p.kind == keys.OTP {
		r.OTPDevice = device
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
		if p.spool.Unmarshal(v, &r.Type) != nil || r.Type.Format() == "" {
			return fault.New(fault.BadSignatureType, "%s", hint.OneOf("signatureType", string(r.Type), Formats()))
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
	if len(list) > p.Limits.Documents {
		return nil, fault.New(fault.TooLarge, "inputDocuments has %d documents; at most %d are taken", len(list), p.Limits.Documents)
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
	if len(p.files) > p.Limits.Documents {
		return nil, fault.New(fault.TooLarge, "inputDocuments has %d documents; at most %d are taken", len(p.files), p.Limits.Documents)
	}
	out := make([]Input, len(p.files))
	for i, f := range p.files {
		switch n := f.Source.Size(); {
		case n == 0:
			return nil, fault.New(fault.BadDocuments, "inputDocuments[%d] is empty", i)
		case n > p.Limits.Document:
			return nil, fault.New(fault.TooLarge, "a document is larger than %d bytes", p.Limits.Document)
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

// guess distinguishes the three kinds of strings.
func (p *parser) guess(t upload.Text) (Input, error) {
	if head := peek(t, 4096); strings.Contains(head, "://") {
		return Input{From: FromRemote, Remote: fetch.Request{URL: strings.TrimSpace(head)}}, nil
	}
	src, err := p.decode(t)
	if err != nil {
		return Input{}, err
	}
	if src.Size() == 32 {
		return Input{From: FromDigest, Source: src}, nil
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
		in.From = FromRemote
	}
	switch in.From {
	case FromRemote:
		if o.URL == nil || *o.URL == "" {
			return Input{}, errors.New("is remote and has no url")
		}
		in.Remote = fetch.Request{URL: *o.URL, Headers: o.Headers}
		put(&in.Remote.Body, o.PostData)
		err := p.method(&in, o.Method)
		return in, err
	case fromBase64, FromDigest, "":
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
			in.From = FromDigest
		}
	}
	return in, nil
}

func (p *parser) decode(t upload.Text) (ades.Source, error) {
	src, err := t.Document(p.Limits.Document)
	switch {
	case errors.Is(err, upload.ErrTooLong):
		return nil, fault.New(fault.TooLarge, "a document is larger than %d bytes", p.Limits.Document)
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
// checkJSON judges what JSON signatures cannot be.
func (r *Request) checkJSON() error {
	switch o := &r.Options; {
	case r.Type != JAdES:
		return nil
	case o.Serialization == "compact" && o.TargetLevel() > ades.LevelB:
		return fault.New(fault.BadOption, "options.serialization compact goes with level B only")
	case o.Serialization == "compact" && o.Counter:
		return fault.New(fault.BadOption, "options.serialization compact has no place for a counter-signature")
	case o.Packaging != "" && o.Packaging != "attached" && o.Packaging != "detached":
		return fault.New(fault.BadOption, "options.packaging of jades is attached or detached, not %s", o.Packaging)
	case len(r.Inputs) > 1 && !o.Batch && !o.Detached:
		return fault.New(fault.BadOption, "several documents are signed together as jades with options.detached only, or each on its own with options.batch")
	}
	return nil
}

func (r *Request) checkDigests() error {
	digests := 0
	for i, in := range r.Inputs {
		if in.From != FromDigest {
			continue
		}
		digests++
		if want := int64(HashOf(r.Options.Hash).Size()); in.Source.Size() != want {
			return fault.New(fault.BadDocuments, "inputDocuments[%d] is a digest of %d bytes; %s has %d", i, in.Source.Size(), r.Options.Hash, want)
		}
	}
	if digests == 0 {
		return nil
	}
	if r.Type != "" && !r.Type.Digest() {
		return fault.New(fault.BadSignatureType, "a digest can be signed as cades or pkcs1, not as %s", r.Type)
	}
	if len(r.Inputs) > 1 && !r.Options.Batch && r.Type.Several() != Each {
		return fault.New(fault.BadDocuments, "a digest among several documents can be signed only with options.batch or as pkcs1")
	}
	return nil
}

func put[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

// Caller is who asks, with what a security level may want to see.
type Caller struct {
	AccountID, TokenID string
	RequestID          string
	Person             string // of the account, who acts by the token; empty: its holder
	Address            string
	Bound              bool   // the token is bound to addresses
	ClientCertificate  []byte // DER, of mutual TLS
	Language           string // "en", "it", or empty where the caller named none
}

// Named adds the person who acts to the detail of an event.
func (c Caller) Named(detail map[string]any) map[string]any {
	if c.Person != "" {
		detail["person"] = c.Person
	}
	return detail
}

// DigestInput is an input that is a digest of 32, 48 or 64 bytes, and the name of
// its hash.
func DigestInput(b []byte) (in Input, hash string) {
	return Input{From: FromDigest, Source: bytes.NewReader(b)}, map[int]string{32: "SHA256", 48: "SHA384", 64: "SHA512"}[len(b)]
}

// DocumentInput is an input that came with the request.
func DocumentInput(src ades.Source) Input { return Input{From: fromBase64, Source: src} }

// DefaultOptions are those of a request that names none.
func DefaultOptions() Options {
	o, _ := parseOptions(nil, optionParser{}) // nothing to refuse
	return o
}
