package report

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// WriteText writes the report for people at a terminal. The first three lines
// tell the verdict, who signed, and why.
func (r *Report) WriteText(w io.Writer, name string, lang Lang) error {
	t := &page{w: w, r: r, l: lang}
	if name != "" {
		name += ": "
	}
	t.line("%s%s", name, t.headline())
	t.line("%s", t.who())
	t.line("%s", t.why())
	v, err := r.View(false)
	if err != nil {
		return err
	}
	for i, s := range v.Signatures {
		t.signature(i, s, r.Conclusions.Signatures[i])
	}
	for _, ts := range v.Timestamps {
		t.line("")
		t.line("%s: %s, %s%s", lang.T("Time-stamp"), shown(ts.Time), lang.T(string(ts.Indication)), sub(ts.SubIndication))
		t.row("Issued by", pointed(ts.SubjectCN))
		t.list("Error", ts.Errors)
	}
	for _, m := range r.Conclusions.Messages {
		if m.Severity != Info {
			t.line("%s: %s", lang.T([]string{"Information", "Warning", "Error"}[m.Severity]), lang.Message(m))
		}
	}
	return t.err
}

type page struct {
	w   io.Writer
	r   *Report
	l   Lang
	err error
}

func (t *page) line(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format+"\n", args...)
	}
}

func (t *page) row(label, value string) {
	if value != "" {
		t.line("  %-26s %s", t.l.T(label), value)
	}
}

func (t *page) list(label string, texts []string) {
	for _, m := range texts {
		t.line("  %-26s %s", t.l.T(label), m)
	}
}

// headline is the verdict in two words and the kind of document.
func (t *page) headline() string {
	c := t.r.Conclusions
	n := len(c.Signatures)
	verdict := "UNDETERMINED"
	switch {
	case n == 0 && c.Indication == TotalFailed:
		return t.l.T("NOT VALID") + ", " + t.l.T("the file is broken")
	case n == 0 && len(c.Timestamps) > 0:
		return t.l.T("NOT SIGNED") + ", " + t.l.T("only time-stamped")
	case n == 0:
		return t.l.T("NOT SIGNED")
	case t.r.Valid():
		verdict = "VALID"
	case c.Partial:
		verdict = "VALID FOR A PART"
	case c.Indication == TotalFailed:
		verdict = "NOT VALID"
	}
	count := t.l.T("1 signature")
	if n != 1 {
		count = fmt.Sprintf(t.l.T("%d signatures"), n)
	}
	return fmt.Sprintf("%s (%s, %s)", t.l.T(verdict), t.r.Format(), count)
}

// who names the signers.
func (t *page) who() string {
	var names []string
	for _, c := range t.r.Conclusions.Signatures {
		name := t.l.T("an unknown signer")
		if cert := t.r.certificate(c); cert != nil {
			name = cert.SubjectCN
			if cert.Sandbox {
				name += " (" + t.l.T("test certificate") + ")"
			}
		}
		names = append(names, name)
	}
	switch {
	case len(names) == 0 && len(t.r.Conclusions.Timestamps) > 0:
		return t.l.T("The document carries a time-stamp and no signature.")
	case len(names) == 0 && t.r.Conclusions.Indication == TotalFailed:
		return t.l.T("It claims to be signed, but cannot be read.")
	case len(names) == 0:
		return t.l.T("Nobody signed this document.")
	case len(names) > 5:
		names = append(names[:5], "…")
	}
	text := t.l.T("Signed by") + " " + strings.Join(names, ", ")
	if len(t.r.Conclusions.Signatures) == 1 {
		text += " " + t.when(t.r.Conclusions.Signatures[0])
	}
	return text
}

func (t *page) when(c *Conclusion) string {
	switch {
	case c.Proven:
		return fmt.Sprintf(t.l.T("on %s (proven by a time-stamp)"), minute(c.BestTime))
	case !c.Signature.ClaimedTime.IsZero():
		return fmt.Sprintf(t.l.T("on %s (the signer's own clock)"), minute(c.Signature.ClaimedTime))
	}
	return ""
}

// why is the first reason against, or what speaks for it.
func (t *page) why() string {
	c := t.r.Conclusions
	if t.r.Valid() {
		return t.l.T("The content is unchanged and every certificate was valid.") + " " + t.trust()
	}
	if c.Partial {
		return t.l.T("Why") + ": " + t.r.uncovered()
	}
	for _, s := range c.Signatures {
		if s.Indication == TotalPassed {
			continue
		}
		for _, m := range s.Messages {
			if m.Severity == Error {
				return t.l.T("Why") + ": " + t.l.Message(m) + sub(optional(s.SubIndication))
			}
		}
	}
	for _, m := range c.Messages {
		if m.Severity == Error {
			return t.l.T("Why") + ": " + t.l.Message(m)
		}
	}
	for _, s := range c.Signatures {
		for _, n := range s.Counters {
			if n.Indication != TotalPassed {
				return t.l.T("Why") + ": " + t.l.T("A counter-signature is not valid.")
			}
		}
	}
	return t.l.T("There is nothing to verify.")
}

// trust says where trust comes from.
func (t *page) trust() string {
	for _, s := range t.r.Conclusions.Signatures {
		if !s.TrustedList {
			return t.l.T("Trust comes from an anchor of your own, not from an EU trusted list.")
		}
	}
	return t.l.T("The issuer is on an EU trusted list.")
}

func (t *page) signature(i int, s SignatureView, c *Conclusion) {
	t.line("")
	t.line("%s %d: %s%s", t.l.T("Signature"), i+1, t.l.T(string(s.Indication)), sub(s.SubIndication))
	t.row("Signer", pointed(s.SubjectDN))
	t.row("Issuer", pointed(s.IssuerDN))
	t.row("Level", pointed(s.SignatureLevel))
	t.row("Qualification", string(s.Qualification))
	t.row("Algorithm", pointed(s.AlgorithmName))
	t.row("Certificate status", t.l.T(pointed(s.SignerStatus)))
	t.row("Certificate validity", shown(s.SignerNotBefore)+" – "+shown(s.SignerNotAfter))
	t.row("Time", t.when(c))
	t.row("Evidence lasts until", shown(s.ValidUntil))
	for _, ts := range s.Timestamps {
		t.row("Time-stamp", shown(ts.Time)+" "+pointed(ts.SubjectCN)+" "+string(ts.Indication)+sub(ts.SubIndication))
	}
	for _, ch := range s.Changes {
		what := "Change after signing"
		switch {
		case ch.Unexplained:
			what = "UNEXPLAINED CHANGE"
		case !ch.Permitted:
			what = "FORBIDDEN CHANGE"
		}
		t.row(what, t.l.Change(ch))
	}
	t.list("Error", t.l.texts(c, Error))
	t.list("Warning", t.l.texts(c, Warning))
	for k, n := range s.CounterSignatures {
		t.row("Counter-signature", pointed(n.SubjectCN)+" "+string(n.Indication)+sub(n.SubIndication))
		t.list("Error", t.l.texts(c.Counters[k], Error))
	}
}

func (r *Report) certificate(c *Conclusion) *Certificate {
	if c.Signature == nil || c.Signature.SigningCertificate == nil {
		return nil
	}
	return r.Facts.Certificates[factID(c.Signature.SigningCertificate)]
}

func pointed(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func sub(s *string) string {
	if s == nil {
		return ""
	}
	return " / " + *s
}

func minute(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// shown is a time of the contract in the form that people read.
func shown(s *string) string {
	if s == nil {
		return ""
	}
	return (*s)[:16] + " UTC"
}
