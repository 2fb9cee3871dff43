package paper

import (
	"fmt"
	"html/template"
	"math/big"
	"strconv"
	"strings"
	"sync"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

// Lang is the language of a report: "en", or "it".
//
// Findings are codes with values, and their texts are in package finding. The texts of the report
// itself are in English where they are used, and translated by one table.
type Lang string

// The languages.
const (
	English Lang = "en"
	Italian Lang = "it"
)

// T translates a phrase; a phrase without translation is returned unchanged.
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

// Message is the text of a finding; times in it are in the API's form.
func (l Lang) Message(m report.Message) string { return l.text(m, nil) }

// message is the text of a finding with times in a readable form.
func (l Lang) message(m report.Message, zone *time.Location) string {
	when := func(value string) string {
		t, day, ok := finding.Time(value)
		switch {
		case !ok:
			return value
		case day:
			return l.Day(t, nil)
		}
		return l.Date(t, zone)
	}
	return l.text(m, when)
}

func (l Lang) text(m report.Message, when func(value string) string) string {
	if text, ok := finding.Text(string(l), m.Code, m.Values, when); ok {
		return text
	}
	return m.Text
}

// change is the text of a change after signing.
func (l Lang) change(c ades.Change) string { return finding.ChangeText(string(l), c) }

// Months in Italian; Go knows the English ones.
var months = [...]string{"gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"}

// Moment is a time for a page, which is machine-readable and has UTC as its title.
func (l Lang) Moment(t time.Time, zone *time.Location) template.HTML {
	if t.IsZero() {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<time class="at" datetime="%s" title="%s">%s</time>`, t.UTC().Format(time.RFC3339), template.HTMLEscapeString(l.Date(t, nil)), template.HTMLEscapeString(l.Date(t, zone)))) //nolint:gosec // escaped
}

// Zone is the time zone of reports: the chosen one; by default that of Italy for Italian readers,
// else UTC.
func (l Lang) Zone(chosen *time.Location) *time.Location {
	if chosen == nil && l == Italian {
		return rome()
	}
	return chosen
}

var rome = sync.OnceValue(func() *time.Location {
	zone, err := time.LoadLocation("Europe/Rome")
	if err != nil { // the system has no time zone database
		return time.UTC
	}
	return zone
})

// Size formats a number of bytes: 28 kB, 1.5 MB.
func (l Lang) Size(n int64) string {
	switch {
	case n < 1<<10 && l != Italian && n != 1:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 1<<10:
		return strconv.FormatInt(n, 10) + " byte"
	case n < 1<<20:
		return strconv.FormatInt((n+1<<9)>>10, 10) + " kB"
	}
	text := strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<20)), ".0") + " MB"
	if l == Italian {
		text = strings.Replace(text, ".", ",", 1)
	}
	return text
}

// Hexadecimal formats a serial number like other programs do; anything else is returned unchanged.
func Hexadecimal(decimal string) string {
	n, ok := new(big.Int).SetString(decimal, 10)
	if !ok {
		return decimal
	}
	return fmt.Sprintf("%X", n)
}

// Date formats a day and time with the zone: "15 November 2026, 04:46 CET". No zone means UTC.
func (l Lang) Date(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return l.Day(t, zone) + ", " + l.clock(t, zone)
}

// Day formats a day in a zone; nil means UTC.
func (l Lang) Day(t time.Time, zone *time.Location) string {
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
	if zone == nil {
		zone = time.UTC
	}
	t = t.In(zone)
	if name, _ := t.Zone(); name != "" && name[0] >= 'A' {
		return t.Format("15:04 MST")
	}
	return t.Format("15:04 -07:00")
}

// reason is why a signature was made: in the signer's words, or the name of the commitment type.
func (l Lang) reason(s *ades.Signature) string {
	var names []string
	for name := range strings.SplitSeq(s.Why(), ", ") {
		names = append(names, l.T(name))
	}
	return strings.Join(names, ", ")
}
