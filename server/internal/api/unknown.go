package api

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/upload"
)

// Members and parameters that an operation does not know are ignored, as the
// contract has it, but never silently: the header of an answer names them. The
// message of a refusal says what may have been meant, and so does that of a
// success where one is near enough to be a slip: clients of other services send
// members of their own, and their success is "Created".

// mostUnknown is how many an answer names.
const mostUnknown = 5

// ignoredHeader names what was ignored, for answers that have no message too.
const ignoredHeader = "X-Ignored"

// unknownField is a member or parameter that the operation does not know.
type unknownField struct {
	name string
	text string // says so
	slip bool   // something that is known is near
}

// ignore notes an unknown field, once: known are the names that it may be a slip of.
func (c *call) ignore(name string, known func() []string) {
	if len(c.ignored) == mostUnknown || slices.ContainsFunc(c.ignored, func(s unknownField) bool { return s.name == name }) {
		return
	}
	names := known()
	c.ignored = append(c.ignored, unknownField{name, hint.Unknown(name, names), hint.Near(name, names) != ""})
	c.Header().Add(ignoredHeader, strings.Map(visibleASCII, hint.Clip(name)))
}

// strict refuses a call with a body of which something would be ignored, where its client
// prefers that (RFC 7240): a level at the wrong place is a signature of another level.
func (c *call) strict(r *http.Request) error {
	prefers := func(v string) bool {
		return slices.ContainsFunc(strings.Split(v, ","), func(one string) bool {
			return strings.EqualFold(strings.ReplaceAll(strings.TrimSpace(one), " ", ""), "handling=strict")
		})
	}
	if !slices.ContainsFunc(r.Header.Values("Prefer"), prefers) {
		return nil
	}
	c.Header().Set("Preference-Applied", "handling=strict")
	if len(c.ignored) == 0 {
		return nil
	}
	return fault.New(fault.BadBody, "%s", c.ignored[0].text)
}

// visibleASCII keeps what a header may hold.
func visibleASCII(r rune) rune {
	if r < 0x21 || r > 0x7e {
		return '?'
	}
	return r
}

// withIgnored is a message with what was ignored: all of it, or slips only.
func (c *call) withIgnored(message string, all bool) string {
	var news []string
	for _, s := range c.ignored {
		if (all || s.slip) && !strings.Contains(message, s.text) {
			news = append(news, s.text)
		}
	}
	if len(news) == 0 {
		return message
	}
	what := "ignored: " + strings.Join(news, "; ")
	if message == "" {
		return what
	}
	return message + " (" + what + ")"
}

// queryNames are the parameters that a query may have.
func (b *binding) queryNames(op *Op) []string {
	names := slices.Clone(op.Aliases)
	for _, f := range b.fields {
		if f.in == "query" {
			names = append(names, f.name)
		}
	}
	return names
}

// unknownInQuery looks through a query without taking it apart: the busiest
// operation of the service has one.
func unknownInQuery(c *call, query string, known []string) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, _, _ := strings.Cut(pair, "=")
		if name == "" || slices.Contains(known, name) {
			continue
		}
		if u, err := url.QueryUnescape(name); err == nil {
			name = u
		}
		if !slices.Contains(known, name) {
			c.ignore(name, func() []string { return known })
		}
	}
}

// shape is the document's description of a body: the members that an object has, and the elements
// of a list. One without members may have any.
type shape struct {
	members map[string]*shape
	items   *shape
	file    bool // or files: of a form
}

// knowledge is what an operation knows of its body, studied when it is
// registered.
type knowledge struct {
	body, form *shape
	aliases    []string
}

func knowledgeOf[In any](a *API, op *Op) *knowledge {
	f, ok := reflect.TypeFor[In]().FieldByName("Body")
	if !ok || op.Refuse != nil {
		return nil
	}
	reg := a.doc.Components.Schemas
	k := &knowledge{aliases: op.Aliases}
	for name, mt := range requestBody(reg, *op, f).Content {
		if name == "application/json" {
			k.body = shapeOf(reg, mt.Schema)
		} else {
			k.form = shapeOf(reg, mt.Schema)
		}
	}
	return k
}

// shapeOf is the shape of a schema; of one with several forms, of all of them.
func shapeOf(reg huma.Registry, s *huma.Schema) *shape {
	out := &shape{members: map[string]*shape{}}
	for _, one := range slices.Concat([]*huma.Schema{s}, s.OneOf, s.AnyOf) {
		if one.Ref != "" {
			one = reg.SchemaFromRef(one.Ref)
		}
		for name, p := range one.Properties {
			out.members[name] = shapeOf(reg, p)
		}
		if one.Items != nil {
			out.items = shapeOf(reg, one.Items)
		}
		out.file = out.file || one.Format == "binary" || out.items != nil && out.items.file
	}
	return out
}

// names are the members of an object by their paths, and those of the objects in
// it: level is a member of options.
func (s *shape) names(path string) []string {
	var names, inner []string
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		names = append(names, path+name)
		for _, n := range slices.Sorted(maps.Keys(s.members[name].members)) {
			inner = append(inner, path+name+"."+n)
		}
	}
	return append(names, inner...)
}

// unknownInForm looks through the parts of a form. By a file another file was
// meant.
func (k *knowledge) unknownInForm(c *call, parts []upload.Part) {
	for _, p := range parts {
		if k.form.members[p.Field] == nil && !slices.Contains(k.aliases, p.Field) {
			c.ignore(p.Field, func() []string {
				return slices.DeleteFunc(k.form.names(""), func(name string) bool {
					m := k.form.members[name]
					return p.File && (m == nil || !m.file)
				})
			})
		}
	}
}

// unknownIn looks through a JSON body: everywhere where the document lists
// the members that there are. It is read once, token by token: a batch has a
// thousand elements, and the one misspelt member may be in the last.
func (k *knowledge) unknownIn(c *call, v jsontext.Value) {
	if v.Kind() == '{' || v.Kind() == '[' {
		// Malformed JSON was refused when it came in, so no error is reported here.
		d := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		_ = k.walk(c, d, k.body, "")
	}
}

// walk reads the next value, of which s is the shape.
func (k *knowledge) walk(c *call, d *jsontext.Decoder, s *shape, path string) error {
	kind := d.PeekKind()
	if len(c.ignored) == mostUnknown || (kind != '{' || len(s.members) == 0) && (kind != '[' || s.items == nil) {
		return d.SkipValue()
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for next := d.PeekKind(); next != '}' && next != ']'; next = d.PeekKind() {
		err := error(nil)
		if kind == '[' {
			err = k.walk(c, d, s.items, path)
		} else {
			err = k.walkMember(c, d, s, path)
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// walkMember reads a name and its value. Names that are known are not copied.
func (k *knowledge) walkMember(c *call, d *jsontext.Decoder, s *shape, path string) error {
	quoted, err := d.ReadValue()
	if err != nil {
		return err
	}
	inner := s.members[string(quoted[1:len(quoted)-1])]
	if inner != nil && (len(inner.members) == 0 && inner.items == nil) {
		return d.SkipValue()
	}
	name, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return err
	}
	if inner = s.members[string(name)]; inner != nil {
		return k.walk(c, d, inner, path+string(name)+".")
	}
	if !slices.Contains(k.aliases, string(name)) {
		c.ignore(path+string(name), func() []string { return s.names(path) })
	}
	return d.SkipValue()
}
