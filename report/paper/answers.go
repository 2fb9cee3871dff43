package paper

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/visible"
	"rogito.dev/rogito/report"
)

// Answers are what the holder of a document asks first, in terms that need no knowledge of the
// standard: may I rely on it, who signed, when, why not, and what now. The page and the PDF begin
// with them.
type Answers struct {
	Class      string // "valid", "trial", "invalid", "undetermined": a colour
	Sign       string // symbol of the class: ✓, ! or ✕
	Indication report.Indication
	Word       string // the verdict: "Valid"
	Rely       string // may I rely on it
	Signers    []Signer
	More       int    // number of other signers
	Worth      string // legal value
	Kind       string // the format and the number of signatures
	Until      string // when the evidence ends
	Why        string
	Then       string // what to do now
}

// Signer is a signer, or the authority of a time-stamp, with its time.
type Signer struct {
	Label        string // "Signed by", or "Signer named" if the signature is not valid
	Name, Number string // number: fiscal code, organisation, VAT number
	When, How    string // how the time is known
	At           time.Time
	Only         string // the signed part of the document, unless it is all
	Class, Word  string // the verdict: "Valid"
}

// Sign is the symbol of a class of verdicts, for readers who cannot distinguish its colour.
func Sign(class string) string {
	switch class {
	case "valid":
		return "✓"
	case "invalid":
		return "✕"
	}
	return "!"
}

// Sign is the symbol of the signer's own verdict.
func (s Signer) Sign() string { return Sign(s.Class) }

// AnswersTo makes the answers of a report.
func AnswersTo(r *report.Report, lang Lang) Answers {
	t := &page{r: r, l: lang, bare: true}
	c := r.Conclusions
	a := Answers{Class: "undetermined", Indication: c.Indication, Why: visible.Line(t.plainWhy())}
	a.Word, a.Rely = t.rely()
	switch {
	case r.Valid() && t.sandboxed():
		a.Class = "trial"
	case r.Valid() || t.stampedOnly() && c.TimestampsVerified:
		a.Class = "valid"
	case c.Indication == report.TotalFailed || t.stampedOnly() && t.failed():
		a.Class = "invalid"
	} // without signatures, nothing in it is wrong
	a.Sign = Sign(a.Class)
	a.Then = t.then()
	switch {
	case len(c.Signatures) > 0:
		a.Kind = t.kind(count(lang, len(c.Signatures), "1 signature", "%d signatures"))
	case len(c.Timestamps) > 0:
		a.Kind = t.kind(count(lang, len(c.Timestamps), "1 time-stamp", "%d time-stamps"))
	}
	for i, s := range c.Signatures {
		if i == maxNames {
			a.More = len(c.Signatures) - maxNames
			break
		}
		a.Signers = append(a.Signers, t.signedBy(s))
	}
	if len(c.Signatures) == 1 {
		s := c.Signatures[0]
		if s.Indication == report.TotalPassed {
			a.Worth = t.l.qualification(s.Qualification, !s.TrustedList)
			if s.ValidUntil.After(cmp.Or(r.Conclusions.At, r.MadeAt)) {
				a.Until = t.l.Day(s.ValidUntil, r.Zone)
			}
		}
	}
	if len(c.Signatures) == 0 {
		for i, s := range c.Timestamps {
			if i == maxNames {
				break
			}
			a.Signers = append(a.Signers, t.stamper(s))
		}
	}
	return a
}

// signedBy describes the signer of a signature.
func (t *page) signedBy(c *report.Conclusion) Signer {
	s := Signer{Label: "Signer named", Name: t.l.T("an unknown signer"), Class: t.class(c), Word: t.word(c)}
	if c.Indication == report.TotalPassed {
		s.Label = "Signed by"
	}
	if cert := t.r.SignerOf(c); cert != nil {
		n := holder(cert)
		s.Name, s.Number = visible.Line(n.Person()), visible.Line(strings.Join(t.l.numbers(n), ", "))
		if cert.Sandbox {
			s.Number = strings.TrimPrefix(s.Number+" · "+t.l.T("test certificate"), " · ")
		}
	}
	s.Only = visible.Line(t.scope(c))
	switch {
	case c.Proven:
		s.At, s.How = c.BestTime, t.l.T("proven by a time-stamp")
	case !c.Signature.ClaimedTime.IsZero():
		s.At, s.How = c.Signature.ClaimedTime, t.l.T("by the signer's own clock")
	default:
		s.When = t.l.T("the document does not say")
		return s
	}
	s.When = t.date(s.At)
	return s
}

// stamper describes the authority of a time-stamp of an unsigned document.
func (t *page) stamper(c *report.Conclusion) Signer {
	s := Signer{Label: "Time-stamped by", Name: t.l.T("an unknown authority"), When: t.date(c.Timestamp.Time), At: c.Timestamp.Time, Class: t.class(c), Word: t.word(c)}
	if cert := t.r.SignerOf(c); cert != nil {
		s.Name = visible.Line(t.l.authority(holder(cert)))
	}
	return s
}

