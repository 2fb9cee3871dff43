package signing

import (
	"crypto"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the names of zones, wherever the binary runs

	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/upload"
	"rogito.dev/rogito/xades"
)

// Options of a signature request, as they are used: defaults filled in. What
// is secret is kept apart, in Secrets.
type Options struct {
	AsyncValidation bool         `json:"asyncDocumentsValidation"`
	AsyncSignature  bool         `json:"asyncSignature"`
	Level           string       `json:"level"`
	Hash            string       `json:"hashAlgorithm"`
	EncryptAny      bool         `json:"encryptInAnyCase"`
	Page            int          `json:"page"`
	X               *float64     `json:"x"`
	Y               *float64     `json:"y"`
	SignerImage     *SignerImage `json:"signerImage"`
	LockFields      []string     `json:"lockFields"`
	WithField       bool         `json:"withSignatureField"`
	Packaging       string       `json:"packaging"`
	Detached        bool         `json:"detached"`
	Counter         bool         `json:"counterSignature"`
	Parallel        bool         `json:"parallelSignature"`
	KeepSignatures  bool         `json:"withoutSignatureExclusion"`
	XPathQuery      string       `json:"XPathQuery"`
	SignElement     string       `json:"signElement"`
	SignatureID     string       `json:"signatureId"`
	WithTimestamp   bool         `json:"withTimestamp"`
	TimestampURL    string       `json:"timestampUrl"`
	TimestampUser   string       `json:"timestampUsername"`
	TimestampHash   string       `json:"timestampHashAlgo"`
	Timezone        string       `json:"timezone"`
	Batch           bool         `json:"batch"`
	Asked           string       `json:"askedType"` // signatureType of the request; never shown

	encryptionPassword string
	timestampPassword  string
	image              upload.Text
}

// SignerImage is how a visible signature looks.
type SignerImage struct {
	ImageURL   string   `json:"imageUrl"`
	SignerName string   `json:"signerName"`
	Location   string   `json:"location"`
	Reason     string   `json:"reason"`
	Email      string   `json:"signerEmail"`
	Visible    bool     `json:"imageVisible"`
	Width      int      `json:"width"`
	Height     int      `json:"height"`
	Fields     []string `json:"fieldsNameList"`
	AllFields  bool     `json:"signAllFields"`
}

func defaultOptions() Options {
	return Options{Level: "B", Hash: "SHA256", Page: 1, Parallel: true, TimestampHash: "SHA256", Timezone: "UTC"}
}

// AddressCheck judges an address without a look-up.
type AddressCheck func(raw string) error

// optionParser reads the options of one request.
type optionParser struct {
	spool     *upload.Spool
	check     AddressCheck
	allowSHA1 bool
	o         Options
}

// parseOptions reads the member options. Every fault is 625 and names the
// option.
func parseOptions(v jsontext.Value, p optionParser) (Options, error) {
	p.o = defaultOptions()
	if absent(v) {
		return p.o, nil
	}
	var members map[string]jsontext.Value
	if v.Kind() != '{' || p.spool.Unmarshal(v, &members) != nil {
		return p.o, fault.New(fault.BadOption, "options must be an object")
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names) // so that of two mistakes the same one is always named
	for _, name := range names {
		set, known := optionTable[name]
		if !known {
			return p.o, fault.New(fault.BadOption, "options.%s is unknown", clip(name))
		}
		if v := members[name]; !absent(v) {
			if why := set(&p, v); why != "" {
				return p.o, fault.New(fault.BadOption, "options.%s %s", name, why)
			}
		}
	}
	return p.o, p.together()
}

