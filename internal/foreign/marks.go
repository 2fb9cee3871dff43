package foreign

import (
	"bytes"
	"encoding/binary"
	"iter"
	"regexp"
	"slices"
	"strings"
)

// In what nobody signed, another document must not begin: under another file name, a program that
// searches for the end of an archive, for markup or for its own mark would show it.

// mark is what another format begins with, or what its readers search for. Short marks need
// matching data behind them, since compressed data may contain any four bytes.
type mark struct {
	what, begins string
	fits         func(b []byte) bool // nil: the mark is sufficient
}

// Pictures are not included: visible signatures contain them.
var marks = []mark{
	{"PDF", "%PDF-", func(b []byte) bool { return b[5] >= '0' && b[5] <= '9' }},
	{"FDF", "%FDF-", func(b []byte) bool { return b[5] >= '0' && b[5] <= '9' }},
	{"PostScript", "%!PS-Adobe-", nil},
	{"ZIP", "PK\x05\x06\x00\x00\x00\x00", nil}, // the end of the directory: one disk only
	{"ZIP", "PK\x03\x04", func(b []byte) bool { return zipped(b) }},
	{"ZIP", "PK\x01\x02", func(b []byte) bool { return zipped(b[2:]) }},
	{"RAR", "Rar!\x1a\x07", nil},
	{"7z", "7z\xbc\xaf\x27\x1c", nil},
	{"CAB", "MSCF\x00\x00\x00\x00", nil},
	{"xz", "\xfd7zXZ\x00", nil},
	{"bzip2", "BZh", func(b []byte) bool { return bytes.HasPrefix(b[4:], []byte("1AY&SY")) }},
	{"gzip", "\x1f\x8b\x08", func(b []byte) bool { return b[3] < 0x20 && b[8] <= 4 && b[8]&1 == 0 && (b[9] < 14 || b[9] == 255) }},
	{"tar", "ustar\x0000", nil},
	{"tar", "ustar  \x00", nil},
	{"ISO 9660", "\x01CD001\x01", nil},
	{"RTF", `{\rtf1`, nil},
	{"DMG", "koly\x00\x00\x00\x04\x00\x00\x02\x00", nil}, // read from its end, like the next
	{"VHD", "conectix\x00\x00\x00", nil},
	{"OLE", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", nil},
	{"DjVu", "AT&TFORM", nil},
	{"MIME", "MIME-Version:", nil},
	{"ELF", "\x7fELF", func(b []byte) bool { return b[4]-1 < 2 && b[5]-1 < 2 && b[6] == 1 }},
	{"Mach-O", "\xcf\xfa\xed\xfe", func(b []byte) bool { return b[5] == 0 && b[6] == 0 && b[7] == 1 }},
	{"PE", "MZ", func(b []byte) bool { return executable(b) }},
}

// marksBy are the marks by their first byte.
var marksBy = func() (out [256][]mark) {
	for _, m := range marks {
		out[m.begins[0]] = append(out[m.begins[0]], m)
	}
	return out
}()

// begin are the bytes that marks and tags begin with, and those before an attribute.
var begin = func() (out [256]bool) {
	for i, some := range marksBy {
		out[i] = some != nil
	}
	for _, c := range "< \t\n\f\r/\"'" {
		out[c] = true
	}
	return out
}()

// Sight is how many bytes behind a mark are examined.
const Sight = 1024

// Documents yields where other documents begin in the first n bytes of b, and of what format they
// are. Sight bytes follow those n; zeros match nothing.
func Documents(b []byte, n int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i := range n {
			if !begin[b[i]] {
				continue
			}
			if what := markOf(b[i:]); what != "" && !yield(i, what) {
				return
			}
		}
	}
}

// InBinary is In for the unsigned parts of a binary file, where the marks of all formats count.
func InBinary(b string) bool {
	window := make([]byte, len(b)+Sight)
	copy(window, b)
	for range Documents(window, len(b)) {
		return true
	}
	return In(b)
}

// markOf names the format that b begins with, or returns "". b must be long enough.
func markOf(b []byte) string {
	switch b[0] {
	case '<':
		if markup(b) {
			return "HTML"
		}
		return ""
	case ' ', '\t', '\n', '\f', '\r', '/', '"', '\'':
		if styleOrHandler(b[1:]) {
			return "HTML"
		}
		return ""
	}
	for _, m := range marksBy[b[0]] {
		if bytes.HasPrefix(b, []byte(m.begins)) && (m.fits == nil || m.fits(b)) {
			return m.what
		}
	}
	return ""
}

var tag = regexp.MustCompile(`^<(!doctype|[A-Za-z][A-Za-z0-9]{0,9})[\s/>]`)

