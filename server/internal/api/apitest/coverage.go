package apitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// Coverage remembers what of a document was really asked and answered, so that
// a suite can be held to the whole of it: every operation, parameter, member,
// word of an enumeration and error code.
type Coverage struct {
	c    *Contract
	mu   sync.Mutex
	seen map[string]bool
}

// Cover begins to remember.
func (c *Contract) Cover() *Coverage { return &Coverage{c: c, seen: map[string]bool{}} }

// Note remembers one call that the document describes; others are left aside.
// What was sent counts only where it was taken (2xx).
func (v *Coverage) Note(req *http.Request, sent []byte, status int, header http.Header, answer []byte) {
	_, item := v.c.find(req.URL.Path, req.Method)
	if item == nil {
		return
	}
	op := item.GetOperation(req.Method)
	v.mu.Lock()
	defer v.mu.Unlock()
	if status >= http.StatusMultipleChoices {
		if code := codeOf(header, answer); code != 0 {
			v.seen[failed(op, code)] = true
		}
		return
	}
	v.seen[op.OperationID] = true
	for _, p := range slices.Concat(item.Parameters, op.Parameters) {
		v.parameter(op, p.Value, req)
	}
	if op.RequestBody != nil && isJSON(req.Header.Get("Content-Type")) {
		if mt := op.RequestBody.Value.Content.Get("application/json"); mt != nil {
			v.value("sent ", op.OperationID, mt.Schema, sent)
		}
	}
	if r := op.Responses.Status(status); r != nil && isJSON(header.Get("Content-Type")) {
		if mt := r.Value.Content.Get("application/json"); mt != nil {
			v.value("answered ", op.OperationID, mt.Schema, answer)
		}
	}
	if mt, _, err := mime.ParseMediaType(header.Get("Content-Type")); err == nil {
		v.seen[op.OperationID+" as "+mt] = true
	}
}

func isJSON(mediaType string) bool { return strings.HasPrefix(mediaType, "application/json") }

func codeOf(header http.Header, answer []byte) int {
	var f struct {
		Error, Code int
	}
	if !strings.Contains(header.Get("Content-Type"), "json") || json.Unmarshal(answer, &f) != nil {
		return 0
	}
	return max(f.Error, f.Code)
}

func failed(op *openapi3.Operation, code int) string {
	return fmt.Sprintf("%s fails with %d", op.OperationID, code)
}

func given(op *openapi3.Operation, p *openapi3.Parameter, value string) string {
	s := op.OperationID + " with " + p.Name
	if value != "" {
		s += "=" + value
	}
	return s
}

func (v *Coverage) parameter(op *openapi3.Operation, p *openapi3.Parameter, req *http.Request) {
	var value string
	switch p.In {
	case "query":
		value = req.URL.Query().Get(p.Name)
	case "header":
		value = req.Header.Get(p.Name)
	case "path":
		value = "x" // it matched
	}
	if value == "" {
		return
	}
	v.seen[given(op, p, "")] = true
	if p.Schema != nil && len(p.Schema.Value.Enum) > 0 {
		v.seen[given(op, p, value)] = true
	}
}

// value marks the members of a JSON text that a schema describes.
func (v *Coverage) value(way, name string, ref *openapi3.SchemaRef, text []byte) {
	var x any
	if json.Unmarshal(text, &x) == nil {
		v.mark(way, name, ref, x)
	}
}

// named is the name that a schema goes by: its own, or that of its place.
func named(place string, ref *openapi3.SchemaRef) string {
	if i := strings.LastIndexByte(ref.Ref, '/'); i >= 0 {
		return ref.Ref[i+1:]
	}
	return place
}

func (v *Coverage) mark(way, name string, ref *openapi3.SchemaRef, x any) {
	if ref == nil || ref.Value == nil || x == nil {
		return
	}
	s := ref.Value
	name = named(name, ref)
	if len(s.Enum) > 0 {
		v.seen[fmt.Sprintf("%s%s=%v", way, name, x)] = true
	}
	for _, branch := range slices.Concat(s.OneOf, s.AnyOf) {
		if fits(branch.Value, x) {
			v.mark(way, name, branch, x)
			v.seen[way+name+" as "+branchName(branch)] = true
		}
	}
	switch x := x.(type) {
	case map[string]any:
		for member, value := range x {
			if p := s.Properties[member]; p != nil && value != nil {
				v.seen[way+name+"."+member] = true
				v.mark(way, name+"."+member, p, value)
			}
		}
	case []any:
		for _, e := range x {
			v.mark(way, name, s.Items, e)
		}
	}
}

