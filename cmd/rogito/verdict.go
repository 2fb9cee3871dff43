package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/version"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
	"rogito.dev/rogito/report/paper"
)

// judged is what became of one file: no more of it than is printed, since there
// may be thousands.
type judged struct {
	name    string
	code    int
	tone    int      // the colour: the code, except for a document that is only time-stamped
	verdict string   // a word of the table
	line    string   // the verdict in capitals: it is coloured
	cells   []string // of a row of the summary, behind verdict and name
	text    []byte   // what is printed behind it
	row     []string // of the table, behind path and verdict
	err     error
}

// judged renders a report in the form that was asked for.
func (c *verifyCommand) judged(r *report.Report, name string) judged {
	j := judged{name: name, code: codeOf(r), tone: codeOf(r), verdict: word(r)}
	if j.code == exitInvalid && len(r.Conclusions.Timestamps) > 0 && paper.AnswersTo(r, c.lang).Class != "invalid" {
		j.tone = stampedOnly
	}
	r.Zone, r.Producer, r.AtHand = c.zone, "Rogito "+version.Number, true
	lang := c.lang
	var b bytes.Buffer
	if c.PDF != "" {
		if j.err = paper.WritePDF(&b, r, filepath.Base(name), lang); j.err == nil {
			j.err = os.WriteFile(c.PDF, b.Bytes(), 0o644)
		}
		b.Reset()
	}
	if c.CSV != "" {
		j.row = row(r, lang)
	}
	switch {
	case j.err != nil || c.Quiet:
	case c.JSON:
		var view *report.View
		if view, j.err = r.View(c.Plain, string(lang)); j.err == nil {
			view.File = name
			j.err = json.NewEncoder(&b).Encode(view)
		}
	case c.ETSI:
		j.err = paper.WriteETSI(&b, r)
	case c.HTML:
		j.err = paper.WriteHTML(visible.Writer(&b), r, filepath.Base(name), lang)
	case c.Summary:
		j.line, j.cells = summary(r, j.verdict, lang)
	case c.CSV == "":
		if j.err = paper.WriteText(&b, r, "", lang); j.err == nil {
			j.line, _, _ = strings.Cut(b.String(), "\n")
			b.Next(len(j.line))
			b.WriteByte('\n')
		}
	}
	if j.text = b.Bytes(); j.err != nil {
		j.code, j.verdict = exitError, "error"
	}
	return j
}

// marks precede the verdicts of a summary, by their exit codes.
var marks = map[int]string{exitOK: "✓", exitUndetermined: "?", exitInvalid: "✗", stampedOnly: "–"}

// stampedOnly is no exit code. An unsigned document with a time-stamp that holds, or may hold,
// exits 1 but is not shown as something bad.
const stampedOnly = -1

// summary is the verdict in a word or two, who signed, on which day, and of what is
// not good the first sentence why.
func summary(r *report.Report, verdict string, lang paper.Lang) (headline string, cells []string) {
	a, lines := paper.AnswersTo(r, lang), paper.Summarize(r, lang).Lines
	headline = lines[0]
	if end := strings.IndexAny(headline, ".(:,"); end > 0 {
		headline = strings.TrimSpace(headline[:end])
	}
	var names, days []string
	times := map[string]int{}
	for _, s := range a.Signers {
		day, _, _ := strings.Cut(s.When, ", ")
		if times[s.Name]++; times[s.Name] == 1 {
			names = append(names, s.Name)
		}
		if day != "" && !slices.Contains(days, day) {
			days = append(days, day)
		}
	}
	for i, name := range names {
		if times[name] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, times[name])
		}
	}
	if a.More > 0 {
		names = append(names, fmt.Sprintf("+%d", a.More))
	}
	cells = []string{strings.Join(names, ", "), strings.Join(days, ", ")}
	if verdict != "valid" && verdict != "not signed" {
		why, _, more := strings.Cut(cmp.Or(a.Why, lines[1]), ". ")
		if more {
			why += "."
		}
		cells = append(cells, why)
	}
	return headline, cells
}

// word is the verdict in the table.
func word(r *report.Report) string {
	switch c := r.Conclusions; {
	case codeOf(r) == exitOK:
		return "valid"
	case codeOf(r) == exitUndetermined:
		return "undetermined"
	case len(c.Signatures) == 0 && c.Indication != report.TotalFailed && r.Format() != string(ades.TST):
		return "not signed"
	}
	return "invalid"
}

var columns = []string{"path", "verdict", "format", "level", "signers", "qualification", "time", "reason"}

