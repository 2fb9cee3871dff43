package enrol

import (
	"bytes"
	"net/http"
	"strings"
)

// sniffed bytes of an upload are looked at.
const sniffed = 4096

// acceptable says whether an upload may be what its field asks for, by its
// content: whatever name and type it was given, an operator will open it. What a
// program would run or a browser show as a page is refused, and so is what is
// known to be something else. What is not known is kept as .bin, which nothing
// opens by itself.
func acceptable(field string, head []byte) bool {
	film, paper := isFilm(head), isPicture(head) || bytes.HasPrefix(head, []byte("%PDF-"))
	switch {
	case active(head):
		return false
	case field == "video":
		return !paper
	}
	return !film
}

// isFilm knows what telephones and browsers record: ISO base media (MP4,
// QuickTime, 3GPP), Matroska and WebM, AVI, Ogg, MPEG.
func isFilm(head []byte) bool {
	for _, magic := range []string{"\x1a\x45\xdf\xa3", "OggS", "\x00\x00\x01\xba", "\x00\x00\x01\xb3"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	return brand(head) != "" && !isHEIF(head) || len(head) > 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "AVI "
}

// brand is that of a file of the ISO base media format (ISO/IEC 14496-12, 4.3).
// Old QuickTime files begin with another box.
func brand(head []byte) string {
	if len(head) < 12 || head[0] != 0 {
		return ""
	}
	switch string(head[4:8]) {
	case "ftyp":
		return string(head[8:12])
	case "moov", "mdat", "wide", "free", "skip":
		return "qt  "
	}
	return ""
}

func isHEIF(head []byte) bool {
	switch brand(head) {
	case "heic", "heix", "heif", "hevc", "hevx", "mif1", "msf1", "avif":
		return true
	}
	return false
}

func isPicture(head []byte) bool {
	switch http.DetectContentType(head) {
	case "image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp":
		return true
	}
	return isHEIF(head) || bytes.HasPrefix(head, []byte("II*\x00")) || bytes.HasPrefix(head, []byte("MM\x00*"))
}

// active recognises what a program would run, or a browser show as a page,
// however it is written: with a byte order mark, in UTF-16, behind blanks and
// comments.
func active(head []byte) bool {
	if isFilm(head) || isPicture(head) {
		return false // whatever is in it: it is kept under the name of what it is
	}
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		head = bytes.TrimPrefix(head, []byte(mark))
	}
	text := strings.TrimLeft(strings.ToLower(string(bytes.ReplaceAll(head, []byte{0}, nil))), " \t\r\n\f\v")
	for _, start := range []string{"<", "mz", "\x7felf", "#!", "pk\x03\x04", "\xca\xfe\xba\xbe", "{\\rtf", "[internetshortcut]", "fws", "cws"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	for _, mark := range []string{"<script", "<html", "<svg", "<!doctype", "<?xml", "<body", "<iframe", "<img", "<object", "<embed", "<meta", "<a ", "javascript:", "mime-version:"} {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// extension is the one that a file is kept under: that of its content, never of
// its name.
func extension(head []byte) string {
	switch {
	case isHEIF(head):
		return ".heic"
	case bytes.HasPrefix(head, []byte("\x1a\x45\xdf\xa3")):
		return ".webm"
	case bytes.HasPrefix(head, []byte("RIFF")) && isFilm(head):
		return ".avi"
	case bytes.HasPrefix(head, []byte("OggS")):
		return ".ogv"
	case isFilm(head):
		return ".mp4"
	case bytes.HasPrefix(head, []byte("%PDF-")):
		return ".pdf"
	}
	if kind, ok := strings.CutPrefix(http.DetectContentType(head), "image/"); ok && isPicture(head) {
		return "." + kind
	}
	return ".bin"
}