// together checks options against one another.
func (p *optionParser) together() error {
	o := &p.o
	if o.EncryptAny && o.encryptionPassword == "" {
		return fault.New(fault.BadOption, "options.encryptInAnyCase needs options.encryptionPassword")
	}
	if o.SignElement != "" && o.XPathQuery != "" {
		return fault.New(fault.BadOption, "options.signElement and options.XPathQuery both say what to sign: give one")
	}
	if o.Detached && o.Packaging == "" {
		o.Packaging = "detached"
	}
	if o.Packaging == "detached" {
		o.Detached = true
	}
	return nil
}

func absent(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

func clip(s string) string { return clipTo(s, 64) }

func clipTo(s string, most int) string {
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

type setter func(p *optionParser, v jsontext.Value) (why string)

var (
	levels     = []string{"B", "T", "LT", "LTA", "LTV"}
	hashes     = []string{"SHA256", "SHA384", "SHA512"}
	packagings = []string{"attached", "detached", "enveloped", "enveloping", "internally-detached", "asic-s", "asic-e"}
)

var optionTable = map[string]setter{
	"asyncDocumentsValidation":  boolean(func(o *Options) *bool { return &o.AsyncValidation }),
	"asyncSignature":            boolean(func(o *Options) *bool { return &o.AsyncSignature }),
	"encryptInAnyCase":          boolean(func(o *Options) *bool { return &o.EncryptAny }),
	"withSignatureField":        boolean(func(o *Options) *bool { return &o.WithField }),
	"detached":                  boolean(func(o *Options) *bool { return &o.Detached }),
	"counterSignature":          boolean(func(o *Options) *bool { return &o.Counter }),
	"parallelSignature":         boolean(func(o *Options) *bool { return &o.Parallel }),
	"withoutSignatureExclusion": boolean(func(o *Options) *bool { return &o.KeepSignatures }),
	"withTimestamp":             boolean(func(o *Options) *bool { return &o.WithTimestamp }),
	"batch":                     boolean(func(o *Options) *bool { return &o.Batch }),
	"level":                     oneOf(func(o *Options) *string { return &o.Level }, levels),
	"hashAlgorithm":             hashName(func(o *Options) *string { return &o.Hash }),
	"timestampHashAlgo":         hashName(func(o *Options) *string { return &o.TimestampHash }),
	"packaging":                 oneOf(func(o *Options) *string { return &o.Packaging }, packagings),
	"encryptionPassword":        text(func(o *Options) *string { return &o.encryptionPassword }, 127),
	"timestampUsername":         text(func(o *Options) *string { return &o.TimestampUser }, 256),
	"timestampPassword":         text(func(o *Options) *string { return &o.timestampPassword }, 256),
	"XPathQuery":                setXPathQuery,
	"signElement":               text(func(o *Options) *string { return &o.SignElement }, 256),
	"signatureId":               setSignatureID,
	"timestampUrl":              address(func(o *Options) *string { return &o.TimestampURL }),
	"page":                      setPage,
	"x":                         coordinate(func(o *Options) **float64 { return &o.X }),
	"y":                         coordinate(func(o *Options) **float64 { return &o.Y }),
	"lockFields":                setLockFields,
	"timezone":                  setTimezone,
	"signerImage":               setSignerImage,
}

// OptionNames are those that a request may have, sorted.
func OptionNames() []string { return slices.Sorted(maps.Keys(optionTable)) }

// ImageOptionNames are the members that signerImage may have, sorted.
func ImageOptionNames() []string { return slices.Sorted(slices.Values(imageMembers)) }

func boolean(at func(*Options) *bool) setter {
	return func(p *optionParser, v jsontext.Value) string {
		if json.Unmarshal(v, at(&p.o)) != nil {
			return "must be true or false"
		}
		return ""
	}
}

func oneOf(at func(*Options) *string, words []string) setter {
	return func(p *optionParser, v jsontext.Value) string {
		var s string
		if p.spool.Unmarshal(v, &s) != nil || !slices.Contains(words, s) {
			return "must be one of " + strings.Join(words, ", ")
		}
		*at(&p.o) = s
		return ""
	}
}

func hashName(at func(*Options) *string) setter {
	return func(p *optionParser, v jsontext.Value) string {
		words := hashes
		if p.allowSHA1 {
			words = append([]string{"SHA1"}, hashes...)
		}
		return oneOf(at, words)(p, v)
	}
}

func text(at func(*Options) *string, most int) setter {
	return func(p *optionParser, v jsontext.Value) string {
		var s string
		if p.spool.Unmarshal(v, &s) != nil {
			return "must be a string"
		}
		if len(s) > most {
			return fmt.Sprintf("is longer than %d bytes", most)
		}
		*at(&p.o) = s
		return ""
	}
}

func address(at func(*Options) *string) setter {
	return func(p *optionParser, v jsontext.Value) string {
		if why := text(at, 2048)(p, v); why != "" {
			return why
		}
		if s := *at(&p.o); s != "" {
			if err := p.check(s); err != nil {
				return "is refused: " + err.Error()
			}
		}
		return ""
	}
}

func setPage(p *optionParser, v jsontext.Value) string {
	if json.Unmarshal(v, &p.o.Page) != nil || p.o.Page == 0 || p.o.Page < -1 {
		return "must be an integer from 1 on, or -1 for the last page"
	}
	return ""
}

func setXPathQuery(p *optionParser, v jsontext.Value) string {
	if why := text(func(o *Options) *string { return &o.XPathQuery }, 2048)(p, v); why != "" {
		return why
	}
	if err := xades.CheckQuery(p.o.XPathQuery); p.o.XPathQuery != "" && err != nil {
		return "is not an XPath expression"
	}
	return ""
}

func setSignatureID(p *optionParser, v jsontext.Value) string {
	if why := text(func(o *Options) *string { return &o.SignatureID }, 256)(p, v); why != "" {
		return why
	}
	if p.o.SignatureID != "" && !xades.IsID(p.o.SignatureID) {
		return "is not an XML name"
	}
	return ""
}

func coordinate(at func(*Options) **float64) setter {
	return func(p *optionParser, v jsontext.Value) string {
		var f float64
		if json.Unmarshal(v, &f) != nil || math.Abs(f) > 20000 {
			return "must be a number of points"
		}
		*at(&p.o) = &f
		return ""
	}
}

// setLockFields takes names separated by commas, or an array of them.
func setLockFields(p *optionParser, v jsontext.Value) string {
	var s string
	var list []string
	switch {
	case p.spool.Unmarshal(v, &s) == nil:
		list = strings.Split(s, ",")
	case p.spool.Unmarshal(v, &list) == nil:
	default:
		return "must be a string of names separated by commas"
	}
	for _, name := range list {
		if name = strings.TrimSpace(name); name != "" {
			p.o.LockFields = append(p.o.LockFields, name)
		}
	}
	return ""
}

func setTimezone(p *optionParser, v jsontext.Value) string {
	if why := text(func(o *Options) *string { return &o.Timezone }, 64)(p, v); why != "" {
		return why
	}
	if _, err := time.LoadLocation(p.o.Timezone); err != nil || p.o.Timezone == "Local" || p.o.Timezone == "" {
		return "is not the name of a time zone"
	}
	return ""
}

func setSignerImage(p *optionParser, v jsontext.Value) string {
	in := struct {
		Image      upload.Text `json:"image"`
		ImageURL   *string     `json:"imageUrl"`
		SignerName *string     `json:"signerName"`
		Location   *string     `json:"location"`
		Reason     *string     `json:"reason"`
		Email      *string     `json:"signerEmail"`
		Visible    *bool       `json:"imageVisible"`
		Width      *int        `json:"width"`
		Height     *int        `json:"height"`
		Fields     []string    `json:"fieldsNameList"`
		AllFields  *bool       `json:"signAllFields"`
	}{}
	if v.Kind() != '{' {
		return "must be an object"
	}
	if err := p.spool.Unmarshal(v, &in); err != nil {
		return "is wrong: " + err.Error()
	}
	var names map[string]jsontext.Value
	if p.spool.Unmarshal(v, &names) == nil {
		for name := range names {
			if !slices.Contains(imageMembers, name) {
				return "has an unknown member " + clip(name)
			}
		}
	}
	s := &SignerImage{Visible: true, Width: 164, Height: 45, Fields: in.Fields}
	put(&s.ImageURL, in.ImageURL)
	put(&s.SignerName, in.SignerName)
	put(&s.Location, in.Location)
	put(&s.Reason, in.Reason)
	put(&s.Email, in.Email)
	put(&s.Visible, in.Visible)
	put(&s.Width, in.Width)
	put(&s.Height, in.Height)
	put(&s.AllFields, in.AllFields)
	p.o.SignerImage, p.o.image = s, in.Image
	return s.check(p.check)
}

var imageMembers = []string{"image", "imageUrl", "signerName", "location", "reason", "signerEmail", "imageVisible", "width", "height", "fieldsNameList", "signAllFields"}

func put[T any](dst *T, v *T) {
	if v != nil {
		*dst = *v
	}
}

func (s *SignerImage) check(address AddressCheck) string {
	if s.Width < 1 || s.Width > 5000 || s.Height < 1 || s.Height > 5000 {
		return "has a width or height outside 1 to 5000"
	}
	for _, t := range []string{s.SignerName, s.Location, s.Reason, s.Email} {
		if len(t) > 1024 {
			return "has a text of more than 1024 bytes"
		}
	}
	if len(s.Fields) > 100 {
		return "names more than 100 fields"
	}
	if s.ImageURL != "" {
		if err := address(s.ImageURL); err != nil {
			return "has an imageUrl that is refused: " + err.Error()
		}
	}
	return ""
}

// level to be reached: LTV is LT with more in the file, and a time-stamp makes T
// of B.
func (o *Options) level() ades.Level {
	switch o.Level {
	case "LT", "LTV":
		return ades.LevelLT
	case "LTA":
		return ades.LevelLTA
	}
	if o.Level == "T" || o.WithTimestamp {
		return ades.LevelT
	}
	return ades.LevelB
}

func hashOf(name string) crypto.Hash {
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

// echoed says which options a record shows for a format: those that have an
// effect there. Until the format is known, the two that always have.
var echoed = map[string][]string{
	"cades": {"level", "hashAlgorithm", "packaging", "detached", "counterSignature", "parallelSignature", "withTimestamp", "timestampUrl", "timestampUsername", "timestampHashAlgo", "batch"},
	"pades": {"level", "hashAlgorithm", "encryptInAnyCase", "page", "x", "y", "signerImage", "lockFields", "withSignatureField", "withTimestamp", "timestampUrl", "timestampUsername", "timestampHashAlgo", "timezone", "batch"},
	"xades": {"level", "hashAlgorithm", "packaging", "detached", "withoutSignatureExclusion", "XPathQuery", "signElement", "signatureId", "withTimestamp", "timestampUrl", "timestampUsername", "timestampHashAlgo", "batch"},
	"pkcs1": {"hashAlgorithm", "batch"},
}

// Echo is what a record shows of the options, with the level that was reached.
func (o *Options) Echo(format, achieved string) map[string]any {
	out := map[string]any{"asyncDocumentsValidation": o.AsyncValidation, "asyncSignature": o.AsyncSignature}
	values := reflect.ValueOf(o).Elem()
	for _, name := range echoed[format] {
		out[name] = echo(values.Field(optionFields[name]))
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

// optionFields are the places of the options by their names on the wire.
var optionFields = func() map[string]int {
	at := map[string]int{}
	for i, f := range reflect.VisibleFields(reflect.TypeFor[Options]()) {
		if name := f.Tag.Get("json"); name != "" {
			at[name] = i
		}
	}
	return at
}()
