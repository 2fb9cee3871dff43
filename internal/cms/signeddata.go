// Package cms reads and writes the SignedData of RFC 5652. It reads BER as well as DER and keeps
// all original bytes, since archive time-stamps and signatures are over those; it writes DER.
// Content is streamed from where it is stored, whatever its size.
//
// It does no cryptography beyond digests and does not judge what it finds.
package cms

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// SignedData is a parsed or a new SignedData inside its ContentInfo.
type SignedData struct {
	Version          int
	DigestAlgorithms []AlgorithmIdentifier
	ContentType      string      // eContentType
	Content          ades.Source // nil if the signature is detached
	// Certificates and Revocations hold the unparsed members of certificates and crls:
	// CertificateChoices and RevocationInfoChoice.
	Certificates [][]byte
	Revocations  [][]byte
	SignerInfos  []*SignerInfo

	// RawCertificates and RawCRLs are the original fields with their tags; nil if absent or new.
	RawCertificates, RawCRLs []byte
	// Encap is the original encapContentInfo; nil if new.
	Encap ades.Source
	// Length of the ContentInfo in the source; anything behind it is not CMS.
	Length int64
	source ades.Source // that it was read from; nil if new
}

func malformed(where string, err error) error {
	if _, ok := errors.AsType[*ades.MalformedError](err); ok {
		return err
	}
	return &ades.MalformedError{Format: "CMS", Where: where, Err: err}
}

// Parse reads a binary ContentInfo with a SignedData. Bytes after it are ignored (see Length).
func Parse(src ades.Source) (*SignedData, error) { return scanner{src: src}.parse() }

// ParseBytes is Parse for a ContentInfo in memory. The result refers to parts of b, which must not
// change: copies were 8 % of the allocations of reading back a PDF.
func ParseBytes(b []byte) (*SignedData, error) {
	return scanner{src: bytes.NewReader(b), mem: b}.parse()
}

func (s scanner) parse() (*SignedData, error) {
	outer, explicit, seq, err := s.contentInfo()
	if err != nil {
		return nil, err
	}
	sd := &SignedData{source: s.src}
	if err := s.signedData(sd, &seq); err != nil {
		return nil, err
	}
	explicit.end = max(explicit.end, seq.next)
	sd.Length, err = s.close(seq.next, &explicit, &outer)
	return sd, err
}

// close finds where the ContentInfo ends, given where its SignedData ends.
func (s scanner) close(off int64, wrappers ...*header) (int64, error) {
	for _, h := range wrappers {
		more, err := s.more(h, off)
		if err != nil || more {
			return 0, malformed("ContentInfo", errTrailing)
		}
		off = h.next
	}
	return off, nil
}

// contentInfo reads the headers down to the fields of a SignedData: ContentInfo, [0] of its
// content, SignedData.
func (s scanner) contentInfo() (outer, explicit, seq header, err error) {
	if outer, err = s.header(0, s.src.Size()); err != nil || outer.tag != TagSequence {
		return outer, explicit, seq, malformed("ContentInfo", errors.New("not a ContentInfo"))
	}
	typ, err := s.child(outer, outer.body, TagOID)
	var id string
	if err == nil {
		id, err = s.oid(&typ)
	}
	if err == nil && id != oid.SignedData {
		err = fmt.Errorf("%s is not SignedData", id)
	}
	if err != nil {
		return outer, explicit, seq, malformed("ContentInfo/contentType", err)
	}
	if explicit, err = s.child(outer, typ.next, 0xa0); err != nil {
		return outer, explicit, seq, malformed("ContentInfo/content", err)
	}
	if seq, err = s.child(explicit, explicit.body, TagSequence); err != nil {
		return outer, explicit, seq, malformed("SignedData", err)
	}
	return outer, explicit, seq, nil
}

func (s scanner) oid(h *header) (string, error) {
	if h.end-h.body > 64 {
		return "", errLength
	}
	raw, err := s.load(h)
	if err != nil {
		return "", err
	}
	return oid.Parse(raw[h.body-h.off:])
}

