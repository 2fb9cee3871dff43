package oid

// Content types of CMS and types used inside them.
const (
	Data              = "1.2.840.113549.1.7.1"
	SignedData        = "1.2.840.113549.1.7.2"
	TSTInfo           = "1.2.840.113549.1.9.16.1.4"
	TimestampedData   = "1.2.840.113549.1.9.16.1.31" // RFC 5544
	OCSPBasic         = "1.3.6.1.5.5.7.48.1.1"
	OCSPNonce         = "1.3.6.1.5.5.7.48.1.2"
	OCSPNoCheck       = "1.3.6.1.5.5.7.48.1.5"
	OCSPArchiveCutoff = "1.3.6.1.5.5.7.48.1.6"
	RevocationOCSP    = "1.3.6.1.5.5.7.16.2" // id-ri-ocsp-response, RFC 5940
)

// Attributes of CMS, CAdES and RFC 3161.
const (
	AttrContentType          = "1.2.840.113549.1.9.3"
	AttrMessageDigest        = "1.2.840.113549.1.9.4"
	AttrSigningTime          = "1.2.840.113549.1.9.5"
	AttrCounterSignature     = "1.2.840.113549.1.9.6"
	AttrAlgorithmProtection  = "1.2.840.113549.1.9.52"
	AttrContentReference     = "1.2.840.113549.1.9.16.2.10"
	AttrContentIdentifier    = "1.2.840.113549.1.9.16.2.7"
	AttrContentHints         = "1.2.840.113549.1.9.16.2.4"
	AttrMimeType             = "0.4.0.1733.2.1"
	AttrSigningCertificate   = "1.2.840.113549.1.9.16.2.12"
	AttrSigningCertificateV2 = "1.2.840.113549.1.9.16.2.47"
	AttrOtherSigCert         = "1.2.840.113549.1.9.16.2.19"
	AttrPolicyID             = "1.2.840.113549.1.9.16.2.15"
	AttrCommitmentType       = "1.2.840.113549.1.9.16.2.16"
	AttrSignerLocation       = "1.2.840.113549.1.9.16.2.17"
	AttrSignerAttr           = "1.2.840.113549.1.9.16.2.18"
	AttrSignerAttrV2         = "0.4.0.19122.1.1"
	AttrContentTimestamp     = "1.2.840.113549.1.9.16.2.20"
	AttrSignatureTimestamp   = "1.2.840.113549.1.9.16.2.14"
	AttrCertificateRefs      = "1.2.840.113549.1.9.16.2.21"
	AttrRevocationRefs       = "1.2.840.113549.1.9.16.2.22"
	AttrCertificateValues    = "1.2.840.113549.1.9.16.2.23"
	AttrRevocationValues     = "1.2.840.113549.1.9.16.2.24"
	AttrEscTimestamp         = "1.2.840.113549.1.9.16.2.25"
	AttrCertCRLTimestamp     = "1.2.840.113549.1.9.16.2.26"
	AttrArchiveTimestamp     = "1.2.840.113549.1.9.16.2.27"
	AttrArchiveTimestampV2   = "1.2.840.113549.1.9.16.2.48"
	AttrAttributeCertRefs    = "1.2.840.113549.1.9.16.2.44"
	AttrAttributeRevRefs     = "1.2.840.113549.1.9.16.2.45"
	AttrArchiveTimestampV3   = "0.4.0.1733.2.4"
	AttrLongTermValidation   = "0.4.0.1733.2.2"
	AttrSigPolicyStore       = "0.4.0.19122.1.3"
	AttrATSHashIndex         = "0.4.0.1733.2.5"
	AttrATSHashIndexV2       = "0.4.0.19122.1.4"
	AttrATSHashIndexV3       = "0.4.0.19122.1.5"
	AttrEvidenceRecord       = "1.2.840.113549.1.9.16.2.49"
	AttrEvidenceRecordExt    = "1.2.840.113549.1.9.16.2.50"
	AttrAdobeRevocation      = "1.2.840.113583.1.1.8"
	AttrSMIMECapabilities    = "1.2.840.113549.1.9.15"
	AttrEntrustTimestamp     = "1.3.6.1.4.1.311.3.3.1" // Microsoft's time-stamp over a signature
	SignaturePolicyURI       = "1.2.840.113549.1.9.16.5.1"
)

// Digest algorithms.
const (
	MD5      = "1.2.840.113549.2.5"
	SHA1     = "1.3.14.3.2.26"
	SHA224   = "2.16.840.1.101.3.4.2.4"
	SHA256   = "2.16.840.1.101.3.4.2.1"
	SHA384   = "2.16.840.1.101.3.4.2.2"
	SHA512   = "2.16.840.1.101.3.4.2.3"
	SHAKE256 = "2.16.840.1.101.3.4.2.12"
	// SHAKE256Len is SHAKE256 with the length of its output as a parameter.
	SHAKE256Len = "2.16.840.1.101.3.4.2.18"
	SHA3_224    = "2.16.840.1.101.3.4.2.7"
	SHA3_256    = "2.16.840.1.101.3.4.2.8"
	SHA3_384    = "2.16.840.1.101.3.4.2.9"
	SHA3_512    = "2.16.840.1.101.3.4.2.10"
	SHA512_224  = "2.16.840.1.101.3.4.2.5"
	SHA512_256  = "2.16.840.1.101.3.4.2.6"
	RIPEMD160   = "1.3.36.3.2.1"
)

