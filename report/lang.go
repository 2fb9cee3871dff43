package report

import (
	"fmt"

	"rogito.dev/rogito/ades"
)

// Lang is the language of a report for people: "en", or "it".
type Lang string

// The languages.
const (
	English Lang = "en"
	Italian Lang = "it"
)

func factID(b []byte) string { return ades.FactID(b) }

// T translates a phrase; what has no translation stays English.
func (l Lang) T(phrase string) string {
	if l == Italian {
		if t, ok := italian[phrase]; ok {
			return t
		}
	}
	return phrase
}

// Message translates a finding.
func (l Lang) Message(m Message) string {
	if l == Italian && m.Format != "" {
		if t, ok := italian[m.Format]; ok {
			return fmt.Sprintf(t, l.words(m.Args)...)
		}
	}
	return m.Text
}

func (l Lang) texts(c *Conclusion, sev Severity) []string {
	var out []string
	for _, m := range c.Messages {
		if m.Severity == sev {
			out = append(out, l.Message(m))
		}
	}
	return out
}