// ContentType is the type of the ContentInfo at the start of a source, or empty.
func ContentType(src ades.Source) string {
	s := scanner{src: src}
	outer, err := s.header(0, src.Size())
	if err != nil || outer.tag != TagSequence {
		return ""
	}
	h, err := s.child(outer, outer.body, TagOID)
	if err != nil {
		return ""
	}
	id, err := s.oid(&h)
	if err != nil {
		return ""
	}
	return id
}

// element loads the value at off inside parent.
func (s scanner) element(parent header, off int64) (Element, int64, error) {
	h, err := s.header(off, parent.end)
	if err != nil {
		return Element{}, 0, err
	}
	raw, err := s.load(&h)
	if err != nil {
		return Element{}, 0, err
	}
	e, _, err := ReadElement(raw)
	return e, h.next, err
}

func (s scanner) signedData(sd *SignedData, seq *header) error {
	e, off, err := s.element(*seq, seq.body)
	if err != nil || e.Tag != TagInteger {
		return malformed("SignedData/version", orTag(err))
	}
	sd.Version = smallInt(e.Body)
	e, off, err = s.element(*seq, off)
	if err != nil || e.Tag != TagSet {
		return malformed("SignedData/digestAlgorithms", orTag(err))
	}
	if sd.DigestAlgorithms, err = parseAlgorithms(e); err != nil {
		return malformed("SignedData/digestAlgorithms", err)
	}
	encap, err := s.child(*seq, off, TagSequence)
	if err != nil {
		return malformed("SignedData/encapContentInfo", err)
	}
	if err := s.encapsulated(sd, &encap); err != nil {
		return malformed("SignedData/encapContentInfo", err)
	}
	return s.fields(sd, seq, encap.next)
}

func orTag(err error) error {
	if err == nil {
		return errTag
	}
	return err
}

// fields reads certificates, crls and signerInfos.
func (s scanner) fields(sd *SignedData, seq *header, off int64) error {
	seen := byte(0)
	for {
		more, err := s.more(seq, off)
		if err != nil {
			return malformed("SignedData", err)
		}
		if !more {
			break
		}
		e, next, err := s.element(*seq, off)
		if err != nil {
			return malformed("SignedData", err)
		}
		if rank := fieldRank(e.Tag); rank <= seen {
			return malformed("SignedData", fmt.Errorf("unexpected field with tag %#x", e.Tag))
		} else {
			seen = rank
		}
		if err := sd.field(e); err != nil {
			return err
		}
		off = next
	}
	if seen != 3 {
		return malformed("SignedData/signerInfos", errors.New("missing"))
	}
	return nil
}

func fieldRank(tag byte) byte {
	switch tag {
	case 0xa0:
		return 1
	case 0xa1:
		return 2
	case TagSet:
		return 3
	}
	return 0
}

func (sd *SignedData) field(e Element) error {
	switch e.Tag {
	case 0xa0:
		sd.RawCertificates = e.Raw
		return rawChildren(e, &sd.Certificates, "SignedData/certificates")
	case 0xa1:
		sd.RawCRLs = e.Raw
		return rawChildren(e, &sd.Revocations, "SignedData/crls")
	}
	children, err := e.Children()
	if err != nil {
		return malformed("SignedData/signerInfos", err)
	}
	if len(children) > limits.CMSSigners {
		return malformed("SignedData/signerInfos", errors.New("too many"))
	}
	for i, c := range children {
		si, err := ParseSignerInfo(c.Raw)
		if err != nil {
			return malformed(fmt.Sprintf("SignedData/signerInfos[%d]", i), err)
		}
		sd.SignerInfos = append(sd.SignerInfos, si)
	}
	return nil
}

func rawChildren(e Element, out *[][]byte, where string) error {
	children, err := e.Children()
	if err != nil {
		return malformed(where, err)
	}
	for _, c := range children {
		*out = append(*out, c.Raw)
	}
	return nil
}

