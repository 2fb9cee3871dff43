package paper

import (
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
)

// Summary is what the holder of a document wants to know, in three lines: is it intact and valid;
// who signed it and when; is the signer trusted and the signature qualified, and if not, why and
// what to do.
type Summary struct {
	Class string // "valid", "invalid", "undetermined": a colour
	Lines [3]string
}

// Summarize makes the three lines.
func Summarize(r *report.Report, lang Lang) Summary {
	t := &page{r: r, l: lang}
	v := t.verdict()
	s := Summary{Class: "undetermined", Lines: [3]string{visible.Line(v.headline), visible.Line(v.who), visible.Line(v.why)}}
	switch r.Outcome() {
	case report.OutcomeValid:
		s.Class = "valid"
	case report.OutcomeInvalid:
		s.Class = "invalid"
	}
	return s
}

// Verdict is the verdict in a few sentences: those of the summary after one that names the verdict.
func Verdict(r *report.Report, lang Lang) string {
	t := &page{r: r, l: lang}
	v := t.verdict()
	var out []string
	for _, s := range []string{v.sentence, v.intact, v.who, v.why, t.unjudged()} {
		if s != "" && !strings.Contains(strings.Join(out, " "), s) {
			out = append(out, s)
		}
	}
	return visible.Line(strings.Join(out, " "))
}

// unjudged says that a signed document inside was not opened.
func (t *page) unjudged() string {
	for _, m := range t.r.Conclusions.Messages {
		if m.Code == finding.NestedNotJudged.Code {
			return t.finding(m)
		}
	}
	return ""
}

// words are the texts from which the forms of a report are composed.
type words struct {
	sentence string // the verdict
	headline string // the verdict in capitals, the kind of document, intact or not
	intact   string
	who      string
	why      string
}

func (t *page) verdict() words {
	c := t.r.Conclusions
	n := len(c.Signatures)
	switch {
	case n == 0 && c.Indication == report.TotalFailed:
		return t.broken()
	case n == 0 && len(c.Timestamps) > 0:
		return t.timestamped()
	case n == 0:
		return t.unsigned()
	}
	w := words{intact: t.intact(), who: t.who()}
	name := "UNDETERMINED"
	switch {
	case t.r.Valid():
		name, w.sentence, w.why = "VALID", t.l.T("The signature is valid."), t.trusted()
		if n > 1 {
			w.sentence = t.l.T("All signatures are valid.")
		}
	case t.r.Conclusions.Partial:
		name, w.sentence, w.why = "VALID FOR A PART", t.l.T("The document is valid for a part only."), t.uncovered()
	case c.Indication == report.TotalFailed:
		name, w.sentence, w.why = "NOT VALID", t.l.T("The signature is not valid."), t.reason()
		if n > 1 {
			w.sentence = t.l.T("Not every signature is valid.")
		}
	default:
		w.sentence, w.why = t.l.T("Whether the signature is valid cannot be determined."), t.reason()
		if n > 1 {
			w.sentence = t.l.T("Whether all signatures are valid cannot be determined.")
		}
	}
	if l := t.r.Facts.Layers[0]; l.Document != nil && l.Document.Format == ades.TST && !t.r.Conclusions.Partial {
		w.sentence = t.inStamped()
	}
	w.headline = t.l.T(name) + " (" + t.kind(count(t.l, n, "1 signature", "%d signatures")) + "). " + w.intact
	return w
}

// inStamped is the verdict on a signed document in a time-stamped file: it names the document.
func (t *page) inStamped() string {
	c := t.r.Conclusions
	name := t.l.T("without a name")
	for _, s := range c.Signatures {
		if l := t.r.Facts.Layers[s.Layer]; l.Name != "" {
			name = l.Name
			if s.Indication != report.TotalPassed {
				break
			}
		}
	}
	switch {
	case t.r.Valid():
		return t.l.f("The signed document in this time-stamped file (%s) is valid, and the time-stamp fits.", name)
	case c.Indication == report.TotalFailed:
		return t.l.f("The signed document in this time-stamped file (%s) is not valid, or the time-stamp is not.", name)
	}
	return t.l.f("Whether the signed document in this time-stamped file (%s) is valid cannot be determined.", name)
}