// class is the class of one signature or time-stamp: that of the document if there is no other.
func (t *page) class(c *report.Conclusion) string {
	switch c.Indication {
	case report.TotalPassed, report.Passed:
		if cert := t.r.SignerOf(c); cert != nil && cert.Sandbox && c.Timestamp == nil {
			return "trial"
		}
		return "valid"
	case report.TotalFailed, report.Failed:
		return "invalid"
	}
	return "undetermined"
}

// word is the verdict on one of them.
func (t *page) word(c *report.Conclusion) string { return t.l.T(capital(verdictWords[c.Indication])) }

// stampedOnly reports whether there are time-stamps but no signatures.
func (t *page) stampedOnly() bool {
	c := t.r.Conclusions
	return len(c.Signatures) == 0 && len(c.Timestamps) > 0 && c.Indication != report.TotalFailed
}

// rely is the verdict in a word, and a sentence on whether to rely on the document.
func (t *page) rely() (word, sentence string) {
	c := t.r.Conclusions
	n := len(c.Signatures)
	switch {
	case n == 0 && c.Indication == report.TotalFailed:
		return t.l.T("Not valid"), t.l.T("No, do not rely on it: the file claims to be signed, but it is broken.")
	case n == 0 && c.TimestampsVerified:
		return t.l.T("Valid time-stamp"), t.l.T("It proves that the content existed at this time, and not who made it: nobody signed.")
	case t.stampedOnly() && t.failed():
		return t.l.T("Time-stamp not valid"), t.l.T("No, do not rely on it: the time-stamp does not hold, and nobody signed.")
	case t.stampedOnly():
		return t.l.T("Time-stamp undetermined"), t.l.T("Not yet: whether the time-stamp holds cannot be told, and nobody signed.")
	case n == 0:
		return t.l.T("Not signed"), t.l.T("There is no signature in this file that you could rely on.")
	case t.r.Valid() && t.sandboxed():
		return t.l.T("Valid"), t.l.T("Only as a trial: a test certificate binds nobody.") + " " + t.intact()
	case t.r.Valid():
		return t.l.T("Valid"), t.l.T("Yes, you can rely on it: the signer is trusted.") + " " + t.intact()
	case c.Partial:
		return t.l.T("Valid for a part"), t.l.T("Only in part: not everything in the file is signed.") + " " + t.intact()
	case c.Indication == report.TotalFailed:
		return t.l.T("Not valid"), t.l.T("No, do not rely on it.") + " " + t.intact()
	}
	return t.l.T("Cannot be determined"), t.l.T("Not yet: whether you can rely on it cannot be told.") + " " + t.intact()
}

// sandboxed reports whether a signer has a test certificate.
func (t *page) sandboxed() bool {
	return slices.ContainsFunc(t.r.Conclusions.Signatures, func(c *report.Conclusion) bool {
		cert := t.r.SignerOf(c)
		return cert != nil && cert.Sandbox
	})
}

// plainWhy is the reason without its leading word.
func (t *page) plainWhy() string {
	before, _, _ := strings.Cut(t.l.T("Why: %s"), "%s")
	if len(t.r.Conclusions.Signatures) == 0 && len(t.r.Conclusions.Timestamps) == 0 && t.r.Conclusions.Indication != report.TotalFailed &&
		!slices.ContainsFunc(t.r.Facts.Notes, func(p ades.Problem) bool { return p.Code == finding.PDFSignatureGone.Code }) {
		return ""
	}
	why := strings.TrimPrefix(t.verdict().why, before)
	if why == "" {
		return ""
	}
	r := []rune(why)
	return strings.ToUpper(string(r[0])) + string(r[1:])
}

// worst is the signature or time-stamp that determines the verdict.
func (t *page) worst() *report.Conclusion {
	for _, list := range [][]*report.Conclusion{t.r.Conclusions.Signatures, t.r.Conclusions.Timestamps} {
		for _, bad := range []report.Indication{report.TotalFailed, report.Failed, report.Indeterminate} {
			for _, c := range list {
				if c.Indication == bad {
					return c
				}
			}
		}
	}
	return nil
}

// failed reports whether a time-stamp is not valid.
func (t *page) failed() bool {
	w := t.worst()
	return w != nil && w.Indication == report.Failed
}

