package paper

import (
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/report"
)

// trusted says why a valid signature is trusted, and its legal value.
func (t *page) trusted() string {
	list := t.r.Conclusions.Signatures
	own, territories, kinds := false, []string{}, []report.Qualification{}
	for _, c := range list {
		if !c.TrustedList {
			own = true
		}
		for _, where := range territoriesOf(c) {
			if !slices.Contains(territories, where) {
				territories = append(territories, where)
			}
		}
		if !slices.Contains(kinds, c.Qualification) {
			kinds = append(kinds, c.Qualification)
		}
	}
	trust := ""
	switch {
	case own:
		trust = t.l.T("Trust comes from a certificate of your own, not from an EU trusted list.")
	case len(list) == 1 && len(territories) > 0:
		trust = t.l.f("The issuer, %s, is on the trusted list of %s.", t.issuerName(list[0]), t.l.country(territories[0]))
	default:
		for i, where := range territories {
			territories[i] = t.l.country(where)
		}
		trust = t.l.f("The issuers are on EU trusted lists (%s).", strings.Join(territories, ", "))
	}
	if len(kinds) == 1 {
		return join(trust, t.l.qualification(kinds[0], own))
	}
	return join(trust, t.l.T("What each signature is worth in law is said below."))
}

// territoriesOf are the countries whose lists include the signature's anchor.
func territoriesOf(c *report.Conclusion) []string {
	var out []string
	if c.Anchor != nil {
		for _, s := range c.Anchor.Services {
			if !slices.Contains(out, s.Territory) {
				out = append(out, s.Territory)
			}
		}
	}
	return out
}

// qualification explains a qualification.
func (l Lang) qualification(q report.Qualification, own bool) string {
	if q == report.NA && own {
		return l.T("It is not known to be qualified: only a trusted list can say so.")
	}
	return l.T(qualifications[q])
}

var qualifications = map[report.Qualification]string{
	report.QESig:     "It is a qualified electronic signature: in the whole EU it has the legal effect of a handwritten one.",
	report.QESeal:    "It is a qualified electronic seal: in the whole EU the content is presumed intact and its origin true.",
	report.AdESigQC:  "It is an advanced electronic signature with a qualified certificate, not a qualified signature: the key is not known to be in a qualified device.",
	report.AdESealQC: "It is an advanced electronic seal with a qualified certificate, not a qualified seal: the key is not known to be in a qualified device.",
	report.AdESig:    "It is an advanced electronic signature: the certificate is not a qualified one.",
	report.AdESeal:   "It is an advanced electronic seal: the certificate is not a qualified one.",
	report.NA:        "It is not known to be qualified: only a valid signature of an issuer on a trusted list is.",
}

// issuerName is the name of the signer's issuer.
func (t *page) issuerName(c *report.Conclusion) string {
	if cert := t.r.SignerOf(c); cert != nil {
		if name := t.l.authority(issuer(cert)); name != "" {
			return name
		}
	}
	return t.l.T("an unknown authority")
}

// authorityTrusted ends a sentence about a valid time-stamp.
func (t *page) authorityTrusted(c *report.Conclusion) string {
	if places := territoriesOf(c); c.TrustedList && len(places) > 0 {
		return t.l.f("the authority is on the trusted list of %s.", t.l.country(places[0]))
	}
	return t.l.T("trust comes from a certificate of your own, not from an EU trusted list.")
}

// reason says why a document is not valid, by the worst of its signatures, and what to do about it.
func (t *page) reason() string {
	c := t.r.Conclusions
	for _, worst := range []report.Indication{report.TotalFailed, report.Indeterminate} {
		for _, s := range c.Signatures {
			if s.Indication == worst {
				return t.because(s)
			}
		}
		for _, m := range c.Messages {
			if m.Severity == report.SeverityError && worst == report.TotalFailed {
				return t.l.f("Why: %s", sentence(t.finding(m)))
			}
		}
	}
	for _, s := range c.Timestamps { // time-stamps around the signed document
		if s.Indication != report.Passed {
			return t.because(s)
		}
	}
	for _, s := range c.Signatures {
		if !allPassed(s.Counters) {
			return t.l.f("Why: %s", t.l.T("A counter-signature is not valid."))
		}
	}
	return ""
}

// advise says what to do, for the command line and the API. A page has its own advice.
func (t *page) advise(text string) string {
	if t.bare {
		return ""
	}
	return t.l.T(text)
}

