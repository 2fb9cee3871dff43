package jades

import (
	"strconv"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/finding"
	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/pkix"
)

// component is one element of etsiU.
type component struct {
	name    string
	value   *jsontree.Value
	written []byte // its base64url; nil if it is in clear
	path    string
}

// readUnsigned reads etsiU: a list of components, either all in base64url or all in clear (TS 119
// 182-1, 5.3.1).
func (s *sigReader) readUnsigned() {
	list := s.jws.header.Get("etsiU")
	if list == nil {
		return
	}
	if why := s.readComponents(list); why != "" {
		s.problem(finding.JAdESUnsigned, "header/etsiU", why)
		s.etsi = nil
		return
	}
	for _, c := range s.etsi {
		s.count(c.name, false)
	}
}

func (s *sigReader) readComponents(list *jsontree.Value) (why string) {
	if !list.Is(jsontree.Array) || len(list.Items) == 0 || len(list.Items) > limits.JWSComponents {
		return "no list, an empty one, or one that is too long"
	}
	s.clear = list.Items[0].Is(jsontree.Object)
	for i, item := range list.Items {
		c := &component{path: s.where("header/etsiU/" + strconv.Itoa(i))}
		object := item
		if !s.clear {
			var ok bool
			if c.written, ok = item.Bytes(); !ok {
				return "a component of another form"
			}
			text, ok := base64url(c.written)
			if !ok {
				return "a component that is not base64url"
			}
			var err error
			if object, err = jsontree.Parse(text); err != nil {
				return err.Error()
			}
		}
		if !object.Is(jsontree.Object) || len(object.Members) != 1 {
			return "a component that is no object with one member"
		}
		c.name, c.value = object.Members[0].Name, object.Members[0].Value
		s.etsi = append(s.etsi, c)
	}
	return ""
}

// pkiObject is the value of a pkiOb or a tstToken, in base64.
func pkiObject(v *jsontree.Value) ([]byte, bool) {
	text, ok := v.Get("val").Text()
	if !ok {
		return nil, false
	}
	return base64std(text)
}

// evidence is the validation data in a component.
func (c *component) evidence() []ades.Evidence {
	switch c.name {
	case "xVals", "axVals":
		return c.certificates(c.value)
	case "rVals", "arVals":
		return c.revocation(c.value)
	case "tstVD", "anyValData":
		return append(c.certificates(c.value.Get("xVals")), c.revocation(c.value.Get("rVals"))...)
	}
	return nil
}

func (c *component) certificates(v *jsontree.Value) []ades.Evidence {
	var out []ades.Evidence
	for _, item := range v.List() {
		if raw, ok := pkiObject(item.Get("x509Cert")); ok {
			out = append(out, ades.Evidence{Kind: ades.EvidenceCertificate, Origin: c.name, Raw: raw})
		}
	}
	return out
}

func (c *component) revocation(v *jsontree.Value) []ades.Evidence {
	var out []ades.Evidence
	for _, item := range v.Get("crlVals").List() {
		if raw, ok := pkiObject(item); ok {
			out = append(out, ades.Evidence{Kind: ades.EvidenceCRL, Origin: c.name, Raw: raw})
		}
	}
	for _, item := range v.Get("ocspVals").List() {
		raw, ok := pkiObject(item)
		if !ok {
			continue
		}
		if o, err := pkix.ParseOCSPResponse(raw); err == nil {
			raw = o.Raw // whole: some have only the basic response
		}
		out = append(out, ades.Evidence{Kind: ades.EvidenceOCSP, Origin: c.name, Raw: raw})
	}
	return out
}

// originHeader is where x5c stands.
const originHeader = "x5c"

// carriedCertificates gathers the certificates and revocation data in the signature.
func (s *sigReader) carriedCertificates() {
	x5c := s.head.Get("x5c")
	where := "protected"
	if x5c == nil {
		x5c, where = s.jws.header.Get("x5c"), "header"
	}
	if x5c != nil {
		list, ok := x5c.Texts()
		for _, text := range list {
			var raw []byte
			if raw, ok = base64std(text); !ok { // not base64url: RFC 7515, 4.1.6
				break
			}
			s.addEvidence(ades.Evidence{Kind: ades.EvidenceCertificate, Origin: originHeader, Raw: raw})
		}
		if !ok || len(list) == 0 {
			s.problem(finding.JWSHeaderForm, where, "x5c")
		}
	}
	for _, c := range s.etsi {
		for _, e := range c.evidence() {
			s.addEvidence(e)
		}
	}
	seen := map[string]bool{}
	for _, e := range s.sig.Evidence {
		if e.Kind != ades.EvidenceCertificate || seen[string(e.Raw)] {
			continue
		}
		seen[string(e.Raw)] = true
		c, err := pkix.ParseCertificate(e.Raw)
		if err != nil {
			s.problem(finding.JWSCertUnreadable, where, e.Origin, err)
			continue
		}
		s.certs = append(s.certs, c)
		if e.Origin == originHeader { // these come first
			s.inHeader++
		}
	}
}

func (s *sigReader) addEvidence(e ades.Evidence) {
	if len(s.sig.Evidence) < limits.JWSEvidence {
		s.sig.Evidence = append(s.sig.Evidence, e)
	}
}

// counterSignatures reads cSig: a signature in the compact or the flattened form.
func (s *sigReader) counterSignatures() {
	for _, c := range s.etsi {
		if c.name != "cSig" {
			continue
		}
		if s.depth+1 >= limits.CounterSignatures {
			s.problem(finding.JAdESTooDeep, "header/etsiU")
			return
		}
		text, compact := c.value.Bytes()
		var f *file
		var err error
		if compact {
			f, err = parseCompact(text)
		} else if f, err = parseJSON(c.value.Written(), c.value); err == nil && (f.form != Flattened || len(f.extra) > 0) {
			err = finding.JWSUnreadable.Malformed("JWS", c.path, "one signature in the flattened form is wanted")
		}
		if err != nil {
			broken := &ades.Signature{ID: s.name(c.value.Written()), Format: ades.JAdES, Path: c.path, Problems: []ades.Problem{finding.Of(c.path, err)}}
			s.sig.CounterSignatures = append(s.sig.CounterSignatures, broken)
			continue
		}
		f.sigs[0].path = c.path + "/cSig"
		counter := s.signature(f, f.sigs[0], s, s.depth+1)
		s.sig.CounterSignatures = append(s.sig.CounterSignatures, counter.sig)
	}
}
