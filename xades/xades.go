// Package xades creates and reads XAdES signatures (EN 319 132-1 and -2): XML signatures with
// properties that bind the signer's certificate, and, from level T on, time-stamps and validation
// data.
//
// Most callers call [Prepare] with the files to sign, the signer's parameters ([ades.SignParams])
// and [Options], have the digest signed, and call Finish on the [Draft]. [Augment] raises a signed
// document to T, LT or LTA, any number of times. [Read] returns all facts about a document, without
// a clock, network access or judgement, and [Level] names the level of a signature.
//
// It creates the baseline levels in namespace 1.3.2, with the archive time-stamp of 1.4.1,
// enveloped, enveloping, detached and internally detached; a signed document keeps all its bytes.
// It also reads the older namespaces 1.1.1 and 1.2.2, the legacy levels, counter-signatures,
// manifests, and plain XML signatures. Documents with a DTD are rejected; references with XSLT or a
// free XPath are not evaluated. [Read] assigns the whole document to the signatures that cover it
// (ades.Document.Parts): what a transform removes is not covered, and may have been written by
// anyone.
package xades

import (
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// Packaging says where a signature is in relation to what it signs.
type Packaging int

const (
	// ByContent is Enveloped for a single XML document, else Enveloping.
	ByContent Packaging = iota
	// Enveloped puts the signature into the XML document that it signs.
	Enveloped
	// Enveloping puts the documents into the signature, as base64.
	Enveloping
	// Detached leaves the documents out and references them by name.
	Detached
	// InternallyDetached puts documents and signature side by side under a new
	// root element.
	InternallyDetached
)

// Options of XAdES; the zero value chooses by content.
type Options struct {
	Packaging Packaging
	// SignatureID is the Id of the new signature; empty for a generated one.
	SignatureID string
	// SignElement is the Id of the one element to sign, instead of the whole document (Enveloped
	// only).
	SignElement string
	// XPathQuery selects the elements to sign (Enveloped only). Each is referenced by its Id; one
	// is added if there is none.
	XPathQuery string
	// Prefixes for XPathQuery, in addition to those declared on the root element.
	Prefixes map[string]string
	// KeepSignatures includes existing signatures in the signed data (the API's
	// withoutSignatureExclusion).
	KeepSignatures bool
	// Policy of the signature (EPES); nil for none.
	Policy *ades.SignaturePolicy
	// ContentStamper time-stamps the content before it is signed; nil for none.
	ContentStamper ades.Stamper
	// MediaTypes of the files by name; the default is text/xml for XML and application/octet-stream
	// otherwise.
	MediaTypes map[string]string
}

// Errors of [Prepare].
var (
	// ErrBreaks: a signature in the document is over everything but itself, so that another one
	// inside would break it.
	ErrBreaks = errors.New("xades: a signature in the document covers the whole document; another inside would break it")
	// ErrNotXML: the packaging needs an XML document.
	ErrNotXML = errors.New("xades: not an XML document")
)

// Namespaces of XAdES by version. 1.4.1 only adds to 1.3.2.
const (
	ns111 = "http://uri.etsi.org/01903/v1.1.1#"
	ns122 = "http://uri.etsi.org/01903/v1.2.2#"
	ns132 = "http://uri.etsi.org/01903/v1.3.2#"
	ns141 = "http://uri.etsi.org/01903/v1.4.1#"
	ds    = xmldsig.Space
)

var exclusive = xmldsig.Method{Exclusive: true}

func isXAdES(space string) bool { return space == ns132 || space == ns122 || space == ns111 }

// settings are all parameters of a signature.
type settings struct {
	ades.SignParams
	Options
}

func (o settings) check() error {
	switch {
	case o.Certificate == nil:
		return errors.New("xades: no signing certificate")
	case o.Time.IsZero():
		return errors.New("xades: no signing time")
	case o.SignatureID != "" && !xmldom.IsName(o.SignatureID):
		return fmt.Errorf("xades: signature id %q is not an XML name", o.SignatureID)
	case slices.ContainsFunc(o.Commitments, func(id string) bool { return !oid.Valid(id) }):
		return errors.New("xades: commitment type is not an object identifier")
	case o.SignElement != "" && o.XPathQuery != "":
		return errors.New("xades: both an element and an XPath to sign")
	}
	if h := o.Digest(); xmldsig.HashURI(h) == "" || !h.Available() {
		return errors.New("xades: hash function not available")
	}
	return nil
}

// malformed turns the parser's errors into a *ades.MalformedError.
func malformed(err error) error {
	var syntax *xmldom.SyntaxError
	if errors.As(err, &syntax) {
		return &ades.MalformedError{Format: "XML", Where: fmt.Sprintf("line %d", syntax.Line), Err: syntax.Err}
	}
	return err
}
