// Package sentence keeps what operators are told as a form and its values until it is printed, so
// that a page can say it in another language.
package sentence

import (
	"fmt"
	"strings"

	"rogito.dev/rogito/internal/redact"
	"rogito.dev/rogito/server/internal/fault"
)

// Form is a sentence with verbs, as fmt has them. It has a type of its own so that a test finds
// every form and asks for its translation.
type Form string

// Sentence is a form and its values; the zero value says nothing. In JSON it is its English text.
type Sentence struct {
	form Form
	args []any
}

// New is a sentence. A value may be an error, which is said with its causes, and a sentence or a
// list of sentences, which are translated too.
func New(form Form, args ...any) Sentence { return Sentence{form, args} }

func (s Sentence) String() string { return s.In(nil) }

// MarshalText is the English text.
func (s Sentence) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// IsZero says that there is nothing to say.
func (s Sentence) IsZero() bool { return s.form == "" }

// In is the text with the forms of another language, without credentials. What has no form there
// is said in English.
func (s Sentence) In(forms map[Form]Form) string {
	form, ok := forms[s.form]
	if !ok {
		form = s.form
	}
	args := make([]any, len(s.args))
	for i, a := range s.args {
		args[i] = a
		switch a := a.(type) {
		case error:
			args[i] = fault.Explain(a)
		case Sentence:
			args[i] = a.In(forms)
		case []Sentence:
			texts := make([]string, len(a))
			for k, one := range a {
				texts[k] = one.In(forms)
			}
			args[i] = strings.Join(texts, "; ")
		}
	}
	return redact.Text(fmt.Sprintf(string(form), args...))
}
