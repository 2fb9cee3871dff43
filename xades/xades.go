// Package xades makes and reads XAdES signatures (EN 319 132-1 and -2): XML
// signatures with the properties that bind the signer's certificate, and, from
// level T on, time-stamps and validation data.
//
// Most callers want [Prepare] with the files to sign, who signs
// ([ades.SignParams]) and [Options], have the digest signed, and call Finish on
// the [Draft]. [Augment] raises a signed
// document to T, LT or LTA, again and again. [Read] states everything that can
// be found out about a document without a clock, a network or an opinion, and
// [Level] names the level that it has reached.
//
// Made are the baseline levels in namespace 1.3.2, with the archive time-stamp
// of 1.4.1, enveloped, enveloping, detached and internally detached; a signed
// document keeps every byte that it had. Read are also the older namespaces
// 1.1.1 and 1.2.2, the legacy levels, counter-signatures, manifests, and plain
// XML signatures. Documents with a DTD are refused; references with XSLT or a
// free XPath are not evaluated. [Read] sorts the whole document by the
// signatures that cover it (ades.Document.Parts): what a transform takes away
// is not covered, and what is not covered may be anybody's.
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

// Packaging says how a signature and what it signs lie together.
type Packaging int

const (
	// ByContent is Enveloped for a single XML document, else Enveloping.
	ByContent Packaging = iota
	// Enveloped puts the signature into the XML document that it signs.
	Enveloped
	// Enveloping puts the documents into the signature, as base64.
	Enveloping
	// Detached leaves the documents out; they are referred to by name.
	Detached
	// InternallyDetached puts documents and signature side by side under a new
	// root element.
	InternallyDetached
)

// Options are what XAdES has to choose from; the zero value is by content.
type Options struct {
	Packaging Packaging
	// SignatureID is the Id of the new signature; empty for a fresh one.
	SignatureID string
	// SignElement is the Id of the one element to sign, in place of the whole
	// document (Enveloped only).
	SignElement string
	// XPathQuery selects the elements to sign (Enveloped only). Each becomes a
	// reference by its Id, which it is given if it has none.
	XPathQuery string
	// Prefixes for XPathQuery beside those declared on the root element.
	Prefixes map[string]string
	// KeepSignatures leaves signatures that are already in the document in the
	// signed data (the API's withoutSignatureExclusion).
	KeepSignatures bool
	// Policy makes the signature one under a policy (EPES); nil for none.
	Policy *ades.SignaturePolicy
	// ContentStamper time-stamps what is signed before it is signed; nil: nobody
	// does.
	ContentStamper ades.Stamper
	// MimeTypes of the files by name; text/xml for XML and
	// application/octet-stream otherwise when there is none.
	MimeTypes map[string]string
}

// Errors of preparing.
var (
	// ErrBreaks means that a signature already in the document is over
	// everything but itself, so that another one inside would break it.
	ErrBreaks = errors.New("xades: a signature in the document covers the whole document; another inside would break it")
	// ErrNotXML means that the packaging needs an XML document.
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

// settings are all that a signature is made with.
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

// malformed turns what the parser says into the one error for bad input.
func malformed(err error) error {
	var syntax *xmldom.SyntaxError
	if errors.As(err, &syntax) {
		return &ades.MalformedError{Format: "XML", Where: fmt.Sprintf("line %d", syntax.Line), Err: syntax.Err}
	}
	return err
}
