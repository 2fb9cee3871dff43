package xades

import "errors"

// ErrSelection means that the elements to sign, or the id of the signature, do not suit the
// document.
var ErrSelection = errors.New("xades: elements to sign")
