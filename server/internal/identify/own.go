package identify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"

	"rogito.dev/rogito"
	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pdf"
)

// statementMark begins the line by which statements are known again, those of
// other servers too: a service that signs for callers must sign none, or a signing call
// would be evidence of who its holder is. The nonce follows in hex.
const statementMark = "rogito-statement-"

const markedLength = len(statementMark) + 32

// marked says that a text has the mark of a statement in it.
func marked(text []byte) bool {
	for {
		at := bytes.Index(text, []byte(statementMark))
		if at < 0 || len(text) < at+markedLength {
			return false
		}
		if _, err := hex.DecodeString(string(text[at+len(statementMark) : at+markedLength])); err == nil {
			return true
		}
		text = text[at+1:]
	}
}

// maxSigned is more than any signed statement has that an identification takes.
const maxSigned = 16 << 20

// IsStatement says that a document is an identification statement, has one in it
// or is signed over one: as its bytes, as what it carries, or rewritten.
func IsStatement(ctx context.Context, src ades.Source) (bool, error) {
	if yes, err := markedIn(src); yes || err != nil {
		return yes, err
	}
	if src.Size() > maxSigned {
		return false, nil
	}
	switch rogito.Detect(src) {
	case rogito.KindPDF:
		return markedPDF(ctx, src), nil
	case rogito.KindCMS, rogito.KindXML:
		doc, err := rogito.Read(ctx, src, ades.ReadOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // what cannot be read is judged where it is signed
		}
		for _, s := range doc.Signatures {
			for _, f := range s.Content {
				if f.Source == nil || f.Source == src {
					continue
				}
				if yes, err := markedIn(f.Source); yes || err != nil {
					return yes, err
				}
				if rogito.Detect(f.Source) == rogito.KindPDF && markedPDF(ctx, f.Source) {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// markedIn looks through all bytes.
func markedIn(src ades.Source) (bool, error) {
	buf := make([]byte, 8<<10)
	kept := 0
	for off := int64(0); off < src.Size(); {
		n, err := src.ReadAt(buf[kept:min(int64(len(buf)), int64(kept)+src.Size()-off)], off)
		if n == 0 && err != nil {
			return false, err
		}
		off += int64(n)
		have := buf[:kept+n]
		if marked(have) {
			return true, nil
		}
		kept = copy(buf, have[max(0, len(have)-markedLength+1):])
	}
	return false, nil
}

// A statement that was rewritten, with its text compressed, has it on one of
// so many pages, in streams of at most so many bytes, and is no larger than this.
const (
	markedPages  = 4
	markedStream = 256 << 10
	markedSize   = 1 << 20
)

// markedPDF looks into the text of the first pages.
func markedPDF(ctx context.Context, src ades.Source) bool {
	if src.Size() > markedSize {
		return false
	}
	doc, err := pdf.Open(src, pdf.Options{Context: ctx})
	if err != nil {
		return false
	}
	for i := range markedPages {
		page, err := doc.Page(i)
		if err != nil {
			return false
		}
		contents := pdf.Array{page.Dict.Get("Contents")}
		if list, err := doc.Array(contents[0]); err == nil && list != nil {
			contents = list[:min(len(list), markedPages)]
		}
		for _, c := range contents {
			o, err := doc.Resolve(c)
			stream, ok := o.(*pdf.Stream)
			if err != nil || !ok {
				continue
			}
			if data, err := doc.Data(stream); err == nil && marked(data[:min(len(data), markedStream)]) {
				return true
			}
		}
	}
	return false
}

// Digests are the names by which a document is signed unread: its digests of
// every length that a call may bring.
func Digests(b []byte) [][]byte {
	d256, d384, d512 := sha256.Sum256(b), sha512.Sum384(b), sha512.Sum512(b)
	return [][]byte{d256[:], d384[:], d512[:]}
}
