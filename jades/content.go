package jades

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
)

// Kinds of references.
const (
	payloadReference = "jws-payload" // under the signature value itself
	sigDReference    = "sigD"        // by a digest in the header
	counterReference = "counter-signed-value"
	bodyReference    = "http-body" // by the field digest
)

// readContent finds what is signed.
func (s *sigReader) readContent() {
	sigD := s.head.Get("sigD")
	switch {
	case s.parent != nil:
		s.counterContent()
	case s.in.carries && sigD != nil:
		s.problem(finding.JAdESSigD, "payload", "there is a payload as well")
	case s.in.carries:
		s.carriedContent()
	case sigD != nil:
		s.referredContent()
	case len(s.files) == 1:
		s.choose(s.files[0])
	default:
		s.either = s.files
		s.sig.References = []ades.Reference{{Kind: payloadReference, Found: len(s.files) > 0}}
	}
}

// signsContent sets the signed payload to one content.
func (s *sigReader) signsContent(f ades.File, write func(w *meteredWriter) error) {
	media, _ := s.head.Get("cty").Text()
	s.payload, s.octets, s.content = write, write, []ades.File{f}
	s.sig.References = []ades.Reference{{Kind: payloadReference, Name: f.Name, Found: true, MediaType: mediaType(media)}}
}

// mediaType expands cty, in which application/ may be omitted (RFC 7515, 4.1.10).
func mediaType(cty string) string {
	if cty != "" && !strings.Contains(cty, "/") {
		return "application/" + cty
	}
	return cty
}

// choose uses a given file as the content.
func (s *sigReader) choose(f ades.File) {
	s.signsContent(f, func(w *meteredWriter) error { return writeContent(w, f.Source, s.unencoded) })
}

// carriedContent is the payload in the file.
func (s *sigReader) carriedContent() {
	raw := s.in.payload
	content := raw
	if s.unencoded {
		if !utf8.Valid(raw) || s.in.form == Compact && bytes.ContainsFunc(raw, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
			s.problem(finding.JWSPayload, "payload", "RFC 7797, section 5")
			return
		}
	} else {
		if err := limits.BudgetOf(s.ctx).Spend(int64(len(raw))); err != nil {
			s.recordError(limits.ErrBudget)
			return
		}
		var ok bool
		if content, ok = base64url(raw); !ok {
			s.problem(finding.JWSBase64, "payload", "payload")
			return
		}
	}
	s.carried = true
	s.signsContent(ades.File{Source: bytes.NewReader(content)}, func(w *meteredWriter) error {
		_, err := w.Write(raw)
		return err
	})
}

// counterContent is the value of the counter-signed signature (TS 119 182-1, 5.3.2). A payload in
// the file must equal that value.
func (s *sigReader) counterContent() {
	value := s.parent.value
	fits := true
	if s.in.carries {
		carried, ok := s.in.payload, true
		if !s.unencoded {
			carried, ok = base64url(s.in.payload)
		}
		fits = ok && bytes.Equal(carried, value)
	}
	if s.head.Get("sigD") != nil || !fits {
		s.problem(finding.JAdESCounterOther, "payload")
	}
	raw := s.in.payload
	s.signsContent(ades.File{Source: bytes.NewReader(value)}, func(w *meteredWriter) error {
		if s.in.carries {
			_, err := w.Write(raw)
			return err
		}
		return writeContent(w, bytes.NewReader(value), s.unencoded)
	})
	s.content = nil
	s.sig.References = append(s.sig.References, ades.Reference{Kind: counterReference, Found: len(value) > 0, Intact: ades.TriOf(fits)})
}

// referred is a parsed sigD (TS 119 182-1, 5.2.8).
type referred struct {
	mechanism Mechanism
	pars      []string
	hash      string
	digests   []string
	types     []string
}

