// Package redact cuts credentials out of texts that are logged or shown.
package redact

import (
	"regexp"
	"strings"
)

// Mark replaces a secret.
const Mark = "[redacted]"

var (
	userinfo    = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^/@\s"']+@`)
	credentials = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]+`)
	parameter   = regexp.MustCompile(`(?i)\b(password|token|secret|api_?key|otp)=[^&\s"']+`)
	ourSecret   = regexp.MustCompile(`(rg[trksl]_|whsec_)[A-Za-z0-9+/=]+`)
)

// Text removes credentials from a text: those inside URLs, of Authorization headers, parameters
// named like secrets, and anything that looks like one of our secrets.
func Text(s string) string {
	if !strings.ContainsAny(s, "@= _") {
		return s
	}
	s = ourSecret.ReplaceAllString(s, "$1"+Mark)
	s = userinfo.ReplaceAllString(s, "${1}"+Mark+"@")
	s = credentials.ReplaceAllString(s, "$1 "+Mark)
	return parameter.ReplaceAllString(s, "$1="+Mark)
}