// kind is the format with the number of signatures or time-stamps.
func (t *page) kind(count string) string {
	if f := t.r.Format(); f != "" {
		return f + ", " + count
	}
	return count
}

func count(l Lang, n int, one, more string) string {
	if n == 1 {
		return l.T(one)
	}
	return l.f(more, n)
}

// broken describes a document that claims to be signed and cannot be read.
func (t *page) broken() words {
	w := words{
		sentence: t.l.T("This document claims to be signed, but it is broken and cannot be read."),
		headline: t.l.T("NOT VALID") + ", " + t.l.T("the file is broken"),
		who:      t.l.T("Who signed it cannot be told."),
	}
	costly := false
	for _, m := range t.r.Conclusions.Messages {
		if m.Severity == report.SeverityError {
			w.why = t.l.f("Why: %s", sentence(t.finding(m)))
			costly = overBudget(m)
			break
		}
	}
	if costly {
		w.sentence = t.l.T("This document asks for more than one verification may spend, so it was not read to its end.")
		w.headline = t.l.T("NOT VALID") + ", " + t.l.T("too large to be read")
	} else {
		w.why = join(w.why, t.advise("Ask whoever sent it for the original."))
	}
	return w
}

// timestamped describes a document with time-stamps and no signature.
func (t *page) timestamped() words {
	c := t.r.Conclusions
	first := c.Timestamps[0]
	w := words{who: t.stampedBy(first)}
	many := count(t.l, len(c.Timestamps), "1 time-stamp", "%d time-stamps")
	good := t.r.Conclusions.TimestampsVerified
	if good {
		w.sentence = t.l.T("The time-stamp is valid. It is no signature: nobody signed the content.")
		w.headline = t.l.T("VALID TIME-STAMP") + " (" + t.kind(many) + "). " + t.l.T("Nobody signed it.")
		if t.r.IsTimestamp() {
			w.headline = t.l.T("VALID TIME-STAMP") + " (" + t.kind(many) + "). " + t.l.T("The content is intact.")
		}
	} else {
		w.sentence = t.l.T("The time-stamp is not valid, or its validity cannot be determined. There is no signature.")
		w.headline = t.l.T("TIME-STAMP UNDETERMINED")
		if t.failed() {
			w.headline = t.l.T("TIME-STAMP NOT VALID")
		}
		w.headline += " (" + t.kind(many) + "). " + t.l.T("Nobody signed it.")
	}
	if good {
		w.why = t.l.f("The content existed on %s, and %s", t.date(first.Timestamp.Time), t.authorityTrusted(first))
		return w
	}
	for _, s := range c.Timestamps {
		if s.Indication != report.Passed {
			w.why = t.because(s)
			break
		}
	}
	return w
}

// stampedBy names the authority of a time-stamp and its time.
func (t *page) stampedBy(c *report.Conclusion) string {
	name := t.l.T("an unknown authority")
	if cert := t.r.SignerOf(c); cert != nil {
		name = t.l.authority(holder(cert))
	}
	return t.l.f("Time-stamped by %s on %s.", name, t.date(c.Timestamp.Time))
}