func branchName(ref *openapi3.SchemaRef) string {
	if ref.Ref != "" {
		return named("", ref)
	}
	if ref.Value.Type == nil {
		return "anything"
	}
	return strings.Join(ref.Value.Type.Slice(), " or ")
}

// fits says whether a branch of a choice is meant: by its type, and by the
// members that it cannot be without.
func fits(s *openapi3.Schema, x any) bool {
	var kind string
	switch x := x.(type) {
	case map[string]any:
		for _, need := range s.Required {
			if _, ok := x[need]; !ok {
				return false
			}
		}
		kind = "object"
	case []any:
		kind = "array"
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	default:
		return s.Type == nil || s.Type.Includes("number") || s.Type.Includes("integer")
	}
	return s.Type == nil || s.Type.Includes(kind)
}

var codes = regexp.MustCompile(`(?:^|; )(\d+): `)

// described are the codes that an operation may answer with a status.
func described(op *openapi3.Operation, status string) []string {
	r := op.Responses.Value(status)
	if r == nil || r.Value.Description == nil {
		return nil
	}
	var all []string
	for _, m := range codes.FindAllStringSubmatch(*r.Value.Description, -1) {
		all = append(all, m[1])
	}
	return all
}

// Missing lists what the operations that are wanted have and was never seen,
// sorted.
func (v *Coverage) Missing(wanted func(op *openapi3.Operation) bool) []string {
	all := map[string]bool{}
	for _, item := range v.c.doc.Paths.Map() {
		for _, op := range item.Operations() {
			if wanted(op) {
				expect(all, item, op)
			}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(s string) bool { return v.seen[s] })
}

func expect(all map[string]bool, item *openapi3.PathItem, op *openapi3.Operation) {
	all[op.OperationID] = true
	for _, ref := range slices.Concat(item.Parameters, op.Parameters) {
		all[given(op, ref.Value, "")] = true
		for _, word := range ref.Value.Schema.Value.Enum {
			all[given(op, ref.Value, fmt.Sprint(word))] = true
		}
	}
	if op.RequestBody != nil {
		if mt := op.RequestBody.Value.Content.Get("application/json"); mt != nil {
			members(all, "sent ", op.OperationID, mt.Schema, nil)
		}
	}
	for status, r := range op.Responses.Map() {
		if status != "200" {
			for _, code := range described(op, status) {
				all[op.OperationID+" fails with "+code] = true
			}
			continue
		}
		for _, mediaType := range alsoProduced(r.Value) {
			all[op.OperationID+" as "+mediaType] = true
		}
		for mediaType, mt := range r.Value.Content {
			all[op.OperationID+" as "+mediaType] = true
			if mediaType == "application/json" {
				members(all, "answered ", op.OperationID, mt.Schema, nil)
			}
		}
	}
}

// members lists what mark can mark.
func members(all map[string]bool, way, name string, ref *openapi3.SchemaRef, above []*openapi3.Schema) {
	if ref == nil || ref.Value == nil || slices.Contains(above, ref.Value) {
		return
	}
	s := ref.Value
	above = append(slices.Clone(above), s)
	name = named(name, ref)
	for _, word := range s.Enum {
		if word != nil {
			all[fmt.Sprintf("%s%s=%v", way, name, word)] = true
		}
	}
	for _, branch := range slices.Concat(s.OneOf, s.AnyOf) {
		if branch.Value.Type != nil && branch.Value.Type.Is("null") {
			continue
		}
		all[way+name+" as "+branchName(branch)] = true
		members(all, way, name, branch, above)
	}
	for member, p := range s.Properties {
		if member == "error" && strings.HasSuffix(name, "Answer") {
			continue // the envelope's, null in a success
		}
		all[way+name+"."+member] = true
		members(all, way, name+"."+member, p, above)
	}
	members(all, way, name, s.Items, above)
}
