package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// description is the OpenAPI document in the forms it is served in.
type description struct {
	json, yaml, json30 []byte
	err                error
}

// described writes the document once, when first asked for: by then every
// operation is registered.
func (a *API) described() *description {
	a.describe.Do(func() {
		loosen(a.doc.Components.Schemas)
		slices.SortStableFunc(a.doc.Tags, func(a, b *huma.Tag) int { return cmp.Compare(placeOf(a.Name), placeOf(b.Name)) })
		a.spec = describe(a.doc)
	})
	return &a.spec
}

func describe(doc *huma.OpenAPI) (d description) {
	raw, err := json.Marshal(doc)
	if err != nil {
		return description{err: fmt.Errorf("write the OpenAPI document: %w", err)}
	}
	if d.json, d.err = arrange(raw); d.err != nil {
		return d
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return description{err: err}
	}
	if d.yaml, d.err = yaml.Marshal(tree); d.err != nil {
		return d
	}
	old := downgrade(tree).(map[string]any)
	old["openapi"] = "3.0.3"
	delete(old, "webhooks") // they came with 3.1
	prune(old)
	if info, ok := old["info"].(map[string]any); ok {
		if l, ok := info["license"].(map[string]any); ok {
			delete(l, "identifier")
			l["url"] = "https://www.apache.org/licenses/LICENSE-2.0"
		}
	}
	if raw, d.err = json.Marshal(old); d.err != nil {
		return d
	}
	d.json30, d.err = arrange(raw)
	return d
}

// prune takes out the schemas that nothing refers to any more.
func prune(doc map[string]any) {
	components, _ := doc["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	used := map[string]bool{}
	var mark func(v any)
	mark = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				mark(one)
			}
		case map[string]any:
			ref, _ := v["$ref"].(string)
			if name := strings.TrimPrefix(ref, schemaPrefix); name != ref && !used[name] {
				used[name] = true
				mark(schemas[name])
			}
			for _, one := range v {
				mark(one)
			}
		}
	}
	mark(doc["paths"])
	maps.DeleteFunc(schemas, func(name string, _ any) bool { return !used[name] })
}

// arrange puts application/json before the other media types of an answer:
// many generators know only the first.
func arrange(doc jsontext.Value) ([]byte, error) {
	switch doc.Kind() {
	case '{':
		return arrangeObject(doc)
	case '[':
		var list []jsontext.Value
		if err := jsonx.Unmarshal(doc, &list); err != nil {
			return nil, err
		}
		for i := range list {
			one, err := arrange(list[i])
			if err != nil {
				return nil, err
			}
			list[i] = one
		}
		return jsonx.Marshal(list)
	}
	return doc, nil
}

func rank(name string) int {
	if name == "application/json" {
		return 0
	}
	return 1
}

func arrangeObject(doc jsontext.Value) ([]byte, error) {
	var members map[string]jsontext.Value
	if err := jsonx.Unmarshal(doc, &members); err != nil {
		return nil, err
	}
	names := slices.SortedFunc(maps.Keys(members), func(a, b string) int {
		if c := cmp.Compare(rank(a), rank(b)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	b := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := arrange(members[name])
		if err != nil {
			return nil, err
		}
		b, _ = jsontext.AppendQuote(b, name)
		b = append(append(b, ':'), value...)
	}
	return append(b, '}'), nil
}

// loosen makes the schemas say what the wire does: an unknown member is
// ignored (so a newer server may add some), and a pointer without omitempty
// may be null, as may one that is tagged so.
func loosen(reg huma.Registry) {
	for name, s := range reg.Map() {
		if s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
		t := reg.TypeFromRef(schemaPrefix + name)
		if t == nil || t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range reflect.VisibleFields(t) {
			tag := f.Tag.Get("json")
			key, _, _ := strings.Cut(tag, ",")
			p := s.Properties[key]
			if p == nil || p.Ref == "" || f.Type.Kind() != reflect.Pointer || strings.Contains(tag, "omit") && f.Tag.Get("null") == "" {
				continue
			}
			s.Properties[key] = orNull(p)
		}
	}
}

// downgrade rewrites a 3.1 document as 3.0.3, for generators that know no
// other: null is a flag there and not a type, and examples are one example.
func downgrade(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = downgrade(v[i])
		}
	case map[string]any:
		downgradeType(v)
		downgradeAny(v)
		downgradeWords(v)
		for k := range v {
			v[k] = downgrade(v[k])
		}
	}
	return v
}

func downgradeType(m map[string]any) {
	switch t := m["type"].(type) {
	case []any:
		for _, one := range t {
			if one == "null" {
				m["nullable"] = true
			} else {
				m["type"] = one
			}
		}
	case string:
		if t == "null" { // only ever null: 3.0 needs some type
			m["type"], m["nullable"] = "object", true
		}
	}
}

// downgradeAny turns "this or null" into a nullable this.
func downgradeAny(m map[string]any) {
	list, ok := m["anyOf"].([]any)
	if !ok {
		return
	}
	var rest []any
	for _, one := range list {
		if s, ok := one.(map[string]any); ok && s["type"] == "null" {
			m["nullable"] = true
			continue
		}
		rest = append(rest, one)
	}
	if len(rest) == 1 && m["nullable"] == true {
		delete(m, "anyOf")
		m["type"], m["allOf"] = "object", rest // nullable is a word about a type, and what has a name is an object
		return
	}
	m["anyOf"] = rest
}

func downgradeWords(m map[string]any) {
	if ex, ok := m["examples"].([]any); ok && len(ex) > 0 {
		m["example"] = ex[0]
		delete(m, "examples")
	}
	if ref, ok := m["$ref"]; ok && len(m) > 1 { // nothing may be beside it
		delete(m, "$ref")
		m["allOf"] = []any{map[string]any{"$ref": ref}}
	}
	delete(m, "contentMediaType")
	if m["contentEncoding"] == "base64" {
		delete(m, "contentEncoding")
		m["format"] = "byte"
	}
	if c, ok := m["const"]; ok {
		delete(m, "const")
		m["enum"] = []any{c}
	}
	for _, w := range []string{"Minimum", "Maximum"} {
		if n, ok := m["exclusive"+w].(float64); ok {
			m["exclusive"+w] = true
			m[strings.ToLower(w)] = n
		}
	}
}
