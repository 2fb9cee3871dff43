//go:build !unix

package store

import "errors"

func mapForEver(string, int) ([]byte, error) { return nil, errors.ErrUnsupported }
