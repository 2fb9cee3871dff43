// Package saml has those parts of SAML 2.0 that a service provider and an
// identity provider of SPID both need: reading a message within limits, signing
// and checking one, and the two bindings. XML and its signatures are those of
// internal/xmldom and internal/xmldsig.
package saml

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"regexp"
	"strings"
	"time"

	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// Namespaces.
const (
	Protocol  = "urn:oasis:names:tc:SAML:2.0:protocol"
	Assertion = "urn:oasis:names:tc:SAML:2.0:assertion"
	Metadata  = "urn:oasis:names:tc:SAML:2.0:metadata"
)

// Words of SAML.
const (
	POST      = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
	Redirect  = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
	Entity    = "urn:oasis:names:tc:SAML:2.0:nameid-format:entity"
	Transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
	Bearer    = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
	Success   = "urn:oasis:names:tc:SAML:2.0:status:Success"
	Responder = "urn:oasis:names:tc:SAML:2.0:status:Responder"
	Failed    = "urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"
)

// MaxMessage bounds a message; the largest genuine ones have 20 kB.
const MaxMessage = 256 << 10

// Parse reads a message.
func Parse(b []byte) (*xmldom.Document, error) {
	return xmldom.Parse(string(b), xmldom.Limits{Size: MaxMessage, Depth: 32, Nodes: 8192, Attributes: 64, Bindings: 64})
}

// Decode takes the value of a form field of the POST binding to its octets.
func Decode(field string) ([]byte, error) {
	if len(field) > MaxMessage*3/2 {
		return nil, errors.New("the message is too long")
	}
	b, err := xmldsig.DecodeBase64(field)
	if err != nil || len(b) == 0 {
		return nil, errors.New("the message is not base64")
	}
	return b, nil
}

// Value is the text of an element that holds nothing but text. A comment or an
// instruction between two texts makes readers disagree about the value, and is
// refused (so is everything else that is not text).
func Value(n *xmldom.Node) (string, bool) {
	if n == nil {
		return "", false
	}
	for c := n.First; c != nil; c = c.Next {
		if c.Kind != xmldom.Text {
			return "", false
		}
	}
	return strings.Trim(n.Text(), " \t\r\n"), true
}

// Part is a child that an element may have.
type Part struct {
	Space, Local string
	Need         bool
	Into         **xmldom.Node // nil: not read
}

// Take hands out the children of an element. Every child must be one of the
// parts and there only once: what is not expected is not believed.
func Take(n *xmldom.Node, parts ...Part) error {
	seen := make([]bool, len(parts))
next:
	for c := range n.Elements() {
		for i, p := range parts {
			if !c.Is(p.Space, p.Local) {
				continue
			}
			if seen[i] {
				return errors.New("there are two of " + p.Local)
			}
			if seen[i] = true; p.Into != nil {
				*p.Into = c
			}
			continue next
		}
		return errors.New("an element that is not expected in " + n.Name.Local)
	}
	for i, p := range parts {
		if p.Need && !seen[i] {
			return errors.New(p.Local + " is missing")
		}
	}
	return nil
}

var dateTime = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,12})?(Z|[+-][0-9]{2}:[0-9]{2})$`)

// Time reads an instant.
func Time(s string) (time.Time, error) {
	if !dateTime.MatchString(s) {
		return time.Time{}, errors.New("not an instant")
	}
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC(), err
}

// Instant writes one.
func Instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// NewID is an unguessable identifier.
func NewID() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	return "_" + hex.EncodeToString(b)
}

// Escape makes text fit for an element or an attribute.
func Escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a Buffer does not fail
	return b.String()
}