// unsigned describes a document without signatures.
func (t *page) unsigned() words {
	w := words{
		sentence: t.l.T("This document is not signed."),
		headline: t.l.T("NOT SIGNED"), who: t.l.T("Nobody signed this document."),
	}
	switch a := archive(t.r); {
	case t.r.Facts.NotJudged != "":
		w.headline = t.l.T("NOT JUDGED")
		w.why = t.l.T("Verify it with a program for files of this kind.")
	case a != nil && a.Format == ades.Mail:
		w.sentence = t.l.T("This is a message that nobody signed.")
		w.who = t.l.T("Nobody signed the message; the files attached to it may be signed each on its own.")
		w.why = t.l.T("None of the files in it is signed.")
	case a != nil:
		files := count(t.l, len(a.Parts), "1 file", "%d files")
		w.sentence = t.l.f("This is a zip archive with %s, not a signed container: as a whole it is not signed.", files)
		w.headline = t.l.T("NOT SIGNED") + " (" + t.l.f("zip archive, %s", files) + ")"
		w.who = t.l.T("Nobody signed the archive; the files in it may be signed each on its own.")
		w.why = t.l.T("Open it with recursive (rogito verify opens it like a folder) for a verdict on each file.")
		if len(t.r.Facts.Layers) > 1 {
			w.why = t.l.T("None of the files in it is signed.")
		}
	default:
		w.why = t.l.T("There is nothing to verify. If the signature is a file of its own (.p7s, .sig, .xml), verify that file and give this one as its content.")
	}
	for _, note := range t.r.Facts.Notes {
		said := sentence(t.l.Message(report.Message{Code: note.Code, Values: note.Values, Text: note.Text}))
		switch note.Code {
		case finding.LooksLike.Code:
			w.why = said
		case finding.NotJudged.Code:
			w.sentence, w.who = said, said
		case finding.PDFSignatureGone.Code:
			w.sentence = t.l.T("This document is not signed any more.")
			w.headline = t.l.T("NOT SIGNED ANY MORE")
			w.who = t.l.T("A signature was taken out of it.")
			w.why = t.l.f("Why: %s", said)
		}
	}
	return w
}

// intact says whether the content is what was signed, regardless of the certificates.
func (t *page) intact() string {
	all, changed, unexplained, odd := ades.Yes, false, false, false
	for _, c := range t.r.Conclusions.Signatures {
		s := c.Signature
		intact := s.Intact()
		odd = odd || ades.Fatal(s.Problems)
		if intact == ades.No || all == ades.Yes {
			all = intact
		}
		if s.PDF != nil {
			for _, ch := range s.PDF.Changes {
				changed = changed || !ch.Permitted && !ch.Unexplained
				unexplained = unexplained || ch.Unexplained
			}
		}
	}
	switch {
	case all == ades.No:
		return t.l.T("The content is NOT intact.")
	case changed:
		return t.l.T("What was signed is intact, but the document was changed after signing.")
	case unexplained:
		return t.l.T("What was signed is intact, but the document was changed after signing in a way that cannot be explained.")
	case all == ades.Unknown:
		return t.l.T("Whether the content is intact cannot be told.")
	case t.r.Conclusions.Partial || odd:
		return t.l.T("What is signed is intact.")
	}
	return t.l.T("The content is intact.")
}

func allPassed(list []*report.Conclusion) bool {
	return !slices.ContainsFunc(list, func(c *report.Conclusion) bool {
		return c.Indication != report.TotalPassed || !allPassed(c.Counters)
	})
}

// who names the signers, with the time if there is one signature. If signers signed different parts
// it says who signed what, since "signed by A and B" would mean that both signed everything.
func (t *page) who() string {
	list := t.r.Conclusions.Signatures
	if text := t.whoSignedWhat(list); text != "" {
		return text
	}
	text := t.l.T("Signed by") + " " + t.names(list)
	if len(list) == 1 {
		if when := t.when(list[0]); when != "" {
			text += " " + when
		}
	}
	return text + "."
}

// names are the signers' names without duplicates.
func (t *page) names(list []*report.Conclusion) string {
	var names []string
	for _, c := range list {
		if name := t.signer(c); !slices.Contains(names, name) {
			if names = append(names, name); len(names) > maxNames {
				break
			}
		}
	}
	switch n := len(names); {
	case n > maxNames:
		return strings.Join(names[:maxNames], ", ") + " " + t.l.T("and others")
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " " + t.l.T("and") + " " + names[n-1]
	}
	return names[0]
}

