package asic

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"

	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/visible"
)

// cp437 decodes a name without the UTF-8 flag as specified in APPNOTE.TXT D.1.
func cp437(name string) string {
	out, err := charmap.CodePage437.NewDecoder().String(name)
	if err != nil {
		return name
	}
	return out
}

// legible is the name of an entry as text. If it is not UTF-8, it is decoded by APPNOTE.TXT; if it
// is flagged as UTF-8, its bytes are escaped.
func legible(name string, marked bool) string {
	switch {
	case utf8.ValidString(name):
		return name
	case !marked:
		return cp437(name)
	}
	return visible.Line(name)
}

// Bounds on names: longer ones cannot be unpacked on common systems.
const (
	maxName    = 1024
	maxFolders = 64
)

// leadsOutside returns why a name would be unpacked to somewhere other than the entry's place in
// the container, or nil.
func leadsOutside(name string) error {
	segments := strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' })
	switch {
	case name == "":
		return finding.ZIPNameEmpty.New()
	case len(name) > maxName || len(segments) > maxFolders:
		return finding.ZIPNameTooLong.New()
	case strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return finding.ZIPNameControl.New()
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }):
		return finding.ZIPNameBidi.New()
	case strings.HasPrefix(name, "/") || strings.HasPrefix(name, "\\"):
		return finding.ZIPNameAbsolute.New()
	case len(name) > 1 && name[1] == ':' && unicode.IsLetter(rune(name[0])):
		return finding.ZIPNameAbsolute.New()
	case slices.Contains(segments, ".."):
		return finding.ZIPNameLeadsOut.New()
	}
	return nil
}

// keys are forms of a name that file systems may treat as equal: regardless of case, Unicode normal
// form, separator, "." segments, trailing dots and spaces, and anything after a colon. Names
// without the UTF-8 flag have two readings.
func keys(name string, marked bool) []string {
	readings := []string{name}
	if !marked && !ascii(name) {
		readings = append(readings, cp437(name))
	}
	var out []string
	for _, n := range readings {
		if !utf8.ValidString(n) {
			out = append(out, n)
			continue
		}
		n, _, _ = strings.Cut(n, "\x00")
		n = path.Clean("/" + strings.ReplaceAll(n, "\\", "/"))
		segments := strings.Split(n, "/")
		for i, s := range segments {
			s, _, _ = strings.Cut(s, ":")
			segments[i] = strings.TrimRight(s, ". ")
		}
		n = strings.Join(segments, "/")
		out = append(out, norm.NFC.String(cases.Fold().String(norm.NFD.String(n))))
	}
	return out
}

// collisions returns names that are the same file, or file and folder at once, on some file system,
// with the other name. Byte-identical names are left to the caller.
func collisions(entries []*entry) map[string]string {
	out := map[string]string{}
	owner := map[string]*entry{}
	all := make([][]string, len(entries))
	for i, e := range entries {
		if len(e.name) > maxName {
			continue
		}
		all[i] = keys(e.name, e.marked)
		for _, k := range all[i] {
			other := owner[k]
			if other != nil && other.name != e.name && (other.role != roleFolder || e.role != roleFolder) {
				out[e.name] = other.name
			}
			if other == nil {
				owner[k] = e
			}
		}
	}
	for i, e := range entries {
		for _, k := range all[i] {
			for at := strings.LastIndexByte(k, '/'); at > 0; at = strings.LastIndexByte(k[:at], '/') {
				if other := owner[k[:at]]; other != nil && other.role != roleFolder {
					out[e.name] = other.name
				}
			}
		}
	}
	return out
}
