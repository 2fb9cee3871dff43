// Package finding is the table of everything that a verification may report about a document: a
// stable code, its severity, and a sentence in each language.
//
// Readers and judges make findings from rows of the table ([Kind.Problem], [Kind.New], [Kind.Note])
// with values in the order of the row's placeholders. Nothing else makes texts, and no text is ever
// parsed: a translation is the same code and values with another sentence.
//
// To add a row: a variable in the file of its subject, then "make docs". A test checks that every
// row is used, and that its sentences have the same placeholders.
package finding

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/visible"
)

// Severity of a finding.
type Severity int

// The severities. A finding of a reader that is an error makes the form broken.
const (
	Info Severity = iota
	Warning
	Error
)

func (s Severity) String() string { return [...]string{"info", "warning", "error"}[s] }

// Kind is a row of the table. Its sentences have places for values:
//
//	{}        a value as it is, on one line
//	{quoted}  a value in quotation marks
//	{word}    one of the words of [words], translated
//	{time}    a time, written as people of the language write it
//	{detail}  what a parser or the network said, in English; " (…)", or nothing
//	{change}  a change after signing: five values, see [Change]
type Kind struct {
	Code             string
	Severity         Severity
	English, Italian string
}

var table = map[string]*Kind{}

// row adds a row. It panics on a duplicate code, which any test would find.
func row(code string, severity Severity, english, italian string) *Kind {
	if table[code] != nil {
		panic("finding: two rows " + code)
	}
	k := &Kind{Code: code, Severity: severity, English: english, Italian: italian}
	table[code] = k
	return k
}

// All are the rows, by code.
func All() []*Kind {
	out := make([]*Kind, 0, len(table))
	for _, k := range table {
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b *Kind) int { return strings.Compare(a.Code, b.Code) })
	return out
}

// Problem is a finding of this kind at a place.
func (k *Kind) Problem(where string, values ...any) ades.Problem {
	p := ades.Problem{Fatal: k.Severity == Error, Where: where, Code: k.Code, Values: texts(values)}
	p.Text = k.Sentence("en", p.Values, nil)
	return p
}

// Lesser is a finding of this kind that does not break the form, for a kind that usually does.
func (k *Kind) Lesser(where string, values ...any) ades.Problem {
	p := k.Problem(where, values...)
	p.Fatal = false
	return p
}

// New is a finding of this kind as an error, for parsers.
func (k *Kind) New(values ...any) error { return &failure{k, values} }

// Malformed is the same as an error of the input.
func (k *Kind) Malformed(format, where string, values ...any) error {
	return &ades.MalformedError{Format: format, Where: where, Err: k.New(values...)}
}

type failure struct {
	kind   *Kind
	values []any
}

func (f *failure) Error() string { return f.kind.Sentence("en", texts(f.values), nil) }

// Unwrap returns the first value that is an error.
func (f *failure) Unwrap() error {
	for _, v := range f.values {
		if err, ok := v.(error); ok {
			return err
		}
	}
	return nil
}

// Of is the finding in an error: the one that a reader made it from, or else that something cannot
// be read, with the error as detail.
func Of(where string, err error) ades.Problem {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.kind.Problem(where, f.values...)
	}
	switch {
	case errors.Is(err, limits.ErrBudget):
		return TooMuch.Problem(where)
	case errors.Is(err, ades.ErrPassword):
		return PasswordWrong.Problem(where)
	}
	if malformed, ok := errors.AsType[*ades.MalformedError](err); ok {
		detail := malformed.Err.Error()
		if malformed.Where != "" {
			detail = malformed.Where + ": " + detail
		}
		return Malformed.Problem(where, malformed.Format, detail)
	}
	return Unreadable.Problem(where, err)
}

// Lesser makes a finding one that does not break the form.
func Lesser(p ades.Problem) ades.Problem {
	p.Fatal = false
	return p
}

// Change converts a change after signing to values of a finding: its English description, its word
// in the table of changes, page, field and name.
func Change(c ades.Change) []any { return []any{c.Description, c.What, c.Page, c.Field, c.Name} }

const timeForm = "2006-01-02 15:04"

func texts(values []any) []string {
	if len(values) == 0 {
		return nil
	}
	out := make([]string, len(values))
	for i, v := range values {
		if t, ok := v.(time.Time); ok {
			v = t.UTC().Format(timeForm)
		}
		out[i] = fmt.Sprint(v)
	}
	return out
}

// Time reads a value of the kind {time}.
func Time(value string) (t time.Time, day, ok bool) {
	if t, err := time.Parse(timeForm, value); err == nil {
		return t, false, true
	}
	t, err := time.Parse(time.DateOnly, value)
	return t, true, err == nil
}

// Sentence is the text of a finding in a language, "en" or "it". Times are formatted by when; nil
// leaves them unchanged.
func (k *Kind) Sentence(lang string, values []string, when func(string) string) string {
	template := k.English
	if lang == "it" {
		template = k.Italian
	}
	var b strings.Builder
	next := func() (v string) {
		if len(values) > 0 {
			v, values = values[0], values[1:]
		}
		return v
	}
	for {
		before, rest, found := strings.Cut(template, "{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		var place string
		place, template, _ = strings.Cut(rest, "}")
		switch place {
		case "quoted":
			b.WriteString(visible.Line(strconv.Quote(next())))
		case "word":
			b.WriteString(visible.Line(word(lang, next())))
		case "time":
			v := next()
			if when != nil {
				v = when(v)
			}
			b.WriteString(visible.Line(v))
		case "detail":
			if v := next(); v != "" {
				b.WriteString(" (" + visible.Line(v) + ")")
			}
		case "change":
			c := ades.Change{Description: next(), What: next()}
			c.Page, _ = strconv.Atoi(next())
			c.Field, c.Name = next(), next()
			b.WriteString(visible.Line(ChangeText(lang, c)))
		default:
			b.WriteString(visible.Line(next()))
		}
	}
}

// Text is the sentence of a code; ok is false if the code is not in the table.
func Text(lang, code string, values []string, when func(string) string) (text string, ok bool) {
	k := table[code]
	if k == nil {
		return "", false
	}
	return k.Sentence(lang, values, when), true
}
