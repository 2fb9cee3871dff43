package documents

import (
	"context"
	"slices"
	"strings"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/jades"
	"rogito.dev/rogito/server/internal/signing/request"
	"rogito.dev/rogito/xades"
)

var xadesPackaging = map[string]xades.Packaging{
	"enveloped": xades.Enveloped, "enveloping": xades.Enveloping, "detached": xades.Detached, "internally-detached": xades.InternallyDetached,
}

// LibraryOptions translates an item and the options of its record; out has who
// signs and who stamps. There is one set of options for every signature that
// the document gets.
func (x *Set) LibraryOptions(ctx context.Context, it *Item, out rogito.Options) (rogito.Input, []rogito.Options, error) {
	o := &x.record.Options
	name := EntryName(it.Index, it.Label, it.Media.Ext)
	in := rogito.Input{Files: it.files, Digest: it.Digest}
	if it.files == nil && it.Digest == nil {
		in = rogito.File(name, handed(it.Source))
	}
	size := int64(signatureSize)
	for _, f := range in.Files {
		size += f.Source.Size()
	}
	out.Memory, out.Format, out.Level = x.Memory, it.format.Format(), o.TargetLevel()
	out.StampHash, out.VRI = request.HashOf(o.TimestampHash), o.Level == "LTV"
	if o.Commitment != "" && out.Format != ades.JAdES {
		out.Commitments = []string{request.CommitmentOf(o.Commitment)}
	}
	out.ContentTimestamp = o.ContentStamp && slices.Contains([]ades.Format{ades.CAdES, ades.PAdES, ades.XAdES}, out.Format) && !o.Counter && it.Digest == nil
	out.Spool = func() rogito.Spool { return x.Spool().WriteSized(size) }
	switch container := strings.HasPrefix(o.Packaging, "asic-") || it.files != nil; {
	case out.Format == ades.PAdES:
		all, err := x.padesOptions(ctx, it.Source)
		options := make([]rogito.Options, len(all))
		for i, p := range all {
			options[i] = out
			options[i].PAdES = p
			if i < len(all)-1 { // the last brings what all need beyond their time-stamps
				options[i].Level = min(out.Level, ades.LevelT)
			}
		}
		return in, options, err
	case out.Format == ades.PKCS1:
		out.Level = ades.LevelB
	case out.Format == ades.JAdES:
		form, err := jades.ParseSerialization(o.Serialization)
		if err != nil {
			return in, nil, err
		}
		out.JAdES = jades.Options{Serialization: form, Detached: o.Detached, MediaTypes: map[string]string{name: it.Media.MIME}}
		out.Counter = o.Counter
	case container && it.Digest == nil:
		out.ASiC = asic.Options{CAdES: out.Format == ades.CAdES}
		out.Format = ades.ASiCE
		if o.Packaging == "asic-s" {
			out.Format = ades.ASiCS
		}
	case out.Format == ades.XAdES:
		out.XAdES = xades.Options{
			Packaging: xadesPackaging[o.Packaging], SignatureID: o.SignatureID, SignElement: o.SignElement, XPathQuery: o.XPathQuery,
			KeepSignatures: o.KeepSignatures, MediaTypes: map[string]string{name: it.Media.MIME},
		}
	case out.Format == ades.CAdES:
		out.CAdES = cades.Options{Detached: o.Detached, Embedded: o.Embedded, MediaType: it.Media.MIME}
		out.Counter, out.Parallel = o.Counter && it.Digest == nil, o.Parallel && !o.Detached
	}
	return in, []rogito.Options{out}, nil
}