// then says what to do, if anything.
func (t *page) then() string {
	c := t.r.Conclusions
	worst := t.worst()
	switch {
	case t.r.Valid() && t.sandboxed():
		return t.l.T("For a document that counts, ask for a signature with a certificate that is no test.")
	case t.r.Valid():
		return t.l.T("Keep the file as it is: printed or saved anew it loses its signature.")
	case t.stampedOnly() && c.TimestampsVerified && t.r.IsTimestamp():
		return t.l.T("Keep the time-stamp and the file that it is of, both as they are.")
	case t.stampedOnly() && c.TimestampsVerified:
		return t.l.T("Keep the file as it is: printed or saved anew it loses its time-stamp.")
	case c.Partial:
		return t.l.T("Rely only on what is signed. For the rest, ask whoever sent it for a signed copy.")
	case len(c.Signatures) == 0 && len(c.Timestamps) == 0 && c.Indication != report.TotalFailed:
		if archive(t.r) != nil && len(t.r.Facts.Layers) == 1 {
			return t.l.T("This is an archive. To check the files in it, choose it again and tick that files inside are opened too.")
		}
		return t.l.T("If the signature is a file of its own (.p7s, .sig, .xml), check that file and choose this one as its original. Otherwise ask whoever sent it for the signed file.")
	case worst == nil:
		return t.l.T("Do not use it. Ask whoever sent it for the original, as it was signed.")
	}
	if s := worst.Signature; s != nil && s.PDF != nil {
		for _, ch := range s.PDF.Changes {
			if !ch.Permitted && worst.Indication != report.TotalPassed {
				return t.l.T("Do not use it. Ask whoever sent it for the original, as it was signed.")
			}
		}
	}
	if t.stampedOnly() {
		return t.l.T(t.stampAdvice(worst))
	}
	return t.l.T(t.advice(worst))
}

// stampAdvice says what to do about an invalid time-stamp of an unsigned document.
func (t *page) stampAdvice(c *report.Conclusion) string {
	switch c.SubIndication {
	case report.NoCertificateChainFound, report.NoCertificateChainFoundNoPOE:
		if t.r.Trust().Lists == "loaded" {
			return "Ask whoever sent it for a time-stamp of an authority that is on a European trusted list."
		}
		return t.advice(c) // about the lists
	case report.SignedDataNotFound:
		return "The time-stamp is a file of its own: check it again together with the file that it is of."
	case report.TryLater, report.CertificateChainGeneral, report.RevocationOutOfBoundsNoPOE:
		return "Check again later. If it stays like this, have the file time-stamped again."
	}
	if c.Indication == report.Failed {
		return "Do not use it. Ask whoever sent it for the file as it was time-stamped."
	}
	return "The time-stamp proves nothing by itself any more: have the file time-stamped again."
}

// advice says what to do about one invalid signature.
func (t *page) advice(c *report.Conclusion) string {
	switch c.SubIndication {
	case report.NoCertificateChainFound, report.NoCertificateChainFoundNoPOE:
		switch lists := t.r.Trust().Lists; {
		case lists == "none" && t.r.AtHand:
			return `Load the European trusted lists with "rogito trust update", then verify again. Until then do not rely on it.`
		case lists == "stale" && t.r.AtHand:
			return `Renew the European trusted lists with "rogito trust update", then verify again. Until then do not rely on it.`
		case lists == "none":
			return "Ask whoever runs this service to load the European trusted lists, then check again. Until then do not rely on it."
		case lists == "stale":
			return "Ask whoever runs this service to renew the European trusted lists, then check again. Until then do not rely on it."
		}
		return "Ask the signer who issued the certificate. If you need a qualified signature, ask for one whose issuer is on a European trusted list."
	case report.TryLater, report.CertificateChainGeneral, report.RevocationOutOfBoundsNoPOE:
		return "Check again later. If it stays like this, ask the signer for a signature with a time-stamp."
	case report.SignedDataNotFound:
		if strings.HasPrefix(t.r.Format(), "ASiC") {
			return "Something that was signed is missing from the file. Ask whoever sent it for the complete one."
		}
		return "The signature is a file of its own: check it again and choose the original document too."
	case report.OutOfBoundsNoPOE, report.OutOfBoundsNotRevoked, report.RevokedNoPOE, report.RevokedCANoPOE, report.CryptoConstraintsFailureNoPOE, report.NoPOE:
		return "If you know on which day it was signed, check it again as at that day. Otherwise ask the signer to sign again."
	case report.Revoked, report.Expired, report.NotYetValid, report.CryptoConstraintsFailure, report.ChainConstraintsFailure, report.NoSigningCertificateFound, report.SigConstraintsFailure, report.PolicyProcessingError:
		return "Ask the signer to sign again, with a certificate that is valid."
	}
	return "Do not use it. Ask whoever sent it for the original, as it was signed."
}

// card is one signature: the essentials visible, the rest folded.
func (t *page) card(i int, c *report.Conclusion) htmlCard {
	s := t.signature("", c)
	k := htmlCard{
		Signer: t.signedBy(c), Indication: c.Indication, Label: t.l.T("Signature") + " " + strconv.Itoa(i+1),
	}
	k.add(t.htmlRows(s.rows), len(t.r.Conclusions.Signatures) > 1)
	return k
}

// stampCard is a time-stamp of an unsigned document.
func (t *page) stampCard(c *report.Conclusion) htmlCard {
	k := htmlCard{Signer: t.stamper(c), Indication: c.Indication, Label: t.l.T("Time-stamp")}
	k.add(t.htmlRows(t.timestamp(c).rows), len(t.r.Conclusions.Timestamps) > 1)
	return k
}

// add appends rows. With several cards, only errors and warnings are visible.
func (k *htmlCard) add(rows []htmlRow, several bool) {
	for _, r := range rows {
		if r.Fold || several && r.Class == "" {
			k.More = append(k.More, r)
		} else {
			k.Rows = append(k.Rows, r)
		}
	}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
