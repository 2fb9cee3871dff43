package cades

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/internal/pec"
)

// IsSMIME reports whether a message has an S/MIME signature.
func IsSMIME(src ades.Source) bool {
	head := make([]byte, min(src.Size(), 64<<10))
	n, _ := src.ReadAt(head, 0)
	e, err := openMessage(head[:n])
	if err != nil {
		return false
	}
	return isSignature(e.Params["protocol"]) && e.Type == "multipart/signed" || isOpaque(e.Type)
}

// openMessage parses the message in a file, or the one that it forwards as message/rfc822 (RFC
// 2046, 5.2.1).
func openMessage(raw []byte) (*message.Entity, error) {
	raw, ambiguous := message.Begin(raw)
	for range maxForwarded {
		e, err := message.ParseEntity(raw)
		if err != nil {
			return nil, err
		}
		ambiguous = cmp.Or(ambiguous, e.Ambiguous)
		if e.Type != "message/rfc822" {
			e.Ambiguous = ambiguous
			return e, nil
		}
		switch strings.ToLower(e.Field("content-transfer-encoding")) {
		case "", "7bit", "8bit", "binary":
		default: // RFC 2046, 5.2.1
			return nil, finding.MIMEMessageEncoded.New()
		}
		raw = e.Body
	}
	return nil, finding.MIMETooDeep.New()
}

// maxForwarded bounds messages in messages.
const maxForwarded = 4

func isSignature(mediaType string) bool {
	t := strings.ToLower(mediaType)
	return t == "application/pkcs7-signature" || t == "application/x-pkcs7-signature"
}

func isOpaque(mediaType string) bool {
	return mediaType == "application/pkcs7-mime" || mediaType == "application/x-pkcs7-mime"
}

// ReadSMIME returns the facts of an S/MIME message (RFC 8551): a multipart/signed, whose second
// part signs the first, or a message that is a SignedData. The signed content is the MIME entity
// with its header.
func ReadSMIME(ctx context.Context, src ades.Source, r ades.ReadOptions) (*ades.Document, error) {
	if src.Size() > limits.Armour {
		return nil, finding.FileTooLarge.Malformed("MIME", "", src.Size())
	}
	if err := limits.BudgetOf(ctx).Spend(src.Size()); err != nil {
		return nil, &ades.MalformedError{Format: "MIME", Err: err}
	}
	raw, err := io.ReadAll(io.NewSectionReader(src, 0, src.Size()))
	if err != nil {
		return nil, err
	}
	top, err := openMessage(raw)
	if err != nil {
		return nil, &ades.MalformedError{Format: "MIME", Err: err}
	}
	if isOpaque(top.Type) {
		cms, err := top.Decode()
		if err != nil {
			return nil, &ades.MalformedError{Format: "MIME", Err: err}
		}
		doc, err := Read(ctx, bytes.NewReader(cms), r)
		if err == nil {
			ambiguous(doc, top.Ambiguous)
		}
		return doc, err
	}
	m, err := message.Parse(top.Raw)
	if err != nil {
		return nil, &ades.MalformedError{Format: "MIME", Err: err}
	}
	m.Ambiguous = cmp.Or(m.Ambiguous, top.Ambiguous)
	if len(m.Parts) != 2 || !isSignature(m.Parts[1].Type) {
		return nil, finding.MIMEParts.Malformed("MIME", "multipart/signed", len(m.Parts))
	}
	certified, why := pec.Read(m.Parts[0].Raw)
	switch {
	case errors.Is(why, pec.ErrNone):
		why = nil
	case why != nil:
		why = finding.PECUnreadable.New(why)
	default:
		why = pec.Differs(top, certified)
	}
	m.Ambiguous = cmp.Or(m.Ambiguous, why)
	signature, err := m.Parts[1].Decode()
	if err != nil {
		why := finding.Of("signature", &ades.MalformedError{Format: "MIME", Where: "signature", Err: err})
		return &ades.Document{Format: ades.PKCS7, PEC: certified, Signatures: []*ades.Signature{{
			ID: "unreadable", Format: ades.PKCS7, Problems: []ades.Problem{why},
		}}}, nil
	}
	var doc *ades.Document
	// The canonical form is signed; programs that sign in binary keep the line breaks. The digest
	// decides which it was.
	for _, content := range [][]byte{message.Canonical(m.Parts[0].Raw), m.Parts[0].Raw} {
		with := r
		with.Detached = append([]ades.File{{Source: bytes.NewReader(content)}}, r.Detached...)
		var carries bool
		if doc, carries, err = readFile(ctx, bytes.NewReader(signature), with); err != nil {
			return nil, err
		}
		if carries {
			ambiguous(doc, finding.MIMEOwnContent.New())
		}
		if len(doc.Parts) > 0 && len(doc.Parts[0].CoveredBy) > 0 {
			doc.Content = with.Detached[:1]
			break
		}
	}
	ambiguous(doc, m.Ambiguous)
	doc.PEC = certified
	return doc, nil
}

// ambiguous adds a fatal problem to a document that readers may interpret in two ways, unless why
// is nil.
func ambiguous(doc *ades.Document, why error) {
	if why == nil {
		return
	}
	p := finding.Of("", why)
	doc.Problems = append(doc.Problems, p)
	for _, s := range doc.Signatures {
		s.Problems = append(s.Problems, p)
	}
}
