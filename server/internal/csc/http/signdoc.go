package http

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
	cscserver "rogito.dev/rogito/server/internal/csc/server"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/server/internal/upload"
)

// envelope is a property of a format (11.11); the first of a format is what is
// meant where none is named.
type envelope struct {
	format, name string
	detached     bool // the signature comes back alone
	set          func(*request.Options)
}

var envelopeTable = []envelope{
	{"C", "Attached", false, func(o *request.Options) { o.Parallel = false }},
	{"C", "Detached", true, func(o *request.Options) { o.Packaging, o.Detached = "detached", true }},
	{"C", "Parallel", false, func(o *request.Options) { o.Parallel = true }},
	{"X", "Enveloped", false, func(o *request.Options) { o.Packaging = "enveloped" }},
	{"X", "Enveloping", false, func(o *request.Options) { o.Packaging = "enveloping" }},
	{"X", "Detached", true, func(o *request.Options) { o.Packaging, o.Detached = "detached", true }},
	{"J", "Attached", false, func(*request.Options) {}},
	{"J", "Detached", true, func(o *request.Options) { o.Packaging, o.Detached = "detached", true }},
	{"P", "Certification", false, func(o *request.Options) { o.Certify = true }},
	{"P", "Revision", false, func(*request.Options) {}},
}

// formatNames are the formats that documents are signed in.
var formatNames = []string{"C", "X", "P", "J"}

var signatureTypes = map[string]request.SignatureType{"C": request.CAdES, "X": request.XAdES, "P": request.PAdES, "J": request.JAdES}

// envelopes are the properties of each format, as info lists them.
func envelopes() (all [][]string) {
	for _, f := range formatNames {
		var names []string
		for _, e := range envelopeTable {
			if e.format == f {
				names = append(names, e.name)
			}
		}
		all = append(all, names)
	}
	return all
}

// levels by the last word of a conformance level: Ades-B-LT and Ades-LT are one.
var levels = map[string]string{"ades-b-b": "B", "ades-b": "B", "ades-b-t": "T", "ades-t": "T", "ades-b-lt": "LT", "ades-lt": "LT", "ades-b-lta": "LTA", "ades-lta": "LTA"}

// docRequest is an element of documents or of documentDigests.
type docRequest struct {
	Document   upload.Text    `json:"document"`
	Hashes     jsontext.Value `json:"hashes"`
	Hash       jsontext.Value `json:"hash"`
	HashOID    string         `json:"hashAlgorithmOID"`
	Format     string         `json:"signature_format"`
	Level      string         `json:"conformance_level"`
	SignAlgo   string         `json:"signAlgo"`
	Params     string         `json:"signAlgoParams"`
	Envelope   string         `json:"signed_envelope_property"`
	Properties []struct {
		Name  string `json:"attribute_name"`
		Value string `json:"attribute_value"`
	} `json:"signed_props"`
}

// docJob is a job, and where its result goes in the answer.
type docJob struct {
	job
	detached bool
}

// signDoc signs documents, or digests of documents, in one of the formats (11.11).
func (s *Service) signDoc(ctx context.Context, c *call) (object, error) {
	id, err := c.text("credentialID")
	if err == nil && id == "" && c.bearer.Scope == cscserver.ScopeCredential {
		id = c.bearer.Certificate // a signatureQualifier led to it
	} else if err == nil {
		id, err = c.credentialID()
	}
	if err != nil {
		return nil, err
	}
	cert, err := s.findID(ctx, c, id)
	if err != nil {
		return nil, err
	}
	secret, err := c.activation()
	if err != nil {
		return nil, err
	}
	if err := c.plain(); err != nil {
		return nil, err
	}
	all, err := s.docJobs(c, keyType(cert.Algorithm))
	if err != nil {
		return nil, err
	}
	jobs := make([]job, len(all))
	for i := range all {
		jobs[i] = all[i].job
	}
	signed, err := s.sign(ctx, c, cert.ID, secret, jobs, 2*s.MaxDocuments)
	var f *fault.Error
	if errors.As(err, &f) && f.Text == cscserver.NotAuthorized {
		return nil, cscserver.Invalid("documentDigests or documents are not authorized by the SAD")
	}
	if err != nil {
		return nil, err
	}
	o, alone, whole := object{}, [][]byte{}, [][]byte{}
	for i, b := range signed {
		if all[i].detached {
			alone = append(alone, b)
		} else {
			whole = append(whole, b)
		}
	}
	if len(whole) > 0 {
		o["DocumentWithSignature"] = whole
	}
	if len(alone) > 0 {
		o["SignatureObject"] = alone
	}
	return o, nil
}

