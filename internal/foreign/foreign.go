// Package foreign finds the beginnings of other documents in unsigned bytes. A file that one
// program reads as a signature and another as a PDF, an archive or a page would show content that
// was never signed: PDF readers, unpackers and browsers all search a file for their mark.
package foreign

import (
	"bytes"
	"iter"

	"rogito.dev/rogito/ades"
)

// longest is more than the length of the longest mark with comments.
const longest = 4096

// In reports whether unsigned bytes contain such a beginning.
func In(b []byte) bool {
	return PDFIn(b) || bytes.Contains(b, []byte("PK\x03\x04")) || bytes.Contains(b, []byte("PK\x05\x06")) || html(b)
}

// Marks returns the places by which readers find a PDF, or more of one, within a file. Besides the
// header these are startxref, by which some open a file without header, and the beginnings of
// objects, which readers that rebuild a file add to those found elsewhere.
func Marks(b []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		words := [...]string{"%PDF-", "startxref", "obj"}
		next := [len(words)]int{} // next position of each
		find := func(i, from int) {
			for next[i] = len(b); from < len(b); from++ {
				at := bytes.Index(b[from:], []byte(words[i]))
				if at < 0 {
					return
				}
				if from += at; i < 2 || object(b[:from]) {
					next[i] = from
					return
				}
			}
		}
		for i := range words {
			find(i, 0)
		}
		for {
			first := 0
			for i := range next {
				if next[i] < next[first] {
					first = i
				}
			}
			at := next[first]
			if at == len(b) || !yield(at) {
				return
			}
			find(first, at+1)
		}
	}
}

// object reports whether text ends in two numbers, as before the word obj.
func object(b []byte) bool {
	tries := 64
	return numbers(b, 2, &tries)
}

// numbers reports whether text ends in n numbers, with white space and comments after each. It is
// true if that takes too many tries.
func numbers(b []byte, n int, tries *int) bool {
	if *tries--; *tries < 0 {
		return true
	}
	cut := bytes.TrimRight(b, "\x00\t\n\f\r ")
	if bytes.ContainsAny(b[len(cut):], "\r\n") { // a comment may end here
		line := cut[bytes.LastIndexAny(cut, "\r\n")+1:]
		for {
			i := bytes.LastIndexByte(line, '%')
			if i < 0 {
				break
			}
			line = line[:i]
			if numbers(cut[:bytes.LastIndexAny(cut, "\r\n")+1+i], n, tries) {
				return true
			}
		}
	}
	b = bytes.TrimRight(cut, "0123456789")
	if len(b) == len(cut) {
		return false
	}
	b = bytes.TrimRight(b, "+-")
	return n == 1 || numbers(b, n-1, tries)
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

// PDFIn is In for text formats and single files: only a PDF may begin anywhere.
func PDFIn(b []byte) bool {
	for range Marks(b) {
		return true
	}
	return false
}

// Span is a part of a file.
type Span struct{ Start, End int64 }

// Outside applies look (In or PDFIn) to everything but the covered spans, which are in order. It
// reads a window at a time.
func Outside(src ades.Source, covered []Span, look func([]byte) bool) bool {
	const window = 256 << 10
	// Between pieces of one content there are only their headers.
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
				if look(buf[:k]) {
					return true
				}
				at += n
			}
		}
		at = max(at, c.End)
	}
	return false
}
