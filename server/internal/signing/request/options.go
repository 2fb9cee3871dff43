package request

import (
	"crypto"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // the names of zones, wherever the binary runs

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/upload"
)

// Options of a signature request, as they are used: defaults filled in.
//
// This struct is the one table of options. A line gives the name on the wire (json), the formats
// that have the option (for; none: all of them, and every record shows it), the words it may have
// (enum), how long it may be (max), what else is asked of it (rule, by its name in rules), and what
// it means (doc). The parser, the schemas of the API and what a record shows follow from it. What
// is secret is not stored with the rest and never shown (json "-", its name in option).
type Options struct {
	AsyncValidation bool         `json:"asyncDocumentsValidation" doc:"answer WAIT_VALIDATION at once and validate later"`
	AsyncSignature  bool         `json:"asyncSignature" doc:"answer WAIT_SIGN at once and sign later"`
	Level           string       `json:"level" for:"cades pades xades jades" enum:"B,T,LT,LTA,LTV" default:"B" doc:"LTV (pades) is LT with VRI entries, which Acrobat shows as LTV enabled"`
	Hash            string       `json:"hashAlgorithm" for:"cades pades xades jades pkcs1" enum:"SHA1,SHA256,SHA384,SHA512" rule:"hash" default:"SHA256" doc:"SHA1 is refused unless the operator allows it"`
	EncryptAny      bool         `json:"encryptInAnyCase" for:"pades" doc:"encrypt a PDF that is not (AES-256) with encryptionPassword before signing"`
	DocPassword     string       `json:"-" option:"encryptionPassword" for:"pades" max:"127" doc:"opens an encrypted PDF, which stays encrypted under its own keys"`
	Page            int          `json:"page" for:"pades" rule:"page" default:"1" doc:"of a visible signature, -1 for the last"`
	X               *float64     `json:"x" for:"pades" rule:"points" doc:"of a visible signature: points from the left edge of the page; without x and y it stands where nothing is written"`
	Y               *float64     `json:"y" for:"pades" rule:"points" doc:"of a visible signature: points from the top of the page"`
	SignerImage     *SignerImage `json:"signerImage" for:"pades" doc:"how a visible signature looks"`
	LockFields      []string     `json:"lockFields" for:"pades" rule:"names" doc:"fields that the signature locks, separated by commas, or a list"`
	WithField       bool         `json:"withSignatureField" for:"pades" doc:"sign into an existing empty field; a new one is made where there is none"`
	Packaging       string       `json:"packaging" for:"cades xades jades" enum:"attached,detached,enveloped,enveloping,internally-detached,asic-s,asic-e" doc:"cades, jades: attached (default), detached; xades: enveloped (default for XML), enveloping (default for another document), detached, internally-detached; cades, xades: asic-s, asic-e"`
	Serialization   string       `json:"serialization" for:"jades" enum:"flattened,general,compact" default:"flattened" doc:"the form of a JSON signature; compact goes with level B only"`
	Detached        bool         `json:"detached" for:"cades xades jades" doc:"the same as packaging detached"`
	Counter         bool         `json:"counterSignature" for:"cades jades" doc:"counter-sign every signer of a .p7m or of a JSON signature"`
	Parallel        bool         `json:"parallelSignature" for:"cades" default:"true" doc:"on a .p7m: add a signer beside the others; false signs the file as it is, a new layer around it"`
	KeepSignatures  bool         `json:"withoutSignatureExclusion" for:"xades" doc:"keep signatures already there inside the signed data"`
	XPathQuery      string       `json:"XPathQuery" for:"xades" max:"2048" rule:"xpath" doc:"the elements to sign, by XPath; each becomes a reference by Id"`
	SignElement     string       `json:"signElement" for:"xades" max:"256" doc:"the element to sign, by Id"`
	SignatureID     string       `json:"signatureId" for:"xades" max:"256" rule:"id" doc:"the Id of the new signature"`
	ContentStamp    bool         `json:"contentTimestamp" for:"cades pades xades" doc:"time-stamp the content before it is signed, at any level; not with counterSignature nor over a digest"`
	Commitment      string       `json:"commitment" for:"cades pades xades" max:"128" rule:"commitment" doc:"what the signer means: proof-of-origin, proof-of-receipt, proof-of-delivery, proof-of-sender, proof-of-approval, proof-of-creation, or an object identifier; of a PDF in place of signerImage.reason"`
	WithTimestamp   bool         `json:"withTimestamp" for:"cades pades xades jades" doc:"a time-stamp; level B with it is T"`
	TimestampURL    string       `json:"timestampUrl" for:"cades pades xades jades" max:"2048" rule:"address" doc:"the caller's time-stamp authority; the configured one where absent"`
	TimestampUser   string       `json:"timestampUsername" for:"cades pades xades jades" max:"256" doc:"the caller's name there"`
	TSAPassword     string       `json:"-" option:"timestampPassword" for:"cades pades xades jades" max:"256" doc:"the caller's password there"`
	TimestampHash   string       `json:"timestampHashAlgo" for:"cades pades xades jades" enum:"SHA1,SHA256,SHA384,SHA512" rule:"hash" default:"SHA256" doc:"SHA1 is refused unless the operator allows it"`
	Timezone        string       `json:"timezone" for:"pades" max:"64" rule:"zone" default:"UTC" doc:"IANA name: of the times shown in a visible signature"`
	Batch           bool         `json:"batch" for:"cades pades xades jades pkcs1" doc:"sign each document on its own: a zip in input order with report.json"`

	Asked    SignatureType `json:"askedType" option:"-"`          // signatureType of the request; never shown
	Certify  bool          `json:"certify,omitempty" option:"-"`  // pades: the first signature certifies the document (DocMDP, 2)
	Embedded bool          `json:"embedded,omitempty" option:"-"` // cades over a digest: a CMS that a PDF will hold

	People *PeopleOptions `json:"people,omitempty" option:"-"` // nil: a certificate signs
}

