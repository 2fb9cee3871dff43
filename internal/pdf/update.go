package pdf

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"slices"

	"rogito.dev/rogito/internal/limits"
)

// Update collects changed and new objects and writes them as an incremental update in the style of
// the file: a table after a table, a stream after a stream. Existing bytes do not change.
type Update struct {
	doc     *Document
	objects map[int]pending
	order   []int
	next    int
	bases   int64
}

type pending struct {
	ref Ref
	obj Object
}

// Update starts an incremental update.
func (d *Document) Update() *Update {
	next := 1
	if n, ok := d.trailer.Get("Size").(Integer); ok && n > 0 && n < limits.PDFObjects {
		next = int(n)
	}
	// A Size that is too small must not lead to a number that is in use.
	for _, s := range d.sections {
		for _, part := range []*section{s, s.hybrid} {
			if part == nil || len(part.runs) == 0 {
				continue
			}
			last := part.runs[len(part.runs)-1]
			next = max(next, last.first+len(last.entries))
		}
	}
	return &Update{doc: d, objects: make(map[int]pending), next: next}
}

// Document is the document to be updated.
func (u *Update) Document() *Document { return u.doc }

// New assigns the next number to a new object. The object may be nil and set later.
func (u *Update) New(o Object) Ref {
	ref := Ref{Num: u.next}
	u.next++
	u.Set(ref, o)
	return ref
}

// Set gives an object a new value.
func (u *Update) Set(ref Ref, o Object) {
	if _, ok := u.objects[ref.Num]; !ok {
		u.order = append(u.order, ref.Num)
	}
	u.objects[ref.Num] = pending{ref, o}
}

// Changed reports whether the update is not empty.
func (u *Update) Changed() bool { return len(u.objects) > 0 }

// Get returns an object as of the update.
func (u *Update) Get(ref Ref) (Object, error) {
	if p, ok := u.objects[ref.Num]; ok {
		return p.obj, nil
	}
	return u.doc.Get(ref)
}

// Resolve follows references as of the update.
func (u *Update) Resolve(o Object) (Object, error) { return ResolveBy(o, u.Get) }

// Edit returns the dictionary of a reference for editing: a copy that the update will write.
func (u *Update) Edit(ref Ref) (*Dict, error) {
	o, err := u.Get(ref)
	if err != nil {
		return nil, err
	}
	d, ok := o.(*Dict)
	if !ok {
		return nil, errMalformed("object "+ref.String(), "no dictionary")
	}
	if _, ok := u.objects[ref.Num]; ok {
		return d, nil
	}
	d = d.Clone()
	u.Set(ref, d)
	return d, nil
}

// EditIn returns the dictionary under a key of parent, for editing: in place if it is direct, in
// its own object if it is indirect, a new one if it is absent. The parent must itself come from
// Edit.
func (u *Update) EditIn(parent *Dict, key Name) (*Dict, error) {
	switch x := parent.Get(key).(type) {
	case Ref:
		o, err := u.Get(x)
		if err != nil {
			return nil, err
		}
		if o == nil {
			d := &Dict{}
			u.Set(x, d)
			return d, nil
		}
		return u.Edit(x)
	case *Dict:
		d := x.Clone()
		parent.Set(key, d)
		return d, nil
	case nil:
		d := &Dict{}
		parent.Set(key, d)
		return d, nil
	}
	return nil, errMalformed(string(key), "no dictionary")
}

// Append adds values to the array under a key of parent: in place if it is direct, in its own
// object if it is indirect.
func (u *Update) Append(parent *Dict, key Name, values ...Object) error {
	o := parent.Get(key)
	ref, indirect := o.(Ref)
	o, err := u.Resolve(o)
	if err != nil {
		return err
	}
	a, ok := o.(Array)
	if !ok && o != nil {
		return errMalformed(string(key), "no array")
	}
	grown := append(append(make(Array, 0, len(a)+len(values)), a...), values...)
	if indirect {
		u.Set(ref, grown)
		return nil
	}
	parent.Set(key, grown)
	return nil
}

// Bytes writes the update, which is to be appended to the file. It sets the offsets of
// placeholders, counted from the start of these bytes.
func (u *Update) Bytes() ([]byte, error) {
	d := u.doc
	w := &printer{crypt: d.crypt}
	lead, err := d.lead()
	if err != nil {
		return nil, err
	}
	w.buf = append(w.buf, lead...)
	u.bases = d.size // offsets count from the header
	all := make(numbered, 0, len(u.objects)+1)
	for _, num := range u.order {
		p := u.objects[num]
		all.add(num, entry{offset: u.bases + int64(len(w.buf)), gen: uint32(p.ref.Gen), kind: entryInFile})
		if err := w.indirect(p.ref, p.obj); err != nil {
			return nil, fmt.Errorf("write object %s: %w", p.ref, err)
		}
	}
	if d.repaired != nil {
		u.addAll(&all)
	}
	if d.streamStyle() {
		err = u.writeStream(w, all)
	} else {
		err = u.writeTable(w, all)
	}
	return w.buf, err
}

