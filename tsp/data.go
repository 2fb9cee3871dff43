package tsp

import (
	"bytes"
	"crypto"
	"errors"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/foreign"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/internal/oid"
)

// Data is a parsed time-stamped file.
type Data struct {
	Content  ades.Source // nil if the file only references it
	Name     string
	Tokens   [][]byte // oldest first
	pairs    [][]byte // each TimeStampAndCRL, in DER
	CRLs     [][]byte
	metadata []byte // covered with the content if it is protected
}

// Document returns the facts of a time-stamped file. They include its content if every time-stamp
// matches.
func (d *Data) Document() (*ades.Document, error) {
	doc := &ades.Document{Format: ades.TST}
	for i, raw := range d.Tokens {
		ts, err := Read(raw, d.imprint(i))
		if err != nil {
			return nil, err
		}
		if i > 0 && ts.ImprintIntact == ades.No { // some are only over the previous token
			if ts, err = Read(raw, digestOf(d.Tokens[i-1])); err != nil {
				return nil, err
			}
		}
		ts.Kind = ades.DetachedTimestamp
		for _, older := range doc.Timestamps {
			ts.Covers = append(ts.Covers, older.ID)
		}
		doc.Timestamps = append(doc.Timestamps, ts)
	}
	for _, c := range d.CRLs {
		doc.Evidence = append(doc.Evidence, ades.Evidence{Kind: ades.EvidenceCRL, Origin: "TimeStampedData", Raw: c})
	}
	if d.Content != nil && doc.Fits() == ades.Yes {
		doc.Content = []ades.File{{Name: d.Name, Source: d.Content}}
	}
	return doc, nil
}

func digestOf(b []byte) func(crypto.Hash) ([]byte, error) {
	return func(h crypto.Hash) ([]byte, error) { return oid.Sum(h, b), nil }
}

// imprint is the data under the n-th token: the content, or the previous token with its CRL.
func (d *Data) imprint(n int) func(crypto.Hash) ([]byte, error) {
	if n > 0 && n <= len(d.pairs) {
		return digestOf(d.pairs[n-1])
	}
	return func(h crypto.Hash) ([]byte, error) {
		if d.Content == nil {
			return nil, nil
		}
		sum := h.New()
		sum.Write(d.metadata)
		err := cms.Copy(sum, d.Content)
		return sum.Sum(nil), err
	}
}

// ReadData parses a time-stamped file: a TimeStampedData of RFC 5544 (.tsd), or a MIME message with
// a document and its token (.m7m).
func ReadData(src ades.Source) (*Data, error) {
	bin, err := cms.Unarmour(src)
	if err != nil {
		return nil, err
	}
	if bin.Size() > limits.Armour {
		return nil, ades.Malformed("TimeStampedData", "", "file of %d bytes is too large", bin.Size())
	}
	raw, err := io.ReadAll(io.NewSectionReader(bin, 0, bin.Size()))
	if err != nil {
		return nil, err
	}
	if cms.ContentType(bin) == oid.TimestampedData {
		d, err := parseTSD(raw)
		if err != nil {
			return nil, &ades.MalformedError{Format: "TimeStampedData", Err: err}
		}
		return d, nil
	}
	d, err := parseMIME(raw)
	if err != nil {
		return nil, &ades.MalformedError{Format: "MIME", Err: err}
	}
	return d, nil
}

func parseTSD(raw []byte) (*Data, error) {
	e, rest, err := cms.ReadElement(raw)
	if err == nil && cms.After(bytes.NewReader(rest), 0) != nil {
		return nil, finding.CMSDataAfter.New()
	}
	for depth := 0; depth < 2 && err == nil; depth++ { // ContentInfo, then [0]
		var parts []cms.Element
		if parts, err = e.Children(); err == nil {
			if len(parts) == 0 {
				return nil, errInfo
			}
			e = parts[len(parts)-1]
		}
	}
	if err != nil {
		return nil, err
	}
	fields, err := e.Children()
	if err != nil || len(fields) < 2 {
		return nil, errInfo
	}
	d := &Data{}
	for _, f := range fields[1:] {
		if err := d.field(f); err != nil {
			return nil, err
		}
		content := f.Tag&^0x20 == cms.TagOctetString
		if protected := f.Tag == cms.TagSequence && d.metadata != nil; !content && !protected && foreign.InBinary(string(f.Raw)) {
			return nil, finding.HoldsOtherDocument.New()
		}
	}
	if len(d.Tokens) == 0 {
		return nil, finding.NoStampToken.New()
	}
	return d, nil
}

