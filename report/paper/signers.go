package paper

import "rogito.dev/rogito/report"

// Party is a signer of a document.
type Party struct {
	Signer
	Level       string // "PAdES-BASELINE-LT"
	Worth       string // legal value; empty for an invalid signature
	Certificate []byte // DER; nil if it is unknown
}

// Parties returns all signers, in the order of the document.
func Parties(r *report.Report, lang Lang) []Party {
	t := &page{r: r, l: lang}
	var all []Party
	for _, c := range r.Conclusions.Signatures {
		p := Party{Signer: t.signedBy(c), Level: c.Level}
		if c.Indication == report.TotalPassed {
			p.Worth = lang.qualification(c.Qualification, !c.TrustedList)
		}
		if cert := r.SignerOf(c); cert != nil {
			p.Certificate = cert.Raw
		}
		all = append(all, p)
	}
	return all
}