// because says why one signature or time-stamp is not valid.
func (t *page) because(c *report.Conclusion) string {
	first, cause := "", report.Message{}
	for _, m := range c.Messages {
		if m.Severity == report.SeverityError {
			first, cause = sentence(t.finding(m)), m
			break
		}
	}
	if s := c.Signature; s != nil && s.PDF != nil && c.Indication != report.TotalPassed {
		if text := t.changed(s.PDF.Changes, c); text != "" {
			return text
		}
	}
	switch c.SubIndication {
	case report.NoCertificateChainFound:
		return t.untrusted(c, first)
	case report.TryLater, report.CertificateChainGeneral:
		return t.unknownStatus(c, first, cause.Code == finding.RevocationNowhere.Code)
	case report.HashFailure:
		return join(t.l.f("Why: %s", first), t.advise("Somebody has changed it: ask whoever sent it for the original."))
	case report.SignedDataNotFound:
		return join(t.l.f("Why: %s", first), t.advise("Give the signed file too (detachedContent, --detached)."))
	case report.FormatFailure:
		switch {
		case overBudget(cause):
			return t.l.T("The document asks for more than one verification may spend, so it was not read to its end: nothing in it is called valid.")
		case cause.Code == finding.PDFTwoReadings.Code:
			return join(t.l.f("Why: %s", first), t.l.T("Readers can take the file in more than one way, so nobody can say what was signed."))
		}
		return join(t.l.f("Why: %s", first), t.l.T("A genuine document does not have this form."))
	case report.OutOfBoundsNoPOE, report.OutOfBoundsNotRevoked, report.RevokedNoPOE, report.RevokedCANoPOE, report.CryptoConstraintsFailureNoPOE, report.NoPOE, report.NoCertificateChainFoundNoPOE, report.RevocationOutOfBoundsNoPOE:
		return join(t.l.f("Why: %s", first), t.advise("A time-stamp from before that would prove it. If you know when it was signed, ask for the verdict as at that day (verifyOnDate, --at)."))
	}
	if first == "" {
		first = sentence(t.l.T(meanings[c.SubIndication]))
	}
	return t.l.f("Why: %s", first)
}

// changed names the first change after signing that is not permitted.
func (t *page) changed(changes []ades.Change, c *report.Conclusion) string {
	for _, ch := range changes {
		if !ch.Permitted && !ch.Unexplained && c.Indication == report.TotalFailed {
			return join(t.l.f("Why: after signing, a change was made that the signature does not allow: %s", sentence(t.l.change(ch))), t.advise("Ask whoever sent it for the document as it was signed."))
		}
	}
	for _, ch := range changes {
		if ch.Unexplained && c.SubIndication == report.SigConstraintsFailure {
			return join(t.l.f("Why: after signing, a change was made of which nothing shows that it is harmless: %s", sentence(t.l.change(ch))), t.advise("Compare it with the document as it was signed (rogito extract)."))
		}
	}
	return ""
}

// overBudget reports whether the document exceeded the limits of one verification.
func overBudget(m report.Message) bool {
	return m.Code == finding.TooMuch.Code || m.Code == finding.TooManyChecks.Code || m.Code == finding.TooLong.Code
}

// uncovered says what the valid signatures do not cover.
func (t *page) uncovered() string {
	names := t.r.Conclusions.Uncovered
	if len(names) == 0 || len(names) == 1 && names[0] == "" {
		return t.l.T("Why: there is content in it that nobody signed.")
	}
	more := ""
	if len(names) > 5 {
		names, more = names[:5], ", …"
	}
	return join(t.l.f("Why: nobody signed %s.", strings.Join(names, ", ")+more), t.advise("Where only what is signed counts, say so (expectFile, expectElement, --file, --element)."))
}

// untrusted says why a chain has no anchor: because there are no lists, or because the issuer is on
// none.
func (t *page) untrusted(c *report.Conclusion, first string) string {
	state := t.r.Trust()
	switch {
	case c.Anchor != nil: // on a list, but not granted at that time
		return t.l.f("Why: %s", first)
	case state.Lists == "none" && c.Timestamp != nil:
		return join(t.l.T("Whether the time-stamp authority can be trusted cannot be told: no European trusted list is loaded."),
			t.advise(`To load them: "rogito trust update", or "rogito trust import" on a machine without network; then verify again.`))
	case state.Lists == "none":
		return join(t.l.T("Whether the signer can be trusted cannot be told: no European trusted list is loaded."),
			t.advise(`To load them: "rogito trust update", or "rogito trust import" on a machine without network; then verify again.`))
	case state.Lists == "stale":
		return join(t.l.f("The issuer, %s, is on none of the trusted lists that are loaded, and these are old (of %s).", t.issuerName(c), t.l.Day(t.r.ListOfLists().Issued, t.r.Zone)),
			t.advise(`To renew them: "rogito trust update", or "rogito trust import" on a machine without network.`))
	}
	if cert := t.r.SignerOf(c); cert != nil {
		for _, l := range t.r.Facts.TrustState.Lists {
			if !l.Verified && l.Territory != "" && l.Territory == cert.Country {
				return join(t.l.f("Whether the signer can be trusted cannot be told: the trusted list of %s could not be had.", t.l.country(l.Territory)),
					t.advise(`To try again: "rogito trust update".`))
			}
		}
	}
	return join(t.l.f("The issuer, %s, is on no European trusted list and not among your own trusted certificates.", t.issuerName(c)),
		t.advise("If you trust it, add its certificate (trust.anchors, --trust)."))
}

