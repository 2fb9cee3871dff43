package api

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"rogito.dev/rogito/server/internal/fault"
	"rogito.dev/rogito/server/internal/hint"
	"rogito.dev/rogito/server/internal/store"
)

// ID is a record's id: 24 lower-case hex characters, else 400 with 141 in a path
// and 422 with 160 in a query.
type ID string

func (id ID) valid() bool { return store.IsID(string(id)) }

// binding is how the fields of one input type are filled.
type binding struct {
	fields []field
	input  inputKind
	index  []int      // of Body
	query  []string   // names of the parameters that a query may have
	known  *knowledge // of the members of Body; nil where nothing is said of what is not
}

type field struct {
	index    []int
	in, name string
	required bool
	def      string
	enum     []string
	min, max *float64
	typ      reflect.Type
}

// bindingOf studies an input type once, when its operation is registered. A
// type it cannot serve is a mistake in the program: it panics.
func bindingOf[In any]() *binding {
	t := reflect.TypeFor[In]()
	b := &binding{}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("api: input %v is not a struct", t))
	}
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		if f.Name == "Body" {
			b.index, b.input = f.Index, inputKindOf(f)
			continue
		}
		if in, name := place(f.Tag); in != "" {
			b.fields = append(b.fields, newField(f, in, name))
		}
	}
	return b
}

// place says where a field comes from.
func place(tag reflect.StructTag) (in, name string) {
	for _, in := range []string{"path", "query", "header"} {
		if name := tag.Get(in); name != "" {
			return in, name
		}
	}
	return "", ""
}

func newField(f reflect.StructField, in, name string) field {
	x := field{index: f.Index, in: in, name: name, typ: f.Type, def: f.Tag.Get("default")}
	x.required = in == "path" || f.Tag.Get("required") == "true"
	if e := f.Tag.Get("enum"); e != "" {
		x.enum = strings.Split(e, ",")
	}
	x.min, x.max = number(f.Tag.Get("minimum")), number(f.Tag.Get("maximum"))
	if !settable(f.Type) {
		panic(fmt.Sprintf("api: parameter %s cannot be a %v", name, f.Type))
	}
	return x
}

func number(s string) *float64 {
	if s == "" {
		return nil
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("api: bad number in a tag: " + s)
	}
	return &n
}

func settable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		return true
	case reflect.Slice:
		return t.Elem().Kind() == reflect.String
	}
	return false
}

func (b *binding) params(r *http.Request, in any) error {
	if len(b.fields) == 0 {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.BadQuery, "the query string is malformed")
	}
	v := reflect.ValueOf(in).Elem()
	for i := range b.fields {
		f := &b.fields[i]
		if err := f.set(v.FieldByIndex(f.index), f.values(r, query)); err != nil {
			return err
		}
	}
	return nil
}

func (f *field) values(r *http.Request, query url.Values) []string {
	switch f.in {
	case "path":
		v := chi.URLParam(r, f.name)
		if u, err := url.PathUnescape(v); err == nil {
			v = u
		}
		return []string{v}
	case "query":
		return query[f.name]
	}
	return r.Header.Values(f.name)
}

// set fills one field, or says which parameter is wrong.
func (f *field) set(v reflect.Value, given []string) error {
	if len(given) == 0 && f.def != "" {
		given = []string{f.def}
	}
	if len(given) == 0 {
		if f.required {
			return fault.New(fault.BadQuery, "%s is required", f.name)
		}
		return nil
	}
	if v.Kind() == reflect.Slice {
		for _, g := range given {
			v.Set(reflect.Append(v, reflect.ValueOf(g).Convert(v.Type().Elem())))
		}
		return nil
	}
	if len(given) > 1 && f.in == "query" {
		return fault.New(fault.BadQuery, "%s is given more than once", f.name)
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	return f.scalar(v, given[0])
}

func (f *field) scalar(v reflect.Value, s string) error {
	if f.enum != nil && !slices.Contains(f.enum, s) {
		return fault.New(fault.BadQuery, "%s", hint.OneOf(f.name, s, f.enum))
	}
	if id, ok := v.Addr().Interface().(*ID); ok {
		if *id = ID(s); !id.valid() {
			code := fault.MalformedID
			if f.in == "query" {
				code = fault.BadQuery
			}
			return fault.New(code, "%s is not an id: 24 lower-case hexadecimal characters", f.name)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		on, err := strconv.ParseBool(s)
		if err != nil {
			return fault.New(fault.BadQuery, "%s must be true or false", f.name)
		}
		v.SetBool(on)
	case reflect.Float64:
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || n != n || n-n != 0 {
			return fault.New(fault.BadQuery, "%s must be a number", f.name)
		}
		v.SetFloat(n)
		return f.within(n)
	default:
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return fault.New(fault.BadQuery, "%s must be an integer", f.name)
		}
		v.SetInt(n)
		return f.within(float64(n))
	}
	return nil
}

func (f *field) within(n float64) error {
	switch {
	case f.min != nil && f.max != nil && (n < *f.min || n > *f.max):
		return fault.New(fault.BadQuery, "%s must be between %v and %v", f.name, *f.min, *f.max)
	case f.min != nil && n < *f.min:
		return fault.New(fault.BadQuery, "%s must be at least %v", f.name, *f.min)
	case f.max != nil && n > *f.max:
		return fault.New(fault.BadQuery, "%s must be at most %v", f.name, *f.max)
	}
	return nil
}
