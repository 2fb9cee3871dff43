package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
)

// Options say how to open a document. The zero value is strict and tries only the empty password.
type Options struct {
	// Password of an encrypted document, the user's or the owner's.
	Password string
	// Repair allows scanning a file with a broken cross-reference chain for its objects.
	Repair bool
	// Lenient reads objects with broken syntax like other readers do, and Rebuild scans for objects
	// even if the chain is intact. They are for documents that are rewritten.
	Lenient, Rebuild bool
	// Context cancels reading, and carries the budget of the document (see limits.Budget); nil
	// never ends. Without a budget the document has its own, of limits.PDFMemory.
	Context context.Context
}

// Document is an open PDF file. It reads lazily from its source and is not safe for concurrent use.
type Document struct {
	src  ades.Source
	base int64 // data before the header, if offsets are counted from there
	size int64 // from the header on

	sections  []*section        // newest first
	revisions []Revision        // oldest first
	earlier   map[int]*Document // as of earlier revisions
	trailer   *Dict
	repaired  error
	startxref int64
	prefix    int64 // length of the data before the header
	entered   int64 // number of entries of all sections
	crypt     *crypt

	cache   map[int]Object
	loading []int                 // numbers of the objects being read
	weighs  int64                 // estimated size of the cache
	paid    int64                 // part of it that the budget knows of
	streams map[int]*objectStream // by number
	work    *work
	way     Reading // another way to read it; 0: that of this package
	mending mending
}

// errMalformed makes an error about bad input.
func errMalformed(where, format string, args ...any) error {
	return ades.Malformed("PDF", where, format, args...)
}

// wrapMalformed wraps errors that are not typed yet.
func wrapMalformed(where string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*ades.MalformedError](err); ok || errors.Is(err, ades.ErrPassword) || interrupted(err) {
		return err
	}
	return &ades.MalformedError{Format: "PDF", Where: where, Err: err}
}

// Open reads the structure of a document: header, cross-reference chain and
// encryption dictionary.
func Open(src ades.Source, opts Options) (*Document, error) {
	d := &Document{src: src, cache: make(map[int]Object), work: newWork(opts.Context)}
	d.work.lenient = opts.Lenient
	if err := d.header(); err != nil {
		return nil, err
	}
	if opts.Rebuild {
		d.repaired = errMalformed("", "its objects were looked for")
		if err := d.repair(opts.Password); err != nil {
			return nil, fmt.Errorf("open PDF: %w", err)
		}
		return d, nil
	}
	err := d.structure(opts.Password)
	if interrupted(err) || errors.Is(err, limits.ErrBudget) {
		return nil, fmt.Errorf("open PDF: %w", err)
	}
	if err != nil && d.base > 0 && !errors.Is(err, ades.ErrPassword) {
		// Some producers count offsets from the first byte of the file.
		d.work.win = d.work.win[:0]
		whole := &Document{src: src, size: src.Size(), prefix: d.prefix, cache: make(map[int]Object), work: d.work}
		if whole.structure(opts.Password) == nil {
			return whole, nil
		}
		d.work.win = d.work.win[:0]
	}
	if err != nil && opts.Repair && !errors.Is(err, ades.ErrPassword) {
		d.repaired = err
		err = d.repair(opts.Password)
	}
	if err != nil {
		return nil, fmt.Errorf("open PDF: %w", err)
	}
	return d, nil
}

// structure follows the cross-reference chain and opens the catalog.
func (d *Document) structure(password string) error {
	if err := d.readChain(); err != nil {
		return err
	}
	if err := d.unlock(password); err != nil {
		return err
	}
	_, err := d.Catalog()
	return err
}

// header finds %PDF- in the first kilobyte.
func (d *Document) header() error {
	d.size = d.src.Size()
	head, err := d.read(0, 1024)
	if err != nil {
		return fmt.Errorf("read header: %w", err)
	}
	at := indexHeader(head)
	if at < 0 {
		return errMalformed("header", "not a PDF: no %%PDF- in the first 1024 bytes")
	}
	d.base, d.prefix = int64(at), int64(at)
	d.size -= d.base
	if d.base > 0 {
		d.work.win = d.work.win[:0] // its contents were counted from the first byte
	}
	return nil
}

// Prefix is the number of bytes before the header, whether or not offsets are counted from the
// header.
func (d *Document) Prefix() int64 { return d.prefix }

// Base is the number of bytes before the header.
func (d *Document) Base() int64 { return d.base }

// Size is the length of the file from the header on.
func (d *Document) Size() int64 { return d.size }

