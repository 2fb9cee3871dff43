package jades

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/jsontree"
	"rogito.dev/rogito/internal/limits"
	"rogito.dev/rogito/internal/oid"
	"rogito.dev/rogito/internal/pkix"
)

// Draft is a signature that lacks only its value. It implements [ades.Draft].
type Draft struct {
	o         settings
	protected []byte // base64url
	message   []byte // JWS Signing Input
	carries   bool   // the payload is in the file
	place     func(w io.Writer, signature []byte) error
}

var _ ades.Draft = (*Draft)(nil)

// ToBeSigned returns the JWS Signing Input: the protected header and the payload.
func (d *Draft) ToBeSigned() []byte { return d.message }

// Digest returns the digest of ToBeSigned.
func (d *Draft) Digest() []byte { return oid.Sum(d.o.Digest(), d.message) }

// Value signs the draft with key.
func (d *Draft) Value(key crypto.Signer) ([]byte, error) {
	return ades.Value(key, d.o.SignParams, d.message, d.Digest())
}

// Finish writes the signed document. ECDSA values are DER, and are written as r‖s.
func (d *Draft) Finish(w io.Writer, value []byte) error {
	value, err := pkix.PlainValue(d.o.Certificate.PublicKey, value)
	if err != nil {
		return fmt.Errorf("jades: %w", err)
	}
	return d.place(w, encode(value))
}

// checked are the settings of a signature, and the name of its algorithm.
func checked(p ades.SignParams, opts Options) (o settings, alg string, err error) {
	o = settings{p, opts}
	o.Hash = Hash(p)
	if err := o.check(); err != nil {
		return o, "", err
	}
	if alg, err = algorithmFor(o.Certificate.PublicKey, o.Digest(), o.PSS); err != nil {
		err = fmt.Errorf("jades: %w", err)
	}
	return o, alg, err
}

// Prepare makes everything of a signature but its value. Content to be included is held in memory,
// with its base64url; a detached one is only read.
func Prepare(ctx context.Context, files []ades.File, p ades.SignParams, opts Options) (*Draft, error) {
	o, alg, err := checked(p, opts)
	if err != nil {
		return nil, err
	}
	switch {
	case len(files) == 0:
		return nil, errors.New("jades: nothing to sign")
	case o.Detached:
		return o.detached(ctx, files, alg)
	case len(files) > 1:
		return nil, ErrSeveral
	}
	if files[0].Source.Size() == 0 {
		return nil, errors.New("jades: an empty content cannot be carried: it would look like a detached signature")
	}
	return o.draft(ctx, files, o.header(alg, o.MediaTypes[files[0].Name], nil), true)
}

// ErrSeveral means that several documents require a detached signature.
var ErrSeveral = errors.New("jades: several documents are signed together in a detached signature only")

// draft puts header and payload together.
func (o settings) draft(ctx context.Context, files []ades.File, header []byte, carries bool) (*Draft, error) {
	d := &Draft{o: o, protected: encode(header), carries: carries}
	size := int64(len(d.protected))
	for _, f := range files {
		size += f.Source.Size() * 4 / 3
	}
	if size > limits.JSONSize {
		return nil, fmt.Errorf("jades: %d bytes are too many to be signed as JSON", size)
	}
	if err := limits.BudgetOf(ctx).Spend(size); err != nil {
		return nil, fmt.Errorf("jades: %w", err)
	}
	var b bytes.Buffer
	b.Grow(int(size) + 8)
	b.Write(d.protected)
	b.WriteByte('.')
	for _, f := range files {
		if err := writeContent(&b, f.Source, o.Unencoded); err != nil {
			return nil, fmt.Errorf("jades: read document: %w", err)
		}
	}
	d.message = b.Bytes()
	d.place = d.write
	return d, d.checkPayload()
}

func (d *Draft) payload() []byte { return d.message[len(d.protected)+1:] }

// checkPayload checks that content included without encoding suits the form (RFC 7797, section 5).
func (d *Draft) checkPayload() error {
	if !d.carries || !d.o.Unencoded {
		return nil
	}
	stop := func(r rune) bool { return r < 0x20 || r > 0x7e || r == '.' }
	if !utf8.Valid(d.payload()) || d.o.Serialization == Compact && bytes.ContainsFunc(d.payload(), stop) {
		return errors.New("jades: this content cannot be carried unencoded")
	}
	return nil
}

// write writes a new file.
func (d *Draft) write(w io.Writer, signature []byte) error {
	if d.o.Serialization == Compact {
		payload := []byte{}
		if d.carries {
			payload = d.payload()
		}
		_, err := w.Write(bytes.Join([][]byte{d.protected, payload, signature}, []byte{'.'}))
		return err
	}
	_, err := w.Write(d.object(signature))
	return err
}

