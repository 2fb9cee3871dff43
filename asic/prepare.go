package asic

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/cades"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/xmldsig"
	"rogito.dev/rogito/xades"
)

// Draft is a container that lacks only its signature value. It implements ades.Draft.
type Draft struct {
	inner ades.Draft
	write func(w *writer, signature []byte) error
	mime  string
	o     settings
}

// settings are all parameters of a container.
type settings struct {
	ades.SignParams
	Options
}

var _ ades.Draft = (*Draft)(nil)

// ToBeSigned returns what the signature is over.
func (d *Draft) ToBeSigned() []byte { return d.inner.ToBeSigned() }

// Digest returns the digest of ToBeSigned.
func (d *Draft) Digest() []byte { return d.inner.Digest() }

// Value signs the draft with key.
func (d *Draft) Value(key crypto.Signer) ([]byte, error) { return d.inner.Value(key) }

// Finish writes the container.
func (d *Draft) Finish(w io.Writer, value []byte) error {
	var sig bytes.Buffer
	if err := d.inner.Finish(&sig, value); err != nil {
		return err
	}
	z, err := newWriter(w, d.mime, d.o.Time)
	if err != nil {
		return err
	}
	if err := d.write(z, sig.Bytes()); err != nil {
		return err
	}
	return z.close()
}

// Prepare makes everything of a container but the signature value.
func Prepare(ctx context.Context, files []ades.File, p ades.SignParams, opts Options) (*Draft, error) {
	o := settings{p, opts}
	if len(files) == 0 {
		return nil, errors.New("asic: nothing to sign")
	}
	if err := oid.CheckHash(o.Digest()); err != nil {
		return nil, fmt.Errorf("asic: %w", err)
	}
	files, err := cleanNames(files)
	if err != nil {
		return nil, err
	}
	d := &Draft{o: o, mime: MediaTypeE}
	if o.Simple {
		d.mime = MediaTypeS
		if files, err = o.singleObject(files); err != nil {
			return nil, err
		}
	}
	var sig signatureFiles
	if sig, err = d.prepare(ctx, files, 1); err != nil {
		return nil, err
	}
	d.write = func(w *writer, signature []byte) error {
		for _, f := range files {
			if err := w.file(f); err != nil {
				return err
			}
		}
		if !o.CAdES && !o.Simple {
			if err := w.bytes(metaInf+"manifest.xml", odfManifest(files, o.mime)); err != nil {
				return err
			}
		}
		return sig.write(w, signature)
	}
	return d, nil
}

// signatureFiles are the files that a new signature adds to META-INF.
type signatureFiles struct {
	name         string
	manifestName string
	manifest     []byte
	wrap         bool // a XAdES signature needs a root element around it
}

func (s signatureFiles) write(w *writer, signature []byte) error {
	if s.manifest != nil {
		if err := w.bytes(s.manifestName, s.manifest); err != nil {
			return err
		}
	}
	if s.wrap {
		signature = wrapXAdES(signature)
	}
	return w.bytes(s.name, signature)
}

// prepare prepares the signature over the files; n is its number.
func (d *Draft) prepare(ctx context.Context, files []ades.File, n int) (s signatureFiles, err error) {
	switch {
	case d.o.CAdES && d.o.Simple:
		s.name = metaInf + "signature.p7s"
		d.inner, err = cades.Prepare(ctx, files[0].Source, d.o.SignParams, cades.Options{Detached: true, ContentStamper: d.o.ContentStamper})
	case d.o.CAdES:
		s.name = fmt.Sprintf("%ssignature%03d.p7s", metaInf, n)
		s.manifestName = fmt.Sprintf("%sASiCManifest%03d.xml", metaInf, n)
		if s.manifest, err = d.o.manifest(s.name, files); err != nil {
			return s, err
		}
		o := cades.Options{Detached: true, MediaType: "text/xml", ContentStamper: d.o.ContentStamper}
		d.inner, err = cades.Prepare(ctx, bytes.NewReader(s.manifest), d.o.SignParams, o)
	default:
		s.wrap = true
		s.name = fmt.Sprintf("%ssignatures%03d.xml", metaInf, n)
		if d.o.Simple {
			s.name = metaInf + "signatures.xml"
		}
		d.inner, err = xades.Prepare(ctx, files, d.o.SignParams, xades.Options{Packaging: xades.Detached, MediaTypes: d.o.MediaTypes, ContentStamper: d.o.ContentStamper})
	}
	return s, err
}

// manifest lists the files for a CAdES signature.
func (o settings) manifest(sigName string, files []ades.File) ([]byte, error) {
	list := make([]listed, len(files))
	for i, f := range files {
		h := o.Digest().New()
		if _, err := io.Copy(h, io.NewSectionReader(f.Source, 0, f.Source.Size())); err != nil {
			return nil, fmt.Errorf("asic: read %s: %w", f.Name, err)
		}
		list[i] = listed{name: f.Name, mime: o.mime(f), digest: h.Sum(nil)}
	}
	return manifestXML(sigName, "application/pkcs7-signature", o.Digest(), list), nil
}

func (o settings) mime(f ades.File) string {
	if m := o.MediaTypes[f.Name]; m != "" {
		return m
	}
	if xades.LooksLikeXML(f.Source) {
		return "text/xml"
	}
	return "application/octet-stream"
}

