package ades

import "strings"

// commitments are the types of EN 319 122-1, 5.2.3, in the order of their
// identifiers.
var commitments = []string{
	"proof-of-origin", "proof-of-receipt", "proof-of-delivery", "proof-of-sender", "proof-of-approval", "proof-of-creation",
}

const commitmentArc = "1.2.840.113549.1.9.16.6."

// Commitment returns the object identifier of a named commitment type ("proof-of-approval"), or "".
func Commitment(name string) string {
	for i, c := range commitments {
		if c == name {
			return commitmentArc + string(rune('1'+i))
		}
	}
	return ""
}

// CommitmentURI is the identifier of a commitment type in XML and JSON: the URI defined by ETSI, or
// the object identifier as a URN.
func CommitmentURI(oid string) string {
	for _, name := range commitments {
		if Commitment(name) == oid {
			words := strings.Split(name, "-")
			last := words[2]
			return "http://uri.etsi.org/01903/v1.2.2#ProofOf" + strings.ToUpper(last[:1]) + last[1:]
		}
	}
	return "urn:oid:" + oid
}

// CommitmentName returns the name of a commitment type, given as an object identifier, a URN or a
// URI; an unknown one is returned unchanged.
func CommitmentName(id string) string {
	for _, name := range commitments {
		if oid := Commitment(name); id == oid || id == "urn:oid:"+oid || id == CommitmentURI(oid) {
			return name
		}
	}
	return id
}

// Why is the reason for signing in the signer's words, or the commitment types; "" if the signature
// has neither.
func (s *Signature) Why() string {
	if s.PDF != nil && s.PDF.Reason != "" {
		return s.PDF.Reason
	}
	var names []string
	for _, c := range s.Commitments {
		names = append(names, CommitmentName(c))
	}
	return strings.Join(names, ", ")
}

// Where is the place of signing as claimed by the signer, or "".
func (s *Signature) Where() string {
	if s.PDF != nil && s.PDF.Location != "" {
		return s.PDF.Location
	}
	return s.Location
}

// UnderPolicy is the identifier of the signature policy; "implied" if the signature does not say
// which, "" if there is none.
func (s *Signature) UnderPolicy() string {
	switch {
	case s.Policy == nil:
		return ""
	case s.Policy.Implied:
		return "implied"
	}
	return s.Policy.ID
}
