package xades

import "errors"

// ErrSelection means that what Options says to sign, or to name the signature,
// does not go with the document.
var ErrSelection = errors.New("xades: elements to sign")