// handlers are the event names that follow "on" in attributes.
var handlers = strings.Fields("abort activate afterprint animationcancel animationend animationiteration animationstart auxclick beforecopy beforecut" +
	" beforeinput beforematch beforepaste beforeprint beforetoggle beforeunload begin blur bounce cancel canplay canplaythrough change click close" +
	" command contentvisibilityautostatechange contextlost contextmenu contextrestored copy cuechange cut dblclick drag dragend dragenter dragexit" +
	" dragleave dragover dragstart drop durationchange emptied end ended error finish focus focusin focusout formdata fullscreenchange fullscreenerror" +
	" gotpointercapture hashchange input invalid keydown keypress keyup languagechange load loadeddata loadedmetadata loadstart lostpointercapture" +
	" message messageerror mousedown mouseenter mouseleave mousemove mouseout mouseover mouseup mousewheel offline online pagehide pagereveal pageshow" +
	" pageswap paste pause play playing pointercancel pointerdown pointerenter pointerleave pointermove pointerout pointerover pointerrawupdate" +
	" pointerup popstate progress ratechange rejectionhandled repeat reset resize scroll scrollend scrollsnapchange scrollsnapchanging search" +
	" securitypolicyviolation seeked seeking select selectionchange selectstart show slotchange stalled start storage submit suspend timeupdate" +
	" toggle touchcancel touchend touchmove touchstart transitioncancel transitionend transitionrun transitionstart unhandledrejection unload" +
	" volumechange waiting webkitanimationend webkitanimationiteration webkitanimationstart webkittransitionend wheel")

// styleOrHandler reports whether b begins with an attribute that sets style or runs a script. Its
// tag may have begun anywhere before: quotes and control characters hide it from a search, but not
// from browsers.
func styleOrHandler(b []byte) bool {
	if c := b[0] | 0x20; c != 's' && c != 'o' {
		return false
	}
	n := 0
	for n < 64 && (b[n]|0x20) >= 'a' && (b[n]|0x20) <= 'z' {
		n++
	}
	name := strings.ToLower(string(b[:n]))
	event, on := strings.CutPrefix(name, "on")
	if name != "style" && !(on && slices.Contains(handlers, event)) {
		return false
	}
	rest := bytes.TrimLeft(b[n:], " \t\n\f\r")
	return len(rest) == 0 || rest[0] == '='
}

// distinctTags are element names that do not occur in other text.
var distinctTags = strings.Fields("!doctype html head body script style iframe frame img svg div object embed meta link base form table")

// commonTags are element names so short or common that data may contain them: text must follow.
var commonTags = strings.Fields("p i q s u h1 h2 h3 h4 h5 h6 hr br td tr th ul ol li dl dt em tt pre span font center big small sub sup strong" +
	" title textarea input button select option label video audio source canvas math marquee blink section article main nav header footer" +
	" details summary dialog template noscript plaintext xmp frameset map area picture ins del code kbd samp var cite abbr address blockquote")

// markup reports whether an element begins here for a browser that takes the file for HTML. Names
// that are hexadecimal strings in a PDF are ignored.
func markup(b []byte) bool {
	if c := b[1] | 0x20; (c < 'a' || c > 'z') && b[1] != '!' {
		return false
	}
	m := tag.FindSubmatch(b)
	if m == nil {
		return false
	}
	name := strings.ToLower(string(m[1]))
	if slices.Contains(distinctTags, name) {
		return true
	}
	if isCoincidence(b, name) {
		return false
	}
	text := func(c byte) bool { return c >= ' ' && c < 0x7f || c == '\n' || c == '\r' || c == '\t' }
	return slices.Contains(commonTags, name) && !slices.ContainsFunc(b[:len(m[0])+12], func(c byte) bool { return !text(c) })
}

// endOfStream is what follows stream data, and the byte that ends a name.
var endOfStream = regexp.MustCompile(`^[\s/>]?(\r\n|\r|\n)endstream\s+endobj\s`)

// isCoincidence reports whether a tag may be the last bytes of a certificate or list: one signature
// in thousands ends in something like "<p". A forger who uses this gets an element with a name of
// one or two letters, which neither hides nor enlarges anything.
func isCoincidence(b []byte, name string) bool {
	return len(name) <= 2 && !strings.ContainsAny(name, "123456") && endOfStream.Match(b[1+len(name):])
}

// zipped reports whether version and method in a ZIP header are plausible.
func zipped(b []byte) bool {
	return binary.LittleEndian.Uint16(b[4:])&0xff < 64 && binary.LittleEndian.Uint16(b[8:]) < 100
}

// executable reports whether the PE header of a Windows executable is where the DOS header says.
func executable(b []byte) bool {
	at := binary.LittleEndian.Uint32(b[60:])
	return at >= 64 && at < Sight-4 && bytes.HasPrefix(b[at:], []byte("PE\x00\x00"))
}
