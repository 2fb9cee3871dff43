package trust

import (
	"net/netip"
	"strings"

	"rogito.dev/rogito/internal/pkix"
)

// conformance checks the certificate profile of RFC 5280 section 4 that a
// strict path validation asks for. Signers' certificates break these rules
// often and without harm, so the default leaves them alone.
func conformance(c *pkix.Certificate, leaf, anchor bool, problem func(string, ...any)) {
	bad := func(text string) { problem("%s: %s (RFC 5280 profile)", describe(c), text) }
	n := c.SerialNumber
	ca := c.BasicConstraints != nil && c.BasicConstraints.IsCA
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{n.Sign() <= 0 || len(n.Bytes()) > 20, "serial number is not positive or too long"},
		{len(c.Issuer) == 0, "issuer name is empty"},
		{ca && len(c.Subject) == 0, "a CA without a name"},
		{ca && len(c.SubjectKeyID) == 0, "a CA without subject key identifier"},
		{len(c.AuthorityKeyID) == 0 && !c.SelfSigned(), "authority key identifier is missing"},
		{anchor && !leaf && !ca, "an issuing anchor without basic constraints"},
		{!ca && c.HasKeyUsage && c.KeyUsage&pkix.KeyCertSign != 0, "keyCertSign without being a CA"},
		{!ca && c.NameConstraints != nil, "name constraints outside a CA"},
		{ca && !c.HasUsage(pkix.KeyCertSign), "a CA without keyCertSign"},
	} {
		if rule.broken {
			bad(rule.text)
		}
	}
	for _, x := range c.Extensions {
		if why := criticality(c, x); why != "" {
			bad(why)
		}
	}
	alternativeNames(c, bad)
}

// criticality states which extensions must and which must not be critical.
func criticality(c *pkix.Certificate, x pkix.Extension) string {
	switch x.OID {
	case "2.5.29.14", "2.5.29.35", "1.3.6.1.5.5.7.1.1":
		if x.Critical {
			return "extension " + x.OID + " must not be critical"
		}
	case "2.5.29.30", "2.5.29.36":
		if !x.Critical {
			return "extension " + x.OID + " must be critical"
		}
	case "2.5.29.19":
		if !x.Critical && c.BasicConstraints != nil && c.BasicConstraints.IsCA {
			return "basic constraints of a CA must be critical"
		}
	case "2.5.29.17":
		if !x.Critical && len(c.Subject) == 0 {
			return "alternative names must be critical where the subject is empty"
		}
	case "2.5.29.37":
		if len(c.ExtKeyUsage) == 0 {
			return "extended key usage is empty"
		}
	}
	return ""
}

func alternativeNames(c *pkix.Certificate, bad func(string)) {
	for _, g := range c.SubjectAltNames {
		switch g.Tag {
		case dnsName:
			_, err := netip.ParseAddr(g.Text)
			if err == nil || strings.ContainsAny(g.Text, "_ ") || g.Text == "" || strings.HasPrefix(g.Text, ".") {
				bad("malformed DNS name")
			}
		case ipAddress:
			if len(g.Raw) != 4 && len(g.Raw) != 16 {
				bad("malformed address")
			}
		case rfc822Name:
			if strings.Count(g.Text, "@") != 1 || strings.HasPrefix(g.Text, "@") {
				bad("malformed mail address")
			}
		}
	}
}