// SignerImage is how a visible signature looks; a table like Options.
type SignerImage struct {
	Image      upload.Text `json:"-" option:"image" doc:"base64 of a PNG or JPEG"`
	ImageURL   string      `json:"imageUrl" max:"2048" rule:"address" doc:"where to fetch it instead"`
	SignerName string      `json:"signerName" max:"1024" doc:"in place of the name in the certificate"`
	Location   string      `json:"location" max:"1024" doc:"where it was signed"`
	Reason     string      `json:"reason" max:"1024" doc:"why it was signed"`
	Email      string      `json:"signerEmail" max:"1024" doc:"how to reach the signer"`
	Visible    bool        `json:"imageVisible" default:"true" doc:"false: an invisible signature with these texts"`
	Layout     string      `json:"layout" enum:"beside,above,behind,text,compact,picture" default:"beside" doc:"where the picture stands to the text: beside it, above it, behind it and pale, or left out (text; compact: all text in one paragraph); picture: no text"`
	Language   string      `json:"language" enum:"en,it" doc:"of the text; absent: by Accept-Language, else Italian for a certificate of Italy, else English"`
	Width      int         `json:"width" rule:"size" default:"164" doc:"points"`
	Height     int         `json:"height" rule:"size" default:"45" doc:"points"`
	QR         bool        `json:"qr" doc:"a QR code with the address of /check of this server at the right edge"`
	Fields     []string    `json:"fieldsNameList" rule:"list" doc:"names of the fields to sign into"`
	AllFields  bool        `json:"signAllFields" doc:"sign into every empty signature field"`
	Places     []string    `json:"places" rule:"places" doc:"several places, each a signature of its own, in place of page, x and y: \"page,x,y\" or \"page,x,y,width,height\", in points from the left and the top; at most 20"`
}

// Option is a line of a table of options.
type Option struct {
	Name    string
	Formats []string // that have it; none: all
	Type    string   // as JSON Schema names it
	Enum    []string
	Default string
	Doc     string
	Secret  bool // never shown
	List    bool // of strings, and a string of them separated by commas is taken too

	rule  string
	most  int
	field int
}

// OptionTable are the options that a request may have.
var OptionTable = optionsOf(reflect.TypeFor[Options]())

// ImageTable are the members that signerImage may have.
var ImageTable = optionsOf(reflect.TypeFor[SignerImage]())