func (s *sigReader) sigD() (*referred, string) {
	v := s.head.Get("sigD")
	id, _ := v.Get("mId").Text()
	d := &referred{mechanism: Mechanism(slices.Index(mechanisms, id))}
	if d.mechanism < 0 {
		return nil, "the mechanism is not known"
	}
	var ok bool
	if d.pars, ok = v.Get("pars").Texts(); !ok || len(d.pars) == 0 || len(d.pars) > limits.JWSReferences {
		return nil, "pars is no list of names"
	}
	seen := map[string]bool{}
	for _, p := range d.pars {
		if seen[p] {
			return nil, "a name stands twice in pars"
		}
		seen[p] = true
	}
	if t := v.Get("ctys"); t != nil {
		if d.types, ok = t.Texts(); !ok || len(d.types) != len(d.pars) {
			return nil, "ctys is no list as long as pars"
		}
	}
	d.hash, _ = v.Get("hashM").Text()
	d.digests, ok = v.Get("hashV").Texts()
	if (d.mechanism == ByURIHash) != (ok && len(d.digests) == len(d.pars)) || (d.mechanism == ByURIHash) != (d.hash != "") {
		return nil, "hashM and hashV do not go with the mechanism"
	}
	return d, ""
}

// referredContent finds the contents of sigD among the given files.
func (s *sigReader) referredContent() {
	d, why := s.sigD()
	if d == nil {
		s.problem(finding.JAdESSigD, "protected", why)
		s.sig.References = []ades.Reference{{Kind: sigDReference}}
		return
	}
	switch d.mechanism {
	case ByURIHash:
		s.byHash(d)
	case ByURI:
		s.byName(d)
	case HTTPHeaders:
		s.httpHeaders(d)
	}
}

// named is the given file with a name, which may be percent-encoded; where none has it, one whose
// name differs in case. With one name and one file, the name is ignored.
func (s *sigReader) named(d *referred, par string) *ades.File {
	if len(d.pars) == 1 && len(s.files) == 1 {
		return &s.files[0]
	}
	decoded, err := url.PathUnescape(par)
	if err != nil {
		decoded = par
	}
	for _, same := range []func(a, b string) bool{func(a, b string) bool { return a == b }, strings.EqualFold} {
		for i := range s.files {
			if n := s.files[i].Name; same(n, par) || same(n, decoded) {
				return &s.files[i]
			}
		}
	}
	return nil
}

func (d *referred) reference(i int, kind string) ades.Reference {
	r := ades.Reference{Kind: kind, Name: d.pars[i], URI: d.pars[i]}
	if i < len(d.types) {
		r.MediaType = mediaType(d.types[i])
	}
	return r
}

// byName: the payload is the concatenation of all contents. The boundaries between them are not
// signed.
func (s *sigReader) byName(d *referred) {
	all := true
	for i, par := range d.pars {
		r := d.reference(i, payloadReference)
		if f := s.named(d, par); f != nil {
			r.Found, r.Name = true, f.Name
			s.content = append(s.content, *f)
		}
		all = all && r.Found
		s.sig.References = append(s.sig.References, r)
	}
	if len(d.pars) > 1 {
		p := finding.JAdESBorders.Problem(s.where("protected"))
		p.Doubt = true
		s.sig.Problems = append(s.sig.Problems, p)
	}
	if all {
		s.payload = s.writeAll
		s.octets = s.writeAll
	}
}

func (s *sigReader) writeAll(w *meteredWriter) error {
	for _, f := range s.content {
		if err := writeContent(w, f.Source, s.unencoded); err != nil {
			return err
		}
	}
	return nil
}

// byHash: the payload is empty, and the header has the digest of every content.
func (s *sigReader) byHash(d *referred) {
	s.payload = func(*meteredWriter) error { return nil }
	h, known := hashByName(d.hash)
	if !known {
		s.problem(finding.JAdESSigD, "protected", "the digest "+d.hash+" is not known")
	}
	digests := make([][]byte, len(s.files))
	for i, f := range s.files {
		if !known {
			break
		}
		sum := h.New()
		if err := writeContent(&meteredWriter{w: sum, s: s}, f.Source, s.unencoded); err != nil {
			s.recordError(err)
			return
		}
		digests[i] = sum.Sum(nil)
	}
	all := true
	for i, par := range d.pars {
		r := d.reference(i, sigDReference)
		r.Digest = d.hash
		if known {
			r.Digest = pkix.HashName(h)
		}
		var ok bool
		if r.Value, ok = base64url([]byte(d.digests[i])); !ok {
			s.problem(finding.JWSBase64, "protected", "hashV")
		}
		// The names are signed too: a file that has the name must be the content, and only where none
		// has it another one may be.
		f := s.named(d, par)
		at := -1
		for k, x := range digests {
			if x != nil && bytes.Equal(x, r.Value) && (f == nil || strings.EqualFold(f.Name, s.files[k].Name)) {
				at = k
				break
			}
		}
		switch {
		case at >= 0:
			r.Found, r.Intact, r.Name = true, ades.Yes, s.files[at].Name
			s.content = append(s.content, s.files[at])
		case f != nil:
			r.Found, r.Name = true, f.Name
			if known {
				r.Intact = ades.No
			}
		}
		all = all && r.Intact == ades.Yes
		s.sig.References = append(s.sig.References, r)
	}
	if all {
		s.octets = s.writeAll
	}
}