// lead is the line end that is missing at the end of the file.
func (d *Document) lead() (string, error) {
	tail, err := d.read(max(0, d.size-1), 1)
	if err != nil {
		return "", err
	}
	if len(tail) == 1 && (tail[0] == '\n' || tail[0] == '\r') {
		return "", nil
	}
	return "\n", nil
}

func (d *Document) streamStyle() bool {
	if d.repaired == nil {
		return d.sections[0].stream
	}
	return slices.ContainsFunc(d.sections[0].runs, func(r run) bool { // only a stream can point into object streams
		return slices.ContainsFunc(r.entries, func(e entry) bool { return e.kind == entryInStream })
	})
}

// addAll lists every object of a repaired file, whose own chain is broken.
func (u *Update) addAll(all *numbered) {
	all.add(0, entry{gen: 65535})
	for _, r := range u.doc.sections[0].runs {
		for i, e := range r.entries {
			num := r.first + i
			if _, ok := u.objects[num]; !ok && num > 0 {
				all.add(num, e)
			}
		}
	}
}

func (w *printer) indirect(ref Ref, o Object) error {
	w.ref = ref
	w.buf = fmt.Appendf(w.buf, "%d %d obj\n", ref.Num, ref.Gen)
	if err := w.object(o); err != nil {
		return err
	}
	w.buf = append(w.buf, "\nendobj\n"...)
	return nil
}

// trailer of the update: that of the file with new Size and Prev.
func (u *Update) trailer(size int) *Dict {
	t := &Dict{}
	t.Set("Size", Integer(size))
	for _, key := range []Name{"Root", "Info", "ID", "Encrypt"} {
		if v := u.doc.trailer.Get(key); v != nil {
			t.Set(key, v)
		}
	}
	if u.doc.repaired == nil {
		t.Set("Prev", Integer(u.doc.startxref))
	}
	return t
}

func (u *Update) writeTable(w *printer, all numbered) error {
	at := u.bases + int64(len(w.buf))
	if at > maxTableOffset {
		return errors.New("file too large for a cross-reference table")
	}
	w.buf = append(w.buf, "xref\n"...)
	for _, r := range all.runs() {
		w.buf = fmt.Appendf(w.buf, "%d %d\n", r.first, len(r.entries))
		for _, e := range r.entries {
			kind := byte('n')
			if e.kind == entryFree {
				kind = 'f'
			}
			w.buf = fmt.Appendf(w.buf, "%010d %05d %c\r\n", e.offset, e.gen, kind)
		}
	}
	w.buf = append(w.buf, "trailer\n"...)
	w.crypt = nil // the trailer is never encrypted
	if err := w.object(u.trailer(u.next)); err != nil {
		return err
	}
	w.buf = fmt.Appendf(w.buf, "\nstartxref\n%d\n%%%%EOF\n", at)
	return nil
}

// Compressed makes a stream object with FlateDecode.
func Compressed(dict *Dict, data []byte) *Stream {
	dict.Set("Filter", Name("FlateDecode"))
	return &Stream{Dict: dict, Data: deflated(data)}
}

func deflated(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(data) // writing to a buffer cannot fail
	_ = z.Close()
	return b.Bytes()
}

func (u *Update) writeStream(w *printer, all numbered) error {
	at := u.bases + int64(len(w.buf))
	ref := Ref{Num: u.next}
	all.add(ref.Num, entry{offset: at, kind: entryInFile})
	dict := NewDict(Name("Type"), Name("XRef"))
	dict.Entries = append(dict.Entries, u.trailer(u.next+1).Entries...)
	index := Array{}
	var rows []byte
	runs := all.runs()
	wide := 1
	for limit := at; limit > 255; limit >>= 8 {
		wide++
	}
	for _, r := range runs {
		index = append(index, Integer(r.first), Integer(len(r.entries)))
		for _, e := range r.entries {
			rows = append(rows, byte(e.kind))
			for k := wide - 1; k >= 0; k-- {
				rows = append(rows, byte(e.offset>>(8*k)))
			}
			rows = append(rows, byte(e.gen>>16), byte(e.gen>>8), byte(e.gen))
		}
	}
	dict.Set("Index", index)
	dict.Set("W", Array{Integer(1), Integer(wide), Integer(3)})
	if len(rows) > 512 {
		rows = deflated(rows)
		dict.Set("Filter", Name("FlateDecode"))
	}
	w.crypt = nil // a cross-reference stream is never encrypted
	if err := w.indirect(ref, &Stream{Dict: dict, Data: rows}); err != nil {
		return err
	}
	w.buf = fmt.Appendf(w.buf, "startxref\n%d\n%%%%EOF\n", at)
	return nil
}
