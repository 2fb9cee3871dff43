package xades

import (
	"errors"

	"rogito.dev/rogito/internal/xmldom"
)

// ErrSelection means that what Options says to sign, or to name the signature,
// does not go with the document.
var ErrSelection = errors.New("xades: elements to sign")

// IsID says whether a text can be the Id of a signature: an XML name without a
// colon.
func IsID(s string) bool {
	d, err := xmldom.Parse([]byte("<"+s+"/>"), xmldom.Limits{}) // the parser knows what a name is
	return err == nil && d.Root().Name.QName == s && d.Root().Name.Prefix == ""
}

// CheckQuery says what is wrong with the syntax of an XPathQuery. What the
// query selects is known only once there is a document.
func CheckQuery(expr string) error { return xmldom.CheckXPath(expr) }
