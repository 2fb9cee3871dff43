// Package rogito signs documents and verifies signed ones, by the European
// standards for advanced electronic signatures: CAdES (EN 319 122), PAdES
// (EN 319 142), XAdES (EN 319 132), ASiC (EN 319 162), at the levels B, T, LT
// and LTA, validated by EN 319 102-1.
//
// [Sign] makes a signature with a key at hand. Where the key lives elsewhere,
// or a person stands between digest and value, [Prepare] and [Draft.Complete]
// are its two halves. [Augment] raises what is signed already. A [Verifier]
// verifies.
//
// The rooms behind this door can be used on their own: packages cades, pades,
// xades, asic and pkcs1 have the same verbs with every option of their format,
// tsp speaks to time-stamping authorities, trust gathers paths and revocation
// data, and adestest is a whole PKI for tests.
//
// Documents come in as [ades.Source] and go out to an io.Writer: a gigabyte
// never has to sit in memory.
package rogito

import (
	"bytes"
	"errors"
	"io"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/asic"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/message"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/tsp"
	"rogito.dev/rogito/xades"
)

// Document is what is to be signed: one file, or several for the formats that
// sign several at once.
type Document []ades.File

// File is a document of one file.
func File(name string, src ades.Source) Document {
	return Document{{Name: name, Source: src}}
}

// Kind is what a file is, by its content.
type Kind string

// The kinds of files that can carry signatures, and the others.
const (
	KindPDF             Kind = "PDF"
	KindXML             Kind = "XML"
	KindCMS             Kind = "CMS"             // DER, BER, PEM or base64
	KindTimestamp       Kind = "TST"             // a time-stamp token or response
	KindTimestampedData Kind = "TimeStampedData" // RFC 5544, or a MIME message with a token
	KindSMIME           Kind = "S/MIME"          // a signed message
	KindASiC            Kind = "ASiC"
	KindODF             Kind = "ODF"
	KindZIP             Kind = "ZIP" // and neither of the two above
	KindOther           Kind = ""
)

// Detect tells what a file is by its content; names and media types are not
// looked at, since they are often wrong.
func Detect(src ades.Source) Kind {
	head := make([]byte, min(src.Size(), 1024))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return KindOther
	}
	head = head[:n]
	switch {
	case cms.ContentType(src) != "": // before the PDF that it may hold
		return detectCMS(src)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return detectZIP(src) // whose first file may be a PDF in the open
	case bytes.Contains(head, []byte("%PDF-")):
		return KindPDF
	case message.Looks(head) && cades.IsSMIME(src):
		return KindSMIME
	case message.Looks(head):
		return KindTimestampedData
	case xades.LooksLikeXML(src):
		return KindXML
	}
	return detectCMS(src)
}

func detectZIP(src ades.Source) Kind {
	switch f, ok := asic.Detect(src); {
	case !ok:
		return KindZIP
	case f == ades.ODF:
		return KindODF
	}
	return KindASiC
}

func detectCMS(src ades.Source) Kind {
	bin, err := cms.Unarmour(src)
	if err != nil {
		return KindOther
	}
	switch cms.ContentType(bin) {
	case oid.SignedData:
		if sd, err := cms.Parse(bin); err == nil && sd.ContentType == oid.TSTInfo {
			return KindTimestamp
		}
		return KindCMS
	case oid.TimestampedData:
		return KindTimestampedData
	}
	if tsp.Extract(bin) != nil {
		return KindTimestamp
	}
	return KindOther
}