// singleObject makes the single data object of an ASiC-S: several files are zipped.
func (o settings) singleObject(files []ades.File) ([]ades.File, error) {
	if len(files) == 1 {
		return files, nil
	}
	var b bytes.Buffer
	z, err := newWriter(&b, "", o.Time)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := z.file(f); err != nil {
			return nil, err
		}
	}
	if err := z.close(); err != nil {
		return nil, err
	}
	return []ades.File{{Name: "package.zip", Source: bytes.NewReader(b.Bytes())}}, nil
}

// wrapXAdES puts a signature under the root element that ASiC requires. The signature uses
// exclusive canonicalisation, so that this does not change it.
func wrapXAdES(doc []byte) []byte {
	if i := bytes.Index(doc, []byte("?>\n")); i >= 0 {
		doc = doc[i+3:]
	}
	return bytes.Join([][]byte{[]byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<asic:XAdESSignatures xmlns:asic="` + nsASiC + `">`), doc, []byte(`</asic:XAdESSignatures>`)}, nil)
}

// cleanNames makes names valid for a container: none leads out of it, into META-INF, or occurs
// twice.
func cleanNames(files []ades.File) ([]ades.File, error) {
	out := make([]ades.File, len(files))
	seen := map[string]bool{}
	for i, f := range files {
		name := path.Clean("/" + strings.ReplaceAll(f.Name, `\`, "/"))[1:]
		if name == "" {
			name = fmt.Sprintf("document-%d", i+1)
		}
		stem, ext := strings.TrimSuffix(name, path.Ext(name)), path.Ext(name)
		if r := roleOf(name); r != roleData || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
			return nil, fmt.Errorf("asic: a document cannot have the name %q", f.Name)
		}
		for n := 2; seen[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s-%d%s", stem, n, ext)
		}
		seen[strings.ToLower(name)] = true
		out[i] = ades.File{Name: name, Source: f.Source}
	}
	return out, nil
}

// Parallel adds a signature over all files of a container, of the same kind as the existing ones.
// Options.Simple and Options.CAdES are determined by the container.
func Parallel(ctx context.Context, src ades.Source, p ades.SignParams, opts Options) (*Draft, error) {
	o := settings{p, opts}
	c, format, err := openToUpdate(ctx, src)
	if err != nil {
		return nil, err
	}
	o.Simple, o.CAdES = format == ades.ASiCS, len(c.of(roleCMS)) > 0
	if !o.CAdES && len(c.of(roleXML)) == 0 {
		return nil, errNoSignature
	}
	d := &Draft{o: o, mime: c.mime}
	if o.Simple {
		return d, d.parallelSimple(ctx, c)
	}
	var files []ades.File
	for _, e := range c.of(roleData) {
		files = append(files, ades.File{Name: e.name, Source: e})
	}
	sig, err := d.prepare(ctx, files, c.nextNumber())
	d.write = func(w *writer, signature []byte) error {
		if err := w.copyAll(c, nil, nil); err != nil {
			return err
		}
		return sig.write(w, signature)
	}
	return d, err
}

// parallelSimple adds to the one signature file of an ASiC-S.
func (d *Draft) parallelSimple(ctx context.Context, c *container) error {
	data, sigs := c.of(roleData), c.of(roleXML, roleCMS)
	if len(data) != 1 || len(sigs) != 1 {
		return ades.Malformed("ZIP", "", "an ASiC-S has one data object and one signature file")
	}
	var err error
	merge := func(b []byte) ([]byte, error) { return b, nil }
	if d.o.CAdES {
		d.inner, err = cades.Parallel(ctx, limits.Paying(sigs[0], limits.BudgetOf(ctx)), data[0], d.o.SignParams, cades.Options{Detached: true})
	} else {
		file := ades.File{Name: data[0].name, Source: data[0]}
		d.inner, err = xades.Prepare(ctx, []ades.File{file}, d.o.SignParams, xades.Options{Packaging: xades.Detached, MediaTypes: d.o.MediaTypes})
		merge = func(b []byte) ([]byte, error) { return appendXAdES(sigs[0], b) }
	}
	d.write = func(w *writer, signature []byte) error {
		whole, err := merge(signature)
		if err != nil {
			return err
		}
		return w.copyAll(c, map[string][]byte{sigs[0].name: whole}, nil)
	}
	return err
}

// appendXAdES puts a signature beside those in a file.
func appendXAdES(e *entry, signature []byte) ([]byte, error) {
	d, err := e.xml("XML")
	if err != nil {
		return nil, err
	}
	if d.Root().Is(xmldsig.Space, "Signature") {
		return nil, ades.Malformed("XML", e.name, "the signature file has no room for a second signature")
	}
	if i := bytes.Index(signature, []byte("?>\n")); i >= 0 {
		signature = signature[i+3:]
	}
	both, err := d.Splice(d.Append(d.Root(), string(signature)))
	return []byte(both), err
}

// nextNumber is a number that no signature file of the container has.
func (c *container) nextNumber() int {
	for n := 1; ; n++ {
		free := true
		for _, form := range []string{"%ssignatures%03d.xml", "%ssignature%03d.p7s", "%sASiCManifest%03d.xml"} {
			free = free && c.byName[fmt.Sprintf(form, metaInf, n)] == nil
		}
		if free {
			return n
		}
	}
}
