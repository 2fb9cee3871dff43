package pdf

import (
	"bytes"
	"errors"
	"fmt"

	"rogito.dev/rogito/ades"
	"rogito.dev/rogito/internal/limits"
)

// scannedObject is an object found by the scan.
type scannedObject struct {
	ref    Ref
	offset int64
}

// foundCost is the memory for an object found, in all lists and maps.
const foundCost = 160

// repair scans the whole file for objects and trailers. The document then has a single revision.
func (d *Document) repair(password string) error {
	broken := d.repaired
	d.sections, d.revisions, d.trailer, d.crypt = nil, nil, nil, nil
	clear(d.cache)
	d.streams = nil
	d.work.dropStreamCaches()
	objects, err := d.scanTable()
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return broken
	}
	if err := d.unlock(password); err != nil {
		return err
	}
	if err := d.addCompressed(objects); err != nil {
		return err
	}
	return d.findCatalog(broken)
}

// scanTable makes one section, and a trailer, of the objects in the file, except for those in
// object streams.
func (d *Document) scanTable() ([]scannedObject, error) {
	objects, trailers, err := d.scan()
	if err != nil {
		return nil, err
	}
	s := &section{runs: runsOf(entriesOf(objects))}
	d.sections = []*section{s}
	if objects, err = d.outside(objects); err != nil {
		return nil, err
	}
	s.runs = runsOf(entriesOf(objects))
	s.trailer = d.rebuildTrailer(trailers, objects)
	d.trailer = s.trailer
	d.revisions = []Revision{{Number: 1, EOF: d.size, End: d.size, count: 1}}
	return objects, nil
}

// entriesOf lists objects; the last one in the file with a number wins.
func entriesOf(objects []scannedObject) map[int]entry {
	all := make(map[int]entry, len(objects))
	for _, f := range objects {
		all[f.ref.Num] = entry{offset: f.offset, gen: uint32(f.ref.Gen), kind: entryInFile}
	}
	return all
}

// outside removes what was found within the data of a stream: an attached file may contain objects
// too.
func (d *Document) outside(objects []scannedObject) ([]scannedObject, error) {
	out := objects[:0:0]
	end := int64(0)
	for _, f := range objects {
		if f.offset < end {
			continue
		}
		out = append(out, f)
		o, err := d.indirect(f.offset, f.ref)
		if errors.Is(err, limits.ErrBudget) || interrupted(err) {
			return nil, err
		}
		if st, ok := o.(*Stream); ok && err == nil {
			end = st.span.End
		}
	}
	return out, nil
}

// findCatalog finds the catalog if the trailer has no usable reference to it: the last one in the
// file that has pages.
func (d *Document) findCatalog(broken error) error {
	usable := func(ref Ref) bool {
		c, err := d.Dict(ref)
		if err != nil || c == nil || !c.Has("Pages") {
			return false
		}
		pages, err := d.Dict(c.Get("Pages"))
		return err == nil && pages != nil
	}
	if root, ok := d.trailer.Get("Root").(Ref); ok && usable(root) {
		return nil
	}
	best, at := Ref{}, int64(-1)
	for _, r := range d.sections[0].runs {
		for i, e := range r.entries {
			ref := Ref{Num: r.first + i}
			place := e.offset
			switch e.kind {
			case entryInFile:
				ref.Gen = int(e.gen)
			case entryInStream:
				holder, _ := d.lookup(int(e.offset))
				place = holder.offset
			default:
				continue
			}
			c, err := d.Dict(ref)
			if errors.Is(err, limits.ErrBudget) || interrupted(err) {
				return err
			}
			if err == nil && c != nil && c.Get("Type") == Name("Catalog") && place > at && usable(ref) {
				best, at = ref, place
			}
		}
	}
	if at >= 0 {
		d.trailer.Set("Root", best)
	}
	if _, err := d.Catalog(); err != nil {
		return broken
	}
	return nil
}

// scan finds "num gen obj" and "trailer" anywhere.
func (d *Document) scan() (objects []scannedObject, trailers []int64, err error) {
	const step, overlap = 256 << 10, 64
	for at := int64(0); at < d.size; at += step {
		if err := d.work.ctx.Err(); err != nil {
			return nil, nil, err
		}
		// The bytes before decide whether digits at the border are a whole number.
		lead := min(at, int64(len(endOfFile)))
		buf, err := d.read(at-lead, step+overlap+int(lead))
		if err != nil {
			return nil, nil, fmt.Errorf("scan: %w", err)
		}
		known := len(objects)
		for i := int(lead); i < len(buf); {
			k := bytes.IndexByte(buf[i:], 'o')
			if k < 0 {
				break
			}
			i += k
			if f, ok := objectBefore(buf, i); ok && f.offset >= lead && f.offset < step+lead {
				f.offset += at - lead
				objects = append(objects, f)
			}
			i++
		}
		for i := int(lead); ; {
			k := bytes.Index(buf[i:], []byte("trailer"))
			if k < 0 || i+k >= step+int(lead) {
				break
			}
			trailers = append(trailers, at-lead+int64(i+k))
			i += k + 7
		}
		if err := d.work.budget.Spend(int64(len(objects)-known) * foundCost); err != nil {
			return nil, nil, err
		}
		if len(objects) > limits.PDFObjects {
			return nil, nil, errMalformed("", "more than %d objects", limits.PDFObjects)
		}
	}
	return objects, trailers, nil
}

