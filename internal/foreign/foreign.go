// Package foreign looks for the beginnings of other documents in bytes that
// nobody signed. A file that is a signature to one program and a PDF, an
// archive or a page to another shows its reader what was never signed: PDF
// readers, unpackers and browsers all look for their mark within a file.
package foreign

import (
	"bytes"

	"rogito.dev/rogito/ades"
)

// Text is what is said of a file that holds such a beginning.
const Text = "bytes that nobody signed hold the beginning of another document"

// PDF is the mark by which readers find a PDF within a file.
const PDF = "%PDF-"

// longest is the length of the longest mark.
const longest = len("<!doctype html")

// In says what is wrong with bytes that nobody signed, or "".
func In(b []byte) string {
	if bytes.Contains(b, []byte(PDF)) || bytes.Contains(b, []byte("PK\x03\x04")) || bytes.Contains(b, []byte("PK\x05\x06")) || html(b) {
		return Text
	}
	return ""
}

// html finds the beginning of a page, whatever its case.
func html(b []byte) bool {
	for {
		i := bytes.IndexByte(b, '<')
		if i < 0 {
			return false
		}
		b = b[i:]
		for _, mark := range []string{"<html", "<!doctype html"} {
			if len(b) >= len(mark) && bytes.EqualFold(b[:len(mark)], []byte(mark)) {
				return true
			}
		}
		b = b[1:]
	}
}

// PDFIn is In for formats of text and of files: only a PDF begins anywhere.
func PDFIn(b []byte) string {
	if bytes.Contains(b, []byte(PDF)) {
		return Text
	}
	return ""
}

// Span is a part of a file.
type Span struct{ Start, End int64 }

// Outside looks with In or PDFIn at everything but the covered spans, which
// are in order. It reads a window at a time.
func Outside(src ades.Source, covered []Span, look func([]byte) string) string {
	const window = 256 << 10
	// Between the pieces of one content are only their headers.
	const header = 16
	var buf []byte
	at := int64(0)
	for _, c := range append(covered[:len(covered):len(covered)], Span{src.Size(), src.Size()}) {
		if c.Start-at >= header || c.Start == src.Size() {
			for at < c.Start {
				// A mark may begin in one window and end in the next.
				n := min(window, c.Start-at)
				with := min(n+int64(longest)-1, c.Start-at)
				if int64(cap(buf)) < with {
					buf = make([]byte, with)
				}
				k, _ := src.ReadAt(buf[:with], at)
				if why := look(buf[:k]); why != "" {
					return why
				}
				at += n
			}
		}
		at = max(at, c.End)
	}
	return ""
}
