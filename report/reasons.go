package report

import (
	"slices"
	"strings"
	"time"

	"rogito.dev/rogito/ades"
)

// trusted says why a valid signature is believed, and what it is worth in law.
func (t *page) trusted() string {
	list := t.r.Conclusions.Signatures
	own, territories, kinds := false, []string{}, []Qualification{}
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

// territoriesOf are the countries whose lists vouch for a signature.
func territoriesOf(c *Conclusion) []string {
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

// qualification explains the word of the contract.
func (l Lang) qualification(q Qualification, own bool) string {
	if q == NA && own {
		return l.T("It is not known to be qualified (N/A): only a trusted list can say so.")
	}
	return l.T(qualifications[q])
}

var qualifications = map[Qualification]string{
	QESig:    "It is a qualified electronic signature (QESig): in the whole EU it has the legal effect of a handwritten one.",
	QESeal:   "It is a qualified electronic seal (QESeal): in the whole EU the content is presumed intact and its origin true.",
	AdESigQC: "It is an advanced electronic signature with a qualified certificate (AdESig-QC), not a qualified signature: the key is not known to be in a qualified device.",
	AdESealQ: "It is an advanced electronic seal with a qualified certificate (AdESeal-QC), not a qualified seal: the key is not known to be in a qualified device.",
	AdESig:   "It is an advanced electronic signature (AdESig): the certificate is not a qualified one.",
	AdESeal:  "It is an advanced electronic seal (AdESeal): the certificate is not a qualified one.",
	NA:       "It is not known to be qualified (N/A): only a valid signature of an issuer on a trusted list is.",
}

// issuerName is who issued the signer's certificate.
func (t *page) issuerName(c *Conclusion) string {
	if cert := t.r.certificate(c); cert != nil {
		if name := t.l.authority(cert.issuer()); name != "" {
			return name
		}
	}
	return t.l.T("an unknown authority")
}

// authorityTrusted ends a sentence about a time-stamp that holds.
func (t *page) authorityTrusted(c *Conclusion) string {
	if places := territoriesOf(c); c.TrustedList && len(places) > 0 {
		return t.l.f("the authority is on the trusted list of %s.", t.l.country(places[0]))
	}
	return t.l.T("trust comes from a certificate of your own, not from an EU trusted list.")
}

// reason says why a document is not valid, by the worst of its signatures,
// and what to do about it.
func (t *page) reason() string {
	c := t.r.Conclusions
	for _, worst := range []Indication{TotalFailed, Indeterminate} {
		for _, s := range c.Signatures {
			if s.Indication == worst {
				return t.because(s)
			}
		}
		for _, m := range c.Messages {
			if m.Severity == Error && worst == TotalFailed {
				return t.l.f("Why: %s", sentence(t.finding(m)))
			}
		}
	}
	for _, s := range c.Signatures {
		if !allPassed(s.Counters) {
			return t.l.f("Why: %s", t.l.T("A counter-signature is not valid."))
		}
	}
	return ""
}

// advise says what to do, in the words of the command line and the API. A page
// has words of its own.
func (t *page) advise(text string) string {
	if t.bare {
		return ""
	}
	return t.l.T(text)
}

// because says why one signature or time-stamp does not hold.
func (t *page) because(c *Conclusion) string {
	first := ""
	for _, m := range c.Messages {
		if m.Severity == Error {
			first = sentence(t.finding(m))
			break
		}
	}
	if s := c.Signature; s != nil && s.PDF != nil && c.Indication != TotalPassed {
		if text := t.changed(s.PDF.Changes, c); text != "" {
			return text
		}
	}
	switch c.SubIndication {
	case NoCertificateChainFound:
		return t.untrusted(c, first)
	case TryLater, CertificateChainGeneral:
		return t.unknownStatus(c, first)
	case HashFailure:
		return join(t.l.f("Why: %s", first), t.advise("Somebody has changed it: ask whoever sent it for the original."))
	case SignedDataNotFound:
		return join(t.l.f("Why: %s", first), t.advise("Give the signed file too (detachedContent, --detached)."))
	case FormatFailure:
		switch {
		case t.tooMuch(first):
			return t.l.T("The document asks for more than one verification may spend, so it was not read to its end: nothing in it is called valid.")
		case ambiguous(c):
			return join(t.l.f("Why: %s", first), t.l.T("Readers can take the file in more than one way, so nobody can say what was signed."))
		}
		return join(t.l.f("Why: %s", first), t.l.T("A genuine document does not have this form."))
	case OutOfBoundsNoPOE, OutOfBoundsNotRevoked, RevokedNoPOE, RevokedCANoPOE, CryptoConstraintsFailureNoPOE, NoPOE, NoCertificateChainFoundNoPOE, RevocationOutOfBoundsNoPOE:
		return join(t.l.f("Why: %s", first), t.advise("A time-stamp from before that would prove it. If you know when it was signed, ask for the verdict as at that day (verifyOnDate, --at)."))
	}
	if first == "" {
		first = sentence(t.l.T(meanings[c.SubIndication]))
	}
	return t.l.f("Why: %s", first)
}

// changed names the first change after signing that is not permitted.
func (t *page) changed(changes []ades.Change, c *Conclusion) string {
	for _, ch := range changes {
		if !ch.Permitted && !ch.Unexplained && c.Indication == TotalFailed {
			return join(t.l.f("Why: after signing, a change was made that the signature does not allow: %s", sentence(t.l.Change(ch))), t.advise("Ask whoever sent it for the document as it was signed."))
		}
	}
	for _, ch := range changes {
		if ch.Unexplained && c.SubIndication == SigConstraintsFailure {
			return join(t.l.f("Why: after signing, a change was made of which nothing shows that it is harmless: %s", sentence(t.l.Change(ch))), t.advise("Compare it with the document as it was signed (rogito extract)."))
		}
	}
	return ""
}

// tooMuch recognises a document that went over its budget, by the texts of
// package limits and of the reading of layers, in either language.
func (t *page) tooMuch(text string) bool {
	for _, s := range overBudget {
		if strings.Contains(text, s) || strings.Contains(text, Italian.T(s)) {
			return true
		}
	}
	return false
}

var overBudget = []string{
	"the document unpacks to more than is allowed", "the document asks for too many and too costly signature checks",
	"reading the document takes too long",
}

// ambiguous recognises the problems of a file that reads in two ways.
func ambiguous(c *Conclusion) bool {
	if c.Signature == nil {
		return false
	}
	for _, p := range c.Signature.Problems {
		if !p.Fatal {
			continue
		}
		if strings.Contains(p.Text, "in two ways") {
			return true
		}
	}
	return false
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

// untrusted says why a chain leads nowhere: for want of lists, or because the
// issuer is on none.
func (t *page) untrusted(c *Conclusion, first string) string {
	state := t.r.Trust()
	switch {
	case c.Anchor != nil: // on a list, and not granted at that time
		return t.l.f("Why: %s", first)
	case state.Lists == "none" && c.Timestamp != nil:
		return join(t.l.T("Whether the time-stamp authority can be trusted cannot be told: no European trusted list is loaded."),
			t.advise(`To load them: "rogito trust update", or "rogito trust import" on a machine without network; then verify again.`))
	case state.Lists == "none":
		return join(t.l.T("Whether the signer can be trusted cannot be told: no European trusted list is loaded."),
			t.advise(`To load them: "rogito trust update", or "rogito trust import" on a machine without network; then verify again.`))
	case state.Lists == "stale":
		return join(t.l.f("The issuer, %s, is on none of the trusted lists that are loaded, and these are old (of %s).", t.issuerName(c), t.l.dayOf(t.r.lotl().Issued, t.r.Zone)),
			t.advise(`To renew them: "rogito trust update", or "rogito trust import" on a machine without network.`))
	}
	if cert := t.r.certificate(c); cert != nil {
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

// unknownStatus says why revocation or lists left a verdict open.
func (t *page) unknownStatus(c *Conclusion, first string) string {
	state := t.r.Trust()
	switch {
	case state.Lists == "stale" && c.TrustedList && c.SubIndication == TryLater:
		return join(t.l.f("The trusted lists that are loaded are old (of %s), so the issuer cannot be judged by them.", t.l.dayOf(t.r.lotl().Issued, t.r.Zone)),
			t.advise(`To renew them: "rogito trust update", or "rogito trust import" on a machine without network.`))
	case t.r.Facts.TrustState.Offline:
		return join(t.l.f("Why: %s", first), t.l.T("It could not be asked for, because fetching is forbidden (--no-network, network.offline)."))
	}
	return join(t.l.f("Why: %s", first), t.advise("Try again later; the notes say what could not be fetched."))
}

// TrustView says by which lists and anchors a verdict was reached.
type TrustView struct {
	Lists   string  `json:"lists" enum:"loaded,stale,none" doc:"European trusted lists: loaded; stale, past their next update; none"`
	Issued  *string `json:"issued" doc:"when the list of lists was issued"`
	Anchors int     `json:"anchors" doc:"certificates that the operator trusts"`
}

// Trust is the state of the trusted lists at the time of the verdict.
func (r *Report) Trust() TrustView {
	v := TrustView{Lists: "none", Anchors: r.Facts.TrustState.OperatorAnchors}
	l := r.lotl()
	if l == nil {
		return v
	}
	v.Lists, v.Issued = "loaded", stamp(l.Issued)
	if l.NextUpdate.IsZero() || r.at().After(l.NextUpdate) {
		v.Lists = "stale"
	}
	return v
}

func (r *Report) at() time.Time {
	if r.Conclusions.At.IsZero() {
		return r.MadeAt
	}
	return r.Conclusions.At
}

// lotl is the state of the list of lists; nil where none is held.
func (r *Report) lotl() *ListState {
	if lists := r.Facts.TrustState.Lists; len(lists) > 0 && lists[0].Verified {
		return &lists[0]
	}
	return nil
}

// meanings are the sub-indications in a few words.
var meanings = map[SubIndication]string{
	FormatFailure:                 "the form of the signature or of the file is not a genuine one",
	HashFailure:                   "what is signed was changed",
	SigCryptoFailure:              "the signature value is not the signer's",
	RevokedSub:                    "the certificate was revoked before signing",
	ExpiredSub:                    "the certificate had expired before signing",
	NotYetValid:                   "not yet valid at that time",
	SigConstraintsFailure:         "the signature does not meet what the policy asks for",
	ChainConstraintsFailure:       "a certificate may not be used for this",
	CertificateChainGeneral:       "the chain of certificates could not be validated",
	CryptoConstraintsFailure:      "an algorithm or key is too weak",
	CryptoConstraintsFailureNoPOE: "an algorithm or key has become too weak, and nothing proves that the signature is older",
	PolicyProcessingError:         "the policy could not be applied",
	TimestampOrderFailure:         "the time-stamps contradict each other",
	NoSigningCertificateFound:     "the signer's certificate was not found",
	NoCertificateChainFound:       "the certificate leads to nobody who is trusted",
	RevokedNoPOE:                  "the certificate was revoked, and nothing proves that the signature is older",
	RevokedCANoPOE:                "the issuer's certificate was revoked, and nothing proves that the signature is older",
	OutOfBoundsNotRevoked:         "the certificate has expired without being revoked, and nothing proves that the signature is older",
	OutOfBoundsNoPOE:              "the certificate has expired, and nothing proves that the signature is older",
	NoPOE:                         "nothing proves when it was made",
	NoCertificateChainFoundNoPOE:  "the certificate leads to nobody who is trusted any more, and nothing proves that the signature is older",
	RevocationOutOfBoundsNoPOE:    "the revocation data is of somebody whose certificate has expired, and nothing proves that the data is older",
	TryLater:                      "data that is current enough is missing: try again later",
	SignedDataNotFound:            "the signed data is missing",
}

// verdictWords are the indications in a word.
var verdictWords = map[Indication]string{
	TotalPassed: "valid", TotalFailed: "not valid", Indeterminate: "undetermined", Passed: "valid", Failed: "not valid",
}

// indication writes an indication, its reason, and both in words.
func (l Lang) indication(i Indication, sub *string) string {
	text := string(i) + " (" + l.T(verdictWords[i]) + ")"
	if sub == nil {
		return text
	}
	text += " / " + *sub
	if m := meanings[SubIndication(*sub)]; m != "" {
		text += ": " + l.T(m)
	}
	return text
}