// Repaired is nil unless the cross-reference chain was broken and the file was scanned for objects;
// then it says what was broken.
func (d *Document) Repaired() error { return d.repaired }

// Trailer is the newest trailer dictionary.
func (d *Document) Trailer() *Dict { return d.trailer }

// Encrypted reports whether the document has an encryption dictionary.
func (d *Document) Encrypted() bool { return d.crypt != nil }

// read returns up to n bytes at an offset, fewer only at the end of the file. The slice is valid
// until the next call.
func (d *Document) read(off int64, n int) ([]byte, error) {
	if off < 0 || off > d.size {
		return nil, io.ErrUnexpectedEOF
	}
	if rest := d.size - off; int64(n) > rest {
		n = int(rest)
	}
	w := d.work
	if at := off - w.winOff; len(w.win) > 0 && at >= 0 && at+int64(n) <= int64(len(w.win)) {
		return w.win[at : at+int64(n)], nil
	}
	want := int(min(int64(max(n, 2048)), d.size-off))
	if err := w.widen(want); err != nil {
		return nil, err
	}
	got, err := d.src.ReadAt(w.win, d.base+off)
	if got < want {
		w.win = w.win[:0]
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	w.winOff = off
	return w.win[:n], nil
}

// ReadAt reads bytes of the file, counted from the header.
func (d *Document) ReadAt(p []byte, off int64) (int, error) {
	return d.src.ReadAt(p, d.base+off)
}

// parse calls f with a growing window from off until it suffices.
func (d *Document) parse(off int64, f func(*parser) error) error {
	const small, usual = 2048, 16 << 10 // dictionaries; signatures
	for n := 512; ; n *= 4 {
		if n > small {
			n = max(n, usual)
		}
		buf, err := d.read(off, n)
		if err != nil {
			return err
		}
		p := d.work.parser(lexer{buf: buf, base: off, last: off+int64(len(buf)) >= d.size})
		err = f(p)
		used := int64(len(buf))
		if err == nil && n > small { // the rest was not used
			used = max(small, int64(p.pos))
		}
		d.work.parsedBy(p)
		if err := d.work.parse(used); err != nil {
			return err
		}
		if err != errShort { // never wrapped
			return err
		}
		if n >= limits.PDFObjectSize {
			return errMalformed(fmt.Sprintf("offset %d", off), "object larger than %d bytes", limits.PDFObjectSize)
		}
	}
}

// Get returns the object of a reference; nil (null) if it is undefined.
func (d *Document) Get(ref Ref) (Object, error) {
	if o, ok := d.cache[ref.Num]; ok {
		return o, nil
	}
	e, ok := d.lookup(ref.Num)
	if !ok || e.kind == entryFree {
		if d.work.lookups > limits.PDFLookups {
			return nil, errMalformed("", "too many sections for so many objects")
		}
		return nil, nil
	}
	if slices.Contains(d.loading, ref.Num) {
		return nil, errMalformed(ref.String(), "object refers to itself")
	}
	d.loading = append(d.loading, ref.Num)
	defer func() { d.loading = d.loading[:len(d.loading)-1] }()
	o, err := d.load(ref, e)
	if err != nil {
		return nil, wrapMalformed("object "+ref.String(), err)
	}
	if d.way == FirstKey {
		o = firstKeys(o)
	}
	d.cacheObject(ref.Num, o, d.work.weight)
	return o, nil
}

func (d *Document) load(ref Ref, e entry) (Object, error) {
	if e.kind == entryInStream {
		return d.fromStream(ref, int(e.offset), int(e.gen))
	}
	other := ref.Gen != int(e.gen)
	o, err := d.indirect(e.offset, ref)
	if err != nil && other && d.way == AnyGen {
		ref.Gen = int(e.gen)
		o, err = d.indirect(e.offset, ref)
	}
	if err != nil && other && !errors.Is(err, limits.ErrBudget) && !interrupted(err) {
		return nil, nil // a reference to another generation is null
	}
	if err != nil {
		return nil, err
	}
	if d.crypt != nil && ref != d.crypt.ref {
		return d.crypt.decrypt(o, ref)
	}
	return o, nil
}

// indirect parses the object at an offset, without decryption. A zero ref accepts any object.
func (d *Document) indirect(off int64, want Ref) (Object, error) {
	var (
		obj  Object
		data int64
		got  Ref
	)
	err := d.parse(off, func(p *parser) (err error) {
		if got, err = p.header(); err != nil {
			return err
		}
		if obj, err = p.object(); err != nil {
			return err
		}
		data, err = p.streamStart(obj)
		return err
	})
	if err != nil {
		return nil, err
	}
	if want != (Ref{}) && got != want {
		return nil, fmt.Errorf("offset %d holds object %d %d", off, got.Num, got.Gen)
	}
	if data == 0 {
		return obj, nil
	}
	s := &Stream{Dict: obj.(*Dict), ref: got}
	weight := d.work.weight
	s.span, err = d.streamSpan(s.Dict, data)
	d.work.weight = weight // and not that of the Length
	if err != nil {
		return nil, err
	}
	return s, nil
}

// streamStart returns the offset of the stream data, or 0 if the object is not a stream.
func (p *parser) streamStart(obj Object) (int64, error) {
	p.space()
	if len(p.buf)-p.pos < 16 && !p.last {
		return 0, errShort
	}
	if _, ok := obj.(*Dict); !ok || len(p.buf)-p.pos < 6 || string(p.buf[p.pos:p.pos+6]) != "stream" {
		return 0, nil // the object itself is complete, whatever follows
	}
	p.pos += 6
	switch {
	case p.pos < len(p.buf) && p.buf[p.pos] == '\n':
		p.pos++
	case p.pos+1 < len(p.buf) && p.buf[p.pos] == '\r' && p.buf[p.pos+1] == '\n':
		p.pos += 2
	case p.pos < len(p.buf) && p.buf[p.pos] == '\r':
		p.pos++
	}
	return p.base + int64(p.pos), nil
}

// Resolve follows references to a direct object.
func (d *Document) Resolve(o Object) (Object, error) { return ResolveBy(o, d.Get) }

// ResolveBy follows references to a direct object, using get.
func ResolveBy(o Object, get func(Ref) (Object, error)) (Object, error) {
	for range 32 {
		ref, ok := o.(Ref)
		if !ok {
			return o, nil
		}
		var err error
		if o, err = get(ref); err != nil {
			return nil, err
		}
	}
	return nil, errMalformed("", "chain of references too long")
}

// Dict resolves to a dictionary (including that of a stream); nil if the object is something else.
func (d *Document) Dict(o Object) (*Dict, error) {
	o, err := d.Resolve(o)
	if err != nil {
		return nil, err
	}
	switch x := o.(type) {
	case *Dict:
		return x, nil
	case *Stream:
		return x.Dict, nil
	}
	return nil, nil
}

// Array resolves to an array; nil if the object is something else.
func (d *Document) Array(o Object) (Array, error) {
	o, err := d.Resolve(o)
	if err != nil {
		return nil, err
	}
	a, _ := o.(Array)
	return a, nil
}

// Int resolves to a whole number.
func (d *Document) Int(o Object) (int64, bool) {
	o, err := d.Resolve(o)
	if err != nil {
		return 0, false
	}
	switch n := o.(type) {
	case Integer:
		return int64(n), true
	case Real:
		f := n.Float()
		return int64(f), f == float64(int64(f))
	}
	return 0, false
}

// Number resolves to a number of either kind.
func (d *Document) Number(o Object) (float64, bool) {
	o, err := d.Resolve(o)
	if err != nil {
		return 0, false
	}
	switch n := o.(type) {
	case Integer:
		return float64(n), true
	case Real:
		return n.Float(), true
	}
	return 0, false
}

// Name resolves to a name; empty if the object is something else.
func (d *Document) Name(o Object) Name {
	o, err := d.Resolve(o)
	if err != nil {
		return ""
	}
	n, _ := o.(Name)
	return n
}

// Text resolves to a text string as UTF-8; empty if the object is something else.
func (d *Document) Text(o Object) string {
	return DecodeText(d.StringBytes(o))
}

// StringBytes resolves to the bytes of a string; nil if the object is something else.
func (d *Document) StringBytes(o Object) []byte {
	o, err := d.Resolve(o)
	if err != nil {
		return nil
	}
	s, _ := o.(String)
	return s.Bytes
}

// Root is the reference to the catalog.
func (d *Document) Root() Ref {
	ref, _ := d.trailer.Get("Root").(Ref)
	return ref
}

// Catalog is the document catalog.
func (d *Document) Catalog() (*Dict, error) {
	root, ok := d.trailer.Get("Root").(Ref)
	if !ok {
		return nil, errMalformed("trailer/Root", "reference to the catalog missing")
	}
	cat, err := d.Dict(root)
	if err != nil {
		return nil, err
	}
	if cat == nil {
		return nil, errMalformed("trailer/Root", "object %s is no dictionary", root)
	}
	return cat, nil
}