// docJobs reads what is to be signed.
func (s *Service) docJobs(c *call, key string) ([]docJob, error) {
	digests, _ := c.get("documentDigests")
	documents, _ := c.get("documents")
	v, text := documents, "Invalid array parameter documents"
	switch {
	case digests != nil && documents != nil:
		return nil, cscserver.Invalid("Both documentDigests and documents parameters passed")
	case digests != nil:
		v, text = digests, "Invalid object parameter documentDigests"
	case documents == nil:
		return nil, cscserver.Invalid("Empty documentDigests and documents objects")
	}
	var list []docRequest
	if v.Kind() != '[' || c.spool.Unmarshal(v, &list) != nil {
		return nil, cscserver.Invalid("%s", text)
	}
	if len(list) == 0 {
		return nil, cscserver.Invalid("Empty documentDigests and documents objects")
	}
	var all []docJob
	left := s.MaxDocuments
	for i := range list {
		some, err := list[i].jobs(c, key, digests != nil, &left)
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); len(all) > cscserver.MaxSignatures {
			return nil, cscserver.Invalid("Numbers of signatures is too high")
		}
	}
	return all, nil
}

// jobs of an element: one of a document, one of each digest.
func (d *docRequest) jobs(c *call, key string, digests bool, left *int64) ([]docJob, error) {
	size, err := d.check(key)
	if err != nil {
		return nil, err
	}
	o, e, err := d.options(digests)
	if err != nil {
		return nil, err
	}
	if digests {
		return d.digestJobs(c, o, size)
	}
	if d.Document.IsZero() {
		return nil, missing("string", "document")
	}
	src, err := d.Document.Document(*left)
	switch {
	case errors.Is(err, upload.ErrTooLong):
		return nil, fault.New(fault.TooLarge, "the documents of one request are larger than is taken at once")
	case errors.Is(err, upload.ErrBase64) || err == nil && src.Size() == 0:
		return nil, cscserver.Invalid("Invalid Base64 documents string parameter")
	case err != nil:
		return nil, err
	}
	*left -= src.Size()
	if size != 0 {
		o.Hash = hashNames[size]
	}
	o.Asked = signatureTypes[d.Format]
	req := &request.Request{Inputs: []request.Input{request.DocumentInput(src)}, Type: o.Asked, Options: o}
	wanted, err := digestOf(src)
	return []docJob{{job{req, wanted}, e.detached}}, err
}

// check judges the algorithms of an element; the size of its digests is zero where
// nothing names it.
func (d *docRequest) check(key string) (int, error) {
	switch {
	case d.SignAlgo == "":
		return 0, missing("string", "signAlgo")
	case d.Params != "" && d.Params != derNull:
		return 0, cscserver.Invalid("Invalid parameter signAlgoParams")
	case d.Format == "":
		return 0, missing("string", "signature_format")
	}
	return hashFor(key, d.SignAlgo, d.HashOID, "hashAlgorithmOID")
}

// options of the signature that an element asks for.
func (d *docRequest) options(digests bool) (o request.Options, e envelope, err error) {
	o = request.DefaultOptions()
	if !slices.Contains(formatNames, d.Format) {
		return o, e, cscserver.Invalid("Invalid parameter signature_format")
	}
	if d.Level != "" {
		if o.Level = levels[strings.ToLower(d.Level)]; o.Level == "" {
			return o, e, cscserver.Invalid("Invalid parameter conformance_level")
		}
	}
	i := slices.IndexFunc(envelopeTable, func(e envelope) bool { return e.format == d.Format && (d.Envelope == "" || e.name == d.Envelope) })
	if i < 0 {
		return o, e, cscserver.Invalid("Invalid parameter signed_envelope_property")
	}
	e = envelopeTable[i]
	e.set(&o)
	if digests {
		if err := d.overDigests(&o); err != nil {
			return o, e, err
		}
	}
	return o, e, d.properties(&o)
}

// overDigests judges what can be signed over digests alone. XAdES and JAdES need
// names of what they refer to, and beyond level T a PDF holds what its CMS cannot.
func (d *docRequest) overDigests(o *request.Options) error {
	switch {
	case d.Format == "X":
		return cscserver.Invalid("Invalid parameter signature_format: XAdES is made of documents, not of documentDigests")
	case d.Format == "J":
		return cscserver.Invalid("Invalid parameter signature_format: JAdES is made of documents, not of documentDigests")
	case d.Format == "P" && o.Level != "B" && o.Level != "T":
		return cscserver.Invalid("Invalid parameter conformance_level: over documentDigests PAdES reaches Ades-B-T")
	case d.Format == "C" && o.Level == "LTA":
		return cscserver.Invalid("Invalid parameter conformance_level: over documentDigests CAdES reaches Ades-B-LT")
	case d.Format == "C" && d.Envelope != "" && d.Envelope != "Detached":
		return cscserver.Invalid("Invalid parameter signed_envelope_property: over documentDigests a signature is Detached")
	}
	o.Certify, o.Embedded = false, d.Format == "P"
	o.Packaging, o.Detached, o.Parallel = "detached", true, false
	return nil
}

