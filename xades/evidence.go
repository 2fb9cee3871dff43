package xades

import (
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// carried gathers the certificates and revocation data in the signature.
func (s *sigReader) carried() {
	for _, der := range xmldsig.Certificates(s.x.KeyInfo) {
		s.addEvidence(ades.EvidenceCertificate, "KeyInfo", der)
	}
	for p := range s.unsigned.Elements() {
		s.validationData(p)
	}
	seen := map[string]bool{}
	for _, e := range s.sig.Evidence {
		if e.Kind != ades.EvidenceCertificate || seen[string(e.Raw)] {
			continue
		}
		seen[string(e.Raw)] = true
		if c, err := pkix.ParseCertificate(e.Raw); err == nil {
			s.certs = append(s.certs, c)
			s.inKeyInfo += boolInt(e.Origin == "KeyInfo") // these come first
		} else {
			s.problem(finding.XMLCertUnreadable, s.x.Node, e.Origin, err)
		}
	}
}

func (s *sigReader) addEvidence(kind ades.EvidenceKind, origin string, raw []byte) {
	if len(raw) > 0 && len(s.sig.Evidence) < limits.XMLEvidence {
		s.sig.Evidence = append(s.sig.Evidence, ades.Evidence{Kind: kind, Origin: origin, Raw: raw})
	}
}

// validationData reads one unsigned property, if it has validation data.
func (s *sigReader) validationData(p *xmldom.Node) {
	for _, e := range propertyEvidence(p) {
		s.addEvidence(e.Kind, e.Origin, e.Raw)
	}
}

// propertyEvidence is the validation data in one unsigned property.
func propertyEvidence(p *xmldom.Node) []ades.Evidence {
	var found []ades.Evidence
	add := func(kind ades.EvidenceKind, n *xmldom.Node) {
		raw, err := xmldsig.DecodeBase64(n.Text())
		if err != nil || len(raw) == 0 {
			return
		}
		if kind == ades.EvidenceOCSP {
			if o, err := pkix.ParseOCSPResponse(raw); err == nil {
				raw = o.Raw // whole: some signatures have only the basic response
			}
		}
		found = append(found, ades.Evidence{Kind: kind, Origin: p.Name.Local, Raw: raw})
	}
	switch p.Name.Local {
	case "CertificateValues", "RevocationValues", "AttrAuthoritiesCertValues", "AttributeRevocationValues",
		"TimeStampValidationData", "AnyValidationData":
		for n := range p.All() {
			if n.Kind != xmldom.Element {
				continue
			}
			switch n.Name.Local {
			case "EncapsulatedX509Certificate":
				add(ades.EvidenceCertificate, n)
			case "EncapsulatedOCSPValue":
				add(ades.EvidenceOCSP, n)
			case "EncapsulatedCRLValue":
				add(ades.EvidenceCRL, n)
			}
		}
	}
	return found
}
