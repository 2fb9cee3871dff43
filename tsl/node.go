package tsl

import (
	"strings"

	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// Lists of different publishers use different prefixes but the same local names, which are
// unambiguous in their context.

func child(n *xmldom.Node, local string) *xmldom.Node {
	for c := range n.Elements() {
		if c.Name.Local == local {
			return c
		}
	}
	return nil
}

func children(n *xmldom.Node, local string) []*xmldom.Node {
	var out []*xmldom.Node
	for c := range n.Elements() {
		if c.Name.Local == local {
			out = append(out, c)
		}
	}
	return out
}

// descend returns the members of an optional collection.
func descend(n *xmldom.Node, list, member string) []*xmldom.Node {
	var out []*xmldom.Node
	for _, l := range children(n, list) {
		out = append(out, children(l, member)...)
	}
	return out
}

// text is the character data of an element without surrounding white space.
func text(n *xmldom.Node) string {
	if n.First != nil && n.First.Next == nil && n.First.Kind == xmldom.Text {
		return strings.TrimSpace(n.First.Data)
	}
	var b strings.Builder
	for c := n.First; c != nil; c = c.Next {
		if c.Kind == xmldom.Text {
			b.WriteString(c.Data)
		}
	}
	return strings.TrimSpace(b.String())
}

func value(n *xmldom.Node, local string) string {
	if c := child(n, local); c != nil {
		return text(c)
	}
	return ""
}

// english returns the English name, else the first.
func english(n *xmldom.Node) string {
	if n == nil {
		return ""
	}
	first := ""
	for _, c := range children(n, "Name") {
		for _, a := range c.Attrs() {
			if a.Name.Local == "lang" && strings.EqualFold(a.Value, "en") {
				return text(c)
			}
		}
		if first == "" {
			first = text(c)
		}
	}
	return first
}

func attribute(n *xmldom.Node, local string) string {
	for _, a := range n.Attrs() {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// certificates caches decoded certificates: the same CA is in many instances.
type certificates map[string][]byte

// of returns the certificates (DER) of a ServiceDigitalIdentity. Unreadable ones are skipped.
func (c certificates) of(identity *xmldom.Node) [][]byte {
	var out [][]byte
	for _, id := range children(identity, "DigitalId") {
		x := child(id, "X509Certificate")
		if x == nil {
			continue
		}
		key := text(x)
		der, seen := c[key]
		if !seen {
			if decoded, err := xmldsig.DecodeBase64(key); err == nil {
				if cert, err := pkix.ParseCertificate(decoded); err == nil {
					der = cert.Raw
				}
			}
			c[key] = der
		}
		if der != nil {
			out = append(out, der)
		}
	}
	return out
}