// maxNames bounds the names in a sentence.
const maxNames = 5

// whoSignedWhat is "" if all signatures have the same scope, or if one is broken, so that its scope
// is unknown.
func (t *page) whoSignedWhat(list []*report.Conclusion) string {
	by := map[string][]*report.Conclusion{}
	var scopes []string
	for _, c := range list {
		if c.Signature.Intact() != ades.Yes || ades.Fatal(c.Signature.Problems) {
			return ""
		}
		scope := t.scope(c)
		if by[scope] == nil {
			scopes = append(scopes, scope)
		}
		by[scope] = append(by[scope], c)
	}
	if len(scopes) == 1 {
		return ""
	}
	var out []string
	whole := by[""]
	if whole != nil {
		out = append(out, t.l.f("%s signed the whole document", t.names(whole)))
	}
	for _, scope := range scopes {
		if scope == "" {
			continue
		}
		if len(out) == maxNames {
			out = append(out, t.l.T("others signed other parts"))
			break
		}
		out = append(out, t.l.f("%s signed only %s", t.names(by[scope]), scope))
	}
	text := strings.Join(out, "; ") + "."
	if whole == nil {
		text = join(text, t.l.T("No signature covers the whole document."))
	}
	return text
}

// scope names what a signature covers: the files, the elements, the file of an archive it was found
// in; "" is the whole document.
func (t *page) scope(c *report.Conclusion) string {
	names := append(slices.Clone(c.SignedFiles), c.SignedElements...)
	if c.CoversWhole || len(names) == 0 {
		names = nil
	}
	level := t.r.Facts.Layers[c.Layer].Level
	name := t.r.Facts.Layers[c.Layer].Name
	for i := c.Layer - 1; i >= 0 && level > 0; i-- {
		around := t.r.Facts.Layers[i]
		if around.Level >= level {
			continue
		}
		level = around.Level
		if around.Document != nil && len(around.Document.Parts) > 1 && name != "" {
			if names == nil {
				names = []string{""}
			}
			for k, n := range names {
				names[k] = strings.TrimSuffix(name+"/"+strings.TrimPrefix(n, "/"), "/")
			}
		}
		name = around.Name
	}
	if len(names) > maxNames {
		return strings.Join(names[:maxNames], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// signer is a signer's name, number and organisation.
func (t *page) signer(c *report.Conclusion) string {
	cert := t.r.SignerOf(c)
	if cert == nil {
		return t.l.T("an unknown signer")
	}
	name := t.l.describe(holder(cert))
	if cert.Sandbox {
		name += " [" + t.l.T("test certificate") + "]"
	}
	return name
}

func (t *page) when(c *report.Conclusion) string {
	switch {
	case c.Proven:
		return t.l.f("on %s (proven by a time-stamp)", t.date(c.BestTime))
	case !c.Signature.ClaimedTime.IsZero():
		return t.l.f("on %s (the signer's own clock)", t.date(c.Signature.ClaimedTime))
	}
	return ""
}

func (t *page) date(at time.Time) string { return t.l.Date(at, t.r.Zone) }

// finding is the text of a message in the language and zone of the report.
func (t *page) finding(m report.Message) string { return t.l.message(m, t.r.Zone) }

// sentence capitalizes a text and ends it with a period.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "!") && !strings.HasSuffix(s, "?") {
		s += "."
	}
	return s
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// archive is a plain ZIP archive as the outermost layer, or nil.
func archive(r *report.Report) *ades.Document {
	if len(r.Facts.Layers) == 0 {
		return nil
	}
	if d := r.Facts.Layers[0].Document; d != nil && (d.Format == ades.ZIP || d.Format == ades.Mail) {
		return d
	}
	return nil
}
