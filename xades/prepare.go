package xades

import (
	"context"
	"crypto"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/cms"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
	"rogito.dev/rogito/internal/xmldom"
	"rogito.dev/rogito/internal/xmldsig"
)

// Draft is a signed document that lacks only its signature value. It implements ades.Draft.
type Draft struct {
	tbs    []byte
	params ades.SignParams
	files  []ades.File
	before string // text of the signature before and after the value
	after  string
	objs   []object
	place  func(w io.Writer, signature func(io.Writer) error) error
}

var _ ades.Draft = (*Draft)(nil)

// ToBeSigned returns the canonical SignedInfo.
func (d *Draft) ToBeSigned() []byte { return d.tbs }

// Digest returns the digest of ToBeSigned.
func (d *Draft) Digest() []byte { return oid.Sum(d.params.Digest(), d.tbs) }

// Value signs the draft with key.
func (d *Draft) Value(key crypto.Signer) ([]byte, error) {
	return ades.Value(key, d.params, d.tbs, d.Digest())
}

// Finish writes the signed document. ECDSA values are DER.
func (d *Draft) Finish(w io.Writer, value []byte) error {
	value, err := pkix.PlainValue(d.params.Certificate.PublicKey, value)
	if err != nil {
		return fmt.Errorf("xades: %w", err)
	}
	return d.place(w, func(w io.Writer) error {
		for _, part := range []string{d.before, base64.StdEncoding.EncodeToString(value), d.after} {
			if _, err := io.WriteString(w, part); err != nil {
				return err
			}
		}
		for _, o := range d.objs {
			if err := d.writeObject(w, o); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, "</ds:Signature>")
		return err
	})
}

func (d *Draft) writeObject(w io.Writer, o object) error {
	if _, err := fmt.Fprintf(w, `<ds:Object Id="%s" MimeType="%s" Encoding="%s">`, o.id, escapeAttr(o.mime), xmldsig.Base64); err != nil {
		return err
	}
	enc := base64.NewEncoder(base64.StdEncoding, w)
	src := d.files[o.file].Source
	if _, err := io.Copy(enc, io.NewSectionReader(src, 0, src.Size())); err != nil {
		return fmt.Errorf("xades: read document: %w", err)
	}
	if err := enc.Close(); err != nil {
		return err
	}
	_, err := io.WriteString(w, "</ds:Object>")
	return err
}

// Prepare makes everything of a signature but its value. It returns a *ades.MalformedError for XML
// that is not well-formed or has a DTD.
func Prepare(ctx context.Context, files []ades.File, params ades.SignParams, opts Options) (*Draft, error) {
	o := settings{params, opts}
	if err := o.check(); err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("xades: nothing to sign")
	}
	method, err := xmldsig.MethodFor(o.Certificate.PublicKey, o.Digest(), o.PSS)
	if err != nil {
		return nil, fmt.Errorf("xades: %w", err)
	}
	p := &preparation{ctx: ctx, files: files, o: o, b: builder{o: o}}
	if o.ContentStamper != nil {
		p.all = o.Digest().New()
	}
	if err := p.pack(); err != nil {
		return nil, err
	}
	if p.all != nil {
		if p.b.stamp, err = o.ContentStamper.Stamp(ctx, o.Digest(), p.all.Sum(nil)); err != nil {
			return nil, fmt.Errorf("xades: time-stamp of the content: %w", err)
		}
	}
	properties := p.b.signedProperties()
	info := p.b.signedInfo(method, oid.Sum(o.Digest(), canonical(properties, declareXAdES)))
	if err := errors.Join(xmldom.CheckChars(properties), xmldom.CheckChars(info)); err != nil {
		return nil, fmt.Errorf("xades: %w", err)
	}
	return &Draft{
		tbs: canonical(info, declareDS), params: params, files: files, objs: p.b.objs, place: p.place,
		before: `<ds:Signature` + declareDS + ` Id="` + p.b.id + `">` + info + `<ds:SignatureValue Id="value-` + p.b.id + `">`,
		after: `</ds:SignatureValue>` + p.b.keyInfo() + `<ds:Object><xades:QualifyingProperties` + declareXAdES + ` Target="#` + p.b.id + `">` +
			properties + `</xades:QualifyingProperties></ds:Object>`,
	}, nil
}

// preparation collects the references and determines where the signature goes.
type preparation struct {
	ctx   context.Context
	files []ades.File
	o     settings
	b     builder
	doc   *xmldom.Document // the only XML document, if there is one
	host  *xmldom.Node     // the signature that must contain the new one, if any
	all   hash.Hash        // over everything that is signed, in order; nil if not needed
	place func(w io.Writer, signature func(io.Writer) error) error
}

func (p *preparation) pack() error {
	packaging := p.o.Packaging
	if packaging == ByContent {
		packaging = p.byContent()
	}
	switch packaging {
	case Enveloped:
		return p.enveloped()
	case Enveloping:
		return p.enveloping()
	case Detached:
		return p.detached()
	case InternallyDetached:
		return p.internallyDetached()
	}
	return fmt.Errorf("xades: unknown packaging %d", packaging)
}

// byContent chooses Enveloped for one XML document that can contain a signature.
func (p *preparation) byContent() Packaging {
	if len(p.files) != 1 || !LooksLikeXML(p.files[0].Source) {
		return Enveloping
	}
	doc, err := parse(p.ctx, p.files[0].Source)
	if err == nil && doc.Root().Is(ds, "Signature") {
		return Enveloping
	}
	p.doc = doc // nil on error, which enveloped will return
	return Enveloped
}

