// Package foreign finds the beginnings of other documents in unsigned strings. A file that one
// program reads as a signature and another as a PDF, an archive or a page would show content that
// was never signed: PDF readers, unpackers and browsers all search a file for their mark.
package foreign

import (
	"iter"
	"strings"

	"rogito.dev/rogito/ades"
)

// longest is more than the length of the longest mark with comments.
const longest = 4096

// In reports whether unsigned bytes contain such a beginning.
func In(b string) bool {
	return PDFIn(b) || strings.Contains(b, "PK\x03\x04") || strings.Contains(b, "PK\x05\x06") || html(b)
}

// Marks returns the places by which readers find a PDF, or more of one, within a file. Besides the
// header these are startxref, by which some open a file without header, and the beginnings of
// objects, which readers that rebuild a file add to those found elsewhere.
func Marks(b string) iter.Seq[int] {
	return func(yield func(int) bool) {
		words := [...]string{"%PDF-", "startxref", "obj"}
		next := [len(words)]int{} // next position of each
		find := func(i, from int) {
			for next[i] = len(b); from < len(b); from++ {
				at := strings.Index(b[from:], words[i])
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
func object(b string) bool {
	tries := 64
	return numbers(b, 2, &tries)
}

// numbers reports whether text ends in n numbers, with white space and comments after each. It is
// true if that takes too many tries.
func numbers(b string, n int, tries *int) bool {
	if *tries--; *tries < 0 {
		return true
	}
	cut := strings.TrimRight(b, "\x00\t\n\f\r ")
	if strings.ContainsAny(b[len(cut):], "\r\n") { // a comment may end here
		line := cut[strings.LastIndexAny(cut, "\r\n")+1:]
		for {
			i := strings.LastIndexByte(line, '%')
			if i < 0 {
				break
			}
			line = line[:i]
			if numbers(cut[:strings.LastIndexAny(cut, "\r\n")+1+i], n, tries) {
				return true
			}
		}
	}
	b = strings.TrimRight(cut, "0123456789")
	if len(b) == len(cut) {
		return false
	}
	b = strings.TrimRight(b, "+-")
	return n == 1 || numbers(b, n-1, tries)
}

// html finds the beginning of a page, whatever its case.
func html(b string) bool {
	for {
		i := strings.IndexByte(b, '<')
		if i < 0 {
			return false
		}
		b = b[i:]
		for _, mark := range []string{"<html", "<!doctype html"} {
			if len(b) >= len(mark) && strings.EqualFold(b[:len(mark)], mark) {
				return true
			}
		}
		b = b[1:]
	}
}

// PDFIn is In for text formats and single files: only a PDF may begin anywhere.
func PDFIn(b string) bool {
	for range Marks(b) {
		return true
	}
	return false
}

// Span is a part of a file.
type Span struct{ Start, End int64 }

// Outside applies look (In or PDFIn) to everything but the covered spans, which are in order. It
// reads a window at a time.
func Outside(src ades.Source, covered []Span, look func(string) bool) bool {
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
				if look(string(buf[:k])) {
					return true
				}
				at += n
			}
		}
		at = max(at, c.End)
	}
	return false
}
