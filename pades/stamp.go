package pades

import (
	"context"
	"errors"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/oid"
)

var errNoStamper = errors.New("no time-stamp authority given")

// stampSignature adds a signature time-stamp to a CMS signature.
func stampSignature(ctx context.Context, signature []byte, r ades.AugmentOptions) ([]byte, error) {
	sd, err := cms.ParseBytes(signature)
	if err != nil {
		return nil, err
	}
	if len(sd.SignerInfos) != 1 {
		return nil, fmt.Errorf("%d signers in one signature", len(sd.SignerInfos))
	}
	token, err := stamp(ctx, r, sd.SignerInfos[0].Signature)
	if err != nil {
		return nil, err
	}
	si, err := sd.SignerInfos[0].AddUnsigned(cms.NewAttribute(oid.AttrSignatureTimestamp, token))
	if err != nil {
		return nil, err
	}
	sd.SignerInfos[0] = si
	return sd.Bytes()
}

// stamp obtains a token over data.
func stamp(ctx context.Context, r ades.AugmentOptions, data []byte) ([]byte, error) {
	if err := oid.CheckHash(r.Digest()); err != nil {
		return nil, err
	}
	h := r.Digest().New()
	h.Write(data)
	return stampDigest(ctx, r, h.Sum(nil))
}

func stampDigest(ctx context.Context, r ades.AugmentOptions, digest []byte) ([]byte, error) {
	if r.Stamper == nil {
		return nil, errNoStamper
	}
	token, err := r.Stamper.Stamp(ctx, r.Digest(), digest)
	if err != nil {
		return nil, fmt.Errorf("time-stamp: %w", err)
	}
	return token, nil
}
