// Package paper formats verification reports: as plain text, HTML, PDF, and as the XML of ETSI TS
// 119 102-2, in English and Italian.
package paper

import (
	"fmt"
	"io"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
)

// WriteText writes the report for a terminal. The first three lines are the Summary.
func WriteText(w io.Writer, r *report.Report, name string, lang Lang) error {
	t := &page{r: r, l: lang}
	s := Summarize(r, lang)
	if name != "" {
		s.Lines[0] = visible.Line(name) + ": " + s.Lines[0]
	}
	for _, line := range s.Lines {
		if line != "" {
			fmt.Fprintln(&t.b, line)
		}
	}
	for _, sec := range t.sections() {
		fmt.Fprintf(&t.b, "\n%s\n", sec.title)
		for _, row := range sec.rows {
			fmt.Fprintf(&t.b, "  %-26s %s\n", row.label, row.value)
		}
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// page writes a report in one language.
type page struct {
	r *report.Report
	l Lang
	b strings.Builder

	bare bool // the reason is given without advice
}

// section is a part of a report, common to text, HTML and PDF.
type section struct {
	title string
	rows  []row
}

type row struct {
	label, value string
	at           time.Time // the value as a time, or zero
	note         string    // how it is known
	class        string    // "error", "warning" or ""
	fold         bool      // shown on demand
}

// time adds a time with a note.
func (s *section) time(t *page, label string, at time.Time, note string, fold bool) {
	if !at.IsZero() {
		s.rows = append(s.rows, row{label: t.l.T(label), value: join(t.date(at), parenthesis(note)), at: at, note: note, fold: fold})
	}
}

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

// detail adds a row that is folded on a page.
func (s *section) detail(label, value string) {
	if value != "" {
		s.rows = append(s.rows, row{label: label, value: visible.Line(value), fold: true})
	}
}

func (s *section) add(label, value, class string) {
	if value != "" {
		s.rows = append(s.rows, row{label: label, value: visible.Line(value), class: class})
	}
}

// sections are the details after the summary: every signature, every time-stamp of an unsigned
// document, the document itself, and what the verdict is based on.
func (t *page) sections() []section {
	var out []section
	for i, c := range t.r.Conclusions.Signatures {
		out = append(out, t.signature(fmt.Sprintf("%s %d", t.l.T("Signature"), i+1), c))
	}
	for _, c := range t.r.Conclusions.Timestamps {
		out = append(out, t.timestamp(c))
	}
	if s := t.basis(); len(s.rows) > 0 {
		out = append(out, s)
	}
	return out
}

// basis is what the verdict is based on, and findings about the whole document.
func (t *page) basis() section {
	s := section{title: t.l.T("This verdict")}
	s.time(t, "Verdict for", t.r.Conclusions.At, "", false)
	if !t.r.MadeAt.Equal(t.r.Conclusions.At) {
		s.time(t, "Made on", t.r.MadeAt, "", false)
	}
	s.add(t.l.T("Policy"), t.r.Conclusions.Policy, "")
	s.add(t.l.T("Trusted lists"), t.lists(), "")
	for _, m := range t.r.Conclusions.Messages {
		label, class := t.tone(m.Severity, t.r.Conclusions.Indication)
		s.add(label, sentence(t.finding(m)), class)
	}
	return s
}

// tone is the label and class of a finding. Red is only for what is wrong with the document: an
// undetermined verdict has a reason, not an error.
func (t *page) tone(s report.Severity, i report.Indication) (label, class string) {
	if s == report.SeverityError && i != report.TotalFailed && i != report.Failed {
		return t.l.T("Why"), "warning"
	}
	return t.l.T(severities[s]), classes[s]
}

var (
	severities = [...]string{report.SeverityInfo: "Information", report.SeverityWarning: "Warning", report.SeverityError: "Error"}
	classes    = [...]string{report.SeverityInfo: "", report.SeverityWarning: "warning", report.SeverityError: "error"}
)

// lists says which lists were used.
func (t *page) lists() string {
	state := t.r.Trust()
	text := t.l.T("none loaded")
	if l := t.r.ListOfLists(); l != nil {
		text = t.l.f("European lists of %s (number %d)", t.l.Day(l.Issued, t.r.Zone), l.Sequence)
		if state.Lists == "stale" {
			text += ", " + t.l.T("past their next update")
		}
	}
	if state.Anchors > 0 {
		text += "; " + count(t.l, state.Anchors, "1 certificate of your own", "%d certificates of your own")
	}
	return text
}

func (t *page) signature(title string, c *report.Conclusion) section {
	s := section{title: title + ": " + t.l.T(verdictWords[c.Indication])}
	sig := c.Signature
	s.detail(t.l.T("By the standard"), strings.TrimSuffix(t.l.indication(c.Indication, c.SubIndication)+" · "+string(c.Qualification), " · "))
	if cert := t.r.SignerOf(c); cert != nil {
		s.detail(t.l.T("Signer"), t.signer(c))
		s.add(t.l.T("Issuer"), t.issuerName(c), "")
		s.detail(t.l.T("Certificate"), t.l.f("number %s, valid from %s to %s", Hexadecimal(cert.SerialNumber), t.l.Day(cert.NotBefore, t.r.Zone), t.l.Day(cert.NotAfter, t.r.Zone)))
		s.detail(t.l.T("Certificate status"), t.status(c))
	}
	intact := map[ades.Tri]string{ades.Yes: "yes", ades.No: "no", ades.Unknown: "cannot be told"}[sig.Intact()]
	s.add(t.l.T("Content intact"), t.l.T(intact), "")
	s.add(t.l.T("Covers only"), t.scope(c), "")
	if c.Proven {
		s.time(t, "Time", c.BestTime, t.l.T("proven by a time-stamp"), false)
		s.time(t, "Time by the signer's clock", sig.ClaimedTime, "", true)
	} else {
		s.time(t, "Time", sig.ClaimedTime, t.l.T("by the signer's own clock"), false)
	}
	s.add(t.l.T("Reason given"), t.l.reason(sig), "")
	s.add(t.l.T("Place given"), sig.Where(), "")
	s.add(t.l.T("Signature policy"), sig.UnderPolicy(), "")
	s.detail(t.l.T("Level"), c.Level)
	worth := t.l.qualification(c.Qualification, c.Indication == report.TotalPassed && !c.TrustedList)
	switch {
	case c.Qualification != report.NA:
		s.add(t.l.T("Qualification"), worth, "")
	case c.Indication == report.TotalPassed && len(t.r.Conclusions.Signatures) == 1: // already said above
	default: // it has no verdict on the signature
		s.detail(t.l.T("Qualification"), worth)
	}
	if c.TrustedList {
		var places []string
		for _, p := range territoriesOf(c) {
			places = append(places, t.l.country(p))
		}
		s.detail(t.l.T("On an EU trusted list"), strings.Join(places, ", "))
		s.detail(t.l.T("Trust service provider"), c.Provider)
	}
	s.detail(t.l.T("Algorithm"), sig.Algorithm.Name)
	s.time(t, "Can be verified until", c.ValidUntil, "", false)
	for _, ts := range c.Timestamps {
		s.detail(t.l.T("Time-stamp"), t.stampedBy(ts)+" "+t.l.indication(ts.Indication, ts.SubIndication))
	}
	if sig.PDF != nil {
		for _, ch := range sig.PDF.Changes {
			switch {
			case ch.Permitted:
				s.detail(t.l.T("Change after signing"), t.l.change(ch))
			case ch.Unexplained:
				s.add(t.l.T("UNEXPLAINED CHANGE"), t.l.change(ch), "warning")
			default:
				s.add(t.l.T("FORBIDDEN CHANGE"), t.l.change(ch), "error")
			}
		}
	}
	t.findings(&s, c)
	for _, n := range c.Counters {
		s.add(t.l.T("Counter-signature"), t.signer(n)+": "+t.l.indication(n.Indication, n.SubIndication), "")
		t.findings(&s, n)
	}
	return s
}

// findings lists the errors and warnings of a signature. Changes after signing have their own rows.
func (t *page) findings(s *section, c *report.Conclusion) {
	for _, sev := range []report.Severity{report.SeverityError, report.SeverityWarning} {
		for _, m := range c.Messages {
			if m.Severity == sev {
				label, class := t.tone(sev, c.Indication)
				s.add(label, sentence(t.finding(m)), class)
			}
		}
	}
}

// status is the state of the signer's certificate at the validation time.
func (t *page) status(c *report.Conclusion) string {
	text := t.l.T(c.SignerStatus)
	if t.l == Italian && c.SignerStatus == "VALID" {
		text = "VALIDO" // "un certificato" is masculine; the table has the word for "una firma"
	}
	if !c.RevokedAt.IsZero() {
		text += ", " + t.date(c.RevokedAt)
	}
	return text
}

// timestamp describes a time-stamp of an unsigned document.
func (t *page) timestamp(c *report.Conclusion) section {
	s := section{title: t.l.T("Time-stamp") + ": " + t.l.T(verdictWords[c.Indication])}
	s.detail(t.l.T("By the standard"), t.l.indication(c.Indication, c.SubIndication))
	s.time(t, "Time", c.Timestamp.Time, "", false)
	if cert := t.r.SignerOf(c); cert != nil {
		s.add(t.l.T("Issued by"), t.l.authority(holder(cert)), "")
		s.add(t.l.T("Issuer"), t.issuerName(c), "")
	}
	if c.Qualification == report.QTSA {
		s.add(t.l.T("Qualification"), t.l.T("qualified"), "")
	}
	s.time(t, "Can be verified until", c.ValidUntil, "", false)
	t.findings(&s, c)
	return s
}

// documentRows describe the document itself: its name, size and digest.
func (t *page) documentRows(name string) ([]row, error) {
	var s section
	s.add(t.l.T("Name of the file"), name, "")
	if t.r.Source != nil {
		sum, err := digest(t.r.Source)
		if err != nil {
			return nil, err
		}
		s.add(t.l.T("Size"), t.l.Size(t.r.Source.Size()), "")
		s.add("SHA-256", sum, "")
	}
	return s.rows, nil
}