// row is the table's columns for a report, behind path and verdict. Of several signatures every
// cell has something of each.
func row(r *report.Report, lang paper.Lang) []string {
	var levels, signers, worth, times []string
	a := paper.AnswersTo(r, lang)
	for _, s := range a.Signers {
		name := s.Name
		if s.Number != "" {
			name += " (" + s.Number + ")"
		}
		signers = append(signers, name)
	}
	if a.More > 0 {
		signers = append(signers, fmt.Sprintf("+%d", a.More))
	}
	at := func(t time.Time) {
		if !t.IsZero() {
			times = append(times, t.UTC().Format(time.RFC3339))
		}
	}
	for _, c := range r.Conclusions.Signatures {
		levels, worth = append(levels, c.Level), append(worth, string(c.Qualification))
		if c.Proven {
			at(c.BestTime)
		} else {
			at(c.Signature.ClaimedTime)
		}
	}
	if len(r.Conclusions.Signatures) == 0 {
		for _, c := range r.Conclusions.Timestamps {
			at(c.Timestamp.Time)
		}
	}
	reason := a.Why
	if reason == "" {
		reason = paper.Summarize(r, lang).Lines[1]
	}
	list := func(of []string) string { return strings.Join(of, "; ") }
	return []string{r.Format(), list(levels), list(signers), list(worth), list(times), reason}
}

// shown prints the verdicts of a run, one after another.
type shown struct {
	s       *session
	summary bool // a count ends it
	table   *os.File
	csv     io.Writer
	err     error // of the first write that failed
	done    *progress
	files   int
	names   int // how wide the longest of them is
	code    int
	counts  map[string]int
	only    bool // only signed files are printed and count, if there are any
}

// widest is how far names push the columns behind them to the right.
const widest = 48

// form opens the table, and counts aloud where nothing else is printed.
func (c *verifyCommand) form(s *session, names ...string) (*shown, error) {
	files := len(names)
	v := &shown{s: s, summary: c.Summary || c.CSV != "" && !c.Quiet && !c.JSON && !c.ETSI && !c.HTML, files: files, counts: map[string]int{}, only: c.SignedOnly}
	if p := s.newProgress("verified"); p.tty || files > 1 && (c.CSV != "" || c.Quiet) && !c.JSON && !c.Summary {
		v.done = p
		v.done.size = files == 1
	}
	for _, name := range names {
		v.names = max(v.names, min(widest, utf8.RuneCountInString(visible.Line(name))))
	}
	switch c.CSV {
	case "":
		return v, nil
	case "-":
		v.csv = s.stdout
	default:
		f, err := os.Create(c.CSV)
		if err != nil {
			return nil, err
		}
		v.table, v.csv = f, f
	}
	v.line(columns...)
	return v, nil
}

// add prints one verdict and counts it.
func (v *shown) add(j judged) {
	v.counts[j.verdict]++
	if v.only && j.verdict == "not signed" {
		return
	}
	v.code = worse(v.code, j.code)
	if j.err != nil {
		text := plain(j.err, j.name)
		v.s.notef("%s: %s", visible.Line(j.name), visible.Line(text))
		j.line, j.text, j.row = "", nil, []string{"", "", "", "", "", text}
	}
	if v.csv != nil {
		v.line(append([]string{j.name, j.verdict}, j.row...)...)
	}
	if j.cells != nil {
		v.row(j)
	} else if j.line != "" {
		v.s.printf("%s: ", visible.Line(j.name))
		v.s.colour(j.tone, j.line)
		v.s.printf("%s", j.text)
	} else if len(j.text) > 0 {
		v.write(v.s.stdout, string(j.text))
	}
	if v.done != nil && v.files > 1 {
		n := 0
		for _, k := range v.counts {
			n += k
		}
		v.done.at(int64(n), int64(max(n, v.files)))
	}
}

// row is one of the summary. The columns are as wide as the names that are known
// beforehand, and what most signers are called.
func (v *shown) row(j judged) {
	v.s.colour(j.tone, marks[j.tone]+" "+wide(j.line, len("UNDETERMINED")))
	line := "  " + wide(visible.Line(j.name), v.names)
	for _, c := range j.cells {
		line += "  " + wide(visible.Line(c), 24)
	}
	v.s.printf("%s\n", strings.TrimRight(line, " "))
}

// wide fills a text up to a number of characters.
func wide(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(text)))
}

// end counts, and says whether the table is whole.
func (v *shown) end() error {
	if v.only && len(v.counts) == 1 && v.counts["not signed"] > 0 {
		v.code = exitInvalid
		v.s.notef("nothing here is signed")
	}
	if v.done != nil {
		v.done.end()
	}
	if v.table != nil {
		v.err = errors.Join(v.err, v.table.Close())
	}
	if v.err != nil || !v.summary {
		return v.err
	}
	n, parts := 0, []string{}
	for _, word := range []string{"valid", "undetermined", "not signed", "invalid", "error"} {
		if k := v.counts[word]; k > 0 {
			n += k
			parts = append(parts, fmt.Sprintf("%d %s", k, word))
		}
	}
	text := fmt.Sprintf("%d files: %s", n, strings.Join(parts, ", "))
	if n == 1 {
		text = "1 file: " + parts[0][2:]
	}
	if v.csv == v.s.stdout {
		v.s.notef("%s", text)
	} else {
		v.s.printf("%s\n", text)
	}
	return nil
}

// line writes a line of the table.
func (v *shown) line(cells ...string) { v.write(v.csv, visible.Row(cells...)) }

func (v *shown) write(to io.Writer, text string) {
	if _, err := io.WriteString(to, text); err != nil && v.err == nil {
		v.err = err
	}
}
