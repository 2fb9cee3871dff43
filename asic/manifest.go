package asic

import (
	"bytes"
	"crypto"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"golang.org/x/text/unicode/norm"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldsig"
)

// manifest is an ASiCManifest or ASiCArchiveManifest.
type manifest struct {
	entry   *entry
	sigURI  string // of the signature or time-stamp over this manifest
	objects []*xmldsig.Reference
	checked []ades.Reference // see check
}

// readManifest reads one manifest file.
func readManifest(e *entry) (*manifest, error) {
	d, err := e.xml("ASiC manifest")
	if err != nil {
		return nil, err
	}
	root := d.Root()
	if root.Name.Local != "ASiCManifest" || root.Name.Space != nsASiC {
		return nil, ades.Malformed("ASiC manifest", e.name, "root element is %s", root.Name.Local)
	}
	refs := root.Children(nsASiC, "SigReference")
	if len(refs) != 1 {
		return nil, ades.Malformed("ASiC manifest", e.name, "%d SigReference elements", len(refs))
	}
	m := &manifest{entry: e, sigURI: refs[0].Attr("URI")}
	for i, o := range root.Children(nsASiC, "DataObjectReference") {
		if i >= xmldsig.MaxReferences*10 {
			return nil, ades.Malformed("ASiC manifest", e.name, "too many entries")
		}
		r, err := xmldsig.ReadReference(o)
		if err != nil {
			return nil, &ades.MalformedError{Format: "ASiC manifest", Where: e.name, Err: err}
		}
		m.objects = append(m.objects, r)
	}
	return m, nil
}

func decodeName(uri string) string {
	if name, err := url.PathUnescape(uri); err == nil {
		uri = name
	}
	return strings.TrimPrefix(strings.TrimPrefix(uri, "./"), "/")
}

// lookup finds the file of a URI: percent-decoded (RFC 3986), unchanged, or with "+" for a space as
// in forms; else the only file whose own name is equivalent: percent-encoded itself, in another
// Unicode normal form, or in code page 437.
func (c *container) lookup(uri string) *entry {
	names := []string{decodeName(uri), uri}
	if plain, err := url.QueryUnescape(uri); err == nil {
		names = append(names, strings.TrimPrefix(plain, "./"))
	}
	for i, name := range names { // like the names of entries
		names[i] = legible(name, false)
	}
	for _, name := range names {
		if e := c.byName[name]; e != nil {
			return e
		}
	}
	if c.spelt == nil {
		c.spelt = map[string][]*entry{}
		for _, e := range c.byName {
			forms := map[string]bool{loose(e.name): true, loose(decodeName(e.name)): true}
			if !e.marked && !ascii(e.name) {
				forms[loose(cp437(e.name))] = true
			}
			for f := range forms {
				c.spelt[f] = append(c.spelt[f], e)
			}
		}
	}
	for _, name := range names {
		if list := c.spelt[loose(name)]; len(list) == 1 {
			return list[0]
		}
	}
	return nil
}

func loose(name string) string { return norm.NFC.String(name) }

// check compares the files with the entries. It does so once: a manifest may have many signers.
func (m *manifest) check(c *container) []ades.Reference {
	if m.checked == nil {
		m.checked = make([]ades.Reference, len(m.objects))
		for i, o := range m.objects {
			m.checked[i] = c.check(o)
		}
	}
	return m.checked
}

// check computes the digest of a manifest entry.
func (c *container) check(r *xmldsig.Reference) ades.Reference {
	ref := ades.Reference{Kind: "manifest-entry", Name: legible(decodeName(r.URI), false), URI: r.URI, Digest: r.DigestURI, Value: r.Digest, MediaType: r.Node.Attr("MimeType")}
	h, ok := xmldsig.HashByURI(r.DigestURI)
	if !ok {
		ref.Detail = "digest method is not supported"
		return ref
	}
	ref.Digest = pkix.HashName(h)
	e := c.lookup(r.URI)
	if e == nil {
		ref.Detail = "file is missing"
		return ref
	}
	ref.Found = true
	digest, err := e.digest(h)
	if err != nil {
		c.recordError(err)
		ref.Intact, ref.Detail = ades.No, err.Error()
		return ref
	}
	ref.Intact = ades.TriOf(bytes.Equal(digest, r.Digest))
	return ref
}

func (e *entry) digest(h crypto.Hash) ([]byte, error) {
	w := h.New()
	if _, err := io.Copy(w, io.NewSectionReader(e, 0, e.Size())); err != nil {
		return nil, err
	}
	return w.Sum(nil), nil
}

// listed is a file to be listed in a manifest.
type listed struct {
	name, mime string
	digest     []byte
	root       bool // Rootfile
}

// manifestXML writes an ASiCManifest over files for a signature or time-stamp.
func manifestXML(sigName, sigMime string, h crypto.Hash, files []listed) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<asic:ASiCManifest xmlns:asic="%s" xmlns:ds="%s"><asic:SigReference URI="%s" MimeType="%s"/>`,
		nsASiC, xmldsig.Space, attr(xmldsig.EscapeName(sigName)), sigMime)
	for _, f := range files {
		fmt.Fprintf(&b, `<asic:DataObjectReference URI="%s" MimeType="%s"`, attr(xmldsig.EscapeName(f.name)), attr(f.mime))
		if f.root {
			b.WriteString(` Rootfile="true"`)
		}
		fmt.Fprintf(&b, `><ds:DigestMethod Algorithm="%s"/><ds:DigestValue>%s</ds:DigestValue></asic:DataObjectReference>`,
			xmldsig.HashURI(h), base64.StdEncoding.EncodeToString(f.digest))
	}
	b.WriteString(`</asic:ASiCManifest>`)
	return b.Bytes()
}

// odfManifest writes META-INF/manifest.xml, which ASiC-E with XAdES should have.
func odfManifest(files []ades.File, mime func(ades.File) string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<manifest:manifest xmlns:manifest="%s" manifest:version="1.2"><manifest:file-entry manifest:full-path="/" manifest:media-type="%s"/>`, nsManifest, MediaTypeE)
	for _, f := range files {
		fmt.Fprintf(&b, `<manifest:file-entry manifest:full-path="%s" manifest:media-type="%s"/>`, attr(f.Name), attr(mime(f)))
	}
	b.WriteString(`</manifest:manifest>`)
	return b.Bytes()
}

func attr(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // writing to a Builder cannot fail
	return b.String()
}

var errNoSignature = errors.New("asic: the container has no signature")