func optionsOf(t reflect.Type) []Option {
	var all []Option
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		o := Option{
			Name: tag.Get("json"), Formats: strings.Fields(tag.Get("for")), Default: tag.Get("default"), Doc: tag.Get("doc"), rule: tag.Get("rule"), field: i,
		}
		if name := tag.Get("option"); name != "" {
			o.Name, o.Secret = name, true
		}
		if o.Name == "-" {
			continue
		}
		if words := tag.Get("enum"); words != "" {
			o.Enum = strings.Split(words, ",")
		}
		o.most, _ = strconv.Atoi(tag.Get("max"))
		switch typ := t.Field(i).Type; {
		case typ.Kind() == reflect.Bool:
			o.Type = "boolean"
		case typ.Kind() == reflect.Int:
			o.Type = "integer"
		case typ == reflect.TypeFor[*float64]():
			o.Type = "number"
		case typ == reflect.TypeFor[[]string]():
			o.Type, o.List = "array", o.rule == "names"
		case typ == reflect.TypeFor[*SignerImage]():
			o.Type = "object"
		default:
			o.Type = "string"
		}
		all = append(all, o)
	}
	return all
}

// fill sets the defaults of a table.
func fill(table []Option, into reflect.Value) {
	for _, o := range table {
		if o.Default != "" && o.Type == "string" {
			into.Field(o.field).SetString(o.Default)
		} else if o.Default != "" {
			_ = json.Unmarshal([]byte(o.Default), into.Field(o.field).Addr().Interface()) // a test reads them all
		}
	}
}

// AddressCheck judges an address without a look-up.
type AddressCheck func(raw string) error

// optionParser reads the options of one request.
type optionParser struct {
	spool     *upload.Spool
	check     AddressCheck
	allowSHA1 bool
}

// parseOptions reads the member options. Every fault is 625 and names the
// option.
func parseOptions(v jsontext.Value, p optionParser) (Options, error) {
	var o Options
	fill(OptionTable, reflect.ValueOf(&o).Elem())
	if absent(v) {
		return o, nil
	}
	if why := p.object("options", v, OptionTable, reflect.ValueOf(&o).Elem()); why != "" {
		return o, fault.New(fault.BadOption, "%s", why)
	}
	switch {
	case o.EncryptAny && o.DocPassword == "":
		return o, fault.New(fault.BadOption, "options.encryptInAnyCase needs options.encryptionPassword")
	case o.SignElement != "" && o.XPathQuery != "":
		return o, fault.New(fault.BadOption, "options.signElement and options.XPathQuery both say what to sign: give one")
	}
	if o.Detached && o.Packaging == "" {
		o.Packaging = "detached"
	}
	o.Detached = o.Detached || o.Packaging == "detached"
	return o, nil
}

// object reads the members of a table, and says which is wrong, and why. A null
// is as good as an absent one.
func (p *optionParser) object(path string, v jsontext.Value, table []Option, into reflect.Value) (why string) {
	var members map[string]jsontext.Value
	if v.Kind() != '{' || p.spool.Unmarshal(v, &members) != nil {
		return path + " must be an object"
	}
	// Sorted, so that of two mistakes the same one is always named.
	for _, name := range slices.Sorted(maps.Keys(members)) {
		i := slices.IndexFunc(table, func(o Option) bool { return o.Name == name })
		if i < 0 {
			return hint.Unknown(path+"."+name, tableNames(path, table))
		}
		if v := members[name]; !absent(v) {
			if why := p.member(path+"."+name, v, &table[i], into.Field(table[i].field)); why != "" {
				return why
			}
		}
	}
	return ""
}

// tableNames are the options of a table by their paths.
func tableNames(path string, table []Option) []string {
	names := make([]string, len(table))
	for i, o := range table {
		names[i] = path + "." + o.Name
	}
	return names
}

