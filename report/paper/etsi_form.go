package paper

import (
	"encoding/xml"
	"time"
)

// Names of ETSI TS 119 102-2 V1.4.1. The types of messages are those of EU DSS, which programs that
// read such reports know.
const (
	etsiNS     = "http://uri.etsi.org/19102/v1.4.1#"
	etsiDS     = "http://www.w3.org/2000/09/xmldsig#"
	etsiXAdES  = "http://uri.etsi.org/01903/v1.3.2#"
	etsiURN    = "urn:etsi:019102:"
	etsiObjURN = etsiURN + "validationObject:"
	dssURN     = "urn:cef:dss:"
)

// The types below are the elements of the schema, in schema order.

type etsiReport struct {
	XMLName xml.Name        `xml:"ValidationReport"`
	NS      string          `xml:"xmlns,attr"`
	DS      string          `xml:"xmlns:ds,attr"`
	XAdES   string          `xml:"xmlns:xades,attr"`
	Reports []etsiSignature `xml:"SignatureValidationReport"`
	Objects *etsiObjects    `xml:"SignatureValidationObjects,omitempty"`
}

type etsiSignature struct {
	Identifier  *etsiIdentifier  `xml:"SignatureIdentifier,omitempty"`
	Constraints *etsiConstraints `xml:"ValidationConstraintsEvaluationReport,omitempty"`
	Times       *etsiTimes       `xml:"ValidationTimeInfo,omitempty"`
	Document    *etsiDocument    `xml:"SignersDocument,omitempty"`
	Attributes  *etsiAttributes  `xml:"SignatureAttributes,omitempty"`
	Signer      *etsiSigner      `xml:"SignerInformation,omitempty"`
	Quality     *etsiQuality     `xml:"SignatureQuality,omitempty"`
	Process     *etsiProcess     `xml:"SignatureValidationProcess,omitempty"`
	Status      etsiStatus       `xml:"SignatureValidationStatus"`
}

type etsiIdentifier struct {
	ID     string      `xml:"id,attr"`
	Digest *etsiDigest `xml:"DigestAlgAndValue,omitempty"`
	Value  string      `xml:"ds:SignatureValue,omitempty"`
	Hash   bool        `xml:"HashOnly"`
	Doc    bool        `xml:"DocHashOnly"`
}

type etsiDigest struct {
	Method etsiMethod `xml:"ds:DigestMethod"`
	Value  string     `xml:"ds:DigestValue"`
}

type etsiMethod struct {
	Algorithm string `xml:"Algorithm,attr"`
}

type etsiConstraints struct {
	Policy etsiPolicy `xml:"SignatureValidationPolicy"`
}

// etsiPolicy has only a name, since its identifier could not be looked up.
type etsiPolicy struct {
	Implied struct{} `xml:"SignaturePolicyIdentifier>xades:SignaturePolicyImplied"`
	Name    string   `xml:"PolicyName"`
}

type etsiTimes struct {
	Time time.Time `xml:"ValidationTime"`
	Best etsiPOE   `xml:"BestSignatureTime"`
}

type etsiPOE struct {
	Time   time.Time `xml:"POETime"`
	Proof  string    `xml:"TypeOfProof"`
	Object *etsiRef  `xml:"POEObject,omitempty"`
}

type etsiDocument struct {
	Digest etsiDigest `xml:"DigestAlgAndValue"`
}

// etsiAttributes are a choice: each element has its own name.
type etsiAttributes struct {
	List []etsiAttribute
}

type etsiAttribute struct {
	XMLName xml.Name
	Signed  *bool     `xml:"Signed,attr,omitempty"`
	Objects []etsiRef `xml:"AttributeObject,omitempty"`
	Text    string    `xml:",chardata"`
	Parts   []etsiPart
}

// etsiPart is the only child element of most attributes.
type etsiPart struct {
	XMLName xml.Name
	Text    string `xml:",chardata"`
}

type etsiSigner struct {
	Certificate etsiRef `xml:"SignerCertificate"`
	Signer      string  `xml:"Signer"`
}

// etsiRef references one or more objects by id.
type etsiRef struct {
	Ref string `xml:"VOReference,attr"`
}

type etsiQuality struct {
	Information []string `xml:"SignatureQualityInformation"`
}

type etsiProcess struct {
	ID string `xml:"SignatureValidationProcessID"`
}

type etsiStatus struct {
	Main string    `xml:"MainIndication"`
	Sub  []string  `xml:"SubIndication,omitempty"`
	Data *etsiData `xml:"AssociatedValidationReportData,omitempty"`
}

type etsiData struct {
	TrustAnchor *etsiRef        `xml:"TrustAnchor,omitempty"`
	Chain       *etsiChain      `xml:"CertificateChain,omitempty"`
	Revocation  *etsiRevocation `xml:"RevocationStatusInformation,omitempty"`
	Info        *etsiExtraInfo  `xml:"AdditionalValidationReportData,omitempty"`
}

type etsiChain struct {
	Signing etsiRef   `xml:"SigningCertificate"`
	Middle  []etsiRef `xml:"IntermediateCertificate,omitempty"`
	Anchor  *etsiRef  `xml:"TrustAnchor,omitempty"`
}

type etsiRevocation struct {
	Certificate etsiRef   `xml:"ValidationObjectId"`
	Time        time.Time `xml:"RevocationTime"`
	Reason      string    `xml:"RevocationReason,omitempty"`
	Object      *etsiRef  `xml:"RevocationObject,omitempty"`
}

type etsiExtraInfo struct {
	Data []etsiExtra `xml:"ReportData"`
}

type etsiExtra struct {
	Type  string `xml:"Type"`
	Value string `xml:"Value"`
}

type etsiObjects struct {
	Objects []etsiObject `xml:"ValidationObject"`
}

type etsiObject struct {
	ID     string            `xml:"id,attr"`
	Type   string            `xml:"ObjectType"`
	Form   etsiForm          `xml:"ValidationObjectRepresentation"`
	Proves *etsiProvisioning `xml:"POEProvisioning,omitempty"`
	Report *etsiSignature    `xml:"ValidationReport,omitempty"`
}

// etsiForm is the object itself, or its digest.
type etsiForm struct {
	Bytes  string      `xml:"base64,omitempty"`
	Digest *etsiDigest `xml:"DigestAlgAndValue,omitempty"`
}

// etsiProvisioning is what a time-stamp proves to have existed.
type etsiProvisioning struct {
	Time       time.Time           `xml:"POETime"`
	Objects    []etsiRef           `xml:"ValidationObject,omitempty"`
	Signatures []etsiSignatureHash `xml:"SignatureReference,omitempty"`
}

type etsiSignatureHash struct {
	Method string `xml:"DigestMethod"`
	Value  string `xml:"DigestValue"`
}
