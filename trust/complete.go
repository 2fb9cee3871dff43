package trust

import (
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/report"
)

// Complete reports whether the documents themselves carry what the chains of the certificates need:
// revocation data for every certificate below the anchor, or below the last certificate if there is
// no anchor, including the chains of responders. This is what defines level LT.
func Complete(f *report.Facts, certs ...[]byte) bool {
	w := completeness{f, map[string]bool{}}
	for _, der := range certs {
		if der == nil || !w.leaf(ades.FactID(der), 0) {
			return false
		}
	}
	return len(certs) > 0
}

type completeness struct {
	facts *report.Facts
	busy  map[string]bool
}

func (w completeness) leaf(id string, depth int) bool {
	if w.busy[id] || depth > responderDepth {
		return true // already being judged further up
	}
	w.busy[id] = true
	return slices.ContainsFunc(w.facts.Paths[id], func(p *report.Path) bool { return w.path(p, depth) })
}

func (w completeness) path(p *report.Path, depth int) bool {
	if p.Anchor == nil && !p.Complete {
		return w.exempt(p.Certificates[0], depth > 0) // an incomplete chain is judged as DSS does
	}
	for i, id := range p.Certificates[:len(p.Certificates)-1] {
		if !w.exempt(id, depth > 0 && i == 0) && !w.revocation(id, depth) {
			return false
		}
	}
	return true
}

// exempt reports whether a certificate needs no revocation data: short-lived ones, and those of
// responders with OCSPNoCheck.
func (w completeness) exempt(id string, responder bool) bool {
	c := w.facts.Certificates[id]
	return c != nil && (c.ShortTerm || responder && c.OCSPNoCheck && slices.Contains(c.ExtKeyUsage, pkix.EKUOCSPSigning))
}

func (w completeness) revocation(id string, depth int) bool {
	for _, r := range w.facts.Revocations[id] {
		// Adobe's attribute is not validation data as defined by EN 319 142.
		if r.Origin == fromNetwork || r.Origin == "adbe-revocationInfoArchival" || r.Status == "unknown" {
			continue
		}
		if r.SignerIsIssuer || w.leaf(r.Signer, depth+1) {
			return true
		}
	}
	return false
}
