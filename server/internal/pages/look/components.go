package look

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html/template"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report/paper"
)

// funcs are what templates call, bound to a language.
func (s *Site) funcs(l paper.Lang) template.FuncMap {
	return template.FuncMap{
		// t writes a text; further arguments fill in its verbs.
		"t": func(english, italian string, args ...any) string {
			if len(args) > 0 {
				return T(english, italian).With(args...).In(l)
			}
			return T(english, italian).In(l)
		},
		// say writes a Text, or what has been translated before.
		"say": func(t any) string {
			if text, ok := t.(Text); ok {
				return text.In(l)
			}
			return fmt.Sprint(t)
		},
		"when":    func(at time.Time) template.HTML { return l.Moment(at, l.Zone(s.Zone)) },
		"day":     func(at time.Time) template.HTML { return day(at, l.Day(at, l.Zone(s.Zone))) },
		"line":    visible.Line, // untrusted text
		"number":  func(n any) string { return Number(l, n) },
		"size":    l.Size,
		"field":   make1[Field],
		"verdict": make1[Verdict],
		"empty":   make1[Empty],
		"pager":   make1[Pager],
		"alert":   make1[Alert],
		// entrance is the button of a public identity: SPID, CIE.
		"entrance": func(method string, providers []Link) *Entrance {
			e := &Entrance{Method: method, Words: "Entra con " + strings.ToUpper(method), Providers: providers}
			if name := s.Artwork[method]; name != "" {
				e.Logo = s.assets() + name
			}
			if method == "spid" { // AgID: none of them is always the first
				rand.Shuffle(len(providers), func(i, j int) { providers[i], providers[j] = providers[j], providers[i] })
			}
			return e
		},
	}
}

// Entrance is the button by which people enter with a public identity: its words,
// colours and sizes are those that AgID and the Ministry of the Interior publish, in
// Italian whatever the language of the page. The logo is the operator's copy.
type Entrance struct {
	Method, Words string
	Logo          string // address; empty: none
	Providers     []Link
}

// day is a time of which the day counts, and which programs can read too.
func day(at time.Time, text string) template.HTML {
	if at.IsZero() {
		return ""
	}
	return template.HTML(`<time datetime="` + at.UTC().Format(time.RFC3339) + `">` + template.HTMLEscapeString(text) + `</time>`) //nolint:gosec // escaped
}

// Field is an input with its label, help and error.
type Field struct {
	Name, Label, Help string
	Type              string // "text" when empty; "textarea", "checkbox", "file" and so on
	Value             string
	Problem           string // what is wrong with the value
	Autocomplete      string // "off" when empty
	Inputmode, Accept string
	Capture           string // which camera a telephone offers
	ID                string // the name when empty
	Required, Checked bool
	Multiple, Focus   bool
	Min, Max, Step    string
	Pattern           string
	Options           []Option // makes it a select
}

// Option of a select.
type Option struct {
	Value, Name        string
	Selected, Disabled bool
}

// Verdict is the banner over a result: what it comes to, in a word and a
// sentence.
type Verdict struct {
	Class      string // "valid", "invalid", "undetermined", "plain"
	ID         string
	Indication string // for programs
	Word       string
	Sentence   string
}

// Alert is a refusal or a warning in words. Kind is "" for a refusal, "note",
// "good" or "warning".
type Alert struct {
	Text any // a string or a Text
	Kind string
	Code int
}

// Empty says that a list has nothing in it, and what to do.
type Empty struct{ Title, Text, Link, Go string }

// Pager leads through a long list; an empty address is none.
type Pager struct {
	Previous, Next string
	First, Last    int // of what is shown, from 1
	Total          int // 0 if not counted
}

// make1 fills in a component from names and values; a name that it has not is
// an error.
func make1[C any](pairs ...any) (*C, error) {
	c := new(C)
	v := reflect.ValueOf(c).Elem()
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		f := v.FieldByName(name)
		val := reflect.ValueOf(pairs[i+1])
		switch {
		case !f.IsValid():
			return nil, fmt.Errorf("%T has no field %q", c, name)
		case !val.IsValid():
		case val.Type().AssignableTo(f.Type()):
			f.Set(val)
		case val.CanConvert(f.Type()) && val.Kind() == f.Kind():
			f.Set(val.Convert(f.Type()))
		case f.Kind() == reflect.String:
			f.SetString(fmt.Sprint(pairs[i+1]))
		default:
			return nil, fmt.Errorf("%T.%s is no %s", c, name, val.Type())
		}
	}
	return c, nil
}

// Number writes a number as people of a language do: 1.234,5 or 1,234.5.
func Number(l paper.Lang, n any) string {
	var text string
	switch n := n.(type) {
	case float64:
		text = strconv.FormatFloat(n, 'f', -1, 64)
	case string:
		text = n
	default:
		text = fmt.Sprint(n)
	}
	thousands, point := ",", "."
	if l == paper.Italian {
		thousands, point = ".", ","
	}
	sign := ""
	if len(text) > 0 && text[0] == '-' {
		sign, text = "-", text[1:]
	}
	whole, rest := text, ""
	for i, c := range text {
		if c == '.' {
			whole, rest = text[:i], point+text[i+1:]
			break
		}
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + thousands + whole[i:]
	}
	return sign + whole + rest
}

func digest(files map[string][]byte) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %d\n", name, len(files[name]))
		h.Write(files[name])
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}