// unknownStatus says why missing revocation data or lists left a verdict open.
func (t *page) unknownStatus(c *report.Conclusion, first string, nowhere bool) string {
	state := t.r.Trust()
	switch {
	case state.Lists == "stale" && c.TrustedList && c.SubIndication == report.TryLater:
		return join(t.l.f("The trusted lists that are loaded are old (of %s), so the issuer cannot be judged by them.", t.l.Day(t.r.ListOfLists().Issued, t.r.Zone)),
			t.advise(`To renew them: "rogito trust update", or "rogito trust import" on a machine without network.`))
	case nowhere:
		return join(t.l.f("Why: %s", first), t.advise("Only its issuer can say whether it was revoked; asking again later does not help."))
	case t.r.Facts.TrustState.Offline:
		return join(t.l.f("Why: %s", first), t.l.T("It could not be asked for, because fetching is forbidden (--no-network, network.offline)."))
	}
	return join(t.l.f("Why: %s", first), t.advise("Try again later; the notes say what could not be fetched."))
}

// meanings are short explanations of the sub-indications.
var meanings = map[report.SubIndication]string{
	report.FormatFailure:                 "the form of the signature or of the file is not a genuine one",
	report.HashFailure:                   "what is signed was changed",
	report.SigCryptoFailure:              "the signature value is not the signer's",
	report.Revoked:                       "the certificate was revoked before signing",
	report.Expired:                       "the certificate had expired before signing",
	report.NotYetValid:                   "not yet valid at that time",
	report.SigConstraintsFailure:         "the signature does not meet what the policy asks for",
	report.ChainConstraintsFailure:       "a certificate may not be used for this",
	report.CertificateChainGeneral:       "the chain of certificates could not be validated",
	report.CryptoConstraintsFailure:      "an algorithm or key is too weak",
	report.CryptoConstraintsFailureNoPOE: "an algorithm or key has become too weak, and nothing proves that the signature is older",
	report.PolicyProcessingError:         "the policy could not be applied",
	report.TimestampOrderFailure:         "the time-stamps contradict each other",
	report.NoSigningCertificateFound:     "the signer's certificate was not found",
	report.NoCertificateChainFound:       "the certificate is not issued by a trusted authority",
	report.RevokedNoPOE:                  "the certificate was revoked, and nothing proves that the signature is older",
	report.RevokedCANoPOE:                "the issuer's certificate was revoked, and nothing proves that the signature is older",
	report.OutOfBoundsNotRevoked:         "the certificate has expired without being revoked, and nothing proves that the signature is older",
	report.OutOfBoundsNoPOE:              "the certificate has expired, and nothing proves that the signature is older",
	report.NoPOE:                         "nothing proves when it was made",
	report.NoCertificateChainFoundNoPOE:  "the issuer of the certificate is not trusted any more, and nothing proves that the signature is older",
	report.RevocationOutOfBoundsNoPOE:    "the revocation data is of somebody whose certificate has expired, and nothing proves that the data is older",
	report.TryLater:                      "data that is current enough is missing: try again later",
	report.SignedDataNotFound:            "the signed data is missing",
}

// verdictWords are short forms of the indications.
var verdictWords = map[report.Indication]string{
	report.TotalPassed: "valid", report.TotalFailed: "not valid", report.Indeterminate: "undetermined", report.Passed: "valid", report.Failed: "not valid",
}

// indication formats an indication and its sub-indication with their meanings.
func (l Lang) indication(i report.Indication, sub report.SubIndication) string {
	text := string(i) + " (" + l.T(verdictWords[i]) + ")"
	if sub == "" {
		return text
	}
	text += " / " + string(sub)
	if m := meanings[sub]; m != "" {
		text += ": " + l.T(m)
	}
	return text
}