// httpHeaders: the payload is the fields of a message, one per line, as in
// draft-cavage-http-signatures.
func (s *sigReader) httpHeaders(d *referred) {
	if !s.unencoded { // TS 119 182-1, 5.1.10
		s.problem(finding.JAdESSigD, "protected", "HttpHeaders goes with b64 false only")
	}
	var lines [][]byte
	body := -1 // index of the line with its digest
	all := true
	for i, par := range d.pars {
		r := d.reference(i, payloadReference)
		value, found, err := field(s.files, par)
		if err != nil {
			s.recordError(err)
			return
		}
		if r.Found = found; found && par == "digest" {
			body = i
			s.checkBody(value)
		}
		all = all && found
		lines = append(lines, []byte(par+": "+value))
		s.sig.References = append(s.sig.References, r)
	}
	if !all {
		return
	}
	for _, f := range s.files {
		if slices.Contains(d.pars, strings.ToLower(f.Name)) {
			s.content = append(s.content, f)
		}
	}
	s.payload = func(w *meteredWriter) error { _, err := w.Write(bytes.Join(lines, []byte("\n"))); return err }
	s.octets = func(w *meteredWriter) error { // with the body instead of its digest
		for i, line := range lines {
			if i > 0 {
				if _, err := w.Write([]byte("\n")); err != nil {
					return err
				}
			}
			src := ades.Source(bytes.NewReader(line))
			if i == body {
				f := s.body()
				if f == nil {
					return errNoBody
				}
				src = f.Source
			}
			if err := writeContent(w, src, true); err != nil {
				return err
			}
		}
		return nil
	}
}

var errNoBody = errors.New("the body of the message is not given")

// body is the body of the message: the file without a name.
func (s *sigReader) body() *ades.File {
	for i := range s.files {
		if s.files[i].Name == "" {
			return &s.files[i]
		}
	}
	return nil
}

// checkBody compares the body with the field digest (RFC 3230).
func (s *sigReader) checkBody(value string) {
	r := ades.Reference{Kind: bodyReference}
	f := s.body()
	name, text, ok := strings.Cut(value, "=")
	h, known := map[string]string{"SHA-256": "S256", "SHA-384": "S384", "SHA-512": "S512"}[strings.ToUpper(name)]
	hash, _ := hashByName(h)
	want, err := base64.StdEncoding.Strict().DecodeString(text)
	if f != nil && ok && known && err == nil {
		sum := hash.New()
		if err := writeContent(&meteredWriter{w: sum, s: s}, f.Source, true); err != nil {
			s.recordError(err)
			return
		}
		r.Found, r.Digest, r.Value = true, pkix.HashName(hash), want
		r.Intact = ades.TriOf(bytes.Equal(sum.Sum(nil), want))
		s.content = append(s.content, *f)
	}
	s.sig.References = append(s.sig.References, r)
}

// field is the value of a message's field: values of one name are joined, and must not contain line
// breaks, which would start another field. None may be left out, since all count as signed.
func field(files []ades.File, name string) (value string, found bool, err error) {
	if name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, "\r\n: ") {
		return "", false, nil
	}
	var values []string
	for _, f := range files {
		if !strings.EqualFold(f.Name, name) {
			continue
		}
		if f.Source.Size() > maxField {
			return "", false, nil
		}
		b := make([]byte, f.Source.Size())
		if n, err := f.Source.ReadAt(b, 0); n < len(b) && err != io.EOF {
			return "", false, err
		}
		if bytes.ContainsAny(b, "\r\n") {
			return "", false, nil
		}
		values = append(values, strings.Trim(string(b), " \t"))
	}
	return strings.Join(values, ", "), len(values) > 0, nil
}

// maxField is the longest field of a message.
const maxField = 64 << 10
