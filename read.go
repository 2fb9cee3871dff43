package rogito

import (
	"context"
	"errors"

	"rogito.dev/rogito/ades"
)

// ErrNotSigned means that the document is of no kind that can carry a signature.
var ErrNotSigned = errors.New("not a signed document")

// Read returns what is in a signed document: signatures, time-stamps, evidence and content, as
// facts without judgement. To know what they are worth, use a [Verifier].
func Read(ctx context.Context, src ades.Source, in ades.ReadOptions) (*ades.Document, error) {
	read, _ := sniff(src)
	if read == nil {
		return nil, ErrNotSigned
	}
	return read(ctx, src, in)
}