// objectBefore checks whether "obj" is at i with two numbers before it.
func objectBefore(buf []byte, i int) (scannedObject, bool) {
	if !bytes.HasPrefix(buf[i:], []byte("obj")) || i+3 < len(buf) && class[buf[i+3]] == classRegular {
		return scannedObject{}, false
	}
	gen, at, ok := numberBefore(buf, i)
	if !ok || gen > 65535 {
		return scannedObject{}, false
	}
	num, at, ok := numberBefore(buf, at)
	if !ok || num > limits.PDFObjects || at > 0 && class[buf[at-1]] == classRegular && !bytes.HasSuffix(buf[:at], endOfFile) {
		return scannedObject{}, false // some updates begin right behind the marker
	}
	return scannedObject{Ref{int(num), int(gen)}, int64(at)}, true
}

var endOfFile = []byte("%%EOF")

// beginsObject reports whether these bytes contain the head of an object.
func beginsObject(b []byte) bool {
	for i := 0; ; i++ {
		k := bytes.Index(b[i:], []byte("obj"))
		if k < 0 {
			return false
		}
		i += k
		if _, ok := objectBefore(b, i); ok {
			return true
		}
	}
}

// numberBefore reads the digits before position i, skipping white space.
func numberBefore(buf []byte, i int) (n int64, at int, ok bool) {
	end := i
	for end > 0 && class[buf[end-1]] == classSpace {
		end--
	}
	at = end
	for at > 0 && buf[at-1] >= '0' && buf[at-1] <= '9' {
		at--
	}
	if end == i || at == end {
		return 0, 0, false
	}
	n, ok = parseUint(buf[at:end])
	return n, at, ok
}

// rebuildTrailer merges trailers and cross-reference streams; later ones take precedence.
func (d *Document) rebuildTrailer(trailers []int64, objects []scannedObject) *Dict {
	out := &Dict{}
	take := func(t *Dict) {
		for _, key := range []Name{"Root", "Encrypt", "ID", "Info", "Size"} {
			if v := t.Get(key); v != nil && !out.Has(key) {
				out.Set(key, v)
			}
		}
	}
	for i := len(trailers) - 1; i >= 0; i-- {
		if t := d.trailerAt(trailers[i]); t != nil {
			take(t)
		}
	}
	if !out.Has("Root") || !out.Has("Encrypt") {
		for i := len(objects) - 1; i >= 0; i-- {
			if t := d.probe(objects[i], "/XRef"); t != nil {
				take(t)
			}
		}
	}
	return out
}

func (d *Document) trailerAt(off int64) *Dict {
	var t *Dict
	_ = d.parse(off, func(p *parser) error {
		if err := p.keyword("trailer"); err != nil {
			return err
		}
		o, err := p.object()
		t, _ = o.(*Dict)
		return err
	})
	return t
}

// probe returns the dictionary of an object whose first bytes contain the word.
func (d *Document) probe(f scannedObject, word string) *Dict {
	buf, err := d.read(f.offset, 512)
	if err != nil || !bytes.Contains(buf, []byte(word)) {
		return nil
	}
	o, err := d.indirect(f.offset, f.ref)
	if err != nil {
		return nil
	}
	switch x := o.(type) {
	case *Dict:
		return x
	case *Stream:
		return x.Dict
	}
	return nil
}

// addCompressed adds the objects in object streams unless a plain definition of the same number
// follows in the file.
func (d *Document) addCompressed(objects []scannedObject) error {
	all := entriesOf(objects)
	for _, f := range objects {
		if all[f.ref.Num].offset != f.offset {
			continue // replaced later in the file
		}
		t := d.probe(f, "/ObjStm")
		if t == nil || t.Get("Type") != Name("ObjStm") {
			continue
		}
		os, err := d.objectStream(f.ref.Num)
		if err != nil {
			if errors.Is(err, ades.ErrPassword) || errors.Is(err, limits.ErrBudget) || interrupted(err) {
				return err
			}
			continue // one bad stream must not make the rest unreadable
		}
		for i, num := range os.numbers {
			if e, ok := all[num]; !ok || e.kind == entryInStream || e.offset < f.offset {
				all[num] = entry{offset: int64(f.ref.Num), gen: uint32(i), kind: entryInStream}
			}
		}
	}
	d.sections[0].runs = runsOf(all)
	clear(d.cache)
	return nil
}
