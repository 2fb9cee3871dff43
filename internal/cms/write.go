package cms

import (
	"bytes"
	"crypto"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/oid"
)

// WriteTo writes the ContentInfo with definite lengths. The content is streamed from its source;
// encapContentInfo and every member that was read keep their bytes.
func (sd *SignedData) WriteTo(w io.Writer) (int64, error) {
	head, encap, size := sd.encap()
	pre := sd.preamble()
	post := sd.postamble()
	inner := int64(len(pre)+len(head)) + size
	for _, p := range post {
		inner += int64(len(p))
	}
	seq := appendLength([]byte{TagSequence}, inner)
	explicit := appendLength([]byte{0xa0}, inner+int64(len(seq)))
	typ := TLV(TagOID, oid.Content(oid.SignedData))
	outer := appendLength([]byte{TagSequence}, inner+int64(len(seq)+len(explicit)+len(typ)))
	c := &counter{w: w}
	c.write(bytes.Join([][]byte{outer, typ, explicit, seq, pre, head}, nil))
	if encap != nil && c.err == nil {
		c.err = Copy(c, encap)
	}
	for _, p := range post {
		c.write(p)
	}
	return c.n, c.err
}

// Bytes is the encoded ContentInfo, for a small one.
func (sd *SignedData) Bytes() ([]byte, error) {
	var b bytes.Buffer
	if sd.Content != nil {
		b.Grow(int(sd.Content.Size()) + 8192)
	}
	_, err := sd.WriteTo(&b)
	return b.Bytes(), err
}

type counter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

func (c *counter) write(p []byte) {
	if c.err == nil {
		_, c.err = c.Write(p)
	}
}

// encap is encapContentInfo: what to write first, and what to stream after it.
func (sd *SignedData) encap() (head []byte, body ades.Source, size int64) {
	if sd.Encap != nil {
		return nil, sd.Encap, sd.Encap.Size()
	}
	typ := TLV(TagOID, oid.Content(sd.ContentType))
	if sd.Content == nil {
		return TLV(TagSequence, typ), nil, 0
	}
	size = sd.Content.Size()
	octets := appendLength([]byte{TagOctetString}, size)
	explicit := appendLength([]byte{0xa0}, size+int64(len(octets)))
	seq := appendLength([]byte{TagSequence}, size+int64(len(octets)+len(explicit)+len(typ)))
	return bytes.Join([][]byte{seq, typ, explicit, octets}, nil), sd.Content, size
}

func (sd *SignedData) preamble() []byte {
	algs := make([][]byte, len(sd.DigestAlgorithms))
	for i, a := range sd.DigestAlgorithms {
		algs[i] = a.Raw
	}
	return append([]byte{TagInteger, 1, byte(sd.version())}, SetOf(TagSet, algs)...)
}

// version follows RFC 5652, 5.1.
func (sd *SignedData) version() int {
	v := 1
	if sd.ContentType != oid.Data {
		v = 3
	}
	for _, si := range sd.SignerInfos {
		if si.Version == 3 {
			v = 3
		}
	}
	for _, c := range sd.Certificates {
		v = max(v, map[byte]int{0xa1: 3, 0xa2: 4, 0xa3: 5}[c[0]])
	}
	for _, c := range sd.Revocations {
		if c[0] == 0xa1 {
			v = 5
		}
	}
	return max(v, sd.Version)
}

// postamble is what follows encapContentInfo: certificates, crls, signerInfos.
func (sd *SignedData) postamble() [3][]byte {
	infos := make([][]byte, len(sd.SignerInfos))
	for i, si := range sd.SignerInfos {
		infos[i] = si.Raw
	}
	return [3][]byte{field(0xa0, sd.RawCertificates, sd.Certificates), field(0xa1, sd.RawCRLs, sd.Revocations), TLV(TagSet, infos...)}
}

// field encodes a SET OF in DER order, which ISO 32000-2, 12.8.3.3 requires in a PDF, or returns
// the original bytes if nothing was added: an older archive time-stamp may be over them.
func field(tag byte, raw []byte, items [][]byte) []byte {
	if raw != nil {
		if e, _, err := ReadElement(raw); err == nil && bytes.Equal(e.Body, bytes.Join(items, nil)) {
			return raw[:len(raw):len(raw)]
		}
	}
	if len(items) == 0 {
		return nil
	}
	return SetOf(tag, items)
}

// AddDigestAlgorithm adds an algorithm unless it is listed.
func (sd *SignedData) AddDigestAlgorithm(raw []byte) error {
	a, err := ParseAlgorithm(raw)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(sd.DigestAlgorithms, func(have AlgorithmIdentifier) bool { return have.OID == a.OID }) {
		sd.DigestAlgorithms = append(sd.DigestAlgorithms, a)
	}
	return nil
}

// AddCertificates appends certificates that are not present yet.
func (sd *SignedData) AddCertificates(certs ...[]byte) {
	sd.Certificates = addNew(sd.Certificates, certs)
}

// AddRevocations appends values of RevocationInfoChoice that are not present yet.
func (sd *SignedData) AddRevocations(choices ...[]byte) {
	sd.Revocations = addNew(sd.Revocations, choices)
}

// AddBundle appends validation data that is not present yet.
func (sd *SignedData) AddBundle(b ades.Bundle) {
	sd.AddCertificates(b.Certificates...)
	sd.AddRevocations(b.CRLs...)
	for _, o := range b.OCSPs {
		sd.AddRevocations(OCSPChoice(o))
	}
}

func addNew(have, more [][]byte) [][]byte {
	have = slices.Clip(have)
	for _, m := range more {
		if !slices.ContainsFunc(have, func(h []byte) bool { return bytes.Equal(h, m) }) {
			have = append(have, m)
		}
	}
	return have
}

// Digest streams a whole source through a hash function.
func Digest(h crypto.Hash, src ades.Source) ([]byte, error) {
	d := h.New()
	if err := Copy(d, src); err != nil {
		return nil, err
	}
	return d.Sum(nil), nil
}