// encapsulated finds the content type and the position of the content.
func (s scanner) encapsulated(sd *SignedData, encap *header) error {
	h, err := s.child(*encap, encap.body, TagOID)
	if err != nil {
		return err
	}
	if sd.ContentType, err = s.oid(&h); err != nil {
		return err
	}
	more, err := s.more(encap, h.next)
	if err != nil {
		return err
	}
	if more {
		if err := s.content(sd, encap, h.next); err != nil {
			return err
		}
	}
	sd.Encap = io.NewSectionReader(s.src, encap.off, encap.next-encap.off)
	return nil
}

func (s scanner) content(sd *SignedData, encap *header, off int64) error {
	explicit, err := s.child(*encap, off, 0xa0)
	if err != nil {
		return err
	}
	more, err := s.more(&explicit, explicit.body)
	if err != nil {
		return err
	}
	if more {
		inner, err := s.header(explicit.body, explicit.end)
		if err != nil {
			return err
		}
		spans := []span{}
		if inner.tag&^constructed == TagOctetString {
			spans, err = s.octets(&inner, nil, 0)
		} else if sd.ContentType == oid.Data {
			err = errTag
		} else if err = s.finish(&inner, 0); err == nil { // PKCS #7: any type, digested without its header
			spans = append(spans, span{inner.body, inner.end - inner.body})
		}
		if err != nil {
			return err
		}
		sd.Content = newContent(s.src, spans)
		if _, err := s.close(inner.next, &explicit); err != nil {
			return err
		}
	}
	_, err = s.close(explicit.next, encap)
	return err
}

func parseAlgorithms(e Element) ([]AlgorithmIdentifier, error) {
	children, err := e.Children()
	if err != nil {
		return nil, err
	}
	out := make([]AlgorithmIdentifier, len(children))
	for i, c := range children {
		if out[i], err = parseAlgorithm(c); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// smallInt parses a version number; -1 if it is larger than one octet.
func smallInt(b []byte) int {
	if len(b) != 1 || b[0] > 0x7f {
		return -1
	}
	return int(b[0])
}

// X509 lists the public-key certificates.
func (sd *SignedData) X509() [][]byte {
	var out [][]byte
	for _, c := range sd.Certificates {
		if len(c) > 0 && c[0] == TagSequence {
			out = append(out, c)
		}
	}
	return out
}

// CRLs lists the certificate revocation lists.
func (sd *SignedData) CRLs() [][]byte {
	var out [][]byte
	for _, c := range sd.Revocations {
		if len(c) > 0 && c[0] == TagSequence {
			out = append(out, c)
		}
	}
	return out
}

// OCSPs lists the OCSP responses (RFC 5940), as whole OCSPResponse structures.
func (sd *SignedData) OCSPs() [][]byte {
	var out [][]byte
	for _, raw := range sd.Revocations {
		if r := otherRevocation(raw); r != nil {
			out = append(out, r)
		}
	}
	return out
}

func otherRevocation(raw []byte) []byte {
	e, _, err := ReadElement(raw)
	if err != nil || e.Tag != 0xa1 {
		return nil
	}
	parts, err := e.Children()
	if err != nil || len(parts) != 2 {
		return nil
	}
	switch id, _ := oid.Parse(parts[0].Body); id {
	case oid.RevocationOCSP:
		return parts[1].Raw
	case oid.OCSPBasic:
		return pkix.WrapBasicOCSP(parts[1].Raw)
	}
	return nil
}

// OCSPChoice wraps an OCSPResponse as a RevocationInfoChoice (RFC 5940).
func OCSPChoice(response []byte) []byte {
	return TLV(0xa1, TLV(TagOID, oid.Content(oid.RevocationOCSP)), response)
}

// BasicOCSP returns the BasicOCSPResponse of an OCSPResponse.
func BasicOCSP(response []byte) ([]byte, error) {
	e, _, err := ReadElement(response)
	if err != nil {
		return nil, err
	}
	for _, path := range []int{1, 0, 1} {
		parts, err := e.Children()
		if err != nil {
			return nil, err
		}
		if path >= len(parts) {
			return nil, errTruncated
		}
		e = parts[path]
	}
	return e.Octets()
}