func (d *Data) field(f cms.Element) error {
	switch f.Tag {
	case cms.TagSequence:
		d.meta(f)
	case cms.TagOctetString, cms.TagOctetString | 0x20:
		b, err := f.Octets()
		if err != nil {
			return err
		}
		d.Content = bytes.NewReader(b)
	case 0xa0:
		return d.evidence(f)
	}
	return nil
}

// meta parses MetaData: whether it is protected, and the file's name.
func (d *Data) meta(f cms.Element) {
	parts, err := f.Children()
	if err != nil {
		return
	}
	for _, p := range parts {
		switch p.Tag {
		case 0x01:
			if len(p.Body) == 1 && p.Body[0] != 0 {
				d.metadata, _ = cms.DER(f.Raw)
			}
		case cms.TagUTF8String:
			d.Name = string(p.Body)
		}
	}
}

// evidence parses TimeStampTokenEvidence: tokens with optional CRLs.
func (d *Data) evidence(f cms.Element) error {
	list, err := f.Children()
	if err != nil {
		return err
	}
	if len(d.Tokens)+len(list) > limits.Tokens {
		return finding.StampTokensTooMany.New(limits.Tokens)
	}
	for _, one := range list {
		parts, err := one.Children()
		if err != nil || len(parts) == 0 {
			return errInfo
		}
		d.Tokens = append(d.Tokens, parts[0].Raw)
		der, err := cms.DER(one.Raw)
		if err != nil {
			return err
		}
		d.pairs = append(d.pairs, der)
		for _, crl := range parts[1:] {
			d.CRLs = append(d.CRLs, crl.Raw)
		}
	}
	return nil
}

// ErrNoToken means that a message has no time-stamp.
var ErrNoToken = errors.New("no document with a time-stamp")

// parseMIME parses a multipart message whose parts are a document and a token or a response with
// one.
func parseMIME(raw []byte) (*Data, error) {
	m, err := message.Parse(raw)
	if err != nil {
		return nil, err
	}
	d := &Data{}
	contents := 0
	for _, p := range m.Parts {
		b, err := p.Decode()
		if err != nil {
			return nil, err
		}
		if token := tokenIn(b); token != nil {
			d.Tokens = append(d.Tokens, token)
			continue
		}
		contents++
		d.Content, d.Name = bytes.NewReader(b), p.Filename()
	}
	switch {
	case len(d.Tokens) == 0:
		return nil, ErrNoToken
	case contents != 1:
		return nil, finding.StampDocuments.New(contents)
	case m.Ambiguous != nil:
		return nil, m.Ambiguous
	}
	return d, nil
}

// tokenIn returns the token in a file that is one, or a response with one.
func tokenIn(b []byte) []byte {
	token, _ := tokenAndRest(b)
	return token
}

// tokenAndRest returns the token in a file and what follows the token or response.
func tokenAndRest(b []byte) (token, rest []byte) {
	if inner, err := ParseResponse(b); err == nil {
		_, rest, _ = cms.ReadElement(b)
		b = inner
	}
	t, err := Parse(b)
	if err != nil {
		return nil, nil
	}
	if rest == nil {
		rest = b[len(t.Raw):]
	}
	return t.Raw, rest
}

// Extract returns the token in a file that is a token or a response (.tst, .tsr), in binary, PEM or
// base64; nil if it is neither.
func Extract(src ades.Source) []byte {
	bin, err := cms.Unarmour(src)
	if err != nil || bin.Size() > limits.Token {
		return nil
	}
	var first [1]byte
	if _, err := bin.ReadAt(first[:], 0); err != nil && !errors.Is(err, io.EOF) || first[0] != cms.TagSequence {
		return nil // any file may be asked about
	}
	raw, err := io.ReadAll(io.NewSectionReader(bin, 0, bin.Size()))
	if err != nil {
		return nil
	}
	return tokenIn(raw)
}