// chooseID names the signature. The same input gives the same name, so that a draft can be made
// again; names in use are skipped.
func (p *preparation) chooseID(digests ...[]byte) {
	if p.o.SignatureID != "" {
		p.b.id = p.o.SignatureID
		return
	}
	h := crypto.SHA256.New()
	h.Write(p.o.Certificate.Raw)
	fmt.Fprintf(h, "%d", p.o.Time.UnixNano())
	for _, d := range digests {
		h.Write(d)
	}
	seed := h.Sum(nil)
	for n := 0; ; n++ {
		seed[15] += byte(n)
		p.b.id = "id-" + hex.EncodeToString(seed[:16])
		if p.doc == nil || n == 255 || !p.doc.HasID(p.b.id) {
			return
		}
	}
}

// enveloping references each document inside a ds:Object.
func (p *preparation) enveloping() error {
	digests, err := p.digestFiles(false)
	if err != nil {
		return err
	}
	p.chooseID(digests...)
	for i, f := range p.files {
		id := fmt.Sprintf("o-%s-%d", p.b.id, i+1)
		mime := p.mime(f)
		p.b.objs = append(p.b.objs, object{id: id, mime: mime, file: i})
		p.b.refs = append(p.b.refs, reference{
			uri: "#" + id, typ: xmldsig.Space + "Object", transforms: []string{transformBase64},
			digest: digests[i], mime: mime, encoding: xmldsig.Base64,
		})
	}
	p.place = writeAlone
	return nil
}

// detached references each document by its name.
func (p *preparation) detached() error {
	digests, err := p.digestFiles(false)
	if err != nil {
		return err
	}
	p.chooseID(digests...)
	for i, f := range p.files {
		if f.Name == "" && len(p.files) > 1 {
			return errors.New("xades: several detached documents need names")
		}
		p.b.refs = append(p.b.refs, reference{uri: xmldsig.EscapeName(f.Name), noURI: f.Name == "", digest: digests[i], mime: p.mime(f)})
	}
	p.place = writeAlone
	return nil
}

// writeAlone makes the signature the whole document.
func writeAlone(w io.Writer, signature func(io.Writer) error) error {
	if _, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"); err != nil {
		return err
	}
	return signature(w)
}

// digestFiles digests the files as they are, unless they are embedded.
func (p *preparation) digestFiles(embedded bool) ([][]byte, error) {
	digests := make([][]byte, len(p.files))
	for i, f := range p.files {
		h := p.o.Digest().New()
		w := io.Writer(h)
		if !embedded {
			w = p.withContentDigest(h)
		}
		if _, err := io.Copy(w, io.NewSectionReader(f.Source, 0, f.Source.Size())); err != nil {
			return nil, fmt.Errorf("xades: read document: %w", err)
		}
		digests[i] = h.Sum(nil)
	}
	return digests, nil
}

// withContentDigest writes digest input to the digest for the content time-stamp as well.
func (p *preparation) withContentDigest(h hash.Hash) io.Writer {
	if p.all == nil {
		return h
	}
	return io.MultiWriter(h, p.all)
}

func (p *preparation) mime(f ades.File) string {
	if m := p.o.MediaTypes[f.Name]; m != "" {
		return m
	}
	if LooksLikeXML(f.Source) {
		return "text/xml"
	}
	return "application/octet-stream"
}

// LooksLikeXML reports whether a source begins like an XML document: after a byte order mark and
// white space, with a less-than sign and a valid character.
func LooksLikeXML(src ades.Source) bool {
	if o, ok := src.(*octets); ok && o.xml {
		return true
	}
	head := make([]byte, min(src.Size(), 512))
	if n, err := src.ReadAt(head, 0); err != nil && !(errors.Is(err, io.EOF) && n == len(head)) {
		return false
	}
	head = slices.DeleteFunc(head, func(c byte) bool { return c == 0 || c == 0xFE || c == 0xFF }) // UTF-16
	for len(head) > 0 && (head[0] <= ' ' || head[0] == 0xEF || head[0] == 0xBB || head[0] == 0xBF) {
		head = head[1:]
	}
	return len(head) > 2 && head[0] == '<' && (head[1] == '?' || head[1] == '!' || head[1] == '_' || head[1]|0x20 >= 'a' && head[1]|0x20 <= 'z' || head[1] >= 0x80)
}

// parse reads a whole source as XML. Text and tree are charged to the budget of the context;
// exceeding it makes the document malformed.
func parse(ctx context.Context, src ades.Source) (*xmldom.Document, error) {
	text, err := load(ctx, src)
	if err != nil {
		return nil, err
	}
	d, err := xmldom.ParseContext(ctx, text, xmldom.Limits{})
	if err != nil {
		return nil, malformed(err)
	}
	return d, nil
}

func load(ctx context.Context, src ades.Source) (string, error) {
	if src.Size() > int64(xmldom.DefaultLimits.Size) {
		return "", ades.Malformed("XML", "", "%w: %d bytes", xmldom.ErrLimit, src.Size())
	}
	if err := limits.BudgetOf(ctx).Spend(src.Size()); err != nil {
		return "", ades.Malformed("XML", "", "%w: %d bytes", err, src.Size())
	}
	var b strings.Builder
	b.Grow(int(src.Size()))
	if err := cms.Copy(&b, src); err != nil {
		return "", fmt.Errorf("xades: read document: %w", err)
	}
	return b.String(), nil
}
