// Package pkix reads certificates, names, keys, OCSP responses and revocation lists as found in
// signed documents, and checks signatures made with their keys (RFC 5280, 5912, 6960, 8017, 3739;
// ETSI EN 319 412-5).
//
// It is more tolerant than crypto/x509: a certificate with a negative serial number, wrongly
// encoded strings or a curve that Go does not support must still be named in a report. It is not
// tolerant with cryptography: a signature is checked exactly, and what is not understood is never
// accepted.
//
// Nothing here judges trust or time; packages trust and policy do.
package pkix