// properties are those signed attributes that PAdES puts into its dictionary
// (EN 319 142-1, 5.3).
func (d *docRequest) properties(o *request.Options) error {
	for _, p := range d.Properties {
		value, err := base64.StdEncoding.DecodeString(p.Value)
		if o.SignerImage == nil {
			o.SignerImage = &request.SignerImage{}
		}
		into := map[string]*string{"Location": &o.SignerImage.Location, "Reason": &o.SignerImage.Reason, "Name": &o.SignerImage.SignerName, "ContactInfo": &o.SignerImage.Email}[p.Name]
		if err != nil || into == nil || d.Format != "P" || o.Embedded || len(value) > 1024 {
			return cscserver.Invalid("Invalid parameter signed_props (%q)", p.Name[:min(len(p.Name), 64)])
		}
		*into = strings.ToValidUTF8(string(value), "")
	}
	return nil
}

// digestJobs are the jobs over digests.
func (d *docRequest) digestJobs(c *call, o request.Options, size int) ([]docJob, error) {
	v := d.Hashes
	if v == nil {
		v = d.Hash
	}
	var list []string
	if v.Kind() == '"' { // as in the samples of the specification
		list = make([]string, 1)
		if c.spool.Unmarshal(v, &list[0]) != nil {
			list = nil
		}
	} else if v != nil && c.spool.Unmarshal(v, &list) != nil {
		list = nil
	}
	if len(list) == 0 {
		return nil, missing("array", "hashes")
	}
	if size == 0 {
		return nil, missing("string", "hashAlgorithmOID")
	}
	var all []docJob
	for _, text := range list {
		h, ok := cscserver.DecodeHash(text)
		if !ok {
			return nil, cscserver.Invalid("Invalid Base64 hashes string parameter")
		}
		if len(h) != size {
			return nil, cscserver.Invalid("Invalid digest value length")
		}
		j := digestJob(h, request.CAdES, o)
		j.wanted = cscserver.Exactly(h)
		all = append(all, docJob{j, true})
	}
	return all, nil
}

// hashSizes are the hash functions by the length of their digests.
var hashSizes = map[int]crypto.Hash{32: crypto.SHA256, 48: crypto.SHA384, 64: crypto.SHA512}

// digestOf says whether an authorised hash is a document's, by whichever function
// it was made. SHA-256 is made at once, since hashes are compared while a
// transaction is open; the others only where they were authorised.
func digestOf(src ades.Source) (cscserver.Wanted, error) {
	made := map[int][]byte{}
	digest := func(size int) error {
		sum := hashSizes[size].New()
		_, err := io.Copy(sum, io.NewSectionReader(src, 0, src.Size()))
		made[size] = sum.Sum(nil)
		return err
	}
	return func(authorised []byte) bool {
		size := len(authorised)
		if hashSizes[size] == 0 || made[size] == nil && digest(size) != nil {
			return false
		}
		return slices.Equal(made[size], authorised)
	}, digest(32)
}

// timestamp gives a time-stamp over a digest (11.13).
func (s *Service) timestamp(ctx context.Context, c *call) (object, error) {
	text, err := c.must("hash", "hashes")
	if err != nil {
		return nil, err
	}
	digest, ok := cscserver.DecodeHash(text)
	if !ok {
		return nil, cscserver.Invalid("Invalid Base64 hash string parameter")
	}
	oid, err := c.must("hashAlgo", "hashAlgorithmOID")
	if err != nil {
		return nil, err
	}
	size := cscserver.HashSize(oid)
	switch {
	case size == 0:
		return nil, cscserver.Invalid("Invalid parameter hashAlgo")
	case len(digest) != size:
		return nil, cscserver.Invalid("Invalid digest value length")
	}
	nonce, err := c.nonce()
	if err != nil {
		return nil, err
	}
	token, err := s.Stamper.StampNonce(ctx, hashSizes[size], digest, nonce)
	if err != nil {
		f := fault.New(fault.TimestampFailed, "the time-stamp authority failed").Because(err)
		f.Status = http.StatusServiceUnavailable
		return nil, f
	}
	return object{"timestamp": token}, nil
}

// maxNonce bounds a nonce in hexadecimal digits.
const maxNonce = 64

func (c *call) nonce() (*big.Int, error) {
	text, err := c.text("nonce")
	if err != nil || text == "" {
		return nil, err
	}
	if len(text)%2 == 1 {
		text = "0" + text
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(text) > maxNonce {
		return nil, cscserver.Invalid("Invalid parameter nonce")
	}
	return new(big.Int).SetBytes(b), nil
}
