// Package carried has what XAdES and JAdES judge alike: the level by the data in a signature, what
// its time-stamps prove, and the validation data that it lacks.
package carried

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
)

// Evidence is that of a signature and of its time-stamps.
func Evidence(sig *ades.Signature) []ades.Evidence {
	all := slices.Clone(sig.Evidence)
	for _, t := range sig.Timestamps {
		if t.Signature != nil {
			all = append(all, t.Signature.Evidence...)
		}
	}
	return all
}

// Raw returns the DER of certificates, for tokens that do not contain their unit's certificate.
func Raw(certs []*pkix.Certificate) [][]byte {
	out := make([][]byte, len(certs))
	for i, c := range certs {
		out[i] = c.Raw
	}
	return out
}

// Missing gathers the validation data of the chains of a signature's signer and of all
// time-stamping units, and returns what the signature does not contain.
func Missing(ctx context.Context, from ades.Gatherer, sig *ades.Signature) (ades.Bundle, error) {
	if from == nil {
		return ades.Bundle{}, errors.New("no source of validation data given")
	}
	var have ades.Bundle
	have.Add(Evidence(sig)...)
	var leaves [][]byte
	if sig.SigningCertificate != nil {
		leaves = append(leaves, sig.SigningCertificate)
	}
	for _, t := range sig.Timestamps {
		if t.Signature != nil && t.Signature.SigningCertificate != nil {
			leaves = append(leaves, t.Signature.SigningCertificate)
		}
	}
	got, err := from.Gather(ctx, leaves, have)
	if err != nil {
		return ades.Bundle{}, fmt.Errorf("validation data: %w", err)
	}
	return ades.Bundle{
		Certificates: without(got.Certificates, have.Certificates),
		OCSPs:        without(got.OCSPs, have.OCSPs),
		CRLs:         without(got.CRLs, have.CRLs),
	}, nil
}

func without(list, have [][]byte) [][]byte {
	var out [][]byte
	for _, x := range list {
		same := func(b []byte) bool { return bytes.Equal(b, x) }
		if !slices.ContainsFunc(have, same) && !slices.ContainsFunc(out, same) {
			out = append(out, x)
		}
	}
	return out
}

// Tokens counts the signature time-stamps. It is 0 unless all of them are from within the validity
// period of the signer's certificate.
func Tokens(sig *ades.Signature) int {
	n := 0
	c, err := pkix.ParseCertificate(sig.SigningCertificate)
	for _, t := range sig.Timestamps {
		if t.Kind != ades.SignatureTimestamp {
			continue
		}
		if err == nil && !t.Time.Before(c.NotAfter) {
			return 0
		}
		n++
	}
	return n
}

// Proves reports whether a signature has revocation data for every chain except its last archive
// time-stamp's; complete decides that if it is set. A signature without revocation data needs none
// if all its certificates are self-signed and it contains certificates.
func Proves(sig *ades.Signature, complete func(certificates ...[]byte) bool, certificates bool) bool {
	leaves := sig.Leaves()
	if !slices.ContainsFunc(Evidence(sig), func(e ades.Evidence) bool { return e.Kind != ades.EvidenceCertificate }) {
		return certificates && len(leaves) > 0 && !slices.ContainsFunc(leaves, func(der []byte) bool {
			c, err := pkix.ParseCertificate(der)
			return err != nil || !c.SelfSigned()
		})
	}
	return complete == nil || complete(leaves...)
}

// BySignatureTimestamp returns what a time-stamp over the signature value proves to have existed:
// the signature, and the certificate that it identifies.
func BySignatureTimestamp(sig *ades.Signature) []string {
	covers := []string{sig.ID}
	if sig.SigningCertificate != nil && len(sig.CertificateRefs) > 0 {
		covers = append(covers, ades.FactID(sig.SigningCertificate))
	}
	return covers
}

// InTimestamp returns the facts in a time-stamp that a later one proves.
func InTimestamp(ts *ades.Timestamp) []string {
	covers := []string{ts.ID}
	if ts.Signature != nil {
		for _, e := range ts.Signature.Evidence {
			covers = append(covers, e.ID())
		}
	}
	return covers
}
