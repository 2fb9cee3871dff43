package cms

import "rogito.dev/rogito/internal/pkix"

// CertificateValues reads the value of a certificate-values attribute.
func CertificateValues(raw []byte) [][]byte {
	e, _, err := ReadElement(raw)
	if err != nil {
		return nil
	}
	return sequenceOf(e)
}

func sequenceOf(e Element) [][]byte {
	var out [][]byte
	parts, err := e.Children()
	if err != nil {
		return nil
	}
	for _, p := range parts {
		out = append(out, p.Raw)
	}
	return out
}

// RevocationValues parses a revocation-values attribute (EN 319 122-1, A.1.3) or Adobe's
// revocationInfoArchival, which has the same structure but whole OCSP responses instead of basic
// ones.
func RevocationValues(raw []byte) (crls, ocsps [][]byte) {
	e, _, err := ReadElement(raw)
	if err != nil {
		return nil, nil
	}
	fields, err := e.Children()
	if err != nil {
		return nil, nil
	}
	for _, f := range fields {
		list, ok := firstChild(f)
		if !ok {
			continue
		}
		switch f.Tag {
		case 0xa0:
			crls = append(crls, sequenceOf(list)...)
		case 0xa1:
			for _, r := range sequenceOf(list) {
				ocsps = append(ocsps, wholeOCSP(r))
			}
		}
	}
	return crls, ocsps
}

func firstChild(e Element) (Element, bool) {
	parts, err := e.Children()
	if err != nil || len(parts) == 0 {
		return Element{}, false
	}
	return parts[0], true
}

// wholeOCSP distinguishes an OCSPResponse, which starts with an ENUMERATED, from a
// BasicOCSPResponse.
func wholeOCSP(raw []byte) []byte {
	if e, _, err := ReadElement(raw); err == nil {
		if first, ok := firstChild(e); ok && first.Tag == 0x0a {
			return raw
		}
	}
	return pkix.WrapBasicOCSP(raw)
}
