package cades

import (
	"context"
	"crypto"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
)

// StampContent obtains a token over content, for Options.ContentTimestamps.
func StampContent(ctx context.Context, content ades.Source, s ades.Stamper, hash crypto.Hash) ([]byte, error) {
	h := hash.New()
	if err := cms.Copy(h, content); err != nil {
		return nil, fmt.Errorf("cades: read content: %w", err)
	}
	token, err := s.Stamp(ctx, hash, h.Sum(nil))
	if err != nil {
		return nil, fmt.Errorf("cades: time-stamp of the content: %w", err)
	}
	return token, nil
}