// object is the JSON form.
func (d *Draft) object(signature []byte) []byte {
	var o, s object
	if d.carries {
		o.raw("payload", jsontree.Quote(d.payload()))
	}
	one := &o
	if d.o.Serialization == General {
		one = &s
	}
	one.raw("protected", jsontree.Quote(d.protected))
	one.raw("signature", jsontree.Quote(signature))
	if d.o.Serialization == General {
		o.raw("signatures", array(s.end()))
	}
	return o.end()
}

// detached references the contents with sigD.
func (o settings) detached(ctx context.Context, files []ades.File, alg string) (*Draft, error) {
	if o.Mechanism == HTTPHeaders {
		return o.httpHeaders(ctx, files, alg)
	}
	if o.Mechanism == ByURI && len(files) > 1 {
		return nil, errors.New("jades: where one content ends and the next begins is not signed by URI: several documents are signed by hash")
	}
	names, types, digests, err := o.refer(ctx, files)
	if err != nil {
		return nil, err
	}
	var d object
	d.text("mId", mechanisms[o.Mechanism])
	d.raw("pars", texts(names))
	if o.Mechanism == ByURIHash {
		d.text("hashM", hashNames[o.Digest()])
		d.raw("hashV", texts(digests))
	}
	if types != nil {
		d.raw("ctys", texts(types))
	}
	header := o.header(alg, "", d.end())
	if o.Mechanism == ByURIHash {
		return o.draft(ctx, nil, header, false)
	}
	return o.draft(ctx, files, header, false)
}

// refer names and digests the contents. The digest is over their base64url, unless they are signed
// unencoded.
func (o settings) refer(ctx context.Context, files []ades.File) (names, types, digests []string, err error) {
	if len(files) > limits.JWSReferences {
		return nil, nil, nil, fmt.Errorf("jades: %d documents are too many for one signature", len(files))
	}
	seen := map[string]bool{}
	typed := false
	for _, f := range files {
		name := f.Name
		if name == "" && len(files) == 1 {
			name = "document"
		}
		if name == "" || seen[name] {
			return nil, nil, nil, fmt.Errorf("jades: documents that are signed together need names, each its own: %q", name)
		}
		seen[name] = true
		names = append(names, sigDName(name))
		t := o.MediaTypes[f.Name]
		typed = typed || t != ""
		types = append(types, shortType(cmp.Or(t, "application/octet-stream")))
		if o.Mechanism != ByURIHash {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		h := o.Digest().New()
		if err := writeContent(h, f.Source, o.Unencoded); err != nil {
			return nil, nil, nil, fmt.Errorf("jades: read document: %w", err)
		}
		digests = append(digests, string(encode(h.Sum(nil))))
	}
	if !typed {
		types = nil
	}
	return names, types, digests, nil
}

// httpHeaders signs the fields of a message, in the given order.
func (o settings) httpHeaders(ctx context.Context, files []ades.File, alg string) (*Draft, error) {
	o.Unencoded = true // TS 119 182-1, 5.1.10
	var names []string
	var lines []string
	for _, f := range files {
		name := strings.ToLower(f.Name)
		if name == "" || slices.Contains(names, name) {
			continue // the body, or one more value of a field
		}
		value, ok, err := field(files, name)
		if err != nil || !ok {
			return nil, fmt.Errorf("jades: %q is no field of a message", f.Name)
		}
		names, lines = append(names, name), append(lines, name+": "+value)
	}
	var d object
	d.text("mId", mechanisms[HTTPHeaders])
	d.raw("pars", texts(names))
	text := ades.File{Source: strings.NewReader(strings.Join(lines, "\n"))}
	return o.draft(ctx, []ades.File{text}, o.header(alg, "", d.end()), false)
}

// Counter makes the draft of a counter-signature over the signature with the given id (see [Read]);
// an empty id means the only one.
func Counter(ctx context.Context, src ades.Source, id string, p ades.SignParams, opts Options) (*Draft, error) {
	o, alg, err := checked(p, Options{Policy: opts.Policy, Roles: opts.Roles, Place: opts.Place})
	if err != nil {
		return nil, err
	}
	f, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	r := newReader(ctx, f, ades.ReadOptions{})
	r.read()
	at := -1
	for i, s := range r.out.Signatures {
		if s.ID == id || id == "" && len(r.out.Signatures) == 1 {
			at = i
		}
	}
	if at < 0 {
		return nil, fmt.Errorf("jades: signature %q: %w", id, ades.ErrNotFound)
	}
	if err := f.mayGrow(f.sigs[at]); err != nil {
		return nil, err
	}
	value := ades.File{Source: bytes.NewReader(r.out.Signatures[at].Value)}
	d, err := o.draft(ctx, []ades.File{value}, o.header(alg, "", nil), true)
	if err != nil {
		return nil, err
	}
	d.place = func(w io.Writer, signature []byte) error {
		out, err := f.add(f.sigs[at], etsiUComponent("cSig", d.object(signature)))
		if err != nil {
			return err
		}
		_, err = w.Write(out)
		return err
	}
	return d, nil
}
