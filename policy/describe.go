package policy

import (
	"time"

	"rogito.dev/rogito/report"
)

// describe writes the state of signer and issuer into a conclusion.
func (v chainVerdict) describe(j *judge, c *report.Conclusion) {
	if v.path != nil {
		c.Path, c.Anchor = v.path.Certificates, v.path.Anchor
		c.TrustedList = c.Anchor != nil && c.Anchor.Source == report.FromTrustedList
	}
	if v.leaf == nil {
		return
	}
	own := v.anchored && len(v.path.Certificates) == 1
	c.SignerStatus = status(v.leaf, v.best, v.known || own, v.revoked, v.hold)
	if v.revoked {
		c.RevokedAt = v.revokedAt
	}
	c.IssuerStatus = "UNKNOWN"
	if v.path == nil || len(v.path.Certificates) < 2 {
		return
	}
	issuer := j.facts.Certificates[v.path.Certificates[1]]
	anchor := v.anchored && len(v.path.Certificates) == 2
	if issuer != nil {
		c.IssuerStatus = status(issuer, v.best, v.issuerKnown || anchor, v.issuerRevoked, false)
	}
	if v.issuerRevoked {
		c.IssuerRevAt = v.issuerRevokedAt
	}
}

// status is the API's name for the state of a certificate at a time.
func status(c *report.Certificate, at time.Time, known, revoked, hold bool) string {
	switch {
	case revoked && hold:
		return "SUSPENDED"
	case revoked:
		return "REVOKED"
	case at.Before(c.NotBefore):
		return "NOT_YET_VALID"
	case at.After(c.NotAfter):
		return "EXPIRED"
	case known:
		return "VALID"
	}
	return "UNKNOWN"
}
