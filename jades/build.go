package jades

import (
	"bytes"
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"

	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/oid"
)

// object writes a JSON object, member by member.
type object struct{ bytes.Buffer }

func (o *object) raw(name string, value []byte) {
	if o.Len() == 0 {
		o.WriteByte('{')
	} else {
		o.WriteByte(',')
	}
	o.Write(jsontree.Quote(name))
	o.WriteByte(':')
	o.Write(value)
}

func (o *object) text(name, value string) { o.raw(name, jsontree.Quote(value)) }

// optional writes a text unless it is empty.
func (o *object) optional(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

func (o *object) end() []byte {
	if o.Len() == 0 {
		o.WriteByte('{')
	}
	o.WriteByte('}')
	return o.Bytes()
}

// array writes values that are already JSON.
func array(items ...[]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(items, []byte{','})...), ']')
}

// texts writes an array of strings.
func texts(list []string) []byte {
	items := make([][]byte, len(list))
	for i, s := range list {
		items[i] = jsontree.Quote(s)
	}
	return array(items...)
}

func encode(b []byte) []byte { return base64.RawURLEncoding.AppendEncode(nil, b) }

// header writes the protected header. sigD is nil if the content is included, and cty empty if
// unspecified.
func (o settings) header(alg, cty string, sigD []byte) []byte {
	var h object
	var crit []string
	h.text("alg", alg)
	if o.Serialization == Compact {
		h.text("typ", "jose")
	} else {
		h.text("typ", "jose+json")
	}
	h.optional("cty", shortType(cty))
	digest := string(encode(oid.Sum(o.Digest(), o.Certificate.Raw)))
	if name := hashNames[o.Digest()]; name == "S256" {
		h.text("x5t#S256", digest)
	} else {
		var x object
		x.text("digAlg", name)
		x.text("digVal", digest)
		h.raw("x5t#o", x.end())
	}
	h.raw("x5c", texts(o.chain()))
	if o.Unencoded {
		h.raw("b64", []byte("false"))
		crit = append(crit, "b64")
	}
	h.raw("iat", strconv.AppendInt(nil, o.Time.Unix(), 10))
	o.claims(&h)
	if sigD != nil {
		h.raw("sigD", sigD)
		crit = append(crit, "sigD")
	}
	if len(crit) > 0 {
		h.raw("crit", texts(crit))
	}
	return h.end()
}

// claims writes the signer's claims beyond the baseline.
func (o settings) claims(h *object) {
	if len(o.Commitments) > 0 {
		var list [][]byte
		for _, c := range o.Commitments {
			var one object
			one.raw("commId", identifier(c))
			list = append(list, one.end())
		}
		h.raw("srCms", array(list...))
	}
	if p := o.Place; p != nil {
		var one object
		one.optional("addressCountry", p.Country)
		one.optional("addressLocality", p.Locality)
		one.optional("addressRegion", p.Region)
		one.optional("postalCode", p.PostalCode)
		one.optional("streetAddress", p.Street)
		h.raw("sigPl", one.end())
	}
	if len(o.Roles) > 0 {
		var group, one object
		group.text("mediaType", "text/plain")
		group.text("encoding", "binary")
		group.raw("qVals", texts(o.Roles))
		one.raw("claimed", array(group.end()))
		h.raw("srAts", one.end())
	}
	if len(o.ContentTimestamps) > 0 {
		h.raw("adoTst", tokens(o.ContentTimestamps...))
	}
	if p := o.Policy; p != nil {
		var one object
		one.raw("id", identifier(p.ID))
		one.text("digAlg", hashNames[p.Hash])
		one.text("digVal", string(encode(p.Digest)))
		if p.URI != "" {
			var q object
			q.text("spURI", p.URI)
			one.raw("sigPQuals", array(q.end()))
		}
		h.raw("sigPId", one.end())
	}
}

// identifier is an oId, which contains a URI.
func identifier(id string) []byte {
	if oid.Valid(id) {
		id = "urn:oid:" + id
	}
	var o object
	o.text("id", id)
	return o.end()
}

// shortType omits application/ if the rest has no slash (RFC 7515, 4.1.10).
func shortType(mediaType string) string {
	if short, ok := strings.CutPrefix(mediaType, "application/"); ok && !strings.Contains(short, "/") {
		return short
	}
	return mediaType
}

// chain is x5c: the signer first, without a root, which is of no use there.
func (o settings) chain() []string {
	list := []string{base64.StdEncoding.EncodeToString(o.Certificate.Raw)}
	for _, c := range o.Chain {
		if !c.Equal(o.Certificate) && !bytes.Equal(c.RawSubject, c.RawIssuer) {
			list = append(list, base64.StdEncoding.EncodeToString(c.Raw))
		}
	}
	return list
}

// tokens is a tstContainer.
func tokens(list ...[]byte) []byte {
	var o object
	o.raw("tstTokens", pkiObjects(list))
	return o.end()
}

// pkiObjects is an array of pkiOb.
func pkiObjects(list [][]byte) []byte {
	var items [][]byte
	for _, der := range list {
		var o object
		o.text("val", base64.StdEncoding.EncodeToString(der))
		items = append(items, o.end())
	}
	return array(items...)
}

// sigDName is the name of a file in pars, which are URIs.
func sigDName(name string) string { return url.PathEscape(name) }