// member reads one option by its line of the table.
func (p *optionParser) member(path string, v jsontext.Value, o *Option, into reflect.Value) (why string) {
	if image, ok := into.Addr().Interface().(**SignerImage); ok {
		*image = new(SignerImage)
		fill(ImageTable, reflect.ValueOf(*image).Elem())
		return p.object(path, v, ImageTable, reflect.ValueOf(*image).Elem())
	}
	if o.List {
		v = p.listOf(v)
	}
	if p.spool.Unmarshal(v, into.Addr().Interface()) != nil {
		return path + " must be " + map[string]string{
			"boolean": "true or false", "integer": "an integer", "number": "a number", "array": "a list of names", "string": "a string",
		}[o.Type]
	}
	words := o.Enum
	if o.rule == "hash" && !p.allowSHA1 {
		words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "SHA1" })
	}
	switch {
	case words != nil && !slices.Contains(words, into.String()):
		return hint.OneOf(path, into.String(), words)
	case o.most > 0 && into.Len() > o.most:
		return fmt.Sprintf("%s is longer than %d bytes", path, o.most)
	case rules[o.rule] != nil:
		if why := rules[o.rule](p, into); why != "" {
			return path + " " + why
		}
	}
	return ""
}

// listOf makes a list of a string of names separated by commas.
func (p *optionParser) listOf(v jsontext.Value) jsontext.Value {
	var s string
	if p.spool.Unmarshal(v, &s) != nil {
		return v
	}
	list, err := json.Marshal(strings.Split(s, ","))
	if err != nil {
		return v
	}
	return list
}

