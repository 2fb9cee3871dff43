package xmldsig

import (
	"strings"

	"rogito.dev/rogito/internal/xmldom"
)

// inherit finds the xml: attributes that an element inherits from excluded ancestors in inclusive
// canonicalisation. Version 1.0 inherits all of them, the nearest taking precedence; version 1.1
// inherits xml:lang and xml:space, never xml:id, and joins xml:base.
func (c *canonicalizer) inherit(n *xmldom.Node, into []xmldom.Attr) []xmldom.Attr {
	seen := map[string]bool{}
	for _, a := range n.Attrs() {
		if a.Name.Space == xmlSpace {
			seen[a.Name.Local] = true
		}
	}
	for up := n.Parent; up != nil; up = up.Parent {
		for _, a := range up.Attrs() {
			if a.Name.Space != xmlSpace || seen[a.Name.Local] {
				continue
			}
			if c.m.V11 && a.Name.Local != "lang" && a.Name.Local != "space" {
				continue
			}
			seen[a.Name.Local] = true
			into = append(into, a)
		}
	}
	if c.m.V11 {
		into = c.inheritBase(n, into)
	}
	return into
}

// inheritBase joins the xml:base attributes of the excluded ancestors with the element's own
// (Canonical XML 1.1, section 2.4).
func (c *canonicalizer) inheritBase(n *xmldom.Node, into []xmldom.Attr) []xmldom.Attr {
	base, found, name := "", false, (*xmldom.Name)(nil)
	var chain []string
	for up := n; up != nil; up = up.Parent {
		for _, a := range up.Attrs() {
			if a.Name.Space == xmlSpace && a.Name.Local == "base" {
				chain = append(chain, a.Value)
				name = a.Name
				found = found || up != n
			}
		}
	}
	if !found {
		return into
	}
	for i := len(chain) - 1; i >= 0; i-- {
		base = joinURI(base, chain[i])
	}
	if base == "" {
		return into
	}
	return append(into, xmldom.Attr{Name: name, Value: base})
}

// uri is a reference split by RFC 3986, appendix B.
type uri struct {
	scheme, authority, path, query string
	hasAuthority, hasQuery         bool
}

func splitURI(s string) (u uri) {
	s, _, _ = strings.Cut(s, "#")
	s, u.query, u.hasQuery = strings.Cut(s, "?")
	if i := strings.IndexByte(s, ':'); i > 0 && !strings.ContainsAny(s[:i], "/?#") {
		u.scheme, s = s[:i+1], s[i+1:]
	}
	if strings.HasPrefix(s, "//") {
		u.hasAuthority = true
		u.authority, s = s[2:], ""
		if i := strings.IndexByte(u.authority, '/'); i >= 0 {
			u.authority, s = u.authority[:i], u.authority[i:]
		}
	}
	u.path = s
	return u
}

func (u uri) String() string {
	s := u.scheme
	if u.hasAuthority {
		s += "//" + u.authority
	}
	s += u.path
	if u.hasQuery {
		s += "?" + u.query
	}
	return s
}

// joinURI resolves a reference against a base that may be relative itself.
func joinURI(base, ref string) string {
	if base == "" {
		return ref
	}
	b, r := splitURI(base), splitURI(ref)
	switch {
	case r.scheme != "":
		r.path = removeDots(r.path)
		return r.String()
	case r.hasAuthority:
		r.scheme, r.path = b.scheme, removeDots(r.path)
		return r.String()
	case r.path == "":
		if !r.hasQuery {
			r.query, r.hasQuery = b.query, b.hasQuery
		}
		r.path = b.path
	case strings.HasPrefix(r.path, "/"):
		r.path = removeDots(r.path)
	default:
		r.path = removeDots(mergePath(b, r.path))
	}
	r.scheme, r.authority, r.hasAuthority = b.scheme, b.authority, b.hasAuthority
	return r.String()
}

func mergePath(b uri, ref string) string {
	if b.hasAuthority && b.path == "" {
		return "/" + ref
	}
	path := b.path
	if path == ".." || strings.HasSuffix(path, "/..") {
		path += "/" // a relative base of only dots names a folder
	}
	return path[:strings.LastIndexByte(path, '/')+1] + ref
}

// removeDots keeps leading ".." segments of relative paths, which RFC 3986 would remove, and
// collapses repeated slashes, as Canonical XML 1.1 requires.
func removeDots(path string) string {
	abs := strings.HasPrefix(path, "/")
	segs := strings.Split(path, "/")
	var out []string
	dir := false
	for i, s := range segs {
		last := i == len(segs)-1
		dir = last && (s == "" || s == "." || s == "..")
		switch {
		case s == "" || s == ".":
		case s == ".." && len(out) > 0 && out[len(out)-1] != "..":
			out = out[:len(out)-1]
		case s == ".." && abs:
		default:
			out = append(out, s)
		}
	}
	joined := strings.Join(out, "/")
	if abs {
		joined = "/" + joined
	}
	if dir && joined != "" && !strings.HasSuffix(joined, "/") {
		joined += "/"
	}
	return joined
}
