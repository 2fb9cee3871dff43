// Package pkix reads certificates, names, keys, OCSP responses and revocation
// lists as they are found in signed documents, and checks signatures made with
// their keys (RFC 5280, 5912, 6960, 8017, 3739; ETSI EN 319 412-5).
//
// It is more tolerant than crypto/x509: a certificate whose serial number is
// negative, whose strings are misencoded or whose curve Go does not know must
// still be named in a report. Tolerance ends at the arithmetic: a signature is
// checked exactly, and what cannot be understood is never taken as good.
//
// Nothing here judges trust or time; that is the business of packages trust
// and policy.
package pkix