// Keys and signature algorithms.
const (
	RSA             = "1.2.840.113549.1.1.1"
	RSAPSS          = "1.2.840.113549.1.1.10"
	MGF1            = "1.2.840.113549.1.1.8"
	SHA1WithRSA     = "1.2.840.113549.1.1.5"
	SHA256WithRSA   = "1.2.840.113549.1.1.11"
	SHA384WithRSA   = "1.2.840.113549.1.1.12"
	SHA512WithRSA   = "1.2.840.113549.1.1.13"
	SHA3_256WithRSA = "2.16.840.1.101.3.4.3.14"
	SHA3_384WithRSA = "2.16.840.1.101.3.4.3.15"
	SHA3_512WithRSA = "2.16.840.1.101.3.4.3.16"

	SHA1WithECDSA     = "1.2.840.10045.4.1"
	SHA256WithECDSA   = "1.2.840.10045.4.3.2"
	SHA384WithECDSA   = "1.2.840.10045.4.3.3"
	SHA512WithECDSA   = "1.2.840.10045.4.3.4"
	SHA3_256WithECDSA = "2.16.840.1.101.3.4.3.10"
	SHA3_384WithECDSA = "2.16.840.1.101.3.4.3.11"
	SHA3_512WithECDSA = "2.16.840.1.101.3.4.3.12"

	Ed25519 = "1.3.101.112"
)

// Extensions of certificates, and identifiers used in them.
const (
	ExtPolicies           = "2.5.29.32"
	ExtExtendedKeyUsage   = "2.5.29.37"
	ExtExpiredCertsOnCRL  = "2.5.29.60"
	ExtQcStatements       = "1.3.6.1.5.5.7.1.3"
	UsageTimeStamping     = "1.3.6.1.5.5.7.3.8"
	PolicyCPS             = "1.3.6.1.5.5.7.2.1"
	QcCompliance          = "0.4.0.1862.1.1"
	QcRetentionPeriod     = "0.4.0.1862.1.3"
	QcSSCD                = "0.4.0.1862.1.4"
	QcPDS                 = "0.4.0.1862.1.5"
	QcType                = "0.4.0.1862.1.6"
	QcTypeESign           = "0.4.0.1862.1.6.1"
	QcTypeESeal           = "0.4.0.1862.1.6.2"
	PKIXQCSyntaxV2        = "1.3.6.1.5.5.7.11.2"
	SemanticsNatural      = "0.4.0.194121.1.1"
	SemanticsLegal        = "0.4.0.194121.1.2"
	PolicyQCPnQSCD        = "0.4.0.194112.1.2"
	PolicyQCPlQSCD        = "0.4.0.194112.1.3"
	AttrNameOrgIdentifier = "2.5.4.97"
)

// attributes has the standard names of attributes.
var attributes = map[string]string{
	AttrContentType:          "content-type",
	AttrMessageDigest:        "message-digest",
	AttrSigningTime:          "signing-time",
	AttrCounterSignature:     "countersignature",
	AttrAlgorithmProtection:  "cms-algorithm-protection",
	AttrContentReference:     "content-reference",
	AttrContentIdentifier:    "content-identifier",
	AttrContentHints:         "content-hints",
	AttrMimeType:             "mime-type",
	AttrSigningCertificate:   "signing-certificate",
	AttrSigningCertificateV2: "signing-certificate-v2",
	AttrOtherSigCert:         "other-signing-certificate",
	AttrPolicyID:             "signature-policy-identifier",
	AttrCommitmentType:       "commitment-type-indication",
	AttrSignerLocation:       "signer-location",
	AttrSignerAttr:           "signer-attributes",
	AttrSignerAttrV2:         "signer-attributes-v2",
	AttrContentTimestamp:     "content-time-stamp",
	AttrSignatureTimestamp:   "signature-time-stamp",
	AttrCertificateRefs:      "complete-certificate-references",
	AttrRevocationRefs:       "complete-revocation-references",
	AttrCertificateValues:    "certificate-values",
	AttrRevocationValues:     "revocation-values",
	AttrEscTimestamp:         "CAdES-C-timestamp",
	AttrCertCRLTimestamp:     "time-stamped-certs-crls-references",
	AttrArchiveTimestamp:     "archive-time-stamp",
	AttrArchiveTimestampV2:   "archive-time-stamp-v2",
	AttrArchiveTimestampV3:   "archive-time-stamp-v3",
	AttrAttributeCertRefs:    "attribute-certificate-references",
	AttrAttributeRevRefs:     "attribute-revocation-references",
	AttrLongTermValidation:   "long-term-validation",
	AttrSigPolicyStore:       "signature-policy-store",
	AttrATSHashIndex:         "ats-hash-index",
	AttrATSHashIndexV2:       "ats-hash-index-v2",
	AttrATSHashIndexV3:       "ats-hash-index-v3",
	AttrEvidenceRecord:       "internal-evidence-record",
	AttrEvidenceRecordExt:    "external-evidence-record",
	AttrAdobeRevocation:      "adbe-revocationInfoArchival",
	AttrSMIMECapabilities:    "smime-capabilities",
	AttrEntrustTimestamp:     "microsoft-time-stamp",
}

// AttributeName is the standard's name of an attribute, or the dotted identifier if it has none
// here.
func AttributeName(dotted string) string {
	if n, ok := attributes[dotted]; ok {
		return n
	}
	return dotted
}
