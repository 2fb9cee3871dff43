// Package limits has every bound on hostile input in one place, so that they can be reviewed
// together.
package limits

// Bounds on ASN.1, CMS and time-stamps.
const (
	// ASN1Depth is how deep ASN.1 values may nest.
	ASN1Depth = 64
	// CMSElement is the largest element of a SignedData other than its content:
	// the certificates, the revocation data, or the signer infos.
	CMSElement = 128 << 20
	// CMSChunks is how many pieces a chunked content may have.
	CMSChunks = 1 << 22
	// CMSSigners is how many signer infos one SignedData may hold.
	CMSSigners = 1024
	// CMSEvidence is how many copies are made, in all, of evidence that several
	// signers share.
	CMSEvidence = 1 << 19
	// CMSAttributes is how many attributes one signer info may hold.
	CMSAttributes = 1024
	// CounterSignatures is how deep counter-signatures may nest.
	CounterSignatures = 8
	// CounterSigned is how many signatures are counter-signed at once: for each the whole document
	// is read and written again.
	CounterSigned = 100
	// CMSPadding is how many zeros or line breaks may follow a SignedData.
	CMSPadding = 4096
	// Armour is the largest PEM or base64 document that is decoded in memory.
	Armour = 256 << 20
	// TimestampResponse is the largest answer taken from a time-stamping authority.
	TimestampResponse = 1 << 20
	// Token is the largest time-stamp token that is read from a file.
	Token = 64 << 20
	// Tokens is how many time-stamps a time-stamped file may have: each covers all before it.
	Tokens = 256
	// TimestampRequest is the largest request a responder reads.
	TimestampRequest = 64 << 10
	// OCSPRequest is the largest OCSP request a responder reads.
	OCSPRequest = 64 << 10
)