// rules are what is asked of an option beyond its type.
var rules = map[string]func(p *optionParser, v reflect.Value) (why string){
	"page": func(_ *optionParser, v reflect.Value) string {
		return unless(v.Int() > 0 || v.Int() == -1, "must be an integer from 1 on, or -1 for the last page")
	},
	"points": func(_ *optionParser, v reflect.Value) string {
		return unless(math.Abs(v.Elem().Float()) <= 20000, "must be a number of points up to 20000")
	},
	"size": func(_ *optionParser, v reflect.Value) string {
		return unless(v.Int() >= 1 && v.Int() <= 5000, "must be between 1 and 5000")
	},
	"xpath": func(_ *optionParser, v reflect.Value) string {
		return unless(v.String() == "" || xmldom.CheckXPath(v.String()) == nil, "is not an XPath expression")
	},
	"id": func(_ *optionParser, v reflect.Value) string {
		return unless(v.String() == "" || xmldom.IsName(v.String()), "is not an XML name")
	},
	"commitment": func(_ *optionParser, v reflect.Value) string {
		return unless(v.String() == "" || CommitmentOf(v.String()) != "", "is neither the name of a commitment (proof-of-approval, …) nor an object identifier")
	},
	"zone": func(_ *optionParser, v reflect.Value) string {
		_, err := time.LoadLocation(v.String())
		return unless(err == nil && v.String() != "" && v.String() != "Local", "is not the name of a time zone")
	},
	"address": func(p *optionParser, v reflect.Value) string {
		if v.String() == "" {
			return ""
		}
		if err := p.check(v.String()); err != nil {
			return "is refused: " + err.Error()
		}
		return ""
	},
	"places": func(_ *optionParser, v reflect.Value) string {
		for _, text := range v.Interface().([]string) {
			if _, ok := ParsePlace(text); !ok {
				return "holds what is no page,x,y[,width,height]"
			}
		}
		return unless(v.Len() <= mostVisible, fmt.Sprintf("names more than %d places", mostVisible))
	},
	"list": func(_ *optionParser, v reflect.Value) string {
		return unless(v.Len() <= 100, "names more than 100 fields")
	},
	"names": func(_ *optionParser, v reflect.Value) string {
		var names []string
		for _, name := range v.Interface().([]string) {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
		v.Set(reflect.ValueOf(names))
		return ""
	},
}

func unless(good bool, why string) string {
	if good {
		return ""
	}
	return why
}

func absent(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// TargetLevel is the level to be reached: LTV is LT with more in the file, and a time-stamp makes T
// of B.
func (o *Options) TargetLevel() ades.Level {
	level, _ := ades.ParseLevel(strings.TrimSuffix(o.Level, "V")) // the parser of requests took no others
	if o.WithTimestamp {
		level = max(level, ades.LevelT)
	}
	return level
}

// CommitmentOf is the object identifier of a commitment, by its name or itself;
// "" for what is neither.
func CommitmentOf(name string) string {
	if id := ades.Commitment(name); id != "" {
		return id
	}
	if oid.Valid(name) {
		return name
	}
	return ""
}

func HashOf(name string) crypto.Hash {
	switch name {
	case "SHA1":
		return crypto.SHA1
	case "SHA384":
		return crypto.SHA384
	case "SHA512":
		return crypto.SHA512
	}
	return crypto.SHA256
}

// Echo is what a record shows of the options: those that have an effect in its
// format, and the level that was reached. Until the format is known, the two
// that always have.
func (o *Options) Echo(format SignatureType, achieved string) map[string]any {
	out := map[string]any{}
	values := reflect.ValueOf(o).Elem()
	for _, row := range OptionTable {
		if !row.Secret && (len(row.Formats) == 0 || slices.Contains(row.Formats, string(format))) {
			out[row.Name] = echo(values.Field(row.field))
		}
	}
	if format != "" {
		out["achievedLevel"] = nil
		if achieved != "" {
			out["achievedLevel"] = achieved
		}
	}
	return out
}

// echo is an option as JSON has it: null where it was not given.
func echo(v reflect.Value) any {
	switch v.Kind() {
	case reflect.String, reflect.Slice:
		if v.Len() == 0 {
			return nil
		}
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if v.Elem().Kind() != reflect.Struct {
			break
		}
		var members map[string]any
		if text, err := json.Marshal(v.Interface()); err == nil && json.Unmarshal(text, &members) == nil {
			return members
		}
	}
	return v.Interface()
}

// SignatureType is a format by its name on the wire (signatureType); empty where none is known yet.
type SignatureType string

// The signature types.
const (
	CAdES SignatureType = "cades"
	PAdES SignatureType = "pades"
	XAdES SignatureType = "xades"
	JAdES SignatureType = "jades"
	PKCS1 SignatureType = "pkcs1"
)

// Several is what becomes of several documents in one request that is no batch.
type Several int

// What becomes of them.
const (
	Zipped   Several = iota // a zip is signed
	Together                // one signature is over all of them
	Merged                  // into one document
	Each                    // each is signed
)

// signatureTypes has what the service knows of each.
var signatureTypes = map[SignatureType]struct {
	format  ades.Format
	several Several
	digest  bool // a digest can be signed
}{
	CAdES: {ades.CAdES, Zipped, true},
	PAdES: {ades.PAdES, Merged, false},
	XAdES: {ades.XAdES, Together, false},
	JAdES: {ades.JAdES, Together, false},
	PKCS1: {ades.PKCS1, Each, true},
}

// Format is that of the library; empty for a type that there is not.
func (t SignatureType) Format() ades.Format { return signatureTypes[t].format }

// Several is what becomes of several documents.
func (t SignatureType) Several() Several { return signatureTypes[t].several }

// Digest reports whether a digest can be signed.
func (t SignatureType) Digest() bool { return signatureTypes[t].digest }

// TypeOf is the type of a format of the library; CAdES if it has none of its own.
func TypeOf(f ades.Format) SignatureType {
	for t, facts := range signatureTypes {
		if facts.format == f {
			return t
		}
	}
	return CAdES
}

// Formats lists the names of the types.
func Formats() []string {
	var names []string
	for t := range signatureTypes {
		names = append(names, string(t))
	}
	slices.Sort(names)
	return names
}

// ChooseLanguage fills in that of a visible signature: the caller's, else that of
// the country in the certificate.
func (o *Options) ChooseLanguage(of, subject string) {
	si := o.SignerImage
	switch {
	case si == nil || si.Language != "":
	case of != "":
		si.Language = of
	case strings.HasPrefix(subject, "C=IT,"):
		si.Language = "it"
	default:
		si.Language = "en"
	}
}

// SignsFields says that a PDF is signed once for each of several fields or places.
func (o *Options) SignsFields() bool {
	return o.SignerImage != nil && (o.SignerImage.AllFields || len(o.SignerImage.Fields) > 1 || len(o.SignerImage.Places) > 1)
}

// SignsSeveralTimes says that one document may want several signature values, one
// after another.
func (o *Options) SignsSeveralTimes() bool { return o.SignsFields() || o.Counter }
