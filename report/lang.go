package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/ades"
)

// Lang is the language of a report for people: "en", or "it".
//
// Every text is written in English where it is found, and looked up in one
// table of English and Italian templates where it is shown. A text that was
// made from a template (with names and numbers in it) is recognised by it, so
// that texts of readers and stored ones are translated too.
type Lang string

// The languages.
const (
	English Lang = "en"
	Italian Lang = "it"
)

// T translates a phrase; what has no translation stays English.
func (l Lang) T(phrase string) string {
	if l == Italian {
		if t, ok := italian[phrase]; ok {
			return t
		}
	}
	return phrase
}

// f translates a template and fills it in.
func (l Lang) f(format string, args ...any) string { return fmt.Sprintf(l.T(format), args...) }

// Translate translates a text that was made from a template of the table, or
// from several with colons between them. Names in it stay as they are.
func (l Lang) Translate(text string) string {
	if l != Italian {
		return text
	}
	return translate(text, 0)
}

// Message translates a finding.
func (l Lang) Message(m Message) string { return l.message(m, nil) }

// message translates a finding and writes the times in it as people read them.
func (l Lang) message(m Message, zone *time.Location) string {
	format, known := italian[m.Format]
	switch {
	case m.Format == "":
		return l.Translate(m.Text)
	case l != Italian:
		format = m.Format
	case !known:
		return l.Translate(m.Text)
	}
	args := make([]any, len(m.Args))
	for i, a := range m.Args {
		switch v := a.(type) {
		case string:
			args[i] = l.argument(v, zone)
		case error:
			args[i] = l.argument(v.Error(), zone)
		case Indication:
			args[i] = l.T(string(v))
		case ChangeText:
			args[i] = l.Change(ades.Change(v))
		default:
			args[i] = a
		}
	}
	return fmt.Sprintf(format, args...)
}

// argument is a time, or a text that may be one of ours.
func (l Lang) argument(s string, zone *time.Location) string {
	if t, err := time.Parse("2006-01-02 15:04", s); err == nil {
		return l.date(t, zone)
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return l.dayOf(t, nil)
	}
	return l.Translate(s)
}

// maxParts bounds the work on a text that a stranger may have chosen.
const maxParts = 8

// translate looks a whole text up, then what it may have been made from, then
// its parts between colons.
func translate(text string, depth int) string {
	if t, ok := italian[text]; ok {
		return t
	}
	if depth > maxParts || len(text) > 4096 {
		return text
	}
	if strings.HasPrefix(text, " (") && strings.HasSuffix(text, ")") { // a detail behind a sentence
		return " (" + translate(text[2:len(text)-1], depth+1) + ")"
	}
	for _, m := range templates() {
		if !strings.HasPrefix(text, m.prefix) || !strings.HasSuffix(text, m.suffix) {
			continue
		}
		parts := m.pattern.FindStringSubmatch(text)
		if parts == nil || !m.colon && strings.Contains(strings.Join(parts[1:], ""), ": ") {
			continue // it is several texts with colons between
		}
		args := make([]any, len(parts)-1)
		for i, p := range parts[1:] {
			args[i] = translate(p, depth+1)
		}
		return fmt.Sprintf(m.italian, args...)
	}
	head, rest, ok := strings.Cut(text, ": ")
	if !ok {
		return text
	}
	return translate(head, depth+1) + ": " + translate(rest, depth+1)
}

// recognizer recognises texts that were made from an English template.
type recognizer struct {
	prefix, suffix string // the literal text before the first verb and after the last
	pattern        *regexp.Regexp
	italian        string // with every verb a %s
	colon          bool   // it has one of its own
}

var verb = regexp.MustCompile(`%[-+# 0]*[0-9]*(?:\.[0-9]+)?[a-zA-Z]`)

// templates are those of the table that have verbs and at least one word
// beside them; the longest first, since it says most.
var templates = sync.OnceValue(func() []recognizer {
	var keys []string
	for k := range italian {
		if verb.MatchString(k) && strings.ContainsAny(verb.ReplaceAllString(k, ""), "abcdefghijklmnopqrstuvwxyz") {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := len(b) - len(a); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	out := make([]recognizer, len(keys))
	for i, k := range keys {
		literals := verb.Split(k, -1)
		var b strings.Builder
		b.WriteString("^")
		for n, literal := range literals {
			if n > 0 {
				b.WriteString("(.*?)")
			}
			b.WriteString(regexp.QuoteMeta(strings.ReplaceAll(literal, "%%", "%")))
		}
		b.WriteString("$")
		out[i] = recognizer{
			prefix: strings.ReplaceAll(literals[0], "%%", "%"), suffix: strings.ReplaceAll(literals[len(literals)-1], "%%", "%"),
			pattern: regexp.MustCompile("(?s)" + b.String()), italian: verb.ReplaceAllString(italian[k], "%s"),
			colon: strings.Contains(k, ": "),
		}
	}
	return out
})

// Months in Italian; Go knows the English ones.
var months = [...]string{"gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"}

// Date writes a day and a time of it as people read them, in a zone; nil means
// UTC.
func (l Lang) Date(t time.Time, zone *time.Location) string { return l.date(t, zone) }

// Day writes a day as people read it.
func (l Lang) Day(t time.Time, zone *time.Location) string { return l.dayOf(t, zone) }

// date writes a day and a time of it as people read them, and says of which
// zone: "15 November 2026, 04:46 Europe/Rome".
func (l Lang) date(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return l.dayOf(t, zone) + ", " + l.clock(t, zone)
}

func (l Lang) dayOf(t time.Time, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	t = t.In(zone)
	if l == Italian {
		day := fmt.Sprint(t.Day())
		if t.Day() == 1 {
			day = "1º"
		}
		return fmt.Sprintf("%s %s %d", day, months[t.Month()-1], t.Year())
	}
	return t.Format("2 January 2006")
}

func (l Lang) clock(t time.Time, zone *time.Location) string {
	if zone == nil || zone == time.UTC {
		return t.UTC().Format("15:04 UTC")
	}
	return t.In(zone).Format("15:04 ") + zone.String()
}
